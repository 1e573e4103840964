"""What was sent to Redis, as people may read it: round trips with their commands, without secrets."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from retwis_site.store.connection.recorder import Asked, Command, Recording
from retwis_site.telemetry.redaction import shown_command

# ---- The time complexity of each command that the site sends, as Redis documents it.
#
# N: how many keys, fields or members the command names, or how many the key holds; M: how many it returns, removes or
# looks through.


_LOG = "O(log(N))"
_LOG_AND_RETURNED = "O(log(N)+M)"

COMPLEXITY = {
    # strings and keys
    "GET": "O(1)",
    "SET": "O(1)",
    "APPEND": "O(1)",
    "SETBIT": "O(1)",
    "INCR": "O(1)",
    "INCRBY": "O(1)",
    "EXPIRE": "O(1)",
    "PEXPIRE": "O(1)",
    "PERSIST": "O(1)",
    "TTL": "O(1)",
    "PTTL": "O(1)",
    "TYPE": "O(1)",
    "UNLINK": "O(1)",  # for each key; the memory is freed by another thread
    "DUMP": "O(1)+O(N*M)",
    "RESTORE": "O(1)+O(N*M)",
    # hashes
    "HGET": "O(1)",
    "HMGET": "O(N)",
    "HGETALL": "O(N)",
    "HSET": "O(N)",
    "HSETNX": "O(1)",
    "HDEL": "O(N)",
    "HINCRBY": "O(1)",
    "HEXISTS": "O(1)",
    "HLEN": "O(1)",
    "HSCAN": "O(1)",
    # sorted sets
    "ZADD": _LOG,
    "ZREM": "O(M*log(N))",
    "ZREMRANGEBYSCORE": _LOG_AND_RETURNED,
    "ZREMRANGEBYRANK": _LOG_AND_RETURNED,
    "ZCARD": "O(1)",
    "ZCOUNT": _LOG,
    "ZSCORE": "O(1)",
    "ZMSCORE": "O(N)",
    "ZREVRANK": _LOG,
    "ZRANGE": _LOG_AND_RETURNED,
    "ZREVRANGE": _LOG_AND_RETURNED,
    "ZRANGEBYSCORE": _LOG_AND_RETURNED,
    "ZREVRANGEBYSCORE": _LOG_AND_RETURNED,
    "ZRANGEBYLEX": _LOG_AND_RETURNED,
    "ZSCAN": "O(1)",
    # lists
    "LPUSH": "O(N)",
    "LPUSHX": "O(N)",
    "RPUSH": "O(N)",
    "RPUSHX": "O(N)",
    "LRANGE": "O(S+N)",  # S: how far the start is from the nearer end
    "LPOS": "O(N)",
    "LTRIM": "O(N)",
    "LREM": "O(N+M)",
    "LINSERT": "O(N)",
    # what other Retwises use, which are only read
    "SISMEMBER": "O(1)",
    "SSCAN": "O(1)",
    # of management commands, of checks, and of the key browser
    "PING": "O(1)",
    "SCAN": "O(1)",
    "DBSIZE": "O(1)",
    "INFO": "O(1)",
    "CONFIG": "O(N)",
    "SYNC": "O(N)",
    "LLEN": "O(1)",
    "STRLEN": "O(1)",
    "OBJECT": "O(1)",
    "MEMORY": "O(N)",
}


# ---- Round trips as steps


class SentCommand(NamedTuple):
    """A command as it may be shown."""

    name: str  # such as `GET` or `MEMORY USAGE`
    key: str  # empty for a command without a key; a key with a secret in it has HIDDEN there
    arguments: tuple[str, ...]  # those after the key; what is secret is HIDDEN
    asker: str  # the method that asked for it, such as `Homes.page`

    @property
    def complexity(self) -> str:
        """As Redis documents it, such as `O(log(N))`."""
        return COMPLEXITY.get(self.name.partition(" ")[0], "")

    def __str__(self) -> str:
        return " ".join(filter(None, (self.name, self.key, *self.arguments)))


@dataclass(frozen=True, slots=True)
class Step:
    """One round trip: commands that were sent together. The bytes are those of the commands and of the replies, on the
    wire."""

    commands: tuple[SentCommand, ...]
    seconds: float
    sent: int
    received: int


def recorded_steps(recorded: Recording) -> Iterator[Step]:
    """The round trips of a recording, in order. Those of `watching()` have askers and bytes."""
    for one in recorded.round_trips:
        yield Step(tuple(map(sent_command, one.commands)), one.seconds, one.sent, one.received)


def sent_command(command: Command) -> SentCommand:
    """A command of this process as it may be shown."""
    return SentCommand(*shown_command(command), _asker(command))


def _asker(command: Command) -> str:
    return command.asker if isinstance(command, Asked) else ""
