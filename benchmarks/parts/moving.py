"""How long a large site takes to move: from the official Retwis, into a file and out of it, into a backup and back."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import redis

from benchmarks.growth.paper import table
from benchmarks.growth.sizes import NOW
from benchmarks.parts.raw import BODIES, Command, counters, edges, load, viewer
from benchmarks.plan import Plan, Report
from benchmarks.stand import ROOT, Place, embedded_store
from retwis_site.store import keys

GLOBAL = 1000  # ids in the official `timeline`


@dataclass(frozen=True)
class Run:
    """A command that has ended well."""

    command: str
    seconds: float
    peak: int  # bytes: the most memory that it had
    size: int = 0  # bytes of the file or folder that it wrote

    def row(self, posts: int) -> list[str]:
        written = f"{self.size / 2**20:,.0f}" if self.size else ""
        rate = f"{posts / self.seconds:,.0f}"
        return [f"`{self.command}`", f"{self.seconds:.0f}", rate, f"{self.peak / 2**20:.0f}", written]


def report(plan: Plan) -> Report:
    file, folder = plan.folder / "site.jsonl.zst", plan.folder / "backup"
    with ExitStack() as stack:

        def store(name: str) -> Place:
            return stack.enter_context(embedded_store(plan.folder / name))

        official, imported, again, restored = (store(name) for name in ("official", "imported", "again", "restored"))
        _fill(plan, official)
        address = official.client.connection_pool.connection_kwargs["path"]
        runs = [
            _run(imported, "import_retwis", f"--from=unix://{address}"),
            _run(official, "adopt"),
            _run(imported, "export", str(file), wrote=file),
            _run(again, "import", str(file)),
            _run(again, "backup", str(folder), wrote=folder),
            _run(restored, "restore", str(folder)),
            _run(restored, "doctor"),
        ]
        for place in (official, imported, again, restored):
            _require_posts(place.client, plan)
    rows = [run.row(plan.many_posts) for run in runs]
    return Report(f"""\
A site of the official Retwis with {plan.users:,} users, {plan.many_posts:,} posts and {plan.follows} follows each,
moved from store to store: all are embedded servers of this machine. {plan.users:,} passwords are hashed twice, once by
`import_retwis` and once by `adopt`. Memory is the most that the command had, or a server that it started (`restore`):
`ru_maxrss` of the kernel, with Python and Django. Afterwards each store has all posts, and `doctor` finds no error in
the last one.

{table(["command", "seconds", "posts a second", "memory, MB", "wrote, MB"], rows)}""")


def _run(place: Place, *arguments: str, wrote: Path | None = None) -> Run:
    """Run a command to its end. Raises RuntimeError when it fails."""
    began = time.monotonic()
    command = [sys.executable, "manage.py", *arguments, "--verbosity=0"]
    process = subprocess.Popen(command, cwd=ROOT, env=place.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    files = [wrote] if wrote is not None and wrote.is_file() else wrote.rglob("*") if wrote is not None else []
    size = sum(path.stat().st_size for path in files if path.is_file())
    return Run(arguments[0], time.monotonic() - began, usage.ru_maxrss * 1024, size)


def _fill(plan: Plan, place: Place) -> None:
    """A database as the official PHP writes it."""
    rng = random.Random(5)
    uids = range(1, plan.users + 1)
    load(place.client, counters(plan.users, plan.many_posts))
    for me in uids:
        load(place.client, _account(me))
        load(place.client, edges(me, rng.sample([uid for uid in uids if uid != me], plan.follows)))
    load(place.client, _posts(plan.many_posts, plan.users))
    load(place.client, [("RPUSH", "timeline", *range(plan.many_posts, max(0, plan.many_posts - GLOBAL), -1))])
    place.settle()


def _account(uid: int) -> Iterator[Command]:
    user = viewer(uid)
    yield ("HSET", keys.user(uid), "username", user.name, "password", f"the password of {uid}", "auth", user.secret)
    yield ("HSET", keys.auths(), user.secret, uid)
    yield ("HSET", keys.users(), user.name, uid)
    yield ("ZADD", keys.users_by_time(), NOW, user.name)


def _posts(count: int, authors: int) -> Iterator[Command]:
    for pid in range(1, count + 1):
        body = BODIES[pid % len(BODIES)]
        yield ("HSET", keys.post(pid), "user_id", pid % authors + 1, "time", NOW + pid // 100, "body", body)


def _require_posts(client: redis.Redis, plan: Plan) -> None:
    found = sum(client.zcard(keys.updates(uid)) for uid in range(1, plan.users + 1))
    if found != plan.many_posts:
        raise RuntimeError(f"{found} posts of {plan.many_posts} have arrived")
