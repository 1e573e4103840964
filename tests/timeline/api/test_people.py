"""People as apps read them: one's own account, those of others, their followers, whom one hides, and what they are to
the viewer."""

import json
import re
from math import inf

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from accounts.facts.facts import Fact, save_profile
from accounts.users.names import NameIndex
from retwis_site.store.local_cache import Memory
from tests.support.apps import App
from tests.support.people import register
from tests.support.pictures import picture_file
from tests.support.stored_keys import publish
from timeline.relations.relations import BlockedPeople, Follows, Likes, Mutes


def at_link(link):
    """The address in one link of the header `Link`."""
    return link.split(";")[0].strip("<>")


def test_ones_own_account_has_what_was_typed_and_ones_role(store, raw, alice):
    save_profile(
        store, alice.user, "Ann <3", "I & you", [Fact("Site", "https://ann.example/")], "http://testserver/@Alice/"
    )
    found = App(alice).json("GET", "/api/v1/accounts/verify_credentials")
    assert (found["display_name"], found["note"]) == ("Ann <3", "<p>I &amp; you</p>")
    assert found["source"]["note"] == "I & you"
    assert found["source"]["fields"] == [{"name": "Site", "value": "https://ann.example/", "verified_at": None}]
    assert found["role"] == {"id": "-99", "name": "", "color": "", "permissions": "0", "highlighted": False}
    assert App(alice, "profile").json("GET", "/api/v1/accounts/verify_credentials")["id"] == found["id"]
    assert App().ask("GET", "/api/v1/accounts/verify_credentials").status_code == 401


def test_a_new_account_has_an_empty_display_name(store, alice):
    assert App(alice).json("GET", "/api/v1/accounts/verify_credentials")["display_name"] == ""


@pytest.mark.parametrize("as_json", [False, True])
def test_a_profile_is_changed_and_what_is_not_sent_stays(store, raw, alice, as_json):
    app, at = App(alice), "/api/v1/accounts/update_credentials"
    if as_json:
        fields = [{"name": "", "value": None}, {"name": "Home", "value": "Rome"}]
        body = json.dumps({"display_name": "Ann", "fields_attributes": fields, "bot": True})
        answer = app.client.patch(at, body, content_type="application/json")
    else:
        sent = {"display_name": "Ann", "fields_attributes[0][name]": "Home", "fields_attributes[0][value]": "Rome"}
        answer = app.ask("PATCH", at, sent | {"bot": "1"})
    found = answer.json()
    assert (answer.status_code, found["display_name"], found["bot"]) == (200, "Ann", False)
    assert [(one["name"], one["value"]) for one in found["fields"]] == [("Home", "Rome")]
    assert raw.hmget(f"user:{alice.user.uid}", "name", "facts") == ["Ann", '[["Home", "Rome"]]']
    found = app.json("PATCH", at, {"note": "Hi"})
    assert (found["display_name"], found["source"]["note"], len(found["fields"])) == ("Ann", "Hi", 1)
    assert app.json("GET", f"/api/v1/accounts/{alice.user.uid}")["note"] == "<p>Hi</p>"


@pytest.mark.parametrize("nothing", [{}, []], ids=["as Ice Cubes sends it", "as a list"])
def test_the_last_field_of_a_profile_goes_when_an_app_sends_none(store, raw, alice, nothing):
    app, at = App(alice), "/api/v1/accounts/update_credentials"
    app.json("PATCH", at, {"fields_attributes[0][name]": "Home", "fields_attributes[0][value]": "Rome"})
    body = json.dumps({"display_name": "Ann", "fields_attributes": nothing})
    assert app.client.patch(at, body, content_type="application/json").json()["fields"] == []
    assert raw.hget(f"user:{alice.user.uid}", "facts") == "[]"


