"""A web worker that dies again and again does not stop the site."""

import os
import re
import signal
import time

import pytest

from tests.support.http.http_browser import Browser
from tests.support.processes.ports import free_port
from tests.support.processes.processes import alive, run_site, wait_until

pytestmark = [pytest.mark.faults, pytest.mark.real_server]

SECONDS = 60.0
KILLS_EVERY = 2.0  # seconds


def workers(site):
    """The pids of the web workers that run."""
    found = re.findall(r"web worker [0-9]+ has PID: ([0-9]+)", site.printed())
    return [int(pid) for pid in found if alive(int(pid))]


def test_a_worker_killed_every_two_seconds_does_not_stop_the_site(tmp_path):
    with run_site(tmp_path, tmp_path / "log", free_port()) as site:
        site.wait_until_it_serves()
        site.wait_for_workers()
        first, until, killed, answered = workers(site)[0], time.monotonic() + SECONDS, [], 0
        while time.monotonic() < until:
            next_kill = time.monotonic() + KILLS_EVERY
            os.kill(first, signal.SIGKILL)
            killed.append(first)
            while time.monotonic() < next_kill:
                try:
                    assert Browser(site.port).ask("/timeline/").status == 200
                    answered += 1
                except OSError:  # the killed worker had this connection
                    pass
            wait_until(lambda: len(workers(site)) == 2, "both workers")
            first = workers(site)[-1]
        assert site.process.poll() is None
        assert len(killed) > SECONDS / KILLS_EVERY / 2
        assert answered > 10 * SECONDS
        wait_until(lambda: Browser(site.port).ask("/readyz").status == 200, "the site")
        assert site.stop() == 0
        wait_until(lambda: not any(map(alive, site.announced())), "the end of every process")
