"""A list that everybody reads is gone: each process rebuilds it once, however many readers wait."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from retwis_site.exceptions import StoreError
from retwis_site.store import cached_list, keys
from retwis_site.store.cached_list import FIRST_READ, REBUILD_TRIES, Head, ListContent, TimelineList
from tests.support.processes.processes import wait_until
from tests.support.stored_keys import publish
from tests.support.stores.seam import examples
from timeline.relations.relations import Follows
from timeline.timelines.everyone import EveryoneList
from timeline.timelines.home import HomeSources

READERS = examples(1000)
THREADS = 50


@pytest.fixture
def timeline(store):
    return TimelineList(store, "timeline", expires_after=None)


@pytest.fixture
def waiting(monkeypatch):
    """The number of readers that wait for another one's rebuild."""
    waits = []

    class Watched(cached_list.Future):
        def result(self, timeout=None):
            waits.append(1)
            return super().result(timeout)

    monkeypatch.setattr(cached_list, "Future", Watched)
    return waits


def test_many_readers_of_a_dropped_global_timeline_cost_one_rebuild(browser, raw, store, alice, monkeypatch):
    for number in range(60):
        publish(raw, store, alice, f"post {number}")
    browser().get("/timeline/")
    raw.delete("timeline")
    rebuilt = []
    real = EveryoneList.newest
    monkeypatch.setattr(EveryoneList, "newest", lambda self, number: rebuilt.append(number) or real(self, number))
    # An address with a query: no reader gets a page that is kept.
    with ThreadPoolExecutor(THREADS) as threads:
        pages = list(
            threads.map(lambda _: browser().get("/timeline/?of=all").content.count(b"<article"), range(READERS))
        )
    assert pages == [20] * READERS
    assert rebuilt == [0]
    assert raw.llen("timeline") == 63


def test_readers_that_come_during_a_rebuild_wait_for_it(raw, timeline, waiting):
    rebuilt = []

    def sources():
        rebuilt.append(1)
        wait_until(lambda: len(waiting) >= THREADS - 1, "the other readers")
        return ListContent([3, 2, 1], 0)

    with ThreadPoolExecutor(THREADS) as threads:
        contents = list(threads.map(lambda _: timeline.page(Head([], None), None, sources), range(THREADS)))
    assert rebuilt == [1]
    assert {tuple(content.ids) for content in contents} == {(3, 2, 1)}
    assert cached_list._under_way == {}


def test_a_reader_that_saw_the_list_before_its_rebuild_looks_again(raw, timeline, round_trips):
    timeline.page(Head([], None), None, lambda: ListContent([2, 1], 0))
    recorded = round_trips(lambda: timeline.page(Head(["b1"], None), None, lambda: pytest.fail("rebuilt again")))
    assert [command[0] for command in recorded.commands] == ["LRANGE"]


def test_a_list_that_is_dropped_again_is_rebuilt_again(raw, timeline):
    for ids in ([2, 1], [4, 3]):
        raw.delete("timeline")
        assert timeline.page(Head([], None), None, lambda ids=ids: ListContent(ids, 0)).ids == ids


def test_when_the_store_fails_all_who_wait_are_told_and_the_next_reader_rebuilds(raw, timeline, waiting):
    def fail():
        wait_until(lambda: len(waiting) >= 2, "the other readers")
        raise StoreError("down")

    with ThreadPoolExecutor(3) as threads:
        readers = [threads.submit(timeline.page, Head([], None), None, fail) for _ in range(3)]
        assert [type(reader.exception()) for reader in readers] == [StoreError] * 3
    raw.delete("timeline")
    assert timeline.page(Head([], None), None, lambda: ListContent([1], 0)).ids == [1]


def test_a_result_without_proof_is_not_shared(raw, timeline, waiting):
    """The list is dropped whenever the first reader has read the sources. So those who wait rebuild it themselves."""
    rebuilds = []

    def sources():
        rebuilds.append(threading.get_ident())
        if len(rebuilds) <= REBUILD_TRIES:
            wait_until(lambda: waiting, "the other reader")
            raw.delete("timeline")
        return ListContent([len(rebuilds)], 0)

    with ThreadPoolExecutor(2) as threads:
        readers = [threads.submit(timeline.page, Head([], None), None, sources) for _ in range(2)]
        first, second = (reader.result().ids for reader in readers)
    assert sorted([first, second]) == [[REBUILD_TRIES], [REBUILD_TRIES + 1]]
    assert len(set(rebuilds)) == 2


def test_who_follows_during_a_rebuild_and_waits_for_it_sees_the_new_posts(
    browser, raw, store, alice, bob, waiting, monkeypatch
):
    publish(raw, store, bob, "from bob")
    raw.delete(keys.home(1))
    real = HomeSources.newest
    tries = []

    def newest(sources):
        found = real(sources)
        tries.append(1)
        if len(tries) == 1:
            wait_until(lambda: waiting, "the reader who has followed")
        return found

    monkeypatch.setattr(HomeSources, "newest", newest)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(browser(alice).get, "/")
        wait_until(lambda: cached_list._under_way, "the rebuild")
        wait_until(lambda: raw.exists(keys.home(1)), "its token")
        Follows(store).follow(1, 2)
        second = threads.submit(browser(alice).get, "/")
        pages = [each.result().content.decode() for each in (first, second)]
    assert "from bob" in pages[1]
    assert len(tries) == 2


def test_a_list_with_the_ids_of_an_earlier_rebuild_in_front_is_rebuilt(raw, timeline):
    """Two processes: the first one reads its sources before a post is published, and pushes after the second began."""
    old = [*range(500, 0, -1)]
    first = timeline._begin([])
    raw.lpush("timeline", "501")
    second = timeline._begin(raw.lrange("timeline", 0, -1))
    assert not timeline._finish(first, ListContent(old, 0))
    assert timeline._finish(second, ListContent([501, *old], 0))
    head = raw.lrange("timeline", 0, FIRST_READ)
    assert head[:4] == [second, "0", f"{first}:", "500"]
    assert "501" not in head
    assert not timeline.read().complete
    assert timeline.page(Head(head, None), None, lambda: ListContent([501, *old], 0)).ids[:2] == [501, 500]
    assert raw.lrange("timeline", 1, 4) == ["0", f"{raw.lindex('timeline', 0)}:", "501", "500"]
    assert timeline.read().complete
