"""Answers of which nobody knows the length: made as they are taken, and broken off where they cannot go on."""

import asyncio
import json
import os
import socket
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.http import StreamingHttpResponse

from retwis_site.exceptions import StoreError
from retwis_site.server import connection as connection_module
from retwis_site.server.connection import NotTaken, connection
from tests.support.http.rsgi_requests import Protocol, Scope, answered
from tests.support.people import register
from tests.support.processes.processes import wait_until
from tests.support.stored_posts import write_posts

URL = "/settings/download/"
MUCH = b"x" * 10_000_000  # more than the kernel takes before the client reads


@pytest.fixture
def ends():
    """A client's socket and the server's."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname(), timeout=10)
        server, _ = listener.accept()
        with client, server:
            yield client, server


def address(end):
    host, port = end
    return f"{host}:{port}"


@contextmanager
def found(client):
    with connection(address(client.getsockname()), address(client.getpeername())) as one:
        yield one


def open_files():
    return len(list(Path("/dev/fd").iterdir()))


def fill(server):
    """Send what the client does not read, as much as the kernel takes."""
    server.setblocking(False)
    sent = 0
    while True:
        try:
            sent += server.send(MUCH[:65536])
        except BlockingIOError:
            return sent


def test_a_client_that_has_taken_all_is_not_waited_for(ends):
    client, server = ends
    server.sendall(b"hello")
    assert client.recv(5) == b"hello"
    with found(client) as one:
        asyncio.run(one.is_clear())


def test_a_client_that_takes_nothing_is_given_up(ends, monkeypatch):
    monkeypatch.setattr(connection_module, "TAKEN_WITHIN", 0.1)
    client, server = ends
    fill(server)
    with found(client) as one, pytest.raises(NotTaken):
        asyncio.run(one.is_clear())


def test_a_slow_client_is_waited_for_as_long_as_it_takes_something(ends, monkeypatch):
    client, server = ends
    left = fill(server)

    async def read():
        nonlocal left
        while left:
            left -= len(client.recv(200_000))
            await asyncio.sleep(0)

    async def both():
        with found(client) as one:
            await asyncio.gather(one.is_clear(), read())

    asyncio.run(both())
    assert left == 0


def test_one_that_is_broken_off_is_over_for_both(ends):
    client, server = ends
    with found(client) as one:
        one.break_off()
        one.break_off()
    assert client.recv(1) == b""
    with pytest.raises(OSError, match=r"pipe|shut"):
        server.sendall(MUCH)


def test_nothing_stays_open(ends):
    client, _ = ends
    before = open_files()
    for _ in range(5):
        with found(client):
            assert open_files() == before + 1
    assert open_files() == before


@pytest.mark.parametrize("client", ["192.0.2.7:4711", "[2001:db8::1]:5", "[::ffff:192.0.2.7]:4711"])
def test_one_that_is_not_there_is_no_trouble(client):
    before = open_files()
    with connection(client, "127.0.0.1:8000") as one:
        asyncio.run(one.is_clear())
        one.break_off()
    assert open_files() == before


@pytest.mark.parametrize("listens_at", ["0.0.0.0", "[::]", "127.0.0.1", "[::ffff:127.0.0.1]"])  # noqa: S104
def test_it_is_found_also_where_the_server_listens_at_every_address(ends, listens_at):
    client, _ = ends
    with connection(address(client.getsockname()), f"{listens_at}:{client.getpeername()[1]}") as one:
        one.break_off()
    assert client.recv(1) == b""


@pytest.mark.parametrize("listens_at", ["127.0.0.2:{port}", "127.0.0.1:1", "0.0.0.0:1"])
def test_one_to_another_server_is_not_taken_for_it(ends, listens_at):
    client, server = ends
    with connection(address(client.getsockname()), listens_at.format(port=client.getpeername()[1])) as one:
        one.break_off()
    server.sendall(b"hello")
    assert client.recv(5) == b"hello"


def test_where_more_than_one_could_be_it_none_is():
    """A client may use one port for connections to two of the machine's addresses."""
    with socket.socket() as listener, socket.socket() as one, socket.socket() as other:
        listener.bind(("0.0.0.0", 0))  # noqa: S104  for as long as the test takes
        listener.listen()
        port = listener.getsockname()[1]
        for client in (one, other):
            client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(("127.0.0.1", 0))
        other.bind(one.getsockname())
        servers = []
        for client, host in ((one, "127.0.0.1"), (other, "127.0.0.2")):
            client.settimeout(10)
            client.connect((host, port))
            servers.append(listener.accept()[0])
        before = open_files()
        with connection(address(one.getsockname()), f"0.0.0.0:{port}") as found:
            assert open_files() == before
            found.break_off()
        with connection(address(one.getsockname()), f"127.0.0.2:{port}") as found:
            found.break_off()
        assert other.recv(1) == b""
        servers[0].sendall(b"hello")
        assert one.recv(5) == b"hello"
        for server in servers:
            server.close()


def test_where_the_system_does_not_tell_what_is_open_nothing_is_found(ends, monkeypatch):
    client, server = ends
    monkeypatch.setattr(connection_module, "OPEN_FILES", Path("/nowhere"))
    with found(client) as one:
        asyncio.run(one.is_clear())
        one.break_off()
    server.sendall(b"hello")
    assert client.recv(5) == b"hello"


