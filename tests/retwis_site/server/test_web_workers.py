"""The web workers of `serve`: each stays on one processor, hashes and pictures are made on any of them, and a worker
that dies again and again does not stop the site."""

import os
import signal
import threading

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher

from accounts.media import decoder, decoding
from accounts.signing_in.passwords import LeanArgon2PasswordHasher
from retwis_site.server import processes
from tests.support.http.http_browser import Browser
from tests.support.processes.processes import alive, free_port, run_site, wait_until
from tests.support.runs import sampling

has_choice = pytest.mark.skipif(not processes.EVERY, reason="the system does not let a process choose its processor")

KILLS = sampling.shorter(20, 3)
ANSWERS_BETWEEN = 20


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
    monkeypatch.setattr(processes, "EVERY", frozenset({3, 5}))
    monkeypatch.setattr(os, "sched_setaffinity", lambda _thread, allowed: asked.append(set(allowed)))
    return asked


@has_choice
@pytest.mark.parametrize(("workers", "expected"), [(2, [{3}, {5}]), (4, [{3}, {5}, {3}, {5}]), (1, []), (3, [])])
def test_workers_are_shared_out_where_each_processor_gets_equally_many(two_processors, workers, expected):
    for number in range(1, workers + 1):
        processes.stay_on_one(number, workers)
    assert two_processors == expected


@has_choice
def test_a_hash_is_made_on_any_processor(monkeypatch):
    seen = []
    real = Argon2PasswordHasher.encode

    def noted(self, *arguments):
        seen.append(os.sched_getaffinity(0))
        return real(self, *arguments)

    monkeypatch.setattr(Argon2PasswordHasher, "encode", noted)
    workers = len(processes.EVERY)

    def hash_in_a_worker():
        processes.stay_on_one(1, workers)
        LeanArgon2PasswordHasher().encode("correct horse", "a" * 22)

    assert len(allowed_in_a_thread(hash_in_a_worker)) == 1
    assert seen == [processes.EVERY]


@has_choice
def test_a_picture_is_decoded_on_any_processor_and_behind_pages(monkeypatch, tmp_path):
    program = tmp_path / "decoder.py"
    program.write_text(
        f"import os, runpy, sys\nrunpy.run_path({str(decoding.DECODER)!r}, run_name='__main__')\n"
        "sys.exit(repr((sorted(os.sched_getaffinity(0)), os.nice(0))))"
    )
    monkeypatch.setattr(decoding, "DECODER", program)
    seen = []

    def decode_in_a_worker():
        processes.stay_on_one(1, len(processes.EVERY))
        with pytest.raises(decoding.DecoderFailed) as told:
            decoding.decoded(b"", decoding.Shape.POST)
        seen.append(str(told.value).strip())

    assert len(allowed_in_a_thread(decode_in_a_worker)) == 1
    assert seen == [repr((sorted(processes.EVERY), os.nice(0) + decoder.NICENESS))]


@has_choice
def test_a_processor_that_was_taken_away_stops_no_hash_and_no_picture(monkeypatch):
    monkeypatch.setattr(processes, "EVERY", frozenset({1023}))
    assert allowed_in_a_thread(processes.run_anywhere) == os.sched_getaffinity(0)
    monkeypatch.setattr(decoding, "EVERY", processes.EVERY)
    with pytest.raises(decoding.NoPicture):
        decoding.decoded(b"", decoding.Shape.POST)


@has_choice
@pytest.mark.real_server
@pytest.mark.processes
@pytest.mark.usefixtures("var")
def test_each_web_worker_of_serve_has_its_own(settings, tmp_path):
    every = os.sched_getaffinity(0)
    with run_site(settings.VAR_DIR, tmp_path / "log", free_port(), WEB_WORKERS=str(len(every))) as site:
        site.wait_until_it_serves()
        site.wait_for_workers(len(every))
        allowed = [os.sched_getaffinity(pid) for pid in site.web_workers()]
    assert sorted(map(sorted, allowed)) == [[one] for one in sorted(every)]


@pytest.mark.faults
@pytest.mark.real_server
def test_a_worker_killed_again_and_again_does_not_stop_the_site(tmp_path):
    with run_site(tmp_path, tmp_path / "log", free_port()) as site:
        site.wait_until_it_serves()
        site.wait_for_workers()
        killed = site.web_workers()[0]
        for _ in range(KILLS):
            os.kill(killed, signal.SIGKILL)
            answered = lost = 0
            while answered < ANSWERS_BETWEEN:
                try:
                    assert Browser(site.port).ask("/timeline/").status == 200
                    answered += 1
                except OSError:  # the killed worker had this connection
                    lost += 1
                assert lost <= ANSWERS_BETWEEN
            wait_until(lambda: len(site.web_workers()) == 2, "both workers")
            killed = site.web_workers()[-1]
        assert site.process.poll() is None
        wait_until(lambda: Browser(site.port).ask("/readyz").status == 200, "the site")
        assert site.stop() == 0
        wait_until(lambda: not any(map(alive, site.announced())), "the end of every process")
