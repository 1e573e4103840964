"""What apps find: people, posts and tags by a text or an address, trends, and whom to follow."""

import time

import pytest

from retwis_site.store.local_cache import Memory
from tests.support.apps import App
from tests.support.stored_posts import like, repost, write_indexed, write_recent
from timeline.relations.relations import BlockedPeople, Follows, Likes
from timeline.search import searching
from timeline.tags.tags import MOST_FOLLOWED

SEARCH = "/api/v2/search"


def test_a_text_finds_people_posts_and_tags(store, raw, alice, app, bob):
    write_indexed(raw, store, bob.user.uid, {1: "Rye #bread", 2: "bread and bob"})
    raw.hset("tags", "bread", "Bread")
    raw.zadd("tags_by_name", {"bread": 0})
    raw.zadd("tag:bread", {1: 1})
    Likes(store).like(alice.user.uid, 2, bob.user.uid)

    def found(q, **sent):
        every = app.json("GET", SEARCH, {"q": q} | sent)
        return [[one.get("acct") or one.get("name") or one["id"] for one in some] for some in every.values()]

    assert found("bob") == [["bob"], ["2"], []]
    assert found("bread") == [[], ["2", "1"], ["Bread"]]
    assert found("#bread", type="hashtags") == [[], [], ["Bread"]]
    assert found("bread", type="statuses", limit=1, offset=1) == [[], ["1"], []]
    assert found("bread", type="statuses", max_id=2) == [[], ["1"], []]
    assert found("bread", type="statuses", min_id=1) == [[], ["2"], []]
    assert found("bread", type="statuses", account_id=alice.user.uid) == [[], [], []]
    assert found('"and bob', type="statuses", account_id=bob.user.uid) == [[], ["2"], []]
    assert found("from:nobody") == [[], [], []]
    for acct in ("@bob", "bob@testserver", "@bob@testserver"):
        assert found(acct, resolve="true") == [["bob"], [], []]
    assert found("@bob@elsewhere.example") == [[], [], []]
    [status, _] = app.json("GET", SEARCH, {"q": "bread", "type": "statuses"})["statuses"]
    assert status == app.json("GET", "/api/v1/statuses/2")
    assert (status["favourited"], status["account"]["acct"]) == (True, "bob")
    assert App().json("GET", SEARCH, {"q": "bread"})["statuses"][0]["favourited"] is False


@pytest.mark.parametrize("name", ["Carol of the Wells", "me", '"Bob"'])
def test_posts_of_an_account_are_found_whatever_its_adopted_name_is(store, raw, alice, app, bob, name):
    raw.hset("users", mapping={name: bob.user.uid, name.lower(): bob.user.uid})
    raw.hset(f"user:{bob.user.uid}", "username", name)
    write_indexed(raw, store, alice.user.uid, {1: "rye bread"})
    write_indexed(raw, store, bob.user.uid, {2: "white bread"})
    Memory.clear_all()
    for typed in ("bread", ""):
        found = app.json("GET", SEARCH, {"q": typed, "type": "statuses", "account_id": bob.user.uid})
        assert [one["id"] for one in found["statuses"]] == ["2"]


def test_a_link_leads_on_through_the_posts_of_a_search(store, raw, alice, app, bob, carol, monkeypatch):
    monkeypatch.setattr(searching, "READS", (2, 1))
    write_indexed(raw, store, carol.user.uid, {1: "rye bread", 2: "white bread"})
    write_indexed(raw, store, bob.user.uid, dict.fromkeys((3, 4, 5, 6), "bread"))
    BlockedPeople(store).block(alice.user.uid, bob.user.uid)
    answer, pages = app.ask("GET", SEARCH, {"q": "bread", "type": "statuses", "limit": "1"}), []
    while link := answer.get("Link"):
        pages.append([one["id"] for one in answer.json()["statuses"]])
        answer = app.client.get(link.split(";")[0].strip("<>"))
    assert pages == [[], ["2"]]
    assert [one["id"] for one in answer.json()["statuses"]] == ["1"]


def test_an_address_of_the_site_finds_what_stands_there(store, raw, alice, app, bob):
    write_indexed(raw, store, bob.user.uid, {1: "Hello"})

    def found(address):
        every = app.json("GET", SEARCH, {"q": address, "resolve": "true"})
        return [[one.get("acct") or one["id"] for one in some] for some in every.values()]

    for slash in ("", "/"):
        assert found(f"http://testserver/@bob/1{slash}") == [[], ["1"], []]
        assert found(f"http://testserver/@bob{slash}") == [["bob"], [], []]
    for address in ("https://elsewhere.example/@bob/1", "http://testserver/@bob/9", "http://testserver/no", "http://["):
        assert found(address) == [[], [], []]
    assert found("http://testserver/@Bob/1") == [[], ["1"], []]
    assert found("http://testserver/@alice/1") == found("http://testserver/@nobody/1") == [[], [], []]  # not hers
    repost_of_hers = app.json("POST", "/api/v1/statuses/1/reblog")["id"]
    assert [len(found(f"http://testserver/@{name}/{repost_of_hers}")[1]) for name in ("alice", "bob")] == [1, 0]
    BlockedPeople(store).block(bob.user.uid, alice.user.uid)
    assert found("http://testserver/@bob") == found("http://testserver/@bob/1") == [[], [], []]


