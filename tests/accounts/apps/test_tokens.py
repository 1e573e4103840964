"""The token of an app: what stands in the store, what it opens, what it allows, how often, and what ends it."""

import re
import time

import pytest
from django.contrib.auth.hashers import make_password

from accounts.apps.repository import OUT_OF_BAND, Apps, Code, Tokens
from accounts.signing_in import tokens
from accounts.signing_in.sessions.repository import Sessions
from accounts.signing_in.tokens import MOST_TOKENS, TOKENS, covers
from accounts.signing_in.viewer import AppToken, Viewer
from accounts.users.accounts import AccountDeletion
from accounts.users.entities import NotSignedIn
from retwis_site.store.ids import digest_of
from retwis_site.store.local_cache import Memory
from tests.support.apps import App, token_of
from tests.support.clock import Clock
from tests.support.people import LONG_AGO
from tests.support.stored_keys import drain_due


def opens(store, token):
    try:
        return Viewer(store, AppToken(token)).require_user()
    except NotSignedIn:
        return None


def test_a_token_is_a_field_of_its_user_and_only_its_digest_is_stored(store, raw, alice):
    token = token_of(alice, "read write:statuses")
    digest = digest_of(token)
    [app] = [key.removeprefix("app:") for key in raw.keys("app:*")]
    _since, generation, *rest = raw.hget("user:1", f"token:{digest}").split(":", 3)
    assert (generation, rest) == ("", [app, "read write:statuses"])
    assert not any(token in text for text in raw.hgetall("user:1").values())
    checked = (viewer := Viewer(store, AppToken(token))).checked
    assert (checked.user, checked.app, checked.scopes) == (alice.user, app, ("read", "write:statuses"))
    assert viewer.signed_in


def test_a_token_is_checked_in_the_round_trip_of_the_page(store, alice, round_trips):
    token = token_of(alice)
    opens(store, token)  # writes the hour
    Memory.clear_all()
    assert len(round_trips(lambda: opens(store, token)).round_trips) == 1


@pytest.mark.parametrize("uid", ["", "2", "0", "x", "9" * 30])
def test_a_token_with_another_uid_opens_nothing(store, alice, bob, uid):
    assert opens(store, token_of(alice)[:32] + uid) is None


def test_a_session_is_no_token_and_a_token_no_session(store, alice):
    assert opens(store, alice.secret) is None
    assert not Viewer(store, token_of(alice)).user.is_authenticated


def test_what_ends_sessions_ends_tokens(store, raw, alice, bob, carol):
    token, others = token_of(alice), token_of(bob)
    Sessions(store).change_password(1, make_password("another long one"))
    assert opens(store, token) is None
    assert opens(store, others) == bob.user
    AccountDeletion(store).delete(bob.user, bob.secret)
    assert opens(store, others) is None
    drain_due(store, raw)
    assert raw.hgetall("user:2").keys() == {"username", "deleted"}


def test_a_suspended_user_has_no_token_until_it_is_lifted(store, raw, alice):
    token = token_of(alice)
    raw.hset("user:1", mapping={"state": "suspended", "state_until": "0"})
    assert opens(store, token) is None


def test_a_consent_before_a_password_change_gives_no_token_after_it(store, raw, alice):
    app, _ = Apps(store).register("Tusky", "", [OUT_OF_BAND], ["read"])
    code = Tokens(store).new_code(Code(1, "", app.id, ("read",), OUT_OF_BAND))
    Sessions(store).change_password(1, make_password("another long one"))
    assert opens(store, Tokens(store).issue(Tokens(store).take_code(code))) is None


def test_a_code_serves_once_and_ends_by_itself(store, raw, alice):
    code = Tokens(store).new_code(Code(1, "", "app", ("read",), OUT_OF_BAND))
    [key] = raw.keys("code:*")
    assert code not in key
    assert 0 < raw.ttl(key) <= 600
    assert Tokens(store).take_code(code) == Code(1, "", "app", ("read",), OUT_OF_BAND)
    assert Tokens(store).take_code(code) is None


def test_a_user_has_so_many_tokens_and_the_least_used_ends(store, raw, alice):
    began = int(time.time()) - 86400
    raw.hset("user:1", mapping={f"token:{number:032}": f"{began + number}::app:read" for number in range(MOST_TOKENS)})
    token_of(alice)
    assert len(TOKENS.standing_in(raw.hgetall("user:1"))) == MOST_TOKENS
    assert not raw.hexists("user:1", f"token:{0:032}")


