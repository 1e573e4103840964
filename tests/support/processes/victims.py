"""Real processes that are killed between two commands.

`Cut` is a proxy socket before a Redis server. It passes on one command after the other, up to a number of those that
may write. The process that sends the next one is killed with SIGKILL, so the server never gets it, also within a
pipeline. `Victims` forks a process for each piece of work from a process that has loaded the site.
"""

import atexit
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from functools import cache

import django
import hiredis
from django.conf import settings
from django.core.cache import caches
from django.core.management import call_command, get_commands, load_command_class
from django.test import Client, override_settings

from retwis_site.store.client import connect
from tests.support.http.http_browser import TIMEOUT
from tests.support.stores.reading import may_write
from tests.support.stores.seam import killed_before_write, stride

KILLED = -signal.SIGKILL
STEPS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.scandir", "os.listdir"}


class Cut:
    """`<folder>/cut.sock`, a proxy for `<folder>/redis.sock`."""

    def __init__(self, folder):
        self._server = f"{folder}/redis.sock"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"{folder}/cut.sock")
        self._listener.listen()
        self._lock = threading.Lock()
        self._left = 0
        self.stride = 1
        self.passed = 0  # commands
        self.writes = 0  # of them may write
        self.last = ""  # the last one of them
        threading.Thread(target=self._accept, daemon=True).start()

    def after(self, writes):
        """Kill the process that sends a command that may write, after the next `writes` of these."""
        self._left = writes
        self.passed = self.writes = 0
        self.last = ""

    def close(self):
        self._listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        pid, _, _ = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(self._server)
            waiting = b""
            while received := client.recv(65536):
                waiting += received
                while command := _first_command(waiting):
                    waiting = waiting[len(command) :]
                    if not self._may_pass(command):
                        os.kill(pid, signal.SIGKILL)
                        return
                    client.sendall(_answer(server, command))

    def _may_pass(self, command):
        name = command.split(b"\r\n")[2].decode()
        if name == "AUTH":  # part of the connection, not of the work
            return True
        with self._lock:
            if may_write([(name,)]):
                self._left -= 1
                if self._left < 0:
                    return False
                self.writes += 1
            self.passed += 1
            self.last = name
            return True


def _first_command(waiting):
    """The bytes of the first complete command (`*2`, then `$3` and the bytes of each part); empty without one."""
    end = waiting.find(b"\r\n") + 2
    if end < 2:
        return b""
    for _ in range(int(waiting[1 : end - 2])):
        line = waiting.find(b"\r\n", end) + 2
        if line < 2:
            return b""
        end = line + int(waiting[end + 1 : line - 2]) + 2
    return waiting[:end] if end <= len(waiting) else b""


def _answer(server, command):
    server.sendall(command)
    reader = hiredis.Reader()
    answer = b""
    while True:
        received = server.recv(65536)
        answer += received
        reader.feed(received)
        if not received or reader.gets() is not False:
            return answer


class ThisProcess:
    """In place of a `Cut` and its `Victims`: the process of the test does the work, which ends before a round trip that
    may write."""

    passed = writes = sys.maxsize  # nobody counts them
    last = "is not known"

    def __init__(self):
        self.stride = stride()

    def after(self, writes):
        self._left = writes

    def run(self, **work):
        return KILLED if killed_before_write(self._left, lambda: carry_out(**work)) else 0


class Victims:
    """Processes that each do one piece of work on the store at `url`."""

    def __init__(self, url):
        self._url = url

    def run(self, **work):
        """Returns the exit code: 0 or KILLED. `work` is `path`, `form`, `secret`, `cookies` and `headers` of a request,
        or a `command` with its arguments. `folder` and `steps` kill it after so many steps on files there."""
        parent = _parent()
        parent.stdin.write(json.dumps({"url": self._url, **work}) + "\n")
        parent.stdin.flush()
        return int(parent.stdout.readline())


@cache
def _parent():
    """The process that forks: one for all tests, since it takes seconds to load the site."""
    parent = subprocess.Popen(
        [sys.executable, "-m", "tests.support.processes.victims"],
        cwd=settings.BASE_DIR,
        # Each child gets the address of its store; with none, the settings would be those of the embedded server.
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings.elsewhere", "REDIS_URL": "redis://127.0.0.1:1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(parent.communicate)
    return parent


def _fork_for_each_line():
    """Runs in the process that has loaded the site: forks a child for each line and prints its exit code."""
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _work(**json.loads(line))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201


def _die_after(steps, folder):
    """Kill this process before the next step on a file or folder in `folder`."""
    left = iter(range(steps))

    def watch(event, arguments):
        names = (str(argument) for argument in arguments if isinstance(argument, str | bytes | os.PathLike))
        if event in STEPS and any(name.startswith(folder) for name in names) and next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def _work(url, folder="", steps=0, **work):
    settings.REDIS_URL, settings.REDIS_TIMEOUT = url, TIMEOUT  # a busy machine must not be a failure of the store
    caches["store"] = caches.create_connection("store")  # the one of the parent has another address
    connect.cache_clear()
    if folder:
        _die_after(steps, folder)
    carry_out(**work)


def carry_out(path="", form=None, secret="", cookies=(), headers=None, command=(), inline_limit=1000):
    """A request, or a `command` with its arguments."""
    if command:
        call_command(*command, verbosity=0)
        return
    client = Client(raise_request_exception=True)
    client.cookies.load({settings.AUTH_COOKIE: secret, **dict(cookies)})
    with override_settings(DELIVER_INLINE_LIMIT=inline_limit):
        answer = client.get(path, headers=headers) if form is None else client.post(path, form, headers=headers)
    assert answer.status_code in {200, 302}, answer.content.decode()


def _load_the_site():
    """Once for all children: the views, the middleware and the commands, of which some take half a second."""
    Client().get("/livez")  # asks no store
    for name in ("backup", "deliver", "import", "import_account", "reindex"):
        load_command_class(get_commands()[name], name)


if __name__ == "__main__":
    django.setup()
    _load_the_site()
    _fork_for_each_line()
