"""The search in a million posts: the memory of its index, how fast posts get into it, pages of results, and posting."""

import contextlib
import re
import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from urllib.parse import urlencode

from benchmarks.growth.paper import table
from benchmarks.growth.sizes import NOW
from benchmarks.parts import raw
from benchmarks.parts.large import VIEWERS, fill
from benchmarks.parts.pages import Page, heads, require_size, row
from benchmarks.parts.writes import delivered, write
from benchmarks.plan import Plan, Report
from benchmarks.stand import ROOT, Place, embedded_store, site, wait_for
from benchmarks.texts import COMMON, COPIES, RARE, WORST_QUERY, Vocabulary, rare_posts, texts, vocabulary, worst_text
from benchmarks.visitor import POSTS_A_PAGE, Viewer, Visitor, WrongAnswer
from benchmarks.wrk import race, warm_up
from retwis_site.store import keys, kinds
from timeline.search.index.postings import GROUP, RANGE
from timeline.search.queries.candidates import MOST_RANGES

NEWEST = 16_384  # posts that have a full page for each two common words
FIRST_VIEWER = 101  # viewers whose own posts have no rare word: one's own posts are read anew for each page
PAUSE = 0.1  # seconds before each form: the worker of the site has nothing left to do
WARM_UP = 10  # forms
DRAIN = """
import time
import django
django.setup()
from retwis_site.jobs.worker import drain
from retwis_site.store.client import connect
from retwis_site.store import embedded
with embedded.running():
    began = time.perf_counter()
    print(drain(connect(), "measured"), time.perf_counter() - began)
"""
WORST = 450  # posts of the newest range that fit the worst query but for its last word: more than a page checks
SCOPES = ("everyone", "following")  # whose searches take longest
SITES = {"as shipped": "retwis_site.settings", "without an index": "benchmarks.unindexed"}  # and their settings


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
        fill(plan, place, plan.many_posts, _noted(texts(known, plan.many_posts), newest))
        common = _common(known, newest)
        index = _index(plan, place, common, figures)
        pages = _pages(plan, place, common, _rare(known, plan.many_posts), figures)
    return Report(f"{index}\n{pages}\n{_worst(plan, figures)}\n{_posting(plan, figures)}", figures)


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


def _index(plan: Plan, place: Place, common: Sequence[Query], figures: dict[str, float]) -> str:
    """A text on its memory, and on how fast it is written: by a worker, then as a whole. Fills `figures`."""
    first = max(1, plan.many_posts - plan.indexed + 1)
    jobs = [f"index:{pid}:measured" for pid in range(first, plan.many_posts + 1)]
    raw.load(place.client, (("ZADD", keys.outbox(job), NOW, job) for job in jobs))
    by_worker = len(jobs) / _drained(place, len(jobs))
    postings, bits = _bytes_of_index(place)
    bytes_by_worker = postings / len(jobs) + bits / (GROUP * RANGE)
    with site(place, plan.folder / "indexed.log") as port:
        for query in common:
            query.check(port, raw.viewer(1))
    began = time.monotonic()
    place.manage("reindex", "--verbosity=0")
    by_reindex = plan.many_posts / (time.monotonic() - began)
    bytes_by_reindex = sum(_bytes_of_index(place)) / plan.many_posts
    figures["indexing"] = by_worker
    figures["index bytes"] = max(bytes_by_worker, bytes_by_reindex)
    rows = [
        ["the worker", f"{len(jobs):,}", f"{by_worker:,.0f}", f"{bytes_by_worker:.0f}"],
        ["`reindex`", f"{plan.many_posts:,}", f"{by_reindex:,.0f}", f"{bytes_by_reindex:.0f}"],
    ]
    return f"""\
{plan.many_posts:,} posts of the demo's length, with ids from the counter. Every second word is drawn from a vocabulary
by a power law (`benchmarks/texts.py`). First a worker carries out the jobs of the newest {len(jobs):,} posts, all due,
without its start. A site then finds the right posts. Then `manage.py reindex` writes the whole index anew, with its
start. Bytes are what `MEMORY USAGE` says of all keys of the index; the goal is about the larger of both. What a
worker appends takes more: the server gives a growing string room to grow.

The worker's bytes are those of a site that goes on. The bits of {GROUP} ranges of ids (`posting_bits:*`) take
{bits / 1e6:.1f} MB and count for all {GROUP * RANGE:,} posts of these ranges. If these posts bore all of them, being
the first that are indexed, they would have {(postings + bits) / len(jobs):.0f} bytes each.

{table(["by", "posts", "posts a second", "bytes a post"], rows)}"""


def _bytes_of_index(place: Place) -> tuple[int, int]:
    """The memory of the postings, and of the bits that say which ranges have a term."""
    place.settle()
    return _bytes_of(place, "postings:*"), _bytes_of(place, "posting_bits:*")


def _bytes_of(place: Place, kind: str) -> int:
    names = place.client.scan_iter(kinds.matching(kind), count=1000)
    return sum(int(place.client.memory_usage(name, samples=0) or 0) for name in names)


