"""The ranges of ids by which the index is split: no key grows without limit, and a search reads the newest range first.

Ids from a counter: a range is RANGE ids. Ids from the time: the sorted set `posting_ranges` says where ranges begin. A
full one ends AHEAD seconds from now, at an id that no post has yet. So all workers agree where a post stands: none
works with a list of ranges that is so old.
"""

from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import LARGEST_ID, stored_ids, stored_time
from retwis_site.store.local_cache import Memory
from retwis_site.store.replies import Answer
from retwis_site.store.snowflake import SMALLEST

RANGE = 16_384  # ids of a counter: two bytes say which one of its range
MOST_POSTS = 8192  # with ids from the time; a range with more is full
AHEAD = 600  # seconds; above the LEASE of a job, and above the STEP by which clocks differ
LONGEST = 2**47  # from the first id of a range to the first of the next: nine years; six bytes hold twice as much
KEPT = 5.0  # seconds that a process keeps the ranges
SOON = 1000  # ids that posts may get within KEPT seconds


class Range(NamedTuple):
    """The ids from `first` to `after`, which is not in it. `width`: the bytes that say which one of them. `number`: of
    the range among all: those of the counter come first, whatever its value is."""

    first: int
    after: int
    width: int
    number: int


class Ranges(NamedTuple):
    """All ranges. `last_counted`: the last id of the counter. `starts`: where ranges of ids from the time begin, in
    their order."""

    last_counted: int
    starts: tuple[int, ...]

    def of(self, pid: int) -> Range:
        """The range in which a post stands."""
        if pid < SMALLEST:
            number = pid // RANGE
            return Range(number * RANGE, (number + 1) * RANGE, 2, number)
        place = max(bisect_right(self.starts, pid), 1)
        first = self.starts[place - 1] if self.starts else SMALLEST
        after = self.starts[place] if place < len(self.starts) else LARGEST_ID + 1
        return Range(first, after, 6, SMALLEST // RANGE + place - 1)

    def below(self, before: int) -> Iterator[Range]:
        """The ranges with ids below `before`, highest first."""
        for place in range(len(self.starts), 0, -1):
            if self.starts[place - 1] < before:
                yield self.of(self.starts[place - 1])
        last = min(self.last_counted, before - 1)
        for first in range(last // RANGE * RANGE, -1, -RANGE):
            yield self.of(first)


@lru_cache(maxsize=16)
def highest(ranges: Ranges, before: int, number: int) -> tuple[Range, ...]:
    """The ranges with ids below `before`, highest first, at most so many. Kept, since most searches need the same."""
    return tuple(islice(ranges.below(before), number))


_kept: Memory[str, Ranges] = Memory(size=2, seconds=KEPT)


def ask_ranges(pipe: Pipe) -> Answer[Ranges]:
    """All ranges. Two commands; the answer has an entry for each MOST_POSTS posts with ids from the time."""
    counter, starts = pipe.get(keys.next_post_id()), pipe.zrange(keys.posting_ranges(), 0, -1)

    def read() -> Ranges:
        return Ranges(
            min(stored_time(keys.next_post_id(), counter.value), SMALLEST - 1),
            tuple(sorted(stored_ids(keys.posting_ranges(), starts.value))),
        )

    return Answer(read)


def known_ranges(store: Store) -> Ranges:
    """All ranges, and one that may begin within seconds. One round trip, none within KEPT seconds of the last."""
    known = _kept.get("")
    if known is None:
        pipe = store.pipeline()
        asked = ask_ranges(pipe)
        pipe.execute()
        known = asked.value._replace(last_counted=asked.value.last_counted + SOON)
        _kept.put("", known)
    return known
