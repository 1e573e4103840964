"""Long downloads from `manage.py serve` with one worker: no other request waits for one, and it takes no memory."""

import contextlib
import json
import re
import socket
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings

from tests.support.http.http_browser import TIMEOUT
from tests.support.people import register
from tests.support.processes.processes import OWN_SETTINGS, free_port, run_site, wait_until
from tests.support.stored_posts import write_posts

pytestmark = [pytest.mark.real_server, pytest.mark.one_server, pytest.mark.faults]

URL = "/settings/download/"


@pytest.fixture
def large(store, raw):
    """A user with 30,000 posts."""
    login = register(store, "Alice")
    write_posts(raw, login.user.uid, range(1, 30_001))
    pipe = raw.pipeline(transaction=False)
    for pid in range(1, 30_001):
        pipe.hset(f"post:{pid}", "body", "x" * 280)
    pipe.execute()
    return login


@contextmanager
def download(site, login):
    with socket.create_connection(("127.0.0.1", site.port), timeout=TIMEOUT) as client:
        head = f"GET {URL} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nCookie: auth={login.secret}\r\n\r\n"
        client.sendall(head.encode())
        yield client


def rest(client):
    return b"".join(iter(lambda: client.recv(1 << 20), b""))


def chunk_reads(raw):
    """The number of commands that read a chunk."""
    return raw.info("commandstats").get("cmdstat_zrevrangebyscore", {}).get("calls", 0)


def memory(site):
    """Bytes of the worker and of the command that started it."""
    statuses = (Path(f"/proc/{pid}/status").read_text() for pid in site.announced())
    return sum(int(re.search(r"VmRSS:\s+(\d+) kB", text)[1]) for text in statuses) * 1024


def test_a_long_download_is_complete(served_by_one_worker, large):
    with download(served_by_one_worker, large) as client:
        head, _, body = rest(client).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert f"content-length: {len(body)}".encode() in head
    assert json.loads(body.splitlines()[-1]) == {"type": "end", "lines": 30_003}


def test_clients_that_read_nothing_take_no_memory(served_by_one_worker, large):
    site = served_by_one_worker
    with download(site, large) as client:
        size = len(rest(client))
    before = memory(site)
    with contextlib.ExitStack() as stack:
        for _ in range(5):
            client = stack.enter_context(download(site, large))
            assert client.recv(10).startswith(b"HTTP/1.1 2")
        seen = [-2, -1]

        def is_stable():
            seen.append(memory(site))
            return seen[-1] == seen[-2] == seen[-3]

        wait_until(is_stable, "stable memory")
        assert seen[-1] - before < 2 * size
        assert len(rest(client)) == size - 10


def test_pages_and_forms_are_answered_during_a_download(served_by_one_worker, large, raw):
    site = served_by_one_worker
    before = chunk_reads(raw)
    with download(site, large) as client:
        wait_until(lambda: chunk_reads(raw) > before + 2, "the first chunks")
        assert site.browser.open("/timeline/")[0] == 200
        assert site.browser.open("/login/", {"username": "nobody", "password": "x"})[0] == 403  # no token
        client.setblocking(False)
        with pytest.raises(BlockingIOError):
            client.recv(1)
        client.settimeout(TIMEOUT)
        assert rest(client).startswith(b"HTTP/1.1 200 OK")


def test_a_store_that_hangs_during_a_download_is_an_error_page(served_by_one_worker, large, raw):
    before = chunk_reads(raw)
    with download(served_by_one_worker, large) as client:
        wait_until(lambda: chunk_reads(raw) > before + 2, "the first chunks")
        raw.client_pause(6000)  # also of the client that could end it
        answer = rest(client)
    wait_until(raw.ping, "the end of the pause")
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"Temporarily unavailable" in answer
    assert b'{"type":' not in answer


def test_a_site_that_stops_reports_no_error_of_a_download_that_has_ended(large, tmp_path):
    own = {"REDIS_URL": settings.REDIS_URL, "WEB_WORKERS": "1", **OWN_SETTINGS}
    with run_site(tmp_path, tmp_path / "log", free_port(), **own) as site:
        site.wait_until_it_serves()
        with download(site, large) as client:
            assert rest(client).startswith(b"HTTP/1.1 200 OK")
        assert site.stop() == 0
        assert "Traceback" not in site.printed()
