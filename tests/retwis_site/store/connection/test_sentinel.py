"""Sentinels elect another primary: the site uses it, with 503s until then and no wrong answers."""

import contextlib
import socket
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest
from redis.sentinel import MasterNotFoundError

from retwis_site.store.client import connect
from retwis_site.store.connection import topology
from tests.support.people import register
from tests.support.processes.processes import connections_to, wait_until
from tests.support.runs.figures import assert_timeout
from tests.support.stores import acl_users, topologies
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts

pytestmark = pytest.mark.sentinel


@pytest.fixture
def primary_and_replica(moved):
    """A primary with a replica and three sentinels, for one test."""
    with tempfile.TemporaryDirectory(prefix="retwis-") as folder:
        ports = topologies.free_ports(5)
        servers = [topologies.Server(folder, port, users=acl_users.sentinel_lines()) for port in ports[:2]]
        with topologies.running(servers):
            primary, replica = servers
            replica.client.execute_command("REPLICAOF", "127.0.0.1", primary.port)
            wait_until(lambda: replica.client.info()["master_link_status"] == "up", "the replica")
            with topologies.sentinels(folder, ports[2:], primary.port):
                moved(",".join(f"redis://{acl_users.credentials()}127.0.0.1:{port}" for port in ports[2:]))
                yield primary, replica


@pytest.mark.parametrize("fault", ["kill", "hang"])
def test_a_primary_that_fails_is_replaced(primary_and_replica, browser, fault):
    primary, replica = primary_and_replica
    alice = register(connect(), "alice")
    Posts(connect()).publish(alice.user.uid, NewPost("Hello"), "t")
    client = browser(alice)
    assert client.get("/").status_code == 200
    topologies.wait_for_replica(primary.client, replica.client)
    getattr(primary, fault)()
    statuses = []

    def is_available():
        answer = client.get("/")
        statuses.append(answer.status_code)
        page = answer.content.decode()
        assert answer.status_code == 503 or ("Hello" in page and 'action="/logout/"' in page)
        return answer.status_code == 200 and client.post("/post/", {"body": "Again", "token": "u"}).status_code == 302

    wait_until(is_available, "another primary")
    assert 503 in statuses
    assert replica.client.info()["role"] == "master"
    assert replica.client.zcard("updates:1") == 2
    primary.go_on() if fault == "hang" else primary.start()
    for _ in range(20):  # the old primary is up again, but not used
        assert "Again" in client.get("/").content.decode()
    assert replica.refused() == []


def test_a_primary_that_was_replaced_gets_no_more_writes_on_open_connections(primary_and_replica, browser, monkeypatch):
    monkeypatch.setattr(topology, "ASKS_EVERY", 0.0)  # seconds
    primary, replica = primary_and_replica
    alice = register(connect(), "alice")
    client = browser(alice)
    assert client.post("/post/", {"body": "Hello", "token": "t"}).status_code == 302
    topologies.wait_for_replica(primary.client, replica.client)
    sentinels = [topologies.administrator(topology.parsed(url, "REDIS_URL")["port"]) for url in topology.urls()]
    wait_until(lambda: sentinels[0].execute_command("SENTINEL", "FAILOVER", topologies.SERVICE), "a known replica")
    elected = ("127.0.0.1", replica.port)
    for sentinel in sentinels:
        wait_until(lambda s=sentinel: s.sentinel_get_master_addr_by_name(topologies.SERVICE) == elected, "a failover")
    assert client.post("/post/", {"body": "Again", "token": "u"}).status_code == 302
    assert replica.client.zcard("updates:1") == 2
    assert primary.client.zcard("updates:1") == 1


