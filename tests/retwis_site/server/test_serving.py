"""`manage.py serve`: the first start, the end of all its processes, and the next start after a kill."""

import errno
import itertools
import os
import re
import signal
import socket

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from retwis_site.store import embedded
from retwis_site.store.connection import topology
from tests.support.http.http_browser import TIMEOUT, Browser
from tests.support.people import PASSWORD
from tests.support.processes.processes import (
    alive,
    embedded_client,
    environment,
    free_port,
    manage,
    run_site,
    wait_until,
)
from timeline.demo.feature import COMMUNITY

pytestmark = [pytest.mark.real_server, pytest.mark.processes]

SIGNED_IN = 'action="/logout/"'


@pytest.fixture
def port():
    """A free port."""
    return free_port()


@pytest.fixture
def serve(settings, var, tmp_path, port):
    """Runs `manage.py serve` during the block. Without `changes` to the environment there is no REDIS_URL."""
    logs = (tmp_path / f"log{run}" for run in itertools.count(1))
    return lambda **changes: run_site(settings.VAR_DIR, next(logs), port, **changes)


@pytest.fixture
def lived_in(var):
    """The embedded store has a user. Without one, each first start makes a demo community of 4,000 posts."""
    with embedded.running(), embedded_client() as store:
        store.hset("user:1", mapping={"username": "zoe", "password": "hash"})
        store.set("next_user_id", 1)
        store.set("schema", 1)
        store.hset("users", "zoe", 1)


@pytest.fixture(scope="module")
def running(empty_store, tmp_path_factory):
    """A site that goes on, whatever tests do to it, and its folder. In the end it ends with all its processes."""
    folder = tmp_path_factory.mktemp("running")
    with run_site(folder / "var", folder / "log", free_port()) as site:
        site.wait_until_it_serves()
        yield site, folder / "var"
        pids = site.announced()
        assert site.stop() == 0
        wait_until(lambda: not any(alive(pid) for pid in pids), "the end of every process")
        assert not (folder / "var" / "store" / "server.pid").exists()


@pytest.fixture
def site(running, settings):
    """The site that tests share, whole again. Each test has a browser of its own."""
    site, settings.VAR_DIR = running
    site.browser = Browser(site.port)
    wait_until(lambda: site.browser.open("/readyz")[0] == 200, "the site")
    return site


def embedded_pid():
    """The pid of the embedded server; None while the server writes the file."""
    text = (embedded.folder() / "server.pid").read_text()
    return int(text) if text else None


def delivery_worker(store):
    """The pid of the delivery worker, read from the lease of a job that no worker can finish."""
    store.delete("lease:post:broken")
    store.zadd("outbox", {"post:broken": 1})
    owners = []  # the lease goes when its worker finds that the job has gone
    wait_until(lambda: owners.append(store.get("lease:post:broken")) or owners[-1], "a worker")
    store.zrem("outbox", "post:broken")
    return int(owners[-1].rpartition(":")[2])


def nothing_is_left(pids):
    """Wait until the processes have ended. Asserts that the embedded server has ended too."""
    wait_until(lambda: not any(alive(pid) for pid in pids), "the end of every process")
    assert not embedded.answers()
    assert not (embedded.folder() / "server.pid").exists()
    return True


def test_the_first_start_makes_a_demo_community_and_serves_it(serve, port, var):
    with serve() as site:
        site.wait_until_it_serves()
        assert f"Retwis is at http://127.0.0.1:{port}" in site.printed()
        assert "Log in as demo with the password retwis-demo" in site.printed()
        with embedded_client() as store:
            assert store.hlen("users") == 200
            assert store.get("next_post_id") == "4000"
        status, page = site.browser.open("/")
        assert status == 200
        assert page.count("<article") == 20
        stylesheet = re.search(r'href="(/static/[^"]+\.css)"', page)[1]
        assert site.browser.open(stylesheet)[0] == 200
        assert re.search(r"\.[0-9a-f]{12}\.css$", stylesheet)
        status, page = site.browser.submit("/login/", username="demo", password="retwis-demo")
        assert status == 200
        assert SIGNED_IN in page
        assert "ago via web" in page
        assert (var / "secret_key").stat().st_mode & 0o077 == 0


