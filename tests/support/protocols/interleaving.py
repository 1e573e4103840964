"""Runs several tasks at once, one round trip at a time, in an order that a seed decides.

Each task has a thread and waits for its turn before every round trip. So a run is one interleaving of the round trips
of the real code, and the same seed gives the same interleaving. A task may be killed at its turn.
"""

import random
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from unittest import mock

from retwis_site.store import cached_list
from tests.support.stores.seam import Killed, before_each_round_trip

STAYS = 0.4  # chance that the same task gets the next turn
DIES = 0.06  # chance that a task is killed at its turn, while kills are left


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
        self._changed = threading.Condition()
        self._living: set[str] = set()
        self._waiting: set[str] = set()
        self._turn: str | None = None
        self._condemned: set[str] = set()
        self._names = threading.local()
        self.errors: list[BaseException] = []

    def run(self, tasks: dict[str, Callable[[], object]]) -> None:
        """Run all tasks to their end. Their exceptions are in `errors`, except those of killed tasks."""
        threads = [threading.Thread(target=self._body, args=task) for task in tasks.items()]
        self._living = set(tasks)
        with self._in_turns(), mock.patch.object(cached_list, "_under_way", _NobodyWaits()):
            for thread in threads:
                thread.start()
            while self._give_turn():
                pass
            for thread in threads:
                thread.join()

    def _body(self, name: str, task: Callable[[], object]) -> None:
        self._names.mine = name
        try:
            task()
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

    def _in_turns(self) -> AbstractContextManager[None]:
        def await_turn() -> None:
            name = getattr(self._names, "mine", None)
            if name is not None:
                self._await_turn(name)

        return before_each_round_trip(await_turn)
