"""Notices as apps read them, one by one and in groups, and how far they are read."""

import pytest

from accounts.community.sanctions import Sanctions
from accounts.users.entities import State
from retwis_site.store import snowflake
from tests.support.apps import App
from tests.support.clock import Clock
from tests.support.people import register
from tests.support.protocols.reports import make_admin, report
from tests.support.runs.python_calls import python_calls
from tests.support.stored_keys import publish
from timeline.api import notifications
from timeline.moderation.reports import Action, Reports
from timeline.notices import MARK, Row
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import BlockedPeople, Follows, Likes

ALL, GROUPED = "/api/v1/notifications", "/api/v2/notifications"
DAY = 24 * 3600
NOON = 20_000 * DAY + DAY // 2


@pytest.fixture
def told(store, raw, alice, bob, carol):
    """Alice's post is liked by both and answered by carol, who follows her; oldest first, some at the same second."""
    me, pid = alice.user.uid, publish(raw, store, alice, "Hello")
    for login in (bob, carol):
        Likes(store).like(login.user.uid, pid, me)
    Follows(store).follow(carol.user.uid, me)
    answer = Posts(store).publish(carol.user.uid, NewPost("Hi", reply_to=pid), "token").pid
    members = (f"like:{pid}:{bob.user.uid}", f"like:{pid}:{carol.user.uid}", f"follow:{me}:{carol.user.uid}")
    for member, when in (*zip(members, (NOON, NOON + 1, NOON + 1), strict=True), (f"reply:{answer}:3", NOON + 2)):
        assert raw.zadd(f"notices:{me}", {member: when}, xx=True) == 0
    return pid


def test_notices_come_newest_first_with_ids_that_sort_as_texts(told, raw, alice, app):
    found = app.json("GET", ALL)
    assert [(one["type"], one["account"]["acct"]) for one in found][::3] == [("mention", "carol"), ("favourite", "bob")]
    assert {one["type"] for one in found[1:3]} == {"favourite", "follow"}
    ids = [one["id"] for one in found]
    assert ids == sorted(ids, reverse=True)
    assert {len(one) for one in ids} == {16}
    assert found[3]["status"] == app.json("GET", f"/api/v1/statuses/{told}")
    assert "status" not in next(one for one in found if one["type"] == "follow")
    assert found[3]["created_at"] == "2024-10-04T12:00:00.000Z"
    assert app.json("GET", f"{ALL}/{ids[0]}") == found[0]
    assert raw.zscore(f"notices:{alice.user.uid}", MARK) is None  # a marker says what is read


def test_a_reply_mentions_the_viewer_in_a_notice_also_without_the_name(told, store, alice, app, carol):
    Posts(store).publish(carol.user.uid, NewPost("And this, @Alice", reply_to=told), "t2")
    Posts(store).publish(carol.user.uid, NewPost("Look at this", quote=told), "t3")
    found = app.json("GET", ALL, {"types[]": "mention"})
    assert [[who["acct"] for who in one["status"]["mentions"]] for one in found] == [["Alice"]] * 3
    assert app.json("GET", GROUPED)["statuses"][:3] == [one["status"] for one in found]
    [quote] = [one["status"] for one in found if one["status"]["quote"]]
    assert app.json("GET", f"/api/v1/statuses/{quote['id']}")["mentions"] == []


def test_a_page_lies_between_its_ids_and_links_to_its_neighbours(told, app):
    ids = [one["id"] for one in app.json("GET", ALL)]

    def page(**sent):
        answer = app.ask("GET", ALL, sent)
        return [one["id"] for one in answer.json()], answer.get("Link", "")

    first, links = page(limit=2, **{"types[]": ["mention", "favourite", "follow"]})
    assert first == ids[:2]
    assert [link.split("; ")[1] for link in links.split(", ")] == ['rel="next"', 'rel="prev"']
    assert f"max_id={ids[1]}" in links
    last, links = page(limit=2, max_id=ids[1])
    assert (last, "next" in links) == (ids[2:], False)
    assert page(min_id=ids[3], limit=1)[0] == [ids[2]]
    assert page(since_id=ids[3], limit=1)[0] == [ids[0]]
    assert page(max_id=ids[3]) == ([], "")


