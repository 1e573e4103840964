"""Servers of every topology, on free ports of the loopback interface; they run for a block."""

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
import redis
import trustme
from redis.cluster import ClusterNode, RedisCluster

from tests.support.processes.processes import free_ports, wait_until
from tests.support.stores import acl_users

PACKAGES = {"redis-server": "redis-server", "redis-sentinel": "redis-sentinel", "nutcracker": "nutcracker"}
SLOTS = 16384
PRIMARIES = 3


def program(name):
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")  # where Debian has nutcracker
    if found is None:
        pytest.exit(f"{name} is needed: apt-get install {PACKAGES[name]}", returncode=2)
    return found


class Tls:
    """A certificate authority and a certificate that it issued, as files."""

    def __init__(self, folder, *names):
        self._folder = Path(folder)
        authority = trustme.CA()
        authority.cert_pem.write_to_path(self.authority)
        certificate = authority.issue_cert(*names)
        certificate.cert_chain_pems[0].write_to_path(self._folder / "server.pem")
        certificate.private_key_pem.write_to_path(self._folder / "server.key")

    @property
    def authority(self):
        return str(self._folder / "ca.pem")

    def lines(self, port):
        """The configuration of a server or sentinel that accepts only TLS."""
        files = {"cert": self._folder / "server.pem", "key": self._folder / "server.key", "ca-cert": self.authority}
        named = [f"tls-{name}-file {path}" for name, path in files.items()]
        return ["port 0", f"tls-port {port}", "tls-auth-clients no", "tls-replication yes", *named]

    def client(self):
        return {"ssl": True, "ssl_ca_certs": self.authority, "ssl_check_hostname": False}


def administrator(port, users=True, tls=None, name=acl_users.ADMIN):
    """The administrator's client of a server. Without `users`, its `user ...` lines, it signs in as no user."""
    identity = {"username": name, "password": acl_users.PASSWORDS[acl_users.ADMIN]} if users else {}
    return redis.Redis(
        port=port, decode_responses=True, encoding_errors="replace", **identity, **(tls.client() if tls else {})
    )


def wait_for_replica(primary, replica):
    """Wait until the replica has what the primary has now. `WAIT` would wait only for writes of its own connection."""
    written = primary.info("replication")["master_repl_offset"]
    wait_until(lambda: replica.info("replication")["slave_repl_offset"] >= written, "the replica")


class Server:
    """A `redis-server` on a port, which a test may kill, stop and start again."""

    def __init__(self, folder, port, *options, users=(), tls=None, admin=acl_users.ADMIN):
        self.port = port
        self.folder = Path(folder) / str(port)
        self.folder.mkdir()
        self.client = administrator(port, users, tls, admin)
        self._options = options
        self._lines = [*(tls.lines(port) if tls else [f"port {port}"]), "bind 127.0.0.1", f"dir {self.folder}"]
        if users:
            (self.folder / "users.acl").write_text("\n".join(users))
            password = acl_users.PASSWORDS[acl_users.REPLICA]
            self._lines += [
                f"aclfile {self.folder}/users.acl",
                f"masteruser {acl_users.REPLICA}",
                f"masterauth {password}",
            ]
        self._process = None

    def start(self):
        settings = self.folder / "redis.conf"
        settings.write_text("\n".join([*self._lines, 'save ""']))
        self._process = _launch([program("redis-server"), str(settings), *self._options])
        wait_until(self.client.ping, f"a server on {self.port}")

    def refused(self):
        """The refused commands since the last call: user and object."""
        found = [(entry["username"], entry["object"]) for entry in self.client.acl_log()]
        self.client.acl_log_reset()
        return found

    def kill(self):
        _end(self._process)

    def hang(self):
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self._process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def running(servers):
    try:
        for server in servers:
            server.start()
        yield servers
    finally:
        for server in servers:
            server.kill()


# ---- cluster


def cluster_servers(folder, count, tls=None, *options):
    """Servers of a cluster, with the users of docs/redis.md. They are not started."""
    ports = free_ports(2 * count)
    options = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000", *options]
    options += ["--tls-cluster", "yes"] if tls else []
    return [
        Server(folder, port, *options, "--cluster-port", str(bus), users=acl_users.cluster_lines(), tls=tls)
        for port, bus in zip(ports[:count], ports[count:], strict=True)
    ]


