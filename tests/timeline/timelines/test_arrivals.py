"""`/new/`, which an open home page asks for new posts: one round trip, and 204 without new posts."""

import re

import pytest

from tests.support.stored_keys import publish
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.follow import Follows
from timeline.relations.mute import Mutes


@pytest.fixture
def followed(store, raw, browser, alice, bob):
    """alice follows bob, and has her home page open."""
    Follows(store).follow(alice.user.uid, bob.user.uid)
    publish(raw, store, bob, "before")
    return browser(alice)


def link(text):
    """The address and the words of the link."""
    [(address, words)] = re.findall(r'id="arrived" data-count="[^"]*" href="([^"]*)"[^>]*>([^<]*)</a>', text)
    return address, words


def test_the_page_asks_for_posts_above_its_newest_one(followed):
    text = followed.get("/").content.decode()
    assert (
        '<div id="arrivals" role="status" hx-get="/new/?after=1" hx-trigger="every 15s" hx-include="#known"></div>'
        in text
    )
    assert "arrivals" not in followed.get("/?before=1").content.decode()


def test_without_new_posts_the_answer_is_204_in_one_round_trip(followed, round_trips):
    followed.get("/")
    recorded = round_trips(lambda: followed.get("/new/?after=1"))
    assert [[command[0] for command in round_trip.commands] for round_trip in recorded.round_trips] == [
        ["HGET", "HMGET", "ZREVRANK", "ZCARD", "LRANGE", "TTL"]
    ]
    answer = followed.get("/new/?after=1")
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize(("times", "words"), [(1, "1 new post"), (4, "4 new posts"), (230, "60+ new posts")])
def test_new_posts_are_counted_in_a_link_to_the_home_page(followed, raw, store, bob, round_trips, times, words):
    followed.get("/")
    for number in range(times):
        publish(raw, store, bob, f"post {number}")
    answers = []
    recorded = round_trips(lambda: answers.append(followed.get("/new/?after=1")))
    assert len(recorded.round_trips) <= 3
    [answer] = answers
    assert answer.status_code == 200
    assert link(answer.content.decode()) == ("/", words)


def test_own_posts_are_not_counted(followed, raw, store, alice, bob):
    followed.get("/")
    mine = publish(raw, store, alice, "mine")
    followed.get("/")  # now this process has cached its author
    assert followed.get("/new/?after=1").status_code == 204
    publish(raw, store, bob, "another")
    assert link(followed.get("/new/?after=1").content.decode()) == ("/", "1 new post")
    assert mine == 2


def test_a_dropped_list_is_rebuilt_once_and_later_posts_are_counted(followed, raw, store, bob, carol, round_trips):
    followed.get("/")
    Follows(store).follow(1, carol.user.uid)  # in another window
    assert not raw.exists("posts:1")
    publish(raw, store, carol, "of somebody new")
    assert link(followed.get("/new/?after=1").content.decode()) == ("/", "1 new post")
    assert raw.exists("posts:1")
    publish(raw, store, bob, "another")
    answers = []
    recorded = round_trips(lambda: answers.append(followed.get("/new/?after=1")))
    assert len(recorded.round_trips) <= 3
    assert link(answers[0].content.decode()) == ("/", "2 new posts")


def test_posts_that_the_home_does_not_show_are_not_counted(followed, raw, store, bob, carol):
    followed.get("/")
    asked = publish(raw, store, carol, "bob, what do you think?")
    Posts(store).publish(bob.user.uid, NewPost("an answer to carol, whom alice does not follow", asked, None), "one")
    gone = publish(raw, store, bob, "gone")
    Posts(store).delete(bob.user.uid, gone)
    assert followed.get("/new/?after=1").status_code == 204
    seen = publish(raw, store, bob, "seen")
    assert link(followed.get("/new/?after=1").content.decode()) == ("/", "1 new post")
    Mutes(store).mute(1, bob.user.uid)
    assert followed.get("/new/?after=1").status_code == 204
    assert raw.lrange("posts:1", 0, 0) == [str(seen)]


def test_a_visitor_gets_204(browser, raw, store, bob):
    publish(raw, store, bob, "one")
    assert browser().get("/new/?after=1").status_code == 204


@pytest.mark.parametrize("query", ["", "?after=", "?after=x", "?after=0", "?after=-1"])
def test_an_invalid_id_is_a_bad_request(followed, query):
    assert followed.get(f"/new/{query}").status_code == 400


def test_post_is_not_allowed(followed):
    assert followed.post("/new/?after=1").status_code == 405
