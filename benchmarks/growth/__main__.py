"""`python -m benchmarks.growth [part ...]`: measures the site as it grows, and prints tables for docs/scaling.md.

It starts `redis-server` from PATH on free ports of loopback. It takes some minutes and about 2 GB of memory.
"""

import os
import random
import sys
import tempfile
import time

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings.cluster"

import django

django.setup()

import redis  # noqa: E402
from django.conf import settings  # noqa: E402

from benchmarks.growth import measure, node, single, sizes  # noqa: E402
from benchmarks.growth.measure import TIMES, reading, table  # noqa: E402
from benchmarks.growth.paper import MIXTURE  # noqa: E402
from benchmarks.growth.site import (  # noqa: E402
    Site,
    browse,
    deliver,
    round_trips,
    round_trips_table,
    seed,
    spread,
    store_of,
    web_cost,
)
from retwis_site.store import keys  # noqa: E402
from retwis_site.store.client import connect  # noqa: E402
from tests.settings.cluster import SERVERS  # noqa: E402
from tests.support.stores import topologies  # noqa: E402
from tests.support.stores.topologies import Server  # noqa: E402

HOT = [keys.users(), keys.auths(), keys.users_by_time(), keys.users_by_followers(), keys.next_post_id()]
HOT += [*keys.timeline.all(), *keys.outbox.all()]
USERS, POSTS, FOLLOWS = 10_000, 200_000, 40
VIEWS = 4000
settings.REDIS_TIMEOUT = 30.0  # on a busy machine a slow reply is no error


def site() -> None:
    servers = SERVERS
    random.seed(1)
    with topologies.running(servers), tempfile.TemporaryDirectory() as folder:
        topologies.join(servers)
        for server in servers:
            server.client.config_set("cluster-node-timeout", 30_000)
        seeded = Site(connect(), USERS, POSTS)
        _shares(seeded, servers)
        _round_trips(seeded, folder)
        print(f"Milliseconds of a web process's CPU a view, {VIEWS // 10} views each\n")
        costs = [(name, *web_cost(seeded, name, VIEWS // 10)) for name in ("nothing", *MIXTURE)]
        print(table(["view", "cold", "warm"], costs))
        node.report(seeded, servers, folder)
        _deliveries(seeded, servers)


def _shares(seeded: Site, servers: list[Server]) -> None:
    """Print the share of each server in memory and work: for the seeded site, its homes, and the mixture of views."""
    empty = [reading(server.client) for server in servers]
    seed(seeded.store, USERS, POSTS, FOLLOWS)
    held = [server.client.dbsize() for server in servers]
    rows: list[tuple[object, ...]] = [("keys", *(f"{count / sum(held):.1%}" for count in held), f"{sum(held):,}")]
    rows.append(spread(servers, empty, "memory, bytes", lambda r: r.memory))

    before, began = [reading(server.client) for server in servers], time.perf_counter()
    for uid in range(1, USERS + 1):
        seeded.pages(1, seeded.names[1])["home"](uid)
    each = (time.perf_counter() - began) / USERS * 1e3
    rows.append(spread(servers, before, "memory of all homes, bytes", lambda r: r.memory))
    rows.append(spread(servers, before, "CPU of rebuilding them, µs a home", lambda r: r.cpu / USERS * 1e6))

    seeded.some_posts  # noqa: B018  cached now, outside of the measurement
    browse(seeded, VIEWS // 10)
    before = [reading(server.client) for server in servers]
    browse(seeded, TIMES * VIEWS)
    rows.append(spread(servers, before, "commands of a view", lambda r: r.commands / VIEWS / TIMES))
    rows.append(spread(servers, before, "CPU of a view, µs", lambda r: r.cpu / VIEWS / TIMES * 1e6))
    heads = ["share", *(f"server {number}" for number in range(1, len(servers) + 1)), "all"]
    print(f"{USERS:,} users, {POSTS:,} posts, {FOLLOWS} follows each; then {TIMES * VIEWS:,} views\n")
    print(table(heads, rows))
    print(f"A home was rebuilt in {each:.1f} ms by the clock.")
    lengths = [seeded.store.zcard(keys.followers(uid)) for uid in range(1, USERS + 1)]
    reached = sum(lengths[int(seeded.store.hget(keys.post(pid), "user_id") or 1) - 1] for pid, _ in seeded.some_posts)
    print(
        f"Followers: {sum(lengths) / USERS:.1f} of a user, {reached / len(seeded.some_posts):.1f} of a post's author.\n"
    )
    slots_each = topologies.SLOTS // len(servers) + 1
    for key in HOT:
        slot = redis.crc.key_slot(key.encode())
        print(f"- `{key}`: slot {slot}, server {slot // slots_each + 1}")
    print()


def _round_trips(seeded: Site, folder: str) -> None:
    """Print the round trips of each page, on the cluster and on one server with a copy of the same site."""
    plain = measure.alone(folder)
    with topologies.running([plain]):
        measure.own_all(plain)
        node.copy(SERVERS, plain)
        alone = Site(store_of([plain]), USERS, POSTS)
        print(round_trips_table(round_trips(seeded, 7), round_trips(alone, 7)))


def _deliveries(seeded: Site, servers: list[Server]) -> None:
    """Print the rate and cost of five deliveries to all users."""
    rows = []
    for author in range(1, 6):
        delivery = deliver(seeded, servers, author)
        rows.append((delivery.followers, round(delivery.rate), delivery.worker_cpu, delivery.server_cpu))
    print(table(["homes", "pushes a second, by the clock", "worker CPU, µs a push", "server CPU, µs"], rows))


PARTS = {"sizes": sizes.report, "site": site, "widths": node.widths, "variants": node.variants, "single": single.report}


def main() -> None:
    for name in sys.argv[1:] or PARTS:
        print(f"## {name}\n", flush=True)
        PARTS[name]()


if __name__ == "__main__":
    main()
