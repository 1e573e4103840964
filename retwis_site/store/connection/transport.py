"""How commands are sent: on a connection of the pool, packed together, in one write; then the replies are read.

redis-py makes the connections, waits for replies and converts them. Its own methods to send are not used: they send
again after an error, which would count or push twice, and take three times as long for a page's commands. Replies that
have already arrived are read from hiredis directly, without redis-py.
"""

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from operator import itemgetter
from types import FrameType
from typing import Any, Protocol

import redis
from hiredis import Reader, pack_command
from redis._parsers.hiredis import NOT_ENOUGH_DATA
from redis.client import NEVER_DECODE

from retwis_site.store.connection import recorder
from retwis_site.store.connection.recorder import Command, CountedSocket

Queued = tuple[Command, dict[str, Any]]  # a command, and redis-py's options for reading the reply
AS_SENT: dict[str, Any] = {}  # the options of a command whose reply redis-py does not convert

pack: Callable[[Any], bytes] = pack_command
_command: Callable[[Queued], Command] = itemgetter(0)


class Queue(list[Queued]):
    """Queued commands, to which others are only added. Those of questions are packed already."""

    # Of each question: the place of its first command, the place behind its last one, and the bytes of all of them.
    packed: tuple[tuple[int, int, bytes], ...] = ()


# What is called with the first commands of each new connection, before they are sent. If it raises, they are not sent.
BeforeFirst = Callable[[Sequence[Queued]], object] | None


class Transport(Protocol):
    """Sends commands to a server, or to several that share the keys."""

    def exchange(self, queued: Sequence[Queued]) -> list[Any]:
        """The replies, in order; a refused command has an exception as its reply. One round trip. Raises
        redis.RedisError when there is no answer: then any of the commands may have run."""

    def conversation(self) -> "Conversation":
        """A conversation, which can send commands before it has read the replies to the last ones."""

    def servers(self) -> list["redis.Redis"]:
        """Every server that holds keys, for commands that each must get. Raises redis.RedisError."""

    def leave_replica(self) -> None:
        """A server has refused a write, since it is a replica: do not use its connections again. Sends nothing."""


class Conversation(Protocol):
    """`write` and `read` take turns; `write` may be one ahead. The caller always calls `give_back`, also after an
    error."""

    def write(self, queued: Sequence[Queued]) -> None:
        """Send commands. Raises redis.RedisError."""

    def read(self, queued: Sequence[Queued]) -> list[Any]:
        """The replies to these commands, the oldest unread ones. Raises redis.RedisError."""

    def cut(self) -> None:
        """Before `give_back`, while replies are unread: drop them."""

    def give_back(self) -> None:
        """End the conversation."""


# ---- Connections to one address

# A connection that was used in the last so many seconds is lent without a look at it. A server takes longer to start
# again (valkey: 40 ms).
FRESH = 0.01

_pid = os.getpid()


def _note_fork() -> None:
    global _pid
    _pid = os.getpid()


os.register_at_fork(after_in_child=_note_fork)


class Pool(redis.ConnectionPool):
    """Connections to one address, with a short way for a connection that was used before. Threads share it.

    redis-py's own pool counts every loan, and asks the system twice for the number of the process. A page makes one or
    two round trips, and all that took a tenth of its time (2026-11-22). redis-py still makes each connection, and
    replaces a broken one. A connection that is given back stays here; to redis-py it is in use. The newest one is lent
    first."""

    def get_connection(self, *_: Any, **__: Any) -> Any:
        """A connection that is open and has no unread reply. Raises redis.RedisError."""
        if self.pid != _pid or not self._idle:
            return super().get_connection()
        try:
            connection, used_at = self._idle.pop()
        except IndexError:  # another thread was faster
            return super().get_connection()
        if connection.is_connected and connection.opened_at <= self._renewed_at:
            connection.disconnect()
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

    def renew(self) -> None:
        """Open each connection anew before it is lent again."""
        self._renewed_at = time.monotonic()

    def _is_fresh(self, used_at: float) -> bool:
        """When one connection broke, the others may be broken too."""
        return used_at > self._broke_at and time.monotonic() < used_at + FRESH

    def reset(self) -> None:
        """Forget all connections: in a new pool, and after a fork."""
        self._idle: deque[tuple[Any, float]] = deque()
        self._broke_at = self._renewed_at = 0.0  # monotonic seconds
        super().reset()


def _has_data(connection: Any) -> bool:
    """Whether something has arrived since the last reply: then the server has closed the connection, or a reply was not
    read."""
    try:
        return bool(connection.can_read())
    except (redis.RedisError, OSError):
        return True


# ---- A connection for one exchange


