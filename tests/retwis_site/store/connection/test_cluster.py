"""A cluster that changes under load: slots move, primaries are replaced. No post is lost, and no answer is a 500."""

import tempfile
import threading
from dataclasses import dataclass, field

import pytest
from django.core.management import call_command

from accounts.signing_in.viewer import Viewer
from retwis_site.exceptions import StoreError
from retwis_site.store.client import connect
from tests.support.people import register
from tests.support.processes.processes import wait_until
from tests.support.stores import acl_users, topologies
from tests.support.stores.cluster_moves import migrate, on_its_way
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows

pytestmark = pytest.mark.cluster


@dataclass
class Author:
    """Posts one text after the other. Each is sent again with its token until it is acknowledged."""

    uid: int
    acknowledged: list = field(default_factory=list)
    failures: int = 0
    error: BaseException | None = None

    def write(self, stop):
        try:
            while not stop.is_set():
                self.post(f"{self.uid}-{len(self.acknowledged)}")
        except BaseException as error:
            self.error = error

    def post(self, text):
        while True:
            try:
                Posts(connect()).publish(self.uid, NewPost(text), text)
                self.acknowledged.append(text)
                return
            except StoreError:
                self.failures += 1


class Load:
    """Authors that follow each other. With `with Load(4) as load:`, four authors post until the block ends."""

    def __init__(self, authors):
        self.authors = [Author(register(connect(), f"author_{number}").user.uid) for number in range(authors)]
        for author in self.authors:
            for other in self.authors:
                if author is not other:
                    Follows(connect()).follow(author.uid, other.uid)
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=author.write, args=(self._stop,)) for author in self.authors]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self._stop.set()
        for thread in self._threads:
            thread.join()
        assert [author.error for author in self.authors if author.error] == []

    def written(self):
        return sum(len(author.acknowledged) for author in self.authors)

    def failures(self):
        return sum(author.failures for author in self.authors)

    def is_all_there(self, raw):
        """Assert that every author has the acknowledged posts once, in order."""
        for author in self.authors:
            texts = [raw.hget(f"post:{pid}", "body") for pid in raw.zrange(f"updates:{author.uid}", 0, -1)]
            assert texts == author.acknowledged


HOT_KEYS = ["outbox", "timeline", "next_post_id", "post:1", "updates:1", "posts:1", "followers:1", "users", "auths"]


def move_slot(cluster, slot):
    """Move a slot to another primary, key by key, like `redis-cli --cluster reshard`."""
    source = cluster.nodes_manager.get_node_from_slot(slot)
    target = next(node for node in cluster.get_primaries() if node.name != source.name)
    giving, taking = (cluster.get_redis_connection(node) for node in (source, target))
    name = {node.name: cluster.get_redis_connection(node).cluster("myid") for node in (source, target)}
    taking.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", name[source.name])
    giving.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", name[target.name])
    while keys := giving.execute_command("CLUSTER", "GETKEYSINSLOT", slot, 10):
        for key in keys:
            migrate(giving, target, key)
    for client in (taking, giving, *(cluster.get_redis_connection(node) for node in cluster.get_primaries())):
        client.execute_command("CLUSTER", "SETSLOT", slot, "NODE", name[target.name])
    cluster.nodes_manager.initialize()


def test_no_write_fails_while_slots_move(raw):
    with Load(4) as load:
        wait_until(lambda: load.written() > 40, "some posts")
        for key in HOT_KEYS:
            before = load.written()
            move_slot(raw, raw.keyslot(key))
            wait_until(lambda before=before: load.written() > before + 10, "more posts")
    assert load.failures() == 0
    load.is_all_there(raw)
    call_command("doctor", verbosity=0)


def test_a_key_is_found_while_its_slot_moves_and_afterwards(store, raw):
    """The servers reply ASK, and afterwards MOVED."""
    store.hset("user:7", {"username": "alice"})
    with on_its_way(raw, "user:7"):
        pipe = store.pipeline()
        replies = [pipe.hget("user:7", "username"), pipe.hget("user:8", "username")]
        pipe.execute()
        assert [reply.value for reply in replies] == ["alice", None]
        store.hset("user:7", {"username": "bob"})
    assert store.hget("user:7", "username") == "bob"


def test_a_pipeline_for_many_servers_is_one_round_trip(store, raw, round_trips):
    def read_users():
        pipe = store.pipeline()
        for uid in range(50):
            pipe.hget(f"user:{uid}", "username")
        pipe.execute()

    assert len({raw.nodes_manager.get_node_from_slot(raw.keyslot(f"user:{uid}")).name for uid in range(50)}) == 3
    assert len(round_trips(read_users).round_trips) == 1


def test_every_server_gets_a_share_of_the_keys(raw):
    call_command("seed", "--users=300", "--posts=600", "--follows=5", verbosity=0)
    sizes = [raw.get_redis_connection(node).dbsize() for node in raw.get_primaries()]
    assert min(sizes) > sum(sizes) / 4


@pytest.fixture
def with_replicas(moved):
    """A cluster for one test: three primaries, each with a replica."""
    with tempfile.TemporaryDirectory(prefix="retwis-") as folder:
        servers = topologies.cluster_servers(folder, 6)
        with topologies.running(servers):
            topologies.join(servers)
            moved(",".join(f"redis://{acl_users.credentials()}127.0.0.1:{server.port}" for server in servers))
            yield servers, topologies.Clustered([server.port for server in servers])


def test_no_post_is_lost_when_replicas_become_primaries_under_load(with_replicas):
    servers, _ = with_replicas
    with Load(4) as load:
        for replica in servers[3:]:
            before = load.written()
            wait_until(lambda before=before: load.written() > before + 10, "more posts")
            wait_until(lambda replica=replica: replica.client.info()["master_link_status"] == "up", "the replica")
            replica.client.execute_command("CLUSTER", "FAILOVER")
            wait_until(lambda replica=replica: replica.client.info()["role"] == "master", "the failover")
        before = load.written()
        wait_until(lambda: load.written() > before + 10, "more posts")
    load.is_all_there(topologies.Clustered([server.port for server in servers]))
    assert [entry for server in servers for entry in server.refused()] == []


def test_a_killed_primary_is_a_503_until_its_replica_takes_over(with_replicas, browser):
    servers, raw = with_replicas
    alice = register(connect(), "alice")
    Posts(connect()).publish(alice.user.uid, NewPost("Hello"), "t")
    holder = raw.nodes_manager.get_node_from_slot(raw.keyslot("user:1"))
    [victim] = [server for server in servers if server.port == holder.port]
    wait_until(lambda: victim.client.info()["connected_slaves"], "a replica")
    [replica] = [server for server in servers if server.port == victim.client.info()["slave0"]["port"]]
    topologies.wait_for_replica(victim.client, replica.client)
    victim.kill()
    assert browser(alice).get("/").status_code == 503
    client = browser(alice)
    statuses = set()

    def is_available():
        statuses.add(client.get("/").status_code)
        return 200 in statuses

    wait_until(is_available, "the replica to take over")
    assert statuses <= {200, 503}
    page = client.get("/").content.decode()
    assert "Hello" in page
    assert 'action="/logout/"' in page
    assert client.post("/post/", {"body": "Again", "token": "u"}).status_code == 302


def test_a_cluster_that_is_down_is_a_store_error_and_not_a_crash(moved, browser):
    [port] = topologies.free_ports(1)
    moved(f"redis://127.0.0.1:{port}")
    assert browser().get("/timeline/").status_code == 503
    assert browser().get("/livez").status_code == 200
    with pytest.raises(StoreError):
        Viewer(connect(), "secret").user  # noqa: B018
