"""The protocol of the index of the search: generators of commands. `timeline/search/index/` follows it, and
`timeline/posts/writing/` where it leaves the jobs.

Left out: all of a post but its text, and leases. A range of ids has one key, whose members are (pid, text): the site
appends records to strings, and a record twice is one post. The bits that say which ranges have a term are members
(range, text) of BITS; none is ever removed. `starts` says where ranges begin, for both kinds of ids.
"""

from collections.abc import Iterable, Iterator

from tests.model.core import Command, Steps
from tests.model.entities import OUTBOX
from tests.model.round_trips import RoundTrips

PIDS = (10, 11, 20, 21)  # that a scan of all keys may find
STATE, MARK, LATE = "search_index", "reindexed", "late:"
STARTS = "posting_ranges"
BITS = "posting_bits"
SMALLEST = 10  # where the first range begins, whatever STARTS says
ALL = 99  # what the mark of a run says that has written no range yet


def range_of(pid: int, starts: Iterable[int]) -> str:
    return f"postings:{max((start for start in starts if start <= pid), default=SMALLEST)}"


class Indexing(RoundTrips):
    """The protocol. Each method is a generator of commands."""

    divides: tuple[int, ...] = ()  # where a reindex lets ranges begin; empty: it leaves them as they are

    # ---- the verbs

    def publish(self, pid: int, text: str, nonce: str) -> Steps:
        """Commit: the job of the post."""
        yield ("HSET", f"post:{pid}", "body", text)
        yield ("ZADD", OUTBOX, f"post:{pid}:{nonce}", 0)
        yield from self._list(pid, nonce)
        yield ("ZREM", OUTBOX, f"post:{pid}:{nonce}")

    def edit(self, pid: int, text: str, nonce: str) -> Steps:
        """Commit: the HSETNX of the new text."""
        yield ("ZADD", OUTBOX, f"edit:{pid}:{nonce}", 0)
        since = 1
        while not (yield ("HSETNX", f"edits:{pid}", since, text)):
            since += 1
        yield from self._finish_edit(pid, nonce, f"edit:{pid}:{nonce}")

    def delete(self, pid: int, nonce: str) -> Steps:
        """The index keeps what it has: a search checks the posts."""
        yield ("HSET", f"post:{pid}", "deleted", nonce)

    # ---- the workers

    def worker(self, nonce: str) -> Steps:
        """A worker that finds the due jobs once, and finishes those of the index together. `nonce` is unused: no other
        job of the model is due before its owner has ended."""
        jobs = yield ("ZRANGE", OUTBOX)
        jobs = tuple(job for job, _ in jobs if job.startswith("index:"))
        if not jobs:
            return
        yield from self._index_for(jobs)

    def finish(self, job: str, nonce: str) -> Steps:
        """Finish a job of any kind, after its owner has ended or died."""
        kind, pid, _ = job.split(":")
        if kind == "index":
            yield from self._index_for((job,))
        elif kind == "edit":
            yield from self._finish_edit(int(pid), nonce, job)
        else:
            yield from self._list(int(pid), nonce)
            yield ("ZREM", OUTBOX, job)

    # ---- the whole index anew

    def reindex(self) -> Steps:
        """The mark comes before the search for posts. So a worker that does not see the mark has a post that is
        found."""
        last = yield from self._begin()
        found = yield from self._scan()
        if last == ALL and self.divides:
            yield from self._divide()
            found = yield from self._scan_again(found)
        starts = yield ("ZRANGE", STARTS)
        starts = tuple(start for start, _ in starts)
        for first in sorted({int(range_of(pid, starts)[9:]) for pid in found}, reverse=True):
            if first < last:
                yield from self._write(
                    first, tuple(pid for pid in found if range_of(pid, starts).endswith(f":{first}"))
                )
                yield ("HSET", STATE, MARK, first)
        yield from self._write_late()
        yield ("HDEL", STATE, MARK)

    def continued(self) -> Steps:
        """The next run after one that was killed."""
        (last,) = yield ("HMGET", STATE, MARK)
        if last is not None:
            yield from self.reindex()

    # ---- their steps

    def _list(self, pid: int, nonce: str) -> Steps:
        yield from self._tell([("ZADD", "updates", pid, pid), ("ZADD", OUTBOX, f"index:{pid}:{nonce}", 0)])

    def _finish_edit(self, pid: int, nonce: str, job: str) -> Steps:
        """The job of the index is left when the text stands. Both jobs are in one key, so they stay in order."""
        yield from self._agree(pid)
        yield ("ZADD", OUTBOX, f"index:{pid}:{nonce}", 0)
        yield ("ZREM", OUTBOX, job)

    def _agree(self, pid: int) -> Steps:
        """Write the newest text until a look finds what was written."""
        written = None
        while True:
            (body,), texts = yield from self._ask([("HMGET", f"post:{pid}", "body"), ("HGETALL", f"edits:{pid}")])
            newest = max(texts)[1] if texts else body
            if newest == written == body:
                return
            yield ("HSET", f"post:{pid}", "body", newest)
            written = newest

    def _index_for(self, jobs: tuple[str, ...]) -> Steps:
        """Each job has a name of its own. So the job of an edit after this look at the text stays."""
        yield from self._index(tuple(sorted({int(job.split(":")[1]) for job in jobs})))
        for job in jobs:
            yield ("ZREM", OUTBOX, job)

    def _index(self, pids: tuple[int, ...]) -> Steps:
        """While a reindex is at work, a post is noted before it is written: that run may not have found it, and may
        remove its records. At its end it writes what is noted."""
        posts = [("HMGET", f"post:{pid}", "body", "deleted") for pid in pids]
        replies = yield from self._ask([("HMGET", STATE, MARK), ("ZRANGE", STARTS), *posts])
        (mark,), starts, *posts = replies
        live = tuple((pid, body) for pid, (body, deleted) in zip(pids, posts, strict=True) if body and not deleted)
        if mark is not None:
            yield from self._note(live)
        yield from self._tell(self._records(live, tuple(start for start, _ in starts)))

    def _note(self, live: tuple) -> Steps:
        yield from self._tell(("HSET", STATE, f"{LATE}{pid}", 1) for pid, _ in live)

    def _records(self, live: tuple, starts: tuple) -> Iterator[Command]:
        """In any order: a search may miss the post until the job is done."""
        for pid, body in live:
            yield ("ZADD", range_of(pid, starts), (pid, body), 0)
            yield ("ZADD", BITS, (range_of(pid, starts), body), 0)

    def _begin(self) -> Steps:
        (last,) = yield ("HMGET", STATE, MARK)
        if last is None:
            yield ("HSET", STATE, MARK, ALL)
        return ALL if last is None else last

    def _scan(self) -> Steps:
        """SCAN: what comes while it runs is found or not."""
        replies = yield from self._ask([("HMGET", f"post:{pid}", "body") for pid in PIDS])
        return tuple(pid for pid, (body,) in zip(PIDS, replies, strict=True) if body is not None)

    def _scan_again(self, found: tuple[int, ...]) -> Steps:
        """A worker may have written a post into a range that is none any more."""
        return (yield from self._scan())

    def _divide(self) -> Steps:
        before = yield ("ZRANGE", STARTS)
        new = [("ZADD", STARTS, start, start) for start in self.divides]
        yield from self._tell([*new, *(("ZREM", STARTS, start) for start, _ in before if start not in self.divides)])

    def _write(self, first: int, pids: tuple[int, ...]) -> Steps:
        yield ("UNLINK", f"postings:{first}")
        posts = yield from self._ask([("HMGET", f"post:{pid}", "body", "deleted") for pid in pids])
        live = tuple((pid, body) for pid, (body, deleted) in zip(pids, posts, strict=True) if body and not deleted)
        yield from self._tell(self._records(live, (first,)))

    def _write_late(self) -> Steps:
        """No range is removed any more, so what is noted from here on is not lost."""
        state = yield ("HGETALL", STATE)
        late = tuple(sorted(field for field, _ in state if field.startswith(LATE)))
        if late:
            yield from self._index(tuple(int(field.removeprefix(LATE)) for field in late))
            yield from self._tell(("HDEL", STATE, field) for field in late)