@pytest.mark.parametrize("above", ["since_id", "min_id"])
def test_an_app_that_asks_for_new_notices_misses_none_of_the_same_second(told, raw, alice, app, monkeypatch, above):
    clock, key = Clock(), f"notices:{alice.user.uid}"
    monkeypatch.setattr(notifications.time, "time", lambda: clock.now)
    _, told_first, told_later, known = app.json("GET", ALL)  # as the app may get two of one second
    kind, what = {"favourite": ("like", told), "follow": ("follow", alice.user.uid)}[told_later["type"]]
    assert raw.zrem(key, f"{kind}:{what}:3") == 1
    clock.now, got = NOON + 1.9, [known["id"]]
    assert app.json("GET", ALL, {above: 0}) == []
    got += [one["id"] for one in app.json("GET", ALL, {above: got[-1]})]
    raw.zadd(key, {f"{kind}:{what}:3": NOON + 1})
    clock.now = NOON + 3
    got += [one["id"] for one in app.json("GET", ALL, {above: got[-1]})]
    assert got == [known["id"], told_first["id"], told_later["id"]]
    assert len(app.json("GET", ALL)) == 4  # who asks for the newest ones need not wait


def test_notices_are_chosen_by_their_types_and_by_their_causes(told, app, bob):
    for sent, number in (
        ({"types[]": "favourite"}, 2),
        ({"exclude_types[]": ["favourite", "follow"]}, 1),
        ({"types[]": "poll"}, 0),
        ({"account_id": bob.user.uid}, 1),
    ):
        assert len(app.json("GET", ALL, sent)) == number
        assert app.json("GET", f"{ALL}/unread_count", sent) == {"count": number}


def test_groups_name_their_people_and_posts_once(told, app, bob, carol):
    found = app.json("GET", GROUPED)
    groups = found["notification_groups"]
    likes = next(one for one in groups if one["type"] == "favourite")
    assert (len(groups), likes["group_key"], likes["notifications_count"]) == (3, f"favourite-{told}", 2)
    assert likes["sample_account_ids"] == [str(carol.user.uid), str(bob.user.uid)]
    assert str(likes["most_recent_notification_id"]) == likes["page_max_id"] > likes["page_min_id"]
    assert isinstance(likes["most_recent_notification_id"], int)  # as in Mastodon: Ice Cubes and others read no text
    assert {one["group_key"].partition("-")[0] for one in groups} == {"favourite", "follow", "ungrouped"}
    assert likes["status_id"] == str(told)
    assert found["statuses"][-1] == app.json("GET", f"/api/v1/statuses/{told}")
    assert sorted(one["acct"] for one in found["accounts"]) == ["bob", "carol"]
    [one] = app.json("GET", f"{GROUPED}/{likes['group_key']}")["notification_groups"]
    assert one == likes
    assert len(app.json("GET", f"{GROUPED}/{likes['group_key']}/accounts")) == 2
    assert app.json("GET", f"{GROUPED}/unread_count") == {"count": 3}
    for alone in ("follow", ""):
        assert len(app.json("GET", GROUPED, {"grouped_types[]": alone})["notification_groups"]) == 4
    first = app.ask("GET", GROUPED, {"limit": 1})
    assert len(first.json()["notification_groups"]) == 1
    assert f"max_id={groups[0]['page_max_id']}" in first["Link"]


def test_an_app_that_goes_on_below_the_oldest_notice_of_a_page_misses_no_group(told, raw, alice, app, bob, carol):
    me, who = alice.user.uid, carol.user.uid
    carol_follows, bob_liked = f"follow:{me}:{who}", f"like:{told}:{bob.user.uid}"  # between the two likes
    raw.zadd(f"notices:{me}", {carol_follows: NOON, bob_liked: NOON - 1}, xx=True)
    keys = [one["group_key"] for one in app.json("GET", GROUPED)["notification_groups"]]
    assert keys[1:] == [f"favourite-{told}", f"follow-{NOON // DAY}"]
    walked, below = [], {}
    for _ in keys:
        [one] = app.json("GET", GROUPED, {"limit": 1, **below})["notification_groups"]
        walked.append(one["group_key"])
        below = {"max_id": one["page_min_id"]}
    assert walked == keys


