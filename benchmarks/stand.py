"""Context managers that start what `make bench` measures, on loopback: stores, the site, the empty view."""

import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import redis

from benchmarks.visitor import Visitor
from tests.support.processes.ports import free_ports

ROOT = Path(__file__).parent.parent
NEEDED = {"wrk": "wrk", "ab": "apache2-utils", "redis-benchmark": "redis-tools", "redis-server": "redis-server"}
WORKERS = 2
STARTED = r"Started worker-\d+"  # in the log of granian
LISTENS = r"web worker \d+ listens"  # in the log of `manage.py serve`
STARTS_WITHIN = 120.0  # seconds; a busy machine is slow
ENDS_WITHIN = 20.0  # seconds
PR_SET_PDEATHSIG = 1
FIXED = {
    "WEB_WORKERS": str(WORKERS),
    "THROTTLE": "0",
    "INSPECT": "0",
    "DJANGO_SETTINGS_MODULE": "retwis_site.settings",
}
# Settings of the site that must not come from the environment of this process.
UNSET = (
    "REDIS_URL",
    "REDIS_TOPOLOGY",
    "REDIS_NODES",
    "REDIS_KEY_PREFIX",
    "POST_IDS",
    "NODE_ID",
    "TIMELINE_SHARDS",
    "OUTBOX_SHARDS",
    "RETWIS_ENV_FILE",
    "EMBEDDED",
    "HTTPS",
    "DEBUG",
    "DELIVER_INLINE_LIMIT",
    "ALLOWED_HOSTS",
    "CSRF_TRUSTED_ORIGINS",
    "TRUSTED_PROXIES",
    "SECRET_KEY",
    "PORT",
    "VAR_DIR",
    "REDIS_SENTINEL_SERVICE",
    "REDIS_SENTINEL_USERNAME",
    "REDIS_SENTINEL_PASSWORD",
)
HOLD = """
import sys
from retwis_site.store import embedded
with embedded.running():
    print(embedded.socket_path(), flush=True)
    sys.stdin.read()
"""


def missing() -> list[str]:
    """The Debian packages of the programs that are not installed."""
    return [package for program, package in NEEDED.items() if shutil.which(program) is None]


def wait_for(condition: Callable[[], object], what: str, seconds: float = STARTS_WITHIN, every: float = 0.02) -> None:
    """Wait until `condition` is true. A connection error counts as false. Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError, redis.RedisError):
            if condition():
                return
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds:.0f} s for {what}")
        time.sleep(every)


# ---- processes


def _started(pid: int) -> tuple[int, str] | None:
    """The parent of a process and its start time; None when it has ended. A later process with the same pid has another
    start time."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]), fields[19]


def family(pid: int) -> dict[int, str]:
    """All descendants of a process: their start times by pid."""
    processes = {int(path.name): _started(int(path.name)) for path in Path("/proc").glob("[0-9]*")}
    found: dict[int, str] = {}
    parents = [pid]
    while parents:
        parent = parents.pop()
        children = {
            child: stat[1] for child, stat in processes.items() if stat and stat[0] == parent and child not in found
        }
        found |= children
        parents.extend(children)
    return found


def end(process: "subprocess.Popen[bytes]") -> None:
    """Send SIGTERM to a process, then SIGKILL to it and its descendants that are left."""
    children = family(process.pid)
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for pid, began in children.items():
        now = _started(pid)
        if now is not None and now[1] == began:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def end_with_parent() -> None:
    """Let the kernel send SIGTERM to this process when its parent is gone, even when the parent was killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


@contextlib.contextmanager
def running(command: Sequence[str], env: dict[str, str], log: IO[bytes]) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a command for the length of the block, with its output in `log`."""
    # In a new session, Ctrl-C does not reach it: only this process gets the signal, and ends its children in order.
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
        preexec_fn=end_with_parent,
    )
    try:
        yield process
    finally:
        end(process)


# ---- a store


