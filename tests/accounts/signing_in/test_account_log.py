"""What happens to accounts is written down: who, what and from where, and nothing that was typed."""

import logging

import pytest

from tests.support.people import NEW_PASSWORD, PASSWORD
from tests.support.stored_keys import publish

FROM = "203.0.113.9"


@pytest.fixture
def lines(caplog, monkeypatch):
    """The lines of one logger; they are not handed on to where a test would see them."""
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(logging.getLogger("retwis"), "propagate", True)
    return lambda logger: [record.getMessage() for record in caplog.records if record.name == logger]


def test_what_happens_to_an_account_is_a_line_with_who_and_from_where(browser, raw, lines):
    client = browser()
    both = {"password1": PASSWORD, "password2": PASSWORD}
    new = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    client.post("/register/", {"username": "alice", **both}, REMOTE_ADDR=FROM)
    client.post("/settings/password/", {"password": PASSWORD, **new}, REMOTE_ADDR=FROM)
    client.post("/logout/", REMOTE_ADDR=FROM)
    client.post("/login/", {"username": "alice", "password": NEW_PASSWORD}, REMOTE_ADDR=FROM)
    client.post("/settings/delete/", {"password": NEW_PASSWORD}, REMOTE_ADDR=FROM)
    assert lines("retwis.accounts") == [
        f"user 1 registered from {FROM}",
        f"user 1 changed the password from {FROM}",
        f"user 1 logged out from {FROM}",
        f"user 1 logged in from {FROM}",
        f"user 1 deleted the account from {FROM}",
    ]


def test_a_wrong_password_is_a_line_without_what_was_typed(browser, alice, lines):
    browser().post("/login/", {"username": "my secret by mistake", "password": "alice"}, REMOTE_ADDR=FROM)
    [line] = lines("retwis.accounts")
    assert f"wrong name or password from {FROM}" in line
    assert "secret" not in line
    assert "alice" not in line


def test_too_much_is_a_line(browser, alice, lines):
    for _ in range(11):
        browser().post("/login/", {"username": "alice", "password": "wrong"}, REMOTE_ADDR=FROM)
    assert lines("retwis.security") == ["POST /login/: too often, more than 10 wrong passwords"]


def test_what_is_not_theirs_is_a_line(browser, raw, store, alice, bob, lines):
    pid = publish(raw, store, alice, "Mine")
    assert browser(bob).post(f"/@Alice/{pid}/delete/").status_code == 403
    assert lines("retwis.security") == [f"POST /%40Alice/{pid}/delete/: not allowed"]
