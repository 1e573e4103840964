"""Which commands only read. Of a process that dies before one of them, the store knows no more than before the next one
that writes: so a test need not let it die there."""

from collections.abc import Iterable

from retwis_site.store.connection.recorder import Command

READING = {"DBSIZE", "DUMP", "EXISTS", "GET", "GETBIT", "GETRANGE", "HEXISTS", "HGET", "HGETALL", "HKEYS", "HLEN"}
READING |= {"HMGET", "HSCAN", "HVALS", "INFO", "KEYS", "LINDEX", "LLEN", "LRANGE", "MEMORY", "MGET", "OBJECT", "PTTL"}
READING |= {"SCAN", "STRLEN", "TIME", "TTL", "TYPE", "ZCARD", "ZCOUNT", "ZMSCORE", "ZRANGE", "ZRANGEBYLEX"}
READING |= {"ZRANGEBYSCORE", "ZRANK", "ZREVRANGE", "ZREVRANGEBYSCORE", "ZREVRANK", "ZSCAN", "ZSCORE"}


def may_write(commands: Iterable[Command]) -> bool:
    """Whether one of the commands may change the store."""
    return any(command[0] not in READING for command in commands)
