"""The worker: finishes the due jobs. Every handler reads the truth and makes the mirrors match; all can run twice."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum, auto
from functools import cache, partial
from math import inf
from threading import Event

from retwis_site.exceptions import LeaseEnded, OfNewerVersion, StoreError, StoreReadOnly, StoreRefused
from retwis_site.features import features
from retwis_site.inspector import changes
from retwis_site.jobs.lease import LeasedStore
from retwis_site.jobs.outbox import LEASE, PUT_OFF, TURN, BatchHandler, Claim, JobHandler, Outbox, silence
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, Searcher, looking, names_in
from retwis_site.maintenance.server_advice import Advice
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Result, Store, handles
from retwis_site.store.ids import NOT_UTF_8, note_bad
from retwis_site.store.local_cache import Memory

logger = logging.getLogger("retwis.deliver")

BATCH = 500  # jobs that are read in one round trip
ATTEMPTS = 5  # failed attempts after which a job becomes a dead letter

MALFORMED = (ValueError, IndexError)  # what a handler raises for a malformed job name

stop: Event = Event()  # set by SIGTERM: finish the chunk, then release the job

_unknown_kinds: Memory[str, bool] = Memory(size=100, seconds=3600)  # logged at most once an hour each
_interrupted: set[str] = set()  # jobs that this process worked on, or was claiming, when the store failed


class _Outcome(Enum):
    FINISHED = auto()
    RELEASED = auto()  # a part is done, the job is due again
    LEFT = auto()  # for another worker, or for later


def handler_for(job: str) -> JobHandler | None:
    """What finishes this job alone; None for a kind that no feature declares."""
    kind = _present_kind(job)
    together = _batch_handler(kind)
    if together is not None:
        return _alone(together)
    return next((feature.jobs[kind] for feature in features() if kind in feature.jobs), None)


def _present_kind(job: str) -> str:
    """The kind of a job, as it is called now."""
    return _former_kinds().get(_kind(job), _kind(job))


@cache
def _former_kinds() -> dict[str, str]:
    return {former: kind for feature in features() for former, kind in feature.former_jobs.items()}


def _longest_wait(job: str) -> float:
    """For how many seconds at most a job is put off, by clocks that differ by less than LEASE. One whose feature does
    not say so, or that a newer version has added, may wait for any time."""
    kind = _present_kind(job)
    said = (one.put_off for one in features() if kind in one.jobs or kind in one.batches)
    put_off = next(said, None)
    return inf if put_off is None else LEASE + put_off.get(kind, LEASE)


def _batch_handler(kind: str) -> BatchHandler | None:
    return next((feature.batches[kind] for feature in features() if kind in feature.batches), None)


def _alone(together: BatchHandler) -> JobHandler:
    return lambda store, claim: together(store, [claim.name])


def _kind(job: str) -> str:
    return job.partition(":")[0]


def drain(store: Store, worker: str) -> int:
    """Do all `rounds`. Returns the number of finished jobs."""
    return sum(finished.total() for finished in rounds(store, worker))


def rounds(store: Store, worker: str) -> Iterator[Counter[str]]:
    """Finish every due job that no other worker has claimed, until `stop` is set. Long jobs take turns.

    Yields after each look at the outbox how many jobs of each kind were finished since; the last look finds none. A
    job that fails stays in the outbox and is logged. Its lease keeps other workers from trying at once, since the store
    may be inconsistent. After ATTEMPTS failures it becomes a dead letter. A job of an unknown kind is left alone: a
    newer version of the site may have added it. One of a known kind about what such a version has written is put off
    for LEASE. Jobs that a failure of the store has interrupted are taken back first.
    """
    outbox = Outbox(store)
    for job in tuple(_interrupted):
        with suppress(StoreRefused):  # the next round tries again
            outbox.take_back(job, worker)
            _interrupted.discard(job)
    skipped: set[str] = set()
    while listed := outbox.due(BATCH + len(skipped)):
        skipped.intersection_update(listed)  # what other workers have finished takes no place in the next look
        due = [job for job in listed if job not in skipped]
        if not due:
            break
        alone, finished = [], Counter[str]()
        for kind, jobs in _by_kind(due).items():
            together = _batch_handler(kind)
            if together is None or stop.is_set():
                alone += jobs
                continue
            with _noting_interruption(jobs):
                outcomes = _work_together(store, outbox, together, jobs, worker)
            for job, outcome in outcomes.items():
                finished[kind] += outcome is _Outcome.FINISHED
                if outcome is _Outcome.LEFT:
                    skipped.add(job)
        read_again = time.monotonic() + TURN  # what is done in batches does not wait for many long jobs
        for job in alone:
            if stop.is_set():
                yield finished
                return
            with _noting_interruption([job]):
                outcome = _work(store, outbox, job, worker)
            finished[_kind(job)] += outcome is _Outcome.FINISHED
            if outcome is _Outcome.LEFT:
                skipped.add(job)
            if time.monotonic() > read_again:
                break
        yield finished
    yield Counter()


@contextmanager
def _noting_interruption(jobs: Sequence[str]) -> Iterator[None]:
    """The next `rounds` takes the jobs back that this block was busy with when the store failed."""
    try:
        yield
    except StoreError:  # also a refusal, as of a proxy that has lost a server: leases may be taken by then
        _interrupted.update(jobs)
        raise


def _by_kind(jobs: Iterable[str]) -> dict[str, list[str]]:
    """Jobs by their kind. A job that no command can name is of no kind."""
    found: dict[str, list[str]] = {}
    for job in jobs:
        found.setdefault("" if NOT_UTF_8 in job else _kind(job), []).append(job)
    return found


def _work_together(
    store: Store, outbox: Outbox, together: BatchHandler, jobs: Sequence[str], worker: str
) -> dict[str, _Outcome]:
    """Finish jobs of one kind together; when that fails, one by one, so that a bad one does not stop the others."""
    outcomes = dict.fromkeys(jobs, _Outcome.LEFT)
    claims = _claimed(outbox, jobs, worker)
    names = [claim.name for claim in claims]
    if not names:
        return outcomes
    leased = claims[0].store  # what was claimed together has leases that end together
    try:
        with changes.noted(store, names):
            together(leased, names)
        Outbox(leased).finish(names)
    except LeaseEnded:
        return outcomes
    except (StoreRefused, *MALFORMED):
        return outcomes | {claim.name: _carry_out(store, claim, _alone(together)) for claim in claims}
    return outcomes | dict.fromkeys(names, _Outcome.FINISHED)


def _work(store: Store, outbox: Outbox, job: str, worker: str) -> _Outcome:
    kind = _kind(job)
    if NOT_UTF_8 in job:  # no command of the site names it, so it could not be removed
        note_bad(keys.outbox(job), kind)
        return _Outcome.LEFT
    handler = handler_for(job)
    if handler is None:
        if _unknown_kinds.get(kind) is None:  # the worker reads the outbox many times a second
            _unknown_kinds.put(kind, True)
            logger.error("%s: unknown kind of job; left in the outbox", kind)
        return _Outcome.LEFT
    for claim in _claimed(outbox, [job], worker):
        return _carry_out(store, claim, handler)
    return _Outcome.LEFT


def _claimed(outbox: Outbox, jobs: Sequence[str], worker: str) -> list[Claim]:
    """The jobs that are this worker's now. Those that have failed too often become dead letters."""
    claims = outbox.claim(jobs, worker, stop.is_set)
    for claim in claims:
        if claim.attempt > ATTEMPTS:
            logger.error("%s: dead letter after %d attempts", _kind(claim.name), ATTEMPTS)
            outbox.make_dead_letter(claim.name)
    return [claim for claim in claims if claim.attempt <= ATTEMPTS]