def test_what_a_profile_cannot_have_is_refused(store, raw, alice):
    app, at = App(alice), "/api/v1/accounts/update_credentials"
    for sent in ({"display_name": "x" * 51}, {"avatar": "data:,"}, {"fields_attributes[0][name]": "Home"}):
        answer = app.ask("PATCH", at, sent)
        assert (answer.status_code, answer.json()["error"][:18]) == (422, "Validation failed:")
    assert raw.hmget(f"user:{alice.user.uid}", "name", "facts") == [None, None]


def test_what_would_hide_an_account_is_refused_and_what_would_not_is_taken(store, raw, alice):
    app, at = App(alice), "/api/v1/accounts/update_credentials"
    shown = {"locked": "false", "discoverable": "true", "indexable": "true", "hide_collections": "0"}
    assert app.json("PATCH", at, shown | {"source[privacy]": "public", "display_name": "Ann"})["locked"] is False
    hidden = {"locked": "true", "discoverable": "false", "indexable": "0", "hide_collections": "1"}
    for sent in (*({name: text} for name, text in hidden.items()), {"source[privacy]": "private"}):
        answer = app.ask("PATCH", at, {"display_name": "Hidden", **sent})
        assert (answer.status_code, "public here. Nothing was changed" in answer.json()["error"]) == (422, True)
    assert raw.hget("user:1", "name") == "Ann"


def test_an_account_is_found_by_its_id_and_by_its_name(store, alice, app, bob):
    found = app.json("GET", f"/api/v1/accounts/{bob.user.uid}")
    assert (found["acct"], found["url"]) == ("bob", "http://testserver/@bob")
    for acct in ("bob", "@bob", "BOB", "bob@testserver"):
        assert App().json("GET", "/api/v1/accounts/lookup", {"acct": acct}) == found
    for acct in ("bob@elsewhere.example", "nobody", ""):
        assert App().ask("GET", "/api/v1/accounts/lookup", {"acct": acct}).status_code == 404
    assert app.json("GET", "/api/v1/accounts", {"id[]": [bob.user.uid, 999]}) == [found]
    assert app.ask("GET", "/api/v1/accounts/999").json() == {"error": "Record not found"}
    BlockedPeople(store).block(bob.user.uid, alice.user.uid)
    assert app.ask("GET", f"/api/v1/accounts/{bob.user.uid}").status_code == 404
    assert app.json("GET", "/api/v1/accounts", {"id[]": [bob.user.uid]}) == []


def test_people_are_found_by_the_beginnings_of_their_names(store, app, bob):
    NameIndex(store).edit(bob.user, "Robert Smith", "", None)
    for query in ("smith", "@bob", "bob@testserver"):
        assert [one["acct"] for one in app.json("GET", "/api/v1/accounts/search", {"q": query})] == ["bob"]
    for sent in (
        {"q": "bob@elsewhere.example"},
        {"q": "bob", "following": "true"},
        {"q": "bob", "offset": "1"},
        {"q": ""},
    ):
        assert app.json("GET", "/api/v1/accounts/search", sent) == []


def test_a_muted_or_blocked_person_is_found_by_the_whole_name(store, alice, app, bob):

    def found(query):
        return [one["acct"] for one in app.json("GET", "/api/v1/accounts/search", {"q": query})]

    Mutes(store).mute(alice.user.uid, bob.user.uid)
    assert (found("bo"), found("@BOB")) == ([], ["bob"])
    BlockedPeople(store).block(alice.user.uid, bob.user.uid)
    assert found("bob") == ["bob"]
    BlockedPeople(store).block(bob.user.uid, alice.user.uid)
    assert found("bob") == []


def test_parts_of_a_search_have_each_person_once_also_behind_a_muted_one(store, alice, app, bob):
    """Whom the whole name alone finds comes before all others, and so moves each of them by one."""
    Mutes(store).mute(alice.user.uid, bob.user.uid)
    for name in ("bobby", "bobine", "bobo"):
        register(store, name)
    whole = [one["acct"] for one in app.json("GET", "/api/v1/accounts/search", {"q": "bob"})]
    assert (whole[0], sorted(whole)) == ("bob", ["bob", "bobby", "bobine", "bobo"])
    for size in (1, 2, 3):
        parts = [
            app.json("GET", "/api/v1/accounts/search", {"q": "bob", "limit": size, "offset": first})
            for first in range(0, 6, size)
        ]
        assert [one["acct"] for part in parts for one in part] == whole


