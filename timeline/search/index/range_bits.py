"""Bits that say which ranges of ids have a term, so that a search for a rare word reads no other range.

A key has the bits of GROUP ranges for one bucket of terms: SLOTS bits for each range. A term sets one of them. Terms
share bits, and no bit is ever cleared. So a range with the bit may have no post with the term, and one without it has
none. This is a Bloom filter with one hash function (B. H. Bloom, 1970).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.replies import Answer
from timeline.search.index.postings import place
from timeline.search.index.ranges import Range

GROUP = 64  # ranges; with ids from the counter, a million posts
SLOTS = 256  # so a key has at most 2 KB


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
        return [
            each
            for some, answers in asked
            for each in some
            if all(_is_set(stored.value or b"", _bit(each, slot)) for slot, stored in answers)
        ]

    return Answer(read)


def _slot(term: str) -> tuple[int, int]:
    bucket, fingerprint = place(term)
    return bucket, fingerprint % SLOTS


def _bit(within: Range, slot: int) -> int:
    return within.number % GROUP * SLOTS + slot


def _is_set(stored: bytes, bit: int) -> bool:
    """As Redis counts bits: the first is the highest of the first byte."""
    return bit // 8 < len(stored) and bool(stored[bit // 8] >> (7 - bit % 8) & 1)
