"""Pages compared with an empty view: rates, slowest requests, other web servers, many clients, ab, the inspector."""

import contextlib
import random
import re
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import redis

from benchmarks.growth.paper import table
from benchmarks.plan import Plan, Report
from benchmarks.plot import curves
from benchmarks.stand import Place, embedded_store, empty_view, granian, gunicorn, site
from benchmarks.visitor import POSTS_A_PAGE, Viewer, Visitor, check, people
from benchmarks.wrk import Race, Result, Target, race, target, warm_up
from retwis_site.store import keys
from timeline.timelines.everyone import EVERYONE_POSTS

PLOT = "benchmarks-clients.svg"
ROUNDS_WITHOUT_GOAL = 3  # rounds of comparisons that have no goal


@dataclass(frozen=True)
class Page:
    """A page, the visits of several users to it, and what it must show."""

    name: str
    visits: Sequence[tuple[str, Viewer | None]]
    posts: int = POSTS_A_PAGE
    names: tuple[str, ...] = ()

    def target(self, port: int, folder: Path) -> Target:
        visits = [(path, viewer.header if viewer else "") for path, viewer in self.visits]
        return target(port, visits, folder / f"{re.sub('[^a-z]+', '-', self.name)}-{port}.lua")

    def check(self, port: int) -> float:
        """The mean size of the page in bytes, over all visits. Raises WrongAnswer when one visit gets another page."""
        return statistics.mean(check(port, path, viewer, self.posts, self.names) for path, viewer in self.visits)


def pages_of(client: redis.Redis, port: int, viewers: int) -> list[Page]:
    """The pages to measure, for users whose pages are full.

    Loads the homes of all users, so they are rebuilt now, and profiles. Raises RuntimeError when too few are full."""
    rng = random.Random(1)
    users = people(client)
    prolific = [user for uid, user in users.items() if client.zcard(keys.updates(uid)) >= POSTS_A_PAGE]
    authors = [user for user in rng.sample(prolific, len(prolific)) if _is_full(port, f"/@{user.name}/", user)]
    readers = [user for user in rng.sample(list(users.values()), len(users)) if _is_full(port, "/", user)]
    readers, authors = readers[:viewers], authors[:viewers]
    if len(readers) < viewers or len(authors) < viewers // 2:
        raise RuntimeError(f"only {len(readers)} full homes and {len(authors)} full profiles: seed more posts")
    others = [(f"/@{rng.choice([author for author in authors if author is not me]).name}/", me) for me in readers]
    newest = tuple(str(name) for name in client.zrevrange(keys.users_by_time(), 0, 9))
    return [
        Page("home", [("/", me) for me in readers]),
        Page("profile", others),
        Page("own profile", [(f"/@{me.name}/", me) for me in authors]),
        Page("global timeline", [("/timeline/", None)], EVERYONE_POSTS, newest),
    ]


def _is_full(port: int, path: str, viewer: Viewer) -> bool:
    """Whether the page has POSTS_A_PAGE posts: a profile leaves replies to others out."""
    visitor = Visitor(port, viewer.cookies)
    try:
        return visitor.get(path).page.count("<article") == POSTS_A_PAGE
    finally:
        visitor.close()


HEADS = ["page", "clients", "empty view, per second", "page, per second", "ratio", "lowest to highest"]
HEADS += ["p50, ms", "p99, ms", "p99 / p50", "bytes", "failures"]


def heads(base: str) -> list[str]:
    """The heads of a table whose baseline is not the empty view."""
    return [head.replace("empty view", base) for head in HEADS]


def require_size(name: str, result: Race, size: float) -> None:
    """Raise RuntimeError when the mean response is much smaller or larger than the page of `size` bytes."""
    if not result.failures and not 0.9 < result.size / size < 1.2:
        raise RuntimeError(f"{name}: responses of {result.size:.0f} bytes, but the page has {size:.0f}")


