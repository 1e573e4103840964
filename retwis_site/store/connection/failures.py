"""Turns every failure of the store into a StoreError, with a sentence that names the fix."""

from typing import Any

import redis
from django.conf import settings
from redis.exceptions import AskError, ClusterDownError, MovedError, NoPermissionError
from redis.sentinel import MasterNotFoundError

from retwis_site.exceptions import StoreError, StoreReadOnly, StoreRefused
from retwis_site.store.connection.topology import NoSuchService, SentinelRefused
from retwis_site.store.connection.transport import Queued

# The beginnings of the errors of a server that accepts no writes.
_REFUSES_WRITES = ("READONLY", "OOM", "MISCONF", "NOREPLICAS")

# The fix for an error. The first matching type counts.
_FIXES: list[tuple[type[Exception] | tuple[type[Exception], ...], str]] = [
    (
        SentinelRefused,
        "Set REDIS_SENTINEL_PASSWORD, and REDIS_SENTINEL_USERNAME if needed, to a user of the sentinels.",
    ),
    (NoSuchService, "Set REDIS_SENTINEL_SERVICE to the name that the sentinels' configuration gives the primary."),
    (MasterNotFoundError, "Wait until the sentinels have elected another primary, or start it."),
    (redis.AuthenticationError, "Give REDIS_URL a user and password that all servers know; REDIS_NODES too."),
    (NoPermissionError, "Give the site's user all rights that docs/redis.md lists, on every server."),
    ((MovedError, AskError), "That server belongs to a cluster: set REDIS_TOPOLOGY=cluster."),
    (ClusterDownError, "Start the servers that are missing: `redis-cli --cluster check` names them."),
]
# Clusters and sentinels tell the addresses of other servers: the certificates of these must contain those addresses.
_NAMED_BY = {
    "cluster": "Give its certificate the address that the cluster tells, or the cluster `cluster-announce-hostname`.",
    "sentinel": "Give its certificate the address that the sentinels tell, or the sentinels `resolve-hostnames yes`.",
}


def raise_refusals(commands: list[tuple[Any, ...]], replies: list[Any]) -> None:
    """Raises StoreRefused or StoreReadOnly for the first reply that is an error."""
    for command, reply in zip(commands, replies, strict=True):
        if isinstance(reply, redis.ResponseError):
            raise refusal(str(command[0]), reply) from reply


def checked(queued: list[Queued], replies: list[Any]) -> list[Any]:
    """The replies to these commands. Raises StoreRefused or StoreReadOnly when one of them is an error."""
    for reply in replies:
        if isinstance(reply, redis.ResponseError):
            raise_refusals([command for command, _ in queued], replies)
    return replies


def refusal(what: str, error: redis.ResponseError) -> StoreRefused:
    """The error for a server that refused `what`: a command, or the connection."""
    if str(error).startswith(_REFUSES_WRITES) or isinstance(error, redis.ReadOnlyError | redis.OutOfMemoryError):
        return StoreReadOnly(
            f"the store takes no writes: {str(error).rstrip('.')}. "
            "Give it enough memory and a working disk, or set REDIS_URL to the primary."
        )
    # For an unknown command the server repeats the arguments, which may be secrets.
    text = f"the store refused {what}: {str(error).partition(', with args')[0].rstrip('.')}"
    fix = next((fix for kind, fix in _FIXES if isinstance(error, kind)), "")
    if "cluster support disabled" in text:
        fix = "REDIS_TOPOLOGY=cluster needs servers with `cluster-enabled yes`."
    return StoreRefused(f"{text}. {fix}".rstrip())


def no_answer(error: redis.RedisError) -> StoreError:
    """The error for a store that does not answer."""
    return StoreError(f"{_name()} does not answer: {str(error).rstrip('.')}. {_fix(error)}")


def hangs() -> StoreError:
    """The error for a store that had a timeout a moment ago and gets no command yet."""
    return StoreError(f"{_name()} did not answer a moment ago. {_fix(None)}")


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
