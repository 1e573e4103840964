"""Bits that say which ranges of ids have a term, so that a search for a rare word reads no other range.

A key has the bits of GROUP ranges for one bucket of terms: SLOTS bits for each range. A term sets one of them. Terms
share bits, and no bit is ever cleared. So a range with the bit may have no post with the term, and one without it has
none. This is a Bloom filter with one hash function (B. H. Bloom, 1970).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.replies import Answer, Reply
from timeline.search.index.postings import place
from timeline.search.index.ranges import Range

GROUP = 64  # ranges; with ids from the counter, a million posts
SLOTS = 512  # so a key has at most 4 KB


def queue_bits(pipe: Pipe, within: Range, terms: Iterable[str]) -> None:
    """Write that a range has these terms. At most one command for each."""
    for bucket, slot in {_slot(term) for term in terms}:
        pipe.setbit(keys.posting_bits(within.number // GROUP, bucket), _bit(within, slot))


def ask_ranges_with(pipe: Pipe, ranges: Sequence[Range], terms: Sequence[str]) -> Answer[list[Range]]:
    """Those of the ranges that may have posts with all of these terms. One command for each term and group."""
    by_group: defaultdict[int, list[Range]] = defaultdict(list)
    for each in ranges:
        by_group[each.number // GROUP].append(each)
    asked = [
        (some, [(slot, pipe.get_bytes(keys.posting_bits(group, bucket))) for bucket, slot in map(_slot, terms)])
        for group, some in by_group.items()
    ]

    def read() -> list[Range]:
        return [each for some, answers in asked for each in _with_all(some, answers)]

    return Answer(read)


def _with_all(ranges: Sequence[Range], answers: Iterable[tuple[int, Reply[bytes | None]]]) -> list[Range]:
    """Those of the ranges of a group that have the bit of each slot."""
    for slot, stored in answers:
        # One byte of each range. As Redis counts bits, the first is the highest of its byte.
        column, bit = (stored.value or b"")[slot // 8 :: SLOTS // 8], 128 >> slot % 8
        having = {place for place, byte in enumerate(column) if byte & bit}
        ranges = [each for each in ranges if each.number % GROUP in having]
    return [*ranges]


def _slot(term: str) -> tuple[int, int]:
    bucket, fingerprint = place(term)
    return bucket, fingerprint % SLOTS


def _bit(within: Range, slot: int) -> int:
    return within.number % GROUP * SLOTS + slot
