"""The embedded server: the first process starts it, the last one stops it, and its data is kept."""

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
import redis

from retwis_site.store import embedded
from retwis_site.store.embedded import EmbeddedServerError
from tests.support.http.http_browser import TIMEOUT
from tests.support.processes.processes import (
    alive,
    embedded_client,
    end,
    entered,
    leave,
    other_process,
    server_pid,
    wait_until,
)

pytestmark = [pytest.mark.real_server, pytest.mark.processes, pytest.mark.usefixtures("var")]


# ---- starting and stopping


def test_the_server_runs_for_the_block(var):
    with embedded.running():
        pid = server_pid()
        assert embedded.answers()
        with embedded_client() as store:
            assert store.info("server")["process_id"] == pid
    assert not alive(pid)
    assert not embedded.answers()
    assert not (var / "store" / "server.pid").exists()


def test_a_user_and_a_post_are_stored_compactly():
    """As deploy/redis.conf has it: a user takes 230 bytes less, a post a third less."""
    with embedded.running(), embedded_client() as store:
        store.hset("user:1", mapping={"username": "alice", "password": "x" * 111})
        store.hset("post:1", mapping={"user_id": "1", "body": "x" * 1200})
        assert (
            store.object("encoding", "user:1") == store.object("encoding", "post:1") in {"listpack", "ziplist"}
        )  # the name of Redis 6.2


def test_an_error_in_the_block_stops_the_server_too():
    pids = []

    def fail():
        with embedded.running():
            pids.append(server_pid())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not alive(pids[0])


def test_a_block_within_a_block_shares_the_server():
    with embedded.running():
        pid = server_pid()
        with embedded.running():
            assert server_pid() == pid
        assert alive(pid)
        assert embedded.answers()
    assert not alive(pid)


def test_it_keeps_all_data_and_listens_only_on_its_socket():
    with embedded.running(), embedded_client() as store:
        assert store.config_get("appendonly") == {"appendonly": "yes"}
        assert store.config_get("appendfsync") == {"appendfsync": "no"}
        assert store.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert store.config_get("port") == {"port": "0"}
        assert embedded.socket_path().stat().st_mode & 0o077 == 0
        assert embedded.url() == f"unix://{embedded.socket_path()}"


def test_a_second_process_shares_the_server_and_stops_it_when_it_leaves_last(settings):
    with other_process(settings) as other:
        with embedded.running():
            pid = server_pid()
            assert entered(other) == pid
        assert alive(pid)
        assert embedded.answers()
        leave(other)
    assert not alive(pid)


def test_the_server_of_the_first_process_runs_until_the_second_leaves(settings):
    with other_process(settings) as other:
        pid = entered(other)
        with embedded.running():
            assert server_pid() == pid
            leave(other)
            assert embedded.answers()
            assert server_pid() == pid
        wait_until(lambda: not alive(pid), "the end of the server")


def test_three_processes_at_the_same_time_start_one_server(settings):
    with other_process(settings) as alice, other_process(settings) as bob, other_process(settings) as carol:
        pids = {entered(process) for process in (alice, bob, carol)}
        assert len(pids) == 1
        for process in (alice, bob):
            leave(process)
        assert embedded.answers()
        leave(carol)
    [pid] = pids
    wait_until(lambda: not alive(pid), "the end of the server")


# ---- data


def left_behind(settings):
    """The pid of a server whose process was killed. It has a user."""
    with other_process(settings) as owner:
        pid = entered(owner)
        with embedded_client() as store:
            store.hset("users", "alice", "1")
        owner.kill()
        owner.wait(TIMEOUT)
    return pid


def test_data_survives_a_restart():
    with embedded.running(), embedded_client() as store:
        store.hset("users", "alice", "1")
    with embedded.running(), embedded_client() as store:
        assert store.hgetall("users") == {"alice": "1"}


def test_the_server_of_a_killed_process_is_used_again_with_its_data(settings):
    pid = left_behind(settings)
    assert alive(pid)
    with embedded.running(), embedded_client() as store:
        assert server_pid() == pid
        assert store.hgetall("users") == {"alice": "1"}
    wait_until(lambda: not alive(pid), "the end of the server")
    assert not embedded.answers()


