"""What a process may remember for a while: bounded in number and in age, and forgotten without harm."""

import time
from collections.abc import Iterable
from typing import ClassVar, Generic, TypeVar
from weakref import WeakSet

from django.conf import settings

K = TypeVar("K")
V = TypeVar("V")


class Memory(Generic[K, V]):
    """A map of at most `size` entries, each believed for `seconds`; the oldest entry goes first.

    Threads may share one: every step is a single dict operation, and an entry that is lost is only asked for again.
    """

    every: ClassVar[WeakSet["Memory"]] = WeakSet()  # type: ignore[type-arg]

    def __init__(self, size: int, seconds: float) -> None:
        self._size = size
        self._seconds = seconds
        self._entries: dict[K, tuple[float, V]] = {}
        Memory.every.add(self)

    def get(self, key: K) -> V | None:
        entry = self._entries.get(key)
        if entry is None or entry[0] < time.monotonic():
            return None
        return entry[1]

    def some(self, keys: Iterable[K]) -> dict[K, V]:
        """Those of the keys that are remembered."""
        now, entries = time.monotonic(), self._entries
        return {key: entry[1] for key in keys if (entry := entries.get(key)) is not None and entry[0] >= now}

    def everything(self) -> dict[K, V]:
        """All that is remembered. What is too old goes, so that this is cheap where little is put."""
        if not self._entries:
            return {}
        now = time.monotonic()
        entries = dict(self._entries)
        for key, (until, _) in entries.items():
            if until < now:
                self.forget(key)
        return {key: value for key, (until, value) in entries.items() if until >= now}

    def put(self, key: K, value: V) -> None:
        self._entries.pop(key, None)
        while len(self._entries) >= self._size:
            try:
                self._entries.pop(next(iter(self._entries)), None)
            except (StopIteration, RuntimeError):  # another thread changed it meanwhile
                break
        self._entries[key] = (time.monotonic() + self._seconds, value)

    def forget(self, key: K) -> None:
        self._entries.pop(key, None)

    def clear(self) -> None:
        self._entries.clear()

    @classmethod
    def clear_all(cls) -> None:
        """For tests, for whoever replaces the store under a running process, and where much goes at once."""
        for memory in cls.every:
            memory.clear()


class PageMemory(Memory[K, V]):
    """What makes pages cheaper and nothing else: with PAGE_MEMORY=0 it remembers nothing."""

    def put(self, key: K, value: V) -> None:
        if settings.PAGE_MEMORY:
            super().put(key, value)
