"""The bodies of requests that a worker waits for. Each client address has a share of the memory that they take.

How many are awaited is bounded by the number of connections (connections.py).
"""

import asyncio
from collections.abc import AsyncIterable
from contextlib import suppress
from dataclasses import dataclass, field

from granian.rsgi import ProtocolClosed

TIMEOUT = 10.0  # seconds that a client has to send a body
SHARE = 8 * 1024 * 1024  # bytes of one address
MOST = 64 * 1024 * 1024  # bytes of all addresses
MOST_UNREAD = 8 * 1024 * 1024  # bytes beyond the limit: a browser shows no answer before it has sent its form


@dataclass(frozen=True)
class Body:
    """What has arrived of a body. It is late when the site has not waited for the rest, and cut off when the client has
    closed the connection."""

    content: bytes
    late: bool = False
    cut_off: bool = False


@dataclass(eq=False)
class _Arriving:
    task: asyncio.Task[int] | None = None
    parts: list[bytes] = field(default_factory=list)
    size: int = 0  # bytes of the parts


@dataclass(eq=False)
class _OfAddress:
    bodies: dict[_Arriving, None] = field(default_factory=dict)  # in the order in which they began
    size: int = 0  # bytes of all


class AwaitedBodies:
    """The bodies that are awaited now, by client address. Used by the event loop's thread alone."""

    def __init__(self) -> None:
        self._by_address: dict[str, _OfAddress] = {}
        self._size = 0  # bytes of all

    async def read(self, address: str, source: AsyncIterable[bytes], length: int, limit: int) -> Body:
        """A request's body of `length` bytes. Beyond `limit` bytes it is read and dropped. It is late after TIMEOUT, or
        when it is the oldest one of an address whose bodies take more than its share, or of the address whose bodies
        take most while all take more than MOST."""
        body = _Arriving()
        self._by_address.setdefault(address, _OfAddress()).bodies[body] = None
        body.task = asyncio.ensure_future(self._collect(address, body, source, limit))
        try:
            await asyncio.wait({body.task}, timeout=TIMEOUT)
        finally:
            self._remove(address, body)
        late = body.task.cancel() or body.task.cancelled()
        return Body(b"".join(body.parts), late, cut_off=not late and body.task.result() < min(length, limit))

    async def _collect(self, address: str, body: _Arriving, source: AsyncIterable[bytes], limit: int) -> int:
        """The number of bytes that have arrived once no more do, or enough have."""
        arrived = 0
        with suppress(ProtocolClosed):
            async for part in source:
                kept = bytes(part[: max(0, limit - arrived)])
                body.parts.append(kept)
                self._grow(address, body, len(kept))
                arrived += len(part)
                if arrived > limit + MOST_UNREAD:
                    break
        return arrived

    def _grow(self, address: str, body: _Arriving, by: int) -> None:
        mine = self._by_address.get(address)
        if mine is None or body not in mine.bodies:  # stopped, but not told yet
            return
        body.size += by
        mine.size += by
        self._size += by
        if mine.size > SHARE:
            self._stop_oldest(address)
        elif self._size > MOST:
            self._stop_oldest(max(self._by_address, key=lambda one: self._by_address[one].size))

    def _stop_oldest(self, address: str) -> None:
        oldest = next(iter(self._by_address[address].bodies))
        self._remove(address, oldest)
        if oldest.task is not None:
            oldest.task.cancel()

    def _remove(self, address: str, body: _Arriving) -> None:
        mine = self._by_address.get(address)
        if mine is None or body not in mine.bodies:
            return
        del mine.bodies[body]
        mine.size -= body.size
        self._size -= body.size
        if not mine.bodies:
            del self._by_address[address]