def _drained(place: Place, jobs: int) -> float:
    """The seconds in which a worker finishes all jobs. Raises RuntimeError when it leaves one."""
    command = [sys.executable, "-c", DRAIN]
    done = subprocess.run(command, cwd=ROOT, env=place.env, check=True, timeout=600, capture_output=True, text=True)
    finished, seconds = done.stdout.split()
    if int(finished) != jobs or not delivered(place.client):
        raise RuntimeError(f"the worker has finished {finished} of {jobs} jobs")
    return float(seconds)


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
        clients = plan.clients[0]
        results = race(base, targets, clients, plan.rounds, plan.seconds)
        for queries, _ in searches.values():
            for query in queries:
                query.check(port, viewers[0])
    for name, result in results.items():
        require_size(name, result, sizes[name])
    common_result, rare_result = results.values()
    figures["common words"] = common_result.p50_growth
    figures["common words, p99"] = common_result.p99_growth
    figures["rare word"] = rare_result.p50_growth
    times = [[name, f"{result.p50_growth:.2f}", f"{result.p99_growth:.2f}"] for name, result in results.items()]
    return f"""\
Searches by {VIEWERS} signed-in users, and their homes in turn with them: for each two of the {COMMON} most common
drawn words, and for {RARE} words that are in {COPIES} posts each, spread over all. Afterwards every search must show
exactly the right posts, the newest first.

{table(heads("warm home"), [row(name, clients, result) for name, result in results.items()])}
{table(["search", "p50 / p50 of a warm home", "p99 / p99 of a warm home"], times)}"""


def _visited(name: str, queries: Sequence[Query], viewers: Sequence[Viewer], posts: int) -> Page:
    visits = [(query.path, viewers[number % len(viewers)]) for number, query in enumerate(queries)]
    return Page(name, visits, posts)


def _worst(plan: Plan, figures: dict[str, float]) -> str:
    """A text on the search that takes longest. Fills `figures`."""
    newest = MOST_RANGES * RANGE
    pids = [*range(1, newest, RANGE), *range(newest + 1, newest + WORST)]
    with embedded_store(plan.folder / "worst") as place:
        raw.load(place.client, [*raw.counters(2, pids[-1]), *raw.people([1, 2]), *raw.edges(1, [2])])
        for pid in pids:
            place.client.hset(keys.post(pid), mapping={"user_id": 2, "time": NOW, "body": worst_text(pid)})
        place.manage("reindex", "--verbosity=0")
        times = {scope: [_cold_worst(plan, place, scope) for _ in range(plan.rounds)] for scope in SCOPES}
    figures["worst search"] = max(map(max, times.values()))
    rows = [
        [scope, f"{statistics.median(measured):.0f}", f"{min(measured):.0f}", f"{max(measured):.0f}"]
        for scope, measured in times.items()
    ]
    return f"""\
The search that takes longest, one request at a time. {WORST} posts of the newest range and one of each of
{MOST_RANGES} older ranges have all of its {len(WORST_QUERY)} characters, and at their end a word that excludes them. So
none is found, and as much is looked at as a page may look at. Each time a site has just started, and has answered one
other search: so it has read none of these texts before.

{table(["among the posts of", "median, ms", "shortest", "longest"], rows)}"""


def _cold_worst(plan: Plan, place: Place, scope: str) -> float:
    """Milliseconds. Raises WrongAnswer unless the page ends with a link to older posts."""
    with (
        site(place, plan.folder / "worst.log") as port,
        contextlib.closing(Visitor(port, raw.viewer(1).cookies)) as visitor,
    ):
        visitor.get("/search/?q=nothing")
        answer = visitor.get(f"/search/?{urlencode({'q': WORST_QUERY, 'in': scope})}")
    if answer.status != 200 or "<article" in answer.page or "before=" not in answer.page:
        raise WrongAnswer(f"the worst search: {answer.status}")
    return answer.seconds * 1e3


# ---- posting


def _posting(plan: Plan, figures: dict[str, float]) -> str:
    """A text on posts by the form of the site, with and without the job of the index. Fills `figures`."""
    times: dict[str, list[float]] = {name: [] for name in SITES}
    with contextlib.ExitStack() as stack:
        authors = {name: _author(plan, name, settings, stack) for name, settings in SITES.items()}
        for number in range(-WARM_UP, plan.indexed_forms):
            for name in sorted(authors, reverse=bool(number % 2)):
                place, visitor = authors[name]
                time.sleep(PAUSE)
                seconds = write(visitor, f"This is the post with the number {number}.") * 1e3
                if number >= 0:
                    times[name].append(seconds)
                wait_for(partial(delivered, place.client), "a delivery")
        _require_indexed([place for place, _ in authors.values()])
    shipped, without = (statistics.median(measured) for measured in times.values())
    figures["indexed post"] = shipped / without
    rows = [
        [name, f"{statistics.median(measured):.2f}", f"{min(measured):.2f}", f"{max(measured):.2f}"]
        for name, measured in times.items()
    ]
    return f"""\
`POST /post/` by an author without followers, on a site as shipped and on one that leaves no jobs for the index
(`benchmarks/unindexed.py`). Each has its own store. The forms are sent in turn, {plan.indexed_forms} to each site, one
after the other, the first site changing each time. The ratio of the medians is **{shipped / without:.3f}**.

{table(["site", "median, ms", "shortest", "longest"], rows)}"""


def _author(plan: Plan, name: str, settings: str, stack: contextlib.ExitStack) -> tuple[Place, Visitor]:
    """Start a site with these settings, and the browser of its only user."""
    folder = plan.folder / name.replace(" ", "-")
    place = stack.enter_context(embedded_store(folder))
    raw.load(place.client, [*raw.counters(1, 0), *raw.people([1])])
    place = replace(place, env={**place.env, "DJANGO_SETTINGS_MODULE": settings})
    port = stack.enter_context(site(place, folder / "site.log"))
    return place, stack.enter_context(contextlib.closing(Visitor(port, raw.viewer(1).cookies)))


def _require_indexed(places: Sequence[Place]) -> None:
    """Raise RuntimeError unless the first store has an index and the second has none."""
    has_index = [any(place.client.scan_iter(kinds.matching("postings:*"), count=1000)) for place in places]
    if has_index != [True, False]:
        raise RuntimeError(f"posts are in an index: {has_index}")
