"""The slots of a page: each page has new CSRF tokens that Django accepts, and no page shows a placeholder."""

import re

import pytest
from django.conf import settings
from django.middleware.csrf import CSRF_ALLOWED_CHARS, _unmask_cipher_token
from hypothesis import given, strategies as st

from retwis_site.exceptions import StoreError
from retwis_site.http import cookies
from retwis_site.rendering import fragments
from tests.support.people import PASSWORD
from tests.support.stored_keys import publish
from timeline.posts.repository import Posts
from timeline.timelines.everyone import EveryoneTimeline

TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]*)"')
FORM_TOKEN = re.compile(r'name="token" value="([^"]*)"')
COOKIE = settings.CSRF_COOKIE_NAME
SECRET = "abcdefghijklmnopqrstuvwxyzABCDEF"  # 32 characters, like Django's
HOSTILE = [
    "<script>alert(1)</script> & \" ' </textarea>",
    "{{ csrf_token }} {% csrf_token %} {% load posts %}",
    "0123456789abcdef0123456789abcdef",
    "nul \0 in it",
    "a\u202eb \ud7ff \U0001f600",
    "%s %(name)s {0} {name} \\1 \\g<0>",
]


def page(client, url="/"):
    return client.get(url).content.decode()


def tokens(text):
    return TOKEN.findall(text)


# ---- tokens


@given(st.text(CSRF_ALLOWED_CHARS, min_size=32, max_size=32))
def test_a_masked_secret_is_the_secret_once_django_unmasks_it(secret):
    token = cookies.masked(secret)
    assert len(token) == 64
    assert set(token) <= set(CSRF_ALLOWED_CHARS)
    assert _unmask_cipher_token(token) == secret


def test_each_mask_is_new():
    assert len({cookies.masked(SECRET) for _ in range(100)}) == 100


@pytest.mark.parametrize(
    "url", ["/", "/timeline/", "/@Alice/", "/@bob/", "/@Alice/1/", "/settings/password/", "/settings/delete/"]
)
def test_django_accepts_each_token_of_a_page(browser, raw, store, alice, bob, url):
    publish(raw, store, alice, "mine")
    client = browser(alice, csrf=True)
    for _ in range(3):  # rendered, then from the cache
        text = page(client, url)
        found = tokens(text)
        assert found
        for token in found:
            assert client.post("/@bob/follow/", {"csrfmiddlewaretoken": token}).status_code == 302
        wrong = found[0][:-1] + ("a" if found[0][-1] != "a" else "b")
        assert client.post("/@bob/follow/", {"csrfmiddlewaretoken": wrong}).status_code == 403


@pytest.mark.parametrize(("url", "form"), [("/login/", {}), ("/register/", {"password2": PASSWORD})])
def test_a_first_visit_sets_the_cookie_and_its_token_is_accepted(browser, alice, url, form):
    client = browser(csrf=True)
    answer = client.get(url)
    assert COOKIE in answer.cookies
    assert "Cookie" in answer["Vary"]
    token, *_ = tokens(answer.content.decode())
    name = "Alice" if url == "/login/" else "dave"
    answers = {**form, "username": name, "password": PASSWORD, "password1": PASSWORD, "csrfmiddlewaretoken": token}
    assert client.post(url, answers).status_code == 302
    assert settings.AUTH_COOKIE in client.cookies


@pytest.mark.parametrize("url", ["/", "/login/", "/@Alice/"])
def test_tokens_differ_from_page_to_page(browser, alice, url):
    client = browser() if url == "/login/" else browser(alice)
    seen = [tokens(page(client, url)) for _ in range(5)]
    assert all(seen)
    assert len({token for found in seen for token in found}) == sum(len(set(found)) for found in seen)


def test_each_posting_form_has_its_own_one_time_token(browser, alice, bob):
    seen = [FORM_TOKEN.findall(page(client)) for client in (browser(alice), browser(alice), browser(bob)) * 2]
    assert all(len(found) == 1 for found in seen)
    assert len({found[0] for found in seen}) == 6
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{16}", found[0]) for found in seen)


@pytest.mark.parametrize("url", ["/", "/timeline/", "/@Alice/", "/settings/password/", "/login/", "/register/"])
def test_a_valid_cookie_is_not_set_again(browser, alice, url):
    client = browser() if url in {"/login/", "/register/"} else browser(alice)
    assert COOKIE in client.get(url).cookies
    for _ in range(2):
        assert COOKIE not in client.get(url).cookies


