"""TLS to sentinels, to their primary, and to a cluster, by address and by host name."""

import tempfile

import pytest

from retwis_site.exceptions import StoreError
from retwis_site.store.client import connect
from tests.support.processes.processes import wait_until
from tests.support.stores import acl_users, topologies

HERE = "127.0.0.1"


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(prefix="retwis-") as path:
        yield path


def addresses(ports, tls, host=HERE, scheme="rediss"):
    query = f"?ssl_ca_certs={tls.authority}" if scheme == "rediss" else ""
    return ",".join(f"{scheme}://{acl_users.credentials()}{host}:{port}{query}" for port in ports)


def is_refused(*texts):
    with pytest.raises(StoreError) as caught:
        connect().get("health")
    assert not [text for text in texts if text not in str(caught.value)], str(caught.value)


# ---- sentinels


@pytest.fixture
def tls_sentinels(folder):
    """A primary with sentinels that need no user, all with TLS: the primary, the sentinels' ports, the certificates."""
    tls = topologies.Tls(folder, HERE)
    port, *ports = topologies.free_ports(4)
    server = topologies.Server(folder, port, users=acl_users.sentinel_lines(), tls=tls)
    # Of the documented lines, those with the user of the sentinels on the servers.
    users = [line for line in acl_users.sentinel_config() if line.startswith("sentinel auth-")]
    with topologies.running([server]), topologies.sentinels(folder, ports, port, users, tls):
        yield server, ports, tls


@pytest.mark.sentinel
def test_the_site_works_with_tls_to_sentinels_and_their_primary(tls_sentinels, moved, settings, use_the_site):
    server, ports, tls = tls_sentinels
    settings.REDIS_SENTINEL_USERNAME = settings.REDIS_SENTINEL_PASSWORD = ""
    moved(addresses(ports, tls))
    use_the_site()
    assert server.client.hget("post:1", "body") == "in private"
    moved(addresses(ports, tls).replace("ca.pem", "server.pem"))
    is_refused("certificate verify failed", "ssl_ca_certs")
    moved(addresses(ports, tls, scheme="redis"))
    is_refused("REDIS_URL")


# ---- a cluster


@pytest.fixture
def cluster_of(folder):
    """`cluster_of("localhost")` starts a cluster with certificates for this name; returns servers and certificates."""
    running = []

    def start(*names, options=()):
        tls = topologies.Tls(folder, *names)
        servers = topologies.cluster_servers(folder, topologies.PRIMARIES, tls, *options)
        block = topologies.running(servers)
        running.append(block)
        block.__enter__()
        topologies.join(servers)
        return servers, tls

    yield start
    for block in running:
        block.__exit__(None, None, None)


@pytest.mark.cluster
def test_the_site_works_with_a_tls_cluster_by_address(cluster_of, moved, use_the_site):
    servers, tls = cluster_of(HERE)
    moved(addresses([server.port for server in servers], tls))
    use_the_site()
    assert sum(server.client.dbsize() for server in servers) > 5
    moved(addresses([server.port for server in servers], tls).replace("ca.pem", "server.pem"))
    is_refused("certificate verify failed", "ssl_ca_certs")


@pytest.mark.cluster
def test_the_site_works_with_a_tls_cluster_by_host_name(cluster_of, moved, use_the_site):
    options = ["--cluster-announce-hostname", "localhost", "--cluster-preferred-endpoint-type", "hostname"]
    servers, tls = cluster_of("localhost", HERE, options=options)
    for server in servers:
        hosts = lambda s=server: {row[2][0] for row in s.client.execute_command("CLUSTER", "SLOTS")}  # noqa: E731
        wait_until(lambda hosts=hosts: hosts() == {"localhost"}, "all to know the host names")
    moved(addresses([servers[0].port], tls, host="localhost"))
    use_the_site()
    assert {host for host, _ in connect().transport.slots.holders.values()} == {"localhost"}


@pytest.mark.cluster
def test_a_tls_cluster_is_refused_when_its_certificates_lack_the_addresses_it_tells(cluster_of, moved):
    servers, tls = cluster_of("localhost")
    moved(addresses([server.port for server in servers], tls, host="localhost"))
    is_refused("certificate verify failed", "cluster-announce-hostname")