def test_a_primary_that_is_being_replaced_gets_no_more_writes(moved, browser, settings, monkeypatch):
    monkeypatch.setattr(topology, "ASKS_EVERY", 0.0)  # seconds
    moved(settings.REDIS_URL)
    client = browser(register(connect(), "alice"))
    assert client.post("/post/", {"body": "Hello", "token": "t"}).status_code == 302
    [sentinel, *_] = connect().transport.client.connection_pool.sentinel_manager.sentinels
    [state] = [{**state} for state in sentinel.sentinel_masters().values()]
    assert not state["is_sdown"]
    being_replaced = {**state, "flags": "master,failover_in_progress"}
    monkeypatch.setattr(sentinel, "sentinel_masters", lambda: {topologies.SERVICE: being_replaced})
    assert [client.post("/post/", {"body": "Lost", "token": "u"}).status_code for _ in range(2)] == [503, 503]
    monkeypatch.undo()  # the sentinels have given it up
    assert "Lost" not in client.get("/").content.decode()
    assert client.post("/post/", {"body": "Again", "token": "v"}).status_code == 302


def test_sentinels_that_hang_or_are_down_may_be_first_in_the_url(site_timeout, raw, moved, browser, settings):
    assert browser().get("/timeline/").status_code == 200  # loads the views and the templates
    [unused] = topologies.free_ports(1)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ports = [listening.getsockname()[1], unused]
        before = ",".join(f"redis://{acl_users.credentials()}127.0.0.1:{port}" for port in ports)
        moved(f"{before},{settings.REDIS_URL}")
        started = time.monotonic()
        assert browser().get("/timeline/").status_code == 200
        connect().transport.client.connection_pool.disconnect()
        assert browser().get("/timeline/").status_code == 200
        assert_timeout("a page while sentinels hang", time.monotonic() - started, 2)


OLD = {"ip": "old", "port": 1, "config-epoch": 1, "is_master": True, "is_sdown": False, "is_odown": False}
OLD |= {"flags": "master", "num-other-sentinels": 2}
NEW = {**OLD, "ip": "new", "config-epoch": 2}
REPLACED = {**OLD, "config-epoch": 2, "flags": "master,failover_in_progress"}  # by the sentinel that says so


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize(
    ("one", "others", "expected"),
    [
        (OLD, NEW, "new"),  # it is cut off from the others, with the old primary
        (OLD, {**NEW, "is_sdown": True}, None),
        (REPLACED, NEW, "new"),
        (REPLACED, OLD, None),  # what the old one would accept is lost
        ({**REPLACED, "config-epoch": 1}, OLD, None),  # the other one takes over at any moment
        ({**REPLACED, "config-epoch": 1}, NEW, "new"),
        ({**OLD, "is_sdown": True}, OLD, "old"),
    ],
)
def test_where_sentinels_disagree_the_newest_election_counts(place, one, others, expected):
    manager = topology.Sentinels([("127.0.0.1", 1)] * 3)
    for number, sentinel in enumerate(manager.sentinels):
        state = one if number == place else others
        sentinel.sentinel_masters = lambda state=state: {topologies.SERVICE: state}
    with nullcontext() if expected else pytest.raises(MasterNotFoundError):
        assert manager.discover_master(topologies.SERVICE) == (expected, 1)


def test_when_all_sentinels_hang_pages_are_a_503_soon(site_timeout, moved, browser):
    with contextlib.ExitStack() as listening:
        sockets = [listening.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]
        moved(",".join(f"redis://127.0.0.1:{one.getsockname()[1]}" for one in sockets))
        assert [browser().get("/timeline/").status_code for _ in range(20)] == [503] * 20
        assert sum(map(connections_to, sockets)) <= 20  # of 60, if each page asked all three


def test_no_sentinel_is_lost_when_threads_ask_at_the_same_time(moved, settings):
    [unused] = topologies.free_ports(1)
    moved(f"redis://127.0.0.1:{unused},{settings.REDIS_URL}")
    manager = connect().transport.client.connection_pool.sentinel_manager
    with ThreadPoolExecutor(8) as threads:
        primaries = set(threads.map(lambda _: manager.discover_master(topologies.SERVICE), range(200)))
    assert primaries == {("127.0.0.1", settings.SERVERS[0].port)}
    ports = [sentinel.connection_pool.connection_kwargs["port"] for sentinel in manager.sentinels]
    assert ports == [unused, *settings.SENTINELS]


def test_sentinels_that_know_no_primary_are_a_503(moved, browser):
    [port] = topologies.free_ports(1)
    moved(f"redis://127.0.0.1:{port}")
    assert browser().get("/timeline/").status_code == 503
    assert browser().get("/livez").status_code == 200
