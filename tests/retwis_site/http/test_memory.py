"""A worker of `manage.py serve` keeps its size, whatever it is sent.

`HOSTILE_REQUESTS=1000000 make test-faults` measures for an hour."""

import http.client
import itertools
import os
import random
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from accounts.users.accounts import Registration
from tests.support.http import hostile_requests
from tests.support.http.hostile_requests import Request
from tests.support.http.http_browser import TIMEOUT, Browser
from tests.support.people import PASSWORD, SECRET
from tests.support.processes.memory import MIB, size_of
from tests.support.runs import sampling
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts

pytestmark = [pytest.mark.real_server, pytest.mark.faults]

SENT = int(os.environ.get("HOSTILE_REQUESTS") or sampling.shorter(10_000, 1500))
GROWS_AT_MOST = 30 * MIB
REQUESTS = sampling.shorter(3000, 600)  # of the fuzzer; each is sent again and again, with other random parts
LOGINS = sampling.shorter(36, 12)
HOSTS = sampling.shorter(300, 60)
ADDRESSES = sampling.shorter(300, 60)
LONG = 12_000  # characters of the random parts


@pytest.fixture
def site(served_by_one_worker, raw, store):
    user = Registration(store).register("Alice", "!")
    raw.hset(f"user:{user.uid}", "auth", SECRET)
    raw.hset("auths", SECRET, str(user.uid))
    for number in range(20):
        Posts(store).publish(user.uid, NewPost(f"Hello @bob and https://example.com/{number}"), f"t{number}")
    return served_by_one_worker


def worker_of(site):
    return int(re.findall(r"web worker 1 has PID: ([0-9]+)", site.printed())[-1])


class Sender:
    """Sends requests as bytes on one connection. A connection that the site closes is opened again."""

    def __init__(self, port):
        self._port = port
        self._connection = None

    def send(self, request: bytes, method: str) -> int:
        """The status of the answer; 0 when the server closed the connection without one."""
        try:
            if self._connection is None:
                self._connection = socket.create_connection(("127.0.0.1", self._port), timeout=TIMEOUT)
            self._connection.sendall(request)
            answer = http.client.HTTPResponse(self._connection, method=method)
            answer.begin()
            answer.read()
            if answer.will_close:
                self._close()
            return answer.status
        except (http.client.HTTPException, ConnectionError):
            self._close()
            return 0

    def _close(self):
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def as_bytes(request: Request) -> bytes:
    headers = {"Host": b"localhost", "Content-Length": b"%d" % len(request.body), **request.headers}
    lines = [b"%s %s HTTP/1.1" % (request.method.encode(), request.target)]
    lines += [b"%s: %s" % (name.encode(), value) for name, value in headers.items()]
    return b"\r\n".join([*lines, b"", request.body])


