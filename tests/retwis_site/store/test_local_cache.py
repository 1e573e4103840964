"""The caches of a process are bounded in size and age."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, strategies as st

from retwis_site.store.local_cache import Hints, Memory
from tests.support.memory import everything


def test_a_full_cache_drops_the_key_that_it_has_known_longest():
    memory = Memory(size=2, seconds=60)
    memory.put("a", 1)
    memory.put("b", 2)
    memory.put("b", 3)
    memory.put("c", 4)
    assert [memory.get(key) for key in "abc"] == [None, 3, 4]


def test_an_entry_expires(monkeypatch):
    memory = Memory(size=2, seconds=5)
    monkeypatch.setattr("retwis_site.store.local_cache.time.monotonic", lambda: 100.0)
    memory.put("a", 1)
    monkeypatch.setattr("retwis_site.store.local_cache.time.monotonic", lambda: 104.9)
    assert memory.get("a") == 1
    monkeypatch.setattr("retwis_site.store.local_cache.time.monotonic", lambda: 105.1)
    assert memory.get("a") is None


def test_forgotten_entries_are_gone_and_unknown_keys_are_no_error():
    memory = Memory(size=2, seconds=60)
    memory.forget("never there")
    memory.put("a", 1)
    memory.forget("a")
    assert memory.get("a") is None
    memory.put("b", 1)
    Memory.clear_all()
    assert memory.get("b") is None


def test_what_is_not_kept_is_made_once():
    memory, made = Memory(size=2, seconds=60), []

    def make():
        made.append("one")
        return made[-1]

    assert [memory.get_or_make("a", make), memory.get_or_make("a", make)] == ["one", "one"]
    assert made == ["one"]


def test_a_cache_has_the_keys_that_came_last():
    memory = Memory(size=5, seconds=60)
    for number in range(50):
        memory.put(number, number)
        memory.put(max(0, number - 2), number)  # again: no other key goes for it
        assert [*everything(memory)] == [*range(max(0, number - 4), number + 1)]


@given(st.lists(st.tuples(st.sampled_from(["put", "forget", "clear"]), st.integers(0, 12)), max_size=60))
def test_a_cache_never_has_more_than_its_size_nor_what_was_forgotten(steps):
    memory, put = Memory(size=5, seconds=60), set()
    for what, key in steps:
        if what == "put":
            memory.put(key, key)
            put.add(key)
            assert memory.get(key) == key
        elif what == "forget":
            memory.forget(key)
            put.discard(key)
        else:
            memory.clear()
            put.clear()
        assert everything(memory).keys() <= put
        assert memory._entries.keys() <= {*memory._order}
        assert len(memory._order) <= 5


def test_threads_that_share_a_cache_leave_it_bounded():
    memory = Memory(size=50, seconds=60)

    def use(first):
        for number in range(first, first + 5000):
            memory.put(number % 700, number)
            if number % 90 == 0:
                memory.forget(number % 700)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(use, range(0, 400, 100)))
    assert len(memory._entries) <= 50 + 4
    assert len(memory._order) <= 50 + 4


def test_a_hint_is_found_until_it_is_forgotten():
    hints = Hints(64)  # the keys are numbers: two texts may share a place, by chance
    assert hints.get(1) is None
    hints.put(1, 7)
    hints.put(2, 8)
    assert (hints.get(1), hints.get(2), hints.get(3)) == (7, 8, None)
    hints.forget(1)
    assert (hints.get(1), hints.get(2)) == (None, 8)
    Memory.clear_all()
    assert hints.get(2) is None


@pytest.mark.parametrize("number", [0, -5, 10**30])
def test_a_number_that_is_no_id_is_not_kept(number):
    hints = Hints(64)
    hints.put("secret", number)
    assert hints.get("secret") is None


def test_two_keys_with_one_place_never_get_each_others_hint():
    hints = Hints(64)
    hints.put(5, 1)
    hints.put(5 + 63, 2)
    assert (hints.get(5), hints.get(5 + 63)) == (None, 2)
    hints.forget(5)
    assert hints.get(5 + 63) is None  # lost, which does no harm


def test_hints_never_take_more_memory():
    hints = Hints(64)
    before = sys.getsizeof(hints._hashes) + sys.getsizeof(hints._numbers)
    for number in range(10_000):
        hints.put(f"key {number}", number + 1)
    assert sys.getsizeof(hints._hashes) + sys.getsizeof(hints._numbers) == before


def test_a_value_that_has_not_changed_stays_the_same_object():
    memory = Memory(size=10, seconds=60)
    first, same, other = ["a"], ["a"], ["b"]
    assert memory.put_all({1: first})[1] is first
    assert memory.put_all({1: same})[1] is first
    assert memory.get(1) is first
    assert memory.put_all({1: other})[1] is other
    assert memory.get(1) is other


def test_hints_have_room_for_ids_that_are_made_from_the_time():
    hints = Hints(1 << 10)
    ids = [milliseconds << 12 | node << 7 for milliseconds in range(1, 100_000, 977) for node in (1, 2)]
    for uid in ids:
        hints.put(uid, uid)
    assert sum(hints.get(uid) == uid for uid in ids) > 0.8 * len(ids)
