"""The map of a cluster: asked for when it is needed, from whoever answers, by one thread at a time."""

import contextlib
import socket
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
from django.conf import settings as configured
from redis.cluster import ClusterNode

from retwis_site.exceptions import StoreError
from retwis_site.store.client import connect
from retwis_site.store.connection import cluster_slots
from retwis_site.store.connection.cluster_slots import SLOTS, Slots, address_of
from tests.support.processes.processes import wait_until
from tests.support.stores import acl_users, topologies
from tests.support.stores.cluster_moves import migrate

A, B, C = ("a", 1), ("b", 2), ("c", 3)
ALL_AT_A = [[0, SLOTS - 1, [*A, "id"]]]


class Told(Slots):
    """What servers tell is written down; no connection is made."""

    def __init__(self, named, told):
        super().__init__(named, lambda host, port: f"{host}:{port}")
        self.told = told
        self.asked = []

    def _rows(self, address):
        self.asked.append(address)
        rows = self.told[address]
        if isinstance(rows, Exception):
            raise rows
        return rows


@pytest.fixture
def clock(monkeypatch):
    """`clock(1.0)`: a second goes by."""
    now = [1000.0]
    monkeypatch.setattr(cluster_slots.time, "monotonic", lambda: now[0])

    def wait(seconds):
        now[0] += seconds

    return wait


# ---- what is told


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (["10.0.0.1", 7000, "id"], ("10.0.0.1", 7000)),
        (["", 7000, "id"], ("asked", 7000)),
        ([None, 7000, "id", ["hostname", "n1"]], ("asked", 7000)),
        (["?", 7000, "id", ["ip", "10.0.0.1"]], ("10.0.0.1", 7000)),
        (["?", 7000, "id", []], ("asked", 7000)),
        (["n1.example", 7000, "id", ["ip", "10.0.0.1"]], ("n1.example", 7000)),
        (["::1", 7000, "id"], ("::1", 7000)),
        (("::1", "7000"), ("::1", 7000)),
    ],
)
def test_where_a_server_is(told, expected):
    assert address_of(told, ("asked", 1)) == expected


def test_the_first_that_has_all_is_believed():
    known = Told([A, B], {A: [[0, 99, [*A, "id"]]], B: ALL_AT_A})
    assert known.holder("x") == A
    assert known.asked == [A, B]
    assert known.holder("y") == A
    assert known.asked == [A, B]


def test_a_slot_that_nobody_has_is_an_error_and_all_others_are_found(clock):
    known = Told([A], {A: [[0, 8000, [*A, "id"]]]})
    there, missing = "c", "a"
    assert cluster_slots.key_slot(there.encode()) <= 8000 < cluster_slots.key_slot(missing.encode())
    assert known.holder(there) == A
    with pytest.raises(redis.ConnectionError, match="no server of the cluster has that slot"):
        known.holder(missing)
    known.told[A] = ALL_AT_A
    clock(1)
    assert known.holder(missing) == A


def test_servers_without_slots_are_an_error():
    with pytest.raises(redis.ConnectionError, match="have no slots"):
        Told([A], {A: []}).holder("x")


def test_what_was_refused_is_told_rather_than_who_is_down():
    failures = {A: redis.ConnectionError("down"), B: redis.AuthenticationError("WRONGPASS"), C: redis.TimeoutError()}
    with pytest.raises(redis.AuthenticationError, match=r"^b:2: WRONGPASS$"):
        Told([A, B, C], failures).holder("x")


def test_who_failed_is_asked_last_and_who_is_named_is_never_forgotten(clock):
    known = Told([A, B], {A: redis.ConnectionError("down"), B: [[0, SLOTS - 1, [*C, "id"]]]})
    known.holder("x")
    clock(1)
    known.told |= {A: ALL_AT_A, C: redis.ConnectionError("down too"), B: redis.ConnectionError("down too")}
    known.asked.clear()
    known.look_again()
    assert known.asked == [C, B, A]
    assert known.holder("x") == A


def test_it_is_asked_for_again_at_most_twice_a_second(clock):
    known = Told([A], {A: ALL_AT_A})
    known.holder("x")
    for _ in range(10):
        known.look_again()
    assert len(known.asked) == 1
    clock(cluster_slots.LOOKS_EVERY)
    for _ in range(10):
        known.look_again()
    assert len(known.asked) == 2


