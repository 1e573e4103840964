"""`manage.py reindex` writes the index anew, from all posts; a killed run is continued."""

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from retwis_site.store import snowflake
from retwis_site.store.snowflake import SMALLEST
from tests.support.command_output import said
from tests.support.stores.indexed_posts import posts_under, write_post
from tests.support.stores.seam import before_round_trip, killed_before_round_trip
from timeline.search.index import rebuilding
from timeline.search.index.rebuilding import AlreadyReindexing, Rebuilding
from timeline.search.index.writing import Indexing


def reindex():
    call_command("reindex", verbosity=0)


def test_it_writes_all_posts_of_both_kinds_of_ids(raw, store, capsys):
    timed = [snowflake.make() for _ in range(3)]
    raw.set("next_post_id", "20000")
    for pid in (1, 2, 20_000, *timed):
        write_post(raw, pid, "dogs")
    write_post(raw, 3, "", deleted="1000000000")
    assert said(capsys, "reindex") == "7 posts are in the index.\n"
    assert posts_under(store, "dog") == {1, 2, 20_000, *timed}
    assert raw.zrange("posting_ranges", 0, -1) == [str(SMALLEST)]
    assert raw.hkeys("search_index") == [f"posts:{SMALLEST}"]
    assert raw.keys("lease:*") == []


def test_an_empty_store_has_an_empty_index(raw, capsys):
    assert said(capsys, "reindex") == "0 posts are in the index.\n"
    assert raw.dbsize() == 0


def test_what_stood_wrongly_in_the_index_is_gone(raw, store):
    raw.set("next_post_id", "1")
    write_post(raw, 1, "dogs")
    Indexing(store).index([1])
    write_post(raw, 1, "cats")
    reindex()
    assert posts_under(store, "dog") == set()
    assert posts_under(store, "cat") == {1}


def test_a_range_with_very_many_words_needs_no_large_round_trip(raw, store, sent, monkeypatch):
    monkeypatch.setattr(rebuilding, "BITS_AT_ONCE", 20)
    raw.set("next_post_id", "40")
    for pid in range(1, 41):
        write_post(raw, pid, f"word{pid} other{pid}")
    before = len(sent.round_trips)
    reindex()
    sizes = [sum(command[0] == "SETBIT" for command in one.commands) for one in sent.round_trips[before:]]
    assert sum(sizes) > 60
    assert max(sizes) <= 20
    assert posts_under(store, "word7") == {7}


def test_ids_from_the_time_are_divided_into_ranges(raw, store, monkeypatch):
    timed = [snowflake.make() for _ in range(8)]
    for pid in timed:
        write_post(raw, pid, "dogs")
    Indexing(store).index(timed)  # one range
    monkeypatch.setattr(rebuilding, "MOST_POSTS", 3)
    reindex()
    starts = [int(start) for start in raw.zrange("posting_ranges", 0, -1)]
    assert starts == [SMALLEST, timed[3], timed[6]]
    assert posts_under(store, "dog") == set(timed)
    assert raw.hget("search_index", f"posts:{timed[6]}") == "2"
    monkeypatch.setattr(rebuilding, "MOST_POSTS", 4)
    reindex()
    assert [int(start) for start in raw.zrange("posting_ranges", 0, -1)] == [SMALLEST, timed[4]]
    assert posts_under(store, "dog") == set(timed)
    first_ids = {key.split(":")[1] for key in raw.keys("postings:*")}
    assert first_ids == {str(SMALLEST), str(timed[4])}


def test_a_range_that_has_not_begun_stays(raw, store):
    pid, ahead = snowflake.make(), 2**52
    write_post(raw, pid, "dogs")
    raw.zadd("posting_ranges", {str(SMALLEST): SMALLEST, str(ahead): ahead})
    reindex()
    assert [int(start) for start in raw.zrange("posting_ranges", 0, -1)] == [SMALLEST, ahead]


