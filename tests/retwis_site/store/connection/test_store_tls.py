"""TLS to sentinels, to the primary that they name, and to a cluster: by address, or by host name."""

import tempfile

import pytest

from retwis_site.exceptions import StoreError
from retwis_site.store.client import connect
from tests.support.people import PASSWORD
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


def use_the_site(browser):
    client = browser()
    form = {"username": "Dora", "password1": PASSWORD, "password2": PASSWORD}
    assert client.post("/register/", form).status_code == 302
    assert client.post("/post/", {"body": "in private", "token": "t"}).status_code == 302
    assert "in private" in client.get("/").content.decode()
    assert "in private" in client.get("/timeline/").content.decode()


def refused(*said):
    with pytest.raises(StoreError) as caught:
        connect().get("health")
    assert not [text for text in said if text not in str(caught.value)], str(caught.value)


# ---- sentinels


@pytest.fixture
def recorded_of(folder):
    """A primary with sentinels that let in whoever comes, all by TLS: their ports, and the certificates."""
    tls = topologies.Tls(folder, HERE)
    port, *ports = topologies.free_ports(4)
    server = topologies.Server(folder, port, users=acl_users.sentinel_lines(), tls=tls)
    # Of the documented lines, those that say who the sentinels are to the servers.
    users = [line for line in acl_users.lines_of_sentinels() if line.startswith("sentinel auth-")]
    with topologies.running([server]), topologies.sentinels(folder, ports, port, users, tls):
        yield server, ports, tls


@pytest.mark.sentinel
def test_sentinels_and_their_primary_by_tls(recorded_of, moved, settings, browser):
    server, ports, tls = recorded_of
    settings.REDIS_SENTINEL_USERNAME = settings.REDIS_SENTINEL_PASSWORD = ""
    moved(addresses(ports, tls))
    use_the_site(browser)
    assert server.client.hget("post:1", "body") == "in private"
    moved(addresses(ports, tls).replace("ca.pem", "server.pem"))
    refused("certificate verify failed", "ssl_ca_certs")
    moved(addresses(ports, tls, scheme="redis"))
    refused("REDIS_URL")


# ---- a cluster


@pytest.fixture
def cluster_of(folder):
    """`cluster_of("localhost")`: a cluster whose certificates are for these names; its ports, and the certificates."""
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
def test_a_cluster_by_tls_and_address(cluster_of, moved, browser):
    servers, tls = cluster_of(HERE)
    moved(addresses([server.port for server in servers], tls))
    use_the_site(browser)
    assert sum(server.client.dbsize() for server in servers) > 5
    moved(addresses([server.port for server in servers], tls).replace("ca.pem", "server.pem"))
    refused("certificate verify failed", "ssl_ca_certs")


@pytest.mark.cluster
def test_a_cluster_by_tls_and_host_name(cluster_of, moved, browser):
    options = ["--cluster-announce-hostname", "localhost", "--cluster-preferred-endpoint-type", "hostname"]
    servers, tls = cluster_of("localhost", HERE, options=options)
    for server in servers:
        told = lambda s=server: {row[2][0] for row in s.client.execute_command("CLUSTER", "SLOTS")}  # noqa: E731
        wait_until(lambda told=told: told() == {"localhost"}, "all to know the host names")
    moved(addresses([servers[0].port], tls, host="localhost"))
    use_the_site(browser)
    assert {host for host, _ in connect().transport.slots.holders.values()} == {"localhost"}


@pytest.mark.cluster
def test_a_cluster_that_names_addresses_which_its_certificates_do_not_have(cluster_of, moved):
    servers, tls = cluster_of("localhost")
    moved(addresses([server.port for server in servers], tls, host="localhost"))
    refused("certificate verify failed", "cluster-announce-hostname")
