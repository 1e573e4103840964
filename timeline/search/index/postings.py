"""The records of the index: which posts stand under a term.

A key holds the records of one range of ids and one of BUCKETS buckets of terms. A record is a number: the id of a post,
counted from the first of the range, and above it a fingerprint of the term. Writing appends records, and changes none.
So two writers do not disturb each other, and a record may be written twice.

Two terms may share bucket and fingerprint, about one of 65,536 of a bucket. And a post may have lost a term since. So
the posts that a term leads to must be checked.
"""

import sys
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress
from zlib import crc32

from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.replies import Answer
from timeline.search.index.ranges import Range

BUCKETS = 1024
FINGERPRINT = 2  # bytes
_TYPECODES = {2: "I", 6: "Q"}  # of arrays of records, by the width of a range
_ONLY = [bytes(byte == one for byte in range(256)) for one in range(256)]  # translates one byte to 1, the others to 0


class Postings:
    """The posts that stand under a term in one range; some of them may not have it. Nothing is decoded before it is
    needed: for a page, the newest range mostly has enough."""

    def __init__(self, stored: bytes, within: Range, fingerprint: int) -> None:
        self.within = within
        self._size = within.width + FINGERPRINT
        self._stored = stored[: len(stored) // self._size * self._size]
        self._fingerprint = fingerprint

    def __len__(self) -> int:
        """The number of records: a post may have two."""
        return self._chosen.count(1)

    @cached_property
    def _chosen(self) -> bytes:
        """For each record of the key, 1 when it has the fingerprint, else 0; empty when none has."""
        low, high = self._fingerprint % 256, self._fingerprint // 256
        if bytes((low, high)) not in self._stored:
            return b""
        with_low = self._stored[self.within.width :: self._size].translate(_ONLY[low])
        with_high = self._stored[self.within.width + 1 :: self._size].translate(_ONLY[high])
        with_both = int.from_bytes(with_low, "little") & int.from_bytes(with_high, "little")
        return with_both.to_bytes(len(with_low), "little") if with_both else b""

    def offsets(self) -> Iterator[int]:
        """The ids, counted from the first of the range."""
        if not self._chosen:
            return iter(())
        without = bytearray(self._stored)
        for place in range(self.within.width, self._size):
            without[place :: self._size] = bytes(len(self._chosen))
        return compress(records(bytes(without), self.within), self._chosen)


def ask_postings(pipe: Pipe, within: Range, term: str) -> Answer[Postings]:
    """The posts under a term in one range. One command."""
    bucket, fingerprint = place(term)
    stored = pipe.get_bytes(keys.postings(within.first, bucket))
    return Answer(lambda: Postings(stored.value or b"", within, fingerprint))


def ask_posts(pipe: Pipe, within: Range, term: str) -> Answer[set[int]]:
    """The ids that stand under a term in one range; some of them may not have it. One command."""
    asked = ask_postings(pipe, within, term)
    return Answer(lambda: in_all([asked.value]))


def in_all(postings: Sequence[Postings]) -> set[int]:
    """The ids that stand under all of these terms, at least one, in the same range."""
    fewest, *others = sorted(postings, key=len) if len(postings) > 1 else postings
    offsets = set(fewest.offsets())
    for other in others:
        offsets.intersection_update(other.offsets())
    first = fewest.within.first
    return {first + offset for offset in offsets}


def records(stored: bytes, within: Range) -> "array[int]":
    """The records of a key. An incomplete one at the end is left out."""
    size = within.width + FINGERPRINT
    found = array(_TYPECODES[within.width], stored[: len(stored) // size * size])
    if sys.byteorder == "big":
        found.byteswap()
    return found


def queue_records(pipe: Pipe, within: Range, posts: Mapping[str, Iterable[int]]) -> None:
    """Write that posts stand under terms: by term, ids in one range. One command for each bucket."""
    bits = 8 * within.width
    by_bucket: defaultdict[int, array[int]] = defaultdict(lambda: array(_TYPECODES[within.width]))
    for term, pids in posts.items():
        bucket, fingerprint = place(term)
        start = (fingerprint << bits) - within.first
        by_bucket[bucket].extend([start + pid for pid in pids])
    for bucket, new in by_bucket.items():
        if sys.byteorder == "big":
            new.byteswap()
        pipe.append(keys.postings(within.first, bucket), new.tobytes())


def place(term: str) -> tuple[int, int]:
    """The bucket of a term, and its fingerprint."""
    hashed = crc32(term.encode(errors="replace"))
    return hashed % BUCKETS, hashed >> 16
