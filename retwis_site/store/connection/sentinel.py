"""Sentinels, asked for the primary: one after the other, each once, the one that knew it last time first.

redis-py's own way asks each ten times more when it does not answer, and shows what it was told in errors.
"""

from typing import Any

import redis
from redis.exceptions import NoPermissionError
from redis.sentinel import MasterNotFoundError, Sentinel


class SentinelRefused(redis.AuthenticationError):
    """The sentinels do not answer to whom REDIS_SENTINEL_USERNAME and REDIS_SENTINEL_PASSWORD name."""


class NoSuchService(MasterNotFoundError):
    """The sentinels watch over no primary of the name in REDIS_SENTINEL_SERVICE."""


class Sentinels(Sentinel):
    """The sentinels of one site. Threads share it."""

    _told_last: Any = None

    def discover_master(self, service_name: str) -> tuple[str, int]:
        """The primary's host and port. Raises redis.RedisError: no sentinel answers, or none knows one that is up."""
        failures: list[redis.RedisError] = []
        sentinels: list[Any] = self.sentinels
        for sentinel in sorted(sentinels, key=lambda one: one is not self._told_last):
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
                self._told_last = sentinel
                return state["ip"], state["port"]
        raise _most_telling(failures)


def _failure(sentinel: Any, error: redis.RedisError) -> redis.RedisError:
    if isinstance(error, redis.AuthenticationError | NoPermissionError):
        return SentinelRefused(f"sentinel {_address(sentinel)}: {error}")
    if isinstance(error, redis.ResponseError):
        return redis.ConnectionError(f"{_address(sentinel)} is no sentinel: {error}")
    return type(error)(f"sentinel {_address(sentinel)}: {error}")


def _most_telling(failures: list[redis.RedisError]) -> redis.RedisError:
    """What a sentinel knows says more than that it does not let us in, and that more than that it does not answer."""
    for kind in (MasterNotFoundError, SentinelRefused):
        for error in failures:
            if isinstance(error, kind):
                return error
    return failures[0]


def _address(sentinel: Any) -> str:
    where = sentinel.connection_pool.connection_kwargs
    return f"{where['host']}:{where['port']}"