def test_followers_and_followed_people_come_in_pages(store, raw, alice, bob, carol):
    dora = register(store, "dora")
    for uid, since in ((bob.user.uid, 10), (carol.user.uid, 20), (dora.user.uid, 20)):
        Follows(store).follow(uid, alice.user.uid)
        raw.zadd(f"followers:{alice.user.uid}", {uid: since})
    app, at = App(bob), f"/api/v1/accounts/{alice.user.uid}/followers"
    first = app.ask("GET", at, {"limit": "2"})
    assert [one["acct"] for one in first.json()] == ["dora", "carol"]
    down, up = first["Link"].split(", ")
    assert (down.endswith('; rel="next"'), up.endswith('; rel="prev"'), "limit=2" in down) == (True, True, True)
    later = app.client.get(at_link(down))
    assert [one["acct"] for one in later.json()] == ["bob"]
    assert 'rel="next"' not in later["Link"]  # but it has a header: megalodon reads it on each page
    assert app.client.get(at_link(later["Link"])).json() == first.json()
    newest = app.client.get(at_link(up))
    assert (newest.json(), "Link" in newest) == ([], False)
    Follows(store).follow(register(store, "eve").user.uid, alice.user.uid)
    assert [one["acct"] for one in app.client.get(at_link(up)).json()] == ["eve"]
    [followed] = App().json("GET", f"/api/v1/accounts/{bob.user.uid}/following")
    assert (followed["acct"], followed["followers_count"]) == ("Alice", 4)
    BlockedPeople(store).block(alice.user.uid, bob.user.uid)
    assert app.ask("GET", at).status_code == 404


def test_a_person_whom_staff_has_hidden_is_found_by_their_followers_alone(store, raw, alice, bob, carol):
    """As on the page that finds people, also by the whole name; what knows the id or the address leads there."""
    Follows(store).follow(carol.user.uid, bob.user.uid)
    raw.hset("user:2", "state", "hidden")
    Memory.clear_all()

    def found(user, query):
        everything = App(user).json("GET", "/api/v2/search", {"q": query})["accounts"]
        if user is not None:
            assert App(user).json("GET", "/api/v1/accounts/search", {"q": query}) == everything
        return [one["acct"] for one in everything]

    for query in ("bo", "bob", "@bob", "bob@testserver"):
        assert found(alice, query) == found(None, query) == []
        assert found(carol, query) == ["bob"]
    assert found(bob, "bob") == ["bob"]
    for user in (alice, None):
        assert App(user).json("GET", "/api/v2/search", {"q": "http://testserver/@bob"})["accounts"][0]["acct"] == "bob"
        assert App(user).json("GET", "/api/v1/accounts/lookup", {"acct": "bob"})["acct"] == "bob"


def test_followers_whom_one_knows_are_named(store, alice, bob, carol):
    for who, whom in ((alice, bob), (bob, carol)):
        Follows(store).follow(who.user.uid, whom.user.uid)
    asked = {"id[]": [carol.user.uid, bob.user.uid]}
    found = App(alice).json("GET", "/api/v1/accounts/familiar_followers", asked)
    assert [(one["id"], [its["acct"] for its in one["accounts"]]) for one in found] == [
        (str(carol.user.uid), ["bob"]),
        (str(bob.user.uid), []),
    ]
    Mutes(store).mute(alice.user.uid, bob.user.uid)  # named on no profile either
    assert App(alice).json("GET", "/api/v1/accounts/familiar_followers", asked)[0]["accounts"] == []


