"""The connection to Redis: the one place where commands leave the process.

`connect()` gives the process's `Store`. It has the commands of `commands.py` (`store.hget(...)`), each one round trip,
and `store.pipeline()` gives a `Pipe` that has the same commands, queues them, and sends them in one round trip with
`execute()`. Nothing else talks to Redis, so here is where every trip is noted for `watch.py` and where every failure
becomes a `StoreError`.

No command is ever sent twice: redis-py's own retries are off, since a lost reply to INCR or LPUSH would count or push
again. A connection that a restarted server closed is noticed, and replaced, when the pool lends it.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import redis
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django_redis import get_redis_connection
from django_redis import pool as django_redis_pool
from django_redis.cache import RedisCache
from redis.backoff import NoBackoff
from redis.retry import Retry

from retwis_site import embedded, watch
from retwis_site.commands import Commands, Scored
from retwis_site.exceptions import StoreError, StoreReadOnly, StoreRefused

T = TypeVar("T")

# How a server says that it takes no writes (now).
_REFUSES_WRITES = ("READONLY", "OOM", "MISCONF", "NOREPLICAS")


class Pipe(Commands):
    """Commands that wait to be sent together. No transaction: other clients' commands may come between."""

    def __init__(self, client: "redis.Redis") -> None:
        self._client = client
        self._queued: list[tuple[watch.Command, dict[str, Any]]] = []

    def send(self, *command: str | int | bytes, **options: Any) -> Any:
        self._queued.append((command, options))

    def execute(self) -> list[Any]:
        """The replies, in the order of the calls. One round trip; none when nothing was queued.

        Raises StoreError when the store did not answer, or refused one of the commands.
        """
        queued, self._queued = self._queued, []
        if not queued:
            return []
        with _one_trip([command for command, _ in queued]):
            pipeline: Any = self._client.pipeline(transaction=False)
            for command, options in queued:
                pipeline.execute_command(*command, **options)
            # Not raise_on_error: that would put the commands, and so secrets, into the error's message.
            replies: list[Any] = pipeline.execute(raise_on_error=False)
            for reply in replies:
                if isinstance(reply, Exception):
                    raise reply
        return replies


class Store(Commands):
    """The site's store. Each command is one round trip; it raises StoreError when there is no proper answer."""

    def __init__(self, client: "redis.Redis") -> None:
        self._client = client

    def send(self, *command: str | int | bytes, **options: Any) -> Any:
        with _one_trip([command]):
            return self._client.execute_command(*command, **options)  # type: ignore[no-untyped-call]

    def pipeline(self) -> Pipe:
        return Pipe(self._client)

    # ---- for management commands and checks only: what goes through many keys, or asks the server about itself

    def scan_keys(self, pattern: str, count: int) -> Iterator[list[str]]:
        """Every key that matches, perhaps twice, in chunks of about `count`, one round trip each."""
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
        """How many keys there are, whosever they are."""
        return int(self.send("DBSIZE"))

    def info(self) -> dict[str, Any]:
        """What the server says about itself."""
        found: dict[str, Any] = self.send("INFO")
        return found


def _chunks(scan: Callable[[int], tuple[int, T]]) -> Iterator[T]:
    """What the SCAN family finds, from cursor to cursor. An empty chunk is not the last one: a cursor of 0 is."""
    cursor, found = scan(0)
    yield found
    while cursor:
        cursor, found = scan(cursor)
        yield found


_hung_until = 0.0  # monotonic; until then the store is not asked


@contextmanager
def _one_trip(commands: list[watch.Command]) -> Iterator[None]:
    global _hung_until
    if time.monotonic() < _hung_until:
        raise StoreError(f"{_name()} did not answer a moment ago. {_fix()}")
    watch.note(commands)
    try:
        yield
    except redis.ResponseError as error:
        if str(error).startswith(_REFUSES_WRITES) or isinstance(error, redis.ReadOnlyError | redis.OutOfMemoryError):
            raise StoreReadOnly(
                f"the store takes no writes: {str(error).rstrip('.')}. "
                "Give it memory and a disk that works, or set REDIS_URL to the primary."
            ) from error
        # A server that does not know a command repeats its arguments, and so secrets.
        said = str(error).partition(", with args")[0]
        raise StoreRefused(f"the store refused {commands[0][0]}: {said}") from error
    except redis.RedisError as error:
        if isinstance(error, redis.TimeoutError):  # else every request would wait its own second, one after the other
            _hung_until = time.monotonic() + settings.REDIS_TIMEOUT
        raise StoreError(f"{_name()} does not answer: {str(error).rstrip('.')}. {_fix(error)}") from error


def _name() -> str:
    return "the store at REDIS_URL" if settings.REDIS_URL else "the embedded store"


def _fix(error: redis.RedisError | None = None) -> str:
    if not settings.REDIS_URL:
        return "Start it with `make run`, or set REDIS_URL to a server that runs."
    if "certificate verify failed" in str(error):
        return "Use the host name of its certificate in REDIS_URL, and name its authority: ?ssl_ca_certs=/path/ca.pem."
    if isinstance(error, redis.AuthenticationError):
        return "Give REDIS_URL a user and password that the server knows."
    return "Start that server, or set REDIS_URL to one that runs."


@cache
def connect() -> Store:
    """The process's store, shared by its threads. No round trip: a server that is down is noticed by the first one."""
    return Store(get_redis_connection("store"))


class ConnectionFactory(django_redis_pool.ConnectionFactory):  # type: ignore[misc]
    """Where django-redis gets its client from: `REDIS_URL`, or the embedded server's socket."""

    def connect(self, url: str) -> "redis.Redis":
        if settings.REDIS_TOPOLOGY != "server":
            raise ImproperlyConfigured(
                f"REDIS_TOPOLOGY={settings.REDIS_TOPOLOGY!r} is not supported yet: leave it out, or set it to 'server'."
            )
        params: dict[str, Any] = {
            "decode_responses": True,
            "encoding_errors": "replace",  # a database from elsewhere may hold bytes that are no UTF-8
            "socket_timeout": settings.REDIS_TIMEOUT,
            "socket_connect_timeout": settings.REDIS_TIMEOUT,
            "retry": Retry(NoBackoff(), 0),
            "protocol": 2,
            "driver_info": None,  # no CLIENT SETINFO: a proxy would hang up on it
            **self.pool_cls_kwargs,
        }
        try:
            pool = self.pool_cls.from_url(settings.REDIS_URL or embedded.url(), **params)
        except ValueError:  # its text may hold the password
            fix = "Write redis://host:6379, rediss://user:password@host:6379 or unix:///path/to/redis.sock."
            raise ImproperlyConfigured(f"REDIS_URL is not the address of a Redis server. {fix}") from None
        return redis.Redis(connection_pool=pool)


class StoreConnections(RedisCache):  # type: ignore[misc]
    """What `CACHES["store"]` names: a source of connections for `get_redis_connection`, never a cache."""

    def clear(self) -> bool:
        raise NotImplementedError("CACHES['store'] holds the site itself: clear() would be FLUSHDB")
