"""Asks sentinels for the primary: one after the other, each once, first the sentinel that knew it last time.

redis-py's own method asks a silent sentinel ten times more, and repeats the replies in its errors.
"""

from typing import Any

import redis
from redis.exceptions import NoPermissionError
from redis.sentinel import MasterNotFoundError, Sentinel


class SentinelRefused(redis.AuthenticationError):
    """A sentinel does not accept REDIS_SENTINEL_USERNAME and REDIS_SENTINEL_PASSWORD."""


class NoSuchService(MasterNotFoundError):
    """A sentinel knows no primary with the name in REDIS_SENTINEL_SERVICE."""


class Sentinels(Sentinel):
    """The sentinels in REDIS_URL. Threads share it."""

    _last_to_know: Any = None

    def discover_master(self, service_name: str) -> tuple[str, int]:
        """Host and port of the primary. Raises redis.RedisError when no sentinel answers or knows a running primary."""
        failures: list[redis.RedisError] = []
        sentinels: list[Any] = self.sentinels
        for sentinel in sorted(sentinels, key=lambda sentinel: sentinel is not self._last_to_know):
            try:
                state = sentinel.sentinel_masters().get(service_name)
            except redis.RedisError as error:
                failures.append(_failure(sentinel, error))
                continue
            if state is None:
                failures.append(NoSuchService(f"{_address(sentinel)} knows no primary named {service_name!r}"))
            elif not self.check_master_state(state, service_name):  # type: ignore[no-untyped-call]
                failures.append(MasterNotFoundError(f"{_address(sentinel)} says that the primary is down"))
            else:
                self._last_to_know = sentinel
                return state["ip"], state["port"]
        raise _most_informative(failures)


def _failure(sentinel: Any, error: redis.RedisError) -> redis.RedisError:
    if isinstance(error, redis.AuthenticationError | NoPermissionError):
        return SentinelRefused(f"sentinel {_address(sentinel)}: {error}")
    if isinstance(error, redis.ResponseError):
        return redis.ConnectionError(f"{_address(sentinel)} is no sentinel: {error}")
    return type(error)(f"sentinel {_address(sentinel)}: {error}")


def _most_informative(failures: list[redis.RedisError]) -> redis.RedisError:
    """A reply about the primary says more than a refusal, and a refusal says more than no answer."""
    for kind in (MasterNotFoundError, SentinelRefused):
        for error in failures:
            if isinstance(error, kind):
                return error
    return failures[0]


def _address(sentinel: Any) -> str:
    options = sentinel.connection_pool.connection_kwargs
    return f"{options['host']}:{options['port']}"
