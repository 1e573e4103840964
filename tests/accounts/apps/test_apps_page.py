"""The settings list what apps may do for a user, and end it."""

import re

from accounts.apps.repository import OUT_OF_BAND, Apps, Code, Tokens
from accounts.signing_in import tokens
from accounts.signing_in.tokens import digest_of, tokens_in
from tests.support.apps import token_of
from tests.support.clock import Clock


def test_a_user_sees_what_apps_may_do_and_ends_it(store, raw, browser, alice, bob):
    first, second, others = token_of(alice, "read"), token_of(alice, "write:statuses follow"), token_of(bob)
    me = browser(alice)
    page = me.get("/settings/apps/").content.decode()
    for said in ("Tusky", "Read everything that you can read here", "Write and delete posts", "Follow, mute and block"):
        assert said in page
    assert not [secret for secret in (first, second, others, digest_of(first)) if secret in page]
    numbers = re.findall('name="revoke" value="([0-9a-f]{16})"', page)
    assert len(numbers) == 2
    assert me.post("/settings/apps/", {"revoke": digest_of(others)[:16]}).status_code == 302
    me.post("/settings/apps/", {"revoke": digest_of(first)[:16]})
    assert [token.digest for token in tokens_in(raw.hgetall("user:1"))] == [digest_of(second)]
    me.post("/settings/apps/", {"revoke": "all"})
    assert tokens_in(raw.hgetall("user:1")) == []
    assert len(tokens_in(raw.hgetall("user:2"))) == 1
    assert "No app uses your account" in me.get("/settings/apps/").content.decode()


def test_the_token_of_an_app_that_has_ended_is_listed_without_a_name(store, raw, browser, alice):
    app, _ = Apps(store).register("Tusky", "", [OUT_OF_BAND], ["read"])
    Tokens(store).issue(Code(1, "", app.id, ("read",), OUT_OF_BAND))
    raw.delete(f"app:{app.id}")
    assert "Unknown app" in browser(alice).get("/settings/apps/").content.decode()


def test_no_app_was_used_before_it_was_allowed(store, raw, browser, alice, monkeypatch):
    monkeypatch.setattr(tokens, "time", Clock())  # fourteen minutes of an hour have gone
    token_of(alice, "read")
    page = browser(alice).get("/settings/apps/").content.decode()
    assert len(re.findall(r"<time[^>]*>14 November 2023, 22:13 UTC</time>", page)) == 2
    assert "22:00" not in page
