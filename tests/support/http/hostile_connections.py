"""Clients that hold a connection and give nothing for it, each in its way; and people who use the site meanwhile."""

import contextlib
import select
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count

from tests.support.http.http_browser import TIMEOUT, Browser
from tests.support.people import PASSWORD

IDLE = b""
HALF_HEADER = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: "
# Twenty pages, and a client that reads none of them.
SLOW_READER = b"GET /timeline/ HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20
SLOW_BODY = (
    b"POST /login/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 1000\r\n\r\nusername=a"
)
KINDS = {"idle": IDLE, "half header": HALF_HEADER, "slow reader": SLOW_READER, "slow body": SLOW_BODY}

Wrap = Callable[[socket.socket], socket.socket]


def _plain(connection: socket.socket) -> socket.socket:
    return connection


class Attack:
    """Connections from one address. Each that the server closes is opened again. `wrap` puts TLS around one."""

    def __init__(self, port: int, address: str, request: bytes, number: int, wrap: Wrap = _plain) -> None:
        self._port, self._address, self._request, self._wrap = port, address, request, wrap
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
        with contextlib.suppress(OSError):  # the server may end a connection at once
            connection.connect(("127.0.0.1", self._port))
            connection = self._wrap(connection)
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


class User:
    """Someone who reads and writes, and how long each answer takes. `new_browser`: at the user's address."""

    _numbers = count(1)

    def __init__(self, new_browser: Callable[[], Browser]) -> None:
        self._new_browser, self._browser = new_browser, new_browser()
        self._name, self._posts = f"user_{next(self._numbers)}", count(1)
        self.seconds: dict[str, list[float]] = {}
        status, page = self._browser.submit("/register/", username=self._name, password1=PASSWORD, password2=PASSWORD)
        assert f"Welcome, {self._name}!" in page, (status, page)

    def do(self) -> None:
        """Everything once, but for the login, since its number is limited."""
        for name, path in (("/livez", "/livez"), ("home", "/")):
            answer = self._browser.ask(path)
            assert answer.status == 200, (answer.status, answer.page)
            self.seconds[name].append(answer.seconds)
        token = f"{self._name}-{next(self._posts)}"
        form = {**answer.form("/post/"), "body": token, "token": token}
        posted = self._browser.ask("/post/", form)
        assert token in posted.page, (posted.status, posted.page)
        self.seconds["post"].append(posted.seconds)

    def log_in(self) -> None:
        browser = self._new_browser()
        form = browser.ask("/login/").form("/login/")
        answer = browser.ask("/login/", {**form, "username": self._name, "password": PASSWORD})
        assert answer.sets("auth") or self._name in answer.page
        self.seconds["login"].append(answer.seconds)


def used(users: Sequence[User], rounds: int) -> Mapping[str, list[float]]:
    """The seconds of all answers, by their kind, while these people use the site."""
    for user in users:
        user.seconds = {name: [] for name in ("/livez", "home", "login", "post")}
    for number in range(rounds):
        for user in users:
            user.do()
        if number < 3:
            users[0].log_in()
    return {name: [one for user in users for one in user.seconds[name]] for name in users[0].seconds}


def slowest(seconds: Sequence[float]) -> float:
    """The slowest of each hundred."""
    return sorted(seconds)[int(0.99 * len(seconds))]
