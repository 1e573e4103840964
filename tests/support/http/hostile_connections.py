"""Clients that hold a connection and give nothing for it: each in its way."""

import contextlib
import select
import socket
import threading
from collections.abc import Iterator

from tests.support.http.http_browser import TIMEOUT

IDLE = b""
HALF_HEADER = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: "
# Twenty pages, and a client that reads none of them.
SLOW_READER = b"GET /timeline/ HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20
SLOW_BODY = (
    b"POST /login/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 1000\r\n\r\nusername=a"
)
KINDS = {"idle": IDLE, "half header": HALF_HEADER, "slow reader": SLOW_READER, "slow body": SLOW_BODY}


class Attack:
    """Connections from one address. Each that the server closes is opened again."""

    def __init__(self, port: int, address: str, request: bytes, number: int) -> None:
        self._port, self._address, self._request = port, address, request
        self._connections: dict[int, socket.socket] = {}
        self._poll = select.poll()
        self._stop = threading.Event()
        self.closed = 0
        for _ in range(number):
            self._open()

    def _open(self) -> None:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.settimeout(TIMEOUT)
        connection.bind((self._address, 0))
        with contextlib.suppress(ConnectionError):  # the site ends connections over the share at once
            connection.connect(("127.0.0.1", self._port))
            connection.sendall(self._request)
        self._connections[connection.fileno()] = connection
        self._poll.register(connection, select.POLLRDHUP)

    def _run(self) -> None:
        while not self._stop.wait(0.1):
            for file, _ in self._poll.poll(0):
                self._poll.unregister(file)
                self._connections.pop(file).close()
                self.closed += 1
                self._open()

    @contextlib.contextmanager
    def going_on(self) -> Iterator["Attack"]:
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            thread.join()
            for connection in self._connections.values():
                connection.close()
