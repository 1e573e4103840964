"""Caches in the memory of a process: bounded in size and age. Losing an entry does no harm.

Thousands of viewers read different pages, so a cache fills up whatever its size is, and each process has its own. The
bytes of all entries are therefore written beside each cache.
"""

import math
import time
from array import array
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import ClassVar, Generic, TypeVar
from weakref import WeakSet

from retwis_site.store.ids import LARGEST_ID

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def clock() -> float:
    """The present in monotonic seconds, for values that say themselves when they end."""
    return time.monotonic()


class Memory(Generic[K, V]):
    """A cache of at most `size` entries, each valid for `seconds`; a full one drops the key that it has known longest.

    An entry takes some 200 bytes besides its key and its value. Threads may share a cache: every step is a single
    operation of a dict or a deque, and a lost entry is only loaded again.
    """

    every: ClassVar[WeakSet["Memory | Hints"]] = WeakSet()  # type: ignore[type-arg]  # all caches of the process
    changes: ClassVar[int] = 0  # another number after each change for which this process has forgotten something

    def __init__(self, size: int, seconds: float) -> None:
        self.size = size
        self.seconds = seconds
        self._entries: dict[K, tuple[float, V]] = {}  # with monotonic seconds, until which each is valid
        self._order: deque[K] = deque()  # its keys, the one that came first first
        Memory.every.add(self)

    def get(self, key: K) -> V | None:
        entry = self._entries.get(key)
        if entry is None or entry[0] < time.monotonic():
            return None
        return entry[1]

    def some(self, keys: Iterable[K]) -> dict[K, V]:
        """The valid entries of these keys; the others are missing from the result."""
        now, known = time.monotonic(), self._entries.get
        found = {}
        for key in keys:
            entry = known(key)
            if entry and entry[0] >= now:
                found[key] = entry[1]
        return found

    def get_or_make(self, key: K, make: Callable[[], V]) -> V:
        """The entry; where there is none, it is made and kept."""
        value = self.get(key)
        if value is None:
            value = make()
            self.put(key, value)
        return value

    def put(self, key: K, value: V) -> None:
        self._put(key, (time.monotonic() + self.seconds, value))

    def put_all(self, values: Mapping[K, V]) -> dict[K, V]:
        """Keep these values. Returns them; a value that has not changed is the object that was kept before, so that
        what is made of it need not be compared or made again."""
        return self._keep(values, self.ends())

    def ends(self) -> float:
        """When an entry that is put now ends, in monotonic seconds."""
        return time.monotonic() + self.seconds

    def put_until(self, key: K, value: V, until: float) -> V:
        """Like `put_all`, for a value that is made of others: until the first of these ends, as `until` says."""
        return self._keep({key: value}, until)[key]

    def _keep(self, values: Mapping[K, V], until: float) -> dict[K, V]:
        kept = {}
        for key, value in values.items():
            before = self._entries.get(key)
            kept[key] = before[1] if before is not None and before[1] == value else value
            self._put(key, (until, kept[key]))
        return kept

    def _put(self, key: K, entry: tuple[float, V]) -> None:
        if key not in self._entries:
            while len(self._order) >= self.size:
                self._entries.pop(self._order.popleft(), None)
            self._order.append(key)
        self._entries[key] = entry

    def until(self, keys: Iterable[K]) -> float:
        """When the first of these entries ends, in monotonic seconds; 0 when one is missing."""
        entries = [self._entries.get(key) for key in keys]
        return min([0.0 if entry is None else entry[0] for entry in entries], default=math.inf)

    def forget(self, key: K) -> None:
        self._entries.pop(key, None)  # it stays in the order: when it comes again, it is dropped a little earlier
        Memory.changes += 1

    def clear(self) -> None:
        self._entries, self._order = {}, deque()
        Memory.changes += 1

    @classmethod
    def clear_all(cls) -> None:
        """Empty all caches of the process: when much is deleted, and in tests."""
        for memory in cls.every:
            memory.clear()

    @classmethod
    def clear_what_ends(cls) -> None:
        """Empty all caches whose entries end: the store may be another one. The others have what pages show while no
        store answers, such as the site's name; the next answer replaces it."""
        for memory in cls.every:
            if memory.seconds < math.inf:
                memory.clear()


class Hints(Generic[K]):
    """Numbers above 0 by key, such as the uid that a secret leads to, in a fixed piece of memory: 16 bytes an entry. A
    dict takes 300: a process grew by 25 MB with 20,000 viewers.

    Two keys may share a place, and the newer entry stays. Threads that write at the same time may leave a wrong number.
    So a hint is only a guess. It saves a round trip, and what depends on it is checked against the store.
    """

    seconds = 0.0  # an entry may be wrong at any time

    def __init__(self, places: int) -> None:
        """`places`: a power of two, a few times as many as the keys that are in use at once. It has one place less: ids
        that are made from the time end with the same bits, and an even number of places would have use for few."""
        self._places = places - 1
        self._hashes = array("q", [0]) * self._places
        self._numbers = array("q", [0]) * self._places
        self._is_empty = True
        Memory.every.add(self)

    def get(self, key: K) -> int | None:
        hashed = hash(key)
        place = hashed % self._places
        return (self._numbers[place] or None) if self._hashes[place] == hashed else None

    def put(self, key: K, number: int) -> None:
        """A number that is no id, as a foreign database may have it, is not kept."""
        if not 0 < number <= LARGEST_ID:
            return
        hashed = hash(key)
        place = hashed % self._places
        self._hashes[place], self._numbers[place] = hashed, number
        self._is_empty = False

    def forget(self, key: K) -> None:
        self._numbers[hash(key) % self._places] = 0

    def clear(self) -> None:
        """Without its number, a hash says nothing."""
        if not self._is_empty:
            self._numbers = array("q", [0]) * self._places
            self._is_empty = True
