"""Records of the index: which posts stand under a term, in which keys, and which ranges of ids have a term."""

import pytest

from retwis_site.store.client import answer
from retwis_site.store.snowflake import SMALLEST
from timeline.search import index

COUNTED = index.Range(16_384, 32_768, 2, 1)
FIRST_TIMED = 2**26  # the number of the first range of ids from the time
TIMED = index.Range(SMALLEST, 2**53, 6, FIRST_TIMED)


def write(store, within, posts):
    pipe = store.pipeline()
    index.queue_records(pipe, within, posts)
    pipe.execute()


def posts_under(store, within, term):
    return answer(store, index.ask_posts, within, term)


@pytest.mark.parametrize("within", [COUNTED, TIMED], ids=["counted", "timed"])
def test_posts_are_found_under_their_terms(raw, store, within):
    first, last = within.first, within.first + 16_383
    write(store, within, {"walk": [first, first + 7], "dog": [last], "日本": [first + 7]})
    write(store, within, {"walk": [last]})
    assert posts_under(store, within, "walk") == {first, first + 7, last}
    assert posts_under(store, within, "dog") == {last}
    assert posts_under(store, within, "日本") == {first + 7}
    assert posts_under(store, within, "cat") == set()


@pytest.mark.parametrize(("within", "size"), [(COUNTED, 4), (TIMED, 8)], ids=["counted", "timed"])
def test_a_record_is_the_id_within_the_range_below_a_part_of_the_terms_hash(raw, store, within, size):
    write(store, within, {"walk": [within.first + 258]})
    [key] = raw.keys("postings:*")
    stored = store.get_bytes(key)
    assert len(stored) == size
    assert stored[: size - 2] == (258).to_bytes(size - 2, "little")


def test_a_batch_is_one_command_for_each_bucket(raw, store, round_trips):
    posts = {f"term{number}": range(16_384, 16_484) for number in range(3 * index.BUCKETS)}
    recorded = round_trips(lambda: write(store, COUNTED, posts))
    assert len(recorded.round_trips) == 1
    assert len(recorded.commands) <= index.BUCKETS
    assert all(posts_under(store, COUNTED, term) >= set(pids) for term, pids in list(posts.items())[:20])


def test_a_record_twice_is_one_post(raw, store):
    write(store, COUNTED, {"walk": [16_385, 16_385]})
    write(store, COUNTED, {"walk": [16_385]})
    assert posts_under(store, COUNTED, "walk") == {16_385}


def test_few_posts_are_found_under_a_term_that_they_do_not_have(raw, store):
    posts = {f"word{number}": [16_384 + number] for number in range(16_384)}
    write(store, COUNTED, posts)
    wrong = sum(len(posts_under(store, COUNTED, f"other{number}")) for number in range(200))
    assert wrong <= 3


def test_an_incomplete_record_is_left_out():
    assert list(index.records(b"\1\0\0\0\2", COUNTED)) == [1]


def test_a_post_stands_in_the_range_of_its_id():
    start = SMALLEST + 1_000_000
    ranges = index.Ranges(40_000, (SMALLEST, start))
    assert ranges.of(1) == (0, 16_384, 2, 0)
    assert ranges.of(16_384) == (16_384, 32_768, 2, 1)
    assert ranges.of(SMALLEST) == ranges.of(start - 1) == (SMALLEST, start, 6, FIRST_TIMED)
    assert ranges.of(start) == ranges.of(2**53 - 1) == (start, 2**53, 6, FIRST_TIMED + 1)
    assert index.Ranges(0, ()).of(start) == (SMALLEST, 2**53, 6, FIRST_TIMED)


def test_ranges_come_highest_first_below_an_id():
    start = SMALLEST + 1_000_000
    ranges = index.Ranges(40_000, (SMALLEST, start))
    assert [found.first for found in ranges.below(2**53)] == [start, SMALLEST, 32_768, 16_384, 0]
    assert [found.first for found in ranges.below(start)] == [SMALLEST, 32_768, 16_384, 0]
    assert [found.first for found in ranges.below(16_384)] == [0]
    assert list(ranges.below(0)) == []


# ---- Which ranges of ids have a term: bits by which a search leaves out all others.


TIMED_IDS = [SMALLEST + step * 1_000_000 for step in range(100)]
ALL = list(index.Ranges(100 * 16_384 - 1, tuple(TIMED_IDS)).below(2**53))


def write_bits(store, within, terms):
    pipe = store.pipeline()
    index.queue_bits(pipe, within, terms)
    pipe.execute()


def ranges_with(store, ranges, *terms):
    return answer(store, index.ask_ranges_with, ranges, terms)


def test_the_ranges_of_a_term_are_found_in_their_order(raw, store):
    some = ALL[3::17]
    for within in some:
        write_bits(store, within, ["walk"])
    assert ranges_with(store, ALL, "walk") == some
    assert ranges_with(store, ALL, "dog") == []
    assert ranges_with(store, [], "walk") == []


def test_a_range_needs_all_of_the_terms(raw, store):
    first, second, third, *_ = ALL
    write_bits(store, first, ["walk"])
    write_bits(store, second, ["dog", "walk", "日本"])
    write_bits(store, third, ["dog"])
    assert ranges_with(store, ALL, "walk", "dog") == [second]
    assert ranges_with(store, ALL, "日本", "cat") == []


@pytest.mark.parametrize(
    "within", [ALL[-1], ALL[-index.GROUP], ALL[-index.GROUP - 1], ALL[0]], ids=lambda within: str(within.first)
)
def test_a_term_is_one_bit_of_its_range(raw, store, within):
    write_bits(store, within, ["walk", "walk"])
    [key] = raw.keys("posting_bits:*")
    kind, group, bucket = key.split(":")
    assert (kind, int(group)) == ("posting_bits", within.number // index.GROUP)
    assert int(bucket) < index.BUCKETS
    assert raw.bitcount(key) == 1
    assert raw.bitpos(key, 1) // index.SLOTS == within.number % index.GROUP


def test_a_key_has_at_most_four_kilobytes(raw, store):
    terms = [f"term{number}" for number in range(3000)]
    for within in ALL[-index.GROUP :]:
        write_bits(store, within, terms[:50])
    write_bits(store, ALL[-index.GROUP], terms)
    assert max(raw.strlen(key) for key in raw.keys("posting_bits:*")) == index.GROUP * index.SLOTS // 8 == 4096


def test_a_range_seldom_seems_to_have_a_term_that_it_does_not_have(raw, store):
    for first in range(0, 20_000, 1000):
        write_bits(store, ALL[0], [f"word{number}" for number in range(first, first + 1000)])
    wrong = sum(len(ranges_with(store, ALL[:1], f"other{number}")) for number in range(300))
    assert wrong <= 25  # 20,000 terms set one bit of 26
