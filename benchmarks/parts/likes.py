"""Homes while posts get likes, and the page of a post with very many likes."""

import contextlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import redis

from benchmarks.background import LEAD, Outcome, Request, Steady, background, cost, like
from benchmarks.growth.paper import table
from benchmarks.parts import raw
from benchmarks.parts.pages import HEADS, Page, heads, row
from benchmarks.plan import Plan
from benchmarks.visitor import Viewer, Visitor, check
from benchmarks.wrk import Result, Target, race, warm_up
from retwis_site.store import keys
from timeline.timelines.everyone import EVERYONE_POSTS

NEWEST = 500  # posts that get likes


@dataclass(frozen=True)
class DuringLikes:
    """Homes at random, while random users like random posts among the newest."""

    port: int
    homes: Target
    users: Sequence[Viewer]
    posts: Sequence[str]  # addresses
    rate: int
    rng: random.Random = field(default_factory=lambda: random.Random(4))
    outcomes: list[Outcome] = field(default_factory=list)

    def run(self, clients: int, seconds: float) -> Result:
        seed = self.rng.random()

        def send(visitor: Visitor, number: int) -> Request:
            rng = random.Random(f"{seed}/{number}")
            return like(visitor, rng.choice(self.users), rng.choice(self.posts), number)

        with background(Steady(self.port, self.rate, send)) as outcomes:
            self.homes.run(clients, LEAD)  # while the empty view was measured, the site had time to forget its posts
            result = self.homes.run(clients, seconds)
        (outcome,) = outcomes
        outcome.require_right()
        outcome.require_pace(self.rate)
        self.outcomes.append(outcome)
        return result


def report(
    plan: Plan,
    client: redis.Redis,
    port: int,
    base: Target,
    homes: Target,
    users: Sequence[Viewer],
    figures: dict[str, float],
) -> str:
    """Measure both. Fills `figures`."""
    clients = plan.clients[0]
    check(port, "/timeline/", None, EVERYONE_POSTS)  # now the list of everyone's posts exists
    likes = DuringLikes(port, homes, users, _newest(client, users), plan.arrivals)
    warm_up([homes])
    liking = race(base, {"": likes}, clients, plan.rounds, plan.busy_seconds)[""]
    figures["home with likes"] = liking.ratio
    liked, other = _two_posts(plan, client, port, users[0])
    warm_up([liked, other])
    many = race(other, {"": liked}, clients, plan.rounds, plan.seconds)[""]
    figures["liked post"] = 1 / many.ratio
    return f"""\
The same homes while {plan.arrivals} likes a second arrive: forms with a CSRF token, of random users, for random posts
among the newest {len(likes.posts)}. Likes and homes begin {LEAD:.0f} s before the measurement. The script fails when a
response is wrong or when the pace is not kept.
{cost(likes.outcomes)}

{table(HEADS, [row(f"home while {plan.arrivals} likes a second arrive", clients, liking)])}
The page of a post with {plan.followers:,} likes, compared with that of a post of the same length without any:

{table(heads("no likes"), [row(f"a post with {plan.followers:,} likes", clients, many)])}"""


def _newest(client: redis.Redis, users: Sequence[Viewer]) -> list[str]:
    """The addresses of the newest posts that are no reposts."""
    names = {str(user.uid): user.name for user in users}
    pids = [pid for pid in map(str, client.lrange(keys.timeline(0), 0, NEWEST - 1)) if pid.isdecimal()]  # no marks
    pipe = client.pipeline(transaction=False)
    for pid in pids:
        pipe.hmget(keys.post(int(pid)), ["user_id", "repost_of"])
    found = zip(pids, pipe.execute(), strict=True)
    return [f"/@{names[uid]}/{pid}/" for pid, (uid, repost_of) in found if uid in names and repost_of is None]


def _two_posts(plan: Plan, client: redis.Redis, port: int, me: Viewer) -> tuple[Target, Target]:
    """The pages of two new posts, of which the first has very many likes, for the same viewer."""
    with contextlib.closing(Visitor(port, me.cookies)) as visitor:
        for number in range(2):
            body = f"A post that is measured, number {number}."
            visitor.post("/post/", csrfmiddlewaretoken=me.csrf, token=f"measured-{number}", body=body)
    first, second = (int(str(pid)) for pid in client.zrange(keys.updates(me.uid), -2, -1))
    first_liker = 10_000_000  # no user of the site
    likers = range(first_liker, first_liker + plan.followers)
    raw.load(client, (("ZADD", keys.liked_by(first), 1, uid) for uid in likers))
    client.hset(keys.post(first), "likes", plan.followers)
    liked, other = (Page("post", [(f"/@{me.name}/{pid}/", me)], posts=1) for pid in (first, second))
    for page in (liked, other):
        page.check(port)
    folder = plan.folder
    return liked.target(port, _made(folder / "liked")), other.target(port, _made(folder / "other"))


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder
