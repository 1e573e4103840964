"""A living site: many users at random, posts and follows that arrive, logins, processes that have just started."""

import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from benchmarks.background import LEAD, Arrivals, Logins, Outcome, Pair, Steady, background, cost, follow
from benchmarks.growth.paper import table
from benchmarks.parts import first_visits, likes, worker_memory
from benchmarks.parts.pages import HEADS, heads, require_size, row
from benchmarks.plan import Plan, Report
from benchmarks.stand import Place, embedded_store, empty_view, site, wait_for
from benchmarks.visitor import Viewer, Visitor, WrongAnswer, people
from benchmarks.wrk import Race, Result, Target, race, random_target, target, warm_up
from retwis_site.store import keys

MARGIN = 60.0  # seconds that a run may take longer before there are no more users to follow


@dataclass(frozen=True)
class Community:
    """The users of the living site, and where it runs."""

    plan: Plan
    place: Place
    users: list[Viewer]

    def homes(self, port: int) -> Target:
        """The homes of all users, at random."""
        visits = [("/", user.header) for user in self.users]
        return random_target(port, visits, self.plan.folder / f"homes-{port}.lua")

    def settle(self) -> None:
        """Wait until all posts are delivered and the server does not rewrite its file."""
        wait_for(lambda: self.place.client.zcard(keys.outbox("")) == 0, "the deliveries", 300)
        self.place.settle()


@dataclass(frozen=True)
class DuringArrivals:
    """Homes at random, while posts and follows arrive.

    After each run all of its follows are undone, and homes are loaded for a while. So a run on the quiet site that
    follows does not pay for these changes."""

    community: Community
    port: int
    homes: Target
    rng: random.Random = field(default_factory=lambda: random.Random(3))
    outcomes: list[Outcome] = field(default_factory=list)

    def run(self, clients: int, seconds: float) -> Result:
        rate = 2 * self.community.plan.arrivals
        pairs = self._pairs(round(self.community.plan.arrivals * (LEAD + seconds + MARGIN)))
        authors = self.rng.sample(self.community.users, len(self.community.users))
        arrivals = Arrivals(authors, pairs)
        first = self._last_post() + 1
        with background(Steady(self.port, rate, arrivals.send)) as outcomes:
            time.sleep(LEAD)
            result = self.homes.run(clients, seconds)
        (outcome,) = outcomes
        outcome.require_right()
        outcome.require_pace(rate)
        followed = [pair for pair in map(arrivals.pair, outcome.requests) if pair]
        self._require(followed, len(outcome.requests) - len(followed), first)
        self._undo(followed)
        self.community.settle()
        self.homes.run(clients, LEAD)
        self.outcomes.append(outcome)
        return result

    def _last_post(self) -> int:
        return int(self.community.place.client.get(keys.next_post_id()) or 0)

    def _pairs(self, number: int) -> list[Pair]:
        """Pairs of users of whom the first does not follow the second."""
        users = self.community.users
        pairs = {(me.uid, them.uid): (me, them) for me, them in (self.rng.sample(users, 2) for _ in range(number))}
        known = self._followed(list(pairs.values()))
        return [pair for pair, follows in zip(pairs.values(), known, strict=True) if not follows]

    def _followed(self, pairs: Sequence[Pair]) -> list[bool]:
        """Whether the first user of each pair follows the second."""
        pipe = self.community.place.client.pipeline(transaction=False)
        for me, them in pairs:
            pipe.zscore(keys.following(me.uid), str(them.uid))
        return [score is not None for score in pipe.execute()]

    def _require(self, followed: Sequence[Pair], posts: int, first: int) -> None:
        """Raise WrongAnswer unless the store has all follows, and as many new posts."""
        if not all(self._followed(followed)):
            raise WrongAnswer("the store lacks a follow")
        if (written := self._last_post() + 1 - first) != posts:
            raise WrongAnswer(f"the store has {written} new posts instead of {posts}")

    def _undo(self, followed: Sequence[Pair]) -> None:
        visitor = Visitor(self.port)
        done = [follow(visitor, "unfollow", me, them, number) for number, (me, them) in enumerate(followed)]
        visitor.close()
        if not all(request.right for request in done) or any(self._followed(followed)):
            raise WrongAnswer("a follow was not undone")


@dataclass(frozen=True)
class DuringLogins:
    """Homes at random, while people log in."""

    community: Community
    port: int
    homes: Target
    outcomes: list[Outcome] = field(default_factory=list)

    def run(self, clients: int, seconds: float) -> Result:
        with background(Logins(self.port, self.community.users, self.community.plan.logins)) as outcomes:
            time.sleep(LEAD)
            result = self.homes.run(clients, seconds)
        (outcome,) = outcomes
        outcome.require_right()
        self.outcomes.append(outcome)
        return result


