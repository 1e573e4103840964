"""Pages against an empty view: rates, the slowest requests, other web servers, more and more clients, and ab."""

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
from benchmarks.wrk import Found, Race, Target, race, target, warm_up
from retwis_site.store import keys
from timeline.timelines.everyone import EVERYONE_POSTS

PLOT = "benchmarks-clients.svg"
BESIDE = 3  # rounds of what has no goal


@dataclass(frozen=True)
class Page:
    """One page as several people ask for it, and what has to be on it."""

    name: str
    visits: Sequence[tuple[str, Viewer | None]]
    posts: int = POSTS_A_PAGE
    names: tuple[str, ...] = ()

    def target(self, port: int, folder: Path) -> Target:
        visits = [(path, viewer.header if viewer else "") for path, viewer in self.visits]
        return target(port, visits, folder / f"{re.sub('[^a-z]+', '-', self.name)}-{port}.lua")

    def check(self, port: int) -> float:
        """The usual size of its answers, none of which may be anything else. Raises WrongAnswer."""
        return statistics.mean(check(port, path, viewer, self.posts, self.names) for path, viewer in self.visits)


def pages_of(client: redis.Redis, port: int, viewers: int) -> list[Page]:
    """The pages that are measured, by people who see as many posts as a page has. They have seen their homes now."""
    rng = random.Random(1)
    everybody = people(client)
    wordy = [one for uid, one in everybody.items() if client.zcard(keys.updates(uid)) >= POSTS_A_PAGE]
    rng.shuffle(wordy)
    some = [one for one in rng.sample(list(everybody.values()), len(everybody)) if _has_a_full_home(port, one)]
    some, theirs = some[:viewers], wordy[:viewers]
    if len(some) < viewers or len(theirs) < viewers // 2:
        raise RuntimeError(f"only {len(some)} full homes and {len(theirs)} full profiles: seed more posts")
    others = [(f"/@{rng.choice([one for one in theirs if one is not me]).name}/", me) for me in some]
    newest = tuple(str(name) for name in client.zrevrange(keys.users_by_time(), 0, 9))
    return [
        Page("home", [("/", me) for me in some]),
        Page("profile", others),
        Page("own profile", [(f"/@{me.name}/", me) for me in theirs]),
        Page("global timeline", [("/timeline/", None)], EVERYONE_POSTS, newest),
    ]


def _has_a_full_home(port: int, viewer: Viewer) -> bool:
    visitor = Visitor(port, viewer.cookies)
    try:
        return visitor.get("/").page.count("<article") == POSTS_A_PAGE
    finally:
        visitor.close()


HEADS = ["page", "clients", "empty view, a second", "page, a second", "ratio", "lowest to highest"]
HEADS += ["p50, ms", "p99, ms", "p99 / p50", "bytes", "failures"]


def row(name: str, clients: int, its: Race) -> list[str]:
    low, high = its.spread
    rates = [f"{its.base_rate:,.0f}", f"{its.rate:,.0f}", f"**{its.ratio:.3f}**", f"{low:.3f} to {high:.3f}"]
    times = [f"{its.p50:.1f}", f"{its.p99:.1f}", f"{its.tail:.1f}"]
    return [name, str(clients), *rates, *times, f"{its.size:,.0f}", str(its.failures)]


def report(plan: Plan) -> Report:
    figures: dict[str, float] = {}
    fewer = replace(plan, rounds=min(BESIDE, plan.rounds))
    with embedded_store(plan.folder) as place:
        place.seed(plan.users, plan.posts, plan.follows)
        with empty_view(place, plan.folder / "empty.log") as empty:
            base = target(empty, [("/", "")], plan.folder / "empty.lua")
            with site(place.remembering(True), plan.folder / "site.log") as port:
                pages = pages_of(place.client, port, plan.viewers)
                shipped = _measure(plan, pages, port, base, figures)
                clients, drawn = _curve(plan, pages[0], port)
                by_ab = _ab(plan, pages[0], port, figures)
            with site(place.remembering(False), plan.folder / "forgetful.log") as port:
                forgetful = _measure(fewer, pages, port, base, None)
            servers = _servers(fewer, pages[0], place, base)
    text = f"""\
The pages as shipped (`manage.py serve`):

{shipped}
The same with `PAGE_MEMORY=0`, where web processes remember nothing of a page ({fewer.rounds} rounds):

{forgetful}
An answer's bytes are those with its headers. Failures: answers that were no page, and connections that broke.

Home and the empty view under other web servers, each compared with the empty view of the tables above
({fewer.rounds} rounds). `manage.py serve` has granian by its RSGI, with one thread that makes pages a worker:

{servers}
Home with more and more clients:

![Rate and milliseconds of home over the number of clients]({PLOT})

{clients}
{by_ab}"""
    return Report(text, figures, {PLOT: drawn})


