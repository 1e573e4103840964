"""The search in a million posts: the memory of its index, and pages of results."""

import contextlib
import re
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from benchmarks import raw
from benchmarks.pages import Page, heads, require_size, row
from benchmarks.plan import Plan, Report, table
from benchmarks.stand import Place, embedded_store, site
from benchmarks.texts import COMMON, COPIES, RARE, Vocabulary, rare_posts, texts, vocabulary
from benchmarks.visitor import POSTS_A_PAGE, Viewer, Visitor, WrongAnswer
from benchmarks.wrk import race, warm_up
from retwis_site.store import kinds

VIEWERS = 20
NEWEST = 16_384  # posts that have a full page for each two common words
INDEX = ("postings:*", "posting_bits:*")
FIRST_VIEWER = 101  # viewers whose own posts have no rare word: one's own posts are read anew for each page


@dataclass(frozen=True)
class Query:
    """What is searched, and the posts of its first page, the newest first."""

    words: tuple[str, ...]
    pids: Sequence[int]

    @property
    def path(self) -> str:
        return f"/search/?q={'+'.join(self.words)}"

    def check(self, port: int, viewer: Viewer) -> None:
        """Raise WrongAnswer unless the page has exactly these posts."""
        with contextlib.closing(Visitor(port, viewer.cookies)) as visitor:
            answer = visitor.get(self.path)
        found = dict.fromkeys(int(pid) for pid in re.findall(r'href="/@user_\d+/(\d+)/', answer.page))
        if list(found) != list(self.pids):
            raise WrongAnswer(f"{self.path}: {answer.status}, posts {list(found)} instead of {self.pids}")


def report(plan: Plan) -> Report:
    figures: dict[str, float] = {}
    known = vocabulary(plan.vocabulary)
    newest: deque[tuple[int, str]] = deque(maxlen=NEWEST)
    with embedded_store(plan.folder / "posts") as place:
        raw.fill(place, plan.users, plan.follows, plan.many_posts, _noted(texts(known, plan.many_posts), newest))
        common = _common(known, newest)
        index = _index(plan, place, figures)
        pages = _pages(plan, place, common, _rare(known, plan.many_posts), figures)
    return Report(f"{index}\n{pages}", figures)


def _noted(bodies: Iterable[str], newest: deque[tuple[int, str]]) -> Iterator[str]:
    for post in enumerate(bodies, 1):
        newest.append(post)
        yield post[1]


def _common(known: Vocabulary, newest: Iterable[tuple[int, str]]) -> list[Query]:
    """A query for each two common words. Raises RuntimeError when the newest posts do not fill a page."""
    said = [(pid, set(body.split()).intersection(known.common)) for pid, body in reversed(list(newest))]
    queries = [
        Query(pair, [pid for pid, some in said if some.issuperset(pair)][:POSTS_A_PAGE])
        for pair in combinations(known.common, 2)
    ]
    if any(len(query.pids) < POSTS_A_PAGE for query in queries):
        raise RuntimeError("two common words are in too few posts")
    return queries


def _rare(known: Vocabulary, count: int) -> list[Query]:
    return [Query((word,), rare_posts(number, count)) for number, word in enumerate(known.rare)]


# ---- the index


def _index(plan: Plan, place: Place, figures: dict[str, float]) -> str:
    """A text on its memory, and on how fast it is written. Fills `figures`."""
    began = time.monotonic()
    place.manage("reindex", "--verbosity=0")
    rate = plan.many_posts / (time.monotonic() - began)
    size = _bytes_of_index(place) / plan.many_posts
    figures["index bytes"] = size
    rows = [["`reindex`", f"{plan.many_posts:,}", f"{rate:,.0f}", f"{size:.0f}"]]
    return f"""\
{plan.many_posts:,} posts of the demo's length, with ids from the counter. Every second word is drawn from a vocabulary
by a power law (`benchmarks/texts.py`). `manage.py reindex` writes the whole index, with its start. Bytes are what
`MEMORY USAGE` says of all keys of the index. What a worker appends, post by post, takes more: the server gives a
growing string room to grow.

{table(["by", "posts", "posts a second", "bytes a post"], rows)}"""


def _bytes_of_index(place: Place) -> int:
    """The memory of the postings, and of the bits that say which ranges have a term."""
    place.settle()
    names = [name for kind in INDEX for name in place.client.scan_iter(kinds.matching(kind), count=1000)]
    return sum(int(place.client.memory_usage(name, samples=0) or 0) for name in names)


# ---- pages


def _pages(plan: Plan, place: Place, common: Sequence[Query], rare: Sequence[Query], figures: dict[str, float]) -> str:
    """A text on pages of results, compared with warm homes. Fills `figures`."""
    viewers = [raw.viewer(uid) for uid in range(FIRST_VIEWER, FIRST_VIEWER + VIEWERS)]
    homes = Page("home", [("/", viewer) for viewer in viewers])
    searches = {"two common words": (common, POSTS_A_PAGE), "a rare word": (rare, COPIES)}
    with site(place, plan.folder / "searched.log") as port:
        homes.check(port)  # this also rebuilds them
        pages = {name: _visited(name, queries, viewers, posts) for name, (queries, posts) in searches.items()}
        sizes = {name: page.check(port) for name, page in pages.items()}
        base = homes.target(port, plan.folder)
        targets = {name: page.target(port, plan.folder) for name, page in pages.items()}
        warm_up([base, *targets.values()])
        results = race(base, targets, plan.clients[0], plan.rounds, plan.seconds)
        for queries, _ in searches.values():
            for query in queries:
                query.check(port, viewers[0])
    for name, result in results.items():
        require_size(name, result, sizes[name])
    common_result, rare_result = results.values()
    figures |= {"common words": common_result.p50_growth, "common words, p99": common_result.p99_growth}
    figures["rare word"] = rare_result.p50_growth
    times = [[name, f"{result.p50_growth:.2f}", f"{result.p99_growth:.2f}"] for name, result in results.items()]
    return f"""\
Searches by {VIEWERS} signed-in users, and their homes in turn with them: for each two of the {COMMON} most common
drawn words, and for {RARE} words that are in {COPIES} posts each, spread over all. Afterwards every search must show
exactly the right posts, the newest first.

{table(heads("warm home"), [row(name, plan.clients[0], result) for name, result in results.items()])}
{table(["search", "p50 / p50 of a warm home", "p99 / p99 of a warm home"], times)}"""


def _visited(name: str, queries: Sequence[Query], viewers: Sequence[Viewer], posts: int) -> Page:
    visits = [(query.path, viewers[number % len(viewers)]) for number, query in enumerate(queries)]
    return Page(name, visits, posts)
