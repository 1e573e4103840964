"""Requests as bytes over a socket."""

import socket

from tests.support.http.http_browser import TIMEOUT

HOST = b"Host: localhost\r\n"


def exchange(port, request):
    """Send the bytes. Returns the answer, as latin-1 text, once the server closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode("latin-1")
