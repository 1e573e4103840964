"""Checks of the outbox: misplaced jobs, overdue jobs, dead letters, and attempt counts without a job."""

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from retwis_site.jobs.outbox import LEASE, Claim, Outbox, silence
from retwis_site.jobs.worker import MALFORMED, handler_for
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, looking, names_in
from retwis_site.maintenance.server_advice import Advice
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.replies import Result

LATER_ATTEMPT = 2  # not the first: home timelines are dropped, not pushed to


def worker_advice(store: Store) -> list[Advice]:
    """Whether a worker runs. One round trip. Raises StoreRefused."""
    text = silence(store.get(keys.worker_seen()))
    if not text:
        return []
    hint = "Run `manage.py deliver` beside the web processes, or `deliver --once` as a scheduled task."
    return [Advice("retwis.W018", f"{text[0].upper()}{text[1:]}.", hint)]


class OutboxChecks:
    """Searches the outbox and the dead letters."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = Outbox(store)

    def inconsistencies(self) -> list[Check]:
        return [
            Check("jobs in a key that no worker reads", at_end=self.misplaced, after=True),
            Check("overdue jobs", at_end=self.overdue),
            Check("dead letters", at_end=self.dead_letters),
        ]

    def orphans(self) -> list[Check]:
        def jobless(names: list[str]) -> Chunks:
            """A job has a count only while it is in an outbox."""
            for jobs in names_in(self._store, names):
                yield [
                    Finding(f"attempts at {job.partition(':')[0]}", partial(self._store.hdel, keys.attempts(), job))
                    for job in looking(self._store, _ask_jobless)(jobs)
                ]

        return [Check("attempt counts without a job", (keys.attempts,), jobless)]

    def misplaced(self) -> Chunks:
        """Jobs that were added under another OUTBOX_SHARDS. The repair moves them to the key that workers read."""
        for chunk in self._outbox.misplaced():
            yield [Finding(_label(name), partial(self._outbox.move, key, name, score)) for key, name, score in chunk]

    def overdue(self) -> Chunks:
        """Jobs that have been due for more than LEASE seconds, and that no worker has claimed."""
        for key in keys.outbox.all():
            for scored in self._store.zset_scored(key, AT_ONCE):
                late = [job for job, score in scored if score < time.time() - LEASE]
                yield [self._finding(key, job) for job in self._unclaimed(key, late)]

    def _unclaimed(self, key: str, jobs: Sequence[str]) -> list[str]:
        pipe = self._store.pipeline()
        asked = [(job, pipe.get(keys.lease(job)), pipe.zscore(key, job)) for job in jobs]
        pipe.execute()
        return [job for job, lease, due in asked if lease.value is None and due.value is not None]

    def dead_letters(self) -> Chunks:
        """Jobs that failed ATTEMPTS times. The repair tries once more."""
        for jobs in self._store.zset_members(keys.set_aside(), AT_ONCE):
            yield [self._finding(keys.set_aside(), job) for job in jobs]

    def _finding(self, key: str, job: str) -> Finding:
        return Finding(_label(job), partial(self._carry_out, key, job))

    def _carry_out(self, key: str, job: str) -> None:
        """Finish a job now, as a later worker would. A member that is not a valid job is removed."""
        handler, claim = handler_for(job), Claim(self._store, job, attempt=LATER_ATTEMPT)
        with suppress(*MALFORMED):
            while handler is not None and handler(self._store, claim) is False:
                pass  # the turn of a long job is over, but no other job waits here
        self._store.zrem(key, job)
        self._outbox.forget([job])


def _ask_jobless(pipe: Pipe, job: str) -> Result[bool]:
    due = pipe.zscore(keys.outbox(job), job)
    return Result(lambda: due.value is None)


def _label(job: str) -> str:
    """The first two parts of a job name, at most 40 characters. The name of a logout's job has a secret behind them."""
    return ":".join(job.split(":")[:2])[:40]
