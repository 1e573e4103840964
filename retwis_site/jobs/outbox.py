"""The outbox: jobs that must follow a commit. A job is written before the commit, so another process can finish it.

The owner of a job adds it, does the work, and removes it. When the owner is too slow or dies, a worker claims the job.
Every step of every job can run twice. Owner and worker write through `job.store` and `claim.store`, which send nothing
after the lease: `lease.py`. So no process commits, corrects or removes what is another's by then. Before the commit
LeaseEnded is an error like any of the store: nothing was changed. After it the owner stops, and a worker does the rest.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TypeVar

from retwis_site.exceptions import LeaseEnded, NotDone, StoreError, StoreReadOnly, StoreRefused
from retwis_site.jobs.lease import LeasedStore
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Repository, Store, answers, for_each, handles
from retwis_site.store.ids import integer, nonce, parse_id, parse_number

# ---- When a worker last ran, so that people notice when none does.


logger = logging.getLogger("retwis.deliver")

BEATS_EVERY = 10.0  # seconds
SILENT_AFTER = 60  # seconds


class Heartbeat:
    """The heartbeat of one worker."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._next = 0.0  # monotonic seconds
        self._has_complained = False

    def beat(self) -> bool:
        """Note that a worker runs, at most every BEATS_EVERY seconds. Returns whether it was time. One round trip, else
        none. A store that refuses the note stops no worker: there may be jobs that it takes."""
        if time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + BEATS_EVERY
        try:
            note_worker(self._store)
        except StoreRefused as error:
            if not self._has_complained:
                self._has_complained = True
                logger.error("the store does not note that a worker runs: %s", error)
        return True


def note_worker(store: Store) -> None:
    """Note that a worker runs. One round trip."""
    store.set(keys.worker_seen(), str(int(time.time())))


def seen_at(noted: str | None) -> int | None:
    """When a worker last ran, in unix seconds, from what `worker_seen` holds. None: no worker has run yet."""
    return parse_number(noted or "")


def silence(noted: str | None) -> str:
    """A sentence when no worker has run for SILENT_AFTER seconds, from what `worker_seen` holds; else empty."""
    seen = seen_at(noted)
    if seen is None:
        return "no worker has run yet"
    seconds = int(time.time()) - seen
    return f"no worker has run for {seconds} seconds" if seconds > SILENT_AFTER else ""


# ---- The outbox


LEASE = keys.lease.lives  # seconds until a worker may take a job over
READ_AT_ONCE = 500  # jobs
RENEWS_EVERY = 20.0  # seconds after which a worker renews its lease
OWNER_GIVES_UP = 10.0  # seconds after which an owner leaves its job to a worker; well below LEASE
WORKER_GIVES_UP = 50.0  # seconds after a claim or its renewal; below LEASE by more than a round trip may last
TURN = 1.0  # seconds that a long job may take before the other due jobs
ALONE = 5  # seconds until others may begin what one process does at a time
ALONE_GIVES_UP = 3.0  # seconds after which that one stops; below ALONE by more than a round trip may last
LOOKS, LOOKS_EVERY = 60, 0.1  # how often another one looks whether it has ended, and seconds between: above ALONE


@dataclass(frozen=True)
class Job:
    """An entry in the outbox that this process carries out. `store`: for all that is written for it, from the commit
    on."""

    name: str = field(repr=False)  # the job of a logout has a secret in its name
    store: Store

    @contextmanager
    def ending(self) -> Iterator[None]:
        """For what follows the commit: then the job is removed, in one round trip. When its lease ends before, this
        block ends, and a worker does the rest."""
        with suppress(LeaseEnded):
            yield
            self.done()

    def done(self) -> None:
        """Remove it. One round trip."""
        Outbox(self.store).done(self.name)

    def hand_over(self) -> None:
        """Leave it to a worker, due at once. One round trip."""
        add_due(self.store, self.name)

    def replace(self, rest: str) -> None:
        """Add the rest of it for a worker, due at once, and remove it. Two round trips: a server without memory refuses
        to add, and removes all the same."""
        add_due(self.store, rest)
        self.done()


def job_id(name: str, place: int) -> int:
    """The id at this place of a job's name: 2 in `follow:1:2:<nonce>` at place 2. Raises ValueError and IndexError for
    a malformed name."""
    number = parse_id(name.split(":")[place])
    if number is None:
        raise ValueError(f"no id at place {place} of the job's name")
    return number


