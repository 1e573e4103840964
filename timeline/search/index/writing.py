"""Posts are written into the index: by a worker, soon after they were published or edited, and by `reindex`.

Writing a post twice adds each of its records twice, which does no harm. Nothing is ever removed: a deleted post, and
the words that an edit took away, are left out when a search checks what it found.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from retwis_site.jobs.outbox import job_id
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.snowflake import SMALLEST, first_of
from timeline.posts.reading.records import ask_post
from timeline.search.index.postings import queue_records
from timeline.search.index.ranges import AHEAD, LONGEST, MOST_POSTS, Range, Ranges, ask_ranges
from timeline.search.index.terms import terms_of

Terms = dict[int, set[str]]  # by pid


def finish_jobs(store: Store, jobs: Sequence[str]) -> None:
    """The jobs `index:<pid>:<nonce>`, for a worker. Raises ValueError and IndexError for a malformed one."""
    Indexing(store).index({job_id(job, 1) for job in jobs})


class Indexing:
    """Writes posts into the index."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def index(self, pids: Iterable[int]) -> int:
        """Write posts into the index. Returns how many have terms: a repost, a deleted or missing post has none. Two
        round trips; one more when a range of ids from the time is full."""
        pipe = self._store.pipeline()
        ranges = ask_ranges(pipe)
        asked = [ask_post(pipe, pid) for pid in pids]
        pipe.execute()
        posts = (post.value for post in asked)
        terms = {post.pid: terms_of(post.uid, post.body, post.links) for post in posts if post is not None}
        self.write(ranges.value, terms)
        return sum(map(bool, terms.values()))

    def write(self, ranges: Ranges, terms: Terms) -> None:
        """Write the terms of posts. Round trips as for `index`, one less."""
        pipe = self._store.pipeline()
        for within, posts in by_range(ranges, terms).items():
            queue_records(pipe, within, posts)
        sizes = Counter(ranges.of(pid).first for pid in terms if pid >= SMALLEST)
        counted = {
            first: pipe.hincrby(keys.search_index(), f"posts:{first}", number) for first, number in sizes.items()
        }
        if SMALLEST in sizes and SMALLEST not in ranges.starts:
            pipe.zadd(keys.posting_ranges(), {str(SMALLEST): SMALLEST})
        pipe.execute()
        if counted:
            self._open_next(max(counted), counted[max(counted)].value, ranges)

    def _open_next(self, first: int, posts: int, ranges: Ranges) -> None:
        """Let the range that begins with `first` end soon when it is full and the last one."""
        start = first_of(time.time() + AHEAD)
        is_full = posts > MOST_POSTS or start - first > LONGEST
        if is_full and first == max(ranges.starts, default=first):
            self._store.zadd(keys.posting_ranges(), {str(start): start})


def by_range(ranges: Ranges, terms: Mapping[int, Iterable[str]]) -> dict[Range, dict[str, list[int]]]:
    """By range and term, the posts that stand there."""
    found: dict[Range, defaultdict[str, list[int]]] = {}
    for pid, of_post in terms.items():
        posts = found.setdefault(ranges.of(pid), defaultdict(list))
        for term in of_post:
            posts[term].append(pid)
    return {within: dict(posts) for within, posts in found.items()}
