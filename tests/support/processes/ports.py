"""Ports for servers of tests, and sockets that only listen."""

import contextlib
import random
import socket

# Below the ports that systems give to clients: a client that connects to a free port of those may be given that same
# port, and is connected to itself.
PORTS = range(20_000, 32_000)


def free_port():
    """A port that is free now."""
    return free_ports(1)[0]


def free_ports(count):
    """Distinct ports that are free now."""
    with contextlib.ExitStack() as probes:
        found = []
        while len(found) < count:
            probe = probes.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", random.choice(PORTS)))
                found.append(probe.getsockname()[1])
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
