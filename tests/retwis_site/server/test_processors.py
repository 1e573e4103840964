"""Each web worker stays on one processor; what Python does not wait for runs on every one."""

import os
import threading

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher

from accounts.signing_in.passwords import LeanArgon2PasswordHasher
from retwis_site.server import processors
from tests.support.processes.ports import free_port
from tests.support.processes.processes import run_site

pytestmark = pytest.mark.skipif(not processors.EVERY, reason="the system has no such choice")


def allowed_in_a_thread(task):
    """Where a thread may run once it has done this. The thread of the tests stays as it is."""
    seen = []

    def run():
        task()
        seen.append(os.sched_getaffinity(0))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return seen[0]


@pytest.fixture
def two_processors(monkeypatch):
    """The thread may ask for any two; the system is not asked."""
    asked = []
    monkeypatch.setattr(processors, "EVERY", frozenset({3, 5}))
    monkeypatch.setattr(os, "sched_setaffinity", lambda _thread, allowed: asked.append(set(allowed)))
    return asked


@pytest.mark.parametrize(("workers", "expected"), [(2, [{3}, {5}]), (4, [{3}, {5}, {3}, {5}]), (1, []), (3, [])])
def test_workers_are_shared_out_where_each_processor_gets_equally_many(two_processors, workers, expected):
    for number in range(1, workers + 1):
        processors.stay_on_one(number, workers)
    assert two_processors == expected


def test_a_hash_is_made_on_any_processor(monkeypatch):
    seen = []
    real = Argon2PasswordHasher.encode

    def noted(self, *arguments):
        seen.append(os.sched_getaffinity(0))
        return real(self, *arguments)

    monkeypatch.setattr(Argon2PasswordHasher, "encode", noted)
    workers = len(processors.EVERY)

    def hash_in_a_worker():
        processors.stay_on_one(1, workers)
        LeanArgon2PasswordHasher().encode("correct horse", "a" * 22)

    assert len(allowed_in_a_thread(hash_in_a_worker)) == 1
    assert seen == [processors.EVERY]


def test_a_processor_that_was_taken_away_stops_no_hash(monkeypatch):
    monkeypatch.setattr(processors, "EVERY", frozenset({1023}))
    assert allowed_in_a_thread(processors.run_anywhere) == os.sched_getaffinity(0)


@pytest.mark.real_server
@pytest.mark.usefixtures("var")
def test_each_web_worker_of_serve_has_its_own(settings, tmp_path):
    every = os.sched_getaffinity(0)
    with run_site(settings.VAR_DIR, tmp_path / "log", free_port(), WEB_WORKERS=str(len(every))) as site:
        site.wait_until_it_serves()
        allowed = [os.sched_getaffinity(pid) for pid in site.web_workers(len(every))]
    assert sorted(map(sorted, allowed)) == [[one] for one in sorted(every)]
