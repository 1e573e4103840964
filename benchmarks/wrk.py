"""wrk, rotating over visits, and a page raced against something else: in turn, round after round."""

import statistics
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

Viewer = tuple[str, str]  # path, Cookie header or ""

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
class Found:
    """What one run of wrk saw."""

    rate: float  # a second
    size: float  # bytes of an answer, with its headers
    refused: int  # answers of 400 and above
    broken: int  # connections refused, cut or timed out
    p50: float  # milliseconds
    p99: float


def parse(said: str) -> Found:
    """What the script's last line says."""
    (line,) = [line for line in said.splitlines() if line.startswith("found ")]
    duration, requests, size, refused, connect, read, write, timeout, p50, p99 = (int(one) for one in line.split()[1:])
    if not requests:
        raise RuntimeError("wrk got no answer at all")
    broken = connect + read + write + timeout
    return Found(requests / duration * 1e6, size / requests, refused, broken, p50 / 1e3, p99 / 1e3)


@dataclass(frozen=True)
class Target:
    """Where wrk goes, and with which visits in turn."""

    port: int
    script: Path

    def run(self, clients: int, seconds: float) -> Found:
        threads = min(2, clients)
        command = ["wrk", "-t", str(threads), "-c", str(clients), "-d", f"{max(1, round(seconds))}s"]
        command += ["--timeout", "20s", "-s", str(self.script), f"http://127.0.0.1:{self.port}"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds + 120)
        return parse(done.stdout)


def target(port: int, visits: Sequence[Viewer], script: Path) -> Target:
    """A script is written for the visits; it holds nothing but what is plain in Lua's quotes."""
    script.write_text(SCRIPT.format(visits=",\n".join(f'{{"{path}", "{cookies}"}}' for path, cookies in visits)))
    return Target(port, script)


@dataclass(frozen=True)
class Race:
    """Pairs of runs, one right after the other: what is compared with, and what is measured."""

    pairs: list[tuple[Found, Found]]

    def _median(self, view: Callable[[Found, Found], float]) -> float:
        return statistics.median(view(base, own) for base, own in self.pairs)

    @property
    def ratio(self) -> float:
        return self._median(lambda base, own: own.rate / base.rate)

    @property
    def spread(self) -> tuple[float, float]:
        ratios = [own.rate / base.rate for base, own in self.pairs]
        return min(ratios), max(ratios)

    @property
    def base_rate(self) -> float:
        return self._median(lambda base, own: base.rate)

    @property
    def rate(self) -> float:
        return self._median(lambda base, own: own.rate)

    @property
    def p50(self) -> float:
        return self._median(lambda base, own: own.p50)

    @property
    def p99(self) -> float:
        return self._median(lambda base, own: own.p99)

    @property
    def tail(self) -> float:
        return self._median(lambda base, own: own.p99 / own.p50)

    @property
    def size(self) -> float:
        return self._median(lambda base, own: own.size)

    @property
    def failures(self) -> int:
        return sum(own.refused + own.broken for _, own in self.pairs)


def warm_up(targets: Sequence[Target]) -> None:
    for one in targets:
        one.run(16, 1)


def race(base: Target, runners: dict[str, Target], clients: int, rounds: int, seconds: float) -> dict[str, Race]:
    """Base, runner, base, runner, and so on; round after round, so that a machine's moods meet all of them alike."""
    pairs: dict[str, list[tuple[Found, Found]]] = {name: [] for name in runners}
    for _ in range(rounds):
        for name, runner in runners.items():
            pairs[name].append((base.run(clients, seconds), runner.run(clients, seconds)))
    return {name: Race(found) for name, found in pairs.items()}
