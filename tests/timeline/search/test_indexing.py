"""Posts come into the index under their terms, and `reindex` writes it anew."""

import tracemalloc

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from retwis_site.jobs import outbox
from retwis_site.jobs.worker import drain
from retwis_site.maintenance import checks
from retwis_site.management.commands.deliver import POLL_EVERY
from retwis_site.store import snowflake
from retwis_site.store.local_cache import Memory
from retwis_site.store.snowflake import EPOCH, SMALLEST, Snowflakes
from tests.support.clock import Clock
from tests.support.command_output import said
from tests.support.stored_keys import drain_due, is_finished, noted
from tests.support.stores.indexed_posts import posts_under, write_post
from tests.support.stores.seam import each_moment, killed_before_round_trip
from timeline.posts.entities import Links, NewPost
from timeline.posts.repository import Posts
from timeline.search import index, rebuilding
from timeline.search.index import Indexing, terms_of
from timeline.search.rebuilding import AlreadyReindexing, Rebuilding

YEAR = 365 * 24 * 3600


@pytest.fixture(autouse=True)
def time_of_ids(monkeypatch):
    """The clock of ids made from the time. The first range of them has room for thirteen months, so it stands."""
    clock = Clock()
    clock.now = EPOCH + YEAR // 2
    monkeypatch.setattr(snowflake, "make", Snowflakes(0, clock.time).make)
    monkeypatch.setattr(index, "time", clock)
    return clock


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


@pytest.mark.parametrize("earlier", [0, 1, 2], ids=["never", "half a year after 2026 began", "a year later too"])
def test_posts_after_years_without_any_are_found(raw, store, time_of_ids, earlier):
    pids = []
    for years in [0, 1][:earlier] + [9.5] * 8 + [9.6, 20]:
        time_of_ids.now = EPOCH + YEAR // 2 + int(years * YEAR)
        pids.append(snowflake.make())
        write_post(raw, pids[-1], "dogs")
        Indexing(store).index(pids[-1:])
    assert posts_under(store, "dog") == {*pids}
    before = raw.zrange("posting_ranges", 0, -1)
    reindex()
    assert posts_under(store, "dog") == {*pids}
    assert before[0] == raw.zrange("posting_ranges", 0, 0)[0] == str(SMALLEST)


def test_a_full_range_ends_at_an_id_that_no_post_has_yet(raw, store, monkeypatch):
    monkeypatch.setattr(index, "MOST_POSTS", 3)
    pids = [snowflake.make() for _ in range(8)]
    for pid in pids:
        write_post(raw, pid, "dogs")
        Indexing(store).index([pid])
    starts = [int(start) for start in raw.zrange("posting_ranges", 0, -1)]
    assert starts[0] == SMALLEST
    assert len(starts) == 2  # the next one has not begun, so it cannot be full
    assert snowflake.made_at(starts[1]) == pytest.approx(index.time.time() + index.AHEAD, abs=60)
    later = starts[1] + 5
    write_post(raw, later, "dogs")
    Indexing(store).index([later])
    assert posts_under(store, "dog") == {*pids, later}


def test_posts_with_ids_from_the_time_are_counted(raw, store, time_of_ids, monkeypatch):
    """About: an edit counts, too, and a deletion changes nothing. Those with ids of the counter are not in it."""
    assert index.how_many_timed(store) == 0
    monkeypatch.setattr(index, "MOST_POSTS", 3)
    pids = [1, *(snowflake.make() for _ in range(4))]
    time_of_ids.now += 2 * index.AHEAD
    pids += [snowflake.make() for _ in range(2)]
    for number, pid in enumerate(pids):
        write_post(raw, pid, "dogs")
        Indexing(store).index([pid])
        Memory.clear_all()
        assert index.how_many_timed(store) == number
    reindex()
    Memory.clear_all()
    assert index.how_many_timed(store) == len(pids) - 1


@pytest.mark.indexed
def test_a_published_post_is_found_after_the_workers_next_look(raw, store, alice):
    """The worker looks for jobs every POLL_EVERY seconds, 20 times a second."""
    pid = Posts(store).publish(alice.user.uid, NewPost("Walking the dogs"), "token").pid
    assert posts_under(store, "dog") == set()
    drain(store, "worker")
    assert posts_under(store, "dog") == {pid}
    assert is_finished(raw)
    Posts(store).edit(alice.user.uid, pid, "Feeding the cats")
    drain(store, "worker")
    assert posts_under(store, "cat") == {pid}
    assert is_finished(raw)
    assert POLL_EVERY < 1


def test_many_posts_are_indexed_together(raw, store, sent):
    for pid in range(1, 301):
        write_post(raw, pid, f"dogs number{pid}")
        raw.zadd("outbox", {f"index:{pid}:x": 1})
    raw.set("next_post_id", "300")
    before = len(sent.round_trips)
    assert drain(store, "worker") == 300
    assert len(sent.round_trips) - before == 7  # due jobs, leases, attempts, posts, records, removal, due jobs
    assert posts_under(store, "dog") == set(range(1, 301))
    assert is_finished(raw)
    assert raw.keys("attempts") == []


