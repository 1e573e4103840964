"""The connections that a worker closes: those over an address's share, and those whose client reads too slowly."""

import contextlib
import socket
import sys

import pytest

from retwis_site.server import connections
from retwis_site.server.connections import Connections
from tests.support.processes.processes import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what it knows about a connection")

ALICE, BOB, CAROL = "127.0.0.2", "127.0.0.3", "127.0.0.4"


class Server:
    """A server that only accepts, and the watch over its connections."""

    def __init__(self, stack, most):
        self._stack = stack
        self._listening = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=100))
        self.port = self._listening.getsockname()[1]
        self.watch = Connections(self.port, most)

    def connect(self, address):
        """Both ends of a new connection: the client's, the server's."""
        client = self._stack.enter_context(socket.socket())
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.bind((address, 0))
        client.connect(("127.0.0.1", self.port))
        accepted, _ = self._listening.accept()
        self._stack.enter_context(accepted)
        client.settimeout(10)
        accepted.setblocking(False)
        return client, accepted


@pytest.fixture
def server():
    with contextlib.ExitStack() as stack:
        yield Server(stack, most=1000)


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(connections.time, "monotonic", lambda: now[0])
    return now


def is_open(pair):
    """Whether the server's end is open."""
    try:
        while pair[1].recv(65536):
            pass
        return False
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def open_ones(pairs):
    return [is_open(pair) for pair in pairs]


def test_an_address_over_its_share_loses_the_connections_that_were_silent_for_longest(server, monkeypatch, caplog):
    monkeypatch.setattr(connections, "SHARE", 3)
    alice = [server.connect(ALICE) for _ in range(5)]
    bob = [server.connect(BOB) for _ in range(3)]
    for later in (alice[1], alice[0], alice[4]):
        wait_until(lambda: min(map(silence, alice)) > 20, "silence")
        later[0].sendall(b"x")
    server.watch.look()
    assert open_ones(alice) == [True, True, False, False, True]
    assert open_ones(bob) == [True] * 3
    assert f"closed 2 connections, most of them from {ALICE}" in caplog.text


def silence(pair):
    """Milliseconds since the client sent something."""
    return int.from_bytes(pair[1].getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 56)[52:56], sys.byteorder)


def test_the_client_of_a_closed_connection_notices(server, monkeypatch):
    monkeypatch.setattr(connections, "SHARE", 0)
    client, accepted = server.connect(ALICE)
    server.watch.look()
    accepted.close()
    assert client.recv(1) == b""


def test_shares_become_smaller_when_there_are_too_many_connections(monkeypatch):
    with contextlib.ExitStack() as stack:
        server = Server(stack, most=8)
        alice, bob = [server.connect(ALICE) for _ in range(5)], [server.connect(BOB) for _ in range(1)]
        server.watch.look()
        assert sum(open_ones(alice)) == 2  # a half of most, divided by two addresses
        assert open_ones(bob) == [True]


def test_more_addresses_than_connections_lose_the_longest_silent(monkeypatch):
    with contextlib.ExitStack() as stack:
        server = Server(stack, most=8)
        pairs = [server.connect(f"127.0.0.{number + 2}") for number in range(8)]
        wait_until(lambda: min(map(silence, pairs)) > 20, "silence")
        for client, _ in pairs[:4]:
            client.sendall(b"x")
        server.watch.look()
        assert sum(open_ones(pairs)) == 6
        assert open_ones(pairs[:4]) == [True] * 4


def test_a_connection_whose_request_is_under_way_is_kept_longest(server, monkeypatch):
    monkeypatch.setattr(connections, "SHARE", 2)
    asking = server.connect(ALICE)
    asking[0].sendall(b"POST")
    wait_until(lambda: silence(asking) > 20, "silence")
    answered = server.connect(ALICE)
    answered[0].sendall(b"GET")
    wait_until(lambda: silence(answered) > 20, "silence")
    answered[1].send(b"answer")
    idle = server.connect(ALICE)
    server.watch.look()
    assert open_ones([asking, answered, idle]) == [True, False, True]
    monkeypatch.setattr(connections, "SHARE", 1)
    server.watch.look()
    assert open_ones([asking, idle]) == [True, False]


def test_the_watch_goes_on_after_an_error(server, monkeypatch, caplog):
    looks = []

    def look():
        looks.append(1)
        if len(looks) == 1:
            raise OSError("Too many open files")

    monkeypatch.setattr(connections, "LOOKS_EVERY", 0.01)
    monkeypatch.setattr(server.watch, "look", look)
    stop = server.watch.watch()
    try:
        wait_until(lambda: len(looks) >= 2, "the second look")
    finally:
        stop.set()
    assert "connections cannot be counted" in caplog.text


def test_connections_to_other_ports_and_other_files_are_left_alone(server, monkeypatch, tmp_path):
    monkeypatch.setattr(connections, "SHARE", 0)
    with contextlib.ExitStack() as stack:
        other = Server(stack, most=1000)
        pair = other.connect(ALICE)
        one, two = (stack.enter_context(end) for end in socket.socketpair())
        server.watch.look()
        assert is_open(pair)
        one.sendall(b"x")
        assert two.recv(1) == b"x"


def fill(pair):
    """Send until nobody takes more."""
    with contextlib.suppress(BlockingIOError):
        while True:
            pair[1].send(b"x" * 65536)


def test_a_client_that_does_not_read_is_cut_off(server, clock):
    slow, idle = server.connect(ALICE), server.connect(ALICE)
    fill(slow)
    server.watch.look()
    clock[0] += connections.PATIENCE - 1
    server.watch.look()
    assert is_open(slow)
    clock[0] += 2
    server.watch.look()
    assert open_ones([slow, idle]) == [False, True]


def test_a_client_that_reads_slowly_but_steadily_stays(server, clock):
    steady = server.connect(ALICE)
    fill(steady)
    for _ in range(4):
        server.watch.look()
        clock[0] += connections.PATIENCE + 1
        read = 0
        while read < 2 * connections.SLOWEST * connections.PATIENCE + 200_000:
            read += len(steady[0].recv(65536))
        fill(steady)
        server.watch.look()
        assert is_open(steady)


def test_the_log_has_a_line_a_minute(server, monkeypatch, clock, caplog):
    monkeypatch.setattr(connections, "SHARE", 0)
    for _ in range(3):
        server.connect(ALICE)
        server.watch.look()
    assert caplog.text.count("closed 1 connections") == 1
    clock[0] += connections.LOGS_EVERY
    server.connect(CAROL)
    server.watch.look()
    assert caplog.text.count("closed") == 2
