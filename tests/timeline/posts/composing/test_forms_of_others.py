"""A form that was made for one user and sent while another is signed in asks before it posts."""

import html
import re

import pytest

from accounts.users.deletion import AccountDeletion
from tests.support.people import PASSWORD


def fields_of(page):
    """The hidden fields of the form on a page, without the CSRF token of the header's forms."""
    found = re.findall(r'<input type="hidden" name="(as|token|csrfmiddlewaretoken)" value="([^"]*)"', page)
    return dict(found)


def test_a_form_of_alice_sent_by_bob_asks(browser, alice, bob, raw):
    answer = browser(bob).post("/post/", {"body": "Of <alice>\nor bob?", "token": "t1", "as": "1"})
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "This form was written as <bdi>@Alice</bdi>. You are logged in as <bdi>@bob</bdi>." in page
    assert "Of &lt;alice&gt;\nor bob?</textarea>" in page
    assert not raw.exists("next_post_id")
    assert 'formaction="/compose/discard/"' in page


def test_bob_can_post_it_as_bob(browser, alice, bob, raw):
    client = browser(bob)
    page = client.post("/post/", {"body": "Anyone's", "token": "t1", "as": "1"}).content.decode()
    fields = fields_of(page)
    assert fields["as"] == "2"
    assert client.post("/post/", {"body": "Anyone's", **fields}).status_code == 302
    assert raw.hget("post:1", "user_id") == "2"


def test_the_authors_own_form_posts_at_once(browser, alice, raw):
    client = browser(alice)
    fields = fields_of(client.get("/").content.decode())
    assert fields["as"] == "1"
    assert client.post("/post/", {"body": "Mine", **fields}).status_code == 302
    assert raw.hget("post:1", "user_id") == "1"


@pytest.mark.parametrize("named", ["", "0", "x", "-1", "9" * 30])
def test_a_form_that_names_no_user_posts_at_once(browser, alice, raw, named):
    assert browser(alice).post("/post/", {"body": "Mine", "token": "t", "as": named}).status_code == 302
    assert raw.hget("post:1", "user_id") == "1"


def test_the_author_may_have_no_account_any_more(browser, store, alice, bob):
    AccountDeletion(store).delete(alice.user, alice.secret)
    page = browser(bob).post("/post/", {"body": "Hello", "token": "t", "as": "1"}).content.decode()
    assert "This form was written with another account. You are logged in as <bdi>@bob</bdi>." in page


def test_a_login_in_another_tab_makes_the_form_stale_and_its_text_is_kept(browser, alice, bob, raw):
    """The CSRF token is a new one after the login. The error page sends the text with it, and then the site asks."""
    client = browser(csrf=True)
    token = fields_of(client.get("/login/").content.decode())["csrfmiddlewaretoken"]
    client.post("/login/", {"username": "alice", "password": PASSWORD, "csrfmiddlewaretoken": token})
    form = fields_of(client.get("/").content.decode())  # alice's tab
    client.cookies.pop("auth")
    token = fields_of(client.get("/login/").content.decode())["csrfmiddlewaretoken"]
    client.post("/login/", {"username": "bob", "password": PASSWORD, "csrfmiddlewaretoken": token})

    answer = client.post("/post/", {**form, "body": "Of alice"})
    assert answer.status_code == 403
    again = fields_of(answer.content.decode())
    assert (again["as"], again["token"]) == ("1", form["token"])
    assert "Of alice</textarea>" in html.unescape(answer.content.decode())
    assert client.post("/post/", {**again, "body": "Of alice"}).status_code == 409
    assert not raw.exists("next_post_id")
