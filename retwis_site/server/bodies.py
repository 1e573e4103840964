"""The bodies of requests that a worker waits for: how long, and how much of its memory they take."""

import asyncio
from collections.abc import AsyncIterable
from contextlib import suppress
from dataclasses import dataclass, field

from granian.rsgi import ProtocolClosed

TIMEOUT = 10.0  # seconds that a client has to send a body
MORE_FOR_PICTURES = 110.0  # seconds more: a phone may send 24 MB
MOST = 64 * 1024 * 1024  # bytes of all
MOST_UNREAD = 8 * 1024 * 1024  # bytes beyond the limit: a browser shows no answer before it has sent its form
MOST_UNREAD_PICTURES = 128 * 1024 * 1024  # the same, of a form with pictures that are too large together


@dataclass(frozen=True)
class Body:
    """What has arrived of a body. It is late when the site has not waited for the rest."""

    content: bytes
    late: bool = False


@dataclass(eq=False)
class _Arriving:
    deadline: asyncio.Timeout
    parts: list[bytes] = field(default_factory=list)
    size: int = 0  # bytes of the parts


class AwaitedBodies:
    """The bodies that are awaited now. Used by the event loop's thread alone."""

    def __init__(self) -> None:
        self._arriving: set[_Arriving] = set()
        self._size = 0  # bytes of all

    async def read(
        self, source: AsyncIterable[bytes], limit: int, more: float = 0.0, unread: int = MOST_UNREAD
    ) -> Body:
        """A request's body: its first `limit` bytes; `unread` more are read and dropped. It is late after TIMEOUT and
        `more` seconds, or when it is the largest one while all take more than MOST: an ordinary form is small."""
        body = _Arriving(asyncio.timeout(TIMEOUT + more))
        try:
            async with body.deadline:
                self._arriving.add(body)
                await self._collect(body, source, limit, unread)
        except TimeoutError:
            if not body.deadline.expired():
                raise
        finally:
            self._remove(body)
        return Body(b"".join(body.parts), late=body.deadline.expired())

    async def _collect(self, body: _Arriving, source: AsyncIterable[bytes], limit: int, unread: int) -> None:
        """Return once no more arrives, or enough has."""
        arrived = 0
        with suppress(ProtocolClosed):  # the site notices what is missing
            async for part in source:
                body.parts.append(bytes(part[: max(0, limit - arrived)]))
                self._grow(body, len(body.parts[-1]))
                arrived += len(part)
                if arrived > limit + unread:
                    break

    def _grow(self, body: _Arriving, by: int) -> None:
        if body not in self._arriving:  # given up, but not told yet
            return
        body.size += by
        self._size += by
        if self._size > MOST:
            self._give_up(max(self._arriving, key=lambda one: one.size))

    def _give_up(self, body: _Arriving) -> None:
        self._remove(body)
        if not body.deadline.expired():
            body.deadline.reschedule(asyncio.get_running_loop().time())

    def _remove(self, body: _Arriving) -> None:
        if body in self._arriving:
            self._arriving.remove(body)
            self._size -= body.size