def join(servers):
    """Make a cluster: the first PRIMARIES servers share the slots, each of the others is a replica of one of them."""
    first = servers[0].client
    bus = {server.port: server.client.config_get("cluster-port")["cluster-port"] for server in servers}
    for server in servers[1:]:
        server.client.execute_command("CLUSTER", "MEET", "127.0.0.1", servers[0].port, bus[servers[0].port])
    share = SLOTS // PRIMARIES + 1
    for number, server in enumerate(servers[:PRIMARIES]):
        end = min((number + 1) * share, SLOTS) - 1
        server.client.execute_command("CLUSTER", "ADDSLOTSRANGE", number * share, end)
    wait_until(lambda: all(len(server.client.cluster("nodes")) == len(servers) for server in servers), "all to meet")
    for number, server in enumerate(servers[PRIMARIES:]):
        primary = servers[number % PRIMARIES].client.cluster("myid")
        wait_until(lambda s=server, p=primary: s.client.cluster("replicate", p), "a replica")
    wait_until(lambda: all(s.client.cluster("info")["cluster_state"] == "ok" for s in servers), "the cluster")
    return first


class Clustered(RedisCluster):
    """A client of a cluster; commands without a key go to every primary."""

    def __init__(self, ports):
        nodes = [ClusterNode("127.0.0.1", port) for port in ports]
        identity = {"username": acl_users.ADMIN, "password": acl_users.PASSWORDS[acl_users.ADMIN]}
        super().__init__(startup_nodes=nodes, decode_responses=True, encoding_errors="replace", **identity)

    def keys(self, pattern="*"):
        return super().keys(pattern, target_nodes=self.PRIMARIES)

    def flushall(self):
        return super().flushall(target_nodes=self.PRIMARIES)


# ---- sentinel

SERVICE = "retwis"
SENTINEL = """\
dir {folder}
sentinel monitor {service} 127.0.0.1 {primary} 2
sentinel down-after-milliseconds {service} 1000
sentinel failover-timeout {service} 3000
"""


@contextlib.contextmanager
def sentinels(folder, ports, primary, users=None, tls=None):
    """Three sentinels for the primary on a port, with the users of docs/redis.md or other lines."""
    users = acl_users.sentinel_config() if users is None else users
    locked = any(line.startswith("requirepass ") for line in users)
    processes = []
    try:
        for port in ports:
            own = Path(folder) / f"sentinel-{port}"
            own.mkdir()
            settings = own / "sentinel.conf"
            lines = [*(tls.lines(port) if tls else [f"port {port}"]), "bind 127.0.0.1"]
            lines += [SENTINEL.format(folder=own, service=SERVICE, primary=primary), *users]
            settings.write_text("\n".join(lines))
            processes.append(_launch([program("redis-sentinel"), str(settings)]))
        for port in ports:
            client = administrator(port, locked, tls)
            knows = lambda c=client: c.sentinel_master(SERVICE)["num-other-sentinels"] == len(ports) - 1  # noqa: E731
            wait_until(knows, "the sentinels to know each other")
        yield processes
    finally:
        for process in processes:
            _end(process)


# ---- twemproxy

PROXY = """\
retwis:
  listen: 127.0.0.1:{port}
  hash: fnv1a_64
  distribution: ketama
  redis: true
  timeout: 1000
  server_retry_timeout: 500
  auto_eject_hosts: false
{secret}  servers:
{servers}
"""


@contextlib.contextmanager
def proxy(folder, port, servers, password=None):
    """Twemproxy before servers; `password`: of their user `default`."""
    lines = "\n".join(f"   - 127.0.0.1:{server.port}:1 node{number}" for number, server in enumerate(servers))
    secret = f"  redis_auth: {password}\n" if password else ""
    settings = Path(folder) / "nutcracker.yml"
    settings.write_text(PROXY.format(port=port, servers=lines, secret=secret))
    stats = free_ports(1)[0]
    process = _launch([program("nutcracker"), "-c", str(settings), "-s", str(stats), "-m", "16384"])
    try:
        wait_until(lambda: Proxied(port, [], password).get("users") is None, "the proxy")
        yield process
    finally:
        _end(process)


class Proxied(redis.Redis):
    """A client of the servers behind a proxy; commands without a key go to every server."""

    def __init__(self, port, nodes, password=None):
        super().__init__(
            port=port, decode_responses=True, encoding_errors="replace", protocol=2, driver_info=None, password=password
        )
        self._nodes = nodes

    def keys(self, pattern="*"):
        return [key for node in self._nodes for key in node.keys(pattern)]

    def flushall(self):
        for node in self._nodes:
            node.flushall()

    def dbsize(self):
        return sum(node.dbsize() for node in self._nodes)


def _launch(command):
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _end(process):
    if process is not None and process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()