class BorrowedConnection:
    """A connection from a server's pool, for one `exchange`, or for a `Conversation`."""

    def __init__(self, client: "redis.Redis", before_first: BeforeFirst = None) -> None:
        self._before_first = before_first
        self._callbacks: dict[object, Any] = client.response_callbacks
        self._pool = client.connection_pool
        self._connection: Any = self._pool.get_connection()

    def exchange(self, queued: Sequence[Queued]) -> list[Any]:
        """Like `Transport.exchange`; then the connection is given back."""
        try:
            self.write(queued)
            return self.read(queued)
        except BaseException:  # a handler of a signal may raise between the two
            self.cut()
            raise
        finally:
            self.give_back()

    def write(self, queued: Sequence[Queued]) -> None:
        try:
            if self._before_first is not None and self._connection.is_new:  # greeted, and nothing was sent
                self._before_first(queued)
                self._connection.is_new = False
            self._connection.send_packed_command(self._packed(queued))
        except BaseException:
            self.cut()
            raise

    def _packed(self, queued: Sequence[Queued]) -> list[bytes]:
        parts: list[bytes] = []
        at = 0
        try:
            for first, end, packed in queued.packed if isinstance(queued, Queue) else ():
                parts += (*map(pack, map(_command, queued[at:first])), packed)
                at = end
            parts += map(pack, map(_command, queued[at:]))
            return [b"".join(parts)]
        except UnicodeEncodeError:  # the text was read from bytes that are not UTF-8; the connection restores them
            encode = self._connection.encoder.encode
            return [pack((name, *map(encode, rest))) for (name, *rest), _ in queued]

    def read(self, queued: Sequence[Queued]) -> list[Any]:
        """The replies to the commands that were written."""
        next_arrived = _reader_of_arrived(self._connection)
        try:
            replies = []
            for command, options in queued:
                is_plain = options is AS_SENT
                as_bytes = not is_plain and NEVER_DECODE in options
                reply = next_arrived(False) if as_bytes else next_arrived()
                if reply is NOT_ENOUGH_DATA:
                    reply = self._wait_for_reply(as_bytes)
                elif isinstance(reply, redis.ConnectionError):  # redis-py raises it too: a server loads its data
                    raise reply
                if not is_plain:
                    # The object's own `get` would change each name to upper case.
                    convert = dict.get(self._callbacks, command[0])
                    if convert is not None and not isinstance(reply, redis.ResponseError):
                        reply = convert(reply, **options)
                replies.append(reply)
            return replies
        except BaseException:
            self.cut()
            raise

    def _wait_for_reply(self, as_bytes: bool) -> Any:
        """The next reply, which has not arrived completely."""
        try:
            return self._connection.read_response(disable_decoding=as_bytes)
        except redis.ResponseError as error:
            return error

    def cut(self) -> None:
        """Close the connection. Unread replies may still arrive on it, so it must not be used again."""
        self._connection.disconnect()

    def give_back(self) -> None:
        self._pool.release(self._connection)


class _WatchedConnection(BorrowedConnection):
    """Counts the bytes that are sent and received."""

    def _packed(self, queued: Sequence[Queued]) -> list[bytes]:
        packed = super()._packed(queued)
        recorder.add_bytes(sent=sum(map(len, packed)))
        return packed

    def read(self, queued: Sequence[Queued]) -> list[Any]:
        parser = self._connection._parser
        socket = getattr(parser, "_sock", None)
        if socket is None:  # the fake connections of tests have none
            return super().read(queued)
        parser._sock = counted = CountedSocket(socket)
        try:
            return super().read(queued)
        finally:
            recorder.add_bytes(received=counted.received)
            if parser._sock is counted:  # else the connection was cut
                parser._sock = socket


def raise_when_packed(error: BaseException, frame: FrameType | None) -> None:
    """Raise an error from a signal's handler, which got this frame. While the frame packs commands, it is raised there
    later, at the next step of Python.

    hiredis 3.5.0 does not look whether a handler has raised while it made the text of a number, and the process would
    end with a segmentation fault. A trace function runs between two steps only.
    """
    if frame is None or frame.f_code is not BorrowedConnection._packed.__code__:
        raise error

    def step(*_: object) -> None:
        sys.settrace(None)
        frame.f_trace = None
        raise error

    frame.f_trace = step
    sys.settrace(lambda *_: None)  # without one, no frame is traced


def borrow(client: "redis.Redis", before_first: BeforeFirst = None) -> BorrowedConnection:
    """A connection of this client. Raises redis.RedisError."""
    return (_WatchedConnection if recorder.is_watched() else BorrowedConnection)(client, before_first)


def _reader_of_arrived(connection: Any) -> Callable[..., Any]:
    """A function that returns the next reply that was already read from the socket, or NOT_ENOUGH_DATA. For the fake
    connections of tests it always returns NOT_ENOUGH_DATA."""
    reader = getattr(getattr(connection, "_parser", None), "_reader", None)
    return reader.gets if isinstance(reader, Reader) else lambda *_: NOT_ENOUGH_DATA


class OneServer:
    """Sends commands to one address: a server, a proxy, or the primary that the sentinels name.

    `holders`: the servers that hold the keys, when they are behind a proxy.
    """

    def __init__(self, client: "redis.Redis", holders: Sequence["redis.Redis"] = ()) -> None:
        self.client = client
        self.before_first: BeforeFirst = None
        self._holders = list(holders) or [client]

    def exchange(self, queued: Sequence[Queued]) -> list[Any]:
        return borrow(self.client, self.before_first).exchange(queued)

    def conversation(self) -> Conversation:
        return borrow(self.client, self.before_first)

    def servers(self) -> list["redis.Redis"]:
        return self._holders

    def leave_replica(self) -> None:
        """The address may lead to another server by now, as after the failover of a hosted Redis: a replica keeps the
        connections that it had as a primary."""
        if isinstance(self.client.connection_pool, Pool):  # those to an elected primary ask the sentinels
            self.client.connection_pool.renew()
