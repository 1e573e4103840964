"""How commands travel: packed together, in one write, and the replies read after it.

redis-py keeps the connections, waits for replies and makes sense of them. Its own ways to send are not used: they send
again after an error, which would count or push twice, and take three times as long for a page's commands. Nor are
replies that have arrived together with another asked of it one by one: they are taken from hiredis as they lie there.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import redis
from hiredis import Reader, pack_command
from redis._parsers.hiredis import NOT_ENOUGH_DATA
from redis.client import NEVER_DECODE

from retwis_site.store.recorder import Command

Queued = tuple[Command, dict[str, Any]]  # a command, and how redis-py is to read the reply


_pack: Callable[[Any], bytes] = pack_command


class Transport(Protocol):
    """What commands are given to: a server, or several that share the keys."""

    def exchange(self, queued: Sequence[Queued]) -> list[Any]:
        """The replies, in order; what the server refused is an exception among them. Raises redis.RedisError when there
        is no answer: then nobody knows which of the commands were carried out."""

    def conversation(self) -> "Conversation":
        """For one exchange after the other, each sent before the replies to the one before are read."""

    def servers(self) -> list["redis.Redis"]:
        """Every server that holds keys, for what must be asked of each."""


class Conversation(Protocol):
    """`write` and `read` take turns, and a write may be one ahead. At its end `hang_up`, whatever has happened."""

    def write(self, queued: Sequence[Queued]) -> None:
        """Send it. Raises redis.RedisError."""

    def read(self) -> list[Any]:
        """The replies to the first of what was sent and not read. Raises redis.RedisError."""

    def close(self) -> None:
        """Replies that nobody has read stay so."""


class BorrowedConnection:
    """One connection, borrowed from a server's pool for an `exchange`; or for `write`, `read`, and then `give_back`."""

    def __init__(self, client: "redis.Redis") -> None:
        self._callbacks: dict[object, Any] = client.response_callbacks
        self._pool = client.connection_pool
        self._connection: Any = self._pool.get_connection()

    def exchange(self, queued: Sequence[Queued]) -> list[Any]:
        """One round trip; replies and errors as `Wire.exchange` has them."""
        try:
            self.write(queued)
            return self.read(queued)
        finally:
            self.give_back()

    def write(self, queued: Sequence[Queued]) -> None:
        try:
            self._connection.send_packed_command(self._packed([command for command, _ in queued]))
        except BaseException:
            self.cut()
            raise

    def _packed(self, commands: Sequence[Command]) -> list[bytes]:
        try:
            return [b"".join(map(_pack, commands))]
        except UnicodeEncodeError:  # bytes that are no UTF-8, read as such: only the connection knows what they were
            encode = self._connection.encoder.encode
            return [_pack((name, *map(encode, rest))) for name, *rest in commands]

    def read(self, queued: Sequence[Queued]) -> list[Any]:
        """The replies to all that was sent."""
        arrived = _arrived(self._connection)
        try:
            replies = []
            for (name, *_), options in queued:
                as_bytes = NEVER_DECODE in options
                reply = arrived(False) if as_bytes else arrived()
                if reply is NOT_ENOUGH_DATA:
                    reply = self._awaited(as_bytes)
                elif isinstance(reply, redis.ConnectionError):  # as redis-py: one server behind a proxy that loads, say
                    raise reply
                made_sense_of = dict.get(self._callbacks, name)  # its own `get` would make each name upper case
                if made_sense_of is not None and not isinstance(reply, redis.ResponseError):
                    reply = made_sense_of(reply, **options)
                replies.append(reply)
            return replies
        except BaseException:
            self.cut()
            raise

    def _awaited(self, as_bytes: bool) -> Any:
        """The next reply, for which more must be read."""
        try:
            return self._connection.read_response(disable_decoding=as_bytes)
        except redis.ResponseError as error:
            return error

    def cut(self) -> None:
        """Replies may still come that nobody reads: the connection must not be used again."""
        self._connection.disconnect()

    def give_back(self) -> None:
        self._pool.release(self._connection)


def _arrived(connection: Any) -> Callable[..., Any]:
    """What gives the replies that were read from the socket and are not asked for yet; NOT_ENOUGH_DATA when there are
    none. Connections that are no real ones, as in tests, never have any."""
    reader = getattr(getattr(connection, "_parser", None), "_reader", None)
    return reader.gets if isinstance(reader, Reader) else lambda *_: NOT_ENOUGH_DATA


class OneServer:
    """A server, or something that looks like one: a proxy, or whichever server a sentinel names.

    `holders`: the servers behind it that hold the keys, where it is not one itself.
    """

    def __init__(self, client: "redis.Redis", holders: Sequence["redis.Redis"] = ()) -> None:
        self.client = client
        self._holders = list(holders) or [client]

    def exchange(self, queued: Sequence[Queued]) -> list[Any]:
        return BorrowedConnection(self.client).exchange(queued)

    def conversation(self) -> Conversation:
        return OneServerConversation(self.client)

    def servers(self) -> list["redis.Redis"]:
        return self._holders


class OneServerConversation:
    """A conversation with one server: it works on one exchange while the next is made."""

    def __init__(self, client: "redis.Redis") -> None:
        self._borrowed = BorrowedConnection(client)
        self._unread: deque[Sequence[Queued]] = deque()

    def write(self, queued: Sequence[Queued]) -> None:
        self._unread.append(queued)
        self._borrowed.write(queued)

    def read(self) -> list[Any]:
        replies = self._borrowed.read(self._unread[0])
        self._unread.popleft()
        return replies

    def close(self) -> None:
        if self._unread:
            self._borrowed.cut()
        self._borrowed.give_back()
