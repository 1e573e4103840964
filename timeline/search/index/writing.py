"""Posts are written into the index: by a worker, soon after they were published or edited, and by `reindex`.

Writing a post twice adds each of its records twice, which does no harm. Nothing is ever removed: a deleted post, and
the words that an edit took away, are left out when a search checks what it found.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence

from retwis_site.jobs.outbox import job_id
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.snowflake import SMALLEST, first_of
from timeline.language import words, written_terms
from timeline.posts.entities import Links
from timeline.posts.links import folded, may_have_links, segments
from timeline.posts.reading.records import ask_post
from timeline.search.index.postings import (
    AHEAD,
    LONGEST,
    MOST_POSTS,
    Range,
    Ranges,
    ask_ranges,
    queue_bits,
    queue_records,
)

# ---- The terms under which a post stands in the index: its words, and what the operators of a search ask for.
#
# A term of an operator has a colon or a hash sign, so no word is the same.


HAS_LINK = "has:link"
IS_REPLY = "is:reply"


def from_user(uid: int) -> str:
    return f"from:{uid}"


def to_user(uid: int) -> str:
    return f"to:{uid}"


def tag(folded_tag: str) -> str:
    return f"#{folded_tag}"


def terms_of(uid: int, body: str, links: Links) -> set[str]:
    """The terms of a post; none for a repost, which has no words of its own."""
    if links.repost_of is not None:
        return set()
    found = {from_user(uid)}
    for word in words(body):
        found |= written_terms(word)
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


class Indexing:
    """Writes posts into the index.

    An unfinished `reindex` may not have found a post, and may remove its records. So the post is noted before it is
    written, and the `reindex` writes it at its end. `tests/protocols/test_interleaved_indexing.py` tries it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def index(self, pids: Iterable[int]) -> int:
        """Write posts into the index. Returns how many have terms: a repost, a deleted or missing post has none. Two
        round trips; one more when a range of ids from the time is full, and one while a `reindex` is unfinished."""
        pipe = self._store.pipeline()
        ranges = ask_ranges(pipe)
        unfinished = pipe.hget(keys.search_index(), LAST)
        terms = self._terms(pipe, pids)
        if unfinished.value is not None and terms:
            self._store.hset(keys.search_index(), {f"{LATE}{pid}": "1" for pid in terms})
        divided: dict[Range, Terms] = {}
        for pid, of_post in terms.items():
            divided.setdefault(ranges.value.of(pid), {})[pid] = of_post
        counted = {}
        for within, some in divided.items():
            queue_terms(pipe, within, some)
            if within.first >= SMALLEST:
                counted[within] = pipe.hincrby(keys.search_index(), f"posts:{within.first}", len(some))
            if within.first == SMALLEST:
                pipe.zadd(keys.posting_ranges(), {str(SMALLEST): SMALLEST})
        pipe.execute()
        if counted:
            last = max(counted)
            self._open_next(last, counted[last].value, ranges.value)
        return sum(map(bool, terms.values()))

    def terms(self, pids: Iterable[int]) -> Terms:
        """The terms of posts. One round trip."""
        return self._terms(self._store.pipeline(), pids)

    def _terms(self, pipe: Pipe, pids: Iterable[int]) -> Terms:
        asked = [ask_post(pipe, pid) for pid in pids]
        pipe.execute()
        posts = (post.value for post in asked)
        return {post.pid: terms_of(post.uid, post.body, post.links) for post in posts if post is not None}

    def _open_next(self, last: Range, posts: int, ranges: Ranges) -> None:
        """Let a range end soon when it is full and the last one."""
        start = first_of(time.time() + AHEAD)
        is_full = posts > MOST_POSTS or start - last.first > LONGEST
        if is_full and last.first == max(ranges.starts, default=last.first):
            self._store.zadd(keys.posting_ranges(), {str(start): start})


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
