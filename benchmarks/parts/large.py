"""Home of a user who follows very many users, home in a store with very many posts, and the rebuild of a home."""

import contextlib
import random
import statistics
from collections.abc import Iterable, Sequence

from benchmarks.growth.paper import table
from benchmarks.parts import raw
from benchmarks.parts.pages import Page, heads, row
from benchmarks.plan import Plan, Report
from benchmarks.stand import Place, embedded_store, empty_view, site
from benchmarks.visitor import POSTS_A_PAGE, Viewer, Visitor, check, people
from benchmarks.wrk import Race, race, target, warm_up
from retwis_site.store import keys

VIEWERS = 20  # in each of two groups that are compared


def report(plan: Plan) -> Report:
    figures: dict[str, float] = {}
    followed, rebuilt = _following(plan, figures)
    many = _posts(plan, figures)
    few, lots = plan.following
    text = f"""\
`wrk` with {plan.clients[0]} clients, {plan.rounds} rounds of {plan.seconds} s. Both groups run in turn, with {VIEWERS}
viewers each; all viewers have a home. The left rate is the baseline. (The goals are about times, so they are the
inverse of these ratios.)

{followed}
Home takes **{figures["following"]:.2f} times** as long when following {lots:,} as when following {few}.

{many}
With {plan.many_posts:,} posts home takes **{figures["many posts"]:.2f} times** as long as with
{plan.few_posts:,}. Each number of posts has its own store and its own site. Both have {plan.users:,} users.
Each follows {plan.follows}, and all wrote equally many posts.

{rebuilt}"""
    return Report(text, figures)


def _homes(viewers: Sequence[Viewer]) -> Page:
    return Page("home", [("/", viewer) for viewer in viewers])


def _time_ratio(result: Race) -> float:
    return 1 / result.ratio


def _following(plan: Plan, figures: dict[str, float]) -> tuple[str, str]:
    rng = random.Random(1)
    with embedded_store(plan.folder / "following") as place:
        place.seed(plan.users, plan.posts, plan.follows)
        users = list(people(place.client))
        authors = [uid for uid in users if place.client.zcard(keys.updates(uid)) >= POSTS_A_PAGE]
        few, lots = plan.following
        first = plan.users + 1
        groups = [list(range(first + VIEWERS * number, first + VIEWERS * (number + 1))) for number in range(2)]
        own = first + VIEWERS * 2
        raw.load(place.client, raw.people(range(first, own + 1)))
        raw.load(place.client, raw.counters(own, plan.posts))
        for uids, size in zip(groups, (few, lots), strict=True):
            for me in uids:
                raw.load(place.client, raw.edges(me, rng.sample(authors if size <= len(authors) else users, size)))
        raw.load(place.client, raw.edges(own, rng.sample(users, plan.followed)))
        with site(place, plan.folder / "following.log") as port:
            result = _race(plan, [(port, [raw.viewer(uid) for uid in uids]) for uids in groups])
            figures["following"] = _time_ratio(result)
            rebuilt = _rebuild(plan, place, port, raw.viewer(own), figures)
    base, name = f"following {few}", f"home when following {lots:,}"
    return table(heads(base), [row(name, plan.clients[0], result)]), rebuilt


def _race(plan: Plan, groups: Sequence[tuple[int, list[Viewer]]]) -> Race:
    """Race the homes of the second group of viewers against those of the first. Each group has a port."""
    targets = []
    for number, (port, viewers) in enumerate(groups):
        _homes(viewers).check(port)  # this also rebuilds them
        script = plan.folder / f"homes-{number}-{port}.lua"
        targets.append(target(port, [("/", viewer.header) for viewer in viewers], script))
    warm_up(targets)
    result = race(targets[0], {"home": targets[1]}, plan.clients[0], plan.rounds, plan.seconds)["home"]
    for port, viewers in groups:
        _homes(viewers).check(port)
    return result


def _posts(plan: Plan, figures: dict[str, float]) -> str:
    viewers = [raw.viewer(uid) for uid in range(1, VIEWERS + 1)]
    with contextlib.ExitStack() as stack:
        groups = []
        for count in (plan.few_posts, plan.many_posts):
            place = stack.enter_context(embedded_store(plan.folder / f"posts-{count}"))
            fill(plan, place, count, raw.demo_texts(count))
            groups.append((stack.enter_context(site(place, plan.folder / f"posts-{count}.log")), viewers))
        result = _race(plan, groups)
    figures["many posts"] = _time_ratio(result)
    name = f"home with {plan.many_posts:,} posts"
    return table(heads(f"{plan.few_posts:,} posts"), [row(name, plan.clients[0], result)])


def fill(plan: Plan, place: Place, count: int, bodies: Iterable[str]) -> None:
    """Load users who follow each other, and `count` posts with these texts."""
    rng = random.Random(2)
    uids = range(1, plan.users + 1)
    raw.load(place.client, raw.counters(plan.users, count))
    raw.load(place.client, raw.people(uids))
    for me in uids:
        raw.load(place.client, raw.edges(me, rng.sample([uid for uid in uids if uid != me], plan.follows)))
    raw.load(place.client, raw.posts(bodies, plan.users))
    place.settle()


def _rebuild(plan: Plan, place: Place, port: int, me: Viewer, figures: dict[str, float]) -> str:
    """A text on warm and rebuilt homes. They are requested in turn, one request at a time. Fills `figures`."""
    check(port, "/", me, POSTS_A_PAGE)
    visitor = Visitor(port, me.cookies)
    times: dict[str, list[float]] = {"warm": [], "rebuilt": []}
    with contextlib.closing(visitor):
        with empty_view(place, plan.folder / "empty.log") as empty, contextlib.closing(Visitor(empty)) as baseline:
            empty_time = statistics.median(baseline.get("/").seconds for _ in range(plan.rebuilds)) * 1e3
        for _ in range(plan.rebuilds):
            for name, measured in times.items():
                if name == "rebuilt":
                    place.client.unlink(keys.home(me.uid))
                measured.append(visitor.get("/").seconds * 1e3)
    if not place.client.llen(keys.home(me.uid)):
        raise RuntimeError("the home was not rebuilt")
    warm, rebuilt = (statistics.median(measured) for measured in times.values())
    figures["rebuild"] = rebuilt / warm
    rows = [
        [name, f"{statistics.median(measured):.1f}", f"{min(measured):.1f}", f"{max(measured):.1f}"]
        for name, measured in times.items()
    ]
    return f"""\
Home of a user who follows {plan.followed}, one request at a time. Warm requests and requests after
`UNLINK posts:<uid>` run in turn, {plan.rebuilds} of each. The rebuilt home takes **{rebuilt / warm:.1f} times** as long
(ratio of the medians). The empty view takes {empty_time:.1f} ms.

{table(["home", "median, ms", "shortest", "longest"], rows)}"""