def add_due(store: Store | Pipe, name: str) -> None:
    """Leave a job to a worker, due at once. One round trip; a pipe queues it."""
    store.zadd(keys.outbox(name), {name: int(time.time())})


def owned(store: Store) -> Store:
    """The store for all that the owner of a job writes, from now on."""
    return LeasedStore(store, OWNER_GIVES_UP)


@contextmanager
def alone(store: Store, what: str) -> Iterator[Store]:
    """The store for what one process at a time does with a thing: what it reads there is so until it writes, since no
    other process is in this block. It waits while one is; if that one has died, until its lease ends. Raises LeaseEnded
    when others have come first all the time. Two round trips, and one for each look besides."""
    key = keys.lease(what)
    for _ in range(LOOKS):
        leased = LeasedStore(store, ALONE_GIVES_UP)
        if leased.set_nx_ex(key, "", ALONE):
            break
        time.sleep(LOOKS_EVERY)
    else:
        raise LeaseEnded("another process is changing this: try again")
    try:
        yield leased
    finally:
        with suppress(StoreError):  # it ends by itself
            leased.unlink(key)


class LongLease:
    """What `alone` is for a work of seconds, for one that takes longer: no other process begins it until its `end`, or
    until LEASE has passed since it was renewed last. `store`: for what may only be written meanwhile."""

    def __init__(self, store: Store, what: str, refusal: type[NotDone]) -> None:
        """`refusal`: what is raised while another process is at work."""
        self.store = LeasedStore(store, WORKER_GIVES_UP)
        self._key = keys.lease(what)
        self._mine = nonce()
        self._refusal = refusal
        self._renewed_at = time.monotonic()

    def begin(self) -> None:
        """Raises the refusal. One round trip."""
        if not self.store.set_nx_ex(self._key, self._mine, LEASE):
            raise self._refusal

    def renew(self) -> None:
        """To be called between two parts. Raises the refusal when it has ended, so that another process may have begun.
        Two round trips, each RENEWS_EVERY seconds: no other process begins between them, since this one sends none
        after its own lease."""
        if time.monotonic() - self._renewed_at > RENEWS_EVERY:
            with self.store.renewed(WORKER_GIVES_UP):
                if self.store.get(self._key) != self._mine:
                    raise self._refusal
                self.store.expire(self._key, LEASE)
            self._renewed_at = time.monotonic()

    def end(self) -> None:
        """Let others begin. Two round trips."""
        with suppress(StoreError):  # it ends by itself
            if self.store.get(self._key) == self._mine:
                self.store.unlink(self._key)


