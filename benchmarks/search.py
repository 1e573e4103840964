"""The search in a million posts: the memory of its index, and pages of results."""

import contextlib
import re
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, cycle

from benchmarks import raw
from benchmarks.pages import POSTS_A_PAGE, Page, compare, race_table
from benchmarks.plan import Plan, Report, table
from benchmarks.stand import Place, embedded_store, site
from benchmarks.texts import COMMON, COPIES, RARE, Vocabulary, rare_posts, texts, vocabulary
from benchmarks.visitor import Viewer, Visitor, WrongAnswer
from benchmarks.wrk import Visit
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
        with contextlib.closing(Visitor(port)) as visitor:
            answer = visitor.get(viewer.visit(self.path))
        found = dict.fromkeys(int(pid) for pid in re.findall(r'href="/@user_\d+/(\d+)/', answer.page))
        if list(found) != list(self.pids):
            raise WrongAnswer(f"{self.path}: {answer.status}, posts {list(found)} instead of {self.pids}")


def report(plan: Plan) -> Report:
    known = vocabulary(plan.vocabulary)
    newest = deque(enumerate(texts(known, plan.many_posts), 1), maxlen=NEWEST)
    common = _common(known, newest)
    rare = [Query((word,), rare_posts(number, plan.many_posts)) for number, word in enumerate(known.rare)]
    with embedded_store(plan.folder) as place:
        raw.fill(place, plan.users, plan.follows, plan.many_posts, texts(known, plan.many_posts))
        return _index(plan, place) + _pages(plan, place, common, rare)


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


# ---- the index


def _index(plan: Plan, place: Place) -> Report:
    """Its memory, and how fast it is written."""
    began = time.monotonic()
    place.manage("reindex", "--verbosity=0")
    rate = plan.many_posts / (time.monotonic() - began)
    size = _bytes_of_index(place) / plan.many_posts
    rows = [["`reindex`", f"{plan.many_posts:,}", f"{rate:,.0f}", f"{size:.0f}"]]
    text = f"""\
{plan.many_posts:,} posts of the demo's length, with ids from the counter. Every second word is drawn from a vocabulary
by a power law (`benchmarks/texts.py`). `manage.py reindex` writes the whole index, with its start. Bytes are what
`MEMORY USAGE` says of all keys of the index. What a worker appends, post by post, takes more: the server gives a
growing string room to grow.

{table(["by", "posts", "posts a second", "bytes a post"], rows)}"""
    return Report(text, {"index bytes": size})


def _bytes_of_index(place: Place) -> int:
    """The memory of the postings, and of the bits that say which ranges have a term."""
    place.settle()
    names = [name for kind in INDEX for name in place.client.scan_iter(kinds.matching(kind), count=1000)]
    return sum(int(place.client.memory_usage(name, samples=0) or 0) for name in names)


# ---- pages


def _pages(plan: Plan, place: Place, common: Sequence[Query], rare: Sequence[Query]) -> Report:
    """Pages of results, compared with warm homes."""
    viewers = [raw.viewer(uid) for uid in range(FIRST_VIEWER, FIRST_VIEWER + VIEWERS)]

    def visits(queries: Sequence[Query]) -> list[Visit]:
        return [viewer.visit(query.path) for query, viewer in zip(queries, cycle(viewers), strict=False)]

    with site(place) as port:
        homes = Page("warm home", port, [viewer.visit("/") for viewer in viewers])
        pages = [Page("two common words", port, visits(common)), Page("a rare word", port, visits(rare), COPIES)]
        two, one = races = compare(plan, homes, pages)
        for query in (*common, *rare):
            query.check(port, viewers[0])
    times = [[race.name, f"{race.p50_growth:.2f}", f"{race.p99_growth:.2f}"] for race in races]
    text = f"""\
Searches by {VIEWERS} signed-in users, and their homes in turn with them: for each two of the {COMMON} most common
drawn words, and for {RARE} words that are in {COPIES} posts each, spread over all. Afterwards every search must show
exactly the right posts, the newest first.

{race_table(homes.name, races)}
{table(["search", "p50 / p50 of a warm home", "p99 / p99 of a warm home"], times)}"""
    figures = {"common words": two.p50_growth, "common words, p99": two.p99_growth, "rare word": one.p50_growth}
    return Report(text, figures)
