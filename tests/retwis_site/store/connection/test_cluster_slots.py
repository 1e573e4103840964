"""The slot map of a cluster: when it is loaded, which servers are asked, and which answers count."""

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
from retwis_site.store.connection import cluster
from retwis_site.store.connection.cluster import SLOTS, SlotMap, address_of
from tests.support.clock import Clock
from tests.support.processes.processes import connections_to, wait_until
from tests.support.runs.figures import assert_timeout
from tests.support.stores import acl_users, topologies
from tests.support.stores.cluster_moves import migrate

A, B, C = ("a", 1), ("b", 2), ("c", 3)
ALL_AT_A = [[0, SLOTS - 1, [*A, "id"]]]


class FakeSlotMap(SlotMap):
    """`replies`: by server, its reply to CLUSTER SLOTS or an exception. No connection is made.

    `asked`: the servers that were asked for the map. `new_clients`: the servers that a client was made for.
    """

    def __init__(self, seeds, replies):
        super().__init__(seeds, self._make_client)
        self.replies = replies
        self.asked = []
        self.new_clients = []

    def _make_client(self, host, port):
        self.new_clients.append((host, port))
        return f"{host}:{port}"

    def slot_ranges(self, address):
        self.asked.append(address)
        reply = self.replies[address]
        if isinstance(reply, Exception):
            raise reply
        return reply


@pytest.fixture
def clock(monkeypatch):
    """`clock(1.0)` lets a second pass."""
    clock = Clock()
    monkeypatch.setattr(cluster, "time", clock)
    return clock.sleep


# ---- the replies of servers


