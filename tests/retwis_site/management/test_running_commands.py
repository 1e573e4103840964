"""All commands: verbosity, the progress bar, a store that is down, signals, the embedded server."""

import io
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import redis
from django.conf import settings
from django.core.management import ManagementUtility, call_command

from retwis_site.management.commands.db import Cleanup
from retwis_site.store import embedded
from tests.support.command_output import said
from tests.support.http.http_browser import TIMEOUT
from tests.support.people import LONG_AGO, NEW_PASSWORD, PASSWORD, register
from tests.support.processes.fresh_process import in_a_process
from tests.support.processes.processes import environment, manage, run_server, wait_until
from tests.support.stores import acl_users

IDENTITY = {"username": acl_users.ADMIN, "password": acl_users.PASSWORDS[acl_users.ADMIN]}


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
def test_verbosity_0_prints_nothing(raw, store, typed, capsys, command):
    if command[0] != "seed":  # it refuses a store with remains of people
        register(store, "alice")
        raw.hset("auths", "stale", "1")
        raw.zadd("outbox", {"user:98": LONG_AGO})
    typed(f"{NEW_PASSWORD}\n")
    assert said(capsys, *command, verbosity=0) == ""


def test_without_a_terminal_there_is_no_progress_bar(raw, capsys):
    out = said(capsys, "seed", "--users=30", "--posts=60", "--follows=2")
    assert out.count("\n") == 1
    assert "\r" not in out


def test_without_a_terminal_a_line_tells_now_and_then_what_a_command_works_on(raw, alice, monkeypatch, capsys):
    monkeypatch.setattr("retwis_site.management.base.TOLD_EACH", 0)
    call_command("doctor", "--json")
    assert "\nWorking on: keys of the wrong type\n" in capsys.readouterr().err
    call_command("doctor", "--json", verbosity=0)
    assert capsys.readouterr().err == ""


def test_an_option_of_every_command_may_stand_before_the_verb(raw, capsys):
    ManagementUtility(["manage.py", "db", "--verbosity", "0", "cleanup"]).execute()
    assert capsys.readouterr() == ("", "")


@pytest.mark.real_server
@pytest.mark.one_server
def test_a_command_goes_on_when_the_store_was_silent_for_longer_than_a_page_waits(raw, alice):
    code = f"""
import redis
from django.core.management import call_command
administrator = redis.Redis.from_url(settings.REDIS_URL)
administrator.connection_pool.connection_kwargs |= {IDENTITY!r}
administrator.client_pause(round(1500 * settings.REDIS_TIMEOUT))
call_command("names")
"""
    in_a_process(code, REDIS_URL=settings.REDIS_URL, DJANGO_SETTINGS_MODULE="retwis_site.settings")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("verbosity", "shown"), [(0, False), (1, True)])
def test_on_a_terminal_the_progress_bar_fills_up_and_disappears(raw, monkeypatch, verbosity, shown):
    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setattr("timeline.demo.seeding.BATCH", 10)
    monkeypatch.setenv("TERM", "xterm")
    stderr = sys.stderr
    call_command("seed", "--users=30", "--posts=60", "--follows=2", verbosity=verbosity, stdout=io.StringIO())
    printed = stderr.getvalue()
    assert ("Seeding" in printed) is shown
    assert ("100%" in printed) is shown
    assert printed.endswith("\x1b[1A\x1b[2K") is shown  # one line up, and cleared
    assert bool(printed) is shown


def test_a_progress_bar_takes_a_number_that_was_estimated_too_low(raw, monkeypatch):
    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    command = Cleanup()
    command.verbosity = 1
    assert list(command.progress("Counting", "abcd", lambda: 2)) == ["a", "b", "c", "d"]
    assert "100%" in sys.stderr.getvalue()


def test_a_progress_bar_takes_steps_whose_number_the_store_refuses_to_say(store, raw, monkeypatch):
    raw.set("users", "no hash")
    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    command = Cleanup()
    command.verbosity = 1
    census = command.count(store)
    assert census.refused.startswith("the store refused HSCAN")


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
    store, line = ended.stderr.splitlines()
    assert store.startswith("Store: ")
    assert "redis://127.0.0.1:1/0" in store
    assert line.startswith("CommandError: the store at REDIS_URL does not answer:")
    assert line.endswith("Start that server, or set REDIS_URL to one that runs.")
    assert ".." not in line


@pytest.mark.parametrize(
    "command",
    [
        ("help",),
        ("user", "show", "alice"),
        ("site",),
        ("doctor", "--fail-on", "advice"),
        ("collectstatic", "--noinput", "--verbosity=2"),
    ],
    ids=" ".join,
)
@pytest.mark.real_server
@pytest.mark.one_server
@pytest.mark.processes
def test_a_reader_that_has_enough_ends_a_command_without_a_word(store, tmp_path, command):
    register(store, "alice")
    reading, writing = os.pipe()
    os.close(reading)
    env = environment(tmp_path)
    process = subprocess.run(
        [sys.executable, "manage.py", *command], cwd=settings.BASE_DIR, env=env, stdout=writing, stderr=subprocess.PIPE
    )
    os.close(writing)
    assert process.returncode == 128 + signal.SIGPIPE
    assert [line for line in process.stderr.decode().splitlines() if not line.startswith("Store: ")] == []


