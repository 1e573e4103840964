"""Caches in the memory of a process: bounded in size and age. Losing an entry does no harm."""

import time
from collections.abc import Iterable
from typing import ClassVar, Generic, TypeVar
from weakref import WeakSet

from django.conf import settings

K = TypeVar("K")
V = TypeVar("V")


class Memory(Generic[K, V]):
    """A cache of at most `size` entries, each valid for `seconds`; a full cache drops the oldest entry.

    Threads may share it: every step is a single dict operation, and a lost entry is only loaded again.
    """

    every: ClassVar[WeakSet["Memory"]] = WeakSet()  # type: ignore[type-arg]  # all caches of the process

    def __init__(self, size: int, seconds: float) -> None:
        self.size = size
        self.seconds = seconds
        self._entries: dict[K, tuple[float, V]] = {}
        Memory.every.add(self)

    def get(self, key: K) -> V | None:
        entry = self._entries.get(key)
        if entry is None or entry[0] < time.monotonic():
            return None
        return entry[1]

    def some(self, keys: Iterable[K]) -> dict[K, V]:
        """The valid entries of these keys; the others are missing from the result."""
        now, entries = time.monotonic(), self._entries
        return {key: entry[1] for key in keys if (entry := entries.get(key)) is not None and entry[0] >= now}

    def everything(self) -> dict[K, V]:
        """All valid entries. Expired entries are dropped, so the call is cheap for a cache with few entries."""
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
        while len(self._entries) >= self.size:
            try:
                self._entries.pop(next(iter(self._entries)), None)
            except (StopIteration, RuntimeError):  # another thread has changed it
                break
        self._entries[key] = (time.monotonic() + self.seconds, value)

    def forget(self, key: K) -> None:
        self._entries.pop(key, None)

    def clear(self) -> None:
        self._entries.clear()

    @classmethod
    def clear_all(cls) -> None:
        """Empty all caches of the process: when its store is replaced, when much is deleted, and in tests."""
        for memory in cls.every:
            memory.clear()


class PageMemory(Memory[K, V]):
    """A cache that only makes pages cheaper. With PAGE_MEMORY=0 it stays empty."""

    def put(self, key: K, value: V) -> None:
        if settings.PAGE_MEMORY:
            super().put(key, value)
