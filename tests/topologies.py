"""Servers of every topology, on ports of their own on loopback, for as long as a block."""

import contextlib
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest
import redis
from redis.cluster import ClusterNode, RedisCluster

from tests.processes import wait_until

PACKAGES = {"redis-server": "redis-server", "redis-sentinel": "redis-sentinel", "nutcracker": "nutcracker"}
SLOTS = 16384
PRIMARIES = 3


def program(name):
    found = shutil.which(name)
    if found is None:
        pytest.exit(f"{name} is needed: apt-get install {PACKAGES[name]}", returncode=2)
    return found


def free_ports(count):
    """Distinct ones that nobody has now."""
    with contextlib.ExitStack() as probes:
        found = [probes.enter_context(socket.socket()) for _ in range(count)]
        for probe in found:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in found]


class Server:
    """One `redis-server` on a port, which a test may kill, stop and start again."""

    def __init__(self, folder, port, *options):
        self.port = port
        self.folder = Path(folder) / str(port)
        self.folder.mkdir()
        self.client = redis.Redis(port=port, decode_responses=True)
        self._options = options
        self._process = None

    def start(self):
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", ""]
        self._process = _launch([program("redis-server"), *options, *self._options])
        wait_until(self.client.ping, f"a server on {self.port}")

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


def cluster_servers(folder, count):
    ports = free_ports(2 * count)
    return [
        Server(folder, port, "--cluster-enabled", "yes", "--cluster-port", str(bus), "--cluster-node-timeout", "1000")
        for port, bus in zip(ports[:count], ports[count:], strict=True)
    ]


def join(servers):
    """Have the first PRIMARIES servers share the slots, each other one be a replica of one of them."""
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
    """A cluster as redis-cli sees it: what names no key goes to every primary."""

    def __init__(self, ports):
        nodes = [ClusterNode("127.0.0.1", port) for port in ports]
        super().__init__(startup_nodes=nodes, decode_responses=True)

    def keys(self, pattern="*"):
        return super().keys(pattern, target_nodes=self.PRIMARIES)

    def flushall(self):
        return super().flushall(target_nodes=self.PRIMARIES)


# ---- sentinel

SERVICE = "retwis"
SENTINEL = """\
port {port}
bind 127.0.0.1
dir {folder}
sentinel monitor {service} 127.0.0.1 {primary} 2
sentinel down-after-milliseconds {service} 1000
sentinel failover-timeout {service} 3000
"""


@contextlib.contextmanager
def sentinels(folder, ports, primary):
    """Three that watch over the primary on a port."""
    processes = []
    try:
        for port in ports:
            own = Path(folder) / f"sentinel-{port}"
            own.mkdir()
            settings = own / "sentinel.conf"
            settings.write_text(SENTINEL.format(port=port, folder=own, service=SERVICE, primary=primary))
            processes.append(_launch([program("redis-sentinel"), str(settings)]))
        for port in ports:
            client = redis.Redis(port=port, decode_responses=True)
            knows = lambda c=client: c.sentinel_master(SERVICE)["num-other-sentinels"] == len(ports) - 1  # noqa: E731
            wait_until(knows, "the sentinels to know each other")
        yield
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
  servers:
{servers}
"""


@contextlib.contextmanager
def proxy(folder, port, servers):
    """Twemproxy before plain servers."""
    lines = "\n".join(f"   - 127.0.0.1:{server.port}:1 node{number}" for number, server in enumerate(servers))
    settings = Path(folder) / "nutcracker.yml"
    settings.write_text(PROXY.format(port=port, servers=lines))
    stats = free_ports(1)[0]
    process = _launch([program("nutcracker"), "-c", str(settings), "-s", str(stats), "-m", "16384"])
    try:
        wait_until(lambda: Proxied(port, []).get("x") is None, "the proxy")
        yield process
    finally:
        _end(process)


class Proxied(redis.Redis):
    """The store behind a proxy as redis-cli sees it: what names no key goes to every server."""

    def __init__(self, port, nodes):
        super().__init__(port=port, decode_responses=True, protocol=2, driver_info=None)
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