class Outbox(Repository):
    """The unfinished jobs."""

    def add(self, name: str) -> Job:
        """Add a job that this process carries out at once. One round trip."""
        leased = owned(self._store)
        leased.zadd(keys.outbox(name), {name: int(time.time()) + LEASE})
        return Job(name, leased)

    def queue_add(self, name: str) -> tuple[Job, Pipe]:
        """Like `add`; the returned pipe adds it, beside what else is queued there. No round trip."""
        leased = owned(self._store)
        pipe = leased.pipeline()
        pipe.zadd(keys.outbox(name), {name: int(time.time()) + LEASE})
        return Job(name, leased), pipe

    def add_for_later(self, name: str, seconds: int) -> Store:
        """Add a job that a worker carries out after so many seconds: what then is no longer needed, it removes. An
        earlier job of this name waits as long again. Returns the store for all that is written meanwhile. One round
        trip."""
        leased = owned(self._store)
        leased.zadd(keys.outbox(name), {name: int(time.time()) + seconds})
        return leased

    def add_all(self, names: Sequence[str]) -> Store:
        """Add jobs that this process carries out at once. Returns the store for all that is written for them. One round
        trip."""
        leased = owned(self._store)
        for_each(leased, lambda pipe, name: pipe.zadd(keys.outbox(name), {name: int(time.time()) + LEASE}), names)
        return leased

    def done(self, name: str) -> None:
        """Remove a job. One round trip."""
        self._store.zrem(keys.outbox(name), name)

    def all_done(self, names: Sequence[str]) -> None:
        """Remove many jobs. One round trip; none without any."""
        for_each(self._store, self.queue_done, names)

    def queue_done(self, pipe: Pipe, name: str) -> None:
        """Remove one of many jobs."""
        pipe.zrem(keys.outbox(name), name)

    def due(self, limit: int) -> list[str]:
        """The names of the jobs that are due, oldest first, at most `limit` of each of the OUTBOX_SHARDS. One round
        trip."""
        now = str(int(time.time()))
        found = answers(self._store, lambda pipe, key: pipe.zrangebyscore(key, "-inf", now, limit), keys.outbox.all())
        return [job for jobs in found.values() for job in jobs]

    def under_way(self) -> set[str]:
        """The prefixes of all job names: `follow:1` and `follow:1:2` for `follow:1:2:<nonce>`. One round trip for
        each READ_AT_ONCE jobs."""
        return {
            prefix
            for key in keys.outbox.all()
            for jobs in self._store.zset_members(key, READ_AT_ONCE)
            for job in jobs
            for prefix in accumulate(job.split(":"), lambda left, right: f"{left}:{right}")
        }

    def misplaced(self) -> Iterator[list[tuple[str, str, float]]]:
        """Jobs in a key that no worker reads, because OUTBOX_SHARDS has changed. Yields chunks of (key, name, score).
        MOST_SHARDS round trips and one more."""
        for key in keys.outbox.whatever_shards():
            for scored in self._store.zset_scored(key, READ_AT_ONCE):
                yield [(key, name, score) for name, score in scored if keys.outbox(name) != key]

    def move(self, key: str, name: str, score: float) -> None:
        """Move a misplaced job to the key that workers read. Two round trips."""
        self._store.zadd_nx(keys.outbox(name), {name: integer(score)})
        self._store.zrem(key, name)

    def claim(self, names: Sequence[str], worker: str, told_to_stop: Callable[[], bool]) -> "list[Claim]":
        """Take jobs for `worker` alone, for LEASE seconds. Those that another worker has, or has finished or put off
        meanwhile, are left out. Two round trips; one when other workers have all, three when a job is left out."""
        leased = {name: LeasedStore(self._store, WORKER_GIVES_UP) for name in names}
        taken = answers(self._store, lambda pipe, name: pipe.set_nx_ex(keys.lease(name), worker, LEASE), names)
        attempts = self._attempts([name for name, is_taken in taken.items() if is_taken])
        self.forget([name for name, attempt in attempts.items() if attempt is None])
        return [
            Claim(leased[name], name, attempt, told_to_stop)
            for name, attempt in attempts.items()
            if attempt is not None
        ]

    def _attempts(self, names: Sequence[str]) -> dict[str, int | None]:
        """Count attempts; returns their numbers by job, None for a job that is no longer due. A count that is no number
        begins anew: then the jobs are counted one by one.

        The look comes after the lease. Nobody would finish a job that is no longer there after this worker has died."""
        try:
            counts = handles(
                self._store,
                lambda pipe, name: (pipe.hincrby(keys.attempts(), name, 1), pipe.zscore(keys.outbox(name), name)),
                names,
            )
        except StoreReadOnly:
            raise
        except StoreRefused:
            if len(names) > 1:
                return {name: attempt for one in names for name, attempt in self._attempts([one]).items()}
            self._store.hset(keys.attempts(), {names[0]: "1"})
            return {names[0]: 1 if _is_due(self._store.zscore(keys.outbox(names[0]), names[0])) else None}
        return {name: attempt.value if _is_due(since.value) else None for name, (attempt, since) in counts.items()}

    def renew(self, name: str) -> None:
        """Keep a claimed job for another LEASE seconds, and note that its worker runs. Two round trips."""
        self._store.expire(keys.lease(name), LEASE)
        with suppress(StoreRefused):  # a server without memory, which keeps leases all the same
            note_worker(self._store)

    def release(self, name: str) -> None:
        """Put a claimed job, of which a part is done, behind all due jobs. Three round trips.

        The job has not failed, so its attempt count is reset to 1: the next attempt is the second."""
        self._store.hset(keys.attempts(), {name: "1"})
        add_due(self._store, name)
        self._store.unlink(keys.lease(name))

    def take_back(self, name: str, worker: str) -> None:
        """Free the lease of a job that `worker` had when the store failed, so it need not wait for its end.

        Only of a job at its first attempt: if the store fails again during such a job, its lease stays until it ends.
        Two round trips."""
        with self._store.pipeline() as pipe:
            holder, attempts = pipe.get(keys.lease(name)), pipe.hget(keys.attempts(), name)
        if holder.value == worker and attempts.value in {None, "1"}:
            self._store.unlink(keys.lease(name))

    def finish(self, names: Sequence[str]) -> None:
        """Remove finished jobs, with their attempt counts and leases. One round trip."""
        with self._store.pipeline() as pipe:
            for name in names:
                self.queue_done(pipe, name)
                self._queue_forget(pipe, name)

    def forget(self, names: Sequence[str]) -> None:
        """Remove the attempt counts and leases of jobs that have left the outbox. One round trip, none for no job."""
        for_each(self._store, self._queue_forget, names)

    def _queue_forget(self, pipe: Pipe, name: str) -> None:
        pipe.hdel(keys.attempts(), name)
        pipe.unlink(keys.lease(name))

    def make_dead_letter(self, name: str) -> None:
        """Move a job that no worker could finish to the dead letters. No worker tries it again. Two round trips."""
        self._store.zadd(keys.set_aside(), {name: int(time.time())})
        self.finish([name])


