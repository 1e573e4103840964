"""Sentinels elect another primary: the site follows, with 503s in between and no wrong answers."""

import tempfile

import pytest

from retwis_site.store import connect
from tests import acl, topologies
from tests.processes import wait_until
from tests.site import register
from timeline.repositories.posts import Posts

pytestmark = pytest.mark.sentinel


@pytest.fixture
def watched(moved):
    """A primary with a replica and three sentinels, of the test's own."""
    with tempfile.TemporaryDirectory(prefix="retwis-") as folder:
        ports = topologies.free_ports(5)
        servers = [topologies.Server(folder, port, users=acl.sentinel_lines()) for port in ports[:2]]
        with topologies.running(servers):
            primary, replica = servers
            replica.client.execute_command("REPLICAOF", "127.0.0.1", primary.port)
            wait_until(lambda: replica.client.info()["master_link_status"] == "up", "the replica")
            with topologies.sentinels(folder, ports[2:], primary.port):
                moved(",".join(f"redis://{acl.credentials()}127.0.0.1:{port}" for port in ports[2:]))
                yield primary, replica


@pytest.mark.parametrize("fault", ["kill", "hang"])
def test_a_primary_that_fails_is_replaced(watched, browser, fault):
    primary, replica = watched
    alice = register(connect(), "alice")
    Posts(connect()).publish(alice.user.uid, "Hello", "t")
    client = browser(alice)
    assert client.get("/").status_code == 200
    assert primary.client.execute_command("WAIT", 1, 2000) == 1
    getattr(primary, fault)()
    answers = []

    def is_back():
        answer = client.get("/")
        answers.append(answer.status_code)
        page = answer.content.decode()
        assert answer.status_code == 503 or ("Hello" in page and 'action="/logout/"' in page)
        return answer.status_code == 200 and client.post("/post/", {"body": "Again", "token": "u"}).status_code == 302

    wait_until(is_back, "another primary", seconds=30)
    assert 503 in answers
    assert replica.client.info()["role"] == "master"
    assert replica.client.zcard("updates:1") == 2
    primary.go_on() if fault == "hang" else primary.start()
    for _ in range(20):  # the old one comes back, and is believed no more
        assert "Again" in client.get("/").content.decode()
    assert replica.refused() == []


def test_sentinels_that_know_no_primary_are_a_503(moved, browser):
    [port] = topologies.free_ports(1)
    moved(f"redis://127.0.0.1:{port}")
    assert browser().get("/timeline/").status_code == 503
    assert browser().get("/livez").status_code == 200