def report(plan: Plan) -> Report:
    figures: dict[str, float] = {}
    with embedded_store(plan.folder) as place:
        place.seed(plan.living_users, plan.living_posts, plan.follows)
        community = Community(plan, place, list(people(place.client).values()))
        with empty_view(place, plan.folder / "empty.log") as empty:
            base = target(empty, [("/", "")], plan.folder / "empty.lua")
            with site(place, plan.folder / "site.log") as port:
                built = first_visits.build(port, community.users)
                community.settle()
                at_random = _at_random(community, port, base, built, figures)
                homes = community.homes(port)
                liked = likes.report(plan, place.client, port, base, homes, community.users, figures)
                disturbed = _disturbed(community, port, figures)
                first = first_visits.report(plan, place.client, port, community.users, figures)
                built.check(port, plan.viewers)
            started = _just_started(community, base, built, figures)
        memory = worker_memory.report(plan, place, community.users, figures)
    text = f"""\
Another store: {plan.living_users:,} users, {plan.living_posts:,} posts and {plan.follows} follows each. Every home is
loaded and checked before the measurement, so it is built; {built.full:,} homes show a full page. {plan.viewers} of them
are checked again afterwards. `wrk` has {plan.clients[0]} clients and draws each visit at random from the homes of all
users; each run draws others. A subject and its baseline run in turn, {plan.rounds} rounds.

{at_random}
{liked}
{disturbed}
{started}
{first}
{memory}"""
    return Report(text, figures)


def _at_random(
    community: Community, port: int, base: Target, built: first_visits.Homes, figures: dict[str, float]
) -> str:
    plan = community.plan
    homes = community.homes(port)
    warm_up([base, homes])
    result = race(base, {"home": homes}, plan.clients[0], plan.rounds, plan.seconds)["home"]
    require_size("home at random", result, built.size)
    figures["home at random"] = result.ratio
    figures["home at random, tail"] = result.tail
    name = f"home, {plan.living_users:,} viewers at random"
    return f"Runs of {plan.seconds} s:\n\n" + table(HEADS, [row(name, plan.clients[0], result)])


def _disturbed(community: Community, port: int, figures: dict[str, float]) -> str:
    """Home at random while others act, compared with home at random on the quiet site. Fills `figures`."""
    plan = community.plan
    homes = community.homes(port)
    arrivals = DuringArrivals(community, port, homes)
    logins = DuringLogins(community, port, homes)
    warm_up([homes])
    arriving = race(homes, {"": arrivals}, plan.clients[0], plan.rounds, plan.busy_seconds)[""]
    signing_in = race(homes, {"": logins}, plan.clients[0], plan.rounds, plan.busy_seconds)[""]
    figures["home with arrivals"] = arriving.ratio
    figures["home with logins, p99"] = signing_in.p99_growth
    quiet_p99 = statistics.median(base.p99 for base, _ in signing_in.pairs)
    rows = [
        row(f"home while {plan.arrivals} posts and {plan.arrivals} follows a second arrive", plan.clients[0], arriving),
        row(f"home while {plan.logins} people log in at once", plan.clients[0], signing_in),
    ]
    return f"""\
The same homes while other people use the site, compared with the quiet site. Runs of {plan.busy_seconds} s; the other
people start {LEAD:.0f} s earlier.

{table(heads("quiet site"), rows)}
- Arrivals: forms with a CSRF token, by random users, at a steady pace. The script fails when a response is wrong, when
  a post or a follow is missing in the store, or when the pace is not kept. After each run, unmeasured, it undoes the
  follows, waits for the deliveries and loads homes for {LEAD:.0f} s.
  {cost(arrivals.outcomes)}
- Logins: {plan.logins} people each send `POST /login/` with the right password, again and again; each time another user
  logs in. The p99 of home is **{signing_in.p99_growth:.1f} times** that of the quiet site, {quiet_p99:.1f} ms.
  {cost(logins.outcomes)}
"""


def _just_started(community: Community, base: Target, built: first_visits.Homes, figures: dict[str, float]) -> str:
    """The first homes of a site that has just started, for several starts. Fills `figures`."""
    plan = community.plan
    clients = plan.clients[0]
    pairs = []
    runs = count(1)  # of all starts, so that each start draws other visits
    for number in range(plan.rounds):
        with site(community.place, plan.folder / f"started-{number}.log") as port:
            homes = replace(community.homes(port), runs=runs)
            pairs.append((base.first(clients, plan.first_homes), homes.first(clients, plan.first_homes)))
    result = Race(pairs)
    require_size("home after a start", result, built.size)
    figures["home after a start"] = result.ratio
    name = f"the first {plan.first_homes:,} homes of a start"
    return f"""\
A process that has just started: the site starts {plan.rounds} times. Each time `wrk` sends {plan.first_homes:,}
requests to the empty view. Then it sends the first {plan.first_homes:,} requests to the site (after one or more to
`/livez`), for homes at random.

{table(HEADS, [row(name, clients, result)])}"""
