"""A connection is used again and again, and replaced when it is broken or was made before a fork."""

import os

import pytest

from retwis_site.store.connection import transport
from retwis_site.store.connection.transport import FRESH, Pool
from tests.support.clock import Clock


class Connection:
    """What a pool needs of redis-py's connections."""

    def __init__(self, **options):
        self.pid = os.getpid()
        self.times_connected = 0
        self.is_connected = False
        self.closed_by_server = False

    def connect(self):
        if not self.is_connected:
            self.times_connected += 1
            self.is_connected, self.closed_by_server = True, False
            self.opened_at = transport.time.monotonic()

    def disconnect(self, *args):
        self.is_connected = False

    def can_read(self):
        return self.closed_by_server

    def should_reconnect(self):
        return False

    def re_auth(self):
        """Nothing to do: there is no password."""


@pytest.fixture
def pool():
    return Pool(connection_class=Connection)


@pytest.fixture
def later(monkeypatch):
    """`later(2)`: two seconds pass."""
    clock = Clock()
    monkeypatch.setattr(transport, "time", clock)
    return clock.sleep


def lent_and_given_back(pool):
    connection = pool.get_connection()
    pool.release(connection)
    return connection


def test_a_connection_that_was_given_back_is_lent_again(pool):
    first = lent_and_given_back(pool)
    assert lent_and_given_back(pool) is first
    assert (first.is_connected, first.times_connected) == (True, 1)


def test_two_users_never_have_the_same_connection(pool):
    first, second = pool.get_connection(), pool.get_connection()
    assert first is not second
    pool.release(first)
    pool.release(second)
    assert {pool.get_connection(), pool.get_connection()} == {first, second}


def test_a_connection_that_the_server_has_closed_meanwhile_is_replaced(pool, later):
    connection = lent_and_given_back(pool)
    connection.closed_by_server = True
    later(FRESH + 1)
    assert lent_and_given_back(pool).times_connected == 2
    assert lent_and_given_back(pool).times_connected == 2


def test_a_connection_that_was_used_just_now_is_not_looked_at(pool, later):
    connection = lent_and_given_back(pool)
    connection.closed_by_server = True
    later(FRESH / 2)
    assert lent_and_given_back(pool) is connection
    assert connection.times_connected == 1


def test_when_one_connection_broke_the_others_are_looked_at(pool, later):
    first, second = pool.get_connection(), pool.get_connection()
    pool.release(second)
    second.closed_by_server = True
    first.disconnect()
    pool.release(first)
    assert [pool.get_connection().times_connected, pool.get_connection().times_connected] == [2, 2]


def test_renewed_connections_are_opened_anew_once(pool, later):
    first, second = pool.get_connection(), pool.get_connection()
    pool.release(second)
    pool.renew()
    pool.release(first)  # another thread had it meanwhile
    later(1)
    assert {lent_and_given_back(pool) for _ in range(3)} == {first}
    assert [pool.get_connection().times_connected, pool.get_connection().times_connected] == [2, 2]


def test_a_connection_that_was_cut_is_connected_again(pool):
    connection = pool.get_connection()
    connection.disconnect()
    pool.release(connection)
    assert lent_and_given_back(pool).times_connected == 2


def test_a_child_process_gets_connections_of_its_own(pool):
    inherited = [lent_and_given_back(pool), pool.get_connection()]
    child = os.fork()
    if not child:
        pool.release(inherited[1])
        mine = [pool.get_connection(), pool.get_connection()]
        os._exit(any(connection.pid != os.getpid() for connection in mine))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_pool_that_is_closed_disconnects_all_its_connections(pool):
    connections = [lent_and_given_back(pool), pool.get_connection()]
    pool.disconnect()
    assert [connection.is_connected for connection in connections] == [False, False]
