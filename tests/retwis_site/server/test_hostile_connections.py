"""Thousands of connections that give nothing do not stop `serve`, also without a proxy: each request of others is
answered. How long these wait is nginx's work (tests/deploy/test_hostile_connections.py)."""

import http.client
from itertools import count

import pytest

from tests.support.http.hostile_connections import KINDS, Attack, User, used
from tests.support.http.http_browser import TIMEOUT, Browser
from tests.support.processes.processes import free_port, run_site
from tests.support.runs import sampling

pytestmark = [pytest.mark.faults, pytest.mark.real_server]

ATTACKER = "127.0.0.2"
CONNECTIONS = 2000
ROUNDS = sampling.shorter(24, 6)  # a user may publish 60 posts
ADDRESSES = count(3)  # of users; from one address only some may register


@pytest.fixture(scope="module")
def site(empty_store, tmp_path_factory):
    """Two workers, with the demo community."""
    folder = tmp_path_factory.mktemp("served")
    with run_site(folder, folder / "log", free_port()) as site:
        site.wait_until_it_serves()
        site.wait_for_workers()
        yield site
        assert site.process.poll() is None
        site.stop()


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"slow reader"}))  # twenty pages for each: a proxy's work
def test_a_user_at_another_address_is_answered(site, kind):
    address = f"127.0.0.{next(ADDRESSES)}"
    users = [User(lambda: Browser(site.port, address)) for _ in range(3)]
    with Attack(site.port, ATTACKER, KINDS[kind], CONNECTIONS).going_on():
        assert all(used(users, ROUNDS).values())


def test_connections_are_served_again_after_the_attack(site):
    client = http.client.HTTPConnection("127.0.0.1", site.port, timeout=TIMEOUT, source_address=(ATTACKER, 0))
    client.request("GET", "/timeline/")
    assert client.getresponse().status == 200
    client.close()
