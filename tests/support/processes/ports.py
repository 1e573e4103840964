"""Ports for servers of tests, and sockets that only listen."""

import contextlib
import os
import random
import socket
from collections import deque

# Below the ports that systems give to clients: a client that connects to a free port of those may be given that same
# port, and is connected to itself. Tests that run at the same time take theirs from different parts: a port is free
# until its server starts.
PARTS = 8
_part = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % PARTS
PORTS = range(20_000, 32_000)[_part::PARTS]
_given = deque(maxlen=len(PORTS) // 2)  # lately; their servers may not have started yet


def free_port():
    """A port that is free now."""
    return free_ports(1)[0]


def free_ports(count):
    """Distinct ports that are free now."""
    with contextlib.ExitStack() as probes:
        found = []
        while len(found) < count:
            port, probe = random.choice(PORTS), probes.enter_context(socket.socket())
            if port in _given:
                continue
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                found.append(port)
                _given.append(port)
        return found


def connections_to(listening):
    """How many clients have connected to a socket that nobody accepts from. It accepts and closes their connections."""
    listening.setblocking(False)
    number = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            listening.accept()[0].close()
            number += 1
    return number
