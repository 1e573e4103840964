"""Replies that arrive together are read like those that come one by one: what redis-py takes for a failure is one."""

import socket
import threading

import pytest
import redis

from retwis_site.exceptions import StoreError, StoreRefused
from retwis_site.store.client import Store
from retwis_site.store.connection.transport import OneServer

OPTIONS = {"decode_responses": True, "socket_timeout": 5, "protocol": 2, "driver_info": None}


@pytest.fixture
def answering():
    """`answering(one, other)`: a store behind which a server gives each connection these bytes, in as many pieces, and
    nothing more."""
    servers, threads = [], []

    def serve(server, said):
        while True:
            try:
                connection, _ = server.accept()
            except OSError:  # closed
                return
            with connection:
                for piece in said:
                    connection.recv(65536)
                    connection.sendall(piece)
                connection.recv(65536)

    def start(*said):
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)
        threads.append(threading.Thread(target=serve, args=(server, said), daemon=True))
        threads[-1].start()
        return Store(OneServer(redis.Redis(port=server.getsockname()[1], **OPTIONS)))

    yield start
    for server in servers:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
    for thread in threads:
        thread.join(5)


def asked(store):
    pipe = store.pipeline()
    pipe.get("one")
    pipe.get("other")
    return pipe.execute()


def test_two_that_arrive_together_are_two(answering):
    assert asked(answering(b"$1\r\n1\r\n$-1\r\n")) == ["1", None]


def test_a_server_that_loads_behind_a_proxy_is_a_failure_whichever_it_is(answering):
    """Twemproxy hands its reply on, in its place among the others'."""
    loading = b"-LOADING Redis is loading the dataset in memory\r\n"
    for said in (loading + b"$1\r\n1\r\n", b"$1\r\n1\r\n" + loading):
        store = answering(said)
        for _ in range(2):  # and the connection, on which replies may be left, is not used again
            with pytest.raises(StoreError, match="loading the dataset"):
                asked(store)


def test_a_refusal_among_others_is_one(answering):
    with pytest.raises(StoreRefused, match="WRONGTYPE"):
        asked(answering(b"$1\r\n1\r\n-WRONGTYPE Operation against a key\r\n"))
