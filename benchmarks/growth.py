"""`python -m benchmarks.growth`: how do the times of a home, a post and a search change when the site grows?"""

import contextlib
import random
import sys

import benchmarks.configured  # noqa: F401
from benchmarks import raw, run, search
from benchmarks.pages import Page, compare, race_table
from benchmarks.plan import Plan, Report
from benchmarks.stand import embedded_store, site
from benchmarks.wrk import CLIENTS
from retwis_site.store import keys

VIEWERS = 20  # in each of two groups that are compared


def homes(plan: Plan) -> Report:
    """Homes of users who follow many, and homes among many posts."""
    opening = f"""\
`wrk` with {CLIENTS} clients, {plan.rounds} rounds of {plan.seconds} s. Both groups run in turn, with {VIEWERS}
viewers each; all viewers have a home. The left rate is the baseline. (The goals are about times, so they are the
inverse of these ratios.)"""
    return Report(opening) + _following(plan) + _posts(plan)


def _homes(name: str, port: int, first: int) -> Page:
    return Page(name, port, [raw.viewer(uid).visit("/") for uid in range(first, first + VIEWERS)])


def _following(plan: Plan) -> Report:
    """No post is a repost: the newest of everyone's would be reposts more often than those of ten people, and a repost
    takes longer."""
    rng = random.Random(1)
    with embedded_store(plan.folder / "following") as place:
        raw.fill(place, plan.users, plan.follows, plan.posts, raw.demo_texts(plan.posts))
        few, lots = plan.following
        first = plan.users + 1
        second = first + VIEWERS
        raw.load(place.client, raw.people(range(first, second + VIEWERS)))
        raw.load(place.client, raw.counters(second + VIEWERS, plan.posts))
        for start, size in ((first, few), (second, lots)):
            for me in range(start, start + VIEWERS):
                raw.load(place.client, raw.edges(me, rng.sample(range(1, plan.users + 1), size)))
        with site(place) as port:
            base = _homes(f"following {few}", port, first)
            (home,) = compare(plan, base, [_homes(f"home when following {lots:,}", port, second)])
    text = f"""\
{race_table(base.name, [home])}
Home takes **{1 / home.ratio:.2f} times** as long when following {lots:,} as when following {few}."""
    return Report(text, {"following": 1 / home.ratio})


def _posts(plan: Plan) -> Report:
    names = {plan.few_posts: f"{plan.few_posts:,} posts", plan.many_posts: f"home with {plan.many_posts:,} posts"}
    with contextlib.ExitStack() as stack:
        groups = []
        for count, name in names.items():
            place = stack.enter_context(embedded_store(plan.folder / f"posts-{count}"))
            raw.fill(place, plan.users, plan.follows, count, raw.demo_texts(count))
            groups.append(_homes(name, stack.enter_context(site(place)), 1))
        (home,) = compare(plan, groups[0], groups[1:])
    text = f"""\
{race_table(groups[0].name, [home])}
With {plan.many_posts:,} posts home takes **{1 / home.ratio:.2f} times** as long as with
{plan.few_posts:,}. Each number of posts has its own store and its own site. Both have {plan.users:,} users.
Each follows {plan.follows}, and all wrote equally many posts."""
    return Report(text, {"many posts": 1 / home.ratio})


def liked(plan: Plan) -> Report:
    """The page of a post with very many likes, compared with that of a post without any, for the same viewer."""
    me, likers = raw.viewer(1), range(10_000_000, 10_000_000 + plan.followers)  # no users of the site
    names = [f"a post with {plan.followers:,} likes", "no likes"]
    with embedded_store(plan.folder) as place:
        raw.load(place.client, [*raw.counters(1, 2), *raw.people([me.uid])])
        raw.load(place.client, raw.posts(["A post that is measured."] * 2, authors=1))
        raw.load(place.client, (("ZADD", keys.liked_by(1), 1, uid) for uid in likers))
        place.client.hset(keys.post(1), "likes", plan.followers)
        with site(place) as port:
            pages = [Page(name, port, [me.visit(f"{me.profile}{pid}/")], 1) for pid, name in enumerate(names, 1)]
            (many,) = compare(plan, pages[1], pages[:1])
    text = f"""\
The page of a post with {plan.followers:,} likes, compared with that of a post of the same length without any:

{race_table(pages[1].name, [many])}"""
    return Report(text, {"liked post": 1 / many.ratio})


PARTS = {"homes": homes, "liked": liked, "search": search.report}

if __name__ == "__main__":
    sys.exit(run.main("growth", PARTS))
