"""Snowflake ids: each process makes them from the time, without a counter in Redis.

The layout is that of Twitter's Snowflake, cut to 53 bits: so the score of a sorted set, a double, holds an id exactly:

    41 bits   milliseconds since 2026, until 2095
     5 bits   NODE_ID
     7 bits   sequence number within the millisecond

The ids of a process always increase, also when its clock steps back. Two processes with the same NODE_ID can make the
same id: so an id is claimed with HSETNX in the store before it is used.
"""

import secrets
import time
from collections.abc import Callable
from threading import Lock

from django.conf import settings

EPOCH = 1_767_225_600  # 2026-01-01, unix seconds
NODE_BITS = 5
SEQUENCE_BITS = 7
SMALLEST = 2**40  # an id of 4 January 2026; no counter gets that far

# The sequence starts at a random number below this, so processes with the same NODE_ID seldom make the same ids.
_RANDOM_STARTS = 2 ** (SEQUENCE_BITS - 1)


class Snowflakes:
    """Makes the ids of one process. Threads may share it. `clock` returns unix seconds."""

    def __init__(self, node: int, clock: Callable[[], float] = time.time) -> None:
        self._node = node
        self._clock = clock
        self._last = 0  # milliseconds and sequence; `make` puts the node between them
        self._lock = Lock()

    def make(self) -> int:
        """The next id, larger than all ids of this process so far. No round trip."""
        now = int((self._clock() - EPOCH) * 1000) << SEQUENCE_BITS
        with self._lock:
            self._last = max(now + secrets.randbelow(_RANDOM_STARTS), self._last + 1, SMALLEST >> NODE_BITS)
            milliseconds, sequence = divmod(self._last, 1 << SEQUENCE_BITS)
        return (milliseconds << NODE_BITS | self._node) << SEQUENCE_BITS | sequence


def made_at(number: int) -> int | None:
    """The time of a snowflake id in unix seconds; None for an id from a counter."""
    return None if number < SMALLEST else EPOCH + (number >> NODE_BITS + SEQUENCE_BITS) // 1000


_process = Snowflakes(settings.NODE_ID)


def make() -> int:
    """A new id. The caller must claim it with HSETNX."""
    return _process.make()