@pytest.mark.parametrize(
    ("node", "expected"),
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
def test_the_address_of_a_server_is_read_from_the_reply_of_another(node, expected):
    assert address_of(node, ("asked", 1)) == expected


def test_the_first_map_with_all_slots_is_used():
    slot_map = FakeSlotMap([A, B], {A: [[0, 99, [*A, "id"]]], B: ALL_AT_A})
    assert slot_map.holder("x") == A
    assert slot_map.asked == [A, B]
    assert slot_map.holder("y") == A
    assert slot_map.asked == [A, B]


def test_a_slot_without_a_server_is_an_error_and_the_other_slots_work(clock):
    slot_map = FakeSlotMap([A], {A: [[0, 8000, [*A, "id"]]]})
    present, missing = "c", "a"
    assert cluster.key_slot(present.encode()) <= 8000 < cluster.key_slot(missing.encode())
    assert slot_map.holder(present) == A
    with pytest.raises(redis.ConnectionError, match="no server of the cluster has that slot"):
        slot_map.holder(missing)
    slot_map.replies[A] = ALL_AT_A
    clock(1)
    assert slot_map.holder(missing) == A


def test_servers_without_slots_are_an_error():
    with pytest.raises(redis.ConnectionError, match="have no slots"):
        FakeSlotMap([A], {A: []}).holder("x")


def test_a_refusal_is_reported_rather_than_a_server_that_is_down():
    failures = {A: redis.ConnectionError("down"), B: redis.AuthenticationError("WRONGPASS"), C: redis.TimeoutError()}
    with pytest.raises(redis.AuthenticationError, match=r"^b:2: WRONGPASS$"):
        FakeSlotMap([A, B, C], failures).holder("x")


def test_a_server_that_failed_is_asked_last_and_servers_in_the_url_are_never_forgotten(clock):
    slot_map = FakeSlotMap([A, B], {A: redis.ConnectionError("down"), B: [[0, SLOTS - 1, [*C, "id"]]]})
    slot_map.holder("x")
    clock(1)
    slot_map.replies |= {A: ALL_AT_A, C: redis.ConnectionError("down too"), B: redis.ConnectionError("down too")}
    slot_map.asked.clear()
    slot_map.refresh()
    assert slot_map.asked == [C, B, A]
    assert slot_map.holder("x") == A


def test_the_map_is_refreshed_at_most_twice_a_second(clock):
    slot_map = FakeSlotMap([A], {A: ALL_AT_A})
    slot_map.holder("x")
    for _ in range(10):
        slot_map.refresh()
    assert len(slot_map.asked) == 1
    clock(cluster.REFRESH_EVERY)
    for _ in range(10):
        slot_map.refresh()
    assert len(slot_map.asked) == 2


def test_after_a_refresh_that_fails_the_old_map_is_used(clock):
    slot_map = FakeSlotMap([A], {A: ALL_AT_A})
    slot_map.holder("x")
    clock(1)
    slot_map.replies[A] = redis.ConnectionError("down")
    slot_map.refresh()
    assert slot_map.holder("x") == A


def test_after_a_first_load_that_fails_no_server_is_asked_for_half_a_second(clock):
    slot_map = FakeSlotMap([A], {A: redis.AuthenticationError("no")})
    for _ in range(10):
        with pytest.raises(redis.AuthenticationError, match="a:1: no"):
            slot_map.holder("x")
    assert len(slot_map.asked) == 1
    clock(cluster.REFRESH_EVERY)
    slot_map.replies[A] = ALL_AT_A
    assert slot_map.holder("x") == A


def test_the_client_of_a_server_that_has_left_the_cluster_is_dropped(clock):
    slot_map = FakeSlotMap([A], {A: [[0, 99, [*A, "id"]], [100, SLOTS - 1, [*B, "id"]]]})
    assert slot_map.primaries() == ["a:1", "b:2"]
    clock(1)
    slot_map.replies[A] = ALL_AT_A
    slot_map.refresh()
    slot_map.new_clients.clear()
    assert [slot_map.client(address) for address in (A, B)] == ["a:1", "b:2"]
    assert slot_map.new_clients == [B]  # the client of A was kept


def test_threads_that_need_the_map_at_the_same_time_load_it_once():
    class SlowSlotMap(FakeSlotMap):
        def slot_ranges(self, address):
            time.sleep(0.05)
            return super().slot_ranges(address)

    slot_map = SlowSlotMap([A], {A: ALL_AT_A})
    with ThreadPoolExecutor(16) as threads:
        assert set(threads.map(lambda _: slot_map.holder("x"), range(64))) == {A}
    assert len(slot_map.asked) == 1


# ---- servers that do not answer


@pytest.fixture
def hanging():
    """Sockets of six servers that accept connections and never answer."""
    with contextlib.ExitStack() as listening:
        yield [listening.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(6)]


def url_of(listening):
    return f"redis://{acl_users.credentials()}127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.cluster
def test_servers_that_hang_or_are_down_may_be_first_in_the_url(site_timeout, browser, raw, moved, hanging, settings):
    assert browser().get("/timeline/").status_code == 200  # loads the views and the templates
    [unused] = topologies.free_ports(1)
    moved(",".join([url_of(hanging[0]), f"redis://{acl_users.credentials()}127.0.0.1:{unused}", settings.REDIS_URL]))
    started = time.monotonic()
    assert browser().get("/timeline/").status_code == 200
    assert_timeout("a page while servers hang", time.monotonic() - started, 2)


@pytest.mark.cluster
def test_many_threads_ask_few_servers_when_the_whole_cluster_hangs(site_timeout, moved, hanging):
    moved(",".join(map(url_of, hanging)))
    transport = connect().transport

    def ask(_):
        with pytest.raises(redis.RedisError):
            transport.exchange([(("GET", "health"), {})])

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(ask, range(64)))
    assert 0 < sum(map(connections_to, hanging)) < 64  # each of them waits for its timeout


