"""`python -m benchmarks.growth [part ...]`: measures the site as it grows, and prints tables for docs/scaling.md.

It starts `redis-server` from PATH, on ports of its own on loopback. Takes some minutes, and about 2 GB of memory.
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
from benchmarks.growth.site import Site, browse, deliver, round_trips, seed, spread, store_of, trips_table, web_cost  # noqa: E402
from retwis_site.store import keys  # noqa: E402
from retwis_site.store.client import connect  # noqa: E402
from tests.settings.cluster import SERVERS  # noqa: E402
from tests.support.stores import topologies  # noqa: E402
from tests.support.stores.topologies import Server  # noqa: E402

HOT = [keys.users(), keys.auths(), keys.users_by_time(), keys.users_by_followers(), keys.next_post_id()]
HOT += [*keys.timelines(), *keys.outboxes()]
USERS, POSTS, FOLLOWS = 10_000, 200_000, 40
VIEWS = 4000
settings.REDIS_TIMEOUT = 30.0  # a machine that others keep busy is no reason to end


def site() -> None:
    servers = SERVERS
    random.seed(1)
    with topologies.running(servers), tempfile.TemporaryDirectory() as folder:
        topologies.join(servers)
        for server in servers:
            server.client.config_set("cluster-node-timeout", 30_000)
        found = Site(connect(), USERS, POSTS)
        _shares(found, servers)
        _trips(found, folder)
        print(f"Milliseconds of a web process's CPU a view, {VIEWS // 10} views each\n")
        costs = [(name, *web_cost(found, name, VIEWS // 10)) for name in ("nothing", *MIXTURE)]
        print(table(["view", "cold", "warm"], costs))
        node.report(found, servers, folder)
        _deliveries(found, servers)


def _shares(found: Site, servers: list[Server]) -> None:
    """What each server holds and does: of the seeded site, of its homes, of the mixture."""
    empty = [reading(server.client) for server in servers]
    seed(found.store, USERS, POSTS, FOLLOWS)
    held = [server.client.dbsize() for server in servers]
    rows: list[tuple[object, ...]] = [("keys", *(f"{one / sum(held):.1%}" for one in held), f"{sum(held):,}")]
    rows.append(spread(servers, empty, "memory, bytes", lambda r: r.memory))

    before, began = [reading(server.client) for server in servers], time.perf_counter()
    for uid in range(1, USERS + 1):
        found.pages(1, found.names[1])["home"](uid)
    each = (time.perf_counter() - began) / USERS * 1e3
    rows.append(spread(servers, before, "memory of all homes, bytes", lambda r: r.memory))
    rows.append(spread(servers, before, "CPU of rebuilding them, µs a home", lambda r: r.cpu / USERS * 1e6))

    found.some_posts  # noqa: B018  drawn before
    browse(found, VIEWS // 10)
    before = [reading(server.client) for server in servers]
    browse(found, TIMES * VIEWS)
    rows.append(spread(servers, before, "commands of a view", lambda r: r.commands / VIEWS / TIMES))
    rows.append(spread(servers, before, "CPU of a view, µs", lambda r: r.cpu / VIEWS / TIMES * 1e6))
    heads = ["share", *(f"server {number}" for number in range(1, len(servers) + 1)), "all"]
    print(f"{USERS:,} users, {POSTS:,} posts, {FOLLOWS} follows each; then {TIMES * VIEWS:,} views\n")
    print(table(heads, rows))
    print(f"A home was rebuilt in {each:.1f} ms by the clock.")
    lengths = [found.store.zcard(keys.followers(uid)) for uid in range(1, USERS + 1)]
    met = sum(lengths[int(found.store.hget(keys.post(pid), "user_id") or 1) - 1] for pid, _ in found.some_posts)
    print(f"Followers: {sum(lengths) / USERS:.1f} of a user, {met / len(found.some_posts):.1f} of a post's author.\n")
    share = topologies.SLOTS // len(servers) + 1
    for key in HOT:
        slot = redis.crc.key_slot(key.encode())
        print(f"- `{key}`: slot {slot}, server {slot // share + 1}")
    print()


def _trips(found: Site, folder: str) -> None:
    """Round trips on the cluster and on one server, which was given the same site."""
    plain = measure.alone(folder)
    with topologies.running([plain]):
        measure.own_all(plain)
        node.copy(SERVERS, plain)
        alone = Site(store_of([plain]), USERS, POSTS)
        print(trips_table(round_trips(found, 7), round_trips(alone, 7)))


def _deliveries(found: Site, servers: list[Server]) -> None:
    rows = []
    for author in range(1, 6):
        one = deliver(found, servers, author)
        rows.append((one.followers, round(one.a_second), one.worker_cpu, one.server_cpu))
    print(table(["homes", "pushes a second, by the clock", "worker CPU, µs a push", "server CPU, µs"], rows))


PARTS = {"sizes": sizes.report, "site": site, "widths": node.widths, "variants": node.variants, "single": single.report}


def main() -> None:
    for name in sys.argv[1:] or PARTS:
        print(f"## {name}\n", flush=True)
        PARTS[name]()


if __name__ == "__main__":
    main()
