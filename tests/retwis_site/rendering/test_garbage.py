"""A page leaves nothing behind that only the garbage collector can remove. It removes what is old very rarely."""

import gc
import io
from contextlib import contextmanager

import pytest
from django.conf import settings

from tests.support.stored_posts import write_posts
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.follow import Follows

PAGES = ["/", "/timeline/", "/@bob/", "/@bob/1/", "/@bob/following/", "/people/", "/explore/", "/search/?q=hi"]
OF_USERS = ["/new/?after=1&known=", "/notifications/", "/tags/", "/compose/", "/bookmarks/"]


@pytest.fixture
def visit(raw, store, serving, alice, bob):
    """`visit(path, alice)` as a server calls the site: a client of the tests keeps each answer."""
    from retwis_site.wsgi import application

    Follows(store).follow(alice.user.uid, bob.user.uid)
    Posts(store).publish(bob.user.uid, NewPost("Hello @Alice"), "t")
    write_posts(raw, bob.user.uid, range(2, 32))

    def ask(path, login=None):
        path, _, query = path.partition("?")
        environ = {
            "REQUEST_METHOD": "GET",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "SERVER_NAME": "testserver",
            "SERVER_PORT": "80",
            "HTTP_COOKIE": f"{settings.AUTH_COOKIE}={login.secret}" if login else "",
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(),
        }
        statuses = []
        assert application(environ, lambda status, headers: statuses.append(status))
        assert statuses == ["200 OK"]

    return ask


@contextmanager
def no_collection():
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.parametrize("path", [*PAGES, *OF_USERS])
def test_a_page_of_a_user_leaves_no_garbage(visit, alice, path):
    for _ in range(3):  # the first visits fill caches, which drop what they had
        visit(path, alice)
    with no_collection():
        visit(path, alice)
        assert gc.collect() == 0


@pytest.mark.parametrize("path", PAGES)
def test_a_page_of_a_visitor_leaves_no_garbage(visit, path):
    for _ in range(3):
        visit(path)
    with no_collection():
        visit(path)
        assert gc.collect() == 0
