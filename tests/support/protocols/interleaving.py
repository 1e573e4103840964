"""Runs several tasks at once, one round trip at a time, in an order that a seed decides.

Each task has a thread and waits for its turn before every round trip, and between the parts into which `scattering.py`
takes it. So a run is one interleaving of what the real code sends, and the same seed gives the same interleaving. A
task may be killed at its turn. Time stands still for leases, until a worker takes a job over.
"""

import queue
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from unittest import mock

from retwis_site.exceptions import LeaseEnded
from retwis_site.jobs import lease, outbox
from retwis_site.jobs.outbox import PUT_OFF, WORKER_GIVES_UP, Claim
from retwis_site.jobs.worker import handler_for
from retwis_site.store import cached_list, keys
from retwis_site.store.client import Store, for_each
from tests.support.stores import scattering
from tests.support.stores.seam import Killed, before_each_round_trip, undisturbed

# Chances that the same task gets the next turn; each schedule has one of them. With a high one, all that a task does
# may come between two turns of another.
STAYS = (0.4, 0.85, 0.96)
DIES = 0.06  # chance that a task is killed at its turn, while kills are left
LOOKS = 1000  # of a task that waits until another one has ended: all are in vain if that one was killed
LONGEST = 60  # seconds of a turn: a task that waits for another one fails


class _NobodyWaits(dict[object, object]):
    """In place of the rebuilds under way in this process: each task stands for a process of its own."""

    def setdefault(self, key: object, mine: object = None) -> object:
        self[key] = mine
        return mine

    def __delitem__(self, key: object) -> None:
        self.pop(key, None)


class Schedule:
    """One interleaving, with at most `kills` killed tasks."""

    def __init__(self, seed: int, kills: int) -> None:
        self._random = random.Random(seed)
        self._kills = kills
        self._stays = self._random.choice(STAYS)
        self._arrived: queue.SimpleQueue[str] = queue.SimpleQueue()  # tasks that wait for their turn, or have ended
        self._turns: dict[str, threading.Lock] = {}  # each is released when the task may go on
        self._living: set[str] = set()
        self._waiting: set[str] = set()
        self._last: str | None = None
        self._condemned: set[str] = set()
        self._names = threading.local()
        self._sending: set[str] = set()  # tasks of which a part of a round trip is sent
        self._minutes = 0
        self.errors: list[BaseException] = []

    def run(self, tasks: dict[str, Callable[[], object]]) -> None:
        """Run all tasks to their end. Their exceptions are in `errors`, except those of killed tasks."""
        threads = [threading.Thread(target=self._body, args=task) for task in tasks.items()]
        self._living = set(tasks)
        self._turns = {name: threading.Lock() for name in tasks}
        for turn in self._turns.values():
            turn.acquire()
        clock = SimpleNamespace(monotonic=lambda: self._minutes * 60.0)
        with (
            self._in_turns(),
            mock.patch.object(cached_list, "_under_way", _NobodyWaits()),
            mock.patch.object(lease, "time", clock),
            mock.patch.object(outbox, "LOOKS", LOOKS),
        ):
            for thread in threads:
                thread.start()
                self._wait()
            while self._living:
                self._turns[self._chosen()].release()
                self._wait()
            for thread in threads:
                thread.join()

    def _wait(self) -> None:
        """Wait until the task that runs waits for its next turn, or has ended."""
        self._arrived.get(timeout=LONGEST)

    def _body(self, name: str, task: Callable[[], object]) -> None:
        self._names.mine = name
        try:
            task()
        except (Killed, LeaseEnded):
            pass
        except BaseException as error:
            self.errors.append(error)
        finally:
            self._sending.discard(name)
            self._living.discard(name)
            self._arrived.put(name)

    def _chosen(self) -> str:
        """The task that has the next turn. It may be condemned to die then."""
        last = self._last if self._last in self._waiting else None
        name = last if last and self._random.random() < self._stays else self._random.choice(sorted(self._waiting))
        if self._kills and self._random.random() < DIES:
            self._kills -= 1
            self._condemned.add(name)
        self._last = name
        self._waiting.discard(name)
        return name

    def _await_turn(self, name: str) -> None:
        self._waiting.add(name)
        self._arrived.put(name)
        self._turns[name].acquire(timeout=LONGEST)
        if name in self._condemned:
            raise Killed

    @contextmanager
    def _in_turns(self) -> Iterator[None]:
        """Each task of this schedule waits before each round trip, and within it between its parts."""

        def before() -> None:
            name = self._mine()
            if name is not None:
                self._sending.discard(name)
                self._await_turn(name)

        def between() -> None:
            name = self._mine()
            if name is not None:
                self._sending.add(name)
                self._await_turn(name)

        with before_each_round_trip(before), scattering.switching(between):
            _running.append(self)
            yield
            _running.remove(self)

    def _mine(self) -> str | None:
        return getattr(self._names, "mine", None)

    def let_a_minute_pass(self) -> None:
        """All leases end. No process is in the middle of a round trip then: that takes no minute."""
        while self._sending - {self._mine()}:
            self._await_turn(self._mine() or "")
        self._minutes += 1


_running: list[Schedule] = []


def interleave(seed: int, kills: int, works: Sequence[Callable[[], object]], *refusals: type[Exception]) -> None:
    """Run these tasks at once, in the order of the seed. Fails on the error of any. Each may be refused."""
    schedule = Schedule(seed, kills)
    schedule.run({str(number): attempt(work, *refusals) for number, work in enumerate(works)})
    assert schedule.errors == [], seed


def attempt(work: Callable[[], object], *refusals: type[Exception]) -> Callable[[], None]:
    """A task that may be refused: another task was faster."""

    def task() -> None:
        with suppress(*refusals):
            work()

    return task


def take_all_over(store: Store) -> None:
    """Take over all jobs, also those that an owner or another worker is at work on: they have become too slow."""
    for job in [job for key in keys.outbox.all() for job in store.zrangebyscore(key, "-inf", "+inf", 100)]:
        take_over(store, job)


def take_over(store: Store, job: str) -> object:
    """What a worker does that takes a job over: the lease of the process that had it has ended, a minute has passed."""
    _running[-1].let_a_minute_pass()
    with undisturbed():
        for leases in store.scan_keys("lease:*", 100):
            for_each(store, lambda pipe, key: pipe.unlink(key), leases)
    return carry_out(store, job)


def carry_out(store: Store, job: str) -> object:
    """What a worker does with a job whose process has died."""
    return finish(Claim(lease.LeasedStore(store, WORKER_GIVES_UP), job, attempt=1))


def finish(claim: Claim) -> object:
    """What a worker does that has claimed a job."""
    handler = handler_for(claim.name)
    if handler is None:
        return None
    outcome = handler(claim.store, claim)
    if outcome is not False and outcome is not PUT_OFF:
        claim.outbox.done(claim.name)
    return outcome
