"""How often an app may ask for one user: each answer says it, and one call too many is refused and does nothing."""

import pytest

from accounts.signing_in import tokens
from retwis_site.store.local_cache import Memory
from tests.support.apps import App
from tests.support.clock import Clock
from tests.support.people import LONG_AGO

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
