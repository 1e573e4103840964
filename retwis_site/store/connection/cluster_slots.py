"""Which server of a cluster has which slot, as the servers themselves tell.

They are asked at the first use, and again when one of them does not answer or says that a slot has moved. redis-py's
own map is not used: it asks for more than it needs, forgets the servers that REDIS_URL names, and hides what was
refused.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

import redis
from redis.crc import key_slot

from retwis_site.store.connection.transport import BorrowedConnection, Queued

SLOTS = 16384
LOOKS_EVERY = 0.5  # seconds from one question for who has which slot to the next
GIVES_UP = 1.0  # seconds after which no more servers are asked, when none of them answers
HANGS_FOR = 0.5  # seconds in which a server that did not answer in time is not asked again
WHO_HAS_WHAT: Queued = (("CLUSTER", "SLOTS"), {})

Address = tuple[str, int]  # host and port


class Slots:
    """The map, and a connection pool for each server. Threads share it.

    `named`: the servers in REDIS_URL. `client` makes one for a server, and asks it nothing.
    """

    def __init__(self, named: Sequence[Address], client: Callable[[str, int], "redis.Redis"]) -> None:
        self._named = named
        self._client = client
        self._clients: dict[Address, redis.Redis] = {}
        self._holders: dict[int, Address] = {}
        self._failed: dict[Address, float] = {}  # when (monotonic) a server last failed
        self._hangs: dict[Address, float] = {}  # until when (monotonic) a server is not asked
        self._looking = Lock()
        self._looked = -LOOKS_EVERY
        self._failure: redis.RedisError | None = None  # of the last look

    def holder(self, key: str) -> Address:
        """The server that has the key's slot. Raises redis.RedisError when that is not known."""
        if not self._holders:
            self._look_first()
        slot = key_slot(key.encode(errors="replace"))
        if slot not in self._holders:
            self.look_again()
        found = self._holders.get(slot)
        if found is None:
            raise redis.ConnectionError("no server of the cluster has that slot")
        return found

    def primaries(self) -> list["redis.Redis"]:
        """Every server that has slots."""
        if not self._holders:
            self._look_first()
        return [self.client(address) for address in dict.fromkeys(self._holders.values())]

    def move(self, slot: int, address: Address) -> None:
        self._holders[slot] = address

    def client(self, address: Address) -> "redis.Redis":
        """A server, be it on the map or not: one that has its first slots moved to it is on nobody's map yet."""
        return self._clients.get(address) or self._clients.setdefault(address, self._client(*address))

    @contextmanager
    def asking(self, address: Address) -> Iterator[None]:
        """What goes wrong with a server in this block is remembered, and the others are asked who stands in for it."""
        try:
            yield
        except (redis.ConnectionError, redis.TimeoutError) as error:
            self.doubt(address)
            if isinstance(error, redis.TimeoutError):
                self._hangs[address] = time.monotonic() + HANGS_FOR
            self.look_again()
            if isinstance(error, redis.TimeoutError):  # the store need not stop for one server: the others answer
                raise redis.ConnectionError(str(_named(address, error))) from error
            raise _named(address, error) from error

    def line(self, address: Address) -> BorrowedConnection:
        """A connection to a server. Raises redis.RedisError, for one that hangs at once."""
        if time.monotonic() < self._hangs.get(address, 0.0):
            raise redis.ConnectionError(f"{address[0]}:{address[1]} did not answer a moment ago")
        return BorrowedConnection(self.client(address))

    def doubt(self, address: Address) -> None:
        """From now on the server is the last to be asked for the map."""
        self._failed[address] = time.monotonic()

    def look_again(self) -> None:
        """Ask who has which slot now, unless somebody does or just did."""
        if not self._looking.acquire(blocking=False):
            return
        try:
            if time.monotonic() >= self._looked + LOOKS_EVERY:
                with suppress(redis.RedisError):  # the failure that led here is the one that is told
                    self._look()
        finally:
            self._looking.release()

    def _look_first(self) -> None:
        """Whoever comes while somebody asks waits for what is said."""
        with self._looking:
            if self._holders:
                return
            if self._failure and time.monotonic() < self._looked + LOOKS_EVERY:
                raise type(self._failure)(*self._failure.args)
            self._look()

    def _look(self) -> None:
        try:
            self._holders = self._told()
            self._failure = None
        except redis.RedisError as error:
            self._failure = error
            raise
        finally:
            self._looked = time.monotonic()
        here = {*self._holders.values(), *self._named}
        for address in {*self._clients} - here:
            del self._clients[address]  # its connections are closed with it

    def _told(self) -> dict[int, Address]:
        """The first map that has all slots, else the largest."""
        found: dict[int, Address] = {}
        failures: list[redis.RedisError] = []
        begun = time.monotonic()
        known = dict.fromkeys([*self._holders.values(), *self._named])
        for address in sorted(known, key=lambda one: self._failed.get(one, 0.0)):
            try:
                found = max(found, self._told_by(address), key=len)
            except redis.RedisError as error:
                self.doubt(address)
                failures.append(_named(address, error))
            if len(found) == SLOTS or time.monotonic() > begun + GIVES_UP:
                break
        if not found:
            raise _most_telling(failures)
        return found

    def _told_by(self, address: Address) -> dict[int, Address]:
        return {
            slot: address_of(primary, address)
            for first, last, primary, *_ in self._rows(address)
            for slot in range(first, last + 1)
        }

    def _rows(self, address: Address) -> list[Any]:
        [reply] = self.line(address).exchange([WHO_HAS_WHAT])
        if isinstance(reply, redis.ResponseError):
            raise reply
        return list(reply)


def address_of(told: Sequence[Any], asked: Address) -> Address:
    """Where a server is, as another one tells: host, port, and in a map also id and what else is known of it. Without a
    host it is where the one that was asked is; `?` stands for a host name that it lacks."""
    host, port, *more = told
    if host == "?" and len(more) > 1:
        pairs = more[1]
        host = dict(zip(pairs[::2], pairs[1::2], strict=True)).get("ip")
    return host or asked[0], int(port)


def _named(address: Address, error: redis.RedisError) -> redis.RedisError:
    """The same error, with the server that it came from."""
    name = f"{address[0]}:{address[1]}"
    return type(error)(str(error) if name in str(error) else f"{name}: {error}")


def _most_telling(failures: Sequence[redis.RedisError]) -> redis.RedisError:
    """What was refused says more than that somebody did not answer."""
    if not failures:
        return redis.ConnectionError("the servers of the cluster have no slots")
    refused = [error for error in failures if isinstance(error, redis.ResponseError | redis.AuthenticationError)]
    return [*refused, *failures][0]
