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
Ends = tuple[Address, Address]  # the client's, and ours


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
    """The one of a client, such as `127.0.0.1:50000`, to where the server listens, such as `[::]:8000`."""
    found = _find(_address(client), _address(server))
    try:
        yield Connection(found)
    finally:
        if found is not None:
            found.close()


def _find(client: Address, server: Address) -> socket.socket | None:
    """The socket between these; none where there is none, or where the client has two, to two of our addresses."""
    found: dict[Ends, socket.socket] = {}
    for descriptor in _open():
        candidate = _socket(descriptor)
        if candidate is None:
            continue
        ends = _ends(candidate)
        if ends is not None and ends not in found and _are_between(ends, client, server):
            found[ends] = candidate
        else:
            candidate.close()
    if len(found) == 1:
        return found.popitem()[1]
    for candidate in found.values():
        candidate.close()
    return None


def _are_between(ends: Ends, client: Address, server: Address) -> bool:
    """The server's address is the one that it listens at: with `0.0.0.0` or `::`, at any of the machine's."""
    theirs, (host, port) = ends
    return theirs == client and port == server[1] and (server[0].is_unspecified or host == server[0])


def _open() -> list[int]:
    """The descriptors of the process; none where the system does not tell."""
    try:
        return [int(opened.name) for opened in OPEN_FILES.iterdir()]
    except OSError:
        return []


def _socket(descriptor: int) -> socket.socket | None:
    """A socket of our own for what is open there, if that is one."""
    try:
        if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            return None
        ours = os.dup(descriptor)
    except OSError:  # closed meanwhile
        return None
    try:
        return socket.socket(fileno=ours)
    except OSError:  # and something else opened
        os.close(ours)
        return None


def _ends(candidate: socket.socket) -> Ends | None:
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