def test_sigterm_stops_every_process_and_the_next_start_has_all_data(serve, lived_in):
    with serve() as site:
        site.wait_until_it_serves()
        status, page = site.browser.submit("/register/", username="Alice", password1=PASSWORD, password2=PASSWORD)
        assert status == 200
        assert SIGNED_IN in page
        pids = {*site.pids(), embedded_pid()}
        assert len(pids) == 5
        assert all(alive(pid) for pid in pids)
        assert site.stop() == 0
        assert nothing_is_left(pids)
    with serve() as site:
        site.wait_until_it_serves()
        assert "demo community" not in site.printed()
        status, page = site.browser.submit("/login/", username="alice", password=PASSWORD)
        assert status == 200
        assert SIGNED_IN in page
        with embedded_client() as store:
            assert store.hgetall("users") == {"zoe": "1", "alice": "2"}


@pytest.mark.parametrize("group_signal", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_stops_every_process(serve, lived_in, group_signal):
    """A terminal sends SIGINT to the command and its web workers at once. Service managers send SIGTERM to all."""
    with serve() as site:
        site.wait_until_it_serves()
        site.wait_for_workers()
        pids = {*site.pids(), embedded_pid()}
        os.killpg(site.process.pid, group_signal)
        assert site.process.wait(TIMEOUT) == 0
        assert nothing_is_left(pids)
        assert "Traceback" not in site.printed()


def test_with_redis_url_it_uses_that_server_and_adds_no_demo_data(serve, settings, raw, var):
    with serve(REDIS_URL=settings.REDIS_URL) as site:
        site.wait_until_it_serves()
        assert site.browser.open("/")[0] == 200
        assert raw.exists("users", "next_user_id", "next_post_id") == 0
        assert raw.get("schema") == "1"
        assert "demo" not in site.printed()
        assert not (var / "store").exists()
        _, page = site.browser.submit("/register/", username="Alice", password1=PASSWORD, password2=PASSWORD)
        assert SIGNED_IN in page
        assert raw.hgetall("users") == {"alice": "1"}
        pids = site.pids()
        assert site.stop() == 0
        wait_until(lambda: not any(alive(pid) for pid in pids), "the end of every process")
    assert raw.hgetall("users") == {"alice": "1"}


def test_it_says_which_store_it_serves_and_when_that_needs_an_upgrade(serve, settings, raw, store, alice):
    raw.delete("schema")
    with serve(REDIS_URL=settings.REDIS_URL) as site:
        site.wait_until_it_serves()
        assert site.printed().startswith(f"Store: {topology.described()}\n")
        assert "Stop the site and run: manage.py db upgrade" in site.printed()
        assert site.browser.open("/@Alice/")[0] == 200
    assert not raw.exists("schema")


def test_a_taken_port_is_an_error_with_the_fix_and_leaves_no_process(serve, port):
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        with serve() as site:
            assert site.process.wait(TIMEOUT) == 1
            _, line = site.printed().splitlines()  # the first one says which store it is
    assert line.startswith(f"CommandError: Cannot listen on 127.0.0.1:{port}: ")
    assert line.endswith("Choose another port: make run PORT=9000")
    assert nothing_is_left([])


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])  # noqa: S104
def test_pages_and_metrics_need_different_ports(raw, settings, port, host):
    settings.METRICS_PORT = port
    with pytest.raises(CommandError, match=rf"METRICS_PORT={port} is the port of the pages, too\. Set another one"):
        call_command("serve", port=port, host=host)


def test_the_fix_for_a_port_that_needs_root_is_another_port(raw, monkeypatch):
    class Refused(socket.socket):
        def bind(self, address):
            raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket, "socket", Refused)
    with pytest.raises(CommandError, match=r"Permission denied\. Choose another port: make run PORT=9000"):
        call_command("serve", port=80)


def test_a_folder_that_takes_no_static_files_is_an_error_that_names_the_setting(serve, settings, raw):
    with serve(REDIS_URL=settings.REDIS_URL, STATIC_DIR="/dev/null/static") as site:
        assert site.process.wait(TIMEOUT) == 1
        _, line = site.printed().splitlines()
    assert line.startswith("CommandError: The static files cannot be put into /dev/null/static: Not a directory.")
    assert line.endswith("Set STATIC_DIR to a folder that the site may write.")


