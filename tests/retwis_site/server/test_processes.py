"""The processes of `serve`: started again when they end, and ended together."""

import errno
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from multiprocessing.context import SpawnProcess
from pathlib import Path

import pytest

from retwis_site.server.processes import RESTARTS_AFTER, CannotStart, Processes
from tests.support.clock import Clock
from tests.support.http.http_browser import TIMEOUT
from tests.support.processes.processes import alive, wait_until
from tests.support.processes.spawned import deaf, fail, sleep

pytestmark = pytest.mark.processes


def pids(folder):
    return {int(path.name) for path in folder.iterdir()}


@pytest.fixture
def processes(tmp_path):
    kept = Processes()
    yield kept
    kept.end()
    assert not any(map(alive, pids(tmp_path)))


def started(processes, folder, number):
    """The pids of all processes that were started, once there are so many."""

    def looked():
        processes.look()
        return len(pids(folder)) == number

    wait_until(looked, f"{number} processes")
    return pids(folder)


def test_a_killed_process_is_started_again_and_the_others_stay(processes, tmp_path, caplog):
    processes.start("deliver", sleep, tmp_path)
    other = started(processes, tmp_path, 1)
    processes.start("web worker 1", sleep, tmp_path)
    first = started(processes, tmp_path, 2) - other
    os.kill(*first, signal.SIGKILL)
    started(processes, tmp_path, 3)
    assert alive(*other)
    assert "web worker 1 has ended (signal 9); starting it again" in caplog.text
    assert "deliver has ended" not in caplog.text


def test_a_process_that_keeps_dying_is_started_once_a_second(processes, tmp_path, monkeypatch):
    clock = Clock()
    monkeypatch.setattr("retwis_site.server.processes.time", clock)
    processes.start("web worker 1", sleep, tmp_path)
    for number in range(1, 4):
        [pid] = filter(alive, started(processes, tmp_path, number))
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda pid=pid: not alive(pid), "its end")
        clock.sleep(RESTARTS_AFTER - 0.1)
        processes.look()
        assert [kept.started for kept in processes._kept] == [clock.now - RESTARTS_AFTER + 0.1]
        clock.sleep(0.1)
    started(processes, tmp_path, 4)


def test_a_process_that_cannot_start_is_an_error(processes, tmp_path, monkeypatch):
    monkeypatch.setattr("retwis_site.server.processes.STARTS_WITHIN", 3600.0)
    processes.start("web worker 1", fail, tmp_path)
    with pytest.raises(CannotStart, match=r"web worker 1 cannot start. Its error stands above."):
        started(processes, tmp_path, 2)
    assert len(pids(tmp_path)) == 1


def test_a_process_that_fails_after_it_has_run_is_started_again(processes, tmp_path, monkeypatch):
    monkeypatch.setattr("retwis_site.server.processes.STARTS_WITHIN", 0.0)
    processes.start("web worker 1", fail, tmp_path)
    started(processes, tmp_path, 2)


def test_a_process_that_cannot_be_started_now_is_started_later(processes, tmp_path, monkeypatch, caplog):
    processes.start("web worker 1", sleep, tmp_path)
    [first] = started(processes, tmp_path, 1)
    with monkeypatch.context() as short_of_memory:
        short_of_memory.setattr(SpawnProcess, "start", refuse)
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: processes.look() or "cannot be started now" in caplog.text, "a try")
    started(processes, tmp_path, 2)


def refuse(process):
    raise OSError(errno.ENOMEM, "Cannot allocate memory")


def test_a_process_that_ignores_sigterm_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr("retwis_site.server.processes.STOPS_WITHIN", 0.2)
    processes = Processes()
    processes.start("a", deaf, tmp_path)
    wait_until(lambda: pids(tmp_path), "the process")
    processes.end()
    assert not alive(*pids(tmp_path))


def test_a_process_ignores_ctrl_c(processes, tmp_path):
    processes.start("a", sleep, tmp_path)
    wait_until(lambda: pids(tmp_path), "the process")
    os.kill(*pids(tmp_path), signal.SIGINT)
    os.kill(*pids(tmp_path), 0)
    assert re.search(r"SigIgn:\s+[0-9a-f]*[2367abef]\n", Path(f"/proc/{next(iter(pids(tmp_path)))}/status").read_text())


ENDS_AT_SIGTERM = """
import signal, sys
from retwis_site.server.processes import Processes
processes = Processes()
signal.signal(signal.SIGTERM, lambda *_: processes.stop())
print("ready", flush=True)
sys.stderr.write("web worker 1 has ended")
processes.keep()
"""


def test_a_log_that_nobody_reads_keeps_no_process_from_its_end():
    """The line about a killed worker waited for a full pipe, and so did SIGTERM."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while os.write(writing, b"x" * 4096):
            pass
    os.set_blocking(writing, True)
    command = [sys.executable, "-c", ENDS_AT_SIGTERM]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=writing, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        try:
            assert process.wait(TIMEOUT) == 0
        finally:
            process.kill()
    os.close(reading)
    os.close(writing)
