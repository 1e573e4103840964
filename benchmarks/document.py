"""Writes docs/benchmarks.md: the goals with the measured figures, the machine, the versions, and each part's report."""

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
from benchmarks.texts import COPIES
from retwis_site.store.server.program import find_binary, version_text


def share(value: float) -> str:
    return f"{value:.3g}"


def times(value: float) -> str:
    return f"{value:.2g} times" if value < 10 else f"{value:.0f} times"


def kilobytes(value: float) -> str:
    """One KB is 1,024 bytes."""
    return f"{value / 1024:.2f} KB" if value % 1024 else f"{value / 1024:.0f} KB"


def in_bytes(value: float) -> str:
    return f"{value:.0f} bytes"


def megabytes(value: float) -> str:
    return f"{value / 1024 / 1024:.3g} MB"


def count(value: float) -> str:
    return f"{value:,.0f}" if value else "none"


@dataclass(frozen=True)
class Goal:
    """The bound that a figure should keep: at least `bound` when `upward`, else at most."""

    figure: str
    what: str
    bound: float
    stretch: float | None
    shown: Callable[[float], str]
    upward: bool = False  # higher is better

    def row(self, value: float | None) -> list[str]:
        side = "at least" if self.upward else "at most"
        bounds = [f"{side} {self.shown(self.bound)}" if self.bound else "none"]
        bounds.append("" if self.stretch is None else f"{side} {self.shown(self.stretch)}")
        if value is None:
            return [self.what, *bounds, "not measured", ""]
        met = "yes" if self._meets(value, self.bound) else "**no**"
        if self.stretch is not None and self._meets(value, self.stretch):
            met = "yes, and the stretch goal"
        return [self.what, *bounds, self.shown(value), met]

    def _meets(self, value: float, bound: float) -> bool:
        return value >= bound if self.upward else value <= bound


def _pages() -> list[Goal]:
    goals = []
    bounds = {"home": (0.20, 0.25), "profile": (0.20, 0.25), "global timeline": (0.20, 0.25)}
    contents = {
        "home": "home (20 posts, signed in)",
        "profile": "another user's profile (20 posts, signed in)",
        "global timeline": "global timeline (50 posts and 10 users, signed out)",
    }
    for page, (bound, stretch) in bounds.items():
        for clients in (16, 100):
            what = f"rate of {contents[page]} / rate of the empty view, {clients} clients"
            goals.append(Goal(f"{page}, {clients}", what, bound, stretch, share, upward=True))
    for page in bounds:
        goals.append(Goal(f"{page}, tail", f"p99 / p50 of {page}, 16 clients", 3, 2, share))
    return goals


def _living() -> list[Goal]:
    plan = Plan(Path())
    home = f"home, {plan.living_users:,} viewers at random"
    arrivals = f"{plan.arrivals} posts and {plan.arrivals} follows a second arrive"
    likes = f"{plan.arrivals} likes a second arrive"
    liked = f"time of the page of a post with {plan.followers:,} likes / with none"
    first = f"the first {plan.first_homes:,} homes of a process that has just started"
    logins = f"p99 of {home}, while {plan.logins} people log in at once / p99 without"
    visit = f"time of the first visit of a user who follows {plan.follows} people / time of a built home"
    memory = f"growth of the memory of a web worker after {plan.views:,} page views"
    return [
        Goal("home at random", f"rate of {home} / rate of the empty view", 0.15, 0.20, share, upward=True),
        Goal("home at random, tail", f"p99 / p50 of {home}", 3, 2, share),
        Goal("home with arrivals", f"rate of {home}, while {arrivals} / rate without", 0.85, 0.95, share, upward=True),
        Goal(
            "home with likes", f"rate of {home}, while {likes} / rate of the empty view", 0.13, 0.18, share, upward=True
        ),
        Goal("liked post", liked, 1.1, None, share),
        Goal("home with logins, p99", logins, 4, 2, times),
        Goal("home after a start", f"rate of {first} / rate of the empty view", 0.08, 0.12, share, upward=True),
        Goal("first visit", visit, 3, 2, times),
        Goal("worker memory", memory, 20 * 1024 * 1024, 10 * 1024 * 1024, megabytes),
    ]


