"""Whose request is next when a worker is busy: each client address has its share of the worker's time."""

import asyncio
import math
import time
from collections import deque

BUSY = 0.75  # of the time of one thread; below, nobody waits
MEMORY = 0.25  # seconds in which use loses two thirds of its weight
PRESENT = 10.0  # seconds after its last request that an address counts
UNFAIR = 1.5  # times what the average address has used
LITTLE = 0.1  # of MEMORY: who has used less never waits
MOST_WAITING = 100  # requests of one address
REFUSED_AFTER = 1.0  # seconds; a client that is refused at once asks again at once
LOOKS_EVERY = 0.005  # seconds


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
        than the average one; or older requests of it wait. The only address never waits. Any thread may ask."""
        return address in self._waiting or self._has_used_much(address)

    def _has_used_much(self, address: str) -> bool:
        now = time.monotonic()
        used = self._all.at(now)
        own = self._by_address.get(address)
        if used < BUSY * MEMORY or own is None:
            return False
        mine = own.at(now)
        return mine > LITTLE * MEMORY and mine * len(self._by_address) > UNFAIR * used

    def add(self, address: str, seconds: float) -> None:
        """Count the time that a request has used. Any thread may do so."""
        now = time.monotonic()
        self._all.add(seconds, now)
        use = self._by_address.get(address)
        if use is None:
            use = self._by_address[address] = _Use(now)
        use.add(seconds, now)
        if now > self._tidied + PRESENT / 10:
            self._tidy(now)

    async def turn(self, address: str) -> bool:
        """Wait until it is the turn of this address. False when too many newer requests of the address wait too; the
        answer comes REFUSED_AFTER later then. For the event loop's thread."""
        waiting = self._waiting.setdefault(address, deque())
        if len(waiting) >= MOST_WAITING:
            _tell(waiting.popleft(), False)
        mine: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        waiting.append(mine)
        if self._usher is None:
            self._usher = asyncio.create_task(self._let_in())
        if await mine:
            return True
        await asyncio.sleep(REFUSED_AFTER)
        return False

    async def _let_in(self) -> None:
        try:
            while self._waiting:
                next_ones = [address for address in self._waiting if not self._has_used_much(address)]
                for address in next_ones:
                    _tell(self._waiting[address].popleft(), True)
                    if not self._waiting[address]:
                        del self._waiting[address]
                await asyncio.sleep(0 if next_ones else LOOKS_EVERY)  # what was let in uses its time first
        finally:
            self._usher = None

    def _tidy(self, now: float) -> None:
        self._tidied = now
        present = now - PRESENT
        self._by_address = {name: use for name, use in list(self._by_address.items()) if use.last > present}


def _tell(waiting: "asyncio.Future[bool]", may_begin: bool) -> None:
    if not waiting.done():  # its client may have gone
        waiting.set_result(may_begin)
