"""The connection to Redis: the one place where commands leave the process.

`connect()` gives the process's `Store`. It has the commands of `commands.py` (`store.hget(...)`), each one round trip,
and `store.pipeline()` gives a `Pipe` that has the same commands, queues them, and sends them in one round trip with
`execute()`. Nothing else talks to Redis, so here is where every trip is noted for `recorder.py` and where every failure
becomes a `StoreError`.

No command is ever sent twice: redis-py's own retries are off, since a lost reply to INCR or LPUSH would count or push
again. A connection that a restarted server closed is noticed, and replaced, when the pool lends it.
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
from redis.exceptions import AskError, ClusterDownError, MovedError, NoPermissionError
from redis.sentinel import MasterNotFoundError

from retwis_site.exceptions import StoreError, StoreReadOnly, StoreRefused
from retwis_site.store import recorder
from retwis_site.store.commands import Commands, Scored
from retwis_site.store.connection import topology
from retwis_site.store.connection.sentinel import NoSuchService, SentinelRefused
from retwis_site.store.connection.transport import Conversation, OneServer, Queued, Wire

T = TypeVar("T")

# How a server says that it takes no writes (now).
_REFUSES_WRITES = ("READONLY", "OOM", "MISCONF", "NOREPLICAS")

# What helps against an error; the first that fits.
_FIXES: list[tuple[type[Exception] | tuple[type[Exception], ...], str]] = [
    (SentinelRefused, "Give REDIS_SENTINEL_PASSWORD, and REDIS_SENTINEL_USERNAME if need be, what the sentinels know."),
    (NoSuchService, "Set REDIS_SENTINEL_SERVICE to the name that the sentinels' configuration gives the primary."),
    (MasterNotFoundError, "Wait until the sentinels have elected another, or start it."),
    (redis.AuthenticationError, "Give REDIS_URL a user and password that all servers know; REDIS_NODES likewise."),
    (NoPermissionError, "Give the site's user all rights that docs/redis.md lists, on every server."),
    ((MovedError, AskError), "That server belongs to a cluster: set REDIS_TOPOLOGY=cluster."),
    (ClusterDownError, "Start the servers that are missing: `redis-cli --cluster check` names them."),
]
# Of the servers that REDIS_URL does not name, others say where they are; certificates must be for that.
_NAMED_BY = {
    "cluster": "Give its certificate the address that the cluster tells, or the cluster `cluster-announce-hostname`.",
    "sentinel": "Give its certificate the address that the sentinels tell, or the sentinels `resolve-hostnames yes`.",
}


_AS_USUAL: dict[str, Any] = {}  # how a reply is read


class Pipe(Commands):
    """Commands that wait to be sent together. No transaction: other clients' commands may come between."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._queued: list[Queued] = []

    def send(self, *command: str | float | bytes, **options: Any) -> Any:
        self._queued.append((command, options))

    def lpushx_each(self, keys: Iterable[str], value: str) -> None:
        """LPUSHX to each of very many lists: the same as one after the other, in a third of the time."""
        self._queued += [(("LPUSHX", key, value), _AS_USUAL) for key in keys]

    def execute(self) -> list[Any]:
        """The replies, in the order of the calls. One round trip; none when nothing was queued.

        Raises StoreError when the store did not answer, or refused one of the commands.
        """
        queued = self.take()
        return _exchange(self._wire, queued) if queued else []

    def take(self) -> list[Queued]:
        """What was queued, for whoever sends it otherwise."""
        queued, self._queued = self._queued, []
        return queued


