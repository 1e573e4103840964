"""Every Redis command that the site sends, one method each, under Redis's own name.

`Store` answers them at once, one round trip each; `Pipe` queues them, returns nothing, and gives the replies together.
Where Redis has options that change what a command does, each form that is used has a method: `zadd` and `zadd_nx`.
Ids, names and bodies go and come as text; scores are unix seconds or ids.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from redis.client import NEVER_DECODE

Scored = list[tuple[str, float]]  # members with their scores


class Commands(ABC):
    """What both a store and a pipe can be asked. The reply types are a store's."""

    @abstractmethod
    def send(self, *command: str | float | bytes, **options: Any) -> Any:
        """One command as it goes over the wire; `options` tell redis-py how to read the reply."""

    # ---- strings and keys

    def get(self, key: str) -> str | None:
        return self.send("GET", key)

    def set(self, key: str, value: str) -> None:
        self.send("SET", key, value)

    def set_ex(self, key: str, value: str, seconds: int) -> None:
        self.send("SET", key, value, "EX", seconds)

    def set_nx_ex(self, key: str, value: str, seconds: int) -> bool:
        """Whether the key was free and is ours now."""
        return bool(self.send("SET", key, value, "NX", "EX", seconds))

    def incr(self, key: str) -> int:
        return self.send("INCR", key)

    def incrby(self, key: str, by: int) -> int:
        """The number's new value."""
        return self.send("INCRBY", key, by)

    def expire(self, key: str, seconds: int) -> int:
        return self.send("EXPIRE", key, seconds)

    def unlink(self, key: str) -> int:
        """How many keys that freed: 1, or 0 when there was none."""
        return self.send("UNLINK", key)

    def ttl(self, key: str) -> int:
        """Seconds that the key has left; -1 for one without an end, -2 for none."""
        return self.send("TTL", key)

    def pttl(self, key: str) -> int:
        """The same in milliseconds."""
        return self.send("PTTL", key)

    def pexpire(self, key: str, milliseconds: int) -> int:
        return self.send("PEXPIRE", key, milliseconds)

    def type(self, key: str) -> str:
        """`string`, `hash`, `list`, `zset`, ...; `none` without such a key."""
        return self.send("TYPE", key)

    def dump(self, key: str) -> bytes | None:
        """What the key holds, in Redis's own form; for `restore`."""
        return self.send("DUMP", key, **{NEVER_DECODE: True})

    def restore(self, key: str, seconds: int, dumped: bytes) -> None:
        """Make the key, or make it anew, hold what was dumped."""
        self.send("RESTORE", key, seconds * 1000, dumped, "REPLACE")

    # ---- hashes

    def hget(self, key: str, field: str) -> str | None:
        return self.send("HGET", key, field)

    def hmget(self, key: str, fields: Sequence[str]) -> list[str | None]:
        return self.send("HMGET", key, *fields)

    def hset(self, key: str, fields: Mapping[str, str]) -> int:
        """How many of the fields are new."""
        return self.send("HSET", key, *_flat(fields.items()))

    def hsetnx(self, key: str, field: str, value: str) -> int:
        """1 when the field was free and is set now, else 0."""
        return self.send("HSETNX", key, field, value)

    def hdel(self, key: str, field: str) -> int:
        return self.send("HDEL", key, field)

    def hincrby(self, key: str, field: str, by: int) -> int:
        """The field's new value."""
        return self.send("HINCRBY", key, field, by)

    def hexists(self, key: str, field: str) -> bool:
        return bool(self.send("HEXISTS", key, field))

    def hlen(self, key: str) -> int:
        return self.send("HLEN", key)

    def hscan(self, key: str, cursor: int, count: int) -> tuple[int, dict[str, str]]:
        return self.send("HSCAN", key, cursor, "COUNT", count)

    # ---- sorted sets

    def zadd(self, key: str, members: Mapping[str, float]) -> int:
        """How many of the members are new; the others have their score changed."""
        return self.send("ZADD", key, *_scored(members))

    def zadd_nx(self, key: str, members: Mapping[str, int]) -> int:
        """The same, but members that are there already keep their score."""
        return self.send("ZADD", key, "NX", *_scored(members))

    def zrem(self, key: str, member: str) -> int:
        return self.send("ZREM", key, member)

    def zremrangebyscore(self, key: str, low: str, high: str) -> int:
        """How many members were taken out: those whose score lies between."""
        return self.send("ZREMRANGEBYSCORE", key, low, high)

    def zremrangebyrank(self, key: str, start: int, stop: int) -> int:
        """Likewise by place, lowest score first; `-1` is the last."""
        return self.send("ZREMRANGEBYRANK", key, start, stop)

    def zcard(self, key: str) -> int:
        return self.send("ZCARD", key)

    def zcount(self, key: str, low: str, high: str) -> int:
        """How many scores lie between: `5`, or `(5` for above or below it, or `-inf`, `+inf`."""
        return self.send("ZCOUNT", key, low, high)

    def zscore(self, key: str, member: str) -> float | None:
        return self.send("ZSCORE", key, member)

    def zmscore(self, key: str, members: Sequence[str]) -> list[float | None]:
        return self.send("ZMSCORE", key, *members)

    def zrevrank(self, key: str, member: str) -> int | None:
        """How many members stand before it, the highest score first."""
        return self.send("ZREVRANK", key, member)

    def zrange(self, key: str, first: int, last: int) -> list[str]:
        return self.send("ZRANGE", key, first, last)

    def zrange_withscores(self, key: str, first: int, last: int) -> Scored:
        """By rank, the lowest score first; both ends belong to it."""
        return self.send("ZRANGE", key, first, last, "WITHSCORES", withscores=True)

    def zrevrange(self, key: str, first: int, last: int) -> list[str]:
        """By rank, the highest score first; both ends belong to it."""
        return self.send("ZREVRANGE", key, first, last)

    def zrevrange_withscores(self, key: str, first: int, last: int) -> Scored:
        return self.send("ZREVRANGE", key, first, last, "WITHSCORES", withscores=True)

    def zrangebyscore(self, key: str, low: str, high: str, limit: int) -> list[str]:
        """The first `limit` members from the lowest score up."""
        return self.send("ZRANGEBYSCORE", key, low, high, "LIMIT", 0, limit)

    def zrevrangebyscore(self, key: str, high: str, low: str, limit: int) -> list[str]:
        """The first `limit` members from the highest score down."""
        return self.send("ZREVRANGEBYSCORE", key, high, low, "LIMIT", 0, limit)

    def zrangebylex(self, key: str, low: str, high: str, limit: int) -> list[str]:
        """The first `limit` members in the order of their bytes, where all scores are alike: `[a` from a on, `(a` after
        it, `-` and `+` without an end."""
        return self.send("ZRANGEBYLEX", key, low, high, "LIMIT", 0, limit)

    def zrevrangebyscore_withscores(self, key: str, high: str, low: str, offset: int, limit: int) -> Scored:
        """`limit` members from the highest score down, after the first `offset`; of one score the last name first."""
        return self.send("ZREVRANGEBYSCORE", key, high, low, "WITHSCORES", "LIMIT", offset, limit, withscores=True)

    def zscan(self, key: str, cursor: int, count: int) -> tuple[int, Scored]:
        """Some members, and where to go on; 0: that was all. One that stays is found, perhaps twice."""
        return self.send("ZSCAN", key, cursor, "COUNT", count)

    # ---- lists

    def lpush(self, key: str, value: str) -> int:
        """The list's length."""
        return self.send("LPUSH", key, value)

    def lpushx(self, key: str, value: str) -> int:
        """The list's length; 0 when there is no list, and then none is made."""
        return self.send("LPUSHX", key, value)

    def rpush(self, key: str, value: str) -> int:
        return self.send("RPUSH", key, value)

    def rpushx(self, key: str, values: Sequence[str]) -> int:
        return self.send("RPUSHX", key, *values)

    def lrange(self, key: str, first: int, last: int) -> list[str]:
        return self.send("LRANGE", key, first, last)

    def lrange_as_sent(self, key: str, first: int, last: int) -> list[bytes]:
        """The same as bytes, which takes half the time where most of it is only compared."""
        return self.send("LRANGE", key, first, last, **{NEVER_DECODE: True})

    def lpos(self, key: str, value: str) -> int | None:
        """Where the value stands first; None when it is not there."""
        return self.send("LPOS", key, value)

    def ltrim(self, key: str, first: int, last: int) -> None:
        self.send("LTRIM", key, first, last)

    def lrem_first(self, key: str, value: str) -> int:
        """Take out the first occurrence; 1, or 0 when there was none."""
        return self.send("LREM", key, 1, value)

    def linsert_after(self, key: str, pivot: str, value: str) -> int:
        """The list's length; -1 without the pivot in it, 0 without the list."""
        return self.send("LINSERT", key, "AFTER", pivot, value)


def _flat(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return [part for pair in pairs for part in pair]


def _scored(members: Mapping[str, float]) -> list[str | float]:
    return [part for member, score in members.items() for part in (score, member)]