def test_every_acknowledged_write_survives_the_sudden_death_of_the_server():
    with embedded.running(), embedded_client() as store:
        pid = server_pid()
        for number in range(200):
            store.incr("next_post_id")
            store.lpush("timeline", number)
        os.kill(pid, signal.SIGKILL)
    assert not alive(pid)
    with embedded.running(), embedded_client() as store:
        assert server_pid() != pid
        assert store.get("next_post_id") == "200"
        assert store.lrange("timeline", 0, -1) == [str(number) for number in range(199, -1, -1)]


def test_data_survives_when_process_and_server_are_killed(settings):
    end(left_behind(settings))
    with embedded.running(), embedded_client() as store:
        assert store.hgetall("users") == {"alice": "1"}


def test_what_a_server_that_died_was_rewriting_does_not_stay(var):
    with embedded.running(), embedded_client() as store:
        store.config_set("rdb-key-save-delay", 100_000)  # microseconds: a rewrite takes a second and more
        store.mset({f"tag:{number}": "secret" for number in range(20)})
        store.bgrewriteaof()
        wait_until(lambda: unfinished(var), "the file of the rewrite")
        server = server_pid()
        children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
        for pid in (server, *map(int, children)):
            os.kill(pid, signal.SIGKILL)
    assert unfinished(var)
    with embedded.running(), embedded_client() as store:
        assert store.dbsize() == 20
        assert not unfinished(var)


def unfinished(var):
    return list((var / "store").glob("temp-*"))


# ---- failed starts


def test_no_second_server_is_started_while_a_left_behind_one_still_loads(settings, monkeypatch):
    """Two servers would write into the same files."""
    pid = left_behind(settings)
    real = embedded.is_embedded_server

    def go_on(number):
        os.kill(pid, signal.SIGCONT)
        return real(number)

    monkeypatch.setattr(embedded, "is_embedded_server", go_on)
    os.kill(pid, signal.SIGSTOP)
    try:
        with embedded.running(), embedded_client() as store:
            assert store.info("server")["process_id"] == pid
            assert server_pid() == pid
        wait_until(lambda: not alive(pid), "the end of the server")
    finally:
        end(pid)


def test_no_second_server_is_started_while_a_left_behind_one_hangs(settings, monkeypatch):
    pid = left_behind(settings)
    os.kill(pid, signal.SIGSTOP)
    try:
        monkeypatch.setattr(embedded, "STARTS_WITHIN", 0.1)
        with pytest.raises(EmbeddedServerError, match=f"process {pid} .* end it"), embedded.running():
            pytest.fail("it started")
        assert server_pid() == pid
        monkeypatch.undo()
        os.kill(pid, signal.SIGCONT)
        with embedded.running(), embedded_client() as store:
            assert server_pid() == pid
            assert store.hgetall("users") == {"alice": "1"}
    finally:
        end(pid)


@pytest.fixture
def started(monkeypatch):
    """The servers that this process has started."""
    servers = []
    popen = subprocess.Popen

    def start(command, **options):
        process = popen(command, **options)
        if "--unixsocket" in command:
            servers.append(process)
        return process

    monkeypatch.setattr(subprocess, "Popen", start)
    yield servers
    for server in servers:
        server.kill()
        server.wait()


def test_a_start_that_takes_too_long_fails_and_leaves_no_server_behind(monkeypatch, started):
    monkeypatch.setattr(embedded, "answers", lambda: False)
    monkeypatch.setattr(embedded, "STARTS_WITHIN", 0.3)
    with pytest.raises(EmbeddedServerError, match=r"did not answer .* see .*server\.log"), embedded.running():
        pytest.fail("it started")
    assert len(started) == 1
    wait_until(lambda: not alive(started[0].pid), "the end of the server")


def test_a_server_that_loads_its_data_for_long_is_waited_for(monkeypatch):
    with embedded.running(), embedded_client() as store, store.pipeline(transaction=False) as pipe:
        for number in range(8000):
            pipe.set(f"key{number}", "x")
        pipe.execute()
    settings = {**embedded._settings(), "key-load-delay": "100"}  # microseconds, for each command in its file
    monkeypatch.setattr(embedded, "_settings", lambda: settings)
    monkeypatch.setattr(embedded, "STARTS_WITHIN", 0.1)
    with embedded.running(), embedded_client() as store:
        assert store.dbsize() == 8000