@pytest.mark.parametrize("hides", [("state", "suspended"), ("deleted", "1"), None])
def test_followers_are_named_of_nobody_whose_profile_the_viewer_does_not_see(store, raw, alice, bob, carol, hides):
    for who, whom in ((alice, bob), (bob, carol)):
        Follows(store).follow(who.user.uid, whom.user.uid)
    if hides is None:
        BlockedPeople(store).block(carol.user.uid, alice.user.uid)
    else:
        raw.hset(f"user:{carol.user.uid}", *hides)
    Memory.clear_all()
    asked = {"id[]": [carol.user.uid]}
    assert App(alice).ask("GET", f"/api/v1/accounts/{carol.user.uid}").status_code == 404
    assert App(alice).json("GET", "/api/v1/accounts/familiar_followers", asked) == []


def test_cursors_of_people_are_numbers_since_apps_for_ios_read_the_digits_alone(store, raw, alice, app, bob, carol):
    pid = publish(raw, store, alice, "Hello")
    for login in (bob, carol):
        Follows(store).follow(login.user.uid, alice.user.uid)
        Likes(store).like(login.user.uid, pid, alice.user.uid)
    for at in (f"accounts/{alice.user.uid}/followers", f"statuses/{pid}/favourited_by"):
        first = app.ask("GET", f"/api/v1/{at}", {"limit": "1"})
        cursor = re.search(r"max_id=(\d+)", first["Link"])[1]
        later = app.json("GET", f"/api/v1/{at}", {"max_id": cursor})
        assert {one["acct"] for one in [*first.json(), *later]} == {"bob", "carol"}
        assert app.json("GET", f"/api/v1/{at}", {"since_id": 0}) == [*first.json(), *later]
    largest = int("9" * 16)  # as an id, and as a score
    raw.zadd(f"reposted_by:{pid}", {"2": largest, "3": largest - 1})
    cursor = str(largest * 10**16 + 2)
    assert app.ask("GET", f"/api/v1/statuses/{pid}/reblogged_by", {"max_id": cursor}).status_code == 200


def test_blocked_and_muted_people_are_listed_in_pages(store, alice, app, bob, carol):
    BlockedPeople(store).block(alice.user.uid, bob.user.uid)
    Mutes(store).mute(alice.user.uid, carol.user.uid, 4_000_000_000)
    Mutes(store).mute(alice.user.uid, bob.user.uid)
    assert [one["acct"] for one in app.json("GET", "/api/v1/blocks")] == ["bob"]
    first = app.ask("GET", "/api/v1/mutes", {"limit": "1"})
    assert [(one["acct"], one["mute_expires_at"]) for one in first.json()] == [("bob", None)]
    down, up = first["Link"].split(", ")
    assert app.client.get(at_link(up)).json() == []
    last = app.client.get(at_link(down))
    [later] = last.json()
    assert (later["acct"], later["mute_expires_at"]) == ("carol", "2096-10-02T07:06:40.000Z")
    assert app.client.get(at_link(last["Link"])).json() == first.json()
    Mutes(store).unmute(alice.user.uid, bob.user.uid)
    assert [one["acct"] for one in app.client.get(at_link(down)).json()] == ["carol"]  # the cursor is gone
    assert app.client.get(at_link(up)).json() == []


