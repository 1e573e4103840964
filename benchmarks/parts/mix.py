"""The operation mix of the research literature on Retwis, over HTTP: on one server, and on a cluster of three."""

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
from tests.support.processes.ports import free_ports
from tests.support.stores import acl_users
from tests.support.stores.topologies import PRIMARIES, Clustered, Server, cluster_servers, join, running

SHARES = {"add user": 5, "follow": 15, "post": 30, "timeline": 50}
ZIPF = 0.75
PROCESSES, THREADS = 4, 4  # each thread is a client that waits for each response
NODE_TIMEOUT = 30_000  # milliseconds; on a busy machine a slow server has not failed


@dataclass(frozen=True)
class Done:
    """An operation, its time in seconds, and whether its response was right."""

    name: str
    seconds: float
    right: bool


@dataclass(frozen=True)
class Crowd:
    """The users of a run, most frequent first, with what a client needs for requests in their names."""

    port: int
    viewers: list[Viewer]
    weights: list[float]  # cumulative
    seconds: float  # length of the run

    def random_viewer(self, rng: random.Random) -> Viewer:
        return rng.choices(self.viewers, cum_weights=self.weights)[0]


def crowd(port: int, viewers: Sequence[Viewer], seconds: float) -> Crowd:
    """A crowd in random order. Choices follow a Zipf distribution with the exponent ZIPF."""
    shuffled = random.Random(1).sample(viewers, len(viewers))
    return Crowd(port, shuffled, list(accumulate(rank**-ZIPF for rank in range(1, len(viewers) + 1))), seconds)


def _client(people: Crowd, number: int) -> list[Done]:
    """Do operations one after the other, until the time is over."""
    rng = random.Random(number)
    prefix = secrets.token_hex(4)  # makes the names of new users unique
    visitor = Visitor(people.port)
    done: list[Done] = []
    ends = time.monotonic() + people.seconds
    with contextlib.closing(visitor):
        while time.monotonic() < ends:
            (name,) = rng.choices(list(SHARES), weights=list(SHARES.values()))
            done.append(_do(visitor, people, name, f"{prefix}_{len(done)}", rng))
    return done


def _do(visitor: Visitor, people: Crowd, name: str, unique: str, rng: random.Random) -> Done:
    """Do an operation as a random viewer. The CSRF token of a form is that of the viewer's cookie."""
    me = people.random_viewer(rng)
    visitor.cookies = me.cookies
    token = {"csrfmiddlewaretoken": me.csrf}
    if name == "add user":
        csrf = "".join(rng.choices(CSRF_LETTERS, k=32))
        visitor.cookies = {cookie: csrf for cookie, value in me.cookies.items() if value == me.csrf}
        password = f"a password of {unique}"
        form = {"csrfmiddlewaretoken": csrf, "username": unique, "password1": password, "password2": password}
        answer = visitor.post("/register/", **form)
    elif name == "follow":
        answer = visitor.post(f"/@{people.random_viewer(rng).name}/follow/", **token)
    elif name == "post":
        post_token = "".join(rng.choices(CSRF_LETTERS, k=16))
        answer = visitor.post("/post/", body=f"A post by {me.name}, {unique}", token=post_token, **token)
    else:
        answer = visitor.get("/")
    if name == "timeline":
        return Done(name, answer.seconds, answer.status == 200 and 'action="/logout/"' in answer.page)
    return Done(name, answer.seconds, answer.status == 302 and not answer.location.startswith("/login/"))


def _process(people: Crowd, number: int) -> list[Done]:
    with ThreadPoolExecutor(THREADS) as threads:
        clients = [threads.submit(_client, people, number * THREADS + thread) for thread in range(THREADS)]
        return [operation for client in clients for operation in client.result()]


def _handle_signals() -> None:
    """A client process ends on SIGTERM. It ignores Ctrl-C, which its parent handles."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def drive(people: Crowd) -> tuple[list[Done], float]:
    """Run all clients. Returns the operations and their rate per second."""
    with multiprocessing.get_context("fork").Pool(PROCESSES, _handle_signals) as pool:
        began = time.perf_counter()
        results = pool.starmap(_process, [(people, number) for number in range(PROCESSES)], chunksize=1)
        took = time.perf_counter() - began
    done = [operation for result in results for operation in result]
    return done, len(done) / took


# ---- stores without files, which differ only in the number of servers


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
        # Not a redis.Redis, but all methods that are used here work alike.
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
                drive(crowd(port, viewers, 1))  # a warm-up
                done, rate = drive(crowd(port, viewers, plan.mix_seconds))
        rows += _rows(name, done, rate)
    text = f"""\
Add user 5 %, follow 15 %, post 30 %, timeline 50 %. The acting user and the followed user follow a Zipf distribution
(exponent {ZIPF}) over {plan.users:,} users with {plan.posts:,} posts. {PROCESSES * THREADS} clients run for
{plan.mix_seconds} s. Each keeps its connection and waits for each response. An operation is one request: a form or a
home page. Both stores are `redis-server` ({server}) without a file. Adding a user costs by far the most: it hashes
a password with Argon2, which is slow by design and takes 19 MiB, and it blocks a web worker meanwhile.

{table(["store", "operation", "done", "per second", "p50, ms", "p99, ms", "wrong responses"], rows)}"""
    return Report(text)


def _rows(store: str, done: list[Done], rate: float) -> list[list[str]]:
    rows = []
    for name in ("all", *SHARES):
        operations = [operation for operation in done if name in ("all", operation.name)]
        if len(operations) < 2:
            continue
        times = statistics.quantiles([operation.seconds * 1e3 for operation in operations], n=100, method="inclusive")
        wrong = sum(not operation.right for operation in operations)
        per_second = f"{rate * len(operations) / len(done):,.0f}"
        rows.append(
            [store, name, f"{len(operations):,}", per_second, f"{times[49]:.1f}", f"{times[98]:.1f}", str(wrong)]
        )
    return rows
