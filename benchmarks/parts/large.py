"""Home for somebody who follows very many, in a store with very many posts, and when it has to be rebuilt."""

import contextlib
import random
import statistics
from collections.abc import Sequence

from benchmarks.growth.paper import table
from benchmarks.parts import raw
from benchmarks.parts.pages import HEADS, Page, row
from benchmarks.plan import Plan, Report
from benchmarks.stand import Place, embedded_store, empty_view, site
from benchmarks.visitor import POSTS_A_PAGE, Viewer, Visitor, check, people
from benchmarks.wrk import Race, race, target, warm_up
from retwis_site.store import keys

VIEWERS = 20  # who follow as many as each other


def report(plan: Plan) -> Report:
    figures: dict[str, float] = {}
    followed, rebuilt = _following(plan, figures)
    many = _posts(plan, figures)
    few, lots = plan.following
    text = f"""\
`wrk` with {plan.clients[0]} clients, {plan.rounds} rounds of {plan.seconds} s, in turn; each of {VIEWERS} viewers
of a kind has a home. The left rate is what is compared with. (The goals are about times, so they are these ratios the
other way round.)

{followed}
Following {lots:,} takes **{figures["following"]:.2f} times** as long as following {few}.

{many}
With {plan.many_posts:,} posts a home takes **{figures["many posts"]:.2f} times** as long as with
{plan.few_posts:,}: a store each, with {plan.users:,} users who follow {plan.follows} each and wrote as much as each
other, and a site each.

{rebuilt}"""
    return Report(text, figures)


def _heads(base: str) -> list[str]:
    return [head.replace("empty view", base) for head in HEADS]


def _homes(viewers: Sequence[Viewer]) -> Page:
    return Page("home", [("/", one) for one in viewers])


def _time(its: Race) -> float:
    return 1 / its.ratio


def _following(plan: Plan, figures: dict[str, float]) -> tuple[str, str]:
    rng = random.Random(1)
    with embedded_store(plan.folder / "following") as place:
        place.seed(plan.users, plan.posts, plan.follows)
        everybody = list(people(place.client))
        wordy = [uid for uid in everybody if place.client.zcard(keys.updates(uid)) >= POSTS_A_PAGE]
        few, lots = plan.following
        first = plan.users + 1
        kinds = [list(range(first + VIEWERS * number, first + VIEWERS * (number + 1))) for number in range(2)]
        own = first + VIEWERS * 2
        raw.load(place.client, raw.people(range(first, own + 1)))
        raw.load(place.client, raw.counters(own, plan.posts))
        for uids, size in zip(kinds, (few, lots), strict=True):
            for me in uids:
                raw.load(place.client, raw.edges(me, rng.sample(wordy if size <= len(wordy) else everybody, size)))
        raw.load(place.client, raw.edges(own, rng.sample(everybody, plan.followed)))
        with site(place, plan.folder / "following.log") as port:
            its = _race(plan, [(port, [raw.viewer(uid) for uid in uids]) for uids in kinds])
            figures["following"] = _time(its)
            rebuilt = _rebuild(plan, place, port, raw.viewer(own), figures)
    base, name = f"following {few}", f"home when following {lots:,}"
    return table(_heads(base), [row(name, plan.clients[0], its)]), rebuilt


def _race(plan: Plan, kinds: Sequence[tuple[int, list[Viewer]]]) -> Race:
    """Homes of the second kind of viewers against those of the first; each kind's on a port."""
    targets = []
    for number, (port, viewers) in enumerate(kinds):
        _homes(viewers).check(port)  # which rebuilds them
        script = plan.folder / f"homes-{number}-{port}.lua"
        targets.append(target(port, [("/", one.header) for one in viewers], script))
    warm_up(targets)
    its = race(targets[0], {"home": targets[1]}, plan.clients[0], plan.rounds, plan.seconds)["home"]
    for port, viewers in kinds:
        _homes(viewers).check(port)
    return its


def _posts(plan: Plan, figures: dict[str, float]) -> str:
    viewers = [raw.viewer(uid) for uid in range(1, VIEWERS + 1)]
    with contextlib.ExitStack() as stack:
        kinds = []
        for count in (plan.few_posts, plan.many_posts):
            place = stack.enter_context(embedded_store(plan.folder / f"posts-{count}"))
            _fill(plan, place, count)
            kinds.append((stack.enter_context(site(place, plan.folder / f"posts-{count}.log")), viewers))
        its = _race(plan, kinds)
    figures["many posts"] = _time(its)
    name = f"home with {plan.many_posts:,} posts"
    return table(_heads(f"{plan.few_posts:,} posts"), [row(name, plan.clients[0], its)])


def _fill(plan: Plan, place: Place, count: int) -> None:
    rng = random.Random(2)
    uids = range(1, plan.users + 1)
    raw.load(place.client, raw.counters(plan.users, count))
    raw.load(place.client, raw.people(uids))
    for me in uids:
        raw.load(place.client, raw.edges(me, rng.sample([uid for uid in uids if uid != me], plan.follows)))
    raw.load(place.client, raw.posts(count, plan.users))
    place.settle()


def _rebuild(plan: Plan, place: Place, port: int, me: Viewer, figures: dict[str, float]) -> str:
    """One request at a time: a home that is there, one that is not, and so on."""
    check(port, "/", me, POSTS_A_PAGE)
    visitor = Visitor(port, me.cookies)
    took: dict[str, list[float]] = {"warm": [], "rebuilt": []}
    with contextlib.closing(visitor):
        with empty_view(place, plan.folder / "empty.log") as empty, contextlib.closing(Visitor(empty)) as other:
            nothing = statistics.median(other.get("/").seconds for _ in range(plan.rebuilds)) * 1e3
        for _ in range(plan.rebuilds):
            for name, its in took.items():
                if name == "rebuilt":
                    place.client.unlink(keys.home(me.uid))
                its.append(visitor.get("/").seconds * 1e3)
    if not place.client.llen(keys.home(me.uid)):
        raise RuntimeError("the home was not rebuilt")
    warm, rebuilt = (statistics.median(its) for its in took.values())
    figures["rebuild"] = rebuilt / warm
    rows = [[name, f"{statistics.median(its):.1f}", f"{min(its):.1f}", f"{max(its):.1f}"] for name, its in took.items()]
    return f"""\
Home of somebody who follows {plan.followed}, one request at a time, {plan.rebuilds} of each kind in turn: as it is, and
after `UNLINK posts:<uid>`. **{rebuilt / warm:.1f} times**, of the medians. (The empty view: {nothing:.1f} ms.)

{table(["home", "median, ms", "shortest", "longest"], rows)}"""