@pytest.mark.parametrize("kind", ["counted", "timed"])
def test_a_run_killed_anywhere_is_continued(raw, store, monkeypatch, kind):
    monkeypatch.setattr(rebuilding, "MOST_POSTS", 2)
    pids = [1, 16_390, 40_000] if kind == "counted" else [snowflake.make() for _ in range(6)]
    for pid in pids:
        write_post(raw, pid, "dogs")
    raw.set("next_post_id", "40000")
    for step in range(1, 40):
        for key in raw.keys("postings:*"):
            raw.delete(key)
        raw.delete("posting_ranges", "search_index")
        is_killed = killed_before_round_trip(step, reindex)
        raw.delete("lease:reindex")  # after a minute
        reindex()
        assert posts_under(store, "dog") == set(pids)
        assert not raw.hexists("search_index", "reindexed")
        if not is_killed:
            break
    assert not is_killed


def test_a_killed_run_goes_on_below_the_range_that_it_wrote_last(raw, store):
    for pid in (1, 16_390, 40_000):
        write_post(raw, pid, "dogs")
    raw.set("next_post_id", "40000")
    raw.hset("search_index", "reindexed", "16384")
    reindex()
    assert posts_under(store, "dog") == {1}
    raw.hset("search_index", "reindexed", "16384")
    call_command("reindex", "--again", verbosity=0)
    assert posts_under(store, "dog") == {1, 16_390, 40_000}


def test_a_second_run_at_the_same_time_says_so(raw, store):
    write_post(raw, 1, "dogs")
    running = Rebuilding(store)
    running.begin()
    with pytest.raises(AlreadyReindexing):
        Rebuilding(store).begin()
    with pytest.raises(CommandError, match="Another process writes the index"):
        reindex()
    list(running)
    reindex()


def test_a_post_that_a_worker_indexes_meanwhile_is_found(raw, store):
    raw.set("next_post_id", "20000")
    write_post(raw, 1, "dogs")
    write_post(raw, 20_000, "dogs")
    running = Rebuilding(store)
    running.begin()
    for _ in running:
        pid = raw.incr("next_post_id")
        write_post(raw, pid, "dogs")
        Indexing(store).index([pid])
    assert posts_under(store, "dog") == {1, 20_000, 20_001, 20_002}


@pytest.mark.parametrize("step", range(1, 12))
def test_a_post_that_a_worker_indexes_before_any_round_trip_of_a_run_is_found(raw, store, step):
    """The run may have looked for posts before, and remove the records after."""
    raw.set("next_post_id", "20000")
    for pid in (1, 20_000):
        write_post(raw, pid, "dogs")
    Indexing(store).index([1, 20_000])

    def publish():
        write_post(raw, 20_001, "dogs")
        raw.set("next_post_id", "20001")
        Indexing(store).index([20_001])

    with before_round_trip(step, publish) as happened:
        reindex()
    assert happened
    assert posts_under(store, "dog") == {1, 20_000, 20_001}
    assert raw.exists("search_index", "lease:reindex") == 0


def test_what_was_indexed_before_a_run_was_killed_is_found_after_the_next(raw, store):
    """The killed run did not know the post, and has removed its records."""
    raw.set("next_post_id", "2")
    write_post(raw, 1, "dogs")
    Indexing(store).index([1])
    killed = Rebuilding(store)
    killed.begin()
    write_post(raw, 2, "dogs")
    Indexing(store).index([2])
    assert raw.hget("search_index", "late:2") == "1"
    next(iter(killed))
    assert posts_under(store, "dog") == {1}
    raw.delete("lease:reindex")  # after a minute
    reindex()
    assert posts_under(store, "dog") == {1, 2}
    assert raw.exists("search_index") == 0


def test_a_run_that_was_stopped_for_a_minute_does_not_go_on_beside_the_next(raw, store, monkeypatch):
    monkeypatch.setattr(rebuilding, "RENEWS_EVERY", 0)
    write_post(raw, 1, "dogs")
    slow = Rebuilding(store)
    slow.begin()
    raw.set("lease:reindex", "another")
    with pytest.raises(AlreadyReindexing):
        list(slow)
    assert raw.get("lease:reindex") == "another"
