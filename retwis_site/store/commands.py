"""Every Redis command that the site sends, one method each, under Redis's own name.

A `Store` sends a command at once, in one round trip, and returns the reply. A `Pipe` queues it and returns nothing.
When options change what a command does, each used form has its own method: `zadd` and `zadd_nx`.
Ids, names and bodies are text in both directions; scores are unix seconds or ids.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from redis.client import NEVER_DECODE

Scored = list[tuple[str, float]]  # members with their scores


class Commands(ABC):
    """The commands of `Store` and `Pipe`. The return types are those of `Store`."""

    @abstractmethod
    def send(self, *command: str | float | bytes, **options: Any) -> Any:
        """Send one command with its arguments; `options` tell redis-py how to read the reply."""

    # ---- strings and keys

    def get(self, key: str) -> str | None:
        return self.send("GET", key)

    def set(self, key: str, value: str) -> None:
        self.send("SET", key, value)

    def set_ex(self, key: str, value: str, seconds: int) -> None:
        self.send("SET", key, value, "EX", seconds)

    def set_nx_ex(self, key: str, value: str, seconds: int) -> bool:
        """Whether the key was set; False when it existed already."""
        return bool(self.send("SET", key, value, "NX", "EX", seconds))

    def incr(self, key: str) -> int:
        return self.send("INCR", key)

    def incrby(self, key: str, by: int) -> int:
        """The new value."""
        return self.send("INCRBY", key, by)

    def expire(self, key: str, seconds: int) -> int:
        return self.send("EXPIRE", key, seconds)

    def unlink(self, key: str) -> int:
        """1 when the key was removed, 0 when it did not exist."""
        return self.send("UNLINK", key)

    def ttl(self, key: str) -> int:
        """Seconds until the key expires; -1 without an expiry, -2 without the key."""
        return self.send("TTL", key)

    def pttl(self, key: str) -> int:
        """Like `ttl`, in milliseconds."""
        return self.send("PTTL", key)

    def pexpire(self, key: str, milliseconds: int) -> int:
        return self.send("PEXPIRE", key, milliseconds)

    def type(self, key: str) -> str:
        """`string`, `hash`, `list`, `zset`, ...; `none` without the key."""
        return self.send("TYPE", key)

    def dump(self, key: str) -> bytes | None:
        """The key's value in Redis's own format, for `restore`; None without the key."""
        return self.send("DUMP", key, **{NEVER_DECODE: True})

    def restore(self, key: str, seconds: int, dumped: bytes) -> None:
        """Set the key to a dumped value; replaces an existing key. It expires after `seconds`; 0: never."""
        self.send("RESTORE", key, seconds * 1000, dumped, "REPLACE")

    # ---- hashes

    def hget(self, key: str, field: str) -> str | None:
        return self.send("HGET", key, field)

    def hmget(self, key: str, fields: Sequence[str]) -> list[str | None]:
        return self.send("HMGET", key, *fields)

    def hset(self, key: str, fields: Mapping[str, str]) -> int:
        """The number of new fields."""
        return self.send("HSET", key, *_flat(fields.items()))

    def hsetnx(self, key: str, field: str, value: str) -> int:
        """1 when the field was set, 0 when it existed already."""
        return self.send("HSETNX", key, field, value)

    def hdel(self, key: str, field: str) -> int:
        return self.send("HDEL", key, field)

    def hincrby(self, key: str, field: str, by: int) -> int:
        """The new value of the field."""
        return self.send("HINCRBY", key, field, by)

    def hexists(self, key: str, field: str) -> bool:
        return bool(self.send("HEXISTS", key, field))

    def hlen(self, key: str) -> int:
        return self.send("HLEN", key)

    def hscan(self, key: str, cursor: int, count: int) -> tuple[int, dict[str, str]]:
        return self.send("HSCAN", key, cursor, "COUNT", count)

    # ---- sorted sets

    def zadd(self, key: str, members: Mapping[str, float]) -> int:
        """The number of new members; existing members get the new score."""
        return self.send("ZADD", key, *_scored(members))

    def zadd_nx(self, key: str, members: Mapping[str, int]) -> int:
        """The number of new members; existing members keep their score."""
        return self.send("ZADD", key, "NX", *_scored(members))

    def zrem(self, key: str, member: str) -> int:
        return self.send("ZREM", key, member)

    def zremrangebyscore(self, key: str, low: str, high: str) -> int:
        """Remove the members with scores from `low` to `high`; returns how many were removed."""
        return self.send("ZREMRANGEBYSCORE", key, low, high)

    def zremrangebyrank(self, key: str, start: int, stop: int) -> int:
        """Remove the members from rank `start` to `stop`, lowest score first; `-1` is the last. Returns how many."""
        return self.send("ZREMRANGEBYRANK", key, start, stop)

    def zcard(self, key: str) -> int:
        return self.send("ZCARD", key)

    def zcount(self, key: str, low: str, high: str) -> int:
        """The number of members with scores from `low` to `high`: `5`, `(5` (without 5 itself), `-inf`, `+inf`."""
        return self.send("ZCOUNT", key, low, high)

    def zscore(self, key: str, member: str) -> float | None:
        return self.send("ZSCORE", key, member)

    def zmscore(self, key: str, members: Sequence[str]) -> list[float | None]:
        return self.send("ZMSCORE", key, *members)

    def zrevrank(self, key: str, member: str) -> int | None:
        """The rank of the member, the highest score first, from 0; None without the member."""
        return self.send("ZREVRANK", key, member)

    def zrange(self, key: str, first: int, last: int) -> list[str]:
        return self.send("ZRANGE", key, first, last)

    def zrange_withscores(self, key: str, first: int, last: int) -> Scored:
        """By rank, the lowest score first; both ends are included."""
        return self.send("ZRANGE", key, first, last, "WITHSCORES", withscores=True)

    def zrevrange(self, key: str, first: int, last: int) -> list[str]:
        """By rank, the highest score first; both ends are included."""
        return self.send("ZREVRANGE", key, first, last)

    def zrevrange_withscores(self, key: str, first: int, last: int) -> Scored:
        return self.send("ZREVRANGE", key, first, last, "WITHSCORES", withscores=True)

    def zrangebyscore(self, key: str, low: str, high: str, limit: int) -> list[str]:
        """At most `limit` members, the lowest score first."""
        return self.send("ZRANGEBYSCORE", key, low, high, "LIMIT", 0, limit)

    def zrevrangebyscore(self, key: str, high: str, low: str, limit: int) -> list[str]:
        """At most `limit` members, the highest score first."""
        return self.send("ZREVRANGEBYSCORE", key, high, low, "LIMIT", 0, limit)

    def zrangebylex(self, key: str, low: str, high: str, limit: int) -> list[str]:
        """At most `limit` members in the order of their bytes; all scores must be equal. Bounds: `[a` includes a, `(a`
        excludes it, `-` and `+` have no limit."""
        return self.send("ZRANGEBYLEX", key, low, high, "LIMIT", 0, limit)

    def zrevrangebyscore_withscores(self, key: str, high: str, low: str, offset: int, limit: int) -> Scored:
        """At most `limit` members after the first `offset`, the highest score first; equal scores in descending order
        of the members."""
        return self.send("ZREVRANGEBYSCORE", key, high, low, "WITHSCORES", "LIMIT", offset, limit, withscores=True)

    def zscan(self, key: str, cursor: int, count: int) -> tuple[int, Scored]:
        """The next cursor (0: the end) and some members. A member may come twice."""
        return self.send("ZSCAN", key, cursor, "COUNT", count)

    # ---- lists

    def lpush(self, key: str, value: str) -> int:
        """The new length of the list."""
        return self.send("LPUSH", key, value)

    def lpushx(self, key: str, value: str) -> int:
        """The new length of the list; 0 without the list, which is not created."""
        return self.send("LPUSHX", key, value)

    def rpush(self, key: str, value: str) -> int:
        return self.send("RPUSH", key, value)

    def rpushx(self, key: str, values: Sequence[str]) -> int:
        return self.send("RPUSHX", key, *values)

    def lrange(self, key: str, first: int, last: int) -> list[str]:
        return self.send("LRANGE", key, first, last)

    def lrange_as_sent(self, key: str, first: int, last: int) -> list[bytes]:
        """Like `lrange`, as bytes. It takes half the time when most entries are only compared."""
        return self.send("LRANGE", key, first, last, **{NEVER_DECODE: True})

    def lpos(self, key: str, value: str) -> int | None:
        """The index of the first such value; None without the value."""
        return self.send("LPOS", key, value)

    def ltrim(self, key: str, first: int, last: int) -> None:
        self.send("LTRIM", key, first, last)

    def lrem_first(self, key: str, value: str) -> int:
        """Remove the first such value; 1, or 0 without the value."""
        return self.send("LREM", key, 1, value)

    def linsert_after(self, key: str, pivot: str, value: str) -> int:
        """The new length of the list; -1 without the pivot, 0 without the list."""
        return self.send("LINSERT", key, "AFTER", pivot, value)


def _flat(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return [part for pair in pairs for part in pair]


def _scored(members: Mapping[str, float]) -> list[str | float]:
    return [part for member, score in members.items() for part in (score, member)]