def test_tags_are_followed_also_before_anybody_uses_them(store, raw, alice):
    app, key = App(alice), f"tags_of:{alice.user.uid}"
    found = app.json("POST", "/api/v1/tags/Söup/follow")
    assert (found["id"], found["name"], found["following"], found["history"]) == ("söup", "söup", True, [])
    assert raw.zrange(key, 0, -1) == ["söup"]
    assert app.client.get("/api/v1/followed_tags").json() == [found]
    assert app.json("GET", "/api/v1/tags/söup") == found
    assert App().json("GET", "/api/v1/tags/söup")["following"] is False
    app.json("POST", "/api/v1/tags/bread/follow")
    first = app.ask("GET", "/api/v1/followed_tags", {"limit": 1})
    assert first.json()[0]["name"] in ("bread", "söup")
    assert len(app.client.get(first["Link"].split(";")[0].strip("<>")).json()) == 1
    assert app.json("POST", "/api/v1/tags/söup/unfollow")["following"] is False
    raw.zadd(key, {f"tag{number}": 1 for number in range(MOST_FOLLOWED)})
    refused = app.ask("POST", "/api/v1/tags/onemore/follow")
    assert (refused.status_code, refused.json()["error"][:18]) == (422, "Validation failed:")
    assert app.ask("GET", "/api/v1/tags/no tag").status_code == 404


def test_the_page_of_a_followed_tag_without_posts_is_empty(store, alice, browser):
    App(alice).json("POST", "/api/v1/tags/soup/follow")
    assert browser(alice).get("/tags/soup/").status_code == 200
    assert browser().get("/tags/soup/").status_code == 404
    assert browser(alice).post("/tags/soup/unfollow/").status_code == 302
    assert browser(alice).get("/tags/soup/").status_code == 404


def test_trends_are_what_explore_shows(store, raw, app, bob, carol, settings):
    for pid, uid in enumerate((1, 2, 3), 1):
        write_recent(raw, pid, uid, body="Rye #Bread")
    like(raw, 1, 2, 3)
    repost(raw, 3, 1, 2, 4)
    [tag] = app.json("GET", "/api/v1/trends/tags")
    assert (tag["name"], tag["url"], len(tag["history"])) == ("Bread", "http://testserver/tags/bread", 7)
    today = str(int(time.time()) // 86400 * 86400)
    assert tag["history"][0] == {"day": today, "uses": "3", "accounts": "3"}
    assert "following" not in tag  # nobody has asked
    assert app.json("GET", "/api/v1/trends") == [tag]
    found = app.json("GET", "/api/v1/trends/statuses")
    assert [one["id"] for one in found] == ["3", "1"]
    assert [one["id"] for one in app.json("GET", "/api/v1/trends/statuses", {"offset": 1})] == ["1"]
    settings.EXPLORE = False
    assert app.json("GET", "/api/v1/trends/tags") == app.json("GET", "/api/v1/trends/statuses") == []


def test_people_are_suggested_with_the_reason(store, raw, alice, bob, carol):
    Follows(store).follow(alice.user.uid, bob.user.uid)
    Follows(store).follow(bob.user.uid, carol.user.uid)
    [one] = App(alice).json("GET", "/api/v2/suggestions")
    assert (one["account"]["acct"], one["source"], one["sources"]) == (
        "carol",
        "past_interactions",
        ["friends_of_friends"],
    )
    assert App(alice).json("GET", "/api/v1/suggestions") == [one["account"]]


def test_the_directory_lists_the_most_followed_or_the_newest_people(store, alice, bob, carol):
    Follows(store).follow(alice.user.uid, bob.user.uid)
    assert [one["acct"] for one in App().json("GET", "/api/v1/directory")] == ["bob"]
    newest = [one["acct"] for one in App().json("GET", "/api/v1/directory", {"order": "new"})]
    assert sorted(newest) == ["Alice", "bob", "carol"]
    asked = {"order": "new", "offset": 1, "limit": 1}
    assert [one["acct"] for one in App().json("GET", "/api/v1/directory", asked)] == newest[1:2]
