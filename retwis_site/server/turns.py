"""Whose request is next when a worker is busy: each client address has its share of the worker's time."""

import asyncio
import math
import time
from collections import deque

BUSY = 0.75  # of the time of one thread; below, nobody waits
MEMORY = 0.25  # seconds in which use loses two thirds of its weight
PRESENT = 10.0  # seconds after its last request that an address counts
UNFAIR = 1.5  # times what the average address has used
MOST_WAITING = 100  # requests of one address
LETS_IN_EVERY = 0.005  # seconds


class _Use:
    """How many seconds were used of late: what is past counts less and less."""

    __slots__ = ("_seconds", "last")

    def __init__(self, now: float) -> None:
        self._seconds = 0.0
        self.last = now

    def at(self, now: float) -> float:
        return self._seconds * math.exp((self.last - now) / MEMORY)

    def add(self, seconds: float, now: float) -> None:
        self._seconds, self.last = self.at(now) + seconds, now


class Turns:
    """How much time each client address has used of late, and the requests that wait for their turn."""

    def __init__(self) -> None:
        now = time.monotonic()
        self._all = _Use(now)
        self._by_address: dict[str, _Use] = {}
        self._tidied = now
        self._waiting: dict[str, deque[asyncio.Future[bool]]] = {}
        self._usher: asyncio.Task[None] | None = None

    def must_wait(self, address: str) -> bool:
        """Whether the next request of an address must wait: the worker is busy, and this address has used much more
        than the average one. The only address never waits. Any thread may ask."""
        now = time.monotonic()
        used = self._all.at(now)
        own = self._by_address.get(address)
        if used < BUSY * MEMORY or own is None:
            return False
        if now > self._tidied + PRESENT / 10:
            self._tidy(now)
        return own.at(now) * len(self._by_address) > UNFAIR * used

    def add(self, address: str, seconds: float) -> None:
        """Count the time that a request has used. Any thread may do so."""
        now = time.monotonic()
        self._all.add(seconds, now)
        use = self._by_address.get(address)
        if use is None:
            use = self._by_address[address] = _Use(now)
        use.add(seconds, now)

    async def turn(self, address: str) -> bool:
        """Wait until it is the turn of this address. False when too many newer requests of the address wait too. For
        the event loop's thread."""
        waiting = self._waiting.setdefault(address, deque())
        if len(waiting) >= MOST_WAITING:
            waiting.popleft().set_result(False)
        mine: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        waiting.append(mine)
        if self._usher is None:
            self._usher = asyncio.create_task(self._let_in())
        return await mine

    async def _let_in(self) -> None:
        while self._waiting:
            for address in [address for address in self._waiting if not self.must_wait(address)]:
                self._waiting[address].popleft().set_result(True)
                if not self._waiting[address]:
                    del self._waiting[address]
            await asyncio.sleep(LETS_IN_EVERY)
        self._usher = None

    def _tidy(self, now: float) -> None:
        self._tidied = now
        present = now - PRESENT
        self._by_address = {name: use for name, use in list(self._by_address.items()) if use.last > present}
