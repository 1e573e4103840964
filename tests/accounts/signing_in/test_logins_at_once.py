"""Many logins at once with the right password, on `manage.py serve` with two workers: posts and pages do not wait."""

import http.client
import selectors
import socket
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.contrib.auth.hashers import make_password

from accounts.signing_in.passwords import HASHING, LeanArgon2PasswordHasher
from accounts.users.registration import Registration
from tests.support.people import PASSWORD
from tests.support.processes.ports import free_port
from tests.support.processes.processes import run_site
from tests.support.processes.timing import within

pytestmark = [pytest.mark.real_server, pytest.mark.faults]

TOKEN = "c" * 32
LONGEST_WAIT = 0.3  # seconds of a post
LONGEST_PAGE = 2.0  # seconds
MOST_POSTS = 50  # a user may publish 60 in an hour
TIMEOUT = 30.0  # seconds; a test must fail rather than hang


@dataclass(frozen=True)
class Answered:
    status: int
    seconds: float


def form(path, secret="", **fields):
    """A POST, as bytes."""
    body = urlencode({"csrfmiddlewaretoken": TOKEN, **fields})
    head = (
        *(f"POST {path} HTTP/1.1", "Host: localhost", "Connection: close", f"Content-Length: {len(body)}"),
        *("Content-Type: application/x-www-form-urlencoded", f"Cookie: csrftoken={TOKEN}; auth={secret}"),
    )
    return "\r\n".join([*head, "", body]).encode()


def log_in_at_once(port, names, addresses):
    """Send all logins, then read the answers as they come. Returns them in the order of the names."""
    answered = {}
    with ExitStack() as stack, selectors.DefaultSelector() as waiting:
        for name, address in zip(names, addresses, strict=True):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), TIMEOUT, (address, 0)))
            waiting.register(connection, selectors.EVENT_READ, name)
        began = time.monotonic()
        for key in waiting.get_map().values():
            key.fileobj.sendall(form("/login/", username=key.data, password=PASSWORD))
        while len(answered) < len(names):
            ready = waiting.select(TIMEOUT)
            assert ready, f"{len(answered)} of {len(names)} logins are answered after {TIMEOUT} s"
            for key, _ in ready:
                answered[key.data] = Answered(int(key.fileobj.recv(65536).split()[1]), time.monotonic() - began)
                waiting.unregister(key.fileobj)
    return [answered[name] for name in names]


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


def post_and_read(port, secret, ended):
    """Post and read until `ended`. Returns the answers to the posts, and to the pages."""
    posts, pages = [], []
    while not ended():
        pages.append(ask(port, secret, "GET", "/"))
        if len(posts) < MOST_POSTS:
            posts.append(ask(port, secret, "POST", "/post/", body=f"Post {len(posts)}", token=f"t{len(posts)}"))
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
    def measure(number):
        addresses = [address.format(number + 1, one % 250 + 2) for one in range(times)]
        logins = []
        crowd = threading.Thread(target=lambda: logins.extend(log_in_at_once(site.port, names[:times], addresses)))
        crowd.start()
        posts, pages = post_and_read(site.port, (alice, bob, carol)[number].secret, lambda: not crowd.is_alive())
        crowd.join()
        assert {each.status for each in posts} == {302}
        assert {each.status for each in pages} == {200}
        assert len(logins) == times
        assert {each.status for each in logins} <= {302, 503}
        assert sum(each.status == 302 for each in logins) >= HASHING.waiting
        assert longest(pages) <= LONGEST_PAGE
        return {"post": longest(posts)}

    within(LONGEST_WAIT, measure)


def longest(answers):
    return max(each.seconds for each in answers)


def test_one_address_with_many_logins_refuses_no_other(site, names):
    crowd = threading.Thread(target=log_in_at_once, args=(site.port, names, ["127.0.0.2"] * len(names)))
    crowd.start()
    others = []
    while crowd.is_alive():
        others.append(ask(site.port, "", "POST", "/login/", username=names[0], password=PASSWORD))
    crowd.join()
    assert {each.status for each in others} == {302}
