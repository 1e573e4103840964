"""Requests as bytes over a socket."""

import socket

HOST = b"Host: localhost\r\n"


def sent(port, request):
    """All that comes back until the server hangs up."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode("latin-1")