def test_notices_are_dismissed_one_by_one_in_groups_and_together(told, raw, alice):
    app, key = App(alice), f"notices:{alice.user.uid}"
    newest = app.json("GET", ALL)[0]["id"]
    assert app.json("POST", f"{ALL}/{newest}/dismiss") == {}
    assert raw.zcard(key) == 3
    assert app.ask("POST", f"{ALL}/{newest}/dismiss").status_code == 404
    assert app.json("POST", f"{GROUPED}/favourite-{told}/dismiss") == {}
    assert raw.zcard(key) == 1
    assert app.ask("GET", f"{GROUPED}/favourite-{told}").status_code == 404
    assert app.json("POST", f"{ALL}/clear") == {}
    assert raw.exists(key) == 0


def test_a_notice_that_an_app_has_alone_is_found_and_dismissed_by_its_key(told, raw, alice, bob):
    app, key = App(alice), f"notices:{alice.user.uid}"
    alone = app.json("GET", GROUPED, {"grouped_types[]": "follow"})["notification_groups"][-1]
    assert (alone["type"], alone["group_key"]) == ("favourite", f"ungrouped-{alone['page_max_id']}")
    address = f"{GROUPED}/{alone['group_key']}"
    assert app.json("GET", address)["notification_groups"] == [alone]
    assert [one["acct"] for one in app.json("GET", f"{address}/accounts")] == ["bob"]
    assert app.json("POST", f"{address}/dismiss") == {}
    assert raw.zscore(key, f"like:{told}:{bob.user.uid}") is None
    assert raw.zcard(key) == 3
    assert app.ask("GET", address).status_code == 404


def test_hidden_people_and_deleted_posts_cause_no_notices(told, store, raw, alice, app, bob):
    raw.zadd(f"muted:{alice.user.uid}", {bob.user.uid: float("inf")})
    assert {one["account"]["acct"] for one in app.json("GET", ALL)} == {"carol"}
    Posts(store).delete(alice.user.uid, told)
    assert [one["type"] for one in app.json("GET", ALL)] == ["mention", "follow"]
    BlockedPeople(store).block(alice.user.uid, 3)
    assert app.json("GET", ALL) == []


def test_what_became_of_own_reports_is_neither_counted_nor_takes_the_place_of_others(told, store, app):
    make_admin(store, register(store, "dan").user.uid)
    for by, whom in ((1, 2), (2, 1), (1, 3)):
        one = report(store, by, whom)
        Reports(store).decide(one, 4, [Action.WARN], "Be kind")
    [newest] = app.json("GET", ALL, {"limit": 1})
    assert newest["type"] == "moderation_warning"
    assert newest["moderation_warning"]["id"] == newest["id"]  # not that of the report, which says when it was made
    assert newest["moderation_warning"]["created_at"] == newest["created_at"]
    [in_groups] = app.json("GET", GROUPED, {"limit": 1})["notification_groups"]
    assert in_groups["moderation_warning"] == newest["moderation_warning"]
    assert [one["type"] for one in app.json("GET", ALL)].count("moderation_warning") == 1
    for address in (ALL, GROUPED):
        assert app.json("GET", f"{address}/unread_count", {"types[]": "moderation_warning"}) == {"count": 1}


