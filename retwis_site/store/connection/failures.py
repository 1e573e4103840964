"""What an error of redis-py means: each becomes a StoreError, with a sentence that names the fix."""

import errno
import os

import redis
from django.conf import settings
from redis.exceptions import AskError, ClusterDownError, MasterDownError, MovedError, NoPermissionError
from redis.sentinel import MasterNotFoundError

from retwis_site.exceptions import StoreError, StoreReadOnly, StoreRefused
from retwis_site.store.connection.topology import NoSuchService, SentinelRefused

# The beginnings of the errors of a server that accepts no writes.
_REFUSES_WRITES = ("READONLY", "OOM", "MISCONF", "NOREPLICAS")
WRONG_TYPE = "WRONGTYPE"

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
    (redis.BusyLoadingError, "Wait until the server has loaded its data, and try again."),
    # Before the next: redis-py calls it one of these.
    (MasterDownError, "Start the primary of this replica, or set REDIS_URL to a primary."),
    (ClusterDownError, "Start the servers that are missing: `redis-cli --cluster check` names them."),
]
_OF_A_PROXY = {os.strerror(number) for number in errno.errorcode}  # what a Twemproxy replies for a server that is gone
# Clusters and sentinels tell the addresses of other servers: the certificates of these must contain those addresses.
_NAMED_BY = {
    "cluster": "Give its certificate the address that the cluster tells, or the cluster `cluster-announce-hostname`.",
    "sentinel": "Give its certificate the address that the sentinels tell, or the sentinels `resolve-hostnames yes`.",
}


def refusal(what: str, error: redis.ResponseError) -> StoreRefused:
    """The error for a server that refused `what`: a command, or the connection."""
    if str(error).startswith(_REFUSES_WRITES) or isinstance(error, redis.ReadOnlyError | redis.OutOfMemoryError):
        return StoreReadOnly(
            f"the store takes no writes: {str(error).rstrip('.')}. "
            "Give it enough memory, a working disk and the replicas that it waits for, or set REDIS_URL to the primary."
        )
    # For an unknown command the server repeats the arguments, which may be secrets.
    text = f"the store refused {what}: {str(error).partition(', with args')[0].rstrip('.')}"
    fix = _known_fix(error)
    if "cluster support disabled" in text:
        fix = "REDIS_TOPOLOGY=cluster needs servers with `cluster-enabled yes`."
    if str(error).startswith(WRONG_TYPE):
        fix = "A key has the wrong type: `manage.py doctor --fix` moves it away."
    if str(error) in _OF_A_PROXY:
        fix = "The proxy does not reach one of its servers, those in REDIS_NODES: start it."
    return StoreRefused(f"{text}. {fix}".rstrip())


def no_answer(error: redis.RedisError) -> StoreError:
    """The error for a store that does not answer."""
    return StoreError(f"{_name()} does not answer: {str(error).rstrip('.')}. {_fix(error)}")


def no_answer_again() -> StoreError:
    """The error for a store that did not answer a moment ago: nothing is sent to it."""
    return StoreError(f"{_name()} did not answer a moment ago. {_fix(None)}")


def _name() -> str:
    return "the store at REDIS_URL" if settings.REDIS_URL else "the embedded store"


def _fix(error: redis.RedisError | None) -> str:
    if not settings.REDIS_URL:
        return "Start it with `make run`, or set REDIS_URL to a server that runs."
    if "certificate verify failed" in str(error):
        named = _NAMED_BY.get(settings.REDIS_TOPOLOGY, "Use the host name of its certificate in REDIS_URL.")
        return f"{named} Name its authority in REDIS_URL: ?ssl_ca_certs=/path/ca.pem."
    return _known_fix(error) or "Start that server, or set REDIS_URL to one that runs."


def _known_fix(error: redis.RedisError | None) -> str:
    return next((fix for kind, fix in _FIXES if isinstance(error, kind)), "")
