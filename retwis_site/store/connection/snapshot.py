"""The snapshot of a server: all its data at one moment, as the RDB file that it sends to a new replica.

The server forks for it, so no command of the site waits, and it needs no access to the server's disk. It is the way of
`redis-cli --rdb`. It arrives over a connection like the site's own, so user, password, TLS and sentinels are the same.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import redis
from redis.exceptions import NoPermissionError

from retwis_site.exceptions import StoreError, StoreRefused
from retwis_site.store.connection import recorder
from retwis_site.store.connection.failures import no_answer, refusal

CHUNK = 1 << 20  # bytes
PATIENCE = 60.0  # seconds without a byte; a server that prepares a snapshot sends a newline every few seconds
MARK = 40  # bytes: the random text at the end of a snapshot of unknown length

# Each may be unknown to an older server. `capa eof`: it can send without a file of its own. `rdb-only`: it need not
# remember later writes for this replica.
_OPTIONS = (("capa", "eof"), ("rdb-only", "1"))

ELSE_EXPORT = "Where the server gives no snapshot, `manage.py export FILE` keeps the site as text."


class Snapshot:
    """The snapshot of the server that `client` talks to. Iterate to read it, in chunks of at most 1 MiB; `close` ends
    it, also from another thread. `request` is sent first: then several servers can begin at the same moment."""

    def __init__(self, client: "redis.Redis") -> None:
        self._connection: Any = client.connection_pool.make_connection()
        self._received = b""

    def request(self) -> None:
        """Ask the server for its snapshot. Two round trips, and the time to connect. Raises StoreError."""
        recorder.note([("SYNC",)])
        try:
            self._connection.connect()
            for option in _OPTIONS:
                self._tell(*option)
            self._connection.send_command("SYNC", check_health=False)
            self._connection._sock.settimeout(PATIENCE)
        except redis.ResponseError as error:
            raise refusal("the connection", error) from error
        except redis.RedisError as error:
            raise no_answer(error) from error

    def __iter__(self) -> Iterator[bytes]:
        """Raises StoreRefused when the server gives no snapshot, and StoreError when it stops in the middle."""
        first = self._first_line()
        if first.startswith(b"$EOF:"):
            yield from self._until(first.removeprefix(b"$EOF:"))
        elif first.startswith(b"$"):
            yield from self._counted(int(first[1:]))
        else:
            raise _refused(first.decode(errors="replace").removeprefix("-"))

    def close(self) -> None:
        """Close the connection. A thread that waits for data gets a StoreError."""
        self._connection.disconnect()

    def _tell(self, *option: str) -> None:
        self._connection.send_command("REPLCONF", *option, check_health=False)
        try:
            self._connection.read_response()
        except NoPermissionError as error:
            raise _refused(str(error)) from error
        except redis.ResponseError:  # an older server, or one without REPLCONF, which refuses SYNC next
            return

    def _first_line(self) -> bytes:
        """The first line with a text. Newlines before it only say that the server is at work."""
        while True:
            line, newline, rest = self._received.partition(b"\n")
            if not newline:
                self._received += self._receive()
                continue
            self._received = rest
            if line.strip():
                return line.strip()

    def _counted(self, length: int) -> Iterator[bytes]:
        left = length
        while left:
            chunk = (self._received or self._receive())[:left]
            self._received = b""
            left -= len(chunk)
            yield chunk

    def _until(self, mark: bytes) -> Iterator[bytes]:
        held = self._received  # its end may be the beginning of the mark
        while (end := held.find(mark)) < 0:
            if len(held) > MARK:
                yield held[:-MARK]
                held = held[-MARK:]
            held += self._receive()
        yield held[:end]

    def _receive(self) -> bytes:
        received = b""
        with contextlib.suppress(OSError, AttributeError):  # AttributeError: `close` has removed the socket
            received = self._connection._sock.recv(CHUNK)
        if not received:
            raise StoreError(
                f"{self._name()} stopped in the middle of its snapshot. Its log says why: a full memory or disk, or "
                "its limits `repl-timeout` and `client-output-buffer-limit replica`."
            )
        return bytes(received)

    def _name(self) -> str:
        where = self._connection
        return str(getattr(where, "path", "")) or f"{where.host}:{where.port}"


def _refused(reason: str) -> StoreRefused:
    if "permission" in reason:
        return StoreRefused(f"the store refused SYNC: {reason}. Give its user +sync +replconf. {ELSE_EXPORT}")
    return StoreRefused(f"the store refused SYNC: {reason.partition(', with args')[0]}. {ELSE_EXPORT}")