def _carry_out(store: Store, claim: Claim, handler: JobHandler) -> _Outcome:
    try:
        with changes.noted(store, [claim.name]):
            outcome = handler(claim.store, claim)
            if outcome is False:
                claim.outbox.release(claim.name)
            elif outcome is PUT_OFF:
                claim.outbox.forget([claim.name])
            else:
                claim.outbox.finish([claim.name])
    except LeaseEnded:
        logger.error("%s: too slow, left to the next worker", _kind(claim.name))
        return _Outcome.LEFT
    except OfNewerVersion:  # it is no failure, after which it would be a dead letter
        logger.error("%s: a newer version has written it; left in the outbox", _kind(claim.name))
        claim.outbox.add_for_later(claim.name, LEASE)
        claim.outbox.forget([claim.name])
        return _Outcome.LEFT
    except (StoreRefused, *MALFORMED) as error:
        logger.error("%s: cannot be finished, left in the outbox: %s", _kind(claim.name), error)
        return _Outcome.LEFT
    return _Outcome.RELEASED if outcome is False else _Outcome.FINISHED


# ---- Checks of the outbox: misplaced jobs, overdue jobs, dead letters, and attempt counts without a job.


LATER_ATTEMPT = 2  # not the first: home timelines are dropped, not pushed to


