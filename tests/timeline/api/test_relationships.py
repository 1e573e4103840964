"""What an app's viewer and other people are to each other."""

import pytest

from tests.support.apps import App


def relationship(app, login):
    [found] = app.json("GET", "/api/v1/accounts/relationships", {"id[]": [login.user.uid]})
    return found


def test_people_are_followed_and_unfollowed(store, raw, alice, bob):
    app, me, them = App(alice), alice.user.uid, bob.user.uid
    found = app.json("POST", f"/api/v1/accounts/{them}/follow")
    assert (found["id"], found["following"], found["showing_reblogs"]) == (str(them), True, True)
    assert raw.zscore(f"following:{me}", them) is not None
    assert found == relationship(app, bob)
    assert relationship(App(bob), alice)["followed_by"]
    assert not app.json("POST", f"/api/v1/accounts/{them}/follow", {"reblogs": "false"})["showing_reblogs"]
    assert raw.zscore(f"muted_reposts:{me}", them) == float("inf")
    assert not App(bob).json("POST", f"/api/v1/accounts/{me}/remove_from_followers")["followed_by"]
    app.json("POST", f"/api/v1/accounts/{them}/follow")
    assert not app.json("POST", f"/api/v1/accounts/{them}/unfollow")["following"]
    assert raw.zcard(f"following:{me}") == 0


def test_blocks_end_follows_and_refuse_them(store, alice, bob):
    app, them = App(alice), bob.user.uid
    app.json("POST", f"/api/v1/accounts/{them}/follow")
    found = app.json("POST", f"/api/v1/accounts/{them}/block")
    assert (found["blocking"], found["following"]) == (True, False)
    assert relationship(App(bob), alice)["blocked_by"]
    refused = app.ask("POST", f"/api/v1/accounts/{them}/follow")
    assert (refused.status_code, refused.json()["error"]) == (403, "You block bob. Unblock them first.")
    assert App(bob).ask("POST", f"/api/v1/accounts/{alice.user.uid}/follow").status_code == 403
    assert not app.json("POST", f"/api/v1/accounts/{them}/unblock")["blocking"]


def test_a_mute_lasts_for_its_duration_and_includes_notices(store, raw, alice, bob, monkeypatch):
    app, key = App(alice), f"muted:{alice.user.uid}"
    found = app.json("POST", f"/api/v1/accounts/{bob.user.uid}/mute", {"notifications": "false"})
    assert (found["muting"], found["muting_notifications"]) == (True, True)
    assert raw.zscore(key, bob.user.uid) == float("inf")
    monkeypatch.setattr("time.time", lambda: 1_800_000_000.5)
    app.json("POST", f"/api/v1/accounts/{bob.user.uid}/mute", {"duration": "60"})
    assert raw.zscore(key, bob.user.uid) == 1_800_000_060
    assert not app.json("POST", f"/api/v1/accounts/{bob.user.uid}/unmute")["muting"]


@pytest.mark.parametrize("act", ["follow", "block", "mute"])
def test_nobody_acts_on_themselves_or_on_nobody(store, alice, act):
    assert App(alice).ask("POST", f"/api/v1/accounts/{alice.user.uid}/{act}").status_code == 403
    for nobody in ("999", "0", "x"):
        assert App(alice).ask("POST", f"/api/v1/accounts/{nobody}/{act}").status_code == 404


def test_many_relationships_cost_one_round_trip(store, alice, app, bob, carol, round_trips):
    app.json("POST", f"/api/v1/accounts/{carol.user.uid}/follow")
    asked = {"id[]": [carol.user.uid, 999, bob.user.uid, alice.user.uid]}
    found = app.json("GET", "/api/v1/accounts/relationships", asked)
    assert [(one["id"], one["following"]) for one in found] == [
        (str(carol.user.uid), True),
        (str(bob.user.uid), False),
        (str(alice.user.uid), False),
    ]
    assert len(round_trips(lambda: app.json("GET", "/api/v1/accounts/relationships", asked)).round_trips) == 1
    assert App().ask("GET", "/api/v1/accounts/relationships", asked).status_code == 401
