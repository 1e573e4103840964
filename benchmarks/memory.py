"""`python -m benchmarks.memory`: how much memory do a user, a home and a post take, and a worker after many pages?"""

import random
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import redis
from django.contrib.auth.hashers import make_password

import benchmarks.configured  # noqa: F401
from benchmarks import raw, run
from benchmarks.pages import full_homes
from benchmarks.plan import Plan, Report, table
from benchmarks.raw import FIRST_ID, Command
from benchmarks.stand import Place, embedded_store, site, workers
from benchmarks.visitor import Viewer, people
from benchmarks.wrk import AT_RANDOM, CLIENTS, Visit, target
from retwis_site.store import keys
from tests.support.processes.processes import free_ports
from tests.support.stores.topologies import Server, running

IDS, EDGES = 1000, 40
COMPACT = ("hash-max-listpack-value", 1200)  # as docs/redis.md has it
WARM_UP = 100  # requests after which a worker counts as started
PROFILES, TIMELINES = 15, 5  # percent of the page views; all others are homes
MEGABYTE = 1024 * 1024


# ---- entries of the store


def entries(plan: Plan) -> Report:
    """Bytes of a home, of a user and of a post."""
    (port,) = free_ports(1)
    server = Server(plan.folder, port)
    with embedded_store(plan.folder) as place:
        shipped = _weights(place.client, plan)
    with running([server]):
        plain = _weights(server.client, plan)
        server.client.config_set(*COMPACT)
        compact = _weights(server.client, plan)
    names = [
        f"a home of {IDS:,} ids of 7 digits, as INCR gives them",
        f"a user with {EDGES} follows, {EDGES} followers and no home",
        "a post, with its entry among the posts of its author",
    ]
    rows = [
        [name, *(f"{size:,.0f}" for size in sizes)] for name, *sizes in zip(names, shipped, compact, plain, strict=True)
    ]
    heads = ["thing", "the embedded server", f"`redis-server`, `{COMPACT[0]} {COMPACT[1]}`", "`redis-server`, defaults"]
    text = f"""\
Growth of `used_memory`, in bytes for each of {plan.homes:,} homes, each of {plan.accounts:,} users and each of
{plan.weighed_posts:,} posts. A user has a hash with an Argon2 password, both sides of each edge, and entries in
`users`, `auths`, `users_by_time`, `users_by_name` (two) and `users_by_followers`. A post has a text of the demo, and
{EDGES} posts are of one author. The goals are about the embedded server, which has the setting of the second column
too; so does `deploy/redis.conf`.

{table(heads, rows)}"""
    return Report(text, dict(zip(("home bytes", "user bytes", "post bytes"), shipped, strict=True)))


def _weights(client: redis.Redis, plan: Plan) -> list[float]:
    """Bytes of a home, of a user and of a post in this store."""
    filled = [(_homes, plan.homes), (_users, plan.accounts), (_posts, plan.weighed_posts)]
    return [_weigh(client, commands(count)) / count for commands, count in filled]


def _homes(count: int) -> Iterator[Command]:
    for uid in range(FIRST_ID, FIRST_ID + count):
        yield ("RPUSH", keys.home(uid), *range(FIRST_ID + uid % 1000 + IDS * 900, FIRST_ID + uid % 1000, -900))


def _users(count: int) -> Iterator[Command]:
    uids = range(FIRST_ID, FIRST_ID + count)
    yield from raw.people(uids, make_password("a password"))
    for uid in uids:
        others = range(uid + 7, uid + 7 * EDGES + 1, 7)
        yield ("ZADD", keys.users_by_followers(), EDGES, uid)
        yield from raw.one_side(keys.following(uid), others)
        yield from raw.one_side(keys.followers(uid), others)


def _posts(count: int) -> Iterator[Command]:
    return raw.posts(raw.demo_texts(count), max(1, count // EDGES), FIRST_ID)


def _weigh(client: redis.Redis, commands: Iterable[Command]) -> int:
    """The bytes by which `used_memory` grows when the commands write to the empty server."""
    client.execute_command("FLUSHALL", "SYNC")
    empty = client.info("memory")["used_memory"]
    raw.load(client, commands)
    return int(client.info("memory")["used_memory"]) - int(empty)


# ---- web workers


def private(pid: int) -> int:
    """The bytes of memory that only this process has, from the kernel's summary."""
    return private_bytes(Path(f"/proc/{pid}/smaps_rollup").read_text())


def private_bytes(rollup: str) -> int:
    return sum(int(size) * 1024 for size in re.findall(r"^Private_(?:Clean|Dirty):\s+(\d+) kB$", rollup, re.MULTILINE))


def worker(plan: Plan) -> Report:
    """The growth of both workers of a site that has just started, whose homes are built."""
    with embedded_store(plan.folder) as place:
        place.seed(plan.many_users, plan.many_users_posts, plan.follows)
        users = people(place.client)
        with site(place) as port:
            full_homes(port, users, len(users) // 2)
        start, end, requests = _served(plan, place, users)
    grown = [after - before for before, after in zip(start, end, strict=True)]
    rows = [
        [f"worker {number}", *(f"{size / MEGABYTE:.1f}" for size in sizes)]
        for number, sizes in enumerate(zip(start, end, grown, strict=True), 1)
    ]
    text = f"""\
Memory of the {len(start)} web workers of a site that has just started, after {WARM_UP} page views and after
{requests:,} more, at random: {100 - PROFILES - TIMELINES} % homes, {PROFILES} % profiles of others and
{TIMELINES} % global timelines, all signed in as random users. It is the memory that a process does not share with
others (`Private_*` in `/proc/<pid>/smaps_rollup`).

{table(["process", "start, MB", "end, MB", "growth, MB"], rows)}"""
    return Report(text, {"worker memory": max(grown)})


def _served(plan: Plan, place: Place, users: Sequence[Viewer]) -> tuple[list[int], list[int], int]:
    """The private bytes of each worker before and after all page views, and the number of views."""
    with site(place) as port:
        pids = workers(place.log)
        views = target(port, visits(users), plan.folder / "views.lua", AT_RANDOM)
        views.first(CLIENTS, WARM_UP)
        start = [private(pid) for pid in pids]
        result = views.first(CLIENTS, plan.views)
        end = [private(pid) for pid in pids]
        if workers(place.log) != pids or result.refused or result.broken:
            raise RuntimeError(f"{result.refused} page views were refused and {result.broken} broken, or a worker died")
    return start, end, result.requests


def visits(users: Sequence[Viewer]) -> list[Visit]:
    """A home of each user, and in proportion profiles and global timelines."""
    rng = random.Random(4)
    homes = [user.visit("/") for user in users]
    some = rng.choices(users, k=len(users) * PROFILES // (100 - PROFILES - TIMELINES))
    profiles = [user.visit(rng.choice(users).profile) for user in some]
    some = rng.choices(users, k=len(users) * TIMELINES // (100 - PROFILES - TIMELINES))
    return [*homes, *profiles, *(user.visit("/timeline/") for user in some)]


PARTS = {"entries": entries, "worker": worker}

if __name__ == "__main__":
    sys.exit(run.main("memory", PARTS))
