"""The worker: finishes the due jobs. Every handler reads the truth and makes the mirrors match; all can run twice."""

import logging
from enum import Enum, auto
from threading import Event

from retwis_site.exceptions import StoreRefused
from retwis_site.features import features
from retwis_site.jobs.outbox import JobHandler, Outbox
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import NOT_UTF_8, note_bad
from retwis_site.store.local_cache import Memory

logger = logging.getLogger("retwis.deliver")

BATCH = 100  # jobs that are read in one round trip
ATTEMPTS = 5  # failed attempts after which a job becomes a dead letter

MALFORMED = (ValueError, IndexError)  # what a handler raises for a malformed job name

stop: Event = Event()  # set by SIGTERM: finish the chunk, then release the job

_unknown_kinds: Memory[str, bool] = Memory(size=100, seconds=3600)  # logged at most once an hour each


class _Outcome(Enum):
    FINISHED = auto()
    RELEASED = auto()  # a part is done, the job is due again
    LEFT = auto()  # for another worker, or for later


def handler_for(job: str) -> JobHandler | None:
    """The handler that a feature declares for this kind of job; None for an unknown kind."""
    kind = job.partition(":")[0]
    return next((feature.jobs[kind] for feature in features() if kind in feature.jobs), None)


def drain(store: Store, worker: str) -> int:
    """Finish every due job that no other worker has claimed, until `stop` is set. Long jobs take turns.

    Returns the number of finished jobs. A job that fails stays in the outbox and is logged. Its lease keeps other
    workers from trying at once, since the store may be inconsistent. After ATTEMPTS failures it becomes a dead letter.
    A job of an unknown kind is left alone: a newer version of the site may have added it.
    """
    outbox = Outbox(store)
    finished = 0
    skipped: set[str] = set()
    while due := [job for job in outbox.due(BATCH + len(skipped)) if job not in skipped]:
        for job in due:
            if stop.is_set():
                return finished
            outcome = _work(store, outbox, job, worker)
            if outcome is _Outcome.FINISHED:
                finished += 1
            elif outcome is _Outcome.LEFT:
                skipped.add(job)
    return finished


def _work(store: Store, outbox: Outbox, job: str, worker: str) -> _Outcome:
    kind = job.partition(":")[0]
    handler = handler_for(job)
    if NOT_UTF_8 in job:  # no command of the site names it, so it could not be removed
        note_bad(keys.outbox(job), kind)
        return _Outcome.LEFT
    if handler is None:
        if _unknown_kinds.get(kind) is None:  # the worker reads the outbox many times a second
            _unknown_kinds.put(kind, True)
            logger.error("%s: unknown kind of job; left in the outbox", kind)
        return _Outcome.LEFT
    claim = outbox.claim(job, worker, stop.is_set)
    if claim is None:
        return _Outcome.LEFT
    if claim.attempt > ATTEMPTS:
        logger.error("%s: dead letter after %d attempts", kind, ATTEMPTS)
        outbox.make_dead_letter(job)
        return _Outcome.LEFT
    try:
        if handler(store, claim) is False:
            outbox.release(job)
            return _Outcome.RELEASED
    except (StoreRefused, *MALFORMED) as error:
        logger.error("%s: cannot be finished, left in the outbox: %s", kind, error)
        return _Outcome.LEFT
    outbox.forget(job)
    return _Outcome.FINISHED
