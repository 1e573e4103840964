"""Processes that tests start, watch and end: servers, commands, other users of the embedded server; and their ports."""

import contextlib
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import redis
from django.conf import settings

from retwis_site.store import embedded
from tests.support.http.http_browser import TIMEOUT, Browser
from tests.support.processes.fresh_process import PATIENT, run_code
from tests.support.stores import acl_users

OWN_SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "retwis_site.settings"
}  # for a site that is to give a hanging store up in its own time


@contextlib.contextmanager
def launch_server(folder: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a Redis server on `<folder>/redis.sock`. It may not answer yet. It has the ACL users of docs/redis.md, so
    `acl_users.url(folder)` is its URL."""
    users = Path(folder) / "users.acl"
    users.write_text("\n".join(acl_users.lines()))
    command = [
        str(embedded.find_binary()),
        "--port",
        "0",
        "--unixsocket",
        f"{folder}/redis.sock",
        "--aclfile",
        str(users),
        "--dir",
        folder,
        "--save",
        "",
        *options,
    ]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        yield server
    finally:
        server.send_signal(signal.SIGCONT)
        server.kill()
        server.wait()


@contextlib.contextmanager
def run_server(folder: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Like `launch_server`, but the server answers."""
    administrator = redis.Redis.from_url(acl_users.url(folder, acl_users.ADMIN))
    with launch_server(folder, *options) as server, administrator:
        wait_until(administrator.ping, f"a server in {folder}")
        yield server


def wait_until(condition: Callable[[], object], what: str, seconds: float = TIMEOUT) -> None:
    """Wait until the condition is true. A connection error counts as false."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(redis.RedisError, OSError):
            if condition():
                return
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.01)


def environment(var, **changes):
    """The environment for a separate `manage.py`. No request is slow: see tests/settings/base.py."""
    own = {"DJANGO_SETTINGS_MODULE": PATIENT, "VAR_DIR": str(var), "SLOW_REQUEST_MS": "0"}
    return {**os.environ, **own, **changes}


def manage(*arguments, env, input=""):
    """Run `manage.py` with these arguments until it ends."""
    command = "from retwis_site.command_line import main; main()"
    return run_code(command, env, input, ("manage.py", *arguments), seconds=TIMEOUT)


def server_pid():
    return int((embedded.folder() / "server.pid").read_text())


def alive(pid):
    """Whether a process runs. A zombie does not."""
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


def end_group(leader):
    """End a process that leads a group, and all processes that it started. A `deliver` that lives on for a second takes
    the jobs of the next test."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader.pid, signal.SIGKILL)
    leader.wait()
    wait_until(lambda: not any(map(alive, _group(leader.pid))), f"the end of process group {leader.pid}")


@contextlib.contextmanager
def running_group(command, folder, variables, log):
    """Run a command in a folder during the block, with these variables of the environment. It leads a process group."""
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command,
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            end_group(process)


def _group(number):
    """The pids of a process group."""
    ended = (OSError, IndexError)  # while its line was read
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(*ended):
            if int((entry / "stat").read_text().rpartition(")")[2].split()[2]) == number:
                yield int(entry.name)


@contextlib.contextmanager
def embedded_client():
    with redis.Redis(unix_socket_path=str(embedded.socket_path()), decode_responses=True) as client:
        yield client


def contents(folder):
    """The content of every file in the folder; the two lock files are always empty."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


OTHER_PROCESS = """
import sys
from retwis_site.store import embedded
with embedded.running():
    print((embedded.folder() / "server.pid").read_text().strip(), flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def other_process(settings):
    """Another process that is inside `embedded.running()`."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": PATIENT, "VAR_DIR": str(settings.VAR_DIR)}
    environment.pop("REDIS_URL")
    with subprocess.Popen(
        [sys.executable, "-c", OTHER_PROCESS],
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
    """The pid of the server, once the process is inside `running()`."""
    return int(process.stdout.readline())


def leave(process):
    process.stdin.close()
    assert process.wait(TIMEOUT) == 0


class Site:
    """A running `manage.py serve` and its output."""

    def __init__(self, process, port, log):
        self.process = process
        self.port = port
        self.browser = Browser(port)
        self.log = log

    def printed(self):
        return self.log.read_text()

    def wait_until_it_serves(self):
        wait_until(lambda: self.process.poll() is not None or self.browser.open("/livez")[0] == 200, "the site")
        assert self.process.poll() is None, self.printed()

    def announced(self):
        """The pids of the command and of its processes that it has printed so far."""
        return {self.process.pid, *map(int, re.findall(r"PID: ([0-9]+)", self.printed()))}

    def pids(self):
        """All pids, once all workers have started."""
        self.wait_for_workers()
        return self.announced()

    def wait_for_workers(self, number=2):
        listen = r"web worker [0-9]+ listens"
        wait_until(lambda: len(set(re.findall(listen, self.printed()))) == number, f"{number} web workers")

    def web_workers(self):
        """The pids of the web workers that run."""
        found = re.findall(r"web worker [0-9]+ has PID: ([0-9]+)", self.printed())
        return [int(pid) for pid in found if alive(int(pid))]

    def stop(self, with_signal=signal.SIGTERM):
        self.process.send_signal(with_signal)
        return self.process.wait(TIMEOUT)


@contextlib.contextmanager
def run_site(var, log, port, **changes):
    """Run `manage.py serve` during the block, without REDIS_URL, and with these changes to the environment."""
    variables = environment(var)
    for name in ("REDIS_URL", "SECRET_KEY", "PORT", "WEB_WORKERS"):
        variables.pop(name, None)
    command = [sys.executable, "manage.py", "serve", f"--port={port}"]
    with running_site(command, {**variables, **changes}, log, port) as site:
        yield site


@contextlib.contextmanager
def running_site(command, variables, log, port):
    """Run the command of a web server during the block, with these variables of the environment. It need not answer
    yet."""
    with running_group(command, settings.BASE_DIR, variables, log) as process:
        yield Site(process, port, log)


# Below the ports that systems give to clients: a client that connects to a free port of those may be given that same
# port, and is connected to itself. Tests that run at the same time take theirs from different parts: a port is free
# until its server starts.
PARTS = 8
_part = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % PARTS
PORTS = range(20_000, 32_000)[_part::PARTS]
_given = deque(maxlen=len(PORTS) // 2)  # lately; their servers may not have started yet


def free_port():
    """A port that is free now."""
    return free_ports(1)[0]


def free_ports(count):
    """Distinct ports that are free now."""
    with contextlib.ExitStack() as probes:
        found = []
        while len(found) < count:
            port, probe = random.choice(PORTS), probes.enter_context(socket.socket())
            if port in _given:
                continue
            with contextlib.suppress(OSError):
                probe.bind(("127.0.0.1", port))
                found.append(port)
                _given.append(port)
        return found


def connections_to(listening):
    """How many clients have connected to a socket that nobody accepts from. It accepts and closes their connections."""
    listening.setblocking(False)
    number = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            listening.accept()[0].close()
            number += 1
    return number