def test_a_bad_job_does_not_stop_the_others(raw, store):
    write_post(raw, 1, "dogs")
    raw.set("next_post_id", "1")
    raw.zadd("outbox", {"index:one:x": 1, "index:1:x": 2, "index": 1})
    assert drain(store, "worker") == 1
    assert posts_under(store, "dog") == {1}
    assert set(raw.zrange("outbox", 0, -1)) == {"index:one:x", "index"}


def test_a_bad_job_becomes_a_dead_letter_in_the_end(raw, store):
    raw.zadd("outbox", {"index:one:x": 1})
    for _ in range(6):
        drain(store, "worker")
        raw.delete("lease:index:one:x")
    assert raw.zrange("set_aside", 0, -1) == ["index:one:x"]
    assert raw.keys("outbox") == raw.keys("attempts") == []


@pytest.mark.indexed
@pytest.mark.parametrize("step", range(1, 12))
def test_a_post_whose_publication_was_killed_is_found_when_it_is_shown(raw, store, layout, alice, step):
    layout.begin_at(1)
    killed_before_round_trip(step, lambda: Posts(store).publish(1, NewPost("dogs"), "t"))
    drain_due(store, raw)
    published = {int(pid) for pid in raw.zrange("updates:1", 0, -1)}
    assert posts_under(store, "dog") == published
    assert noted(raw) == raw.keys("lease:*") == []


@pytest.mark.indexed
@pytest.mark.parametrize("step", range(1, 9))
def test_an_edit_that_was_killed_is_found_when_it_is_shown(raw, store, alice, step):
    pid = Posts(store).publish(1, NewPost("dogs"), "t").pid
    drain(store, "worker")
    killed_before_round_trip(step, lambda: Posts(store).edit(1, pid, "cats"))
    drain_due(store, raw)
    assert posts_under(store, "cat") == ({pid} if raw.hget(f"post:{pid}", "body") == "cats" else set())
    assert noted(raw) == raw.keys("lease:*") == []


# ---- `manage.py reindex` writes the index anew, from all posts; a killed run is continued.


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
    monkeypatch.setattr(index, "MOST_POSTS", 3)
    reindex()
    starts = [int(start) for start in raw.zrange("posting_ranges", 0, -1)]
    assert starts == [SMALLEST, timed[3], timed[6]]
    assert posts_under(store, "dog") == set(timed)
    assert raw.hget("search_index", f"posts:{timed[6]}") == "2"
    monkeypatch.setattr(index, "MOST_POSTS", 4)
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
    monkeypatch.setattr(index, "MOST_POSTS", 2)
    pids = [1, 16_390, 40_000] if kind == "counted" else [snowflake.make() for _ in range(6)]
    for pid in pids:
        write_post(raw, pid, "dogs")
    raw.set("next_post_id", "40000")
    for step in each_moment(1):
        for key in raw.keys("postings:*"):
            raw.delete(key)
        raw.delete("posting_ranges", "search_index")
        killed_before_round_trip(step, reindex)
        raw.delete("lease:reindex")  # after a minute
        reindex()
        assert posts_under(store, "dog") == set(pids)
        assert not raw.hexists("search_index", "reindexed")


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
    monkeypatch.setattr(outbox, "RENEWS_EVERY", 0)
    write_post(raw, 1, "dogs")
    reindex()
    slow, ending = Rebuilding(store), Rebuilding(store)
    slow.begin()
    raw.set("lease:reindex", "another")
    with pytest.raises(AlreadyReindexing):
        list(slow)
    assert raw.get("lease:reindex") == "another"
    assert posts_under(store, "dog") == {1}  # it removes nothing that the next one may have written
    raw.delete("lease:reindex")
    ending.begin()
    steps = iter(ending)
    next(steps)
    raw.set("lease:reindex", "another")
    raw.hset("search_index", "late:1", "1")
    with pytest.raises(AlreadyReindexing):
        list(steps)
    assert raw.hgetall("search_index").keys() == {"reindexed", "late:1"}  # the next one needs them


def test_the_ids_of_many_posts_take_little_memory(raw, store, monkeypatch):
    """In a set, those of ten million posts take 700 MB."""
    number = 300_000
    found = ([number, *range(first, first + 500)] for first in range(1, number, 500))
    monkeypatch.setattr(checks, "ids_of", lambda store, kind: found)
    run = Rebuilding(store)
    monkeypatch.setattr(run._lease, "renew", lambda: None)
    tracemalloc.start()
    try:
        assert list(run._all_posts()[-2:]) == [number - 1, number]
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 40 * number
