"""The store client: the one place where commands leave the process.

`connect()` gives the process's `Store`. It has the commands of `commands.py` (`store.hget(...)`), one round trip each.
`store.pipeline()` gives a `Pipe` with the same commands: it queues them, and `execute()` sends them in one round trip.
Every round trip is noted for `recorder.py`, and every failure becomes a `StoreError`.

No command is ever sent twice. redis-py's own retries are off: after a lost reply, INCR or LPUSH would count or push
again. The pool replaces a connection that a restarted server has closed before it lends it.

`Store.transport` is the seam for tests: `tests/support/stores/seam.py` puts its own transport around it.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

import redis
from django.conf import settings
from django_redis import get_redis_connection
from django_redis import pool as django_redis_pool
from django_redis.cache import RedisCache

from retwis_site.exceptions import StoreRefused
from retwis_site.store import recorder
from retwis_site.store.commands import Commands, Scored
from retwis_site.store.connection import topology
from retwis_site.store.connection.transport import Conversation, OneServer, Queued, Transport
from retwis_site.store.failures import hangs, no_answer, raise_refusals, refusal

T = TypeVar("T")

_AS_USUAL: dict[str, Any] = {}  # how a reply is read


class Pipe(Commands):
    """Commands that wait to be sent together. No transaction: other clients' commands may come between."""

    def __init__(self, store: "Store") -> None:
        self._store = store
        self._queued: list[Queued] = []

    def send(self, *command: str | float | bytes, **options: Any) -> Any:
        self._queued.append((command, options))

    def lpushx_each(self, keys: Iterable[str], value: str) -> None:
        """LPUSHX to each of very many lists. The same as one call after the other, in a third of the time."""
        self._queued += [(("LPUSHX", key, value), _AS_USUAL) for key in keys]

    def execute(self) -> list[Any]:
        """The replies, in the order of the calls. One round trip; none when nothing was queued.

        Raises StoreError when the store did not answer, or refused one of the commands.
        """
        queued = self.take()
        return self._store.exchange(queued) if queued else []

    def take(self) -> list[Queued]:
        """The queued commands, for a caller that sends them otherwise."""
        queued, self._queued = self._queued, []
        return queued


class Store(Commands):
    """The site's store. Each command is one round trip. Raises StoreError when there is no proper answer."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self._hangs_until = 0.0  # monotonic; until then the store is not asked

    def send(self, *command: str | float | bytes, **options: Any) -> Any:
        [reply] = self.exchange([(command, options)])
        return reply

    def exchange(self, queued: list[Queued]) -> list[Any]:
        """The replies to commands that are sent together. One round trip."""
        with self.round_trip([command for command, _ in queued]):
            replies = self.transport.exchange(queued)
        return _checked(queued, replies)

    def pipeline(self) -> Pipe:
        return Pipe(self)

    def round_trip(self, commands: list[recorder.Command]) -> "RoundTrip":
        """A block in which these commands are sent: they are noted, and its failures become a StoreError."""
        return RoundTrip(self, commands)

    def stream(self, pipes: Iterable[Pipe]) -> Iterator[list[Any]]:
        """The replies to each pipe, one round trip each. The next pipe is made and sent while the server works on the
        one before: so no pipe may depend on the replies to the one just before it."""
        with _Failures(self):
            conversation = self.transport.conversation()
        try:
            yield from self._converse(conversation, pipes)
        finally:
            conversation.close()

    def _converse(self, conversation: Conversation, pipes: Iterable[Pipe]) -> Iterator[list[Any]]:
        ahead: list[Queued] = []
        for pipe in pipes:
            queued = pipe.take()
            with self.round_trip([command for command, _ in queued]):
                conversation.write(queued)
            if ahead:
                yield self._read(conversation, ahead)
            ahead = queued
        if ahead:
            yield self._read(conversation, ahead)

    def _read(self, conversation: Conversation, queued: list[Queued]) -> list[Any]:
        with _Failures(self):
            replies = conversation.read()
        return _checked(queued, replies)

    # ---- for management commands and checks only: what reads many keys, or asks the server about itself

    def scan_keys(self, pattern: str, count: int) -> Iterator[list[str]]:
        """Every key that matches, perhaps twice, in chunks of about `count`, one round trip each."""
        for server in self.servers():
            yield from server._scan(pattern, count)

    def _scan(self, pattern: str, count: int) -> Iterator[list[str]]:
        return _chunks(lambda cursor: self.send("SCAN", cursor, "MATCH", pattern, "COUNT", count))

    def hash_fields(self, key: str, count: int) -> Iterator[list[tuple[str, str]]]:
        """Every field of a large hash with its value, perhaps twice, in chunks likewise."""
        return (list(found.items()) for found in _chunks(lambda cursor: self.hscan(key, cursor, count)))

    def zset_scored(self, key: str, count: int) -> Iterator[Scored]:
        """Every member of a large sorted set with its score, perhaps twice, in chunks likewise."""
        return _chunks(lambda cursor: self.zscan(key, cursor, count))

    def zset_members(self, key: str, count: int) -> Iterator[list[str]]:
        """The same without the scores."""
        return ([member for member, _ in scored] for scored in self.zset_scored(key, count))

    def dbsize(self) -> int:
        """How many keys there are, of the site and of others. One round trip a server."""
        return sum(int(server.send("DBSIZE")) for server in self.servers())

    def info(self) -> list[dict[str, Any]]:
        """What each server says about itself. One round trip each."""
        return [server.send("INFO") for server in self.servers()]

    def servers(self) -> list["Store"]:
        """Every server that holds keys, as a store of its own."""
        with _Failures(self):  # a cluster must be asked for them
            return [Store(OneServer(server)) for server in self.transport.servers()]

    def refuse_while_hanging(self) -> None:
        """Raises StoreError while the store is not asked again."""
        if time.monotonic() < self._hangs_until:
            raise hangs()

    def note_timeout(self) -> None:
        """Do not ask the store for a while: else each request would wait its own timeout, one after the other."""
        self._hangs_until = time.monotonic() + settings.REDIS_TIMEOUT


class _Failures:
    """A block whose failures become a StoreError. A class: a page makes several, and a generator costs four times as
    much."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __enter__(self) -> None:
        self._store.refuse_while_hanging()

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, redis.ResponseError):  # while connecting
            raise refusal("the connection", error) from error
        if isinstance(error, redis.RedisError):
            if isinstance(error, redis.TimeoutError):
                self._store.note_timeout()
            raise no_answer(error) from error


