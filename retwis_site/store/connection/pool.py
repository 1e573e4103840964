"""redis-py's connection pool, with a short way for a connection that was used before.

redis-py counts every loan, and asks the system twice for the number of the process. A page makes one or two round
trips, and all that took a tenth of its time (2026-11-22).
"""

import os
import time
from collections import deque
from typing import Any

import redis

# A connection that was used in the last so many seconds is lent without a look at it. A server takes longer to start
# again (valkey: 40 ms).
FRESH = 0.01

_pid = os.getpid()


def _note_fork() -> None:
    global _pid
    _pid = os.getpid()


os.register_at_fork(after_in_child=_note_fork)


class Pool(redis.ConnectionPool):
    """Connections to one address. Threads share it.

    redis-py makes each connection, and replaces a broken one. A connection that is given back stays here; to redis-py
    it is in use. The newest one is lent first."""

    def get_connection(self, *_: Any, **__: Any) -> Any:
        """A connection that is open and has no unread reply. Raises redis.RedisError."""
        if self.pid != _pid or not self._idle:
            return super().get_connection()
        try:
            connection, used_at = self._idle.pop()
        except IndexError:  # another thread was faster
            return super().get_connection()
        if connection.is_connected and (self._is_fresh(used_at) or not _has_data(connection)):
            return connection
        super().release(connection)
        return super().get_connection()

    def release(self, connection: Any) -> None:
        """Keep a connection for its next use. A connection of the parent process is not kept: two processes must not
        share one."""
        if not self.pid == connection.pid == _pid:
            super().release(connection)
            return
        now = time.monotonic()
        if not connection.is_connected:
            self._broke_at = now
        self._idle.append((connection, now))

    def _is_fresh(self, used_at: float) -> bool:
        """When one connection broke, the others may be broken too."""
        return used_at > self._broke_at and time.monotonic() < used_at + FRESH

    def reset(self) -> None:
        """Forget all connections: in a new pool, and after a fork."""
        self._idle: deque[tuple[Any, float]] = deque()
        self._broke_at = 0.0  # monotonic seconds
        super().reset()


def _has_data(connection: Any) -> bool:
    """Whether something has arrived since the last reply: then the server has closed the connection, or a reply was not
    read."""
    try:
        return bool(connection.can_read())
    except (redis.RedisError, OSError):
        return True
