"""Checks of the outbox: jobs that no worker reads, jobs that no worker finishes, and counts of attempts at nothing."""

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from retwis_site.jobs.outbox import LEASE, Claim, Outbox
from retwis_site.jobs.worker import MALFORMED, handler_for
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding
from retwis_site.store import keys
from retwis_site.store.client import Store

LATER = 2  # an attempt that is not the first: homes are dropped, not pushed to


class OutboxChecks:
    """Searches the outbox and the dead letters."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = Outbox(store)

    def inconsistencies(self) -> list[Check]:
        return [
            Check("jobs in a key that no worker reads", self.misplaced, lambda: 1),
            Check("jobs overdue", self.overdue, lambda: sum(map(self._store.zcard, keys.outboxes()))),
            Check("dead letters", self.dead_letters, lambda: self._store.zcard(keys.dead_letters())),
        ]

    def orphans(self) -> list[Check]:
        return [Check("attempts at nothing", self.attempts, lambda: self._store.hlen(keys.attempts()))]

    def misplaced(self) -> Chunks:
        """Jobs that were added with another number of OUTBOX_SHARDS. The repair moves them to where workers read."""
        for found in self._outbox.misplaced():
            yield [Finding(_shown(name), partial(self._outbox.move, key, name, score)) for key, name, score in found]

    def overdue(self) -> Chunks:
        """Jobs that were due LEASE seconds ago and that no worker has."""
        for key in keys.outboxes():
            for scored in self._store.zset_scored(key, AT_ONCE):
                late = [job for job, score in scored if score < time.time() - LEASE]
                yield [self._finding(key, job) for job in self._unclaimed(key, late)]

    def _unclaimed(self, key: str, jobs: Sequence[str]) -> list[str]:
        pipe = self._store.pipeline()
        for job in jobs:
            pipe.get(keys.lease(job))
            pipe.zscore(key, job)
        replies = pipe.execute()
        return [
            job
            for job, lease, still in zip(jobs, replies[::2], replies[1::2], strict=True)
            if lease is None and still is not None
        ]

    def dead_letters(self) -> Chunks:
        """Jobs that failed as often as a worker tries."""
        for jobs in self._store.zset_members(keys.dead_letters(), AT_ONCE):
            yield [self._finding(keys.dead_letters(), job) for job in jobs]

    def _finding(self, where: str, job: str) -> Finding:
        return Finding(_shown(job), partial(self._carry_out, where, job))

    def _carry_out(self, where: str, job: str) -> None:
        """Finish a job now, as a later worker would. A member that is no job of the site is removed."""
        handler = handler_for(job)
        with suppress(*MALFORMED):
            while handler is not None and handler(self._store, Claim(self._outbox, job, attempt=LATER)) is False:
                pass  # its turn is over, and no other job waits here
        self._store.zrem(where, job)
        self._outbox.forget(job)

    def attempts(self) -> Chunks:
        """Counts of attempts at jobs that are in no outbox. A job is counted while it is in one."""
        for counted in self._store.hash_fields(keys.attempts(), AT_ONCE):
            pipe = self._store.pipeline()
            for job, _ in counted:
                pipe.zscore(keys.outbox(job), job)
            yield [
                Finding(f"attempts at {job.partition(':')[0]}", partial(self._store.hdel, keys.attempts(), job))
                for (job, _), due in zip(counted, pipe.execute(), strict=True)
                if due is None
            ]


def _shown(job: str) -> str:
    """A part of the name: the name of a logout's job holds a secret."""
    return ":".join(job.split(":")[:2])[:40]