def test_after_sigkill_the_next_start_uses_the_same_port_and_has_all_data(serve, lived_in):
    with serve() as site:
        site.wait_until_it_serves()
        site.browser.submit("/register/", username="Alice", password1=PASSWORD, password2=PASSWORD)
        store = embedded_pid()  # the last worker to end may stop it
        workers = site.pids() - {site.process.pid, store}
        pids = {*site.pids(), store}
        site.process.kill()
        site.process.wait(TIMEOUT)
        wait_until(lambda: not any(alive(pid) for pid in workers), "the end of the web workers")
        with serve() as again:
            again.wait_until_it_serves()
            assert "demo community" not in again.printed()
            _, page = again.browser.submit("/login/", username="alice", password=PASSWORD)
            assert SIGNED_IN in page
            pids |= again.pids()
            assert again.stop() == 0
            assert nothing_is_left(pids)


def test_a_killed_seeding_is_repeated(serve, var):
    """The killed seeding has written everything except the `users` hash, which comes last."""
    env = environment(var)
    env.pop("REDIS_URL")
    with embedded.running(), embedded_client() as store:
        assert manage("seed", *COMMUNITY, env=env).returncode == 0
        store.delete("users")
        store.hset("user:999", mapping={"username": "half_done", "password": "hash", "auth": "secret"})
        store.hset("auths", "secret", "999")
        store.set("celery", "not ours")
        with serve() as site:
            site.wait_until_it_serves()
            assert "Making a demo community" in site.printed()
            assert store.hlen("users") == store.hlen("auths") == 200
            assert not store.exists("user:999")
            assert store.get("celery") == "not ours"
            _, page = site.browser.submit("/login/", username="demo", password="retwis-demo")
            assert SIGNED_IN in page
            assert site.stop() == 0
        assert store.hlen("users") == 200


def test_readyz_reports_a_lost_store_and_livez_does_not(serve, lived_in):
    with serve() as site:
        site.wait_until_it_serves()
        assert site.browser.open("/livez") == (200, "ok\n")
        wait_until(lambda: site.browser.open("/readyz") == (200, "ok\n"), "a worker")
        pids = {*site.pids(), embedded_pid()}
        os.kill(embedded_pid(), signal.SIGKILL)
        wait_until(lambda: site.browser.open("/readyz")[0] == 503, "the store to be missed")
        assert site.browser.open("/livez") == (200, "ok\n")
        status, page = site.browser.open("/")
        assert status == 503
        assert "Traceback" not in page
        assert site.stop() == 0
        wait_until(lambda: not any(alive(pid) for pid in pids), "the end of every process")


def test_sigterm_during_the_start_leaves_no_process(serve):
    with serve() as site:
        wait_until(lambda: embedded_pid(), "the embedded server")
        pid = embedded_pid()
        site.process.send_signal(signal.SIGTERM)
        site.process.wait(TIMEOUT)
        wait_until(lambda: not alive(pid), "the end of the embedded server")
        assert "Traceback" not in site.printed()


def test_a_killed_worker_is_started_again(site):
    """Without it, no post would reach many followers and no deleted account would be removed until a restart."""
    with embedded_client() as store:
        first = delivery_worker(store)
        os.kill(first, signal.SIGKILL)
        second = delivery_worker(store)
        assert second != first
        store.hset("post:90002", mapping={"user_id": "1", "time": "1700000000", "body": "Never delivered"})
        store.zadd("outbox", {"post:90002:abc": 1})
        wait_until(lambda: store.zscore("updates:1", "90002"), "the other worker to finish it")
    assert "deliver has ended (signal 9); starting it again" in site.printed()


def test_a_killed_embedded_server_is_started_again_with_all_data(site):
    _, page = site.browser.submit("/register/", username="Bob", password1=PASSWORD, password2=PASSWORD)
    assert SIGNED_IN in page
    first = embedded_pid()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: not alive(first) and embedded_pid() not in {first, None}, "another server")
    wait_until(lambda: site.browser.open("/readyz")[0] == 200, "the site to go on")
    assert SIGNED_IN in site.browser.open("/")[1]