@pytest.mark.cluster
def test_while_one_server_hangs_the_others_answer(site_timeout, store, raw):
    (server, *_) = configured.SERVERS
    keys = [f"user:{uid}" for uid in range(50)]
    wait_until(lambda: readable(store, keys), "what a test before has ended")
    raw.nodes_manager.initialize()  # a server that hung there may have lost its slots
    there = [key for key in keys if raw.nodes_manager.get_node_from_slot(raw.keyslot(key)).port == server.port]
    assert 0 < len(there) < len(keys)
    store.hget("user:1", "username")
    for each in configured.SERVERS:
        each.client.config_set("cluster-node-timeout", 60_000)  # else a slow machine takes it for failed, and stops all
    server.hang()
    try:
        failed, waited = [], 0
        for key in keys:
            try:
                assert store.hget(key, "username") is None
            except StoreError as error:
                failed.append((key, f"127.0.0.1:{server.port}" in str(error)))
                waited += "a moment ago" not in str(error)
        assert failed == [(key, True) for key in there]
        assert 0 < waited <= len(there) / 2
    finally:
        server.go_on()
        for each in configured.SERVERS:
            each.client.config_set("cluster-node-timeout", 1000)
    wait_until(lambda: readable(store, there), "the server to go on")


def readable(store, keys):
    try:
        return all(store.hget(key, "username") is None for key in keys)
    except StoreError:
        return False


# ---- servers that come and go


@pytest.fixture
def alone(tmp_path):
    """`alone()` starts a cluster of one server, which has all slots. It starts as fast as a single server."""

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
def test_a_cluster_of_one_server_that_does_not_know_its_own_host_works(alone, moved, browser, address):
    server = alone(address)
    assert server.client.execute_command("CLUSTER", "SLOTS")[0][2][0] == ""
    host = f"[{address}]" if ":" in address else address
    moved(f"redis://{acl_users.credentials()}{host}:{server.port}")
    assert browser().get("/timeline/").status_code == 200
    assert browser().get("/readyz").status_code == 200
    assert server.client.get("health")


@pytest.mark.cluster
def test_keys_are_found_on_a_new_server_while_its_first_slot_moves(alone, moved):
    """The map has only servers with slots: a new server is on it once its first slot has moved."""
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
            slot = cluster.key_slot(b"user:7")
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
def test_a_cluster_whose_servers_all_get_new_addresses_is_found_by_the_url(alone, moved):
    """As when all restart in containers. When no known server answers, the servers in REDIS_URL are asked again."""
    first, second = alone(), alone()
    moved(",".join(f"redis://{acl_users.credentials()}127.0.0.1:{server.port}" for server in (first, second)))
    store = connect()
    store.set("health", "first")
    store.transport.slots.seeds = [("127.0.0.1", second.port)]  # the loaded map has only the first
    second.client.set("health", "second")
    first.kill()
    wait_until(lambda: reply_or_none(store.get, "health") == "second", "the site to find the other")


def reply_or_none(command, *arguments):
    try:
        return command(*arguments)
    except StoreError:
        return None


@pytest.mark.cluster
def test_a_server_that_replies_clusterdown_makes_the_map_refresh(alone, moved, monkeypatch):
    server = alone()
    moved(f"redis://{acl_users.credentials()}127.0.0.1:{server.port}")
    store = connect()
    assert store.get("health") is None
    server.client.execute_command("CLUSTER", "DELSLOTS", 0)
    wait_until(lambda: server.client.cluster("info")["cluster_state"] == "fail", "the cluster")
    monkeypatch.setattr(cluster, "REFRESH_EVERY", 0.0)
    with pytest.raises(StoreError, match="redis-cli --cluster check"):
        store.get("health")
    assert len(store.transport.slots.holders) == SLOTS - 1


@pytest.mark.cluster
def test_after_a_failover_the_whole_map_is_loaded_once_and_not_slot_by_slot(store, raw, monkeypatch):
    """Else every slot of the replaced server would cost another round trip."""
    slot_map = store.transport.slots
    store.hget("user:1", "username")
    holders = dict(slot_map.holders)
    wrong = next(address for address in holders.values() if address != holders[cluster.key_slot(b"user:1")])
    slot_map.holders = dict.fromkeys(holders, wrong)
    monkeypatch.setattr(cluster, "REFRESH_EVERY", 0.0)
    store.hget("user:1", "username")
    assert slot_map.holders == holders
