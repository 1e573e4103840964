"""Thousands of connections from one address, that give nothing: people at other addresses do not notice."""

import contextlib
import http.client
import logging
import select
import socket
import time
from itertools import count

import pytest

from retwis_site.server.connections import SHARE
from retwis_site.server.worker import HEADER_TIMEOUT
from tests.support.http.hostile_connections import KINDS, Attack
from tests.support.http.http_browser import Browser
from tests.support.people import PASSWORD
from tests.support.processes.ports import free_port
from tests.support.processes.processes import run_site, wait_until
from tests.support.processes.timing import within

pytestmark = [pytest.mark.faults, pytest.mark.real_server]

ATTACKER, USER = "127.0.0.2", "127.0.0.3"
CONNECTIONS = 2000
SECONDS = 10.0
AT_MOST = 1.0  # seconds, for the slowest of a hundred
USERS = count(1)


@pytest.fixture(scope="module")
def site(real_server, tmp_path_factory):
    """Two workers, with the demo community."""
    folder = tmp_path_factory.mktemp("served")
    with run_site(folder, folder / "log", free_port()) as site:
        site.wait_until_it_serves()
        site.wait_for_workers()
        yield site
        assert site.process.poll() is None
        site.stop()


class User:
    """Someone who reads and writes, and how long each answer takes."""

    def __init__(self, port):
        self.browser = Browser(port, USER)
        self.name = f"user_{next(USERS)}"
        self.seconds = {"/livez": [], "home": [], "login": [], "post": []}
        self.browser.submit("/register/", username=self.name, password1=PASSWORD, password2=PASSWORD)

    def do(self):
        """Everything once; the login less often, since its number is limited."""
        for name, path in (("/livez", "/livez"), ("home", "/")):
            answer = self.browser.ask(path)
            assert answer.status == 200
            self.seconds[name].append(answer.seconds)
        token = f"{self.name}-{len(self.seconds['post'])}"
        form = {**answer.form("/post/"), "body": token, "token": token}
        posted = self.browser.ask("/post/", form)
        assert token in posted.page
        self.seconds["post"].append(posted.seconds)

    def log_in(self, port):
        browser = Browser(port, USER)
        form = browser.ask("/login/").form("/login/")
        answer = browser.ask("/login/", {**form, "username": self.name, "password": PASSWORD})
        assert answer.sets("auth") or self.name in answer.page
        self.seconds["login"].append(answer.seconds)


def slowest(seconds):
    """The slowest of each hundred."""
    return sorted(seconds)[int(0.99 * len(seconds))]


@pytest.mark.parametrize("kind", KINDS)
def test_a_user_at_another_address_notices_nothing(site, kind):
    found = within(AT_MOST, lambda _: during_an_attack(site, kind))
    logging.getLogger(__name__).info("%s: p99 %s", kind, found)


def during_an_attack(site, kind):
    """The slowest of each hundred answers."""
    users = [User(site.port) for _ in range(3)]
    with Attack(site.port, ATTACKER, KINDS[kind], CONNECTIONS).going_on():
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            for user in users:
                user.do()
            if len(users[0].seconds["login"]) < 5:
                users[0].log_in(site.port)
            time.sleep(0.2)
    return {name: slowest([one for user in users for one in user.seconds[name]]) for name in users[0].seconds}


def test_an_address_keeps_its_share_of_connections(site):
    with contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(("127.0.0.1", site.port), 5, (ATTACKER, 0)))
            for _ in range(CONNECTIONS)
        ]
        # Idle connections are closed after HEADER_TIMEOUT too, but not so soon.
        wait_until(lambda: still_open(clients) <= 2 * SHARE, "the share of two workers", seconds=HEADER_TIMEOUT / 2000)


def still_open(clients):
    poll = select.poll()
    for client in clients:
        poll.register(client, select.POLLRDHUP)
    return len(clients) - len(poll.poll(0))


def test_connections_are_served_again_after_the_attack(site):
    client = http.client.HTTPConnection("127.0.0.1", site.port, timeout=5, source_address=(ATTACKER, 0))
    client.request("GET", "/timeline/")
    assert client.getresponse().status == 200
    client.close()
