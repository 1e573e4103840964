"""The time complexity of each command that the site sends, as Redis documents it.

N: how many keys, fields or members the command names, or how many the key holds; M: how many it returns, removes or
looks through.
"""

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
