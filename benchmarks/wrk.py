"""Visits, runs of wrk over them, in turn or at random, and races: a subject and its baseline, measured in turn."""

import statistics
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import NamedTuple, Protocol

from benchmarks.plan import Plan

CLIENTS, MANY_CLIENTS = 16, 100  # at once; a race has CLIENTS unless it says otherwise


class Visit(NamedTuple):
    """A path, who asks for it, and what is shown."""

    path: str
    headers: Mapping[str, str] = {}  # the cookies of a user, or the token of an app
    names: tuple[str, ...] = ()  # of users to whom the page must link


# wrk can only stop after a time. After a number of requests, the script stops the thread and then wrk, as Ctrl-C does.
# Its arguments are the number of the run, and the calls of request() until it stops; with 0 it does not stop.
SCRIPT = """\
local ffi = require("ffi")
ffi.cdef("int getpid(void); int kill(int, int);")
local visits = {{
{visits}
}}
local threads = 0

function setup(thread)
  thread:set("place", threads)
  threads = threads + 1
end

function init(args)
  made = {{}}
  for number, visit in ipairs(visits) do
    made[number] = wrk.format("GET", visit[1], visit[2])
  end
  {start}
  calls = tonumber(args[2])
end

function request()
  calls = calls - 1
  if calls == 0 then
    wrk.thread:stop()
    ffi.C.kill(ffi.C.getpid(), 2)
  end
  {choice}
  return made[at]
end

function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("found %d %d %d %d %d %d %d %d %d %d\\n", summary.duration, summary.requests, summary.bytes,
    e.status, e.connect, e.read, e.write, e.timeout, latency:percentile(50), latency:percentile(99)))
end
"""
IN_TURN = {"start": "at = place * math.floor(#made / 2)", "choice": "at = at % #made + 1"}
# The same run always draws the same visits; each thread of each run draws others.
AT_RANDOM = {"start": "math.randomseed(args[1] * 2 + place)", "choice": "at = math.random(#made)"}
LONGEST = 1800  # seconds that a number of requests may take


@dataclass(frozen=True)
class Result:
    """The result of one run of wrk."""

    requests: int
    rate: float  # requests per second
    size: float  # bytes of a response with its headers
    refused: int  # responses with a status of 400 or more
    broken: int  # connections refused, cut or timed out
    p50: float  # milliseconds
    p99: float


def parse(output: str) -> Result:
    """Read the line that SCRIPT prints at the end. Raises RuntimeError when there was no response."""
    (line,) = [line for line in output.splitlines() if line.startswith("found ")]
    duration, requests, size, refused, connect, read, write, timeout, p50, p99 = map(int, line.split()[1:])
    if not requests:
        raise RuntimeError("wrk got no response")
    broken = connect + read + write + timeout
    return Result(requests, requests / duration * 1e6, size / requests, refused, broken, p50 / 1e3, p99 / 1e3)


@dataclass(frozen=True)
class Target:
    """A port, and the script of the visits that wrk makes there."""

    port: int
    script: Path
    runs: Iterator[int] = field(default_factory=lambda: count(1))

    def run(self, clients: int, seconds: float) -> Result:
        return self._wrk(min(2, clients), clients, max(1, round(seconds)), 0)

    def first(self, clients: int, requests: int) -> Result:
        """Run until `requests` requests are answered. Raises RuntimeError when it takes too long."""
        # wrk calls request() once before it starts, and then once for each client before the first response.
        result = self._wrk(1, clients, LONGEST, requests + clients + 1)
        if result.requests < requests:
            raise RuntimeError(f"only {result.requests} of {requests} requests within {LONGEST} s")
        return result

    def _wrk(self, threads: int, clients: int, seconds: int, calls: int) -> Result:
        command = ["wrk", "-t", str(threads), "-c", str(clients), "-d", f"{seconds}s", "--timeout", "20s"]
        command += ["-s", str(self.script), f"http://127.0.0.1:{self.port}", "--", str(next(self.runs)), str(calls)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds + 120)
        return parse(done.stdout)


def target(port: int, visits: Sequence[Visit], script: Path, order: Mapping[str, str] = IN_TURN) -> Target:
    """A target, whose script is written here. Paths and headers need no escaping in Lua's quotes."""
    listed = []
    for visit in visits:
        headers = ", ".join(f'["{name}"] = "{value}"' for name, value in visit.headers.items())
        listed.append(f'{{"{visit.path}", {{{headers}}}}}')
    script.write_text(SCRIPT.format(visits=",\n".join(listed), **order))
    return Target(port, script)


class _of_pairs:  # noqa: N801
    """A figure of a race: the median over its pairs."""

    def __init__(self, view: Callable[[Result, Result], float]) -> None:
        self._view = view

    def __get__(self, race: "Race", owner: type) -> float:
        return statistics.median(self._view(base, subject) for base, subject in race.pairs)


@dataclass(frozen=True)
class Race:
    """Pairs of runs, one directly after the other: first the baseline, then the subject.

    All figures are medians over the pairs."""

    name: str  # of the subject
    clients: int
    pairs: list[tuple[Result, Result]]

    @property
    def spread(self) -> tuple[float, float]:
        ratios = [subject.rate / base.rate for base, subject in self.pairs]
        return min(ratios), max(ratios)

    base_rate = _of_pairs(lambda base, subject: base.rate)
    rate = _of_pairs(lambda base, subject: subject.rate)
    p50 = _of_pairs(lambda base, subject: subject.p50)
    p99 = _of_pairs(lambda base, subject: subject.p99)
    size = _of_pairs(lambda base, subject: subject.size)
    ratio = _of_pairs(lambda base, subject: subject.rate / base.rate)
    tail = _of_pairs(lambda base, subject: subject.p99 / subject.p50)
    p50_growth = _of_pairs(lambda base, subject: subject.p50 / base.p50)
    p99_growth = _of_pairs(lambda base, subject: subject.p99 / base.p99)

    @property
    def failures(self) -> int:
        return sum(subject.refused + subject.broken for _, subject in self.pairs)


class Runs(Protocol):
    """A target, or something around one."""

    def run(self, clients: int, seconds: float) -> Result: ...


def race(plan: Plan, base: Runs, subjects: Mapping[str, Runs], clients: int = CLIENTS) -> list[Race]:
    """Warm all up, and run the baseline and each subject in turn. So changes in the machine's load affect all alike."""
    for each in (base, *subjects.values()):
        each.run(CLIENTS, 1)
    races = [Race(name, clients, []) for name in subjects]
    for _ in range(plan.rounds):
        for one, subject in zip(races, subjects.values(), strict=True):
            one.pairs.append((base.run(clients, plan.seconds), subject.run(clients, plan.seconds)))
    return races