def test_what_becomes_something_else_while_it_is_looked_at_does_not_stay_open(ends, monkeypatch, tmp_path):
    client, _ = ends
    real, before = os.dup, open_files()
    with (tmp_path / "file").open("w") as file:
        monkeypatch.setattr(os, "dup", lambda descriptor: real(file.fileno()))
        with found(client) as one:
            one.break_off()
            assert open_files() == before + 1  # the file
    assert open_files() == before


def test_addresses_are_the_same_however_they_are_written():
    ends = [connection_module._address(text) for text in ("[::ffff:192.0.2.7]:80", "192.0.2.7:80")]
    assert ends[0] == ends[1]


# ---- what the site sends


class Heard:
    """Stands for a connection."""

    def __init__(self, client, server):
        Heard.last = self
        self.ends, self.cleared, self.broken_off = (client, server), 0, False

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    async def is_clear(self):
        self.cleared += 1

    def break_off(self):
        self.broken_off = True


@pytest.fixture
def heard(serving, monkeypatch):
    monkeypatch.setattr(serving, "connection", Heard)
    Heard.last = None
    return Heard


def test_the_next_piece_is_made_when_the_one_before_has_been_taken(serving, heard, answers_with):
    made = []

    def pieces():
        for number in range(3):
            made.append(heard.last.cleared)
            yield str(number).encode()

    answers_with(StreamingHttpResponse(pieces()))
    protocol = answered(serving, Scope())
    assert protocol.chunks == [b"0", b"1", b"2"]
    assert made == [0, 1, 2]
    assert not heard.last.broken_off
    assert heard.last.ends == ("192.0.2.7:4711", "127.0.0.1:8000")


def test_what_says_how_long_it_is_goes_out_as_it_is(serving, heard, answers_with):
    answers_with(StreamingHttpResponse([b"one", b"two"], headers={"Content-Length": "6"}))
    assert answered(serving, Scope()).chunks == [b"one", b"two"]
    assert heard.last is None


@pytest.mark.parametrize("error", [StoreError("away"), NotTaken("nothing")])
def test_where_it_cannot_go_on_it_is_broken_off_with_a_line(serving, heard, answers_with, error, caplog):
    def pieces():
        yield b"one"
        raise error

    answers_with(StreamingHttpResponse(pieces()))
    protocol = answered(serving, Scope(URL))
    assert protocol.chunks == [b"one"]
    assert heard.last.broken_off
    assert {record.getMessage() for record in caplog.records} == {f"GET {URL}: broken off: {error}"}


def test_a_fault_of_ours_breaks_it_off_too_and_is_told(serving, heard, answers_with):
    def pieces():
        yield b"one"
        raise ZeroDivisionError

    answers_with(StreamingHttpResponse(pieces()))
    with pytest.raises(ZeroDivisionError):
        answered(serving, Scope(), Protocol())
    assert heard.last.broken_off


# ---- the site as `manage.py serve` runs it


@pytest.fixture
def large(store, raw):
    """Somebody who has written 30,000 posts."""
    login = register(store, "Alice")
    write_posts(raw, login.user.uid, range(1, 30_001))
    pipe = raw.pipeline(transaction=False)
    for pid in range(1, 30_001):
        pipe.hset(f"post:{pid}", "body", "x" * 280)
    pipe.execute()
    return login


@contextmanager
def download(site, login):
    with socket.create_connection(("127.0.0.1", site.port), timeout=20) as client:
        head = f"GET {URL} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nCookie: auth={login.secret}\r\n\r\n"
        client.sendall(head.encode())
        yield client


def rest(client):
    return b"".join(iter(lambda: client.recv(1 << 20), b""))


def ranges(raw):
    """How often a chunk was looked for."""
    return raw.info("commandstats").get("cmdstat_zrevrangebyscore", {}).get("calls", 0)


@pytest.mark.real_server
@pytest.mark.one_server
@pytest.mark.faults
def test_a_download_comes_whole(served_by_one_worker, large):
    with download(served_by_one_worker, large) as client:
        answer = rest(client)
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert answer.endswith(b"0\r\n\r\n")
    last = [line for line in answer.split(b"\n") if line.startswith(b'{"type": "end"')]
    assert json.loads(last[0])["lines"] == 30_003


@pytest.mark.real_server
@pytest.mark.one_server
@pytest.mark.faults
def test_it_is_made_no_faster_than_it_is_taken(served_by_one_worker, large, raw):
    before = ranges(raw)
    with download(served_by_one_worker, large) as client:
        assert client.recv(100).startswith(b"HTTP/1.1 200 OK")
        seen = [-2, -1]

        def stands_still():
            seen.append(ranges(raw) - before)
            return seen[-1] == seen[-2] == seen[-3]

        wait_until(stands_still, "it waits for its client")
        assert 0 < seen[-1] < 45  # of some sixty
        assert rest(client).endswith(b"0\r\n\r\n")


@pytest.mark.real_server
@pytest.mark.one_server
@pytest.mark.faults
def test_a_store_that_hangs_breaks_it_off(served_by_one_worker, large, raw):
    with download(served_by_one_worker, large) as client:
        assert client.recv(100).startswith(b"HTTP/1.1 200 OK")
        raw.client_pause(1500)
        try:
            answer = rest(client)
        except ConnectionResetError:
            answer = b""
    assert not answer.endswith(b"0\r\n\r\n")
    assert b'{"type": "end"' not in answer