def row(name: str, clients: int, result: Race) -> list[str]:
    low, high = result.spread
    rates = [f"{result.base_rate:,.0f}", f"{result.rate:,.0f}", f"**{result.ratio:.3f}**", f"{low:.3f} to {high:.3f}"]
    times = [f"{result.p50:.1f}", f"{result.p99:.1f}", f"{result.tail:.1f}"]
    return [name, str(clients), *rates, *times, f"{result.size:,.0f}", str(result.failures)]


def report(plan: Plan) -> Report:
    figures: dict[str, float] = {}
    short_plan = replace(plan, rounds=min(ROUNDS_WITHOUT_GOAL, plan.rounds))
    with embedded_store(plan.folder) as place:
        place.seed(plan.users, plan.posts, plan.follows)
        with empty_view(place, plan.folder / "empty.log") as empty:
            base = target(empty, [("/", "")], plan.folder / "empty.lua")
            with site(place, plan.folder / "site.log") as port:
                pages = pages_of(place.client, port, plan.viewers)
                shipped = _measure(plan, pages, port, base, figures)
                clients, drawn = _curve(plan, pages[0], port)
                by_ab = _ab(plan, pages[0], port, figures)
                inspected = _inspected(plan, place, pages[:2], port, figures)
            servers = _servers(short_plan, pages[0], place, base)
    text = f"""\
The pages as shipped (`manage.py serve`):

{shipped}
The bytes of a response include its headers. Failures are responses with an error status, and broken connections.

Home and the empty view under other web servers. Each is compared with the empty view of the tables above
({short_plan.rounds} rounds). `manage.py serve` runs granian through RSGI, with one page thread for each worker:

{servers}
Home with a growing number of clients:

![Rate and response time of home by the number of clients]({PLOT})

{clients}
{by_ab}
The same pages with `INSPECT=1`: each ends with what it has sent to Redis. Another site on the same store shows them.

{inspected}"""
    return Report(text, figures, {PLOT: drawn})


def _measure(plan: Plan, pages: list[Page], port: int, base: Target, figures: dict[str, float]) -> str:
    """The table of all pages. Each page is checked before and after. Fills `figures`."""
    sizes = {page.name: page.check(port) for page in pages}
    targets = {page.name: page.target(port, plan.folder) for page in pages}
    warm_up([base, *targets.values()])
    rows = []
    for clients in plan.clients:
        for name, result in race(base, targets, clients, plan.rounds, plan.seconds).items():
            rows.append(row(name, clients, result))
            require_size(name, result, sizes[name])
            figures[f"{name}, {clients}"] = result.ratio
            if clients == plan.clients[0]:
                figures[f"{name}, tail"] = result.tail
    for page in pages:
        page.check(port)
    return table(HEADS, rows)


def _curve(plan: Plan, page: Page, port: int) -> tuple[str, str]:
    """The rates and times of a page by the number of clients: a table, and a plot in SVG."""
    home = page.target(port, plan.folder)
    runs: dict[int, list[Result]] = {clients: [] for clients in plan.curve}
    for _ in range(min(ROUNDS_WITHOUT_GOAL, plan.rounds)):
        for clients in plan.curve:
            runs[clients].append(home.run(clients, plan.seconds))
    rates = [statistics.median(run.rate for run in runs[clients]) for clients in plan.curve]
    p50s = [statistics.median(run.p50 for run in runs[clients]) for clients in plan.curve]
    p99s = [statistics.median(run.p99 for run in runs[clients]) for clients in plan.curve]
    rows = [
        [str(clients), f"{rate:,.0f}", f"{p50:.1f}", f"{p99:.1f}"]
        for clients, rate, p50, p99 in zip(plan.curve, rates, p50s, p99s, strict=True)
    ]
    drawn = curves(plan.curve, {"pages a second": {"rate": rates}, "milliseconds": {"p50": p50s, "p99": p99s}})
    return table(["clients", "pages per second", "p50, ms", "p99, ms"], rows), drawn


