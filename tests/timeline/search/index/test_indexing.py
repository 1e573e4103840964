"""Posts come into the index under their terms, also many at once, and those with ids from the time."""

import time

import pytest

from retwis_site.store import snowflake
from retwis_site.store.snowflake import SMALLEST
from timeline.posts.entities import Links, NewPost
from timeline.posts.repository import Posts
from timeline.search.index import writing
from timeline.search.index.postings import ask_posts
from timeline.search.index.ranges import ask_ranges
from timeline.search.index.terms import terms_of
from timeline.search.index.writing import Indexing


def posts_under(store, term):
    """All posts under a term, of all ranges."""
    pipe = store.pipeline()
    ranges = ask_ranges(pipe)
    pipe.execute()
    found = [ask_posts(pipe, within, term) for within in ranges.value.below(2**53)]
    pipe.execute()
    return set().union(*(some.value for some in found))


def write_post(raw, pid, body, **fields):
    raw.hset(f"post:{pid}", mapping={"user_id": "1", "time": "1000000000", "body": body, **fields})


def test_a_post_stands_under_its_words_and_what_operators_ask_for():
    body = "Walking with @bob to 東京, see https://a.de/b #Redis"
    links = Links(reply_to=3, root=2, reply_to_user=5)
    assert terms_of(7, body, links) == {
        *("walk", "with", "bob", "to", "東", "京", "東京", "see", "http", "a", "de", "b", "red"),
        *("from:7", "to:5", "is:reply", "has:link", "#redis"),
    }


def test_a_repost_has_no_terms():
    assert terms_of(7, "", Links(repost_of=3)) == set()


def test_posts_are_written_in_two_round_trips(raw, store, round_trips):
    raw.set("next_post_id", "20000")
    for pid in (1, 2, 20_000):
        write_post(raw, pid, f"dogs number{pid}")
    recorded = round_trips(lambda: Indexing(store).index([1, 2, 20_000]))
    assert len(recorded.round_trips) == 2
    assert posts_under(store, "dog") == {1, 2, 20_000}
    assert posts_under(store, "from:1") == {1, 2, 20_000}
    assert posts_under(store, "number2") == {2}


def test_only_posts_with_terms_are_counted(raw, store):
    write_post(raw, 1, "dogs")
    write_post(raw, 2, "", deleted="1000000000")
    raw.hset("post:3", mapping={"user_id": "1", "time": "1000000000", "repost_of": "1"})
    assert Indexing(store).index([1, 2, 3, 4]) == 1
    assert raw.keys("posting_ranges") == raw.keys("search_index") == []


def test_writing_twice_changes_nothing_for_a_search(raw, store):
    raw.set("next_post_id", "1")
    write_post(raw, 1, "dogs")
    for _ in range(2):
        Indexing(store).index([1])
    assert posts_under(store, "dog") == {1}


def test_a_post_with_an_id_from_the_time_is_found_before_any_range_has_ended(raw, store):
    pid = snowflake.make()
    write_post(raw, pid, "dogs")
    Indexing(store).index([pid])
    assert posts_under(store, "dog") == {pid}
    assert raw.zrange("posting_ranges", 0, -1, withscores=True) == [(str(SMALLEST), SMALLEST)]
    assert raw.hgetall("search_index") == {f"posts:{SMALLEST}": "1"}


def test_a_full_range_ends_at_an_id_that_no_post_has_yet(raw, store, monkeypatch):
    monkeypatch.setattr(writing, "MOST_POSTS", 3)
    pids = [snowflake.make() for _ in range(8)]
    for pid in pids:
        write_post(raw, pid, "dogs")
        Indexing(store).index([pid])
    starts = [int(start) for start in raw.zrange("posting_ranges", 0, -1)]
    assert starts[0] == SMALLEST
    assert len(starts) == 2  # the next one has not begun, so it cannot be full
    assert snowflake.made_at(starts[1]) == pytest.approx(time.time() + writing.AHEAD, abs=60)
    later = starts[1] + 5
    write_post(raw, later, "dogs")
    Indexing(store).index([later])
    assert posts_under(store, "dog") == {*pids, later}


def test_a_published_post_is_found_after_the_workers_next_look(raw, store, alice):
    pid = Posts(store).publish(alice.user.uid, NewPost("Walking the dogs"), "token").pid
    assert Indexing(store).index([pid]) == 1
    assert posts_under(store, "dog") == {pid}
