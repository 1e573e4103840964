"""The single keys `users`, `auths` and `users_by_time`: their cost, and how long they block a server as they grow."""

import random
import statistics
import tempfile
import time
from collections.abc import Iterator

import redis

from benchmarks.growth.measure import TIMES, Command, RoundTrip, drive, load, pack, reading, table
from benchmarks.growth.sizes import NOW, secret
from retwis_site.store import keys
from tests.support.processes.ports import free_ports
from tests.support.stores.topologies import Server, running

FEW, MANY = 1000, 1_000_000
STEPS = (125_000, 250_000, 500_000, 1_000_000)


def entry(key: str, number: int) -> Command:
    if key == keys.users_by_time():
        return ("ZADD", key, NOW + number, f"user_{number}")
    return ("HSET", key, secret(number) if key == keys.auths() else f"user_{number}", number)


def entries(key: str, first: int, last: int) -> Iterator[Command]:
    return (entry(key, number) for number in range(first, last))


def reads(key: str, size: int) -> list[list[RoundTrip]]:
    """The site's reads of a key: HMGET of a name in two spellings, HGET of a secret, or the newest ten."""
    numbers = random.choices(range(size), k=20_000)
    if key == keys.users_by_time():
        return [[pack([("ZREVRANGE", key, 0, 9)])]] * 64
    if key == keys.auths():
        return [[pack([("HGET", key, secret(number))])] for number in numbers]
    return [[pack([("HMGET", key, f"User_{number}", f"user_{number}")])] for number in numbers]


def report() -> None:
    with tempfile.TemporaryDirectory() as folder:
        options = ("--slowlog-log-slower-than", "500", "--slowlog-max-len", "1000")
        here, there = (Server(folder, port, *options) for port in free_ports(2))
        with running([here, there]):
            heads = ["key", "bytes an entry", "of 1,000: write, µs", "read, µs", "of a million: write, µs", "read, µs"]
            print(table([*heads, "longest write, ms"], _grown(here)))
            _fork(here)
            heads = ["key", "entries", "bytes on the wire, an entry", "MIGRATE, ms", "CPU of both, ms"]
            print(table([*heads, "entries in 0.5 s of CPU"], _moved(here, there)))
            print(f"MIGRATE of a key of more than `proto-max-bulk-len`, here 1 MiB: {_too_large(here, there)}\n")


def _grown(server: Server) -> list[tuple[object, ...]]:
    """A row for each key: bytes an entry, and microseconds of the server's processor for a write and a read. The key is
    first small, then large."""
    rows: list[tuple[object, ...]] = []
    for key in (keys.users(), keys.auths(), keys.users_by_time()):
        empty = server.client.info("memory")["used_memory"]
        load(server.port, entries(key, 0, FEW))
        few = _costs(server, key, FEW)
        longest = min(_longest_write(server, key) for _ in range(TIMES))
        held = (server.client.info("memory")["used_memory"] - empty) / MANY
        slowest = f"{longest:.1f}" if longest else "under 0.5"
        rows.append((f"`{key}`", round(held), *few, *_costs(server, key, MANY), slowest))
    return rows


def _longest_write(server: Server, key: str) -> float:
    """Milliseconds of the longest write while the key grows to MANY entries.

    Other processes of the machine make some writes longer, in each run other ones. So the caller takes the minimum of
    several runs."""
    server.client.delete(key)
    server.client.slowlog_reset()
    load(server.port, entries(key, 0, MANY))
    return max((float(entry["duration"]) for entry in server.client.slowlog_get(1000)), default=0) / 1e3


def _costs(server: Server, key: str, size: int) -> tuple[float, float]:
    writes = [[pack([entry(key, number)])] for number in random.choices(range(size), k=20_000)]
    return drive(server, writes).cpu, drive(server, reads(key, size)).cpu


def _fork(server: Server) -> None:
    """Print how long a fork stops the server. Each snapshot, and the first copy of a replica, begins with a fork."""
    for _ in range(TIMES):
        server.client.bgsave()
        while server.client.info("persistence")["rdb_bgsave_in_progress"]:
            time.sleep(0.05)
        held = server.client.info("memory")["used_memory"] / 2**20
        print(f"A fork at {held:.0f} MiB: {server.client.info('stats')['latest_fork_usec'] / 1e3:.1f} ms.")
    print()


def _moved(here: Server, there: Server) -> list[tuple[object, ...]]:
    """Rows on how long MIGRATE of a key takes. Meanwhile neither server answers any client."""
    rows: list[tuple[object, ...]] = []
    for key in (keys.users(), keys.auths(), keys.users_by_time()):
        here.client.delete(key)
        grown = 0
        for size in STEPS:
            load(here.port, entries(key, grown, size))
            grown = size
            payload = redis.Redis(port=here.port).dump(key) or b""
            moves = [_move(here, there, key) for _ in range(TIMES)]
            took, used = (statistics.median(column) for column in zip(*moves, strict=True))
            row = (
                f"`{key}`",
                size,
                len(payload) / size,
                round(took * 1e3),
                round(used * 1e3),
                round(size * 0.5 / used),
            )
            rows.append(row)
    return rows


def _move(here: Server, there: Server, key: str) -> tuple[float, float]:
    """Move a key and move it back. Returns the seconds of the first move, by the clock and of both processors."""
    before, began = [reading(server.client).cpu for server in (here, there)], time.perf_counter()
    here.client.execute_command("MIGRATE", "127.0.0.1", there.port, key, 0, 60_000)
    took = time.perf_counter() - began
    used = sum(reading(server.client).cpu for server in (here, there)) - sum(before)
    there.client.execute_command("MIGRATE", "127.0.0.1", here.port, key, 0, 60_000)
    return took, used


def _too_large(here: Server, there: Server) -> str:
    there.client.config_set("proto-max-bulk-len", 1 << 20)
    try:
        _move(here, there, keys.users())
    except redis.ResponseError as refusal:
        return f'"{refusal}"'
    return "moved"
