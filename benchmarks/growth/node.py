"""How much a server can serve when it does nothing else, and what pages cost on clusters of several sizes."""

import random
import statistics
import tempfile
import time
from collections.abc import Callable

import redis

from benchmarks.growth import site as sites
from benchmarks.growth.measure import TIMES, Command, Rate, RoundTrip, alone, drive, own_all, pack, table
from benchmarks.growth.site import Site, captured, recorded_of, seed, store_of
from retwis_site.store import keys
from retwis_site.store.chunks import batches
from retwis_site.store.local_cache import Memory
from tests.support.stores import topologies
from tests.support.stores.topologies import Server, cluster_servers, running

WIDTHS = (1, 3, 24)
VARIANTS = (
    (),
    ("--hash-max-listpack-value", "1200"),
    ("--hash-max-listpack-value", "1200", "--zset-max-listpack-entries", "1024"),
    ("--appendonly", "yes", "--appendfsync", "always"),
)
CHUNK = 700  # pushes to one server at once: about a third of a chunk of 2048 followers


def copy(servers: list[Server], target: Server) -> None:
    """Copy every key of a cluster to one server."""
    destination = redis.Redis(port=target.port)
    for server in servers:
        source = redis.Redis(port=server.port)
        for batch in batches(source.scan_iter(count=1000), 1000):
            dumps, writes = source.pipeline(transaction=False), destination.pipeline(transaction=False)
            for key in batch:
                dumps.dump(key)
            for key, dump in zip(batch, dumps.execute(), strict=True):
                writes.restore(key, 0, dump)
            writes.execute()


def simple(site: Site) -> dict[str, list[list[RoundTrip]]]:
    """Works of single commands to the keys that every page or post uses."""
    now = int(time.time())
    uids = random.choices(range(1, site.users + 1), k=4000)

    def each(*commands: Callable[[int], Command]) -> list[list[RoundTrip]]:
        return [[pack([command(uid)]) for command in commands] for uid in uids]

    pushes = [("LPUSHX", keys.home(uid), site.posts) for uid in range(1, site.users + 1)]
    return {
        "HGET auths": each(lambda uid: ("HGET", keys.auths(), site.secrets[uid])),
        "HMGET users": each(lambda uid: ("HMGET", keys.users(), site.names[uid], site.names[uid].lower())),
        "INCR next_post_id": each(lambda uid: ("INCR", keys.next_post_id())),
        "LPUSH timeline": each(lambda uid: ("LPUSH", keys.timeline(site.posts), site.posts)),
        "LRANGE timeline 0 199": each(lambda uid: ("LRANGE", keys.timeline(uid), 0, 199)),
        "ZADD outbox, then ZREM": each(
            lambda uid: ("ZADD", keys.outbox(f"post:{uid}"), now + 60, f"post:{uid}:0123456789ab"),
            lambda uid: ("ZREM", keys.outbox(f"post:{uid}"), f"post:{uid}:0123456789ab"),
        ),
        "ZREVRANGE users_by_time 0 9": each(lambda uid: ("ZREVRANGE", keys.users_by_time(), 0, 9)),
        "LPUSHX to one home": each(lambda uid: ("LPUSHX", keys.home(uid), site.posts)),
        f"LPUSHX to {CHUNK} homes at once": [[pack(chunk)] for chunk in batches(pushes, CHUNK)],
    }


def report(site: Site, servers: list[Server], folder: str) -> None:
    """Print the rates of a single server with a copy of the site: for captured pages, and for single commands."""
    server = alone(folder)
    with running([server]):
        own_all(server)
        copy(servers, server)
        alone_site = Site(store_of([server]), site.users, site.posts)
        viewers = range(100, 500)
        rows: list[tuple[object, ...]] = []
        for name in ("home", "global timeline", "profile", "own profile", "post"):
            works = captured(alone_site, name, viewers)
            rows.append(_row(name, drive(server, works), works))
        # As on a very large cluster: hardly two keys of a page share a server, so each command is its own message.
        apart = [[pack_alone(round_trip) for round_trip in unpacked] for unpacked in _commands(alone_site, viewers)]
        rows.append(_row("home, each command alone", drive(server, apart), apart))
        for name, works in simple(alone_site).items():
            rows.append(_row(name, drive(server, works), works))
        for name in ("publish", "follow"):  # last, since a follow drops homes
            works = captured(alone_site, name, viewers)
            rows.append(_row(name, drive(server, works), works))
        print("One server, the same site, from 32 connections of 2 processes beside it\n")
        print(table(["what", "commands", "a second, by the clock", "server CPU, µs", "a second and core"], rows))


def pack_alone(command: Command) -> RoundTrip:
    return pack([command])


def _commands(site: Site, viewers: range) -> list[list[Command]]:
    """The commands of warm homes. Only homes with the most frequent number of commands are returned."""
    homes = [list(recorded_of(site.pages(1, site.names[1])["home"], me).commands) for me in viewers]
    usual = statistics.mode(len(commands) for commands in homes)
    return [commands for commands in homes if len(commands) == usual]  # type: ignore[misc]


def _row(name: str, rate: Rate, works: list[list[RoundTrip]]) -> tuple[object, ...]:
    commands = statistics.mean(sum(round_trip[1] for round_trip in work) for work in works)
    return name, round(commands), round(rate.per_second), rate.cpu, round(rate.per_core)


def variants() -> None:
    """Print memory and page costs of a site with large sets and long posts, for several settings of its server."""
    rows: list[tuple[object, ...]] = []
    for options in VARIANTS:
        with tempfile.TemporaryDirectory() as folder:
            server = alone(folder, *options)
            with running([server]):
                own_all(server)
                site = Site(store_of([server]), 2000, 60_000)
                seed(site.store, site.users, site.posts, 200)
                held = server.client.info("memory")["used_memory"] / 2**20
                pages = [captured(site, name, range(100, 400)) for name in ("home", "profile", "publish")]
                what = " ".join(options).replace("--", "")
                rows.append((f"`{what}`" if what else "defaults", held, *(drive(server, works).cpu for works in pages)))
    Memory.clear_all()
    print("2,000 users, 60,000 posts, 200 follows each; microseconds of the server's processor\n")
    print(table(["server", "memory, MiB", "home, µs", "profile, µs", "publish, µs"], rows))


def widths() -> None:
    """Print what a warm home costs client and servers, for the same small site on clusters of several sizes."""
    rows = []
    for width in WIDTHS:
        topologies.PRIMARIES = width
        with tempfile.TemporaryDirectory() as folder:
            servers = cluster_servers(folder, width)
            with running(servers):
                topologies.join(servers)
                for server in servers:
                    server.client.config_set("cluster-node-timeout", 30_000)
                rows.append((width, *_width(servers)))
    topologies.PRIMARIES = 3
    heads = ["servers", "servers asked", "round trips", "client CPU, ms", "server CPU of all, µs"]
    print("A warm home, one reader at a time, without Django\n")
    print(table(heads, rows))


def _width(servers: list[Server]) -> tuple[object, ...]:
    Memory.clear_all()
    site = Site(store_of(servers), 500, 10_000)
    seed(site.store, site.users, site.posts, 40)
    viewers = range(1, 301)
    home = site.pages(1, site.names[1])["home"]
    for me in viewers:
        home(me)
    costs = []
    for _ in range(TIMES):
        for me in viewers:
            home(me)  # so that the names are cached; a cached name lives five seconds
        before, began = sites.total(servers), time.process_time()
        for me in viewers:
            home(me)
        own, used = time.process_time() - began, sites.total(servers).since(before)
        costs.append((own / len(viewers) * 1e3, used.cpu / len(viewers) * 1e6))
    client, server = (statistics.median(column) for column in zip(*costs, strict=True))
    recorded = recorded_of(home, 7)
    asked = [
        len({_slot_owner(command, len(servers)) for command in round_trip.commands})
        for round_trip in recorded.round_trips
    ]
    return " + ".join(map(str, asked)), len(recorded.round_trips), round(client, 2), round(server)


def _slot_owner(command: tuple[object, ...], count: int) -> int:
    slot = redis.crc.key_slot(str(command[1]).encode())
    return int(slot // (topologies.SLOTS // count + 1))
