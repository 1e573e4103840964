"""Large sorted sets are read in chunks, while other processes add and remove members."""

import pytest

from retwis_site.store.chunks import newest_below
from retwis_site.store.client import Store

COUNT = 32  # members of a chunk; the next one begins with its last two
MEMBERS = [str(number) for number in range(100, 200)]


@pytest.fixture
def followers(raw):
    raw.zadd("followers:1", {member: int(member) for member in MEMBERS})


def read(store, between=lambda number: None):
    """All that is read of the set; `between` is called after each chunk, with its number."""
    found = []
    for number, chunk in enumerate(store.zset_ranks("followers:1", COUNT)):
        found += chunk
        between(number)
    return found


def test_every_member_comes_once_in_the_order_of_the_scores(store, followers):
    assert read(store) == MEMBERS


def test_a_set_that_fits_takes_one_round_trip_and_a_large_one_one_for_each_chunk(store, raw, followers, sent):
    read(store)
    assert [command[:4] for command in sent.commands] == [
        ("ZRANGE", "followers:1", first, first + COUNT - 1) for first in (0, 30, 60, 90)
    ]
    raw.delete("followers:1")
    assert read(store) == []
    assert len(sent.round_trips) == 5


@pytest.mark.parametrize("removed", [MEMBERS[:1], MEMBERS[30:32], MEMBERS[31:32], MEMBERS[:30], MEMBERS[:32]])
def test_no_member_is_left_out_when_others_before_it_are_removed(store, raw, followers, removed):
    found = read(store, lambda number: number or raw.zrem("followers:1", *removed))
    assert sorted(set(found)) == MEMBERS


def test_a_few_removals_bring_no_member_twice(store, raw, followers):
    found = read(store, lambda number: raw.zrem("followers:1", MEMBERS[number]))
    assert found == MEMBERS


def test_a_member_that_moves_to_the_end_hides_no_other_one(store, raw, followers):
    found = read(store, lambda number: number or raw.zadd("followers:1", {MEMBERS[31]: 1000}))
    assert sorted(set(found)) == MEMBERS


def test_an_empty_chunk_of_a_scan_is_not_its_end(store, monkeypatch):
    replies = iter([(7, [("2", 1.0)]), (8, []), (0, [("3", 1.0)])])
    monkeypatch.setattr(Store, "zscan", lambda store, key, cursor, count: next(replies))
    assert list(store.zset_members("followers:1", COUNT)) == [["2"], [], ["3"]]


@pytest.mark.parametrize("size", range(1, 10))
def test_pages_of_a_set_that_is_split_by_scores_have_each_row_once(store, raw, size):
    rows = [("h", 28.0), ("g", 27.0), ("f", 27.0), ("e", 26.0), ("d", 13.0), ("c", 12.0), ("b", 12.0), ("a", 1.0)]
    parts = ["log:2028", "log:2027", "log:2026"]  # nothing is in the one between
    raw.zadd(parts[0], dict(rows[:4]))
    raw.zadd(parts[2], dict(rows[4:]))
    read, before = [], None
    while True:
        page, before = newest_below(store, parts, before, size)
        assert size <= len(page) <= size + 1 or before is None  # rows of one score stay together
        read += page
        if before is None:
            break
    assert read == rows
