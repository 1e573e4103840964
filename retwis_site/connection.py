"""The connection by which a long answer goes out, found among those of the process.

granian takes whatever it is given of an answer and keeps what the client has not taken yet, however much that becomes;
and it cannot break one off: one that ends early looks whole. Its socket can tell how much waits, and be shut.
"""

import asyncio
import fcntl
import os
import socket
import stat
import struct
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

TAKEN_WITHIN = 60.0  # seconds in which a client must take something of what waits
LOOKS_EVERY = 0.02  # seconds
OPEN_FILES = Path("/dev/fd")

Address = tuple[IPv4Address | IPv6Address, int]


class NotTaken(Exception):
    """The client has stopped reading."""


class Connection:
    """One client's. Without its socket, which is only looked for, it knows nothing and does nothing."""

    def __init__(self, found: socket.socket | None) -> None:
        self._socket = found

    async def is_clear(self) -> None:
        """Wait until the client has taken all that was sent. Raises NotTaken."""
        waits, until = self._waiting(), time.monotonic() + TAKEN_WITHIN
        while waits:
            await asyncio.sleep(LOOKS_EVERY)
            still = self._waiting()
            if still != waits:
                waits, until = still, time.monotonic() + TAKEN_WITHIN
            elif time.monotonic() > until:
                raise NotTaken(f"the client has taken nothing for {TAKEN_WITHIN:.0f} seconds")

    def break_off(self) -> None:
        """End it in the middle, so that the client knows that the answer is not whole."""
        if self._socket is None:
            return
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:  # the client has ended it
            return

    def _waiting(self) -> int:
        """How many bytes the client has not confirmed; 0 where the system does not tell."""
        if self._socket is None:
            return 0
        try:
            told = fcntl.ioctl(self._socket, termios.TIOCOUTQ, struct.pack("i", 0))
        except OSError:
            return 0
        return int(struct.unpack("i", told)[0])


@contextmanager
def connection(client: str, server: str) -> Iterator[Connection]:
    """The one between two addresses, such as `127.0.0.1:50000` and `[::1]:8000`."""
    found = _find(_address(client), _address(server))
    try:
        yield Connection(found)
    finally:
        if found is not None:
            found.close()


def _find(client: Address, server: Address) -> socket.socket | None:
    for opened in OPEN_FILES.iterdir():
        candidate = _socket(int(opened.name))
        if candidate is None:
            continue
        if _ends(candidate) == (client, server):
            return candidate
        candidate.close()
    return None


def _socket(descriptor: int) -> socket.socket | None:
    """A socket of our own for what is open there, if that is one."""
    try:
        if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            return socket.socket(fileno=os.dup(descriptor))
    except OSError:  # closed meanwhile
        pass
    return None


def _ends(candidate: socket.socket) -> tuple[Address, Address] | None:
    if candidate.family not in {socket.AF_INET, socket.AF_INET6}:
        return None
    try:
        (client, client_port, *_), (server, server_port, *_) = candidate.getpeername(), candidate.getsockname()
    except OSError:  # it listens, or has ended
        return None
    return (_host(client), client_port), (_host(server), server_port)


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    return _host(host.strip("[]")), int(port)


def _host(text: str) -> IPv4Address | IPv6Address:
    """An IPv4 address that comes as an IPv6 one is the same."""
    host = ip_address(text.partition("%")[0])
    return getattr(host, "ipv4_mapped", None) or host