def _is_due(since: float | None) -> bool:
    """`since`: the score of a job; None when it has left the outbox. Another worker, whose clock may be ahead, has
    perhaps released it; what is put off waits for longer than clocks differ."""
    return since is not None and since < time.time() + LEASE


@dataclass(frozen=True)
class Claim:
    """A job that a worker has claimed. `store`: for all that is written for it. `attempt`: 1 for the first claim.
    `told_to_stop`: whether the worker must end now. `turn`: seconds that a long job may take before the other due
    jobs."""

    store: LeasedStore
    name: str = field(repr=False)
    attempt: int
    told_to_stop: Callable[[], bool] = lambda: False
    turn: float = field(default_factory=lambda: TURN)

    @property
    def outbox(self) -> Outbox:
        return Outbox(self.store)

    def carry_out(self, chunks: Iterable[object]) -> bool:
        """Iterate over `chunks`, which does the work. Returns False when the worker was told to stop before the end.

        Renews the lease: two round trips every RENEWS_EVERY seconds."""
        return self._carry_out(chunks, self.told_to_stop)

    def carry_out_for_a_turn(self, chunks: Iterable[object]) -> bool:
        """Like `carry_out`, but for at most a turn, so that other due jobs are not delayed."""
        ends = time.monotonic() + self.turn
        return self._carry_out(chunks, lambda: self.told_to_stop() or time.monotonic() > ends)

    def _carry_out(self, chunks: Iterable[object], stopping: Callable[[], bool]) -> bool:
        renewed_at = time.monotonic()
        for _ in chunks:
            if stopping():
                return False
            if time.monotonic() - renewed_at > RENEWS_EVERY:
                with suppress(StoreRefused), self.store.renewed(WORKER_GIVES_UP):  # the next write tells more
                    self.outbox.renew(self.name)
                renewed_at = time.monotonic()
        return True


PUT_OFF = object()
# Finishes a job, which is removed then. False: it is not finished, and must be claimed again. PUT_OFF: the handler has
# given it a later time in the outbox.
JobHandler = Callable[[Store, Claim], object]
BatchHandler = Callable[[Store, Sequence[str]], object]  # finishes jobs of one kind together, given their names


# ---- Look, write, look again, until both agree: how all that follows from a commit is made to match it.
#
# Several processes may change the same things at once, and each makes what the others have read out of date. So a
# process looks again after it has written, and writes again while what it finds differs from what it has written. The
# last one to write has thus seen that it is right. The second look takes its own round trip, because on several
# servers the commands of one round trip have no order. `tests/protocols/` interleaves every use with others and with
# crashes.


K = TypeVar("K")
V = TypeVar("V")


def reconcile(
    found: Mapping[K, V],
    look: Callable[[Mapping[K, V]], Mapping[K, V]],
    write: Callable[[Mapping[K, V]], Mapping[K, V]],
) -> None:
    """`found`: what the first look has found, by what it is about. `write` writes what follows from it, and returns
    what it has written that for: others may be left out, or corrected. `look` reads it anew, in a round trip of its
    own. In a job, the store of both is that of the job, which looks at its lease before each round trip."""
    while found:
        written = write(found)
        found = {key: now for key, now in look(written).items() if now != written[key]}