class RoundTrip(_Failures):
    """The same for commands that are sent together, which the recorder notes."""

    def __init__(self, store: Store, commands: list[recorder.Command]) -> None:
        super().__init__(store)
        self._commands = commands

    def __enter__(self) -> None:
        super().__enter__()
        recorder.note(self._commands)


def _checked(queued: list[Queued], replies: list[Any]) -> list[Any]:
    if any(isinstance(reply, redis.ResponseError) for reply in replies):
        raise_refusals([command for command, _ in queued], replies)
    return replies


def _chunks(scan: Callable[[int], tuple[int, T]]) -> Iterator[T]:
    """What the SCAN family finds, from cursor to cursor. The cursor 0 ends it; an empty chunk does not."""
    cursor, found = scan(0)
    yield found
    while cursor:
        cursor, found = scan(cursor)
        yield found


@cache
def connect() -> Store:
    """The process's store, shared by its threads. No round trip: the first command notices a server that is down."""
    return Store(get_redis_connection("store"))


# For copies: bytes that are no UTF-8 stay what they are, and no page waits.
_EXACTLY = {"encoding_errors": "surrogateescape", "socket_timeout": 10.0}


def connect_exactly(urls: Sequence[str] = ()) -> Store:
    """The site's store, or the one that these servers share, with every byte as it is. For management commands only:
    its texts are not for a page. One round trip to each of the named servers."""
    options = settings.CACHES["store"]["OPTIONS"].get("CONNECTION_POOL_KWARGS", {}) | _EXACTLY
    if not urls:
        return Store(topology.transport(options))
    store = Store(topology.servers(urls, options))
    with suppress(StoreRefused):  # the server tells nothing about itself
        if any(said.get("cluster_enabled") for said in store.info()):
            return Store(topology.cluster(urls, options))
    return store


class ConnectionFactory(django_redis_pool.ConnectionFactory):  # type: ignore[misc]
    """Where django-redis gets its client from: the transport that REDIS_TOPOLOGY names."""

    def connect(self, url: str) -> Transport:
        return topology.transport(self.pool_cls_kwargs)


class StoreConnections(RedisCache):  # type: ignore[misc]
    """What `CACHES["store"]` names: a source of connections for `get_redis_connection`, never a cache."""

    def clear(self) -> bool:
        raise NotImplementedError("CACHES['store'] holds the site itself: clear() would be FLUSHDB")
