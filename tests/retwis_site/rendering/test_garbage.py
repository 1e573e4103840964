"""A page leaves nothing behind that only the garbage collector can remove. It removes what is old very rarely."""

import gc
import io
import weakref

import pytest
from django.conf import settings

from tests.support.apps import token_of
from tests.support.stored_posts import write_posts
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows

PAGES = ["/", "/timeline/", "/@bob/", "/@bob/1/", "/@bob/following/", "/people/", "/explore/", "/search/?q=hi"]
OF_USERS = ["/new/?after=1&known=", "/notifications/", "/tags/", "/compose/", "/bookmarks/"]


@pytest.fixture
def visit(raw, store, serving, rf, alice, bob):
    """`visit(path, alice)` as a server calls the site: a client of the tests keeps each answer."""
    from retwis_site.wsgi import application

    Follows(store).follow(alice.user.uid, bob.user.uid)
    Posts(store).publish(bob.user.uid, NewPost("Hello @Alice"), "t")
    write_posts(raw, bob.user.uid, range(2, 32))

    def ask(path, login=None):
        cookie = f"{settings.AUTH_COOKIE}={login.secret}" if login else ""
        statuses = []
        assert application(rf.get(path, HTTP_COOKIE=cookie).environ, lambda status, headers: statuses.append(status))
        assert statuses == ["200 OK"]

    return ask


@pytest.fixture
def garbage(visit):
    """`garbage(path, alice)`: how many objects one visit leaves to the garbage collector."""

    def count(path, login=None):
        for _ in range(3):  # the first visits fill caches, which drop what they had
            visit(path, login)
        gc.collect()
        gc.freeze()  # what other tests have left is not looked through again
        gc.disable()
        try:
            visit(path, login)
            return gc.collect()
        finally:
            gc.enable()

    return count


def test_no_page_of_a_user_leaves_garbage(garbage, alice):
    assert {path: left for path in [*PAGES, *OF_USERS] if (left := garbage(path, alice))} == {}


def test_no_page_of_a_visitor_leaves_garbage(garbage):
    assert {path: left for path in PAGES if (left := garbage(path))} == {}


TOKEN = "0123456789ABCDEFGHIJabcdefghij01"
UPLOAD = "".join(
    f'--x\r\nContent-Disposition: form-data; name="{name}\r\n\r\n{text}\r\n'
    for name, text in {
        'csrfmiddlewaretoken"': TOKEN,
        **dict.fromkeys(('picture"; filename="a"', 'file"; filename="a"', 'avatar"; filename="a"'), "no picture"),
    }.items()
)


@pytest.mark.parametrize(
    ("method", "address"),
    [
        *(("POST", address) for address in ("/post/", "/settings/", "/api/v2/media")),
        ("PATCH", "/api/v1/accounts/update_credentials"),
        ("PUT", "/api/v1/statuses/1"),
    ],
)
def test_the_body_of_an_upload_goes_with_its_request(raw, store, serving, rf, alice, method, address):
    """It may have 24 MB. Django's handlers of uploads know the request, which knows them."""
    from retwis_site.wsgi import application

    cookies = f"{settings.AUTH_COOKIE}={alice.secret}; {settings.CSRF_COOKIE_NAME}={TOKEN}"
    headers = {"HTTP_COOKIE": cookies, "HTTP_AUTHORIZATION": f"Bearer {token_of(alice)}"}
    body, statuses = f"{UPLOAD}--x--\r\n".encode(), []
    environ = rf.generic(method, address, body, "multipart/form-data; boundary=x", **headers).environ
    environ["wsgi.input"] = io.BytesIO(body)
    waits = weakref.ref(environ["wsgi.input"])
    gc.disable()
    try:
        application(environ, lambda status, headers: statuses.append(status[:3]))
        del environ
        assert waits() is None
    finally:
        gc.enable()
    assert statuses in (["422"], ["404"])