@pytest.mark.parametrize("kind", ["block", "mute"])
def test_all_blocked_and_muted_people_are_listed(store, raw, alice, app, kind):
    """Also behind what is no person, and when an app ends the mutes page by page. Permanent mutes have one score."""
    uids = [register(store, f"person{number}").user.uid for number in range(110)]
    at, key = f"/api/v1/{kind}s", f"{'blocked' if kind == 'block' else 'muted'}:{alice.user.uid}"
    scores = {"block": lambda place: 1_700_000_000 + place // 10, "mute": lambda place: inf if place % 50 else 4e9}
    raw.zadd(key, {str(uid): scores[kind](place) for place, uid in enumerate(uids)} | {"x": inf})
    raw.zadd(key, {"999": 1})  # a mute that has ended; a block of nobody
    expected = [uid for uid in map(int, filter(str.isdigit, raw.zrevrange(key, 0, -1))) if uid != 999]
    for sent in ({}, {"limit": "7"}, {"limit": "200"}):
        first = app.ask("GET", at, sent)
        assert len(first.json()) == min(int(sent.get("limit", 40)), 80)
        found, link = first.json(), first["Link"]
        while 'rel="next"' in link:
            answer = app.client.get(at_link(link.split(", ")[0]))
            found += answer.json()
            link = answer.get("Link", "")
        assert [int(one["id"]) for one in found] == expected
    while page := app.json("GET", at):
        last = app.ask("GET", at)
        for one in page:
            app.json("POST", f"/api/v1/accounts/{one['id']}/un{kind}")
        if 'rel="next"' in last["Link"]:
            assert app.client.get(at_link(last["Link"].split(", ")[0])).json() == app.json("GET", at)
    assert raw.zrange(key, 0, -1) == ["999", "x"]


def test_an_account_costs_one_round_trip(store, alice, bob, round_trips):
    app, at = App(alice), f"/api/v1/accounts/{bob.user.uid}"
    app.json("GET", at)
    assert len(round_trips(lambda: app.json("GET", at)).round_trips) == 1
    app.json("GET", "/api/v1/accounts/verify_credentials")
    assert len(round_trips(lambda: app.json("GET", "/api/v1/accounts/verify_credentials")).round_trips) == 1


def test_an_app_chooses_and_removes_the_pictures_of_a_profile(store, raw, alice, quick_decoder):
    app, at = App(alice), "/api/v1/accounts/update_credentials"
    assert app.json("GET", "/api/v1/accounts/verify_credentials")["avatar"].endswith("/static/avatar.png")
    files = {
        "avatar": SimpleUploadedFile("a.png", picture_file()),
        "header": SimpleUploadedFile("h.png", picture_file("green", (3000, 900))),
    }
    answer = app.client.patch(at, encode_multipart(BOUNDARY, files), content_type=MULTIPART_CONTENT)
    face, wide = raw.hmget("user:1", "picture", "header")
    media = "http://testserver/media/"
    found = answer.json()
    assert (found["avatar"], found["header"]) == (f"{media}{face}.webp", f"{media}{wide}.webp")
    assert (found["avatar_static"], found["header_static"]) == (found["avatar"], found["header"])
    assert App().json("GET", "/api/v1/accounts/1")["avatar"] == found["avatar"]
    long = {"avatar": SimpleUploadedFile("b.png", picture_file("blue")), "note": "x" * 200}
    assert app.client.patch(at, encode_multipart(BOUNDARY, long), content_type=MULTIPART_CONTENT).status_code == 422
    assert raw.hmget("user:1", "picture", "bio") == [face, None]
    bad = {"avatar": SimpleUploadedFile("a.svg", b"<svg/>")}
    answer = app.client.patch(at, encode_multipart(BOUNDARY, bad), content_type=MULTIPART_CONTENT)
    assert (answer.status_code, "not a picture" in answer.json()["error"]) == (422, True)
    half = {"avatar": SimpleUploadedFile("b.png", picture_file("blue")), "header": bad["avatar"]}
    assert app.client.patch(at, encode_multipart(BOUNDARY, half), content_type=MULTIPART_CONTENT).status_code == 422
    assert raw.hmget("user:1", "picture", "header") == [face, wide]
    found = app.json("DELETE", "/api/v1/profile/avatar")
    assert (found["avatar"], found["header"]) == ("http://testserver/static/avatar.png", f"{media}{wide}.webp")
    assert raw.hmget("user:1", "picture", "header") == [None, wide]


# ---- relationships


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


def test_a_follow_that_cannot_be_read_follows_nobody(raw, alice, bob):
    answer = App(alice).ask("POST", f"/api/v1/accounts/{bob.user.uid}/follow", {"reblogs": "maybe"})
    assert (answer.status_code, raw.zcard(f"following:{alice.user.uid}")) == (422, 0)


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
    for duration in ("-5", "x", "1.5"):
        refused = app.ask("POST", f"/api/v1/accounts/{bob.user.uid}/mute", {"duration": duration})
        assert (refused.status_code, raw.exists(key)) == (422, 0), duration


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
