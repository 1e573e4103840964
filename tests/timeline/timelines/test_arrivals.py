"""What an open home page asks from time to time: one round trip, and nothing when nothing came."""

import re

import pytest

from tests.support.stored_keys import publish
from timeline.relations.follow import Follows


@pytest.fixture
def followed(store, raw, browser, alice, bob):
    """alice follows bob, and has her home page open."""
    Follows(store).follow(alice.user.uid, bob.user.uid)
    publish(raw, store, bob, "before")
    return browser(alice)


def link(text):
    """What it reads, and where it leads."""
    [(address, words)] = re.findall(r'id="arrived" data-count="[^"]*" href="([^"]*)"[^>]*>([^<]*)</a>', text)
    return address, words


def test_the_page_asks_for_what_is_above_its_newest_post(followed):
    text = followed.get("/").content.decode()
    assert '<div id="arrivals" role="status" hx-get="/new/?after=1" hx-trigger="every 15s"></div>' in text
    assert "arrivals" not in followed.get("/?before=1").content.decode()


def test_nothing_new_is_an_empty_204_in_one_round_trip(followed, round_trips):
    followed.get("/")
    recorded = round_trips(lambda: followed.get("/new/?after=1"))
    assert [[command[0] for command in round_trip.commands] for round_trip in recorded.round_trips] == [
        ["HGET", "HMGET", "LRANGE"]
    ]
    answer = followed.get("/new/?after=1")
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize(("times", "words"), [(1, "1 new post"), (4, "4 new posts"), (230, "150+ new posts")])
def test_what_came_is_a_way_to_it(followed, raw, store, bob, round_trips, times, words):
    followed.get("/")
    for number in range(times):
        publish(raw, store, bob, f"post {number}")
    answers = []
    recorded = round_trips(lambda: answers.append(followed.get("/new/?after=1")))
    assert len(recorded.round_trips) == 1
    [answer] = answers
    assert answer.status_code == 200
    assert link(answer.content.decode()) == ("/", words)


def test_ones_own_posts_do_not_arrive(followed, raw, store, alice, bob):
    followed.get("/")
    mine = publish(raw, store, alice, "mine")
    followed.get("/")  # this process knows whose it is
    assert followed.get("/new/?after=1").status_code == 204
    publish(raw, store, bob, "another")
    assert link(followed.get("/new/?after=1").content.decode()) == ("/", "1 new post")
    assert mine == 2


def test_a_list_that_was_dropped_is_rebuilt_once_and_posts_go_on_arriving(
    followed, raw, store, bob, carol, round_trips
):
    followed.get("/")
    Follows(store).follow(1, carol.user.uid)  # in another window
    assert not raw.exists("posts:1")
    publish(raw, store, carol, "of somebody new")
    assert link(followed.get("/new/?after=1").content.decode()) == ("/", "1 new post")
    assert raw.exists("posts:1")
    publish(raw, store, bob, "another")
    answers = []
    recorded = round_trips(lambda: answers.append(followed.get("/new/?after=1")))
    assert len(recorded.round_trips) == 1
    assert link(answers[0].content.decode()) == ("/", "2 new posts")


def test_whoever_is_not_signed_in_hears_nothing(browser, raw, store, bob):
    publish(raw, store, bob, "one")
    assert browser().get("/new/?after=1").status_code == 204


@pytest.mark.parametrize("query", ["", "?after=", "?after=x", "?after=0", "?after=-1"])
def test_a_question_without_a_proper_id_is_a_bad_request(followed, query):
    assert followed.get(f"/new/{query}").status_code == 400


def test_it_takes_no_form(followed):
    assert followed.post("/new/?after=1").status_code == 405