def from_the_fuzzer() -> list[Request]:
    """Requests for all addresses, with and without a valid token."""
    found: list[Request] = []
    routes = [*hostile_requests.routes(), None]
    for route in routes:
        for strategy in (hostile_requests.without_a_token(route), hostile_requests.with_a_token(route)):
            profile = settings(
                max_examples=REQUESTS // (2 * len(routes)),
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            profile(given(request=strategy)(lambda request: found.append(request)))()
    return found


def hostile(requests: list[Request], chance: random.Random) -> Iterator[Request]:
    """The requests in any order, each with long random parts where something could be kept: no two are the same."""
    for number in itertools.count():
        request = chance.choice(requests)
        new = f"{number:x}{chance.getrandbits(64):x}".encode()
        long = new * (LONG // len(new))
        parts = {
            "Host": chance.choice(
                [b"localhost:%d" % (number % 60_000), b"localhost:" + b"1" * chance.choice([9, LONG])]
            ),
            "User-Agent": long,
            "Referer": b"http://localhost/" + long,
            "Origin": b"http://" + long,
            "Accept-Language": b",".join(b"x%c-%d" % (97 + n % 26, number + n) for n in range(90)),
            "X-Forwarded-For": new,
            "Cookie": b"; ".join(
                [b"language=" + long[:3000], b"since=1-" + long[:3000], request.headers.get("Cookie", b"")]
            ),
            "If-None-Match": b'"' + new + b'"',
        }
        chosen = dict(chance.sample(sorted(parts.items()), 3))
        separator = b"&" if b"?" in request.target else b"?"
        target = request.target + separator + new if chance.random() < 0.7 else b"/@" + new + b"/"
        yield Request(request.method, target, {**request.headers, **chosen}, request.body)


def test_a_worker_grows_by_less_than_30_mib_while_it_gets_hostile_requests(site, record_property):
    """A warm-up fills the caches that have a bound. After it, the second half of the requests adds no more than the
    first, or next to nothing."""
    worker, sender, chance = worker_of(site), Sender(site.port), random.Random(7)
    requests = hostile(from_the_fuzzer(), chance)
    statuses: dict[int, int] = {}

    def send(number):
        for request in itertools.islice(requests, number):
            status = sender.send(as_bytes(request), request.method)
            statuses[status] = statuses.get(status, 0) + 1

    send(SENT // 3)
    sizes = [size_of(worker)]
    for _ in range(4):
        send(SENT // 4)
        sizes.append(size_of(worker))
    grown = [size - sizes[0] for size in sizes]
    measured = f"{SENT} requests, {statuses}, MiB: {[round(one / MIB, 1) for one in grown]}"
    record_property("memory", measured)  # for pytest --junitxml
    assert site.browser.open("/livez")[0] == 200
    assert worker_of(site) == worker
    assert grown[-1] < GROWS_AT_MOST, measured
    assert grown[4] - grown[2] < max(grown[2], GROWS_AT_MOST / 4), measured


def test_logins_at_once_leave_nothing_in_a_worker(site):
    """Each password takes 19 MiB while it is hashed."""
    Browser(site.port).submit("/register/", username="dora", password1=PASSWORD, password2=PASSWORD)
    worker, before = worker_of(site), size_of(worker_of(site))

    def log_in(_):
        Browser(site.port).submit("/login/", username="dora", password=PASSWORD)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(log_in, range(LOGINS)))
    assert size_of(worker) - before < 10 * MIB


def test_hundreds_of_hosts_of_350_kb_leave_nothing_in_a_worker(site, raw):
    """Each worker grew by 100 MiB and more. Now `serve` reads no such head; the longest that it reads is tried too."""
    worker, sender = worker_of(site), Sender(site.port)
    pages = [b"/", b"/timeline/", b"/timeline/atom/", b"/@Alice/", b"/@Alice/rss/"]
    for page in pages * 10:
        assert sender.send(as_bytes(Request("GET", page)), "GET") == 200
    before = size_of(worker)
    for number, length in itertools.product(range(HOSTS), (350_000, 60_000)):
        host = b"localhost:" + b"%d" % number + b"1" * length
        status = sender.send(as_bytes(Request("GET", pages[number % 5], {"Host": host})), "GET")
        assert status in ({400} if length == 60_000 else {0, 400, 431})
    assert size_of(worker) - before < 10 * MIB


def test_addresses_of_60_kb_leave_nothing_in_a_worker(site):
    """The server reads at most 64 KB of an address."""
    worker, sender = worker_of(site), Sender(site.port)
    addresses = [b"/%s/", b"/@%s/", b"/@Alice/%s/", b"/?before=%s", b"/login/?next=/%s", b"/people/?q=%s"]

    def send(numbers):
        for number, address in itertools.product(numbers, addresses):
            status = sender.send(as_bytes(Request("GET", address % (b"%d" % number + b"x" * 60_000))), "GET")
            assert status in {200, 400, 404}

    send(range(20))
    before = size_of(worker)
    send(range(20, 20 + ADDRESSES))
    assert size_of(worker) - before < 10 * MIB
