"""The memory of each kind of entry: how much `used_memory` grows when many are written to an empty server."""

import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django.contrib.auth.hashers import make_password

from benchmarks.growth.measure import Command, Line, alone, load, own_all, pack, table
from retwis_site.store import keys
from tests.support.stores.topologies import Server, running
from timeline.demo.texts import post_body

NOW = 1_760_000_000
SMALL = 1_000_000  # ids of seven digits, as INCR gives a site of a million
LARGE = 1 << 50  # sixteen digits
SAMPLED = 100  # keys for MEMORY USAGE


def secret(number: int) -> str:
    return f"{number * 0x9E3779B97F4A7C15 % (1 << 128) | 1 << 127:032x}"


@dataclass(frozen=True)
class Kind:
    """A kind of entry, and the commands that write `count` of them with ids from `base` on."""

    name: str
    count: int
    commands: Callable[[int], Iterator[Command]]
    settings: tuple[tuple[str, str], ...] = ()


def users(base: int) -> Iterator[Command]:
    password = make_password("a password")
    for uid in range(base, base + 100_000):
        yield ("HSET", keys.user(uid), "username", f"user_{uid % 1000000}", "password", password, "auth", secret(uid))


def names(base: int) -> Iterator[Command]:
    for uid in range(base, base + 100_000):
        yield ("HSET", keys.users(), f"user_{uid % 1000000}", uid)


def auths(base: int) -> Iterator[Command]:
    for uid in range(base, base + 100_000):
        yield ("HSET", keys.auths(), secret(uid), uid)


def newest(base: int) -> Iterator[Command]:
    for uid in range(base, base + 100_000):
        yield ("ZADD", keys.users_by_time(), NOW + uid % 10_000_000, f"user_{uid % 1000000}")


def posts(base: int) -> Iterator[Command]:
    bodies = [post_body(random.Random(number)) for number in range(5000)]
    for pid in range(base, base + 100_000):
        body = bodies[pid % len(bodies)]
        yield ("HSET", keys.post(pid), "user_id", base + pid % 1000, "time", NOW, "body", body)


def tokens(base: int) -> Iterator[Command]:
    for pid in range(base, base + 100_000):
        yield ("SET", keys.idem(pid, secret(pid)[:22]), pid, "EX", 86400)


def updates(each: int) -> Callable[[int], Iterator[Command]]:
    """Posts of authors who wrote `each` posts. Authors write in turn, so the ids of an author are not adjacent."""

    def commands(base: int) -> Iterator[Command]:
        users = 200_000 // each
        for number in range(users * each):
            yield ("ZADD", keys.updates(base + number % users), base + number, base + number)

    return commands


def edges(each: int) -> Callable[[int], Iterator[Command]]:
    """Both sides of the edges of users who follow `each` users."""

    def commands(base: int) -> Iterator[Command]:
        users = 100_000 // each
        for me in range(users):
            for step in range(1, each + 1):
                them = base + me + step * 7
                yield ("ZADD", keys.following(base + me), NOW + step, them)
                yield ("ZADD", keys.followers(base + me), NOW + step, them)  # a set of the same size

    return commands


def homes(base: int) -> Iterator[Command]:
    for uid in range(base, base + 500):
        for start in range(base + uid % 100, base + 1_000_000, 100_000):
            yield ("RPUSH", keys.home(uid), *range(start, start + 100_000, 1000))


COMPACT = (("hash-max-listpack-value", "1200"),)
LONGER = (("zset-max-listpack-entries", "1024"),)
KINDS = [
    Kind("`user:<uid>`", 100_000, users),
    Kind("`user:<uid>`, `hash-max-listpack-value 1200`", 100_000, users, COMPACT),
    Kind("an entry of `users`", 100_000, names),
    Kind("an entry of `auths`", 100_000, auths),
    Kind("an entry of `users_by_time`", 100_000, newest),
    Kind("`post:<pid>`", 100_000, posts),
    Kind("`post:<pid>`, `hash-max-listpack-value 1200`", 100_000, posts, COMPACT),
    Kind("an entry of `updates:`, 20 each", 200_000, updates(20)),
    Kind("the same, 100 each", 200_000, updates(100)),
    Kind("the same, 1,000 each", 200_000, updates(1000)),
    Kind("an edge, both sides, 40 each", 100_000, edges(40)),
    Kind("the same, 100 each", 100_000, edges(100)),
    Kind("the same, 1,000 each", 100_000, edges(1000)),
    Kind("the same, `zset-max-listpack-entries 1024`", 100_000, edges(1000), LONGER),
    Kind("a home of 1,000 ids", 500, homes),
    Kind("`idem:<uid>:<token>`", 100_000, tokens),
]


def weigh(server: Server, kind: Kind, base: int) -> tuple[float, float]:
    """Bytes an entry: by `used_memory`, and by MEMORY USAGE, which leaves out the table of all keys."""
    defaults = {name: str(server.client.config_get(name)[name]) for name, _ in kind.settings}
    for name, value in kind.settings:
        server.client.config_set(name, value)
    server.client.execute_command("FLUSHALL", "SYNC")
    empty = server.client.info("memory")["used_memory"]
    load(server.port, kind.commands(base))
    grown = server.client.info("memory")["used_memory"] - empty
    count = server.client.dbsize()
    sample = {str(server.client.randomkey()) for _ in range(SAMPLED)}
    usage = sum(int(server.client.memory_usage(key, samples=0) or 0) for key in sample) / len(sample)
    for name, value in defaults.items():
        server.client.config_set(name, value)
    return grown / kind.count, usage * count / kind.count


def connection(server: Server) -> float:
    """Bytes of a connection after its first command."""
    before = server.client.info("memory")["used_memory"]
    lines = [Line(server.port) for _ in range(500)]
    for line in lines:
        round_trip = pack([("GET", "x")])
        line.send(round_trip)
        line.read(round_trip)
    grown = server.client.info("memory")["used_memory"] - before
    for line in lines:
        line.close()
    return float(grown / len(lines))


def report() -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = alone(folder)
        with running([server]):
            own_all(server)
            print(f"Bytes of a thing, {version(server)}\n")
            rows = []
            for kind in KINDS:
                (small, usage), (large, usage_large) = (weigh(server, kind, base) for base in (SMALL, LARGE))
                rows.append((kind.name, round(small), round(large), round(usage), round(usage_large)))
            print(table(["thing", "ids of 7 digits", "of 16", "MEMORY USAGE", "of 16"], rows))
            print(f"A connection: {connection(server):,.0f} bytes\n")


def version(server: Server) -> str:
    info = server.client.info("server")
    return f"Valkey {info['valkey_version']}" if "valkey_version" in info else f"Redis {info['redis_version']}"
