"""The first visit of a user, whose home is built then, and the building of all homes before a measurement."""

import contextlib
import statistics
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import redis

from benchmarks.growth.paper import table
from benchmarks.plan import Plan
from benchmarks.visitor import POSTS_A_PAGE, Viewer, Visitor, WrongAnswer, check
from retwis_site.store import keys

CONNECTIONS = 4  # that build homes


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


def build(port: int, viewers: Sequence[Viewer]) -> Homes:
    """Load the home of every user once. Raises WrongAnswer unless each is a home of its user and most are full."""

    def load(part: int) -> list[tuple[Viewer, int, int]]:
        with contextlib.closing(Visitor(port)) as visitor:
            return [(viewer, *_load(visitor, viewer)) for viewer in viewers[part::CONNECTIONS]]

    with ThreadPoolExecutor(CONNECTIONS) as threads:
        loaded = [home for part in threads.map(load, range(CONNECTIONS)) for home in part]
    homes = Homes({viewer: posts for viewer, posts, _ in loaded}, statistics.mean(size for _, _, size in loaded))
    if homes.full < len(viewers) / 2:
        raise WrongAnswer(f"only {homes.full} of {len(viewers)} homes are full: seed more posts")
    return homes


def _load(visitor: Visitor, viewer: Viewer) -> tuple[int, int]:
    """The number of posts and the bytes of a home."""
    page = _home(visitor, viewer)[0]
    return page.count("<article"), len(page.encode())


def _home(visitor: Visitor, viewer: Viewer) -> tuple[str, float]:
    """A home, and the seconds that it took."""
    visitor.cookies = viewer.cookies
    answer = visitor.get("/")
    if answer.status != 200 or f'href="/@{viewer.name}/"' not in answer.page or "/logout/" not in answer.page:
        raise WrongAnswer(f"/: {answer.status}, not the home of {viewer.name}")
    return answer.page, answer.seconds


def report(plan: Plan, client: redis.Redis, port: int, viewers: Sequence[Viewer], figures: dict[str, float]) -> str:
    """A text on homes that are built, compared with the same homes before. Fills `figures`."""
    follows = _follows(client, viewers)
    chosen = sorted(viewers, key=lambda viewer: abs(follows[viewer] - plan.follows))[: plan.first_visitors]
    few, most = min(follows[viewer] for viewer in chosen), max(follows[viewer] for viewer in chosen)
    times: dict[str, list[float]] = {"built": [], "first visit": []}
    with contextlib.closing(Visitor(port)) as visitor:
        before = [_home(visitor, viewer)[0].count("<article") for viewer in chosen]
        for _ in range(plan.rounds):
            for name, measured in times.items():
                if name == "first visit":
                    _unlink(client, chosen)
                measured += [_home(visitor, viewer)[1] * 1e3 for viewer in chosen]
            if not all(_lengths(client, chosen)):
                raise RuntimeError("a home was not built")
        if before != [_home(visitor, viewer)[0].count("<article") for viewer in chosen]:
            raise WrongAnswer("a home that was built again has another number of posts")
    built, first = (statistics.median(measured) for measured in times.values())
    figures["first visit"] = first / built
    rows = [
        [name, f"{statistics.median(measured):.2f}", f"{min(measured):.2f}", f"{max(measured):.2f}"]
        for name, measured in times.items()
    ]
    who = f"{few}" if few == most else f"{few} to {most}"
    return f"""\
The first visit of {len(chosen)} users who follow {who} people, one request at a time. In each of
{plan.rounds} rounds every home is loaded once; then `UNLINK posts:<uid>` drops all of these homes; then every home is
loaded once more, which builds it. There is one connection, so its web worker has shown each of these homes before in
both cases. The first visit takes **{first / built:.1f} times** as long (ratio of the medians).

{table(["home", "median, ms", "shortest", "longest"], rows)}"""


def _follows(client: redis.Redis, viewers: Sequence[Viewer]) -> dict[Viewer, int]:
    pipe = client.pipeline(transaction=False)
    for viewer in viewers:
        pipe.zcard(keys.following(viewer.uid))
    return dict(zip(viewers, pipe.execute(), strict=True))


def _unlink(client: redis.Redis, viewers: Sequence[Viewer]) -> None:
    pipe = client.pipeline(transaction=False)
    for viewer in viewers:
        pipe.unlink(keys.home(viewer.uid))
    pipe.execute()


def _lengths(client: redis.Redis, viewers: Sequence[Viewer]) -> list[int]:
    pipe = client.pipeline(transaction=False)
    for viewer in viewers:
        pipe.llen(keys.home(viewer.uid))
    return list(pipe.execute())