class Store(Commands):
    """The site's store. Each command is one round trip; it raises StoreError when there is no proper answer."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def send(self, *command: str | float | bytes, **options: Any) -> Any:
        [reply] = _exchange(self._wire, [(command, options)])
        return reply

    def pipeline(self) -> Pipe:
        return Pipe(self._wire)

    def stream(self, pipes: Iterable[Pipe]) -> Iterator[list[Any]]:
        """The replies to each pipe, one round trip each, but the next one is made and sent while the server works on
        the one before. For much that is alike: nothing may depend on the replies to what went just before."""
        with _failures():
            conversation = self._wire.conversation()
        try:
            yield from self._converse(conversation, pipes)
        finally:
            conversation.hang_up()

    def _converse(self, conversation: Conversation, pipes: Iterable[Pipe]) -> Iterator[list[Any]]:
        ahead: list[Queued] = []
        for pipe in pipes:
            queued = pipe.take()
            with _one_trip([command for command, _ in queued]):
                conversation.write(queued)
            if ahead:
                yield self._read(conversation, ahead)
            ahead = queued
        if ahead:
            yield self._read(conversation, ahead)

    def _read(self, conversation: Conversation, queued: list[Queued]) -> list[Any]:
        with _failures():
            replies = conversation.read()
        return _checked(queued, replies)

    # ---- for management commands and checks only: what goes through many keys, or asks the server about itself

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
        """How many keys there are, whosever they are. One round trip a server."""
        return sum(int(server.send("DBSIZE")) for server in self.servers())

    def info(self) -> list[dict[str, Any]]:
        """What each server says about itself. One round trip each."""
        return [server.send("INFO") for server in self.servers()]

    def servers(self) -> list["Store"]:
        """Every server that holds keys, as a store of its own."""
        with _failures():  # a cluster must be asked for them
            return [Store(OneServer(server)) for server in self._wire.servers()]


def _exchange(wire: Wire, queued: list[Queued]) -> list[Any]:
    with _one_trip([command for command, _ in queued]):
        replies = wire.exchange(queued)
    return _checked(queued, replies)


def _checked(queued: list[Queued], replies: list[Any]) -> list[Any]:
    for place in [place for place, reply in enumerate(replies) if isinstance(reply, redis.ResponseError)]:
        command, _ = queued[place]
        raise _refusal(str(command[0]), replies[place]) from replies[place]
    return replies


def _chunks(scan: Callable[[int], tuple[int, T]]) -> Iterator[T]:
    """What the SCAN family finds, from cursor to cursor. An empty chunk is not the last one: a cursor of 0 is."""
    cursor, found = scan(0)
    yield found
    while cursor:
        cursor, found = scan(cursor)
        yield found


_hung_until = 0.0  # monotonic; until then the store is not asked


class _failures:  # noqa: N801  read as a word: with _failures()
    """Every failure as a StoreError. A class, since a page makes several, and a generator costs four times as much."""

    def __enter__(self) -> None:
        if time.monotonic() < _hung_until:
            raise StoreError(f"{_name()} did not answer a moment ago. {_fix(None)}")

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        global _hung_until
        if isinstance(error, redis.ResponseError):  # while connecting
            raise _refusal("the connection", error) from error
        if isinstance(error, redis.RedisError):
            if isinstance(error, redis.TimeoutError):  # else every request would wait its own second, in turn
                _hung_until = time.monotonic() + settings.REDIS_TIMEOUT
            raise StoreError(f"{_name()} does not answer: {str(error).rstrip('.')}. {_fix(error)}") from error


class _one_trip(_failures):  # noqa: N801
    """The same for what is sent together, which the watch sees."""

    def __init__(self, commands: list[recorder.Command]) -> None:
        self._commands = commands

    def __enter__(self) -> None:
        super().__enter__()
        recorder.note(self._commands)


def _refusal(what: str, error: redis.ResponseError) -> StoreRefused:
    if str(error).startswith(_REFUSES_WRITES) or isinstance(error, redis.ReadOnlyError | redis.OutOfMemoryError):
        return StoreReadOnly(
            f"the store takes no writes: {str(error).rstrip('.')}. "
            "Give it memory and a disk that works, or set REDIS_URL to the primary."
        )
    # A server that does not know a command repeats its arguments, and so secrets.
    said = f"the store refused {what}: {str(error).partition(', with args')[0].rstrip('.')}"
    fix = next((fix for kind, fix in _FIXES if isinstance(error, kind)), "")
    if "cluster support disabled" in said:
        fix = "REDIS_TOPOLOGY=cluster needs servers with `cluster-enabled yes`."
    return StoreRefused(f"{said}. {fix}".rstrip())


def _name() -> str:
    return "the store at REDIS_URL" if settings.REDIS_URL else "the embedded store"


def _fix(error: redis.RedisError | None) -> str:
    if not settings.REDIS_URL:
        return "Start it with `make run`, or set REDIS_URL to a server that runs."
    if "certificate verify failed" in str(error):
        named = _NAMED_BY.get(settings.REDIS_TOPOLOGY, "Use the host name of its certificate in REDIS_URL.")
        return f"{named} Name its authority in REDIS_URL: ?ssl_ca_certs=/path/ca.pem."
    for kind, fix in _FIXES:
        if isinstance(error, kind):
            return fix
    return "Start that server, or set REDIS_URL to one that runs."


@cache
def connect() -> Store:
    """The process's store, shared by its threads. No round trip: a server that is down is noticed by the first one."""
    return Store(get_redis_connection("store"))


# For whoever copies: bytes that are no UTF-8 stay what they are, and there is no page for which nobody may wait.
_EXACTLY = {"encoding_errors": "surrogateescape", "socket_timeout": 10.0}


def connect_exactly(urls: Sequence[str] = ()) -> Store:
    """The site's store, or the one that those servers have between them, with every byte as it is. For management
    commands alone: what comes out of it is not for a page. One round trip to each of the servers that are named."""
    options = settings.CACHES["store"]["OPTIONS"].get("CONNECTION_POOL_KWARGS", {}) | _EXACTLY
    if not urls:
        return Store(topology.wire(options))
    store = Store(topology.servers(urls, options))
    with suppress(StoreRefused):  # it tells nothing about itself
        if any(said.get("cluster_enabled") for said in store.info()):
            return Store(topology.cluster(urls, options))
    return store


class ConnectionFactory(django_redis_pool.ConnectionFactory):  # type: ignore[misc]
    """Where django-redis gets its client from: what REDIS_TOPOLOGY says, and not the address alone."""

    def connect(self, url: str) -> Wire:
        return topology.wire(self.pool_cls_kwargs)


class StoreConnections(RedisCache):  # type: ignore[misc]
    """What `CACHES["store"]` names: a source of connections for `get_redis_connection`, never a cache."""

    def clear(self) -> bool:
        raise NotImplementedError("CACHES['store'] holds the site itself: clear() would be FLUSHDB")
