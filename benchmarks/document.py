"""Writes docs/benchmarks.md: the goals with the measured figures, the machine, the versions, and each part's report.

docs/benchmarks.json keeps the last results of each part, so a run renews only the parts that it measures.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import benchmarks.configured  # noqa: F401
from benchmarks.plan import Plan, Report, Run, table
from benchmarks.stand import ROOT, WORKERS
from benchmarks.texts import COPIES
from benchmarks.wrk import CLIENTS, MANY_CLIENTS

DOCS = ROOT / "docs"
PAGE, RESULTS = DOCS / "benchmarks.md", DOCS / "benchmarks.json"
PLAN = Plan(Path())  # of a whole run


def share(value: float) -> str:
    return f"{value:.3g}"


def times(value: float) -> str:
    return f"{value:.2g} times" if value < 10 else f"{value:.0f} times"


def seconds(value: float) -> str:
    return f"{value:.2f} s"


def kilobytes(value: float) -> str:
    """One KB is 1,024 bytes."""
    return f"{value / 1024:.2f} KB" if value % 1024 else f"{value / 1024:.0f} KB"


def in_bytes(value: float) -> str:
    return f"{value:.0f} bytes"


def megabytes(value: float) -> str:
    return f"{value / 1024 / 1024:.3g} MB"


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
        bounds = [f"{side} {self.shown(self.bound)}"]
        bounds.append("" if self.stretch is None else f"{side} {self.shown(self.stretch)}")
        if value is None:
            return [self.what, *bounds, "not measured", ""]
        met = "yes" if self._meets(value, self.bound) else "**no**"
        if self.stretch is not None and self._meets(value, self.stretch):
            met = "yes, and the stretch goal"
        return [self.what, *bounds, self.shown(value), met]

    def _meets(self, value: float, bound: float) -> bool:
        return value >= bound if self.upward else value <= bound


PAGES: dict[str, tuple[str, float, float]] = {  # what is measured, with its goals
    "home": ("home (20 posts, signed in)", 0.17, 0.20),
    "profile": ("another user's profile (20 posts, signed in)", 0.16, 0.20),
    "own profile": ("a user's own profile (20 posts)", 0.12, 0.17),
    "global timeline": ("global timeline (20 posts, signed out)", 0.25, 0.35),
    "home for an app": ("home for an app (20 statuses as JSON)", 0.15, 0.20),
}


def _pages() -> list[Goal]:
    goals = []
    for page, (what, bound, stretch) in PAGES.items():
        for clients in (CLIENTS, MANY_CLIENTS):
            name = f"rate of {what} / rate of the empty view, {clients} clients"
            goals.append(Goal(f"{page}, {clients}", name, bound, stretch, share, upward=True))
    return [*goals, *(Goal(f"{page}, tail", f"p99 / p50 of {page}, 16 clients", 3, 2, share) for page in PAGES)]


def _visits() -> list[Goal]:
    home = f"home, {PLAN.many_users:,} viewers at random"
    profile = f"another user's profile, {PLAN.many_users:,} viewers at random"
    arriving = "while 20 posts and 20 follows a second arrive"
    liked = f"time of the page of a post with {PLAN.followers:,} likes / with none"
    visit = f"time of the first visit of a user who follows {PLAN.follows} people / time of a built home"
    memory = f"growth of the memory of a web worker after {PLAN.views:,} page views"
    return [
        Goal("home at random", f"rate of {home} / rate of the empty view", 0.16, 0.20, share, upward=True),
        Goal("home with arrivals", f"rate of {home}, {arriving} / rate without", 0.85, 0.95, share, upward=True),
        Goal("home at random, tail", f"p99 / p50 of {home}", 3, 2, share),
        Goal("profile at random", f"rate of {profile} / rate of the empty view", 0.16, 0.20, share, upward=True),
        Goal("liked post", liked, 1.1, None, share),
        Goal("first visit", visit, 3, 2, times),
        Goal("worker memory", memory, 20 * 1024 * 1024, 10 * 1024 * 1024, megabytes),
    ]


def _pictures() -> list[Goal]:
    home = "rate of home with a picture on each post / rate of home without"
    return [
        Goal("picture", "rate of a picture of 50 KB / rate of the empty view", 0.3, 0.45, share, upward=True),
        Goal("home with pictures", home, 0.95, None, share, upward=True),
        Goal("picture bytes", "memory of 1,000 pictures of 50 KB / their bytes", 1.25, 1.1, share),
        Goal("upload", "time of an upload of a photo of 12 megapixels", 1.5, 1, seconds),
    ]


def _search() -> list[Goal]:
    posts = f"{PLAN.many_posts:,} posts"
    common = f"of a search for two common words in {posts} /"
    rare = f"p50 of a search for a word in {COPIES} of {posts} / p50 of a warm home"
    return [
        Goal("index bytes", f"memory of the index of {posts} as `reindex` writes it, for each", 200, None, in_bytes),
        Goal("common words", f"p50 {common} p50 of a warm home", 3, None, times),
        Goal("common words, p99", f"p99 {common} p99 of a warm home", 10, None, times),
        Goal("rare word", rare, 1.5, None, times),
    ]


GOALS = [
    *_pages(),
    *_visits(),
    *_pictures(),
    Goal("delivery", "rate of a post's way to 100,000 homes / rate of `redis-benchmark`", 0.7, 1, share, upward=True),
    Goal("post", "time of `POST /post/` with 100,000 followers / time without followers", 1.5, None, times),
    Goal("home bytes", "memory of a home of 1,000 ids", 7 * 1024, None, kilobytes),
    Goal("user bytes", "memory of a user with 40 follows, 40 followers and no home", 2 * 1024, 1.8 * 1024, kilobytes),
    Goal("following", "time of a warm home when following 1,000 users / when following 10", 1.1, None, share),
    Goal("many posts", "time of home with 1,000,000 posts in the store / with 1,000", 1.1, None, share),
    *_search(),
]

OPENING = """\
# Benchmarks

