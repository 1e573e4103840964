"""Which ranges of ids have a term: bits by which a search leaves out all others."""

import pytest

from retwis_site.store.snowflake import SMALLEST
from timeline.search.index.postings import BUCKETS, GROUP, SLOTS, Ranges, ask_ranges_with, queue_bits

TIMED = [SMALLEST + step * 1_000_000 for step in range(100)]
ALL = list(Ranges(100 * 16_384 - 1, tuple(TIMED)).below(2**53))


def write(store, within, terms):
    pipe = store.pipeline()
    queue_bits(pipe, within, terms)
    pipe.execute()


def ranges_with(store, ranges, *terms):
    pipe = store.pipeline()
    found = ask_ranges_with(pipe, ranges, terms)
    pipe.execute()
    return found.value


def test_the_ranges_of_a_term_are_found_in_their_order(raw, store):
    some = ALL[3::17]
    for within in some:
        write(store, within, ["walk"])
    assert ranges_with(store, ALL, "walk") == some
    assert ranges_with(store, ALL, "dog") == []
    assert ranges_with(store, [], "walk") == []


def test_a_range_needs_all_of_the_terms(raw, store):
    first, second, third, *_ = ALL
    write(store, first, ["walk"])
    write(store, second, ["dog", "walk", "日本"])
    write(store, third, ["dog"])
    assert ranges_with(store, ALL, "walk", "dog") == [second]
    assert ranges_with(store, ALL, "日本", "cat") == []


@pytest.mark.parametrize(
    "within", [ALL[-1], ALL[-GROUP], ALL[-GROUP - 1], ALL[0]], ids=lambda within: str(within.first)
)
def test_a_term_is_one_bit_of_its_range(raw, store, within):
    write(store, within, ["walk", "walk"])
    [key] = raw.keys("posting_bits:*")
    kind, group, bucket = key.split(":")
    assert (kind, int(group)) == ("posting_bits", within.number // GROUP)
    assert int(bucket) < BUCKETS
    assert raw.bitcount(key) == 1
    assert raw.bitpos(key, 1) // SLOTS == within.number % GROUP


def test_a_key_has_at_most_four_kilobytes(raw, store):
    terms = [f"term{number}" for number in range(3000)]
    for within in ALL[-GROUP:]:
        write(store, within, terms[:50])
    write(store, ALL[-GROUP], terms)
    assert max(raw.strlen(key) for key in raw.keys("posting_bits:*")) == GROUP * SLOTS // 8 == 4096


def test_a_range_seldom_seems_to_have_a_term_that_it_does_not_have(raw, store):
    for first in range(0, 20_000, 1000):
        write(store, ALL[0], [f"word{number}" for number in range(first, first + 1000)])
    wrong = sum(len(ranges_with(store, ALL[:1], f"other{number}")) for number in range(300))
    assert wrong <= 25  # 20,000 terms set one bit of 26
