"""The index of the search: which posts stand under a term, and how posts are written into it.

A key holds the records of one range of ids and one of BUCKETS buckets of terms. A record is a number: the id of a post,
counted from the first of the range, and above it a fingerprint of the term. Writing appends records, and changes none.
So two writers do not disturb each other, and a record may be written twice.

Two terms may share bucket and fingerprint, about one of 65,536 of a bucket. And a post may have lost a term since. So
the posts that a term leads to must be checked.

A worker writes a post soon after it was published or edited, and `reindex` writes all. Writing a post twice adds each
of its records twice, which does no harm. Nothing is ever removed: a deleted post, and the words that an edit took away,
are left out when a search checks what it found.
"""

import sys
import time
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import compress, islice
from typing import NamedTuple
from zlib import crc32

from django.utils.functional import cached_property

from retwis_site.jobs.outbox import job_id
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Reply, Repository, Result, Store, answer, answers
from retwis_site.store.ids import LARGEST_ID, parse_number, stored_ids
from retwis_site.store.local_cache import Memory
from retwis_site.store.snowflake import SMALLEST, first_of
from timeline.language import words, written_terms
from timeline.posts.entities import NO_MEDIA, Links, Media
from timeline.posts.links import folded, may_have_links, segments
from timeline.posts.post_ids import ask_given_out
from timeline.posts.reading.records import Record, ask_post

# ---- The ranges of ids by which the index is split: no key grows without limit, and a search reads the newest range
# first.
#
# Ids from a counter: a range is RANGE ids. Ids from the time: the sorted set `posting_ranges` says where ranges begin.
# A full one ends AHEAD seconds from now, at an id that no post has yet. So all workers agree where a post stands: none
# works with a list of ranges that is so old.