def test_a_look_that_fails_leaves_what_was_known(clock):
    known = Told([A], {A: ALL_AT_A})
    known.holder("x")
    clock(1)
    known.told[A] = redis.ConnectionError("down")
    known.look_again()
    assert known.holder("x") == A


def test_after_a_first_look_that_failed_nobody_asks_for_half_a_second(clock):
    known = Told([A], {A: redis.AuthenticationError("no")})
    for _ in range(10):
        with pytest.raises(redis.AuthenticationError, match="a:1: no"):
            known.holder("x")
    assert len(known.asked) == 1
    clock(cluster_slots.LOOKS_EVERY)
    known.told[A] = ALL_AT_A
    assert known.holder("x") == A


def test_a_server_that_has_left_is_not_held_on_to(clock):
    known = Told([A], {A: [[0, 99, [*A, "id"]], [100, SLOTS - 1, [*B, "id"]]]})
    assert known.primaries() == ["a:1", "b:2"]
    clock(1)
    known.told[A] = ALL_AT_A
    known.look_again()
    assert set(known._clients) == {A}


def test_threads_that_come_together_ask_once_and_share_what_is_made():
    class Slow(Told):
        def _rows(self, address):
            time.sleep(0.05)
            return super()._rows(address)

    known = Slow([A], {A: ALL_AT_A})
    with ThreadPoolExecutor(16) as threads:
        assert set(threads.map(lambda _: known.holder("x"), range(64))) == {A}
    assert len(known.asked) == 1


# ---- servers that do not answer


@pytest.fixture
def hanging():
    """Addresses that take connections and say nothing."""
    with contextlib.ExitStack() as listening:
        found = [listening.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(6)]
        yield [f"redis://{acl_users.credentials()}127.0.0.1:{one.getsockname()[1]}" for one in found]


@pytest.mark.cluster
def test_servers_that_hang_or_are_down_may_stand_first_in_the_address(browser, moved, hanging, settings):
    [nobody] = topologies.free_ports(1)
    moved(",".join([hanging[0], f"redis://{acl_users.credentials()}127.0.0.1:{nobody}", settings.REDIS_URL]))
    started = time.monotonic()
    assert browser().get("/timeline/").status_code == 200
    assert time.monotonic() - started < 2


@pytest.mark.cluster
def test_a_crowd_before_a_cluster_that_hangs_is_answered_in_time(moved, hanging):
    moved(",".join(hanging))
    wire = connect().transport

    def ask(_):
        started = time.monotonic()
        with pytest.raises(redis.RedisError):
            wire.exchange([(("GET", "health"), {})])
        return time.monotonic() - started

    with ThreadPoolExecutor(16) as crowd:
        assert max(crowd.map(ask, range(64))) < 3


@pytest.mark.cluster
def test_while_one_server_hangs_the_others_are_read(store, raw):
    (server, *_) = configured.SERVERS
    keys = [f"user:{uid}" for uid in range(50)]
    there = [key for key in keys if raw.nodes_manager.get_node_from_slot(raw.keyslot(key)).port == server.port]
    assert 0 < len(there) < len(keys)
    store.hget("user:1", "username")
    server.hang()
    try:
        failed = []
        started = time.monotonic()
        for key in keys:
            try:
                assert store.hget(key, "username") is None
            except StoreError as error:
                failed.append((key, f"127.0.0.1:{server.port}" in str(error)))
        assert failed == [(key, True) for key in there]
        assert time.monotonic() - started < 3
    finally:
        server.go_on()
    wait_until(lambda: readable(store, there), "the server to go on")


def readable(store, keys):
    try:
        return all(store.hget(key, "username") is None for key in keys)
    except StoreError:
        return False


# ---- servers that come and go


@pytest.fixture
def alone(tmp_path):
    """A cluster of one, which has all slots: as cheap as a server."""

    def start(address="127.0.0.1"):
        [server] = topologies.cluster_servers(tmp_path, 1, None, "--bind", address)
        server.client.connection_pool.connection_kwargs["host"] = address
        servers.enter_context(topologies.running([server]))
        server.client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, SLOTS - 1)
        wait_until(lambda: server.client.cluster("info")["cluster_state"] == "ok", "the cluster")
        return server

    with contextlib.ExitStack() as servers:
        yield start