def test_an_app_without_a_token_ends_and_one_that_is_used_stays(store, raw, alice):
    app, _ = Apps(store).register("Tusky", "", [OUT_OF_BAND], ["read"])
    assert 7 * 86400 < raw.ttl(f"app:{app.id}") <= 8 * 86400  # Elk asks with one that it keeps for a week
    Apps(store).end_own_tokens(app)
    assert 7 * 86400 < raw.ttl(f"app:{app.id}") <= 8 * 86400
    token = Tokens(store).issue(Code(1, "", app.id, ("read",), OUT_OF_BAND))
    assert raw.ttl(f"app:{app.id}") > 399 * 86400
    raw.expire(f"app:{app.id}", 100)
    digest = digest_of(token)
    raw.hset("user:1", f"token:{digest}", f"{int(time.time()) - 86400}::{app.id}:read")
    opens(store, token)
    assert raw.ttl(f"app:{app.id}") > 399 * 86400
    assert int(raw.hget("user:1", f"token_used:{digest}")) % 3600 == 0


@pytest.mark.parametrize(("days", "stands"), [(399, True), (401, False)])
def test_a_token_ends_with_the_last_use_of_its_app_400_days_ago(store, raw, alice, days, stands):
    """The app itself may be gone by then, and its name with it."""
    token, used = token_of(alice), int(time.time()) - days * 86400
    digest = digest_of(token)
    _since, rest = raw.hget("user:1", f"token:{digest}").split(":", 1)
    raw.hset("user:1", mapping={f"token:{digest}": f"1700000000:{rest}", f"token_used:{digest}": used})
    assert len(TOKENS.standing_in(raw.hgetall("user:1"))) == stands
    assert (opens(store, token) == alice.user) is stands
    token_of(alice)  # another one leaves nothing of those that have ended
    assert raw.hexists("user:1", f"token_used:{digest}") is stands


@pytest.mark.parametrize(
    ("granted", "needed", "is_covered"),
    [
        ("read", "read:statuses", True),
        ("read:accounts", "read:statuses", False),
        ("write", "read:statuses", False),
        ("write:statuses", "write", False),
        ("follow", "write:mutes", True),
        ("follow", "write:statuses", False),
        ("profile", "profile", True),
        ("read:accounts", "profile", True),
        ("", "read", False),
    ],
)
def test_a_parent_scope_covers_its_own(granted, needed, is_covered):
    assert covers(granted.split(), needed) == is_covered


# ---- the settings list what apps may do for a user, and end it


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
    page = me.post("/settings/apps/", {"revoke": digest_of(first)[:16]}, follow=True).content.decode()
    assert "The app can no longer use your account." in page
    assert [*TOKENS.standing_in(raw.hgetall("user:1"))] == [digest_of(second)]
    page = me.post("/settings/apps/", {"revoke": "all"}, follow=True).content.decode()
    assert "No app can use your account now." in page
    assert TOKENS.standing_in(raw.hgetall("user:1")) == {}
    assert len(TOKENS.standing_in(raw.hgetall("user:2"))) == 1
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


# ---- how often an app may ask for one user


WINDOW = LONG_AGO // 300


@pytest.fixture
def limited(settings, monkeypatch):
    settings.THROTTLE, settings.THROTTLES = True, {"call": 2}
    clock = Clock()
    clock.now = WINDOW * 300
    monkeypatch.setattr(tokens.time, "time", lambda: clock.now)
    return clock


def test_a_token_is_used_so_often_in_five_minutes(store, raw, alice, bob, limited, round_trips):
    app = App(alice)
    home = "/api/v1/timelines/home"
    app.json("GET", home)  # this process finds that the token stands
    for left in ("1", "0"):
        answer = app.ask("GET", home)
        assert (answer["X-RateLimit-Limit"], answer["X-RateLimit-Remaining"]) == ("2", left)
        assert answer["X-RateLimit-Reset"].endswith("000Z")
    refused = app.ask("POST", "/api/v1/accounts/2/follow")
    assert (refused.status_code, refused["X-RateLimit-Remaining"]) == (429, "0")
    assert refused.json()["error"].startswith("Too many requests from this app")
    assert int(refused["Retry-After"]) <= 300
    assert not raw.exists("following:1")
    [key] = raw.keys("calls:*")
    assert (raw.get(key), 0 < raw.ttl(key) <= 600) == ("3", True)
    assert App(bob).ask("GET", home).status_code == 200
    limited.now += 300
    assert app.json("GET", home) == []


def test_a_token_that_somebody_makes_up_leaves_no_key(store, raw, alice, limited):
    Memory.clear_all()
    app = App()
    app.client.defaults["HTTP_AUTHORIZATION"] = "Bearer " + "0" * 32 + "1"
    for _ in range(3):
        assert app.ask("GET", "/api/v1/timelines/home").status_code == 401
    assert raw.keys("calls:*") == []
