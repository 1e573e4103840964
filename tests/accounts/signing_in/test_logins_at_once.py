"""Many logins at once with the right password, on `manage.py serve` with two workers: posts and pages do not wait.

How long something waits is counted in hashes, of which each login needs one: so it is the same on any machine."""

import http.client
import math
import selectors
import socket
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import count
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.contrib.auth.hashers import make_password

from accounts.signing_in.passwords import HASHING, LeanArgon2PasswordHasher
from accounts.users.accounts import Registration
from tests.support.http.http_browser import TIMEOUT
from tests.support.people import PASSWORD
from tests.support.processes.processes import free_port, run_site
from tests.support.runs.figures import within

pytestmark = [pytest.mark.real_server, pytest.mark.faults]

TOKEN = "c" * 32
LONGEST_WAIT = 0.3  # seconds of a post
# Hashes that end while nine of ten posts and pages wait. If these stood behind the logins, it would be half of a queue.
MOST_HASHES = HASHING.waiting // 4
MOST_POSTS = 50  # a user may publish 60 in an hour


@dataclass(frozen=True)
class Answered:
    status: int
    seconds: float
    hashes: int = 0  # that ended meanwhile


@dataclass
class Crowd:
    """Logins that are sent at once. They are answered in any order."""

    port: int
    names: list
    addresses: list
    answered: dict = field(default_factory=dict)

    def hashes(self):
        return sum(each.status == 302 for each in [*self.answered.values()])

    def log_in(self):
        """Send all of them, then read the answers as they come."""
        with ExitStack() as stack, selectors.DefaultSelector() as waiting:
            for name, address in zip(self.names, self.addresses, strict=True):
                connection = socket.create_connection(("127.0.0.1", self.port), TIMEOUT, (address, 0))
                waiting.register(stack.enter_context(connection), selectors.EVENT_READ, name)
            began = time.monotonic()
            for key in waiting.get_map().values():
                key.fileobj.sendall(form("/login/", username=key.data, password=PASSWORD))
            while len(self.answered) < len(self.names):
                ready = waiting.select(TIMEOUT)
                assert ready, f"only {len(self.answered)} of {len(self.names)} logins are answered"
                for key, _ in ready:
                    status = int(key.fileobj.recv(65536).split()[1])
                    self.answered[key.data] = Answered(status, time.monotonic() - began)
                    waiting.unregister(key.fileobj)


def form(path, secret="", **fields):
    """A POST, as bytes."""
    body = urlencode({"csrfmiddlewaretoken": TOKEN, **fields})
    head = (
        *(f"POST {path} HTTP/1.1", "Host: localhost", "Connection: close", f"Content-Length: {len(body)}"),
        *("Content-Type: application/x-www-form-urlencoded", f"Cookie: csrftoken={TOKEN}; auth={secret}"),
    )
    return "\r\n".join([*head, "", body]).encode()


def ask(port, secret, method, path, **fields):
    """A request from an address from which nobody logs in."""
    connection = http.client.HTTPConnection("127.0.0.1", port, TIMEOUT, ("127.1.1.1", 0))
    headers = {"Cookie": f"csrftoken={TOKEN}; auth={secret}", "Content-Type": "application/x-www-form-urlencoded"}
    body = urlencode({"csrfmiddlewaretoken": TOKEN, **fields}) if fields else None
    began = time.monotonic()
    connection.request(method, path, body, headers)
    with connection.getresponse() as response:
        response.read()
    return Answered(response.status, time.monotonic() - began)


def post_and_read(crowd, thread, secret):
    """Post and read until all logins are answered. Returns the answers to the posts, and to the pages."""
    posts, pages = [], []

    def note(answers, *request, **fields):
        before = crowd.hashes()
        answer = ask(crowd.port, secret, *request, **fields)
        answers.append(replace(answer, hashes=crowd.hashes() - before))

    while thread.is_alive():
        note(pages, "GET", "/")
        if len(posts) < MOST_POSTS:
            note(posts, "POST", "/post/", body=f"Post {len(posts)}", token=f"t{len(posts)}")
    return posts, pages


@pytest.fixture
def names(store, raw, settings):
    settings.PASSWORD_HASHERS = ["accounts.signing_in.passwords.LeanArgon2PasswordHasher"]
    encoded = make_password(PASSWORD)
    assert f"m={LeanArgon2PasswordHasher.memory_cost}," in encoded
    names = [f"user{number}" for number in range(200)]
    for name in names:
        Registration(store).register(name, encoded)
    return names


@pytest.fixture(params=["1", "0"], ids=["limited", "unlimited"])
def site(request, names, tmp_path):
    changes = {"REDIS_URL": settings.REDIS_URL, "WEB_WORKERS": "2", "THROTTLE": request.param}
    with run_site(tmp_path / "var", tmp_path / "log", free_port(), **changes) as site:
        site.wait_until_it_serves()
        site.pids()
        yield site


@pytest.mark.parametrize("times", [150, 200])
@pytest.mark.parametrize("address", ["127.0.{}.2", "127.0.{}.{}"], ids=["one address", "many addresses"])
def test_posts_and_pages_do_not_wait_for_logins(site, alice, bob, carol, names, times, address):
    tries = count(1)

    def measure():
        number = next(tries)
        crowd = Crowd(site.port, names[:times], [address.format(number, one % 250 + 2) for one in range(times)])
        thread = threading.Thread(target=crowd.log_in)
        thread.start()
        posts, pages = post_and_read(crowd, thread, (alice, bob, carol)[number - 1].secret)
        thread.join()
        assert {each.status for each in posts} == {302}
        assert {each.status for each in pages} == {200}
        assert len(crowd.answered) == times
        assert {each.status for each in crowd.answered.values()} <= {302, 503}
        assert crowd.hashes() >= HASHING.waiting
        for answers in (posts, pages):
            assert nine_of_ten([each.hashes for each in answers]) <= MOST_HASHES
        return {"a post during logins": max(each.seconds for each in posts)}

    within(LONGEST_WAIT, measure)


def nine_of_ten(numbers):
    """What nine of ten numbers do not exceed."""
    return sorted(numbers)[math.ceil(0.9 * len(numbers)) - 1]


def test_one_address_with_many_logins_refuses_no_other(site, names):
    thread = threading.Thread(target=Crowd(site.port, names, ["127.0.0.2"] * len(names)).log_in)
    thread.start()
    others = []
    while thread.is_alive():
        others.append(ask(site.port, "", "POST", "/login/", username=names[0], password=PASSWORD))
    thread.join()
    assert {each.status for each in others} == {302}