@pytest.mark.parametrize("malformed", ["", "short", SECRET[:-1] + "!", SECRET + "a", "\u00e9" * 32, "a" * 63 + "-"])
def test_a_malformed_cookie_gets_a_new_one(browser, alice, malformed):
    client = browser(alice, csrf=True)
    client.cookies[COOKIE] = malformed
    answer = client.get("/")
    assert answer.status_code == 200
    fresh = answer.cookies[COOKIE].value
    assert fresh != malformed
    found = tokens(answer.content.decode())
    assert {_unmask_cipher_token(token) for token in found} == {fresh}
    assert client.post("/logout/", {"csrfmiddlewaretoken": found[0]}).status_code == 302


def test_a_masked_cookie_of_an_old_django_is_accepted(browser, alice):
    client = browser(alice, csrf=True)
    client.cookies[COOKIE] = cookies.masked(SECRET)
    found = tokens(page(client))
    assert {_unmask_cipher_token(token) for token in found} == {SECRET}
    assert client.post("/logout/", {"csrfmiddlewaretoken": found[0]}).status_code == 302


def test_signing_in_changes_the_secret_and_the_next_page_has_the_new_one(browser, alice):
    client = browser(csrf=True)
    token, *_ = tokens(page(client, "/login/"))
    before = client.cookies[COOKIE].value
    form = {"username": "Alice", "password": PASSWORD, "csrfmiddlewaretoken": token}
    assert client.post("/login/", form).status_code == 302
    after = client.cookies[COOKIE].value
    assert after != before
    found = tokens(page(client))
    assert {_unmask_cipher_token(token) for token in found} == {after}


# ---- placeholders


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_post_that_looks_like_a_placeholder_is_shown_as_it_is(browser, raw, store, alice, bob, hostile):
    pid = publish(raw, store, bob, "to be replaced")
    raw.hset(f"post:{pid}", "body", hostile)
    escaped = (hostile.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")).replace(
        "'", "&#x27;"
    )
    raw.zadd("following:1", {"2": 1})
    for _ in range(2):
        for url in ("/", "/timeline/", "/@bob/", f"/@bob/{pid}/"):
            text = page(browser(alice), url)
            assert f'<p class="body" dir="auto">{escaped}</p>' in text, url
            assert len(set(tokens(text))) == 1


def test_no_answer_contains_a_placeholder(browser, raw, store, alice, bob, monkeypatch):
    """An author who knew the placeholder could write a post that turns into the reader's token."""
    for number in range(45):
        publish(raw, store, (alice, bob)[number % 2], f"post {number}")
    Posts(store).delete(2, 2)
    answers = []
    for client in (browser(), browser(alice), browser(bob)):
        urls = ["/", "/?before=30", "/?before=1", "/timeline/", "/timeline/?before=10", "/@Alice/", "/@bob/?before=20"]
        urls += [
            "/@bob/4/",
            "/@bob/2/",
            "/@bob/followers/",
            "/@bob/following/",
            "/login/",
            "/register/",
            "/settings/password/",
        ]
        urls += ["/nothing/", "/?before=x", "/post/", "/@nobody/", "/livez", "/readyz"]
        for _ in range(2):
            answers += [client.get(url) for url in urls]
        answers.append(client.post("/post/", {"body": "", "token": "t"}))
        answers.append(client.post("/post/", {"body": "x" * 300}))
        answers.append(client.post("/post/", {"body": "x", "token": "?"}))
        answers.append(client.post("/login/", {"username": "Alice", "password": "wrong"}))
        answers.append(client.post("/register/", {"username": "Alice", "password1": "a", "password2": "b"}))
        answers.append(client.post("/@Alice/1/delete/"))
        client.post("/@bob/follow/")
        answers.append(client.get("/@bob/"))
        answers.append(client.post("/post/", "{", content_type="multipart/form-data; boundary=x"))
        strict = browser(alice, csrf=True)
        answers.append(strict.post("/post/", {"body": "kept", "token": "t"}))

    def fail(*arguments):
        raise StoreError("down")

    monkeypatch.setattr(EveryoneTimeline, "page", fail)
    monkeypatch.setattr(Posts, "publish", fail)
    answers += [browser().get("/"), browser(alice).post("/post/", {"body": "kept", "token": "t"})]
    assert {answer.status_code for answer in answers} >= {200, 302, 400, 403, 404, 405, 410, 422, 503}
    secret = fragments._SECRET
    for answer in answers:
        text = answer.content.decode() + str(answer.headers) + answer.cookies.output()
        assert secret not in text, answer.request["PATH_INFO"]
        assert not re.search(r"\b[0-9a-f]{32}\b", answer.content.decode()), answer.request["PATH_INFO"]