@pytest.mark.parametrize("name", ["answers", "wait_for_answer"])
def test_a_start_that_is_interrupted_leaves_no_server_behind(monkeypatch, started, name):
    """By Ctrl-C or SIGTERM, when the server process exists: before and while waiting for its answer."""
    original = getattr(embedded, name)
    interrupted = []

    def interrupt(*args):
        if started and not interrupted:
            wait_until(lambda: redis.Redis(unix_socket_path=str(embedded.socket_path())).ping(), "the server")
            interrupted.append(name)
            raise KeyboardInterrupt
        return original(*args)

    monkeypatch.setattr(embedded, name, interrupt)
    with pytest.raises(KeyboardInterrupt), embedded.running():
        pytest.fail("it started")
    assert interrupted == [name]
    assert len(started) == 1
    wait_until(lambda: not alive(started[0].pid), "the end of the server")


def test_no_second_server_is_started_beside_one_that_takes_no_writes(var, started):
    """It replies MISCONF to PING, too. On a full disk it has no file with its pid either. A snapshot that cannot be
    written stands for the disk."""
    folder = var / "store"
    with embedded.running(), embedded_client() as store:
        (folder / "dump.rdb").mkdir()
        store.config_set("save", "3600 1")
        store.bgsave()
        wait_until(lambda: store.info("persistence")["rdb_last_bgsave_status"] == "err", "the snapshot")
        with pytest.raises(redis.ResponseError, match="MISCONF"):
            store.ping()
        pid = (folder / "server.pid").rename(folder / "aside")
        embedded.revive()
        with embedded.running():
            pass
        pid.rename(folder / "server.pid")
        (folder / "dump.rdb").rmdir()
        store.config_set("save", "")
    assert len(started) == 1


def test_a_server_whose_pid_cannot_be_written_is_ended_again(var, started):
    with embedded.running():
        pass
    (var / "store" / "server.pid").symlink_to(var / "missing" / "folder")
    with pytest.raises(EmbeddedServerError, match=r"/server\.pid: No such file"), embedded.running():
        pytest.fail("it started")
    assert not alive(started[-1].pid)


def test_a_server_that_cannot_read_its_data_fails_with_the_name_of_its_log(var):
    with embedded.running(), embedded_client() as store:
        store.hset("users", "alice", "1")
    # Redis 6.2 has one file, newer ones have several and a list of them.
    [file] = [path for name in ("*.manifest", "appendonly.aof") for path in (var / "store").rglob(name)]
    before = file.read_bytes()
    file.write_text("nonsense\n")
    with pytest.raises(EmbeddedServerError, match=r"see .*server\.log"), embedded.running():
        pytest.fail("it started")
    assert (var / "store" / "server.log").stat().st_size > 0
    file.write_bytes(before)
    with embedded.running(), embedded_client() as store:
        assert store.hgetall("users") == {"alice": "1"}


# ---- the folder is removed while the server runs


def test_a_server_whose_folder_was_removed_ends_with_its_last_user(var):
    """It ran for ever: no file told of it."""
    pids = []

    def remove_the_folder():
        with embedded.running():
            pids.append(server_pid())
            shutil.rmtree(var / "store")

    with pytest.raises(EmbeddedServerError, match="No store can be kept"):
        remove_the_folder()
    [pid] = pids
    wait_until(lambda: not alive(pid), "the end of the server")


def test_a_server_whose_folder_was_removed_gives_way_to_the_next_one(settings, var):
    """It answered those who were connected, and the next server all others: pages came from two stores in turn."""
    with embedded.running():
        with embedded_client() as store:
            store.set("one", "1")
            pid = server_pid()
            shutil.rmtree(var / "store")
            with other_process(settings) as other:
                entered(other)
                embedded.revive()
                assert store.get("one") is None
                assert not alive(pid)
                assert embedded.answers()
                leave(other)
        embedded.revive()
        next_one = server_pid()
    assert not alive(next_one)


def test_whoever_leaves_a_removed_folder_leaves_the_next_server_to_its_users(settings, var):
    with contextlib.ExitStack() as others:
        with embedded.running():
            pid = server_pid()
            shutil.rmtree(var / "store")
            other = others.enter_context(other_process(settings))
            entered(other)
        assert not alive(pid)
        assert embedded.answers()
        leave(other)
        assert not embedded.answers()
