"""Checks of counts: the number that is written of a target must be the number of its edges."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from retwis_site.jobs.outbox import Outbox
from retwis_site.maintenance.checks import Check, Chunks, Finding, ids_of
from retwis_site.store.client import Store
from timeline.relations.protocol.counts import Count, Counts
from timeline.relations.protocol.relation import Relation

T = TypeVar("T")


def miscounted(
    store: Store,
    relation: Relation,
    targets: Sequence[int],
    look: Callable[[Sequence[int]], Sequence[T]],
    target_of: Callable[[T], int],
) -> list[T]:
    """What `look` finds wrong about these targets in the same way twice, with no job at work on their edges in between.

    One look alone may find a job in progress: a user with many followers is followed all the time."""
    suspects = look(targets)
    if not suspects:
        return []
    at_work = _at_work_on(store, relation)
    again = look([target for one in suspects if str(target := target_of(one)) not in at_work])
    return [one for one in again if one in suspects]


def _at_work_on(store: Store, relation: Relation) -> set[str]:
    """The targets that a job may be at work on."""
    jobs = [beginning.split(":") for beginning in Outbox(store).under_way()]
    deletion = "gone" if relation.target.is_person else "del"
    of_edges = {job[2] for job in jobs if job[0] == relation.kind and len(job) == 3}
    return of_edges | {job[1] for job in jobs if job[0] == deletion and len(job) == 2}


@dataclass(frozen=True)
class Miscount:
    """A post with a wrong number."""

    pid: int
    written: float
    right: int


class PostCountChecks:
    """Searches the counts in `post:` hashes. A repair relies on the checks of the edges, which run before."""

    def __init__(self, store: Store, relation: Relation, count: Count) -> None:
        self._store = store
        self._relation = relation
        self._count = count

    def inconsistencies(self) -> list[Check]:
        return [Check(f"wrong numbers of {self._relation.kind}s in post:", self.wrong_counts, self._store.dbsize)]

    def wrong_counts(self) -> Chunks:
        """Posts whose number is missing or wrong."""
        for pids in ids_of(self._store, "post:*"):
            yield [
                Finding(
                    f"post {one.pid} has {one.right} {self._relation.kind}s, but its number is {one.written:.0f}",
                    partial(Counts(self._store, self._count).recount, [one.pid]),
                )
                for one in miscounted(self._store, self._relation, pids, self._look, lambda one: one.pid)
            ]

    def _look(self, pids: Sequence[int]) -> list[Miscount]:
        pipe = self._store.pipeline()
        asked = [(pid, self._count.ask_written(pipe, pid), self._count.ask(pipe, pid)) for pid in pids]
        pipe.execute()
        return [
            Miscount(pid, written.value, right.value) for pid, written, right in asked if written.value != right.value
        ]