def _servers(plan: Plan, page: Page, place: Place, base: Target) -> str:
    with contextlib.ExitStack() as stack:
        ports = {
            "`manage.py serve`": stack.enter_context(site(place, plan.folder / "again.log")),
            "granian, 1 blocking thread": stack.enter_context(granian(place, plan.folder / "granian-1.log", 1)),
            "granian, 2 blocking threads": stack.enter_context(granian(place, plan.folder / "granian-2.log", 2)),
            "gunicorn, sync workers": stack.enter_context(gunicorn(place, plan.folder / "gunicorn.log")),
        }
        for port in ports.values():
            page.check(port)
        application = "benchmarks.hello:application()"
        empty = stack.enter_context(gunicorn(place, plan.folder / "gunicorn-empty.log", application, "/"))
        subjects = {f"home, {name}": page.target(port, plan.folder) for name, port in ports.items()}
        subjects["empty view, gunicorn, sync workers"] = target(empty, [("/", "")], plan.folder / "gunicorn.lua")
        warm_up(list(subjects.values()))
        clients = plan.clients[0]
        results = race(base, subjects, clients, plan.rounds, plan.seconds)
    return table(HEADS, [row(name, clients, result) for name, result in results.items()])


def _inspected(plan: Plan, place: Place, pages: list[Page], port: int, figures: dict[str, float]) -> str:
    """The table of pages with the inspector, each compared with the same page without it. Fills `figures`."""
    rows = []
    clients = plan.clients[0]
    inspecting = replace(place, env={**place.env, "INSPECT": "1"})
    with site(inspecting, plan.folder / "inspected.log") as other:
        for page in pages:
            base, subject = page.target(port, plan.folder), page.target(other, plan.folder)
            warm_up([base, subject])  # a page of a process that has just started has sent more to Redis
            size, least = page.check(other), page.check(port)
            if size <= least:
                raise RuntimeError(f"{page.name}: {size:.0f} bytes with the inspector, {least:.0f} without")
            result = race(base, {page.name: subject}, clients, plan.rounds, plan.seconds)[page.name]
            require_size(page.name, result, size)
            figures[f"inspected {page.name}"] = result.ratio
            rows.append(row(f"{page.name} with `INSPECT=1`", clients, result))
    return table(heads("without"), rows)


def _ab(plan: Plan, page: Page, port: int, figures: dict[str, float]) -> str:
    """A sentence on a run of ab: a hundred clients, all signed in as the same user. Fills `figures`."""
    path, viewer = page.visits[0]
    assert viewer is not None
    page.check(port)
    command = ["ab", "-q", "-k", "-l", "-n", str(plan.requests), "-c", "100", "-s", "60"]
    for name, value in viewer.cookies.items():
        command += ["-C", f"{name}={value}"]
    command.append(f"http://127.0.0.1:{port}{path}")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    page.check(port)
    counts = dict(
        re.findall(r"^(Complete requests|Failed requests|Write errors|Non-2xx responses):\s+(\d+)", done.stdout, re.M)
    )
    complete = int(counts.get("Complete requests", 0))
    failed = sum(int(counts.get(name, 0)) for name in ("Failed requests", "Write errors", "Non-2xx responses"))
    figures["ab"] = failed + plan.requests - complete
    rate = re.search(r"^Requests per second:\s+([\d.]+)", done.stdout, re.M)
    times = dict(re.findall(r"^\s+(50|99|100)%\s+(\d+)", done.stdout, re.M))
    if rate is None:
        return f"`ab` ended with {done.returncode} before its last request: {done.stderr.strip()[-300:]}\n"
    return (
        f"`ab -k -l -n {plan.requests} -c 100` on home: {complete:,} complete, {failed:,} failed, "
        f"{float(rate[1]):,.0f} per second, p50 {times['50']} ms, p99 {times['99']} ms, longest {times['100']} ms.\n"
    )
