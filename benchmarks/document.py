"""docs/benchmarks.md: goals beside what was measured, the machine, the versions, and what each part says."""

import datetime
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks.growth.paper import table
from benchmarks.plan import Plan, Report
from retwis_site.store import embedded


def share(value: float) -> str:
    return f"{value:.3g}"


def times(value: float) -> str:
    return f"{value:.2g} times" if value < 10 else f"{value:.0f} times"


def kilobytes(value: float) -> str:
    """Of 1,024 bytes."""
    return f"{value / 1024:.2f} KB" if value % 1024 else f"{value / 1024:.0f} KB"


def count(value: float) -> str:
    return f"{value:.0f}" if value else "none"


@dataclass(frozen=True)
class Goal:
    """What a figure should be, at least or at most."""

    figure: str
    what: str
    bound: float
    stretch: float | None
    shown: Callable[[float], str]
    upward: bool = False  # the more the better

    def row(self, value: float | None) -> list[str]:
        side = "at least" if self.upward else "at most"
        bounds = [f"{side} {self.shown(self.bound)}" if self.bound else "none"]
        bounds.append("" if self.stretch is None else f"{side} {self.shown(self.stretch)}")
        if value is None:
            return [self.what, *bounds, "not measured", ""]
        met = "yes" if self._meets(value, self.bound) else "**no**"
        if self.stretch is not None and self._meets(value, self.stretch):
            met = "yes, and the stretch"
        return [self.what, *bounds, self.shown(value), met]

    def _meets(self, value: float, bound: float) -> bool:
        return value >= bound if self.upward else value <= bound


def _pages() -> list[Goal]:
    goals = []
    bounds = {"home": (0.20, 0.25), "profile": (0.20, 0.25), "global timeline": (0.11, 0.15)}
    shows = {
        "home": "home, 20 posts, signed in",
        "profile": "somebody else's profile, 20 posts, signed in",
        "global timeline": "global timeline, 50 posts and 10 users, signed out",
    }
    for page, (bound, stretch) in bounds.items():
        for clients in (16, 100):
            what = f"{shows[page]}, of the empty view's rate, {clients} clients"
            goals.append(Goal(f"{page}, {clients}", what, bound, stretch, share, upward=True))
    for page in bounds:
        goals.append(Goal(f"{page}, tail", f"p99 / p50 of {page}, 16 clients", 3, 2, share))
    return goals


DELIVERY = "delivery to 100,000 existing homes, of the rate of"
GOALS = [
    *_pages(),
    Goal("ab", "failures among 100,000 requests for home by 100 clients, `ab -k -l`", 0, None, count),
    Goal("delivery", f"{DELIVERY} `redis-benchmark`, whose lists are not there", 0.7, 1, share, upward=True),
    Goal("delivery onto lists", f"{DELIVERY} `redis-benchmark` onto lists that are", 0.7, 1, share, upward=True),
    Goal("post", "`POST /post/` with 100,000 followers, of the time with none", 1.5, None, times),
    Goal("home bytes", "memory of a home of 1,000 ids", 7 * 1024, None, kilobytes),
    Goal("user bytes", "memory of a user with 40 follows, 40 followers and no home", 2 * 1024, None, kilobytes),
    Goal("following", "home when following 1,000, of the time when following 10, warm", 1.1, None, share),
    Goal("many posts", "home with 1,000,000 posts in the store, of the time with 1,000", 1.1, None, share),
    Goal("rebuild", "rebuild of a home with 500 followed, of the time of a warm home", 20, 10, times),
]

OPENING = """\
# Benchmarks

`make bench` measures all of this again and writes this page (`benchmarks/bench.py`); nothing in it was typed by hand.
It takes about a quarter of an hour. The web workers, the store and the load share the machine's cores, so the rates
are those of this machine, and what counts is how they compare: everything is measured in turn with what it is compared
with, in the same run, and the median of the ratios stands here.

"""

METHOD = """\
- The site is what `manage.py serve` runs, with `WEB_WORKERS={workers}`, `THROTTLE=0`, and nothing else changed, on the
  embedded server, which keeps its append-only file. It was seeded by `manage.py seed`: {users:,} users, {posts:,} posts
  and {follows} follows each.
- The empty view is a Django view that answers an empty 200, without any middleware (`benchmarks/hello.py`), under
  granian with {workers} workers and one blocking thread each. It is asked without cookies.
- `wrk` rotates over {viewers} people who are signed in, each request with both their cookies. Empty view, page, empty
  view, page, and so on: {rounds} rounds of {seconds} s each.
- Before and after, each page is looked at as each of these people: a 200, signed in or not, with so many posts and the
  right names. While `wrk` runs, the size of the answers is compared with that.
"""

HEADINGS = {
    "pages": "Pages",
    "delivery": "Delivery",
    "post": "Posting",
    "memory": "Memory",
    "large": "Following many, many posts, rebuilding",
    "mix": "The mix of the research literature",
}


def goals(figures: dict[str, float]) -> str:
    rows = [goal.row(figures.get(goal.figure)) for goal in GOALS]
    return table(["what", "goal", "stretch", "measured", "met"], rows)


def document(plan: Plan, workers: int, load: str, reports: dict[str, Report]) -> str:
    """The whole page."""
    figures = {name: value for report in reports.values() for name, value in report.figures.items()}
    method = METHOD.format(workers=workers, **vars(plan))
    parts = [OPENING, goals(figures), "\n## How it was measured\n\n", method]
    parts += [f"\n{machine(load)}\n{versions()}"]
    parts += [f"\n## {HEADINGS[name]}\n\n{report.text}" for name, report in reports.items()]
    return "".join(parts)


def machine(load: str) -> str:
    cpu = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = re.search(r"^MemTotal:\s+(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    rows = [
        ["date", datetime.datetime.now(datetime.UTC).strftime("%-d %B %Y, %H:%M UTC")],
        ["cores", str(len(os.sched_getaffinity(0)))],
        ["processor", cpu[1] if cpu else "not told"],
        ["memory", f"{int(memory[1]) / 1024 / 1024:.1f} GiB" if memory else "not told"],
        ["load before the run (1, 5 and 15 minutes)", load],
    ]
    return table(["machine", ""], rows)


PROGRAMS = {"redis-server": "--version", "redis-benchmark": "--version", "wrk": "-v", "ab": "-V"}


def versions() -> str:
    """Of what took part."""
    rows = [["Python", sys.version.split()[0]]]
    rows += [[name, version(name.lower())] for name in ("Django", "granian", "gunicorn", "redis", "hiredis")]
    rows.append(["the embedded server", embedded.version_text(embedded.find_binary())])
    for program, option in PROGRAMS.items():
        said = subprocess.run([program, option], capture_output=True, text=True, check=False, timeout=10)
        found = re.search(r"\d+(?:\.\d+)+", said.stdout)
        rows.append([f"`{program}`", found[0] if found else "not told"])
    return table(["version", ""], rows)