@pytest.mark.cluster
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_server_alone_does_not_know_its_own_host(alone, moved, browser, address):
    server = alone(address)
    assert server.client.execute_command("CLUSTER", "SLOTS")[0][2][0] == ""
    host = f"[{address}]" if ":" in address else address
    moved(f"redis://{acl_users.credentials()}{host}:{server.port}")
    assert browser().get("/timeline/").status_code == 200
    assert browser().get("/readyz").status_code == 200
    assert server.client.get("health")


@pytest.mark.cluster
def test_the_first_slots_of_a_new_server_are_found_there_while_they_move(alone, moved):
    """The map of a cluster has only servers with slots: the new one is on it when the first slot has arrived."""
    old, new = alone(), None
    moved(f"redis://{acl_users.credentials()}127.0.0.1:{old.port}")
    store = connect()
    store.hset("user:7", {"username": "alice"})
    with tempfile.TemporaryDirectory(prefix="retwis-") as folder:
        [new] = topologies.cluster_servers(folder, 1)
        with topologies.running([new]):
            bus = new.client.config_get("cluster-port")["cluster-port"]
            old.client.execute_command("CLUSTER", "MEET", "127.0.0.1", new.port, bus)
            both = [old.client, new.client]
            wait_until(lambda: all(len(one.cluster("nodes")) == 2 for one in both), "both to meet")
            wait_until(lambda: all(one.cluster("info")["cluster_state"] == "ok" for one in both), "the cluster")
            ids = [one.cluster("myid") for one in both]
            slot = cluster_slots.key_slot(b"user:7")
            new.client.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[0])
            old.client.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[1])
            migrate(old.client, ClusterNode("127.0.0.1", new.port), "user:7")
            assert store.hget("user:7", "username") == "alice"
            store.hset("user:7", {"username": "bob"})
            assert new.client.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 10) == ["user:7"]
            for one in reversed(both):
                one.execute_command("CLUSTER", "SETSLOT", slot, "NODE", ids[1])
            assert store.hget("user:7", "username") == "bob"
            assert len(store.transport.servers()) == 2


@pytest.mark.cluster
def test_a_cluster_whose_servers_all_have_other_addresses_is_found_by_its_names(alone, moved):
    """As when all restart in containers: what REDIS_URL names is asked again when all that was known is gone."""
    first, second = alone(), alone()
    moved(",".join(f"redis://{acl_users.credentials()}127.0.0.1:{server.port}" for server in (first, second)))
    store = connect()
    store.set("health", "first")
    store.transport._slots._named = [("127.0.0.1", second.port)]  # and what it told before was the first
    second.client.set("health", "second")
    first.kill()
    wait_until(lambda: answer(store.get, "health") == "second", "the site to find the other")


def answer(ask, *about):
    try:
        return ask(*about)
    except StoreError:
        return None


@pytest.mark.cluster
def test_a_server_that_takes_the_cluster_for_down_is_doubted(alone, moved):
    server = alone()
    moved(f"redis://{acl_users.credentials()}127.0.0.1:{server.port}")
    store = connect()
    assert store.get("health") is None
    server.client.execute_command("CLUSTER", "DELSLOTS", 0)
    wait_until(lambda: server.client.cluster("info")["cluster_state"] == "fail", "the cluster")
    store.transport._slots._looked = 0.0
    with pytest.raises(StoreError, match="redis-cli --cluster check"):
        store.get("health")
    assert len(store.transport._slots._holders) == SLOTS - 1


@pytest.mark.cluster
def test_after_a_failover_the_map_is_asked_for_once_and_not_for_each_slot(store, raw, round_trips):
    """Every slot of the replaced server would else cost a round trip more."""
    known = store.transport._slots
    store.hget("user:1", "username")
    holders = dict(known._holders)
    wrong = next(address for address in holders.values() if address != holders[cluster_slots.key_slot(b"user:1")])
    known._holders = dict.fromkeys(holders, wrong)
    known._looked = 0.0
    store.hget("user:1", "username")
    assert known._holders == holders
