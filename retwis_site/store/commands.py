"""Every Redis command that the site sends, one method each, under Redis's own name.

A `Store` sends a command at once, in one round trip, and returns the reply. A `Pipe` queues it and returns a handle, a
`Reply`: `followers = pipe.zcard(key)`, and after `pipe.execute()` the number is `followers.value`.

When options change what a command does, each used form has its own method: `zadd` and `zadd_nx`.
Ids, names and bodies are text in both directions; scores are unix seconds or ids. A `Question` is several
commands about a user. FACTS, at the end, has what else is known of each command.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, NamedTuple, ParamSpec, TypeVar, overload

from redis.client import NEVER_DECODE

from retwis_site.store.kinds import OfId

if TYPE_CHECKING:
    from retwis_site.store.client import Pipe, Reply, Scored, Store

P = ParamSpec("P")
T = TypeVar("T")

OF_ANY_TYPE = "of_any_type"  # an option: a key of the wrong type is None, and no error


if TYPE_CHECKING:

    class command(Generic[P, T]):  # noqa: N801
        """A method that a `Store` and a `Pipe` have with two types: one returns the reply, the other a handle of it."""

        def __init__(self, method: Callable[Concatenate[Commands, P], T]) -> None: ...
        @overload
        def __get__(self, commands: Store, owner: type) -> Callable[P, T]: ...
        @overload
        def __get__(self, commands: Pipe, owner: type) -> Callable[P, Reply[T]]: ...
        def __get__(self, commands: Any, owner: type) -> Any: ...

else:

    def command(method):
        """When the site runs, it is a plain method."""
        return method


class Commands(ABC):
    """The commands of `Store` and `Pipe`. The return types are those of `Store`; a `Pipe` returns a `Reply` of each."""

    @abstractmethod
    def send(self, *command: str | float | bytes, **options: Any) -> Any:
        """Send or queue one command with its arguments; `options` tell redis-py how to read the reply."""

    # ---- strings and keys

    @command
    def get(self, key: str) -> str | None:
        return self.send("GET", key)

    @command
    def get_or_none(self, key: str) -> str | None:
        """As `get`; None for a key of another type, too."""
        return self.send("GET", key, **{OF_ANY_TYPE: True})

    @command
    def get_bytes(self, key: str) -> bytes | None:
        """Like `get`, for a string that is no text."""
        return self.send("GET", key, **{NEVER_DECODE: True})

    @command
    def append(self, key: str, value: bytes) -> int:
        """Add bytes to the end of a string, which need not exist; returns its new length."""
        return self.send("APPEND", key, value)

    @command
    def setbit(self, key: str, offset: int) -> int:
        return self.send("SETBIT", key, offset, 1)

    @command
    def set(self, key: str, value: str | bytes) -> None:
        return self.send("SET", key, value)

    @command
    def set_ex(self, key: str, value: str, seconds: int) -> None:
        return self.send("SET", key, value, "EX", seconds)

    @command
    def set_nx_ex(self, key: str, value: str, seconds: int) -> Literal[True] | None:
        """True when the key was set; None when it existed already."""
        return self.send("SET", key, value, "NX", "EX", seconds)

    @command
    def incr(self, key: str) -> int:
        return self.send("INCR", key)

    @command
    def incrby(self, key: str, by: int) -> int:
        """The new value."""
        return self.send("INCRBY", key, by)

    @command
    def expire(self, key: str, seconds: int) -> int:
        return self.send("EXPIRE", key, seconds)

    @command
    def unlink(self, key: str) -> int:
        """1 when the key was removed, 0 when it did not exist."""
        return self.send("UNLINK", key)

    @command
    def persist(self, key: str) -> int:
        """Let the key expire no more; 1 when it had an expiry."""
        return self.send("PERSIST", key)

    @command
    def ttl(self, key: str) -> int:
        """Seconds until the key expires; -1 without an expiry, -2 without the key."""
        return self.send("TTL", key)

    @command
    def pttl(self, key: str) -> int:
        """Like `ttl`, in milliseconds."""
        return self.send("PTTL", key)

    @command
    def pexpire(self, key: str, milliseconds: int) -> int:
        return self.send("PEXPIRE", key, milliseconds)

    @command
    def type(self, key: str) -> str:
        """`string`, `hash`, `list`, `zset`, ...; `none` without the key."""
        return self.send("TYPE", key)

    @command
    def dump(self, key: str) -> bytes | None:
        """The key's value in Redis's own format, for `restore`; None without the key."""
        return self.send("DUMP", key, **{NEVER_DECODE: True})

    @command
    def restore(self, key: str, seconds: int, dumped: bytes) -> None:
        """Set the key to a dumped value; replaces an existing key. It expires after `seconds`; 0: never."""
        return self.send("RESTORE", key, seconds * 1000, dumped, "REPLACE")

    # ---- hashes

    @command
    def hget(self, key: str, field: str) -> str | None:
        return self.send("HGET", key, field)

    @command
    def hget_or_none(self, key: str, field: str) -> str | None:
        """As `hget`; None for a key of another type, too."""
        return self.send("HGET", key, field, **{OF_ANY_TYPE: True})

    @command
    def hmget(self, key: str, fields: Sequence[str]) -> list[str | None]:
        return self.send("HMGET", key, *fields)

    @command
    def hgetall(self, key: str) -> dict[str, str]:
        """All fields. Only for hashes that are bounded."""
        return self.send("HGETALL", key)

    @command
    def hset(self, key: str, fields: Mapping[str, str]) -> int:
        """The number of new fields."""
        return self.send("HSET", key, *chain.from_iterable(fields.items()))

    @command
    def hsetnx(self, key: str, field: str, value: str) -> int:
        """1 when the field was set, 0 when it existed already."""
        return self.send("HSETNX", key, field, value)

    @command
    def hdel(self, key: str, field: str) -> int:
        return self.send("HDEL", key, field)

    @command
    def hincrby(self, key: str, field: str, by: int) -> int:
        """The new value of the field."""
        return self.send("HINCRBY", key, field, by)

    @command
    def hexists(self, key: str, field: str) -> bool:
        return self.send("HEXISTS", key, field)

    @command
    def hlen(self, key: str) -> int:
        return self.send("HLEN", key)

    @command
    def hscan(self, key: str, cursor: int, count: int) -> tuple[int, dict[str, str]]:
        return self.send("HSCAN", key, cursor, "COUNT", count)

    # ---- sorted sets

    @command
    def zadd(self, key: str, members: Mapping[str, float]) -> int:
        """The number of new members; existing members get the new score."""
        return self.send("ZADD", key, *_scored(members))

    @command
    def zadd_nx(self, key: str, members: Mapping[str, float]) -> int:
        """The number of new members; existing members keep their score."""
        return self.send("ZADD", key, "NX", *_scored(members))

    @command
    def zadd_xx(self, key: str, members: Mapping[str, float]) -> int:
        """0: a member that is there gets the new score, and no other is added."""
        return self.send("ZADD", key, "XX", *_scored(members))

    @command
    def zadd_gt(self, key: str, member: str, score: float) -> int:
        """1 when the member is new or its score has grown; 0 when the score is not above the present one."""
        return self.send("ZADD", key, "GT", "CH", score, member)

    @command
    def zrem(self, key: str, member: str) -> int:
        return self.send("ZREM", key, member)

    @command
    def zremrangebyscore(self, key: str, low: str, high: str) -> int:
        """Remove the members with scores from `low` to `high`; returns how many were removed."""
        return self.send("ZREMRANGEBYSCORE", key, low, high)

    @command
    def zremrangebyrank(self, key: str, start: int, stop: int) -> int:
        """Remove the members from rank `start` to `stop`, lowest score first; `-1` is the last. Returns how many."""
        return self.send("ZREMRANGEBYRANK", key, start, stop)

    @command
    def zcard(self, key: str) -> int:
        return self.send("ZCARD", key)

    @command
    def zcard_or_none(self, key: str) -> int | None:
        """As `zcard`; None for a key of another type. For a number that a page can do without."""
        return self.send("ZCARD", key, **{OF_ANY_TYPE: True})

    @command
    def zcount(self, key: str, low: str, high: str) -> int:
        """The number of members with scores from `low` to `high`: `5`, `(5` (without 5 itself), `-inf`, `+inf`."""
        return self.send("ZCOUNT", key, low, high)

    @command
    def zscore(self, key: str, member: str) -> float | None:
        return self.send("ZSCORE", key, member)

    @command
    def zmscore(self, key: str, members: Sequence[str]) -> list[float | None]:
        return self.send("ZMSCORE", key, *members)

    @command
    def zrevrank(self, key: str, member: str) -> int | None:
        """The rank of the member, the highest score first, from 0; None without the member."""
        return self.send("ZREVRANK", key, member)

    @command
    def zrange(self, key: str, first: int, last: int) -> list[str]:
        return self.send("ZRANGE", key, first, last)

    @command
    def zrange_withscores(self, key: str, first: int, last: int) -> Scored:
        """By rank, the lowest score first; both ends are included."""
        return self.send("ZRANGE", key, first, last, "WITHSCORES", withscores=True)

    @command
    def zrevrange(self, key: str, first: int, last: int) -> list[str]:
        """By rank, the highest score first; both ends are included."""
        return self.send("ZREVRANGE", key, first, last)

    @command
    def zrevrange_withscores(self, key: str, first: int, last: int) -> Scored:
        return self.send("ZREVRANGE", key, first, last, "WITHSCORES", withscores=True)

    @command
    def zrangebyscore(self, key: str, low: str, high: str, limit: int) -> list[str]:
        """At most `limit` members, the lowest score first."""
        return self.send("ZRANGEBYSCORE", key, low, high, "LIMIT", 0, limit)

    @command
    def zrevrangebyscore(self, key: str, high: str, low: str, limit: int) -> list[str]:
        """At most `limit` members, the highest score first."""
        return self.send("ZREVRANGEBYSCORE", key, high, low, "LIMIT", 0, limit)

    @command
    def zrangebylex(self, key: str, low: str, high: str, limit: int) -> list[str]:
        """At most `limit` members by their bytes, of one score. Bounds: `[a` has a, `(a` has not; `-`, `+`: none."""
        return self.send("ZRANGEBYLEX", key, low, high, "LIMIT", 0, limit)

    @command
    def zrevrangebyscore_withscores(self, key: str, high: str, low: str, offset: int, limit: int) -> Scored:
        """At most `limit` members after the first `offset`, the highest score first; equal scores in descending order
        of the members."""
        return self.send("ZREVRANGEBYSCORE", key, high, low, "WITHSCORES", "LIMIT", offset, limit, withscores=True)

    @command
    def zscan(self, key: str, cursor: int, count: int) -> tuple[int, Scored]:
        """The next cursor (0: the end) and some members. A member may come twice."""
        return self.send("ZSCAN", key, cursor, "COUNT", count)

    # ---- lists

    @command
    def lpush(self, key: str, value: str) -> int:
        """The new length of the list."""
        return self.send("LPUSH", key, value)

    @command
    def lpushx(self, key: str, value: str) -> int:
        """The new length of the list; 0 without the list, which is not created."""
        return self.send("LPUSHX", key, value)

    @command
    def rpush(self, key: str, value: str) -> int:
        return self.send("RPUSH", key, value)

    @command
    def rpushx(self, key: str, values: Sequence[str]) -> int:
        return self.send("RPUSHX", key, *values)

    @command
    def lrange(self, key: str, first: int, last: int) -> list[str]:
        return self.send("LRANGE", key, first, last)

    @command
    def lpos(self, key: str, value: str) -> int | None:
        """The index of the first such value; None without the value."""
        return self.send("LPOS", key, value)

    @command
    def ltrim(self, key: str, first: int, last: int) -> None:
        return self.send("LTRIM", key, first, last)

    @command
    def lrem_first(self, key: str, value: str) -> int:
        """Remove the first such value; 1, or 0 without the value."""
        return self.send("LREM", key, 1, value)

    @command
    def linsert_after(self, key: str, pivot: str, value: str) -> int:
        """The new length of the list; -1 without the pivot, 0 without the list."""
        return self.send("LINSERT", key, "AFTER", pivot, value)


# ---- Several commands at once


# A command's name, the kind of its key or what comes before the uid in it, and what follows the key.
AboutUser = tuple[str, OfId | str, *tuple[str | int, ...]]


class Question(Generic[T]):
    """Commands about a user that pages send again and again: for another user, only their keys differ.

        COUNTS = Question(("ZCARD", keys.following), ("ZCARD", keys.followers), read=lambda uid, both: Counts(*both))

    `pipe.ask(COUNTS, uid)` queues all of them at once, and its handle has what `read` returns. The same commands one by
    one, each with its method and its handle, take three times as many Python calls.
    """

    def __init__(self, *commands: AboutUser, read: Callable[[int, Sequence[Any]], T]) -> None:
        """`read`: from the uid and the replies. These are as the server sends them in RESP2: members with scores are
        one flat list."""
        self.commands = commands
        self.read = read
        self.parts = [
            (name, kind if isinstance(kind, str) else kind.word, [*map(str, rest)]) for name, kind, *rest in commands
        ]
        # What stands around the uid where the commands are packed: by the prefix of keys, and the length of the uid.
        self.around: dict[tuple[str, int], list[bytes]] = {}


def together(*questions: Question[Any], read: Callable[..., T]) -> Question[T]:
    """Several questions about the same user as one. `read` gets the value of each, in this order."""
    ends = accumulate(len(one.commands) for one in questions)
    parts = [(one.read, slice(end - len(one.commands), end)) for one, end in zip(questions, ends, strict=True)]
    return Question(
        *(command for one in questions for command in one.commands),
        read=lambda uid, replies: read(*[read_one(uid, replies[part]) for read_one, part in parts]),
    )


def scored(reply: Sequence[str]) -> Scored:
    """From the reply of a question."""
    return [*zip(reply[::2], map(float, reply[1::2]), strict=True)]


# ---- What is known of each command.


class Arguments(Enum):
    """What the arguments after the key are."""

    OTHER = auto()
    FIELDS = auto()
    PAIRS = auto()  # each second one is a field, and a value stands behind it
    MEMBERS = auto()  # of ZADD, each behind its score
    RANKS = auto()


class CommandFacts(NamedTuple):
    """`complexity`: as Redis documents it. N: how many keys, fields or members the command names, or how many the key
    holds; M: how many it returns, removes or looks through; S: how far the start of a range is from the nearer end.
    UNLINK: for one key. SCAN: for one step. `reads`: it asks about keys, and changes none."""

    complexity: str
    reads: bool = False
    names: Arguments = Arguments.OTHER


_OF_EACH = (
    (CommandFacts("O(1)", reads=True), "GET TYPE TTL PTTL HLEN HSCAN ZCARD ZSCAN SISMEMBER SSCAN LLEN STRLEN OBJECT"),
    (CommandFacts("O(1)", reads=True), "SCAN DBSIZE INFO"),
    (CommandFacts("O(1)", reads=True, names=Arguments.FIELDS), "HGET HEXISTS"),
    (CommandFacts("O(1)", reads=True, names=Arguments.MEMBERS), "ZSCORE"),
    (CommandFacts("O(1)"), "SET APPEND SETBIT INCR INCRBY EXPIRE PEXPIRE PERSIST UNLINK PING"),
    (CommandFacts("O(1)", names=Arguments.PAIRS), "HSETNX HINCRBY"),
    (CommandFacts("O(N)", reads=True), "HGETALL LPOS MEMORY"),
    (CommandFacts("O(N)", reads=True, names=Arguments.FIELDS), "HMGET"),
    (CommandFacts("O(N)", reads=True, names=Arguments.MEMBERS), "ZMSCORE"),
    (CommandFacts("O(N)"), "LPUSH LPUSHX RPUSH RPUSHX LTRIM LINSERT CONFIG SYNC"),
    (CommandFacts("O(N)", names=Arguments.FIELDS), "HDEL"),
    (CommandFacts("O(N)", names=Arguments.PAIRS), "HSET"),
    (CommandFacts("O(log(N))", reads=True), "ZCOUNT"),
    (CommandFacts("O(log(N))", reads=True, names=Arguments.MEMBERS), "ZREVRANK"),
    (CommandFacts("O(log(N))", names=Arguments.MEMBERS), "ZADD"),
    (CommandFacts("O(log(N)+M)", reads=True), "ZRANGEBYSCORE ZREVRANGEBYSCORE ZRANGEBYLEX"),
    (CommandFacts("O(log(N)+M)", reads=True, names=Arguments.RANKS), "ZRANGE ZREVRANGE"),
    (CommandFacts("O(log(N)+M)"), "ZREMRANGEBYSCORE"),
    (CommandFacts("O(log(N)+M)", names=Arguments.RANKS), "ZREMRANGEBYRANK"),
    (CommandFacts("O(M*log(N))", names=Arguments.MEMBERS), "ZREM"),
    (CommandFacts("O(N+M)"), "LREM"),
    (CommandFacts("O(S+N)", reads=True), "LRANGE"),
    (CommandFacts("O(1)+O(N*M)", reads=True), "DUMP"),
    (CommandFacts("O(1)+O(N*M)"), "RESTORE"),
)
FACTS = {name: facts for facts, names in _OF_EACH for name in names.split()}
READS = {name for name, facts in FACTS.items() if facts.reads}
# Those that change keys, and make none that was not there.
_CHANGE = "EXPIRE PEXPIRE PERSIST UNLINK HDEL ZREM ZREMRANGEBYSCORE ZREMRANGEBYRANK LPUSHX RPUSHX LINSERT LREM LTRIM"
MAKE_NO_KEY = {*READS, *_CHANGE.split()}


def _scored(members: Mapping[str, float]) -> list[str | float]:
    return [part for member, score in members.items() for part in (score, member)]
