"""Scenarios of the index: changes of posts, two workers and a reindex at once, with up to two crashes.

What a dead owner has left is finished after all processes have ended.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tests.model.core import Database, Explorer, Process, alone
from tests.model.entities import OUTBOX
from tests.model.index.protocol import BITS, MARK, PIDS, STARTS, STATE, Indexing, range_of

WHOLE = (10, 20)  # where the ranges begin


@dataclass
class Scenario:
    """`changes`: the method of `Indexing` and what it is given. `starts`: where ranges begin at first; a reindex
    divides the ids into WHOLE when it is something else."""

    name: str
    changes: tuple[tuple, ...]
    workers: int = 2
    reindexes: bool = False
    starts: tuple[int, ...] = WHOLE
    crashes: int = 2
    fails_by_design: bool = False

    def explorer(self, protocol: Indexing) -> Explorer:
        protocol.divides = () if self.starts == WHOLE else WHOLE
        processes = [
            Process(name, lambda change=change, name=name: getattr(protocol, change[0])(*change[1:], name))
            for name, change in zip("abcd", self.changes, strict=False)
        ]
        processes += [Process(f"worker {one}", lambda: protocol.worker("w")) for one in range(self.workers)]
        if self.reindexes:
            processes += [
                Process("reindex", protocol.reindex),
                Process("the next reindex", protocol.continued, after=("reindex",), can_die=False),
            ]
        return Explorer(processes, database(self.starts), self.crashes)

    def check(self, protocol: Indexing) -> Callable[[Database, bool], list[str]]:
        return lambda db, died: check(db, died, protocol)


def database(starts: tuple[int, ...]) -> Database:
    """The posts 10 and 20 with the text "a" are in the index."""
    db: Database = {STARTS: ("z", tuple((start, start) for start in starts))}
    for pid in (10, 20):
        db = alone(db, Indexing().publish(pid, "a", "before"))
    return alone(db, Indexing().worker("before"))


def check(db: Database, died: bool, protocol: Indexing) -> list[str]:
    """What is wrong after a worker has finished all jobs, and the next run a reindex that was killed."""
    for number in range(20):
        jobs = [job for job, _ in db.get(OUTBOX, ("z", ()))[1]]
        if not jobs:
            break
        db = alone(db, protocol.finish(jobs[0], f"last{number}"))
    else:
        return ["a job is never done"]
    if MARK in dict(db.get(STATE, ("h", ()))[1]):
        if not died:
            return ["a reindex is never done"]
        db = alone(db, protocol.continued())
    published = {pid for pid, _ in db["updates"][1]}
    starts = [start for start, _ in db[STARTS][1]]
    missed = [pid for pid in PIDS if pid in published and not _is_found(db, pid, starts)]
    return [f"a search misses the post {pid}" for pid in missed]


def _is_found(db: Database, pid: int, starts: list[int]) -> bool:
    post = dict(db[f"post:{pid}"][1])
    within = range_of(pid, starts)
    found = [record for record, _ in db.get(within, ("z", ()))[1]]
    bits = [bit for bit, _ in db.get(BITS, ("z", ()))[1]]
    return "deleted" in post or ((pid, post["body"]) in found and (within, post["body"]) in bits)


def scenarios() -> list[Scenario]:
    new, old = ("publish", 21, "a"), ("publish", 11, "a")  # the second one as from the file of a download
    edit, other_edit = ("edit", 20, "b"), ("edit", 20, "c")
    return [
        Scenario("a new post || two workers", (new,)),
        Scenario("a new post || its deletion || a worker", (new, ("delete", 21)), 1),
        Scenario("an edit || two workers", (edit,)),
        Scenario("an edit || an edit || two workers", (edit, other_edit), crashes=1),
        Scenario("a new post || an edit of it || a worker", (new, ("edit", 21, "b")), 1),
        Scenario("a new post || a reindex || a worker", (new,), 1, reindexes=True),
        Scenario("a post with an old id || a reindex || a worker", (old,), 1, reindexes=True),
        Scenario("an edit || a reindex || a worker", (edit,), 1, reindexes=True),
        Scenario("two posts || a reindex || a worker", (new, old), 1, reindexes=True, crashes=1),
        Scenario("a new post || a reindex that divides || a worker", (new,), 1, reindexes=True, starts=(10,)),
        Scenario("a new post || a reindex that joins || a worker", (new,), 1, reindexes=True, starts=(10, 11, 20, 21)),
        Scenario("an edit || a reindex that joins || two workers", (edit,), 2, reindexes=True, starts=(10, 20, 21)),
    ]
