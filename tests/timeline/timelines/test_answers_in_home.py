"""Home shows an answer only to people who follow both: its author and the person answered."""

import re

import pytest

from retwis_site.store.local_cache import Memory
from tests.support.people import register
from tests.support.stored_posts import write_answer, write_posts
from timeline.relations.follow import Follows

POST = re.compile(r'id="post-(\d+)"')


@pytest.fixture
def home(browser, store, alice, bob, carol):
    """The ids on alice's home page. She follows bob (2), not carol (3)."""
    Follows(store).follow(1, 2)
    client = browser(alice)
    return lambda path="/": [int(pid) for pid in POST.findall(client.get(path).content.decode())]


def test_an_answer_to_someone_whom_the_viewer_does_not_follow_is_not_in_home(home, raw):
    write_posts(raw, 3, [1])
    write_answer(raw, 2, 2, parent=1)
    write_posts(raw, 2, [3])
    assert home() == [3]


def test_an_answer_to_someone_whom_the_viewer_follows_is_in_home(home, store, raw):
    Follows(store).follow(1, 3)
    write_posts(raw, 3, [1])
    write_answer(raw, 2, 2, parent=1)
    assert home() == [2, 1]


def test_an_answer_to_the_viewer_is_in_home(home, raw):
    write_posts(raw, 1, [1])
    write_answer(raw, 2, 2, parent=1)
    assert home() == [2, 1]


def test_a_thread_of_one_author_is_in_home(home, raw):
    write_posts(raw, 2, [1])
    write_answer(raw, 2, 2, parent=1)
    write_answer(raw, 2, 3, parent=2)
    assert home() == [3, 2, 1]


def test_an_answer_to_a_post_that_an_import_has_lost_is_in_home(home, raw):
    write_posts(raw, 2, [2])
    raw.hset("post:2", "reply_to", 1)
    assert home() == [2]


def test_the_same_holds_for_someone_who_follows_many(home, store, raw):
    """Then the page asks whom of these people the viewer follows."""
    for number in range(120):
        raw.zadd("following:1", {register(store, f"person{number}").user.uid: 2_000_000_000})
    write_posts(raw, 3, [1])
    write_answer(raw, 2, 2, parent=1)
    write_posts(raw, 1, [3])
    write_answer(raw, 2, 4, parent=3)
    assert home() == [4, 3]
    Follows(store).follow(1, 3)
    Memory.clear_all()
    assert home() == [4, 3, 2, 1]


def test_a_home_full_of_hidden_answers_reads_on(home, raw):
    write_posts(raw, 3, [1])
    write_posts(raw, 2, range(2, 12))
    for pid in range(12, 112):
        write_answer(raw, 2, pid, parent=1)
    assert home() == [*range(11, 1, -1)]


def test_hidden_answers_cost_no_round_trip_of_their_own(home, browser, alice, raw, round_trips):
    write_posts(raw, 3, [1])
    write_posts(raw, 2, range(2, 42))
    client = browser(alice)
    client.get("/")
    warm = len(round_trips(lambda: client.get("/")).round_trips)
    raw.delete("posts:1")
    for pid in range(42, 50):
        write_answer(raw, 2, pid, parent=1)
    home()
    assert len(round_trips(lambda: client.get("/")).round_trips) <= warm + 1  # `fill` reads on, once
