"""How many connections one client address may hold, and how slowly a client may read.

granian accepts every connection. So a thread in each worker looks at the worker's sockets once a second, and closes

- connections of an address that holds more than its share: first those without a request, and those that have been
  silent for longest;
- connections whose client reads less than SLOWEST bytes a second.

The kernel knows all of it (`struct tcp_info` in linux/tcp.h), so requests cost nothing. Only Linux has these limits.
"""

import logging
import os
import socket
import struct
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from retwis_site.http.client_ip import network_of

logger = logging.getLogger("retwis.security")

MOST_CONNECTIONS = 8192  # of a worker
SHARE = 256  # connections of one client address, of a worker; a browser has up to six, and closes them when idle
LOOKS_EVERY = 1.0  # seconds
SLOWEST = 256  # bytes a second
PATIENCE = 30.0  # seconds over which SLOWEST is measured
LOGS_EVERY = 60.0  # seconds

# Of `struct tcp_info`: unacked, last_data_sent, last_data_recv, bytes_acked, bytes_received and notsent_bytes.
_TCP_INFO = struct.Struct("=24xI16xI4xI64xQQ8xI")
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: the system forgets what the client has not read


class _Connection(NamedTuple):
    """A client's connection, as it was at one moment."""

    file: int
    number: int  # of the socket: the file may be another connection's a moment later
    address: str  # of the client, as rate limits count it
    asks: bool  # whether the client has sent something since the last answer
    silent: int  # milliseconds since the client sent something
    has_read: int  # bytes that the client's system has acknowledged
    waits: bool  # whether there is more to read


class Connections:
    """The connections of this process to its own port. `most` is how many it may hold."""

    def __init__(self, port: int, most: int) -> None:
        self._port = port
        self._most = most
        self._reading: dict[int, tuple[float, int]] = {}  # by number: since when, and how much had been read then
        self._logged = -LOGS_EVERY

    def watch(self) -> threading.Event:
        """Start a thread that closes connections over the limits until the event is set. Starts none where the system
        is not Linux."""
        stop = threading.Event()
        if sys.platform == "linux":
            threading.Thread(target=self._watch, args=(stop,), name="connections", daemon=True).start()
        return stop

    def look(self) -> None:
        """Close the connections that are over a limit now."""
        held = [connection for file in _files() if (connection := self._connection(file))]
        closed = {*self._over_share(held), *self._too_slow(held)}
        for connection in closed:
            _close(connection)
        if closed and time.monotonic() >= self._logged + LOGS_EVERY:
            self._logged = time.monotonic()
            most = Counter(connection.address for connection in closed).most_common(1)[0][0]
            logger.warning("closed %d connections, most of them from %s: too many, or too slow", len(closed), most)

    def _watch(self, stop: threading.Event) -> None:
        while not stop.wait(LOOKS_EVERY):
            try:
                self.look()
            except (OSError, struct.error):  # no file is left to look with, or an old kernel says less
                logger.exception("connections cannot be counted")

    def _connection(self, file: int) -> _Connection | None:
        """The client's connection that an open file is; None when it is something else."""
        found = _socket_of(file)
        if found is None:
            return None
        with found:
            try:
                return self._described(file, found)
            except OSError:  # the client has gone
                return None

    def _described(self, file: int, found: socket.socket) -> _Connection | None:
        if found.family not in {socket.AF_INET, socket.AF_INET6} or found.getsockname()[1] != self._port:
            return None
        address = network_of(found.getpeername()[0])
        information = found.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size)
        unread, answered, silent, has_read, has_sent, unsent = _TCP_INFO.unpack(information)
        asks = has_sent > 0 and (has_read == 0 or silent < answered)  # the times are those of the kernel's ticks
        number = os.fstat(found.fileno()).st_ino
        return _Connection(file, number, address, asks, silent, has_read, bool(unread or unsent))

    def _over_share(self, held: Sequence[_Connection]) -> set[_Connection]:
        by_address: dict[str, list[_Connection]] = defaultdict(list)
        for connection in held:
            by_address[connection.address].append(connection)
        half = self._most // 2
        share = SHARE if len(held) <= half else max(1, min(SHARE, half // len(by_address)))
        kept = [one for each in by_address.values() for one in sorted(each, key=_worth)[:share]]
        kept = sorted(kept, key=_worth)[: self._most * 3 // 4]
        return {*held}.difference(kept)

    def _too_slow(self, held: Sequence[_Connection]) -> Iterator[_Connection]:
        now = time.monotonic()
        before, self._reading = self._reading, {}
        for connection in held:
            if not connection.waits:
                continue
            since, had_read = before.get(connection.number, (now, connection.has_read))
            if now < since + PATIENCE:
                self._reading[connection.number] = since, had_read
            elif connection.has_read - had_read < SLOWEST * PATIENCE:
                yield connection
            else:
                self._reading[connection.number] = now, connection.has_read


def _worth(connection: _Connection) -> tuple[bool, int]:
    """The lower, the longer a connection is kept."""
    return not connection.asks, connection.silent


def _files() -> list[int]:
    with os.scandir("/proc/self/fd") as files:
        return [int(file.name) for file in files]


def _socket_of(file: int) -> socket.socket | None:
    """A second file of the same socket. It stays open when granian closes the first, so it is never another socket.
    None when the file is no socket, or is already closed."""
    try:
        copy = os.dup(file)
    except OSError:
        return None
    try:
        return socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        return None


def _close(connection: _Connection) -> None:
    found = _socket_of(connection.file)
    if found is None:
        return
    with found, suppress(OSError):  # it is closed already
        if os.fstat(found.fileno()).st_ino == connection.number:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            found.shutdown(socket.SHUT_RDWR)
