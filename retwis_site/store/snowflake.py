"""Ids without a counter: made in the process itself, from the time.

The layout is that of Twitter's Snowflake, cut to 53 bits, so that a sorted set's score (a double) holds each exactly:

    41 bits   milliseconds since 2026, until 2095
     5 bits   NODE_ID
     7 bits   the how many-th of that millisecond

A process never makes one twice, nor one below an earlier one, also when its clock steps back. Two processes with one
NODE_ID can make the same: so an id is claimed in the store before it is used, with HSETNX, which decides.
"""

import secrets
import time
from collections.abc import Callable
from threading import Lock

from django.conf import settings

EPOCH = 1_767_225_600  # 2026-01-01, unix seconds
NODE_BITS = 5
SEQUENCE_BITS = 7
SMALLEST = 2**40  # of 4 January 2026; no counter gets as far

# A millisecond begins somewhere in its first half, so that processes with one NODE_ID seldom make the same ids.
_BEGINNINGS = 2 ** (SEQUENCE_BITS - 1)


class Snowflakes:
    """One process's ids. Threads may share it. `clock`: unix seconds."""

    def __init__(self, node: int, clock: Callable[[], float] = time.time) -> None:
        self._node = node
        self._clock = clock
        self._last = 0  # milliseconds and sequence; the node's bits are put between them
        self._lock = Lock()

    def make(self) -> int:
        """The next id: above all that this process has made. No round trip."""
        now = int((self._clock() - EPOCH) * 1000) << SEQUENCE_BITS
        with self._lock:
            self._last = max(now + secrets.randbelow(_BEGINNINGS), self._last + 1, SMALLEST >> NODE_BITS)
            milliseconds, sequence = divmod(self._last, 1 << SEQUENCE_BITS)
        return (milliseconds << NODE_BITS | self._node) << SEQUENCE_BITS | sequence


def made_at(number: int) -> int | None:
    """When an id was made, in unix seconds; None for one that was counted."""
    return None if number < SMALLEST else EPOCH + (number >> NODE_BITS + SEQUENCE_BITS) // 1000


_process = Snowflakes(settings.NODE_ID)


def make() -> int:
    """An id of this process's; to be claimed."""
    return _process.make()