@dataclass(frozen=True)
class Place:
    """A store, and the environment variables that lead the site to it."""

    client: redis.Redis
    env: dict[str, str]

    def manage(self, *arguments: str) -> None:
        command = [sys.executable, "manage.py", *arguments]
        subprocess.run(command, cwd=ROOT, env=self.env, check=True, timeout=600, stdout=subprocess.DEVNULL)

    def seed(self, users: int, posts: int, follows: int) -> None:
        self.manage("seed", f"--users={users}", f"--posts={posts}", f"--follows={follows}", "--verbosity=0")

    def settle(self) -> None:
        """Wait until the server does not rewrite its append-only file."""
        wait_for(lambda: not self._rewrites(), "the end of the rewrite of the append-only file", 600, every=0.2)

    def _rewrites(self) -> bool:
        info = self.client.info("persistence")
        return bool(info["aof_rewrite_in_progress"] or info["aof_rewrite_scheduled"])


def site_env(folder: Path, **more: str) -> dict[str, str]:
    """Environment variables of a separate site that writes only into `folder`."""
    others = {name: value for name, value in os.environ.items() if name not in UNSET}
    return {
        **others,
        **FIXED,
        "VAR_DIR": str(folder),
        "SECRET_KEY": "a secret for a benchmark on loopback",
        **more,
    }


@contextlib.contextmanager
def embedded_store(folder: Path) -> Iterator[Place]:
    """The embedded server, as `make run` starts it.

    A child process holds it. When this process ends, even by a kill, the child's stdin closes. The child then
    releases the server.
    """
    env = site_env(folder)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        cwd=ROOT,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    try:
        path = holder.stdout.readline().decode().strip()
        if not path:
            raise RuntimeError("the embedded server did not start")
        with redis.Redis(unix_socket_path=path, decode_responses=True) as client:
            yield Place(client, env)
    finally:
        holder.stdin.close()
        try:
            holder.wait(60)
        finally:
            end(holder)


# ---- web servers


@contextlib.contextmanager
def web(place: Place, command: Sequence[str], port: int, path: str, started: str, log: Path) -> Iterator[int]:
    """Yields the port of a web server once it answers and its log has a match of `started` for each worker."""
    with log.open("wb") as output, running(command, place.env, output) as process:

        def ready() -> bool:
            if process.poll() is not None:
                raise RuntimeError(f"{' '.join(command)} ended:\n{log.read_text()[-2000:]}")
            visitor = Visitor(port)
            try:
                return visitor.get(path).status == 200 and len(set(re.findall(started, log.read_text()))) >= WORKERS
            finally:
                visitor.close()

        wait_for(ready, f"{' '.join(command)} on port {port}")
        yield port


def site(place: Place, log: Path) -> "contextlib.AbstractContextManager[int]":
    """The site as shipped: `manage.py serve`, with the worker of its outbox."""
    (port,) = free_ports(1)
    command = [sys.executable, "manage.py", "serve", f"--port={port}"]
    return web(place, command, port, "/livez", LISTENS, log)


def workers(log: Path) -> list[int]:
    """The process ids of the web workers of a site, from its log."""
    found = [int(pid) for pid in re.findall(r"web worker \d+ has PID: (\d+)", log.read_text())]
    if len(found) != WORKERS:
        raise RuntimeError(f"{len(found)} workers were started instead of {WORKERS}")
    return found


def granian(
    place: Place, log: Path, threads: int, application: str = "retwis_site.wsgi:application", path: str = "/livez"
) -> "contextlib.AbstractContextManager[int]":
    """An application under granian itself, without `manage.py serve`."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "granian", application, "--interface", "wsgi", "--workers", str(WORKERS)]
    command += ["--blocking-threads", str(threads), "--no-ws", "--host", "127.0.0.1", "--port", str(port)]
    factory = ["--factory"] if application.startswith("benchmarks.") else []
    return web(place, [*command, *factory], port, path, STARTED, log)


def empty_view(place: Place, log: Path) -> "contextlib.AbstractContextManager[int]":
    """The empty view, under granian with one blocking thread for each worker."""
    return granian(place, log, 1, "benchmarks.hello:application", "/")


def gunicorn(
    place: Place, log: Path, application: str = "retwis_site.wsgi:application", path: str = "/livez"
) -> "contextlib.AbstractContextManager[int]":
    """An application under gunicorn's sync workers."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "gunicorn", application, "--workers", str(WORKERS)]
    return web(place, [*command, "--bind", f"127.0.0.1:{port}"], port, path, r"Booting worker with pid: \d+", log)
