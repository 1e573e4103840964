"""Early drafts of the protocol of the index. Each must fail in its scenario."""

from collections.abc import Iterator

from tests.model.core import Command, Steps
from tests.model.entities import OUTBOX
from tests.model.index.protocol import BITS, MARK, STATE, Indexing, range_of


class NothingIsNoted(Indexing):
    """A worker does not note what it writes while a reindex is at work. (The site did so until now.)"""

    def _note(self, live: tuple) -> Steps:
        yield from ()


class NotedAfterTheRecords(Indexing):
    """A worker notes a post after it has written it."""

    def _note(self, live: tuple) -> Steps:
        yield from ()

    def _index_for(self, jobs: tuple[str, ...]) -> Steps:
        yield from self._index(tuple(sorted({int(job.split(":")[1]) for job in jobs})))
        yield from super()._note(tuple((int(job.split(":")[1]), "") for job in jobs))
        for job in jobs:
            yield ("ZREM", OUTBOX, job)


class MarkAfterTheScan(Indexing):
    """A reindex says that it is at work after it has found the posts."""

    def reindex(self) -> Steps:
        found = yield from self._scan()
        last = yield from self._begin()
        for first in sorted({int(range_of(pid, (10, 20))[9:]) for pid in found}, reverse=True):
            if first < last:
                yield from self._write(first, tuple(pid for pid in found if range_of(pid, (10, 20))[9:] == str(first)))
                yield ("HSET", STATE, MARK, first)
        yield from self._write_late()
        yield ("HDEL", STATE, MARK)


class OneScan(Indexing):
    """The posts are not looked for again after the ids were divided."""

    def _scan_again(self, found: tuple[int, ...]) -> Steps:
        yield from ()
        return found


class BitsAfterTheJob(Indexing):
    """A worker says that the range has the term when it has removed the job."""

    def _records(self, live: tuple, starts: tuple) -> Iterator[Command]:
        return (command for command in super()._records(live, starts) if command[1] != BITS)

    def _index_for(self, jobs: tuple[str, ...]) -> Steps:
        yield from super()._index_for(jobs)
        for pid in {int(job.split(":")[1]) for job in jobs}:
            body, deleted = yield ("HMGET", f"post:{pid}", "body", "deleted")
            if body and not deleted:
                yield ("ZADD", BITS, (range_of(pid, (10, 20)), body), 0)


class OneJobForAPost(Indexing):
    """All jobs of the index for a post have one name."""

    def _list(self, pid: int, nonce: str) -> Steps:
        yield from super()._list(pid, "")

    def _finish_edit(self, pid: int, nonce: str, job: str) -> Steps:
        yield from super()._finish_edit(pid, "", job)


class JobBeforeTheText(Indexing):
    """An edit leaves the job of the index before its text stands."""

    def _finish_edit(self, pid: int, nonce: str, job: str) -> Steps:
        yield ("ZADD", OUTBOX, f"index:{pid}:{nonce}", 0)
        yield from self._agree(pid)
        yield ("ZREM", OUTBOX, job)


class JobsAreRemovedFirst(Indexing):
    """A worker removes its jobs, and then writes."""

    def _index_for(self, jobs: tuple[str, ...]) -> Steps:
        for job in jobs:
            yield ("ZREM", OUTBOX, job)
        yield from self._index(tuple(sorted({int(job.split(":")[1]) for job in jobs})))


DRAFTS: list[tuple[type[Indexing], str]] = [
    (NothingIsNoted, "a new post || a reindex || a worker"),
    (NotedAfterTheRecords, "a new post || a reindex || a worker"),
    (MarkAfterTheScan, "a new post || a reindex || a worker"),
    (OneScan, "a new post || a reindex that divides || a worker"),
    (BitsAfterTheJob, "an edit || two workers"),
    (OneJobForAPost, "a new post || an edit of it || a worker"),
    (JobBeforeTheText, "an edit || two workers"),
    (JobsAreRemovedFirst, "a new post || two workers"),
]
