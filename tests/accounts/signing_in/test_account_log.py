"""The log lines about accounts: they have the user, the event and the address, and no text that was typed."""

import logging

import pytest

from tests.support.people import NEW_PASSWORD, PASSWORD
from tests.support.stored_keys import publish

ADDRESS = "203.0.113.9"


@pytest.fixture
def lines(caplog, monkeypatch):
    """The messages of one logger. `retwis` does not propagate them, so `caplog` sees none unless that is changed."""
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(logging.getLogger("retwis"), "propagate", True)
    return lambda logger: [record.getMessage() for record in caplog.records if record.name == logger]


def test_each_event_of_an_account_is_logged_with_the_user_and_the_address(browser, raw, lines):
    client = browser()
    both = {"password1": PASSWORD, "password2": PASSWORD}
    new = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    client.post("/register/", {"username": "alice", **both}, REMOTE_ADDR=ADDRESS)
    client.post("/settings/password/", {"password": PASSWORD, **new}, REMOTE_ADDR=ADDRESS)
    client.post("/logout/", REMOTE_ADDR=ADDRESS)
    client.post("/login/", {"username": "alice", "password": NEW_PASSWORD}, REMOTE_ADDR=ADDRESS)
    client.post("/settings/delete/", {"password": NEW_PASSWORD}, REMOTE_ADDR=ADDRESS)
    assert lines("retwis.accounts") == [
        f"user 1 registered from {ADDRESS}",
        f"user 1 changed the password from {ADDRESS}",
        f"user 1 logged out from {ADDRESS}",
        f"user 1 logged in from {ADDRESS}",
        f"user 1 deleted the account from {ADDRESS}",
    ]


def test_a_wrong_password_is_logged_without_the_typed_text(browser, alice, lines):
    browser().post("/login/", {"username": "my secret by mistake", "password": "alice"}, REMOTE_ADDR=ADDRESS)
    [line] = lines("retwis.accounts")
    assert f"wrong name or password from {ADDRESS}" in line
    assert "secret" not in line
    assert "alice" not in line


def test_a_refusal_by_a_rate_limit_is_logged(browser, alice, lines):
    for _ in range(11):
        browser().post("/login/", {"username": "alice", "password": "wrong"}, REMOTE_ADDR=ADDRESS)
    assert lines("retwis.security") == [f"POST /login/: too often, more than 10 wrong passwords, from {ADDRESS}"]


def test_an_attempt_to_delete_another_users_post_is_logged(browser, raw, store, alice, bob, lines):
    pid = publish(raw, store, alice, "Mine")
    assert browser(bob).post(f"/@Alice/{pid}/delete/").status_code == 403
    assert lines("retwis.security") == [f"POST /%40Alice/{pid}/delete/: not allowed, from 127.0.0.1"]
