"""Runs several pieces of work at once, one round trip at a time, in an order that a seed decides.

Each piece has a thread. Before every round trip it waits for its turn, so that a run is one interleaving of the real
code's round trips, always the same for the same seed; and a piece may be killed instead of getting its turn.
"""

import contextlib
import itertools
import random
import threading
from collections.abc import Callable, Iterator

from retwis_site.store import client as store_module
from retwis_site.store.recorder import Command

STAYS = 0.4  # chance that the same piece goes on
_AS_IT_IS = store_module._one_trip
DIES = 0.06  # chance that a piece is killed at its turn, while there are kills left


class Killed(BaseException):
    """Nothing catches it, as nothing catches SIGKILL."""


class Schedule:
    """One interleaving."""

    def __init__(self, seed: int, kills: int) -> None:
        self._random = random.Random(seed)
        self._kills = kills
        self._changed = threading.Condition()
        self._living: set[str] = set()
        self._waiting: set[str] = set()
        self._turn: str | None = None
        self._condemned: set[str] = set()
        self._names = threading.local()
        self.errors: list[BaseException] = []

    def run(self, work: dict[str, Callable[[], object]]) -> None:
        """Do all of it, interleaved. What a piece raised is in `errors`, unless it was killed."""
        threads = [threading.Thread(target=self._body, args=piece) for piece in work.items()]
        self._living = set(work)
        with self._in_turns():
            for thread in threads:
                thread.start()
            while self._give_turn():
                pass
            for thread in threads:
                thread.join()

    def _body(self, name: str, work: Callable[[], object]) -> None:
        self._names.mine = name
        try:
            work()
        except Killed:
            pass
        except BaseException as error:
            self.errors.append(error)
        finally:
            with self._changed:
                self._living.discard(name)
                self._changed.notify_all()

    def _give_turn(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._turn is None and self._waiting >= self._living, timeout=20)
            if not self._living:
                return False
            last = self._last if getattr(self, "_last", None) in self._waiting else None
            name = last if last and self._random.random() < STAYS else self._random.choice(sorted(self._waiting))
            if self._kills and self._random.random() < DIES:
                self._kills -= 1
                self._condemned.add(name)
            self._last = name
            self._waiting.discard(name)
            self._turn = name
            self._changed.notify_all()
            return True

    def _await_turn(self, name: str) -> None:
        with self._changed:
            self._waiting.add(name)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._turn == name, timeout=20)
            self._turn = None
            self._changed.notify_all()
            if name in self._condemned:
                raise Killed

    @contextlib.contextmanager
    def _in_turns(self) -> Iterator[None]:
        real = store_module._one_trip

        @contextlib.contextmanager
        def one_trip(commands: list[Command]) -> Iterator[None]:
            name = getattr(self._names, "mine", None)
            if name is not None:
                self._await_turn(name)
            with real(commands):
                yield

        with _trips_are(one_trip):
            yield


@contextlib.contextmanager
def before_trip(number: int, happens: Callable[[], object]) -> Iterator[None]:
    """All of something happens right before the round trip `number`, the first one being 0."""
    real = store_module._one_trip
    trips = itertools.count()

    @contextlib.contextmanager
    def one_trip(commands: list[Command]) -> Iterator[None]:
        if next(trips) == number:
            patched, store_module._one_trip = store_module._one_trip, _AS_IT_IS  # type: ignore[misc]
            try:
                happens()
            finally:
                store_module._one_trip = patched
        with real(commands):
            yield

    with _trips_are(one_trip):
        yield


@contextlib.contextmanager
def _trips_are(one_trip: Callable[..., object]) -> Iterator[None]:
    """Each round trip is made in this way, until the block ends."""
    real = store_module._one_trip
    store_module._one_trip = one_trip  # type: ignore[assignment,misc]
    try:
        yield
    finally:
        store_module._one_trip = real
