"""Context managers that start what `make bench` measures, on loopback: stores, the site, the empty view."""

import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

from benchmarks.pages import Page
from benchmarks.visitor import Visitor
from benchmarks.wrk import Visit
from tests.support.processes.processes import free_ports, wait_until

ROOT = Path(__file__).parent.parent
NEEDED = {"wrk": "wrk", "redis-benchmark": "redis-tools", "redis-server": "redis-server"}
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
    "SECRET_KEY": "a secret for a benchmark on loopback",
    "DJANGO_SETTINGS_MODULE": "retwis_site.settings",
}
# The only variables that a site gets from the environment of this process: no setting comes from there.
KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "PYTHONPATH")
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


# ---- processes


def end(process: "subprocess.Popen[bytes]") -> None:
    """Send SIGTERM to a process that leads its session, then SIGKILL to what is left of its process group."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(ENDS_WITHIN)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def end_with_parent() -> None:
    """Let the kernel send SIGTERM to this process when its parent is gone, even when the parent was killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


@contextlib.contextmanager
def running(command: Sequence[str], env: dict[str, str], **more: Any) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a command for the length of the block. `more`: what else `Popen` is given, such as its output."""
    # In a new session, Ctrl-C does not reach it: only this process gets the signal, and ends its children in order.
    process = subprocess.Popen(command, cwd=ROOT, env=env, start_new_session=True, **more)
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

    @property
    def log(self) -> Path:
        """What the site that was started last has printed."""
        return Path(self.env["VAR_DIR"]) / "site.log"

    def manage(self, *arguments: str) -> None:
        command = [sys.executable, "manage.py", *arguments]
        subprocess.run(command, cwd=ROOT, env=self.env, check=True, timeout=600, stdout=subprocess.DEVNULL)

    def seed(self, users: int, posts: int, follows: int) -> None:
        self.manage("seed", f"--users={users}", f"--posts={posts}", f"--follows={follows}", "--verbosity=0")

    def settle(self) -> None:
        """Wait until the server does not rewrite its append-only file."""
        wait_until(lambda: not self._rewrites(), "the end of the rewrite of the append-only file", 600)

    def _rewrites(self) -> bool:
        info = self.client.info("persistence")
        return bool(info["aof_rewrite_in_progress"] or info["aof_rewrite_scheduled"])


def site_env(folder: Path) -> dict[str, str]:
    """Environment variables of a separate site that writes only into `folder`."""
    return {name: os.environ[name] for name in KEPT if name in os.environ} | FIXED | {"VAR_DIR": str(folder)}


@contextlib.contextmanager
def embedded_store(folder: Path) -> Iterator[Place]:
    """The embedded server, as `make run` starts it.

    A child process holds it. When this process ends, even by a kill, the child's stdin closes. The child then
    releases the server.
    """
    env = site_env(folder)
    with running([sys.executable, "-c", HOLD], env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
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
            holder.wait(60)


# ---- web servers


@contextlib.contextmanager
def web(place: Place, command: Sequence[str], path: str, started: str, log: Path) -> Iterator[int]:
    """Yields the port of a web server once it answers and its log has a match of `started` for each worker."""
    (port,) = free_ports(1)
    command = [sys.executable, *command, f"--port={port}"]
    how = {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "preexec_fn": end_with_parent}
    with log.open("wb") as output, running(command, place.env, stdout=output, **how) as process:

        def ready() -> bool:
            if process.poll() is not None:
                raise RuntimeError(f"{' '.join(command)} ended:\n{log.read_text()[-2000:]}")
            with contextlib.closing(Visitor(port)) as visitor:
                answers = visitor.get(Visit(path)).status == 200
            return answers and len(set(re.findall(started, log.read_text()))) >= WORKERS

        wait_until(ready, " ".join(command), STARTS_WITHIN)
        yield port


def site(place: Place) -> "contextlib.AbstractContextManager[int]":
    """The port of the site as shipped: `manage.py serve`, with the worker of its outbox."""
    return web(place, ["manage.py", "serve"], "/livez", LISTENS, place.log)


def workers(log: Path) -> list[int]:
    """The process ids of the web workers of a site, from its log."""
    found = [int(pid) for pid in re.findall(r"web worker \d+ has PID: (\d+)", log.read_text())]
    if len(found) != WORKERS:
        raise RuntimeError(f"{len(found)} workers were started instead of {WORKERS}")
    return found


@contextlib.contextmanager
def empty_view(place: Place) -> Iterator[Page]:
    """The empty view, under granian with one blocking thread for each worker."""
    command = ["-m", "granian", "benchmarks.hello:application", "--factory", "--interface", "wsgi", "--no-ws"]
    command += ["--workers", str(WORKERS), "--blocking-threads", "1", "--host", "127.0.0.1"]
    with web(place, command, "/", STARTED, place.log.with_name("empty.log")) as port:
        yield Page("empty view", port, [Visit("/")], posts=0)
