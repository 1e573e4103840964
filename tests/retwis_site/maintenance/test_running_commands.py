"""What all commands share: verbosity, a bar on a terminal, a store that is down, signals, the embedded server."""

import io
import os
import signal
import subprocess
import sys

import pytest
import redis
from django.core.management import call_command

from retwis_site.store import embedded
from tests.support.command_output import said
from tests.support.people import LONG_AGO, NEW_PASSWORD, PASSWORD, register
from tests.support.processes.processes import environment, manage, run_server, wait_until
from tests.support.stores import acl_users


@pytest.mark.parametrize(
    "command",
    [
        ("seed", "--users=3", "--posts=2", "--follows=1"),
        ("createuser", "bob"),
        ("changepassword", "alice"),
        ("deliver", "--once"),
        ("cleanup",),
        ("cleanup", "--dry-run"),
    ],
    ids=" ".join,
)
def test_verbosity_0_is_silent(raw, store, typed, capsys, command):
    if command[0] != "seed":
        register(store, "alice")
    raw.hset("auths", "stale", "1")
    raw.zadd("outbox", {"user:98": LONG_AGO})
    typed(f"{NEW_PASSWORD}\n")
    assert said(capsys, *command, verbosity=0) == ""


def test_without_a_terminal_there_is_no_progress_bar(raw, capsys):
    out = said(capsys, "seed", "--users=30", "--posts=60", "--follows=2")
    assert out.count("\n") == 1
    assert "\r" not in out


@pytest.mark.parametrize(("verbosity", "shown"), [(0, False), (1, True)])
def test_on_a_terminal_a_bar_goes_up_to_the_end(raw, monkeypatch, verbosity, shown):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setattr("timeline.demo.seeding.BATCH", 10)
    stderr = sys.stderr
    call_command("seed", "--users=30", "--posts=60", "--follows=2", verbosity=verbosity, stdout=io.StringIO())
    bars = stderr.getvalue().split("\r")[1:]
    assert bool(bars) is shown
    if shown:
        assert len(bars) > 5
        assert bars[-2].endswith(f"[{'#' * 30}] 100 %")
        assert bars[-1] == "\x1b[K"  # what was said before and after stands without it


# ---- manage.py check


@pytest.mark.parametrize(
    "command",
    [("seed",), ("createuser", "alice"), ("changepassword", "alice"), ("deliver", "--once"), ("cleanup",)],
    ids=" ".join,
)
def test_a_store_that_is_down_is_one_line_that_names_the_fix(tmp_path, command):
    env = environment(tmp_path, REDIS_URL="redis://127.0.0.1:1")
    ended = manage(*command, env=env, input=f"{PASSWORD}\n")
    assert ended.returncode == 1
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert line.startswith("CommandError: the store at REDIS_URL does not answer:")
    assert line.endswith("Start that server, or set REDIS_URL to one that runs.")


def test_what_is_said_of_a_store_that_is_down_has_proper_sentences(tmp_path):
    ended = manage("cleanup", env=environment(tmp_path, REDIS_URL="redis://127.0.0.1:1"))
    assert ".." not in ended.stderr


@pytest.mark.real_server
def test_a_store_that_takes_no_writes_is_one_line_too(tmp_path):
    folder = tmp_path / "full"
    folder.mkdir()
    with run_server(str(folder), "--maxmemory", "1", "--maxmemory-policy", "noeviction"):
        env = environment(tmp_path, REDIS_URL=acl_users.url(str(folder)))
        ended = manage("seed", "--users=3", "--posts=2", "--follows=1", env=env)
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line.startswith("CommandError: the store takes no writes: ")


# ---- without REDIS_URL


@pytest.mark.real_server
def test_a_lone_command_starts_the_embedded_server_for_its_own_duration(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"
    env = environment(settings.VAR_DIR)
    del env["REDIS_URL"]
    first = manage("createuser", "Alice", env=env, input=f"{PASSWORD}\n")
    assert (first.returncode, first.stdout) == (0, "User Alice created with the id 1.\n")
    assert not embedded.answers()
    assert not (settings.VAR_DIR / "store" / "server.pid").exists()
    second = manage("createuser", "alice", env=env, input=f"{PASSWORD}\n")
    assert second.returncode == 1
    assert second.stderr == "CommandError: The name 'alice' is taken. Upper and lower case count as the same.\n"
    assert not embedded.answers()
    assert not (settings.VAR_DIR / "store" / "server.pid").exists()


@pytest.mark.real_server
@pytest.mark.parametrize("sent_signal", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_lone_command_and_its_embedded_server(settings, tmp_path, sent_signal):
    settings.VAR_DIR = tmp_path / "var"
    env = environment(settings.VAR_DIR)
    del env["REDIS_URL"]
    command = [sys.executable, "manage.py", "seed", "--users=20000", "--posts=200000"]
    with subprocess.Popen(command, cwd=settings.BASE_DIR, env=env, stderr=subprocess.PIPE) as seeding:
        try:
            with redis.Redis(unix_socket_path=str(embedded.socket_path())) as store:
                wait_until(lambda: store.exists("next_user_id"), "the first keys")
            pid = embedded.recorded_pid()
            seeding.send_signal(sent_signal)
            assert seeding.wait(20) == 128 + sent_signal
            assert seeding.stderr.read() == b""
            assert not embedded.is_embedded_server(pid)
            assert not embedded.answers()
        finally:
            seeding.kill()
            if (left := embedded.recorded_pid()) is not None and embedded.is_embedded_server(left):
                os.kill(left, signal.SIGKILL)