RANGE = 16_384  # ids of a counter: two bytes say which one of its range
MOST_POSTS = 8192  # with ids from the time; a range with more is full
AHEAD = 600  # seconds; above the LEASE of a job, and above the STEP by which clocks differ
LONGEST = 2**47  # from the first id of a range to the first of the next: 13 months; six bytes hold twice as much
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
    their order. `ahead`: how many ids the counter may have given out since."""

    last_counted: int
    starts: tuple[int, ...]
    ahead: int = 0

    def of(self, pid: int) -> Range:
        """The range in which a post stands."""
        if pid < SMALLEST:
            number = pid // RANGE
            return Range(number * RANGE, (number + 1) * RANGE, 2, number)
        place = max(bisect_right(self.starts, pid), 1)
        first = self.starts[place - 1] if self.starts else SMALLEST
        after = self.starts[place] if place < len(self.starts) else LARGEST_ID + 1
        return Range(first, after, 6, SMALLEST // RANGE + place - 1)

    def with_room_for(self, pids: Iterable[int]) -> "Ranges":
        """These, and new ones for posts so far above the first id of their range that no record can say how far: the
        first post of a site, or one after two years without any. All workers let a new range begin at the same id."""
        far = {pid // LONGEST * LONGEST for pid in pids if pid - self.of(pid).first >= 2 * LONGEST}
        return self._replace(starts=tuple(sorted({SMALLEST, *self.starts, *far}))) if far else self

    def below(self, before: int) -> Iterator[Range]:
        """The ranges with ids below `before`, highest first."""
        for place in range(len(self.starts), 0, -1):
            if self.starts[place - 1] < before:
                yield self.of(self.starts[place - 1])
        last = min(self.last_counted + self.ahead, before - 1)
        for first in range(last // RANGE * RANGE, -1, -RANGE):
            yield self.of(first)


@lru_cache(maxsize=16)
def highest(ranges: Ranges, before: int, number: int) -> tuple[Range, ...]:
    """The ranges with ids below `before`, highest first, at most so many. Kept, since most searches need the same."""
    return tuple(islice(ranges.below(before), number))


_kept: Memory[str, Ranges] = Memory(size=2, seconds=KEPT)


def ask_ranges(pipe: Pipe) -> Result[Ranges]:
    """All ranges. Two commands; the answer has an entry for each MOST_POSTS posts with ids from the time."""
    counted, starts = ask_given_out(pipe), pipe.zrange(keys.posting_ranges(), 0, -1)
    return Result(lambda: Ranges(counted.value, tuple(sorted(stored_ids(keys.posting_ranges(), starts.value)))))


def known_ranges(store: Store) -> Ranges:
    """All ranges, and one that may begin within seconds. One round trip, none within KEPT seconds of the last."""
    return _kept.get_or_make("", lambda: answer(store, ask_ranges)._replace(ahead=SOON))


def how_many_timed(store: Store) -> int:
    """About how many posts have ids from the time: a deleted one counts, too, an edit as one more, a repost not. One
    round trip, two while the ranges are not known."""
    starts = known_ranges(store).starts
    numbers = store.hmget(keys.search_index(), [f"posts:{start}" for start in starts]) if starts else []
    return sum(parse_number(number or "") or 0 for number in numbers)


# ---- Postings


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


def ask_postings(pipe: Pipe, within: Range, term: str) -> Result[Postings]:
    """The posts under a term in one range. One command."""
    bucket, fingerprint = place(term)
    stored = pipe.get_bytes(keys.postings(within.first, bucket))
    return Result(lambda: Postings(stored.value or b"", within, fingerprint))


def ask_posts(pipe: Pipe, within: Range, term: str) -> Result[set[int]]:
    """The ids that stand under a term in one range; some of them may not have it. One command."""
    asked = ask_postings(pipe, within, term)
    return Result(lambda: in_all([asked.value]))


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


# ---- Bits that say which ranges of ids have a term, so that a search for a rare word reads no other range.
#
# A key has the bits of GROUP ranges for one bucket of terms: SLOTS bits for each range. A term sets one of them. Terms
# share bits, and no bit is ever cleared. So a range with the bit may have no post with the term, and one without it has
# none. This is a Bloom filter with one hash function (B. H. Bloom, 1970).


GROUP = 64  # ranges; with ids from the counter, a million posts
SLOTS = 512  # so a key has at most 4 KB


def queue_bits(pipe: Pipe, within: Range, terms: Iterable[str]) -> None:
    """Write that a range has these terms. At most one command for each."""
    for bucket, slot in {_slot(term) for term in terms}:
        pipe.setbit(keys.posting_bits(within.number // GROUP, bucket), within.number % GROUP * SLOTS + slot)


def ask_ranges_with(pipe: Pipe, ranges: Sequence[Range], terms: Sequence[str]) -> Result[list[Range]]:
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

    return Result(read)


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


# ---- The terms under which a post stands in the index: its words, and what the operators of a search ask for.
#
# A term of an operator has a colon or a hash sign, so no word is the same.


HAS_LINK = "has:link"
HAS_PICTURE = "has:picture"
IS_REPLY = "is:reply"


def from_user(uid: int) -> str:
    return f"from:{uid}"


def to_user(uid: int) -> str:
    return f"to:{uid}"


def tag(folded_tag: str) -> str:
    return f"#{folded_tag}"


def terms_of(uid: int, body: str, links: Links, media: Media = NO_MEDIA) -> set[str]:
    """The terms of a post; none for a repost, which has no words of its own."""
    if links.repost_of is not None:
        return set()
    found = {from_user(uid)}
    for word in words(body):
        found |= written_terms(word)
    if media.pictures:
        found.add(HAS_PICTURE)
    if links.reply_to is not None:
        found.add(IS_REPLY)
    if links.reply_to_user is not None:
        found.add(to_user(links.reply_to_user))
    if may_have_links(body):
        for segment in segments(body):
            if segment.tag:
                found.add(tag(folded(segment.tag)))
            elif segment.address:
                found.add(HAS_LINK)
    return found


# ---- Writing


Terms = dict[int, set[str]]  # by pid

# Fields of `search_index`, while a `reindex` is unfinished.
LAST = "reindexed"  # the first id of the range that it has written last
LATE = "late:"  # before the id of a post that was written meanwhile


def finish_jobs(store: Store, jobs: Sequence[str]) -> None:
    """The jobs `index:<pid>:<nonce>`, for a worker. Raises ValueError and IndexError for a malformed one."""
    Indexing(store).index({job_id(job, 1) for job in jobs})


class Indexing(Repository):
    """Writes posts into the index.

    An unfinished `reindex` may not have found a post, and may remove its records. So the post is noted before it is
    written, and the `reindex` writes it at its end. `tests/protocols/test_interleaved_indexing.py` tries it."""

    def index(self, pids: Iterable[int]) -> int:
        """Write posts into the index. Returns how many have terms: a repost, a deleted or missing post has none. Two
        round trips; one more when a range of ids from the time is full, and one while a `reindex` is unfinished."""
        with self._store.pipeline() as pipe:
            asked, unfinished = ask_ranges(pipe), pipe.hget(keys.search_index(), LAST)
            posts = [ask_post(pipe, pid) for pid in pids]
        terms = _terms_of_all(post.value for post in posts)
        known = asked.value
        ranges = known.with_room_for(terms)
        if unfinished.value is not None and terms:
            self._store.hset(keys.search_index(), {f"{LATE}{pid}": "1" for pid in terms})
        divided: dict[Range, Terms] = {}
        for pid, of_post in terms.items():
            divided.setdefault(ranges.of(pid), {})[pid] = of_post
        counted = {}
        with self._store.pipeline() as pipe:
            for within, some in divided.items():
                queue_terms(pipe, within, some)
                if within.first >= SMALLEST:
                    counted[within] = pipe.hincrby(keys.search_index(), f"posts:{within.first}", len(some))
                if within.first == SMALLEST:
                    pipe.zadd(keys.posting_ranges(), {str(SMALLEST): SMALLEST})
            if ranges is not known:
                pipe.zadd(keys.posting_ranges(), {str(start): start for start in ranges.starts})
        if counted:
            last = max(counted)
            self._open_next(last, counted[last].value, ranges)
        return sum(map(bool, terms.values()))

    def terms(self, pids: Iterable[int]) -> Terms:
        """The terms of posts. One round trip."""
        return _terms_of_all(answers(self._store, ask_post, pids).values())

    def _open_next(self, last: Range, posts: int, ranges: Ranges) -> None:
        """Let a range end soon when it is full and the last one."""
        start = first_of(time.time() + AHEAD)
        is_full = posts > MOST_POSTS or start - last.first > LONGEST
        if is_full and last.first == max(ranges.starts, default=last.first):
            self._store.zadd(keys.posting_ranges(), {str(start): start})


def _terms_of_all(posts: Iterable[Record | None]) -> Terms:
    """Those of a deleted or missing post are not there."""
    return {post.pid: terms_of(post.uid, post.body, post.links, post.media) for post in posts if post is not None}


def queue_terms(pipe: Pipe, within: Range, terms: Terms) -> None:
    """Write the terms of posts of one range. One command for each bucket of terms, and about one for each term."""
    posts = by_term(terms)
    queue_bits(pipe, within, posts)
    queue_records(pipe, within, posts)


def by_term(terms: Terms) -> dict[str, list[int]]:
    """The posts of each term."""
    posts: defaultdict[str, list[int]] = defaultdict(list)
    for pid, of_post in terms.items():
        for term in of_post:
            posts[term].append(pid)
    return posts
