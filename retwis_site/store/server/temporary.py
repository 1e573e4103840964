"""Servers for the time of a block: each loads an RDB file, or is empty. Nothing is written to the file.

They run in a folder of their own, without an append-only file: with one, a server ignores the RDB file and is empty.
They end with this process, also when it is killed.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from retwis_site.store.server.embedded import EmbeddedServerError, find_binary, version_text

# The watcher's standard input is a pipe from this process. It is closed when this process ends in any way.
_WATCH = 'read -r _; kill -9 "$1" 2>/dev/null; rm -rf "$2"'
LONGEST = 75  # bytes of the path of TMPDIR: with `/retwis-12345678/redis.sock`, at most 103
LAST_OF_BOTH = 11  # the last version of RDB files of Redis (7.2) that Valkey can load
_SETTINGS = {
    "port": "0",
    "unixsocketperm": "700",
    "appendonly": "no",
    "save": "",
    "maxmemory-policy": "noeviction",
}


@contextlib.contextmanager
def empty_server() -> Iterator[str]:
    """The address of a server without data, for the time of the block. Raises EmbeddedServerError."""
    with _server() as address:
        yield address


@contextlib.contextmanager
def servers_on(files: Sequence[Path], database: int) -> Iterator[list[str]]:
    """The addresses of servers, one for each RDB file, with the number of the database in them. Raises
    EmbeddedServerError for a file that the server program cannot load: the message names the fix."""
    with contextlib.ExitStack() as stack:
        addresses = [stack.enter_context(_server(file)) for file in files]
        yield [f"{address}?db={database}" for address in addresses]


@contextlib.contextmanager
def _server(rdb: Path | None = None) -> Iterator[str]:
    binary = find_binary() if rdb is None else _program_for(rdb)
    folder = Path(tempfile.mkdtemp(prefix="retwis-", dir=_place()))  # only this user may enter it
    if rdb is not None:
        (folder / "dump.rdb").symlink_to(rdb.resolve())
    with contextlib.ExitStack() as stack:
        server = _launch(binary, folder)
        stack.callback(server.wait)
        stack.enter_context(_watcher(server.pid, folder))
        _wait_until_loaded(server, binary, folder, rdb)
        yield f"unix://{folder}/redis.sock"


def _program_for(rdb: Path) -> Path:
    """The server program for an RDB file. Raises EmbeddedServerError for a file that cannot be read, and without any
    program."""
    try:
        begins = _format(rdb)
    except OSError as error:
        raise EmbeddedServerError(f"{rdb}: {error.strerror}. Name a file that this user can read") from error
    version = begins.removeprefix("REDIS")
    of_newer_redis = version.isdecimal() and int(version) > LAST_OF_BOTH
    redis_server = shutil.which("redis-server") if of_newer_redis else None
    return Path(redis_server) if redis_server else find_binary()


def _place() -> str:
    """Where temporary files are; with a path too long for a socket in it, /tmp."""
    place = tempfile.gettempdir()
    return place if len(os.fsencode(place)) <= LONGEST else "/tmp"  # noqa: S108


def _launch(binary: Path, folder: Path) -> "subprocess.Popen[bytes]":
    own = {"unixsocket": f"{folder}/redis.sock", "dir": os.fspath(folder), "logfile": f"{folder}/server.log"}
    options = (part for name, value in (_SETTINGS | own).items() for part in (f"--{name}", value))
    return subprocess.Popen(  # noqa: S603
        [binary, *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        umask=0o077,
    )


@contextlib.contextmanager
def _watcher(pid: int, folder: Path) -> Iterator[None]:
    """A process that ends the server and removes its folder, when the block or this process ends."""
    command = ["/bin/sh", "-c", _WATCH, "watcher", str(pid), os.fspath(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True):  # noqa: S603
        yield


def _wait_until_loaded(server: "subprocess.Popen[bytes]", binary: Path, folder: Path, rdb: Path | None) -> None:
    with redis.Redis(unix_socket_path=f"{folder}/redis.sock", retry=Retry(NoBackoff(), 0)) as client:
        while server.poll() is None:
            with contextlib.suppress(redis.RedisError):  # it does not listen yet, or it loads its data
                if client.ping():
                    return
            time.sleep(0.02)
    if rdb is None:
        raise EmbeddedServerError(f"{binary} ended with code {server.returncode}")
    raise EmbeddedServerError(
        f"{version_text(binary)} cannot load {rdb}, which begins with {_format(rdb)!r}: {_last_words(folder)}. If a "
        "newer server wrote it, install that one or a newer one; if not, the file is damaged: take another backup"
    )


def _format(rdb: Path) -> str:
    """Kind and version of an RDB file: `REDIS0010`, `VALKEY080`."""
    with rdb.open("rb") as file:
        return file.read(9).decode("ascii", errors="replace")


def _last_words(folder: Path) -> str:
    """The last warning in the server's log."""
    log = folder / "server.log"
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    warnings = [line.partition(" # ")[2] for line in lines if " # " in line]
    return warnings[-1].rstrip(".") if warnings else "its log is empty"