def test_a_marker_moves_forward_for_pages_and_apps_alike(told, raw, alice, browser):
    app, me = App(alice), alice.user.uid
    both = {"timeline[]": ["home", "notifications"]}
    assert app.json("GET", "/api/v1/markers", both) == {}
    ids = [one["id"] for one in app.json("GET", ALL)]
    sent = {"home[last_read_id]": told, "notifications[last_read_id]": ids[3]}
    found = app.json("POST", "/api/v1/markers", sent)
    assert (found["home"]["last_read_id"], found["notifications"]["last_read_id"]) == (str(told), ids[3])
    assert found == app.json("GET", "/api/v1/markers", both)
    assert raw.hmget(f"user:{me}", "seen", "noticed") == [str(told), str(NOON)]
    assert app.json("GET", f"{ALL}/unread_count") == {"count": 3}
    assert b"(3)" in browser(alice).get("/timeline/?of=all").content
    app.json("POST", "/api/v1/markers", {"notifications[last_read_id]": ids[0]})
    app.json("POST", "/api/v1/markers", sent)
    assert app.json("GET", f"{ALL}/unread_count") == {"count": 0}


def test_the_version_of_a_marker_has_32_bits_as_integers_of_some_apps_have(raw, alice):
    seen = snowflake.make()
    raw.hset(f"user:{alice.user.uid}", "seen", seen)
    home = App(alice).json("GET", "/api/v1/markers", {"timeline[]": "home"})["home"]
    assert (home["last_read_id"], home["version"]) == (str(seen), snowflake.made_at(seen))
    assert home["version"] < 2**31


def test_a_page_costs_as_many_round_trips_as_the_page_of_notices(told, alice, browser, round_trips):
    app, client = App(alice), browser(alice)
    for ask in (lambda: client.get("/notifications/"), lambda: app.json("GET", ALL), lambda: app.json("GET", GROUPED)):
        ask()
        assert len(round_trips(ask).round_trips) == 2


@pytest.mark.parametrize(("new", "reads"), [(0, 1), (60, 1), (99, 1), (100, 2), (160, 2)])
def test_the_number_of_unread_notices_reads_no_more_than_the_new_ones_take(raw, alice, app, round_trips, new, reads):
    """Apps ask for it again and again, also for people who have a thousand old ones."""
    me, answers = alice.user.uid, []
    times = {f"follow:{me}:{uid}": NOON + (uid <= new) for uid in range(1, 801)}
    raw.zadd(f"notices:{me}", {**times, MARK: NOON})
    raw.hset(f"user:{me}", "noticed", NOON)
    app.json("GET", f"{ALL}/unread_count")
    recorded = round_trips(lambda: answers.append(app.json("GET", f"{ALL}/unread_count", {"limit": 1000})))
    assert answers == [{"count": new}]
    assert len(recorded.round_trips) == reads
    read = [command for command in recorded.commands if command[:2] == ("ZREVRANGE", f"notices:{me}")]
    assert [int(str(command[3])) + 1 for command in read] == [100, 1001][:reads]


@pytest.mark.parametrize("address", [ALL, GROUPED])
def test_an_id_is_made_once_for_each_notice_and_again_for_what_is_told(raw, alice, app, address):
    me = alice.user.uid
    raw.zadd(f"notices:{me}", {f"follow:{me}:{uid}": NOON + uid * DAY for uid in range(1, 801)})
    app.json("GET", address)
    assert python_calls(lambda: app.json("GET", address))["notifications.py:id_of"] <= 800 + 3 * 40


def test_a_notice_of_a_kind_that_apps_do_not_know_is_unknown_to_them(store, raw, alice, app):
    """What staff has done about a sanction is told on the page alone."""
    me = alice.user.uid
    Sanctions(store).impose(me, State.HIDDEN, "Ads.")
    Sanctions(store).lift(me)
    [[member, when]] = raw.zrange(f"notices:{me}", 0, -1, withscores=True)
    assert app.json("GET", ALL) == []
    number = notifications.id_of(Row(int(when), member))
    assert app.ask("GET", f"{ALL}/{number}").status_code == 404
    assert app.ask("GET", f"{GROUPED}/ungrouped-{number}").status_code == 404
    assert app.ask("POST", f"{ALL}/{number}/dismiss").status_code == 404
    assert raw.zrange(f"notices:{me}", 0, -1) == [member]