`make bench` measures all of this again and writes this page (`benchmarks/`); no figure is typed by hand. There are
three questions, and `python -m benchmarks.speed`, `python -m benchmarks.growth` and `python -m benchmarks.memory`
answer one each. `make bench ONLY=delivery` measures one part again, `ONLY="pages worker"` two; the others stay as they
are. The parts are {parts}. The web workers, the store and the load generator share the machine's
cores, so the rates are true only for this machine. The ratios count. Each subject and its baseline run in turn, in the
same run of the script. The page shows the median of the ratios.

"""

METHOD = """\
- The site runs under `manage.py serve` with `WEB_WORKERS={workers}`, `THROTTLE=0` and `INSPECT=0`; all other settings
  have their defaults. Its store is the embedded server with an append-only file. `manage.py seed` filled it:
  {users:,} users, {posts:,} posts and {follows} follows each.
- The empty view is a Django view without middleware that returns an empty 200 (`benchmarks/hello.py`). It runs under
  granian with {workers} workers and one blocking thread each. Requests to it carry no cookies.
- `wrk` rotates over {viewers} signed-in users. Each request carries both cookies of its user. The empty view and the
  page run in turn, for some rounds of some seconds each.
- Before and after, the script loads each page as each of these users. It checks the status 200, the sign-in, the number
  of posts and the names. After each `wrk` run it compares the mean size of the responses with that page.
- Each part below says when it was measured, in how many rounds, and how busy the machine was before.
"""

HEADINGS = {
    "pages": "Speed: pages",
    "visits": "Speed: many users, arrivals, first visits",
    "pictures": "Speed and memory: pictures",
    "delivery": "Speed: posting and delivery",
    "homes": "Growth: following many users, many posts",
    "liked": "Growth: many likes",
    "search": "Growth: search",
    "entries": "Memory: homes, users, posts",
    "worker": "Memory: web workers",
}


@dataclass(frozen=True)
class Result:
    """What a part has measured last."""

    run: Run
    lines: list[str]  # of its report
    figures: Mapping[str, float]


def stored() -> dict[str, Result]:
    """The last results, by part."""
    parts = json.loads(RESULTS.read_text())
    return {name: Result(Run(**kept.pop("run")), **kept) for name, kept in parts.items()}


def renew(run: Run, part: str, report: Report) -> None:
    """Keep what a part has measured, and write the page anew."""
    results = stored() | {part: result(run, report)}
    in_order = {name: asdict(results[name]) for name in HEADINGS if name in results}
    RESULTS.write_text(json.dumps(in_order, indent=1, ensure_ascii=False) + "\n")
    write_page()


def write_page() -> None:
    PAGE.write_text(document(stored()))


def result(run: Run, report: Report) -> Result:
    return Result(run, report.text.splitlines(), report.figures)


def goals(figures: Mapping[str, float]) -> str:
    rows = [goal.row(figures.get(goal.figure)) for goal in GOALS]
    return table(["figure", "goal", "stretch goal", "measured", "met"], rows)


def document(results: Mapping[str, Result]) -> str:
    """The text of docs/benchmarks.md."""
    figures = {name: value for result in results.values() for name, value in result.figures.items()}
    method = METHOD.format(workers=WORKERS, **vars(PLAN))
    parts = [
        OPENING.format(parts=", ".join(f"`{name}`" for name in HEADINGS)),
        goals(figures),
        "\n## How it was measured\n\n",
        method,
        "\n",
        _machines(results),
    ]
    parts += [f"\n## {heading}\n\n{_section(results.get(name))}" for name, heading in HEADINGS.items()]
    return "".join(parts)


def _section(result: Result | None) -> str:
    if result is None:
        return "Not measured yet.\n"
    return "\n".join([f"{result.run}\n", *result.lines, ""])


def _machines(results: Mapping[str, Result]) -> str:
    """A table with a column for each machine, or state of its programs, on which parts were measured."""
    machines: list[Mapping[str, str]] = []
    for result in results.values():
        if result.run.machine not in machines:
            machines.append(result.run.machine)
    names = list(dict.fromkeys(name for machine in machines for name in machine))
    rows = [[name, *(machine.get(name, "") for machine in machines)] for name in names]
    columns = [
        ", ".join(HEADINGS[name] for name, result in results.items() if result.run.machine == machine)
        for machine in machines
    ]
    return table(["", *(columns if len(columns) > 1 else ["all parts"])], rows)


if __name__ == "__main__":
    write_page()
