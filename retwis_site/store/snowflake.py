"""Snowflake ids: each process makes them from the time, without a counter in Redis.

The layout is that of Twitter's Snowflake, cut to 53 bits: so the score of a sorted set, a double, holds an id exactly:

    41 bits   milliseconds since 2026, until 2095
     5 bits   NODE_ID
     7 bits   sequence number within the millisecond

The ids of a process increase while its clock steps back by a few seconds. After a larger step they follow the clock:
otherwise a clock that was an hour ahead would be wrong for an hour more. Two processes with the same NODE_ID can make
the same id, and so can a process whose clock steps back. So an id is claimed with HSETNX before it is used.
"""

import secrets
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from threading import Lock
from typing import TypeVar

from django.conf import settings

from retwis_site.exceptions import WrongClock
from retwis_site.store.ids import LARGEST_ID

T = TypeVar("T")

EPOCH = 1_767_225_600  # 2026-01-01, unix seconds
NODE_BITS = 5
SEQUENCE_BITS = 7
SMALLEST = 2**40  # an id of 4 January 2026; no counter gets that far
STEP = 5  # seconds: a clock may step back, or be ahead of others, by so many and nobody notices
TRIES = 100  # ids that a process tries to claim; two processes seldom make the same one

# The sequence starts at a random number below this, so processes with the same NODE_ID seldom make the same ids.
_RANDOM_STARTS = 2 ** (SEQUENCE_BITS - 1)
_FROM_TO = "from 2026-01-04 to 2095-09-07"


class Snowflakes:
    """Makes the ids of one process. Threads may share it. `clock` returns unix seconds."""

    def __init__(self, node: int, clock: Callable[[], float] = time.time) -> None:
        self._node = node
        self._clock = clock
        self._last = 0  # milliseconds and sequence; `make` puts the node between them
        self._latest = 0.0  # unix seconds: the latest time that the clock has told since it stepped back
        self._lock = Lock()

    def make(self) -> int:
        """The next id, larger than all ids of this process so far, unless its clock has stepped back by more than STEP.
        No round trip. Raises WrongClock for a time of which no id can be made."""
        seconds = self._clock()
        now = int((seconds - EPOCH) * 1000) << SEQUENCE_BITS
        with self._lock:
            if seconds < self._latest - STEP:
                self._latest, self._last = seconds, 0
            self._latest = max(self._latest, seconds)
            self._last = max(now + secrets.randbelow(_RANDOM_STARTS), self._last + 1)
            milliseconds, sequence = divmod(self._last, 1 << SEQUENCE_BITS)
        number = (milliseconds << NODE_BITS | self._node) << SEQUENCE_BITS | sequence
        if not SMALLEST <= number <= LARGEST_ID:
            raise WrongClock(f"this machine's clock says {_said(seconds)}; ids are made {_FROM_TO}. Set the clock.")
        return number


def _said(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    except (OverflowError, ValueError):
        return f"{seconds:.0f} s since 1970"


def made_at(number: int) -> int | None:
    """The time of a snowflake id in unix seconds; None for an id from a counter."""
    return None if number < SMALLEST else EPOCH + (number >> NODE_BITS + SEQUENCE_BITS) // 1000


def first_of(seconds: float) -> int:
    """The lowest id of this time (unix seconds); none is below SMALLEST or above LARGEST_ID."""
    milliseconds = min(max(int((seconds - EPOCH) * 1000), 0), LARGEST_ID)
    return min(max(milliseconds << NODE_BITS + SEQUENCE_BITS, SMALLEST), LARGEST_ID)


def _highest() -> int:
    """The highest id that is not ahead."""
    milliseconds = int((time.time() + STEP - EPOCH) * 1000)
    return max((milliseconds + 1 << NODE_BITS + SEQUENCE_BITS) - 1, SMALLEST - 1)


def is_ahead(number: int) -> bool:
    """Whether an id is of a time more than STEP seconds from now: the clock of the process that made it was ahead."""
    return number > _highest()


def newest(numbers: Iterable[int]) -> int:
    """The first of these ids that is not ahead, 0 without one. New posts get higher ids than this one. They get lower
    ones than an id that is ahead, until its time."""
    return next(filter(_highest().__ge__, numbers), 0)


_process = Snowflakes(settings.NODE_ID)


def make() -> int:
    """A new id. The caller must claim it with HSETNX. Raises WrongClock."""
    return _process.make()


def claimed(claim: Callable[[int], T | None]) -> T:
    """What `claim` makes of a new id; it returns None when somebody has that. Round trips as for `claim`, mostly called
    once. Raises WrongClock, also after TRIES ids that others have."""
    for _ in range(TRIES):
        if (made := claim(make())) is not None:
            return made
    raise WrongClock(
        f"{TRIES} ids of this moment are taken. Set the clock of this machine, and give each machine its own NODE_ID."
    )
