"""The mix of operations by which the research literature measures Retwis, over HTTP: one server, a cluster of three."""

import contextlib
import multiprocessing
import random
import secrets
import signal
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import cast

import redis

from benchmarks.growth.paper import table
from benchmarks.growth.sizes import version
from benchmarks.plan import Plan, Report
from benchmarks.stand import Place, site, site_env
from benchmarks.visitor import CSRF_LETTERS, Viewer, Visitor, people
from tests.support.stores import acl_users
from tests.support.stores.topologies import PRIMARIES, Clustered, Server, cluster_servers, free_ports, join, running

SHARES = {"add user": 5, "follow": 15, "post": 30, "timeline": 50}
ZIPF = 0.75
PROCESSES, THREADS = 4, 4  # clients that wait for each answer
NODE_TIMEOUT = 30_000  # ms; a server that waits for its turn on a busy machine has not failed


@dataclass(frozen=True)
class Done:
    """One operation, and whether its answer was the right one."""

    name: str
    seconds: float
    right: bool


@dataclass(frozen=True)
class Crowd:
    """Who there is, in the order of how often they are met, and what a client of them needs to know."""

    port: int
    viewers: list[Viewer]
    weights: list[float]  # cumulative
    seconds: float

    def somebody(self, rng: random.Random) -> Viewer:
        return rng.choices(self.viewers, cum_weights=self.weights)[0]


def crowd(port: int, viewers: Sequence[Viewer], seconds: float) -> Crowd:
    shuffled = random.Random(1).sample(viewers, len(viewers))
    return Crowd(port, shuffled, list(accumulate(rank**-ZIPF for rank in range(1, len(viewers) + 1))), seconds)


def _client(of: Crowd, number: int) -> list[Done]:
    """One after the other, until the time is over."""
    rng = random.Random(number)
    mine = secrets.token_hex(4)  # names that nobody has had before
    visitor = Visitor(of.port)
    done: list[Done] = []
    ends = time.monotonic() + of.seconds
    with contextlib.closing(visitor):
        while time.monotonic() < ends:
            (name,) = rng.choices(list(SHARES), weights=list(SHARES.values()))
            done.append(_do(visitor, of, name, f"{mine}_{len(done)}", rng))
    return done


def _do(visitor: Visitor, of: Crowd, name: str, fresh: str, rng: random.Random) -> Done:
    """Somebody's request. What their form holds is the token of their own cookie."""
    me = of.somebody(rng)
    visitor.cookies = me.cookies
    token = {"csrfmiddlewaretoken": me.csrf}
    if name == "add user":
        csrf = "".join(rng.choices(CSRF_LETTERS, k=32))
        visitor.cookies = {cookie: csrf for cookie, value in me.cookies.items() if value == me.csrf}
        password = f"a password of {fresh}"
        form = {"csrfmiddlewaretoken": csrf, "username": fresh, "password1": password, "password2": password}
        answer = visitor.post("/register/", **form)
    elif name == "follow":
        answer = visitor.post(f"/@{of.somebody(rng).name}/follow/", **token)
    elif name == "post":
        one_time = "".join(rng.choices(CSRF_LETTERS, k=16))
        answer = visitor.post("/post/", body=f"What {me.name} has to say, {fresh}", token=one_time, **token)
    else:
        answer = visitor.get("/")
    if name == "timeline":
        return Done(name, answer.seconds, answer.status == 200 and 'action="/logout/"' in answer.page)
    return Done(name, answer.seconds, answer.status == 302 and not answer.location.startswith("/login/"))


def _process(of: Crowd, number: int) -> list[Done]:
    with ThreadPoolExecutor(THREADS) as threads:
        found = [threads.submit(_client, of, number * THREADS + thread) for thread in range(THREADS)]
        return [one for each in found for one in each.result()]


def _as_told() -> None:
    """A client's process ends when it is told to; Ctrl-C is for the one that tells."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def drive(of: Crowd) -> tuple[list[Done], float]:
    """What was done, and how many a second that was."""
    with multiprocessing.get_context("fork").Pool(PROCESSES, _as_told) as pool:
        began = time.perf_counter()
        found = pool.starmap(_process, [(of, number) for number in range(PROCESSES)], chunksize=1)
        took = time.perf_counter() - began
    done = [one for each in found for one in each]
    return done, len(done) / took


# ---- stores without files, so that the two differ in nothing but their number


@contextlib.contextmanager
def _one(folder: Path) -> Iterator[tuple[Place, str]]:
    (port,) = free_ports(1)
    server = Server(folder, port)
    with running([server]):
        yield Place(server.client, site_env(folder, REDIS_URL=f"redis://127.0.0.1:{port}")), version(server)


@contextlib.contextmanager
def _cluster(folder: Path) -> Iterator[tuple[Place, str]]:
    servers = cluster_servers(folder, PRIMARIES)
    with running(servers):
        join(servers)
        for server in servers:
            server.client.config_set("cluster-node-timeout", NODE_TIMEOUT)
        url = ",".join(f"redis://{acl_users.credentials()}127.0.0.1:{server.port}" for server in servers)
        env = site_env(folder, REDIS_TOPOLOGY="cluster", REDIS_URL=url)
        # Not a redis.Redis, but asked for nothing here that it would not answer alike.
        client = cast("redis.Redis", Clustered([server.port for server in servers]))
        yield Place(client, env), version(servers[0])


def report(plan: Plan) -> Report:
    rows = []
    for name, store in (("one server", _one), (f"a cluster of {PRIMARIES}", _cluster)):
        folder = plan.folder / name.replace(" ", "-")
        folder.mkdir()
        with store(folder) as (place, server):
            place.seed(plan.users, plan.posts, plan.follows)
            viewers = list(people(place.client).values())
            with site(place, folder / "site.log") as port:
                drive(crowd(port, viewers, 1))  # so that it has seen everything once
                done, rate = drive(crowd(port, viewers, plan.mix_seconds))
        rows += _rows(name, done, rate)
    text = f"""\
Add user 5 %, follow 15 %, post 30 %, timeline 50 %; who does it, and who is followed: Zipf {ZIPF} over {plan.users:,}
users, with {plan.posts:,} posts. {PROCESSES * THREADS} clients on connections that stay, each waiting for its answer,
{plan.mix_seconds} s; an operation is one request, a form or a home page. Both stores are `redis-server` ({server})
without a file. Adding a user is by far the dearest: it hashes a password with Argon2, which is meant to take long and
19 MiB, and holds up a web worker meanwhile.

{table(["store", "operation", "done", "a second", "p50, ms", "p99, ms", "wrong answers"], rows)}"""
    return Report(text)


def _rows(store: str, done: list[Done], rate: float) -> list[list[str]]:
    rows = []
    for name in ("all", *SHARES):
        its = [one for one in done if name in ("all", one.name)]
        if len(its) < 2:
            continue
        times = statistics.quantiles([one.seconds * 1e3 for one in its], n=100, method="inclusive")
        wrong = sum(not one.right for one in its)
        a_second = f"{rate * len(its) / len(done):,.0f}"
        rows.append([store, name, f"{len(its):,}", a_second, f"{times[49]:.1f}", f"{times[98]:.1f}", str(wrong)])
    return rows
