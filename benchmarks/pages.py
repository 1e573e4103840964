"""Pages, each with the visits of several users and what it must show; and the rows of the tables about them."""

import contextlib
import random
import re
import statistics
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import redis

from benchmarks.visitor import (
    POSTS_A_PAGE,
    Viewer,
    Visitor,
    WrongAnswer,
    bearer_of,
    check,
    check_timeline,
    people,
)
from benchmarks.wrk import Race, Target, target
from retwis_site.store import keys

CONNECTIONS = 4  # that build homes


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


@dataclass(frozen=True)
class Timeline:
    """A timeline for apps, and the visits of several users to it, each with the header of their app."""

    name: str
    visits: Sequence[tuple[str, str]]

    def target(self, port: int, folder: Path) -> Target:
        return target(port, self.visits, folder / f"app-{port}.lua")

    def check(self, port: int) -> float:
        """The mean size in bytes. Raises WrongAnswer when one visit gets another answer."""
        return statistics.mean(check_timeline(port, path, bearer, POSTS_A_PAGE) for path, bearer in self.visits)


def pages_of(client: redis.Redis, port: int, viewers: int) -> list[Page | Timeline]:
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
        Page("global timeline", [("/timeline/", None)], POSTS_A_PAGE, newest),
        Timeline("home for an app", [("/api/v1/timelines/home", bearer_of(client, me)) for me in readers]),
    ]


def _is_full(port: int, path: str, viewer: Viewer) -> bool:
    """Whether the page has POSTS_A_PAGE posts: a profile leaves replies to others out."""
    with contextlib.closing(Visitor(port, viewer.cookies)) as visitor:
        return visitor.get(path).page.count("<article") == POSTS_A_PAGE


@dataclass(frozen=True)
class Homes:
    """The homes of all users, as they were when they were built."""

    posts: dict[Viewer, int]  # on the page
    size: float  # mean bytes of a page

    @property
    def full(self) -> int:
        """The number of homes with a full page."""
        return sum(posts == POSTS_A_PAGE for posts in self.posts.values())

    def check(self, port: int, number: int) -> None:
        """Load `number` full homes, evenly spread over all users. Raises WrongAnswer when one is not right."""
        full = [viewer for viewer, posts in self.posts.items() if posts == POSTS_A_PAGE]
        for viewer in full[:: max(1, len(full) // number)]:
            check(port, "/", viewer, POSTS_A_PAGE)


def build_homes(port: int, viewers: Sequence[Viewer]) -> Homes:
    """Load the home of every user once. Raises WrongAnswer unless each is a home of its user and most are full."""

    def load(part: int) -> list[tuple[Viewer, int, int]]:
        with contextlib.closing(Visitor(port)) as visitor:
            return [(viewer, *_measured(load_home(visitor, viewer)[0])) for viewer in viewers[part::CONNECTIONS]]

    with ThreadPoolExecutor(CONNECTIONS) as threads:
        loaded = [home for part in threads.map(load, range(CONNECTIONS)) for home in part]
    homes = Homes({viewer: posts for viewer, posts, _ in loaded}, statistics.mean(size for _, _, size in loaded))
    if homes.full < len(viewers) / 2:
        raise WrongAnswer(f"only {homes.full} of {len(viewers)} homes are full: seed more posts")
    return homes


def _measured(page: str) -> tuple[int, int]:
    """The number of posts and the bytes of a page."""
    return page.count("<article"), len(page.encode())


def load_home(visitor: Visitor, viewer: Viewer) -> tuple[str, float]:
    """A home, and the seconds that it took."""
    visitor.cookies = viewer.cookies
    answer = visitor.get("/")
    if answer.status != 200 or f'href="/@{viewer.name}/"' not in answer.page or "/logout/" not in answer.page:
        raise WrongAnswer(f"/: {answer.status}, not the home of {viewer.name}")
    return answer.page, answer.seconds


# ---- tables


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
