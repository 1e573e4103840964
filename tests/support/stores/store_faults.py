"""A server that the site reaches by TCP, and its faults: context managers. Each fault lasts for its block."""

import contextlib
import secrets
import signal
import socket
import tempfile
from pathlib import Path
from urllib.parse import quote

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.support.processes.processes import free_port, launch_server, run_server, wait_until
from tests.support.stores import acl_users

# A primary sends its data without delay, and its replica can sign in.
REPLICATION = (
    "--repl-diskless-sync-delay",
    "0",
    "--masteruser",
    acl_users.ADMIN,
    "--masterauth",
    acl_users.PASSWORDS[acl_users.ADMIN],
)
# The server serves its clients after each of these large keys, and sleeps at each key: so it loads for some seconds.
LOADED = {f"loaded:{number}": secrets.token_hex(1024) for number in range(2000)}
LOADING_SLOWLY = ("--key-load-delay", "10000", "--loading-process-events-interval-bytes", "1024")


def administrator(folder):
    """A client without retries, so that a test sees the fault."""
    return redis.Redis.from_url(
        acl_users.url(folder, acl_users.ADMIN), decode_responses=True, retry=Retry(NoBackoff(), 0), socket_timeout=10
    )


class Server:
    """A server with an append-only file, so that it can be killed. `admin` uses its unix socket."""

    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()
        self.url = (
            f"redis://{acl_users.SITE}:{quote(acl_users.PASSWORDS[acl_users.SITE], safe='')}@127.0.0.1:{self.port}"
        )
        self.admin = administrator(folder)
        self.process = None
        self._running = contextlib.ExitStack()

    def launch(self, *options):
        # Not "everysec": with a slow disk its replies come before the writes, and a kill loses them.
        own = ("--port", str(self.port), "--appendonly", "yes", "--appendfsync", "no", *REPLICATION)
        self.process = self._running.enter_context(launch_server(self.folder, *own, *options))

    def start(self, *options):
        self.launch(*options)
        wait_until(self.admin.ping, "the server")

    def kill(self):
        self._running.close()

    def says(self, section, **expected):
        """Whether a section of INFO has these values."""
        info = self.admin.info(section)
        return all(info.get(name) == value for name, value in expected.items())

    def hang_up(self):
        """Close the connections of the site."""
        self.admin.client_kill_filter(_type="normal", skipme=True)


@contextlib.contextmanager
def a_server():
    """A server that is not started yet."""
    with tempfile.TemporaryDirectory(prefix="retwis-") as folder:
        server = Server(folder)
        try:
            yield server
        finally:
            server.kill()


@contextlib.contextmanager
def down(server):
    server.kill()
    try:
        yield
    finally:
        server.start()


@contextlib.contextmanager
def hanging(server):
    server.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def unreachable(server):
    """As with a cut cable: connections are neither accepted nor refused."""
    server.kill()
    server.start("--tcp-backlog", "1")
    try:
        with hanging(server), contextlib.ExitStack() as queue:
            _fill(queue, server.port)
            yield
    finally:
        server.kill()
        server.start()


def _fill(queue, port):
    """Fill its backlog, until the kernel accepts no more connections."""
    for _ in range(20):
        try:
            queue.enter_context(socket.create_connection(("127.0.0.1", port), timeout=0.2))
        except TimeoutError:
            return
    raise AssertionError("the backlog is never full")


@contextlib.contextmanager
def loading(server):
    """The server was killed and loads its data again, slowly."""
    server.admin.mset(LOADED)
    server.admin.bgrewriteaof()  # it serves its clients only while it loads a snapshot
    wait_until(lambda: server.says("persistence", aof_rewrite_in_progress=0, aof_rewrite_scheduled=0), "a snapshot")
    server.kill()
    server.launch(*LOADING_SLOWLY)
    try:
        wait_until(lambda: server.says("persistence", loading=1), "the server to load")
        yield
        assert server.says("persistence", loading=1)
    finally:
        server.admin.config_set("key-load-delay", 0)
        wait_until(server.admin.ping, "the data to be there")
        server.admin.delete(*LOADED)


def refusing(*rights):
    """The site's user can no longer sign in, or lacks rights."""

    @contextlib.contextmanager
    def fault(server):
        server.admin.execute_command("ACL", "SETUSER", acl_users.SITE, *rights)
        server.hang_up()
        try:
            yield
        finally:
            server.admin.execute_command("ACL", "SETUSER", acl_users.SITE, "reset", *acl_users.rules())

    return fault


@contextlib.contextmanager
def configured(server, **changes):
    before = {name: server.admin.config_get(name)[name] for name in changes}
    for name, value in changes.items():
        server.admin.config_set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            server.admin.config_set(name, value)


@contextlib.contextmanager
def out_of_connections(server):
    """The only connection that is allowed is the administrator's."""
    with configured(server, maxclients=1):
        server.hang_up()
        yield


@contextlib.contextmanager
def cut_off_replica(server):
    """A replica whose primary is unreachable, and that serves no stale data."""
    with configured(server, **{"replica-serve-stale-data": "no"}):
        server.admin.replicaof("127.0.0.1", free_port())
        try:
            yield
        finally:
            server.admin.replicaof("NO", "ONE")


@contextlib.contextmanager
def read_only_replica(server):
    """Another server was promoted, and this server is its replica."""
    folder, port = Path(server.folder, "other"), free_port()
    folder.mkdir(exist_ok=True)
    follow = ("--port", str(port), *REPLICATION, "--replicaof", "127.0.0.1", str(server.port))
    with run_server(str(folder), *follow), administrator(folder) as other:
        wait_until(lambda: other.info("replication")["master_link_status"] == "up", "the other's data")
        other.replicaof("NO", "ONE")
        server.admin.replicaof("127.0.0.1", port)
        try:
            wait_until(lambda: server.says("replication", master_link_status="up"), "the link to the new primary")
            yield
        finally:
            server.admin.replicaof("NO", "ONE")


@contextlib.contextmanager
def out_of_memory(server):
    with configured(server, **{"maxmemory-policy": "noeviction", "maxmemory": 1}):
        yield


@contextlib.contextmanager
def without_replicas(server):
    """The server accepts writes only with a replica, and has none."""
    with configured(server, **{"min-replicas-to-write": 1}):
        yield


@contextlib.contextmanager
def failing_disk(server):
    """The server cannot write its snapshot, since a folder has its name."""
    in_its_place = Path(server.folder, "dump.rdb")
    in_its_place.unlink(missing_ok=True)
    in_its_place.mkdir()
    with configured(server, save="3600 1"):
        try:
            _save(server, "err")
            yield
        finally:
            in_its_place.rmdir()
            _save(server, "ok")


def _save(server, ends):
    server.admin.bgsave()
    wait_until(
        lambda: server.says("persistence", rdb_bgsave_in_progress=0, rdb_last_bgsave_status=ends), "a snapshot's end"
    )


# Faults that break everything, and faults that only break writes.
NOTHING_WORKS = {
    "down": down,
    "hanging": hanging,
    "unreachable": unreachable,
    "loading": loading,
    "refusing the password": refusing("resetpass", ">another"),
    "refusing every command": refusing("-@all"),
    "out of connections": out_of_connections,
    "a replica without its primary": cut_off_replica,
}
READING_WORKS = {
    "a read-only replica": read_only_replica,
    "out of memory": out_of_memory,
    "without the replicas it needs": without_replicas,
    "with a disk that fails": failing_disk,
}
FAULTS = NOTHING_WORKS | READING_WORKS