def _measure(plan: Plan, pages: list[Page], port: int, base: Target, figures: dict[str, float] | None) -> str:
    """The rows of all pages of one site; what they are is checked before and after."""
    sizes = {page.name: page.check(port) for page in pages}
    targets = {page.name: page.target(port, plan.folder) for page in pages}
    warm_up([base, *targets.values()])
    rows = []
    for clients in plan.clients:
        for name, its in race(base, targets, clients, plan.rounds, plan.seconds).items():
            rows.append(row(name, clients, its))
            if not its.failures and not 0.9 < its.size / sizes[name] < 1.2:
                raise RuntimeError(f"{name}: answers of {its.size:.0f} bytes, where pages have {sizes[name]:.0f}")
            if figures is not None:
                figures[f"{name}, {clients}"] = its.ratio
                if clients == plan.clients[0]:
                    figures[f"{name}, tail"] = its.tail
    for page in pages:
        page.check(port)
    return table(HEADS, rows)


def _curve(plan: Plan, page: Page, port: int) -> tuple[str, str]:
    """A table and a plot."""
    its = page.target(port, plan.folder)
    found: dict[int, list[Found]] = {clients: [] for clients in plan.curve}
    for _ in range(min(BESIDE, plan.rounds)):
        for clients in plan.curve:
            found[clients].append(its.run(clients, plan.seconds))
    rates = [statistics.median(one.rate for one in found[clients]) for clients in plan.curve]
    p50s = [statistics.median(one.p50 for one in found[clients]) for clients in plan.curve]
    p99s = [statistics.median(one.p99 for one in found[clients]) for clients in plan.curve]
    rows = [
        [str(clients), f"{rate:,.0f}", f"{p50:.1f}", f"{p99:.1f}"]
        for clients, rate, p50, p99 in zip(plan.curve, rates, p50s, p99s, strict=True)
    ]
    drawn = curves(plan.curve, {"pages a second": {"rate": rates}, "milliseconds": {"p50": p50s, "p99": p99s}})
    return table(["clients", "a second", "p50, ms", "p99, ms"], rows), drawn


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
        alone = stack.enter_context(gunicorn(place, plan.folder / "gunicorn-empty.log", application, "/"))
        runners = {f"home, {name}": page.target(port, plan.folder) for name, port in ports.items()}
        runners["empty view, gunicorn, sync workers"] = target(alone, [("/", "")], plan.folder / "gunicorn.lua")
        warm_up(list(runners.values()))
        clients = plan.clients[0]
        found = race(base, runners, clients, plan.rounds, plan.seconds)
    return table(HEADS, [row(name, clients, its) for name, its in found.items()])


def _ab(plan: Plan, page: Page, port: int, figures: dict[str, float]) -> str:
    """A hundred clients, one of them signed in as often as the others."""
    path, viewer = page.visits[0]
    assert viewer is not None
    page.check(port)
    command = ["ab", "-q", "-k", "-l", "-n", str(plan.requests), "-c", "100", "-s", "60"]
    for name, value in viewer.cookies.items():
        command += ["-C", f"{name}={value}"]
    command.append(f"http://127.0.0.1:{port}{path}")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    page.check(port)
    said = dict(
        re.findall(r"^(Complete requests|Failed requests|Write errors|Non-2xx responses):\s+(\d+)", done.stdout, re.M)
    )
    complete = int(said.get("Complete requests", 0))
    failed = sum(int(said.get(name, 0)) for name in ("Failed requests", "Write errors", "Non-2xx responses"))
    figures["ab"] = failed + plan.requests - complete
    rate = re.search(r"^Requests per second:\s+([\d.]+)", done.stdout, re.M)
    times = dict(re.findall(r"^\s+(50|99|100)%\s+(\d+)", done.stdout, re.M))
    if rate is None:
        return f"`ab` ended with {done.returncode} before it had done all: {done.stderr.strip()[-300:]}\n"
    return (
        f"`ab -k -l -n {plan.requests} -c 100` on home: {complete:,} complete, {failed:,} failed, "
        f"{float(rate[1]):,.0f} a second, p50 {times['50']} ms, p99 {times['99']} ms, the longest {times['100']} ms.\n"
    )
