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
from collections.abc import Iterable, Mapping
from zlib import crc32

from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.replies import Answer
from timeline.search.index.ranges import Range

BUCKETS = 1024
FINGERPRINT = 2  # bytes
_TYPECODES = {2: "I", 6: "Q"}  # of arrays of records, by the width of a range


def ask_posts(pipe: Pipe, within: Range, term: str) -> Answer[set[int]]:
    """The ids that stand under a term in one range; some of them may not have it. One command."""
    bucket, fingerprint = _place(term)
    stored = pipe.get_bytes(keys.postings(within.first, bucket))
    return Answer(lambda: _ids(stored.value or b"", within, fingerprint))


def _ids(stored: bytes, within: Range, fingerprint: int) -> set[int]:
    bits = 8 * within.width
    lowest = fingerprint << bits
    above = lowest + (1 << bits)
    shift = within.first - lowest
    return {record + shift for record in records(stored, within) if lowest <= record < above}


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
        bucket, fingerprint = _place(term)
        start = (fingerprint << bits) - within.first
        by_bucket[bucket].extend([start + pid for pid in pids])
    for bucket, new in by_bucket.items():
        if sys.byteorder == "big":
            new.byteswap()
        pipe.append(keys.postings(within.first, bucket), new.tobytes())


def _place(term: str) -> tuple[int, int]:
    """The bucket of a term, and its fingerprint."""
    hashed = crc32(term.encode(errors="replace"))
    return hashed % BUCKETS, hashed >> 16
