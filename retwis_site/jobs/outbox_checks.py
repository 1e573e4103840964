"""Intents that nobody finishes: no worker runs, or they cannot be finished."""

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from retwis_site.jobs.outbox import LEASE, Claim, Outbox
from retwis_site.jobs.worker import JOBS, MALFORMED
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding
from retwis_site.store import keys
from retwis_site.store.client import Store

LATER = 2  # an attempt that is not the first: homes are dropped, not pushed to


class Overdue:
    """Searches in the outbox and among what was set aside."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = Outbox(store)

    def checks(self) -> list[Check]:
        return [
            Check("intents where no worker looks", self.strays, lambda: 1),
            Check("intents overdue", self.overdue, lambda: sum(map(self._store.zcard, keys.outboxes()))),
            Check("intents set aside", self.set_aside, lambda: self._store.zcard(keys.set_aside())),
        ]

    def strays(self) -> Chunks:
        """Intents that were noted with another number of OUTBOX_SHARDS. They are brought in, for a worker."""
        for found in self._outbox.strays():
            yield [
                Finding(_shown(name), partial(self._outbox.bring_in, key, name, score)) for key, name, score in found
            ]

    def overdue(self) -> Chunks:
        """Intents that could have been taken over LEASE seconds ago and that no worker has."""
        for key in keys.outboxes():
            for scored in self._store.zset_scored(key, AT_ONCE):
                late = [intent for intent, score in scored if score < time.time() - LEASE]
                yield [self._finding(key, intent) for intent in self._unclaimed(key, late)]

    def _unclaimed(self, key: str, intents: Sequence[str]) -> list[str]:
        pipe = self._store.pipeline()
        for intent in intents:
            pipe.get(keys.lease(intent))
            pipe.zscore(key, intent)
        replies = pipe.execute()
        return [
            intent
            for intent, lease, still in zip(intents, replies[::2], replies[1::2], strict=True)
            if lease is None and still is not None
        ]

    def set_aside(self) -> Chunks:
        """Intents that failed as often as `deliver` tries."""
        for intents in self._store.zset_members(keys.set_aside(), AT_ONCE):
            yield [self._finding(keys.set_aside(), intent) for intent in intents]

    def _finding(self, where: str, intent: str) -> Finding:
        return Finding(_shown(intent), partial(self._carry_out, where, intent))

    def _carry_out(self, where: str, intent: str) -> None:
        """Finish it now, as a later worker would. What is no intent of ours is struck out: nobody ever will."""
        job = JOBS.get(intent.partition(":")[0])
        with suppress(*MALFORMED):
            while job is not None and job(self._store, Claim(self._outbox, intent, attempt=LATER)) is False:
                pass  # it has taken its turn, and nobody waits here
        self._store.zrem(where, intent)
        self._outbox.forget(intent)


def _shown(intent: str) -> str:
    """Not the whole name: that of a logout holds a secret."""
    return ":".join(intent.split(":")[:2])[:40]
