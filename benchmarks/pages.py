"""Pages, each with the visits of several users and what it must show; and races between them, with their tables."""

import contextlib
import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import redis

from benchmarks.plan import Plan, table
from benchmarks.visitor import Answer, Viewer, Visitor, WrongAnswer, app_visit, people
from benchmarks.wrk import CLIENTS, IN_TURN, Race, Target, Visit, race, target
from retwis_site.store import keys
from retwis_site.store.chunks import batches

POSTS_A_PAGE = 20
CONNECTIONS = 4  # that load pages at once
CHECKED = 1000  # visits to a page that are checked, about; more would warm the workers up for visits at random


@dataclass(frozen=True)
class Page:
    """A page of a site, the visits of several users to it, and what it must show."""

    name: str
    port: int
    visits: Sequence[Visit]
    posts: int = POSTS_A_PAGE
    order: Mapping[str, str] = field(default_factory=lambda: IN_TURN)

    def target(self, folder: Path) -> Target:
        return target(self.port, self.visits, folder / f"{self.port} {self.name}.lua", self.order)

    def check(self) -> float:
        """The mean size in bytes. Raises WrongAnswer when a visit gets another page; of many visits, some are made."""
        visits = self.visits[:: max(1, len(self.visits) // CHECKED)]
        answers = load(self.port, visits)
        for visit, answer in zip(visits, answers, strict=True):
            if answer.posts != self.posts:
                raise WrongAnswer(f"{visit.path}: {answer.posts} posts instead of {self.posts}")
        return statistics.mean(len(answer.body) for answer in answers)


def load(port: int, visits: Sequence[Visit]) -> list[Answer]:
    """The answers to all visits. Raises WrongAnswer when one is not for the user who asked."""

    def read(some: Iterable[Visit]) -> list[Answer]:
        with contextlib.closing(Visitor(port)) as visitor:
            return [visitor.see(visit) for visit in some]

    with ThreadPoolExecutor(CONNECTIONS) as threads:
        return list(chain.from_iterable(threads.map(read, batches(visits, len(visits) // CONNECTIONS + 1))))


def full(port: int, visits: Mapping[Viewer, Visit], least: int) -> list[Viewer]:
    """The viewers whose visit shows a whole page of posts: a profile leaves replies to others out.

    A home that was not built is built. Raises RuntimeError when there are fewer than `least`."""
    answers = load(port, list(visits.values()))
    found = [viewer for viewer, answer in zip(visits, answers, strict=True) if answer.posts == POSTS_A_PAGE]
    if len(found) < least:
        raise RuntimeError(f"only {len(found)} pages are full and not {least}: seed more posts")
    return found


def full_homes(port: int, viewers: Iterable[Viewer], least: int) -> list[Viewer]:
    return full(port, {viewer: viewer.visit("/") for viewer in viewers}, least)


def full_profiles(client: redis.Redis, port: int, users: Iterable[Viewer], least: int) -> list[Viewer]:
    prolific = [user for user in users if client.zcard(keys.updates(user.uid)) >= POSTS_A_PAGE]
    return full(port, {user: user.visit(user.profile) for user in prolific}, least)


def visits_to_others(readers: Iterable[Viewer], authors: Sequence[Viewer]) -> list[Visit]:
    """A visit of each reader to the profile of an author."""
    rng = random.Random(1)
    return [me.visit(rng.choice([author for author in authors if author is not me]).profile) for me in readers]


def pages_of(client: redis.Redis, port: int, viewers: int) -> list[Page]:
    """The pages to measure, for so many users whose pages are full. Builds the homes of all users."""
    users = people(client)
    users = random.Random(1).sample(users, len(users))
    readers = full_homes(port, users, viewers)[:viewers]
    authors = full_profiles(client, port, users, viewers // 2)[:viewers]
    newest = tuple(str(name) for name in client.zrevrange(keys.users_by_time(), 0, 9))
    return [
        Page("home", port, [me.visit("/") for me in readers]),
        Page("profile", port, visits_to_others(readers, authors)),
        Page("own profile", port, [me.visit(me.profile) for me in authors]),
        Page("global timeline", port, [Visit("/timeline/", names=newest)]),
        Page("home for an app", port, [app_visit(client, me, "/api/v1/timelines/home") for me in readers]),
    ]


# ---- races


def compare(plan: Plan, base: Page, pages: Sequence[Page], clients: int = CLIENTS) -> list[Race]:
    """Race pages with a baseline. All are checked before and after; so homes are built before they are measured."""
    base.check()
    sizes = [page.check() for page in pages]
    races = race(plan, base.target(plan.folder), {page.name: page.target(plan.folder) for page in pages}, clients)
    for measured, size in zip(races, sizes, strict=True):
        require_size(measured, size)
    for page in (base, *pages):
        page.check()
    return races


def require_size(measured: Race, size: float) -> None:
    """Raise RuntimeError when the mean response is much smaller or larger than the page of `size` bytes."""
    if not measured.failures and not 0.9 < measured.size / size < 1.2:
        raise RuntimeError(f"{measured.name}: responses of {measured.size:.0f} bytes, but the page has {size:.0f}")


def race_table(base: str, races: Iterable[Race]) -> str:
    """A row for each race with the baseline of this name."""
    heads = ["page", "clients", f"{base}, per second", "page, per second", "ratio", "lowest to highest"]
    return table([*heads, "p50, ms", "p99, ms", "p99 / p50", "bytes", "failures"], map(_row, races))


def _row(race: Race) -> list[str]:
    low, high = race.spread
    rates = [f"{race.base_rate:,.0f}", f"{race.rate:,.0f}", f"**{race.ratio:.3f}**", f"{low:.3f} to {high:.3f}"]
    times = [f"{race.p50:.1f}", f"{race.p99:.1f}", f"{race.tail:.1f}"]
    return [race.name, str(race.clients), *rates, *times, f"{race.size:,.0f}", str(race.failures)]
