"""Runs of wrk that rotate over visits, and races: a subject and its baseline, measured in turn."""

import statistics
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

Visit = tuple[str, str]  # path, Cookie header or ""

SCRIPT = """\
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
    local headers = {{}}
    if visit[2] ~= "" then headers["Cookie"] = visit[2] end
    made[number] = wrk.format("GET", visit[1], headers)
  end
  at = place * math.floor(#made / 2)
end

function request()
  at = at % #made + 1
  return made[at]
end

function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("found %d %d %d %d %d %d %d %d %d %d\\n", summary.duration, summary.requests, summary.bytes,
    e.status, e.connect, e.read, e.write, e.timeout, latency:percentile(50), latency:percentile(99)))
end
"""


@dataclass(frozen=True)
class Result:
    """The result of one run of wrk."""

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
    return Result(requests / duration * 1e6, size / requests, refused, broken, p50 / 1e3, p99 / 1e3)


@dataclass(frozen=True)
class Target:
    """A port, and the script of the visits that wrk makes there in turn."""

    port: int
    script: Path

    def run(self, clients: int, seconds: float) -> Result:
        threads = min(2, clients)
        command = ["wrk", "-t", str(threads), "-c", str(clients), "-d", f"{max(1, round(seconds))}s"]
        command += ["--timeout", "20s", "-s", str(self.script), f"http://127.0.0.1:{self.port}"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds + 120)
        return parse(done.stdout)


def target(port: int, visits: Sequence[Visit], script: Path) -> Target:
    """Write the script for the visits. Paths and cookies need no escaping in Lua's quotes."""
    script.write_text(SCRIPT.format(visits=",\n".join(f'{{"{path}", "{cookies}"}}' for path, cookies in visits)))
    return Target(port, script)


@dataclass(frozen=True)
class Race:
    """Pairs of runs, one directly after the other: first the baseline, then the subject.

    All figures are medians over the pairs."""

    pairs: list[tuple[Result, Result]]

    def _median(self, view: Callable[[Result, Result], float]) -> float:
        return statistics.median(view(base, subject) for base, subject in self.pairs)

    @property
    def ratio(self) -> float:
        return self._median(lambda base, subject: subject.rate / base.rate)

    @property
    def spread(self) -> tuple[float, float]:
        ratios = [subject.rate / base.rate for base, subject in self.pairs]
        return min(ratios), max(ratios)

    @property
    def base_rate(self) -> float:
        return self._median(lambda base, subject: base.rate)

    @property
    def rate(self) -> float:
        return self._median(lambda base, subject: subject.rate)

    @property
    def p50(self) -> float:
        return self._median(lambda base, subject: subject.p50)

    @property
    def p99(self) -> float:
        return self._median(lambda base, subject: subject.p99)

    @property
    def tail(self) -> float:
        return self._median(lambda base, subject: subject.p99 / subject.p50)

    @property
    def size(self) -> float:
        return self._median(lambda base, subject: subject.size)

    @property
    def failures(self) -> int:
        return sum(subject.refused + subject.broken for _, subject in self.pairs)


def warm_up(targets: Sequence[Target]) -> None:
    for each in targets:
        each.run(16, 1)


def race(base: Target, subjects: dict[str, Target], clients: int, rounds: int, seconds: float) -> dict[str, Race]:
    """Run the baseline and each subject in turn, for all rounds. So changes in the machine's load affect all alike."""
    pairs: dict[str, list[tuple[Result, Result]]] = {name: [] for name in subjects}
    for _ in range(rounds):
        for name, subject in subjects.items():
            pairs[name].append((base.run(clients, seconds), subject.run(clients, seconds)))
    return {name: Race(runs) for name, runs in pairs.items()}
