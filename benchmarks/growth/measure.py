"""Reads the counters of a server, and puts load on it.

Processor time is what the server reports (INFO cpu). On a shared machine it is stable from run to run, unlike time by
the clock. Each load runs three times, and the median counts.
"""

import socket
import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from multiprocessing import Pool

import hiredis
import redis

from benchmarks.growth import paper
from retwis_site.store.chunks import batches
from tests.support.processes.ports import free_ports
from tests.support.stores.topologies import Server

SECONDS = 2.0  # length of each run
TIMES = 3  # runs of each load
PROCESSES = 2
CONNECTIONS = 16  # of each process
SLOTS = 16384

Command = tuple[str | bytes | int | float, ...]
RoundTrip = tuple[bytes, int]  # packed commands that are sent together, and the number of replies


@dataclass(frozen=True)
class Reading:
    """The counters of a server, or the sums over several servers."""

    cpu: float  # seconds
    memory: int  # bytes
    commands: int

    def since(self, before: "Reading") -> "Reading":
        return Reading(self.cpu - before.cpu, self.memory - before.memory, self.commands - before.commands)


def reading(client: "redis.Redis") -> Reading:
    info = client.info("all")
    cpu = info["used_cpu_user"] + info["used_cpu_sys"]
    return Reading(cpu, info["used_memory"], info["total_commands_processed"])


def alone(folder: str, *options: str) -> Server:
    """A server in cluster mode, where keys cost more memory. `own_all` gives it all slots."""
    port, bus = free_ports(2)
    return Server(folder, port, "--cluster-enabled", "yes", "--cluster-port", str(bus), *options)


def own_all(server: Server) -> None:
    """Give all slots to the server, and wait until its cluster is up."""
    server.client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, SLOTS - 1)
    while server.client.cluster("info")["cluster_state"] != "ok":
        time.sleep(0.05)


class Line:
    """A connection for commands that are packed before, so that the load costs less than the server."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = hiredis.Reader()

    def send(self, round_trip: RoundTrip) -> None:
        self._socket.sendall(round_trip[0])

    def read(self, round_trip: RoundTrip) -> list[object]:
        replies: list[object] = []
        while len(replies) < round_trip[1]:
            reply = self._reader.gets()
            if reply is False:  # not complete yet
                self._reader.feed(self._socket.recv(1 << 20))
                continue
            if isinstance(reply, Exception):
                raise reply
            replies.append(reply)
        return replies

    def close(self) -> None:
        self._socket.close()


def pack(commands: Sequence[Command]) -> RoundTrip:
    return b"".join(hiredis.pack_command(command) for command in commands), len(commands)  # type: ignore[arg-type]


def load(port: int, commands: Iterable[Command]) -> None:
    """Send all commands, 1,000 in each round trip. Raises the first error reply."""
    line = Line(port)
    for batch in batches(commands, 1000):
        round_trip = pack(batch)
        line.send(round_trip)
        line.read(round_trip)
    line.close()


@dataclass(frozen=True)
class Rate:
    """How often a work was done per second, by the clock, and what one took: microseconds of the server's processor."""

    per_second: float
    cpu: float

    @property
    def per_core(self) -> float:
        """How often per second a core could do it that does nothing else."""
        return 1e6 / self.cpu


def drive(server: Server, works: Sequence[Sequence[RoundTrip]]) -> Rate:
    """Repeat the works on PROCESSES times CONNECTIONS connections at once, for SECONDS.

    The round trips of a work follow each other. All works need the same number of round trips."""
    rates = []
    with Pool(PROCESSES) as pool:
        for _ in range(TIMES):
            before, began = reading(server.client), time.perf_counter()
            shares = [(server.port, works[number::PROCESSES]) for number in range(PROCESSES)]
            done = sum(pool.starmap(_client, shares, chunksize=1))
            took, used = time.perf_counter() - began, reading(server.client).since(before)
            rates.append(Rate(done / took, used.cpu / done * 1e6))
    return Rate(statistics.median(r.per_second for r in rates), statistics.median(r.cpu for r in rates))


def _client(port: int, works: Sequence[Sequence[RoundTrip]]) -> int:
    lines = [Line(port) for _ in range(CONNECTIONS)]
    ends = time.monotonic() + SECONDS
    done = 0
    queue = cycle(works)
    while time.monotonic() < ends:
        together = list(islice(queue, CONNECTIONS))
        for step in range(len(together[0])):
            for line, work in zip(lines, together, strict=True):
                line.send(work[step])
            for line, work in zip(lines, together, strict=True):
                line.read(work[step])
        done += len(together)
    for line in lines:
        line.close()
    return done


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; numbers with commas, small ones with one decimal."""
    return paper.table(heads, [[_cell(cell) for cell in row] for row in rows])


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