def _search() -> list[Goal]:
    posts = f"{Plan(Path()).many_posts:,} posts"
    common = f"of a search for two common words in {posts} /"
    rare = f"p50 of a search for a word in {COPIES} of {posts} / p50 of a warm home"
    posting = "time of `POST /post/` / time on a site without an index"
    return [
        Goal("index bytes", f"memory of the index of {posts}, for each of them", 200, 120, in_bytes),
        Goal("common words", f"p50 {common} p50 of a warm home", 3, None, times),
        Goal("common words, p99", f"p99 {common} p99 of a warm home", 10, None, times),
        Goal("rare word", rare, 1.5, None, times),
        Goal("indexing", "posts that a worker indexes in a second", 2000, None, count, upward=True),
        Goal("indexed post", posting, 1.05, None, share),
    ]


DELIVERY = "rate of delivery to 100,000 existing homes / rate of"
GOALS = [
    *_pages(),
    *_living(),
    Goal("ab", "failures among 100,000 requests for home by 100 clients, `ab -k -l`", 0, None, count),
    Goal("delivery", f"{DELIVERY} `redis-benchmark` with missing lists", 0.7, 1, share, upward=True),
    Goal("delivery onto lists", f"{DELIVERY} `redis-benchmark` with existing lists", 0.7, 1, share, upward=True),
    Goal("post", "time of `POST /post/` with 100,000 followers / time without followers", 1.5, None, times),
    Goal("home bytes", "memory of a home of 1,000 ids", 7 * 1024, None, kilobytes),
    Goal("user bytes", "memory of a user with 40 follows, 40 followers and no home", 2 * 1024, None, kilobytes),
    Goal("following", "time of a warm home when following 1,000 users / when following 10", 1.1, None, share),
    Goal("many posts", "time of home with 1,000,000 posts in the store / with 1,000", 1.1, None, share),
    Goal("rebuild", "time to rebuild a home when following 500 users / time of a warm home", 20, 10, times),
    *_search(),
]

OPENING = """\
# Benchmarks

`make bench` measures all of this again and writes this page (`benchmarks/bench.py`); no figure is typed by hand. It
takes about 20 minutes. The web workers, the store and the load generator share the machine's cores, so the rates are
true only for this machine. The ratios count. Each subject and its baseline run in turn, in the same run of the script.
The page shows the median of the ratios.

"""

METHOD = """\
- The site runs under `manage.py serve` with `WEB_WORKERS={workers}`, `THROTTLE=0` and `INSPECT=0`; all other settings
  have their defaults. Its store is the embedded server with an append-only file. `manage.py seed` filled it:
  {users:,} users, {posts:,} posts and {follows} follows each.
- The empty view is a Django view without middleware that returns an empty 200 (`benchmarks/hello.py`). It runs under
  granian with {workers} workers and one blocking thread each. Requests to it carry no cookies.
- `wrk` rotates over {viewers} signed-in users. Each request carries both cookies of its user. The empty view and the
  page run in turn: {rounds} rounds of {seconds} s each.
- Before and after, the script loads each page as each of these users. It checks the status 200, the sign-in, the number
  of posts and the names. After each `wrk` run it compares the mean size of the responses with that page.
"""

HEADINGS = {
    "pages": "Pages",
    "living": "A living site",
    "delivery": "Delivery",
    "post": "Posting",
    "memory": "Memory",
    "large": "Following many users, many posts, rebuilds",
    "mix": "The operation mix of the research literature",
    "moving": "Moving a million posts",
    "search": "Search",
}


def goals(figures: dict[str, float]) -> str:
    rows = [goal.row(figures.get(goal.figure)) for goal in GOALS]
    return table(["figure", "goal", "stretch goal", "measured", "met"], rows)


def document(plan: Plan, workers: int, load: str, reports: dict[str, Report]) -> str:
    """The text of docs/benchmarks.md."""
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
        ["processor", cpu[1] if cpu else "unknown"],
        ["memory", f"{int(memory[1]) / 1024 / 1024:.1f} GiB" if memory else "unknown"],
        ["load before the run (1, 5 and 15 minutes)", load],
    ]
    return table(["machine", ""], rows)


PROGRAMS = {"redis-server": "--version", "redis-benchmark": "--version", "wrk": "-v", "ab": "-V"}


def versions() -> str:
    """A table of the versions of all programs and packages that took part."""
    rows = [["Python", sys.version.split()[0]]]
    rows += [[name, version(name.lower())] for name in ("Django", "granian", "gunicorn", "redis", "hiredis")]
    rows.append(["the embedded server", version_text(find_binary())])
    for program, option in PROGRAMS.items():
        output = subprocess.run([program, option], capture_output=True, text=True, check=False, timeout=10)
        number = re.search(r"\d+(?:\.\d+)+", output.stdout)
        rows.append([f"`{program}`", number[0] if number else "unknown"])
    return table(["version", ""], rows)
