"""Replies that arrive together are read like replies that arrive one by one, with the same errors as in redis-py."""

import socket
import threading

import pytest
import redis

from retwis_site.exceptions import StoreError, StoreRefused
from retwis_site.store.client import Store
from retwis_site.store.connection.transport import OneServer

pytestmark = pytest.mark.usefixtures("raw")

OPTIONS = {"decode_responses": True, "socket_timeout": 5, "protocol": 2, "driver_info": None}


@pytest.fixture
def answering():
    """`answering(*pieces)`: a store whose server sends these bytes on each connection, one piece for each read."""
    servers, threads = [], []

    def serve(server, pieces):
        while True:
            try:
                connection, _ = server.accept()
            except OSError:  # closed
                return
            with connection:
                for piece in pieces:
                    connection.recv(65536)
                    connection.sendall(piece)
                connection.recv(65536)

    def start(*pieces):
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)
        threads.append(threading.Thread(target=serve, args=(server, pieces), daemon=True))
        threads[-1].start()
        return Store(OneServer(redis.Redis(port=server.getsockname()[1], **OPTIONS)))

    yield start
    for server in servers:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
    for thread in threads:
        thread.join(5)


def read_two_keys(store):
    pipe = store.pipeline()
    replies = [pipe.get("one"), pipe.get("other")]
    pipe.execute()
    return [reply.value for reply in replies]


def test_two_replies_that_arrive_together_are_both_read(answering):
    assert read_two_keys(answering(b"$1\r\n1\r\n$-1\r\n")) == ["1", None]


def test_the_reply_of_a_loading_server_behind_a_proxy_is_a_failure_in_any_position(answering):
    """Twemproxy passes the reply on, among the replies of other servers."""
    loading = b"-LOADING Redis is loading the dataset in memory\r\n"
    for replies in (loading + b"$1\r\n1\r\n", b"$1\r\n1\r\n" + loading):
        store = answering(replies)
        for _ in range(2):  # the connection may have unread replies, so it is not used again
            with pytest.raises(StoreError, match="loading the dataset"):
                read_two_keys(store)


def test_an_error_among_other_replies_is_a_store_refused(answering):
    with pytest.raises(StoreRefused, match="WRONGTYPE"):
        read_two_keys(answering(b"$1\r\n1\r\n-WRONGTYPE Operation against a key\r\n"))
