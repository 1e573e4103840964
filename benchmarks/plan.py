"""How much `make bench` measures, when and on what, and the report that each part returns, with its tables."""

import datetime
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from retwis_site.store.embedded import find_binary, version_text


@dataclass(frozen=True)
class Plan:
    """The sizes of a run. `small()` only tests that the script works; its figures mean nothing."""

    folder: Path  # for stores, logs and scripts; each part has its own
    rounds: int = 5
    seconds: int = 2  # length of each run of wrk
    users: int = 1000
    posts: int = 20_000
    follows: int = 40
    viewers: int = 200
    followers: int = 100_000
    pushes: int = 500_000  # sent by redis-benchmark
    forms: int = 50  # posts sent by each of two authors
    following: tuple[int, int] = (10, 1000)
    few_posts: int = 1000
    many_posts: int = 1_000_000
    homes: int = 2000  # whose memory is measured
    accounts: int = 5000  # whose memory is measured
    weighed_posts: int = 50_000
    many_users: int = 20_000
    many_users_posts: int = 100_000
    first_visitors: int = 200  # users whose homes are built again
    views: int = 100_000  # page views after which the memory of a worker is measured
    pictures: int = 1000
    vocabulary: int = 50_000  # words that posts are made of, beside those of the demo


def small(folder: Path, rounds: int, seconds: int) -> Plan:
    return Plan(
        folder,
        rounds,
        seconds,
        posts=10_000,
        viewers=40,
        followers=5000,
        pushes=50_000,
        forms=5,
        many_posts=50_000,
        homes=200,
        accounts=500,
        weighed_posts=5000,
        many_users=1000,
        many_users_posts=10_000,
        first_visitors=20,
        views=2000,
        pictures=100,
        vocabulary=5000,
    )


@dataclass(frozen=True)
class Report:
    """The result of a part: a Markdown text, and figures by the name of their goal."""

    text: str
    figures: dict[str, float] = field(default_factory=dict)

    def __add__(self, more: "Report") -> "Report":
        """Both, the texts one after the other."""
        return Report(f"{self.text.rstrip()}\n\n{more.text}", self.figures | more.figures)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (heads, *rows)]
    return "\n".join([lines[0], f"|{'---|' * len(heads)}", *lines[1:]]) + "\n"


@dataclass(frozen=True)
class Run:
    """When, how and where parts were measured."""

    began: str
    rounds: int
    seconds: int
    load: str  # 1, 5 and 15 minutes before
    machine: Mapping[str, str]  # and the versions of all programs and packages that took part

    def __str__(self) -> str:
        return f"""\
Measured on {self.began}, in {self.rounds} rounds of {self.seconds} s. Load before the run (1, 5 and 15
minutes; a quiet machine has less than 1): {self.load}."""


def this_run(plan: Plan) -> Run:
    """What is known before it begins."""
    began = datetime.datetime.now(datetime.UTC).strftime("%-d %B %Y, %H:%M UTC")
    load = ", ".join(f"{average:.2f}" for average in os.getloadavg())
    return Run(began, plan.rounds, plan.seconds, load, _hardware() | _versions())


def _hardware() -> dict[str, str]:
    cpu = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = re.search(r"^MemTotal:\s+(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return {
        "cores": str(len(os.sched_getaffinity(0))),
        "processor": cpu[1] if cpu else "unknown",
        "memory": f"{int(memory[1]) / 1024 / 1024:.1f} GiB" if memory else "unknown",
    }


PROGRAMS = {"redis-server": "--version", "redis-benchmark": "--version", "wrk": "-v"}


def _versions() -> dict[str, str]:
    found = {"Python": sys.version.split()[0]}
    found |= {name: version(name.lower()) for name in ("Django", "granian", "redis", "hiredis")}
    found["the embedded server"] = version_text(find_binary())
    for program, option in PROGRAMS.items():
        output = subprocess.run([program, option], capture_output=True, text=True, check=False, timeout=10)
        number = re.search(r"\d+(?:\.\d+)+", output.stdout)
        found[f"`{program}`"] = number[0] if number else "unknown"
    return found
