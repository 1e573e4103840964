"""Timelines: their pages up and down, which posts each has, and what they cost."""

import json
import re

import pytest

from tests.support.apps import App
from tests.support.people import register
from tests.support.stored_keys import publish
from tests.support.stored_posts import write_answer, write_posts, write_tag
from timeline.api import calls
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows, Mutes


def ids(statuses):
    return [int(status["id"]) for status in statuses]


def linked(answer, rel):
    """The address that the header `Link` names, with its query."""
    found = re.search(rf'<http://testserver([^>]+)>; rel="{rel}"', answer.headers.get("Link", ""))
    return found[1] if found else None


def walked(app, address, rel):
    """The ids of all pages on the way, and the last answer."""
    pages = []
    while address:
        answer = app.ask("GET", address)
        assert answer.status_code == 200
        pages.append(ids(answer.json()))
        last, address = answer, linked(answer, rel) if answer.json() else None
    return pages, last


def in_pages(pids, size):
    return [pids[start : start + size] for start in range(0, len(pids), size)]


@pytest.fixture
def posts(raw, alice, bob):
    """Posts 1 to 45: alice's have odd ids, bob's even ones. alice follows bob, and likes and keeps all."""
    write_posts(raw, 1, range(1, 46, 2))
    write_posts(raw, 2, range(2, 46, 2))
    raw.zadd("following:1", {"2": 1})
    raw.zadd("followers:2", {"1": 1})
    for pid in range(1, 46):
        raw.zadd("likes:1", {str(pid): 1_700_000_000 + pid // 10})
        raw.zadd("bookmarks:1", {str(pid): 1_700_000_000 + pid})
    write_tag(raw, "Tag", range(1, 46))


@pytest.mark.usefixtures("posts")
def test_links_lead_down_through_all_pages_and_up_again(store, raw, alice):
    app, newest_first = App(alice), [*range(45, 0, -1)]
    by_score = sorted(newest_first, key=lambda pid: (pid // 10, str(pid)), reverse=True)
    for address, pids in (
        ("/api/v1/timelines/home", newest_first),
        ("/api/v1/timelines/public", newest_first),
        ("/api/v1/timelines/tag/TAG", newest_first),
        ("/api/v1/accounts/1/statuses", newest_first[::2]),
        ("/api/v1/favourites", by_score),
        ("/api/v1/bookmarks", newest_first),
    ):
        down, last = walked(app, f"{address}?limit=7&only_media=false", "next")
        first = app.ask("GET", f"{address}?limit=7")
        assert re.search(r"max_id=\d+>.*min_id=\d+>", first["Link"]), address  # apps for iOS read the digits alone
        assert down == in_pages(pids, 7), address
        assert linked(last, "next") is None
        assert "limit=7&only_media=false&min_id=" in linked(last, "prev")
        up, _ = walked(app, linked(last, "prev"), "prev")
        above = pids[: pids.index(down[-1][0])]
        assert up == [*[page[::-1] for page in in_pages(above[::-1], 7)], []], address
    newest = app.ask("GET", "/api/v1/timelines/home?since_id=40")
    assert ids(newest.json()) == [45, 44, 43, 42, 41]
    assert newest.headers["Link"].startswith("<http://testserver/api/v1/timelines/home?min_id=45>")
    assert ids(app.json("GET", "/api/v1/timelines/home?max_id=44&min_id=40&limit=2")) == [42, 41]
    for name in ("home", "public", "tag/tag"):
        assert ids(app.json("GET", f"/api/v1/timelines/{name}?max_id=44&min_id=40")) == [43, 42, 41], name
    assert len(app.json("GET", "/api/v1/timelines/public?limit=80")) == 40


@pytest.mark.usefixtures("posts")
def test_a_list_begins_above_0_and_has_nothing_below_it(alice):
    app = App(alice)  # megalodon's users and bots ask so for the oldest
    for address in ("timelines/home", "timelines/public", "timelines/tag/tag", "accounts/2/statuses"):
        pids = [*range(2, 46, 2)] if "accounts" in address else [*range(1, 46)]
        assert ids(app.json("GET", f"/api/v1/{address}", {"min_id": 0, "limit": 3})) == pids[2::-1], address
        assert ids(app.json("GET", f"/api/v1/{address}", {"since_id": 0, "limit": 3})) == pids[:-4:-1], address
        assert app.json("GET", f"/api/v1/{address}", {"max_id": 0}) == []


@pytest.mark.usefixtures("posts")
def test_an_address_of_any_length_has_links_and_only_a_short_one_is_kept(alice):
    calls._kept.cache_clear()
    for tag, kept in (("tag", 1), ("x" * 200, 1), ("other", 2)):
        address = f"/api/v1/timelines/tag/{tag}"
        answer = App(alice).ask("GET", f"{address}?any[]=tag")
        assert f"<http://testserver{address}?any%5B%5D=tag&max_id=" in answer["Link"]
        assert calls._kept.cache_info().currsize == kept


@pytest.mark.usefixtures("posts")
def test_the_links_of_a_tag_with_its_hash_sign_lead_on(alice):
    down, _ = walked(App(alice), "/api/v1/timelines/tag/%23tag?limit=40", "next")
    assert down == in_pages([*range(45, 0, -1)], 40)


def test_the_page_just_above_an_old_post_is_read_from_the_sources(store, raw, app, bob, round_trips):
    write_posts(raw, 1, range(1, 1500))
    write_posts(raw, 2, range(1500, 1510))
    raw.zadd("following:1", {"2": 1})
    assert ids(app.json("GET", "/api/v1/timelines/home?limit=1")) == [1509]
    found = []
    recorded = round_trips(lambda: found.extend(app.json("GET", "/api/v1/timelines/home?min_id=100")))
    assert ids(found) == [*range(120, 100, -1)]
    assert len(recorded.round_trips) <= 5
    assert ids(app.json("GET", "/api/v1/timelines/home?max_id=100&limit=3")) == [99, 98, 97]


@pytest.mark.parametrize("followed", [1, 60])
def test_many_hidden_replies_just_above_an_old_post_do_not_end_the_timeline(store, raw, app, bob, carol, followed):
    """The more people a user follows, the fewer posts of each are read at first."""
    write_posts(raw, 3, [1])
    write_posts(raw, 2, [2])
    for pid in range(3, 103):
        write_answer(raw, 2, pid, parent=1)  # carol is not followed
    write_posts(raw, 2, range(103, 1500))
    raw.zadd("following:1", {"2": 1, **{str(100 + number): 1 for number in range(1, followed)}})
    assert ids(app.json("GET", "/api/v1/timelines/home?min_id=2")) == [*range(122, 102, -1)]


@pytest.mark.parametrize(
    "address",
    [
        *("timelines/home?", "timelines/public?", "timelines/tag/a?", "timelines/tag/b?all[]=a&"),
        *("bookmarks?", "bookmarks?limit=40&"),
    ],
)
def test_behind_posts_that_are_not_shown_the_way_up_goes_on(store, raw, alice, bob, address):
    write_posts(raw, 1, [1, 502])
    write_posts(raw, 2, range(2, 502))
    write_tag(raw, "a", range(1, 503))
    write_tag(raw, "b", [502, *range(2, 250)])
    raw.zadd("bookmarks:1", {"502": 1_700_000_000, **{str(pid): 1_600_000_000 + pid for pid in range(1001, 1500)}})
    Follows(store).follow(1, 2)
    Mutes(store).mute(1, 2)
    app = App(alice)
    answer = app.ask("GET", f"/api/v1/{address}min_id=1")
    assert ids(answer.json()) == [502]
    assert app.json("GET", linked(answer, "prev")) == []
    assert linked(app.ask("GET", linked(answer, "prev")), "prev") is None


def test_each_timeline_has_the_posts_that_were_asked_for(store, raw, alice, bob, carol):
    write_posts(raw, 1, [1, 3])
    write_posts(raw, 2, [2])
    write_answer(raw, 1, 4, 2)
    raw.hset("post:5", mapping={"user_id": 1, "time": 7, "repost_of": 2})
    raw.zadd("updates:1", {"5": 5})
    write_tag(raw, "a", [1, 2, 3])
    write_tag(raw, "b", [2, 3])
    write_tag(raw, "c", [4])
    Follows(store).follow(3, 1)
    for query, pids in (
        ("accounts/1/statuses", [5, 4, 3, 1]),
        ("accounts/1/statuses?exclude_replies=true", [5, 3, 1]),
        ("accounts/1/statuses?exclude_reblogs=1", [4, 3, 1]),
        ("accounts/1/statuses?tagged=B", [3]),
        ("accounts/1/statuses?only_media=true", []),
        ("accounts/1/statuses?pinned=true", []),
        ("timelines/tag/a", [3, 2, 1]),
        ("timelines/tag/%23C", [4]),
        ("timelines/tag/c?any[]=B", [4, 3, 2]),
        ("timelines/tag/a?all[]=b", [3, 2]),
        ("timelines/tag/a?none[]=b", [1]),
        ("timelines/tag/nothing", []),
        ("timelines/public?local=true", [4, 3, 2, 1]),
        ("timelines/public?remote=true", []),
        ("timelines/home", [5, 3, 1]),
    ):
        assert ids(App(carol).json("GET", f"/api/v1/{query}")) == pids, query
    Follows(store).follow(3, 2)  # the repost of post 2 stands for it, also on the way up
    assert ids(App(carol).json("GET", "/api/v1/timelines/home")) == [5, 4, 3, 1]
    assert ids(App(carol).json("GET", "/api/v1/timelines/home?min_id=1")) == [5, 4, 3]
    assert App().ask("GET", "/api/v1/accounts/99/statuses").status_code == 404
    assert App().ask("GET", "/api/v1/timelines/home").status_code == 401


def test_posts_with_several_tags_are_found_behind_many_with_one(raw, alice):
    """Also when none of the newest posts that are read at once has all of them."""
    app = App(alice)
    write_posts(raw, 1, range(1, 451))
    write_tag(raw, "often", range(1, 451))
    write_tag(raw, "seldom", [7, 100, 101])
    for query, pids in (("all[]=seldom", [101, 100, 7]), ("none[]=often", [])):
        pages, _ = walked(app, f"/api/v1/timelines/tag/often?limit=2&{query}", "next")
        assert [pid for page in pages for pid in page] == pids, query


def found_by_links(app, address):
    """The ids of all pages, of which some may be empty."""
    found = []
    while address:
        answer = app.ask("GET", address)
        found += ids(answer.json())
        address = linked(answer, "next")
    return found


def test_the_tagged_posts_of_an_account_are_found_behind_many_others(raw, alice):
    write_posts(raw, 1, range(1, 451))
    write_tag(raw, "seldom", [7, 100, 101])
    assert found_by_links(App(alice), "/api/v1/accounts/1/statuses?limit=2&tagged=seldom") == [101, 100, 7]


ANSWER, REPOST = {"reply_to": 2000, "reply_to_user": 2, "root": 2000}, {"repost_of": 2000}
PICTURE = json.dumps({"pictures": [["a" * 40, 9, 9, ""]]})


@pytest.mark.parametrize(
    ("chosen", "others"),
    [("exclude_replies=1", ANSWER), ("exclude_reblogs=1", REPOST), ("only_media=1", {}), ("tagged=seldom", {})],
)
def test_a_tab_of_a_profile_has_a_post_behind_hundreds_of_others(raw, alice, bob, chosen, others):
    """Elk and Tusky take a page without a post for the end: the tab was empty."""
    app = App(alice)
    write_posts(raw, 1, range(700, 1500))
    write_posts(raw, 2, [2000])
    raw.hset("post:700", "media", PICTURE)
    write_tag(raw, "seldom", [700])
    for pid in others and range(701, 1500):
        raw.hset(f"post:{pid}", mapping=others)
    address = f"/api/v1/accounts/1/statuses?limit=1&{chosen}"
    assert ids(app.json("GET", address)) == ids(app.json("GET", f"{address}&min_id=1")) == [700]
    assert app.ask("GET", address).headers["Link"].count("max_id") == 0


@pytest.mark.parametrize("address", ["timelines/public?", "timelines/tag/often?", "timelines/tag/often?any[]=a&"])
def test_pictures_of_everyone_and_of_a_tag_are_found_behind_hundreds_of_other_posts(raw, alice, address):
    write_posts(raw, 1, range(1, 701))
    write_tag(raw, "often", range(1, 701))
    for pid in (1, 700):
        raw.hset(f"post:{pid}", "media", PICTURE)
    address = f"/api/v1/{address}only_media=true"
    for app in (App(alice), App()):
        assert ids(app.json("GET", address)) == [700]
        assert ids(app.json("GET", f"{address}&max_id=700")) == [1]
        assert ids(app.json("GET", f"{address}&min_id=1")) == [700]
        assert ids(app.json("GET", f"{address}&min_id=0&limit=1")) == [1]


def test_a_tab_of_a_profile_with_a_post_above_hundreds_of_others_is_found_upwards(raw, alice):
    write_posts(raw, 1, range(1, 801))
    raw.hset("post:800", "media", PICTURE)
    assert ids(App(alice).json("GET", "/api/v1/accounts/1/statuses?only_media=1&min_id=1")) == [800]


@pytest.mark.parametrize("of", ["accounts/1/statuses", "timelines/tag/often"])
def test_a_thousand_posts_are_read_at_most(raw, alice, round_trips, of):
    write_posts(raw, 1, range(1, 1201))
    write_tag(raw, "often", range(1, 1201))
    app, answers, address = App(alice), [], f"/api/v1/{of}?only_media=true"
    recorded = round_trips(lambda: answers.append(app.ask("GET", address)))
    assert (answers[0].json(), linked(answers[0], "next")) == ([], f"{address}&max_id=201")
    assert len(recorded.round_trips) <= 17


@pytest.mark.parametrize("limit", [20, 40])
def test_likes_and_bookmarks_are_found_behind_many_of_a_muted_person(raw, alice, bob, carol, limit):
    write_posts(raw, 2, range(2, 450))
    write_posts(raw, 3, [1, 450])
    raw.zadd("muted:1", {"2": "+inf"})
    for key, call in (("likes:1", "favourites"), ("bookmarks:1", "bookmarks")):
        raw.zadd(key, {str(pid): pid for pid in range(1, 451)})
        app, address = App(alice), f"/api/v1/{call}?limit={limit}"
        assert found_by_links(app, address) == [450, 1]
        raw.zrem(key, "450")
        assert ids(app.json("GET", address)) == [1]


def test_a_quoted_status_says_of_its_viewer_what_it_says_alone(store, raw, alice, bob, carol):
    """A process writes a status once for all viewers to whom it looks the same."""
    quoted = publish(raw, store, alice, "Hello")
    Posts(store).publish(bob.user.uid, NewPost("Look", quote=quoted), "token")
    alices, carols = App(alice), App(carol)
    alices.json("POST", f"/api/v1/statuses/{quoted}/pin")
    carols.json("POST", f"/api/v1/statuses/{quoted}/mute")
    for app in (App(), App(bob), alices, App(), carols, alices):
        quote = app.json("GET", "/api/v1/timelines/public")[0]["quote"]
        assert quote["quoted_status"] == app.json("GET", f"/api/v1/statuses/{quoted}")


def test_a_timeline_costs_no_more_round_trips_than_its_page(store, raw, browser, alice, round_trips, clock):
    people = [register(store, f"person{number}").user.uid for number in range(10)]
    for pid in range(1, 41):
        write_posts(raw, people[pid % 10], [pid])
    write_posts(raw, 1, [41, 42])
    raw.hset("post:40", "quote", "3")
    raw.hset("post:39", mapping={"mentions": str(people[2]), "body": "Hello @person2"})
    raw.zadd("following:1", {str(uid): 1 for uid in people})
    page, app = browser(alice), App(alice)
    for here, there in (("/", "home"), ("/timeline/?of=all", "public"), ("/@person3/", f"{people[3]}/statuses")):
        address = f"/api/v1/{'accounts' if 'statuses' in there else 'timelines'}/{there}"
        for _ in range(2):
            page.get(here)
            app.json("GET", address)
        for seconds in (6, 0):
            clock.sleep(seconds)
            of_page = round_trips(lambda: page.get(here))  # noqa: B023
            clock.sleep(seconds)
            of_app = round_trips(lambda: app.json("GET", address))  # noqa: B023
            # A profile foresees its posts, which an app's part of it does not.
            most = len(of_page.round_trips) + ("statuses" in there and seconds > 0)
            assert len(of_app.round_trips) <= most, (address, seconds, of_app.round_trips)