@pytest.mark.parametrize(
    ("command", "says"),
    [("user show alice >&-", ""), ("user create bob <&- >&-", "No password was given."), ("version >&-", "")],
)
@pytest.mark.real_server
@pytest.mark.one_server
@pytest.mark.processes
def test_a_command_without_standard_input_and_output_does_its_work(store, tmp_path, command, says):
    """It ended with "'NoneType' object has no attribute 'flush'", in the middle of its work."""
    register(store, "alice")
    line = f"{shlex.quote(sys.executable)} manage.py {command}"
    ended = subprocess.run(
        ["/bin/sh", "-c", line], cwd=settings.BASE_DIR, env=environment(tmp_path), stderr=subprocess.PIPE, text=True
    )
    errors = [error for error in ended.stderr.splitlines() if not error.startswith("Store: ")]
    assert ended.returncode == bool(says)
    assert [error.startswith(f"CommandError: {says}") for error in errors] == [True] * bool(says)


@pytest.mark.real_server
@pytest.mark.one_server
@pytest.mark.processes
def test_a_full_disk_below_the_output_of_a_command_is_one_line(store, tmp_path):
    command = [sys.executable, "manage.py", "doctor"]
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            command, cwd=settings.BASE_DIR, env=environment(tmp_path), stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert ended.returncode == 1
    _, line = ended.stderr.splitlines()
    fix = "Free some of the disk of the output, of VAR_DIR and of TMPDIR."
    assert line == f"CommandError: No space left on device. {fix}"


@pytest.mark.real_server
@pytest.mark.processes
def test_a_store_that_refuses_writes_is_one_line(tmp_path):
    folder = tmp_path / "full"
    folder.mkdir()
    with run_server(str(folder), "--maxmemory", "1", "--maxmemory-policy", "noeviction"):
        env = environment(tmp_path, REDIS_URL=acl_users.url(str(folder)))
        ended = manage("seed", "--users=3", "--posts=2", "--follows=1", env=env)
    assert ended.returncode == 1
    _, line = ended.stderr.splitlines()
    assert line.startswith("CommandError: the store takes no writes: ")


@pytest.mark.real_server
@pytest.mark.processes
def test_without_redis_url_a_command_runs_the_embedded_server_while_it_runs(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"
    env = environment(settings.VAR_DIR)
    del env["REDIS_URL"]
    first = manage("createuser", "Alice", env=env, input=f"{PASSWORD}\n")
    assert (first.returncode, first.stdout) == (0, "User Alice created with the id 1.\n")
    assert not embedded.answers()
    assert not (settings.VAR_DIR / "store" / "server.pid").exists()
    second = manage("createuser", "alice", env=env, input=f"{PASSWORD}\n")
    assert second.returncode == 1
    assert second.stderr.splitlines() == [
        f"Store: embedded, in {settings.VAR_DIR / 'store'}",
        "CommandError: The name 'alice' is taken. Upper and lower case count as the same.",
    ]
    assert not embedded.answers()
    assert not (settings.VAR_DIR / "store" / "server.pid").exists()


@pytest.fixture
def as_in_a_terminal():
    """Ctrl-C ends what a test starts. A script that runs the tests with `&` makes all their processes ignore it."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.mark.real_server
@pytest.mark.processes
@pytest.mark.usefixtures("as_in_a_terminal")
@pytest.mark.parametrize("sent_signal", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_command_and_its_embedded_server(settings, tmp_path, sent_signal):
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
            assert seeding.wait(TIMEOUT) == 128 + sent_signal
            assert seeding.stderr.read() == f"Store: embedded, in {settings.VAR_DIR / 'store'}\n".encode()
            assert not embedded.is_embedded_server(pid)
            assert not embedded.answers()
        finally:
            seeding.kill()
            if (left := embedded.recorded_pid()) is not None and embedded.is_embedded_server(left):
                os.kill(left, signal.SIGKILL)


@pytest.mark.real_server
@pytest.mark.processes
@pytest.mark.usefixtures("as_in_a_terminal")
def test_in_the_shell_ctrl_c_ends_what_runs_and_not_the_shell(tmp_path):
    code = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
except KeyboardInterrupt:
    print("the next line")
"""
    ended = manage("shell", "--verbosity=0", "-c", code, env=environment(tmp_path))
    assert (ended.returncode, ended.stdout) == (0, "the next line\n")


@pytest.mark.real_server
@pytest.mark.one_server
def test_a_signal_ends_a_command_also_while_it_sends_numbers():
    """hiredis crashes when a handler raises while it packs one. Replies that were not read are nobody's. The timer has
    the handler of SIGTERM."""
    code = """
import signal
from retwis_site.management.base import running_store
numbers = [(("ZADD", "throttle:post:1", *range(400)), {})]
for _ in range(100):
    try:
        with running_store(lambda line: None) as store:
            store.transport.exchange(numbers)
            assert store.transport.exchange([(("ZCARD", "throttle:post:1"), {})]) == [200]
            signal.signal(signal.SIGALRM, signal.getsignal(signal.SIGTERM))
            signal.setitimer(signal.ITIMER_REAL, 0.0005)
            while True:
                store.transport.exchange(numbers)
    except SystemExit as end:
        assert end.code == 128 + signal.SIGALRM
"""
    in_a_process(code, REDIS_URL=settings.REDIS_URL, DJANGO_SETTINGS_MODULE="retwis_site.settings")
