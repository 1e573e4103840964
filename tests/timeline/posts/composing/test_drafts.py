"""A text that could not be posted waits for its author, and for nobody else."""

import re

import pytest

from tests.support.people import PASSWORD
from tests.support.stored_keys import publish

KEPT = "Your post is kept. Log in to send it."


def in_composer(page):
    """The text of each composer on a page."""
    return re.findall(r'<textarea name="body"[^>]*>\n(.*?)</textarea>', page.content.decode(), re.DOTALL)


def log_in(client, name):
    return client.post("/login/", {"username": name, "password": PASSWORD, "next": "/"}, follow=True)


def test_a_text_of_alice_is_in_no_composer_of_bob_and_waits_for_her(browser, alice, bob):
    client = browser()  # her session has ended; her page is still open
    client.post("/post/", {"body": "Of alice", "token": "t", "as": "1"})
    assert in_composer(log_in(client, "bob")) == [""]
    assert in_composer(client.get("/timeline/")) == [""]
    assert in_composer(log_in(client, "alice")) == ["Of alice"]


def test_a_text_of_nobody_belongs_to_the_user_who_logs_in_next(browser, alice, bob):
    client = browser()
    client.post("/post/", {"body": "Of nobody", "token": "t"})
    assert in_composer(log_in(client, "alice")) == ["Of nobody"]
    client.cookies["auth"] = bob.secret  # her session has ended elsewhere, and bob logs in
    assert in_composer(client.get("/")) == [""]
    client.cookies["auth"] = alice.secret
    assert in_composer(client.get("/")) == ["Of nobody"]


def test_a_registration_takes_a_text_of_nobody(browser):
    client = browser()
    client.post("/post/", {"body": "My first post", "token": "t"})
    form = {"username": "dora", "password1": PASSWORD, "password2": PASSWORD}
    client.post("/register/", form)
    assert in_composer(client.get("/")) == ["My first post"]


@pytest.mark.parametrize("address", ["/login/", "/register/"])
def test_the_login_page_says_that_a_draft_is_safe(browser, address):
    client = browser()
    assert KEPT not in client.get(address).content.decode()
    client.post("/post/", {"body": "Hello", "token": "t"})
    assert KEPT in client.get(address).content.decode()
    assert KEPT in client.post(address, {"username": "x"}).content.decode()  # still, after an error


@pytest.mark.parametrize("address", ["/", "/timeline/", "/@alice/", "/@bob/", "/compose/"])
def test_a_draft_is_in_each_composer(browser, alice, bob, address):
    client = browser()
    client.post("/post/", {"body": "Hello", "token": "t", "as": "1"})
    client.cookies["auth"] = alice.secret
    page = client.get(address)
    assert in_composer(page) == ["Hello"]
    assert 'formaction="/compose/discard/">Discard' in page.content.decode()


def test_a_draft_can_be_discarded_without_a_script(browser, alice):
    client = browser()
    client.post("/post/", {"body": "Hello", "token": "t", "as": "1"})
    client.cookies["auth"] = alice.secret
    page = client.post(
        "/compose/discard/", {"body": "Hello", "as": "1"}, headers={"referer": "http://testserver/timeline/"}
    )
    assert page["Location"] == "/timeline/"
    page = client.get("/timeline/")
    assert "Discarded." in page.content.decode()
    assert in_composer(page) == [""]
    assert 'formaction="/compose/discard/" hidden>' in page.content.decode()


@pytest.mark.parametrize("address", ["/post/", "/compose/discard/"])
def test_a_reply_waits_while_its_author_posts_or_discards_something_else(browser, alice, bob, raw, store, address):
    publish(raw, store, bob, "Question")
    client = browser()
    client.post("/post/", {"body": "Answer", "token": "t", "as": "1", "reply_to": "1"})
    client.cookies["auth"] = alice.secret
    client.post(address, {"body": "Something else", "token": "u", "as": "1"})
    assert in_composer(client.get("/@bob/1/")) == ["Answer"]
    client.post(address, {"body": "Answer", "token": "v", "as": "1", "reply_to": "1"})
    assert in_composer(client.get("/@bob/1/")) == [""]


@pytest.mark.parametrize("address", ["/post/", "/compose/discard/"])
def test_a_text_of_alice_waits_while_bob_posts_or_discards(browser, alice, bob, address):
    client = browser()
    client.post("/post/", {"body": "Of alice", "token": "t", "as": "1"})
    client.cookies["auth"] = bob.secret
    client.post(address, {"body": "Of bob", "token": "u", "as": "2"})
    client.cookies["auth"] = alice.secret
    assert in_composer(client.get("/")) == ["Of alice"]


def test_a_logout_of_anyone_leaves_no_draft_in_the_browser(browser, alice, bob):
    client = browser()
    client.post("/post/", {"body": "Of alice", "token": "t", "as": "1"})
    log_in(client, "bob")
    client.post("/logout/")
    assert client.cookies["draft"].value == ""


def test_line_breaks_survive_a_login(browser, alice):
    client = browser()
    client.post("/post/", {"body": "one\r\ntwo", "token": "t"})
    assert in_composer(log_in(client, "alice")) == ["one\ntwo"]


@pytest.mark.parametrize(
    "cookie", ["1", "1...", "...SGk=", "0...SGk=", "x...SGk=", "01...SGk=", "1...!", "SGk=", "1.SGk="]
)
def test_a_cookie_of_another_form_is_no_draft(browser, alice, cookie):
    client = browser(alice)
    client.cookies["draft"] = cookie
    assert in_composer(client.get("/")) == [""]