def worker_advice(store: Store) -> list[Advice]:
    """Whether a worker runs. One round trip. Raises StoreRefused."""
    text = silence(store.get(keys.worker_seen()))
    if not text:
        return []
    hint = "Run `manage.py deliver` beside the web processes, or `deliver --once` as a scheduled task."
    return [Advice("retwis.W018", f"{text[0].upper()}{text[1:]}.", hint)]


class OutboxChecks(Searcher):
    """Searches the outbox and the dead letters. `now`: what is overdue, is so at this moment, in unix seconds."""

    def __init__(self, store: Store, now: Callable[[], float] = time.time) -> None:
        super().__init__(store)
        self._outbox = Outbox(store)
        self._now = now

    def inconsistencies(self) -> list[Check]:
        return [
            Check("jobs in a key that no worker reads", at_end=self.misplaced),
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
        """Jobs that no worker has claimed, and that have been due for more than LEASE seconds, or were put off by a
        clock that was ahead: until then, nobody would finish them, and checks would leave alone what they explain."""
        for key in keys.outbox.all():
            for scored in self._store.zset_scored(key, AT_ONCE):
                overdue, now = self._now() - LEASE, time.time()
                late = [job for job, due in scored if due < overdue or due > now + _longest_wait(job)]
                yield [self._finding(key, job) for job in self._unclaimed(key, late)]

    def _unclaimed(self, key: str, jobs: Sequence[str]) -> list[str]:
        asked = handles(self._store, lambda pipe, job: (pipe.get(keys.lease(job)), pipe.zscore(key, job)), jobs)
        return [job for job, (lease, due) in asked.items() if lease.value is None and due.value is not None]

    def dead_letters(self) -> Chunks:
        """Jobs that failed ATTEMPTS times. The repair tries once more."""
        for jobs in self._store.zset_members(keys.set_aside(), AT_ONCE):
            yield [self._finding(keys.set_aside(), job) for job in jobs]

    def _finding(self, key: str, job: str) -> Finding:
        return Finding(_label(job), partial(self._carry_out, key, job))

    def _carry_out(self, key: str, job: str) -> None:
        """Finish a job now, as a later worker would, but without turns: no other job waits here. A member that is not a
        valid job is removed. One that the store refuses stays, and stops no other."""
        handler, claim = handler_for(job), Claim(LeasedStore(self._store, inf), job, attempt=LATER_ATTEMPT, turn=inf)
        outcome: object = None
        try:
            outcome = handler(self._store, claim) if handler is not None else None
        except MALFORMED:
            pass
        except StoreReadOnly:
            raise
        except StoreRefused as error:
            logger.error("%s: cannot be finished, left where it is: %s", _label(job), error)
            return
        if key != keys.outbox(job):
            self._store.zrem(key, job)
        if outcome is PUT_OFF:
            self._outbox.forget([job])
        else:
            self._outbox.finish([job])


def _ask_jobless(pipe: Pipe, job: str) -> Result[bool]:
    due = pipe.zscore(keys.outbox(job), job)
    return Result(lambda: due.value is None)


def _label(job: str) -> str:
    """The first two parts of a job name, at most 40 characters. The name of a logout's job has a secret behind them."""
    return ":".join(job.split(":")[:2])[:40]
