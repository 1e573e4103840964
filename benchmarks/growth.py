"""`python -m benchmarks.growth`: how do the times of a home, a post and a search change when the site grows?"""

import contextlib
import random
import sys
from collections.abc import Sequence

import benchmarks.configured  # noqa: F401
from benchmarks import raw, run, search
from benchmarks.pages import Page, heads, row
from benchmarks.plan import Plan, Report, table
from benchmarks.stand import Place, embedded_store, site
from benchmarks.visitor import POSTS_A_PAGE, Viewer, people
from benchmarks.wrk import Race, Target, race, warm_up
from retwis_site.store import keys

VIEWERS = 20  # in each of two groups that are compared


def homes(plan: Plan) -> Report:
    """Homes of users who follow many, and homes among many posts."""
    figures: dict[str, float] = {}
    followed = _following(plan, figures)
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
Each follows {plan.follows}, and all wrote equally many posts."""
    return Report(text, figures)


def _following(plan: Plan, figures: dict[str, float]) -> str:
    rng = random.Random(1)
    with embedded_store(plan.folder / "following") as place:
        place.seed(plan.users, plan.posts, plan.follows)
        users = list(people(place.client))
        authors = [uid for uid in users if place.client.zcard(keys.updates(uid)) >= POSTS_A_PAGE]
        few, lots = plan.following
        first = plan.users + 1
        groups = [list(range(first + VIEWERS * number, first + VIEWERS * (number + 1))) for number in range(2)]
        raw.load(place.client, raw.people(range(first, first + 2 * VIEWERS)))
        raw.load(place.client, raw.counters(first + 2 * VIEWERS, plan.posts))
        for uids, size in zip(groups, (few, lots), strict=True):
            for me in uids:
                raw.load(place.client, raw.edges(me, rng.sample(authors if size <= len(authors) else users, size)))
        with site(place, plan.folder / "following.log") as port:
            result = _race(plan, [(port, [raw.viewer(uid) for uid in uids]) for uids in groups])
            figures["following"] = 1 / result.ratio
    return table(heads(f"following {few}"), [row(f"home when following {lots:,}", plan.clients[0], result)])


def _race(plan: Plan, groups: Sequence[tuple[int, list[Viewer]]]) -> Race:
    """Race the homes of the second group of viewers against those of the first. Each group has a port."""
    pages = [
        (port, Page(name, [("/", viewer) for viewer in viewers]))
        for name, (port, viewers) in zip(("few", "many"), groups, strict=True)
    ]
    for port, page in pages:
        page.check(port)  # this also rebuilds them
    base, subject = [page.target(port, plan.folder) for port, page in pages]
    warm_up([base, subject])
    result = race(base, {"": subject}, plan.clients[0], plan.rounds, plan.seconds)[""]
    for port, page in pages:
        page.check(port)
    return result


def _posts(plan: Plan, figures: dict[str, float]) -> str:
    viewers = [raw.viewer(uid) for uid in range(1, VIEWERS + 1)]
    with contextlib.ExitStack() as stack:
        groups = []
        for count in (plan.few_posts, plan.many_posts):
            place = stack.enter_context(embedded_store(plan.folder / f"posts-{count}"))
            raw.fill(place, plan.users, plan.follows, count, raw.demo_texts(count))
            groups.append((stack.enter_context(site(place, plan.folder / f"posts-{count}.log")), viewers))
        result = _race(plan, groups)
    figures["many posts"] = 1 / result.ratio
    rows = [row(f"home with {plan.many_posts:,} posts", plan.clients[0], result)]
    return table(heads(f"{plan.few_posts:,} posts"), rows)


# ---- a post with many likes


def liked(plan: Plan) -> Report:
    """The page of a post with very many likes, compared with that of a post without any."""
    with embedded_store(plan.folder) as place:
        raw.load(place.client, [*raw.counters(1, 2), *raw.people([1])])
        with site(place, plan.folder / "site.log") as port:
            liked, other = _two_posts(plan, place, port, raw.viewer(1))
            warm_up([liked, other])
            many = race(other, {"": liked}, plan.clients[0], plan.rounds, plan.seconds)[""]
    text = f"""\
The page of a post with {plan.followers:,} likes, compared with that of a post of the same length without any:

{table(heads("no likes"), [row(f"a post with {plan.followers:,} likes", plan.clients[0], many)])}"""
    return Report(text, {"liked post": 1 / many.ratio})


def _two_posts(plan: Plan, place: Place, port: int, me: Viewer) -> list[Target]:
    """The pages of two posts, of which the first has very many likes, for the same viewer."""
    likers = range(10_000_000, 10_000_000 + plan.followers)  # no users of the site
    raw.load(place.client, raw.posts(["A post that is measured."] * 2, authors=1))
    raw.load(place.client, (("ZADD", keys.liked_by(1), 1, uid) for uid in likers))
    place.client.hset(keys.post(1), "likes", plan.followers)
    pages = [Page(name, [(f"/@{me.name}/{pid}/", me)], posts=1) for pid, name in enumerate(("liked", "other"), 1)]
    for page in pages:
        page.check(port)
    return [page.target(port, plan.folder) for page in pages]


PARTS = {"homes": homes, "liked": liked, "search": search.report}

if __name__ == "__main__":
    sys.exit(run.main("growth", PARTS))
