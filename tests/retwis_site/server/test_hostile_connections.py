"""Thousands of connections from one address, that give nothing: people at other addresses do not notice. What they do
takes as long as without the attack, on the same site in the same run."""

import contextlib
import http.client
import select
import socket
from itertools import count
from statistics import median

import pytest

from retwis_site.server.connections import SHARE
from tests.support.http.hostile_connections import KINDS, Attack
from tests.support.http.http_browser import TIMEOUT, Browser
from tests.support.people import PASSWORD
from tests.support.processes.ports import free_port
from tests.support.processes.processes import run_site, wait_until
from tests.support.runs import sampling
from tests.support.runs.figures import within

pytestmark = [pytest.mark.faults, pytest.mark.real_server]

ATTACKER = "127.0.0.2"
CONNECTIONS = 2000
ROUNDS = sampling.shorter(24, 6)  # a user may publish 60 posts
AT_MOST = 1.0  # seconds, for the slowest of a hundred
# Times as long as without the attack: the site answers the attacker too, and a hash has the lowest priority.
SLOWER_AT_MOST = 50
USERS = count(1)
ADDRESSES = count(3)  # of users; from one address only some may register


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

    def __init__(self, port, address):
        self.port, self.address = port, address
        self.browser = Browser(port, address)
        self.name, self.numbers = f"user_{next(USERS)}", count(1)
        self.seconds = {"/livez": [], "home": [], "login": [], "post": []}
        self.browser.submit("/register/", username=self.name, password1=PASSWORD, password2=PASSWORD)

    def do(self):
        """Everything once, but for the login, since its number is limited."""
        for name, path in (("/livez", "/livez"), ("home", "/")):
            answer = self.browser.ask(path)
            assert answer.status == 200
            self.seconds[name].append(answer.seconds)
        token = f"{self.name}-{next(self.numbers)}"
        form = {**answer.form("/post/"), "body": token, "token": token}
        posted = self.browser.ask("/post/", form)
        assert token in posted.page
        self.seconds["post"].append(posted.seconds)

    def log_in(self):
        browser = Browser(self.port, self.address)
        form = browser.ask("/login/").form("/login/")
        answer = browser.ask("/login/", {**form, "username": self.name, "password": PASSWORD})
        assert answer.sets("auth") or self.name in answer.page
        self.seconds["login"].append(answer.seconds)


def slowest(seconds):
    """The slowest of each hundred."""
    return sorted(seconds)[int(0.99 * len(seconds))]


@pytest.mark.parametrize("kind", KINDS)
def test_a_user_at_another_address_notices_nothing(site, kind):
    within(AT_MOST, lambda: during_an_attack(site, kind))


def during_an_attack(site, kind):
    """The slowest of each hundred answers."""
    address = f"127.0.0.{next(ADDRESSES)}"
    users = [User(site.port, address) for _ in range(3)]
    quiet = used(users)
    with Attack(site.port, ATTACKER, KINDS[kind], CONNECTIONS).going_on() as attack:
        attacked = used(users)
        wait_until(lambda: attack.closed >= SHARE, "the end of some connections")
        attacked = merged(attacked, used(users))
    quiet = merged(quiet, used(users))
    usual, longer = ({name: median(times) for name, times in each.items()} for each in (quiet, attacked))
    assert sum(longer.values()) <= SLOWER_AT_MOST * sum(usual.values()), (usual, longer)
    return {f"{name} during {kind}": slowest(times) for name, times in attacked.items()}


def used(users):
    """The seconds of all answers, by their kind, while these people use the site."""
    for user in users:
        user.seconds = {name: [] for name in user.seconds}
    for number in range(ROUNDS // 2):
        for user in users:
            user.do()
        if number < 3:
            users[0].log_in()
    return {name: [one for user in users for one in user.seconds[name]] for name in users[0].seconds}


def merged(first, second):
    return {name: first[name] + second[name] for name in first}


def test_an_address_keeps_its_share_of_connections(site):
    with contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(("127.0.0.1", site.port), TIMEOUT, (ATTACKER, 0)))
            for _ in range(CONNECTIONS)
        ]
        wait_until(lambda: cut_off(clients) >= CONNECTIONS - 2 * SHARE, "the share of two workers")
        assert cut_off(clients) < CONNECTIONS


def cut_off(clients):
    """How many connections were reset: those over the share. An idle connection is closed, but not reset."""
    poll = select.poll()
    for client in clients:
        poll.register(client, 0)
    return sum(bool(events & select.POLLERR) for _, events in poll.poll(0))


def test_connections_are_served_again_after_the_attack(site):
    client = http.client.HTTPConnection("127.0.0.1", site.port, timeout=TIMEOUT, source_address=(ATTACKER, 0))
    client.request("GET", "/timeline/")
    assert client.getresponse().status == 200
    client.close()
