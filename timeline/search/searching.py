"""Finds the posts that fit a query, newest first.

The index says which posts of a range of ids stand under a term. The newest ranges come first. They also show which
terms are rare. Further ranges are read for the rarest terms alone, many at once, and only if they may have posts with
all terms. So a rare word costs few round trips, and few commands.
What the index proposes is read and checked like the posts of any page. Whatever the query is, a page reads no more than
the bounds below; where they end it, the page says that older posts were not searched.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import NamedTuple, TypeVar

from accounts.signing_in.viewer import Viewer
from accounts.users.repository import ask_owners
from retwis_site.store.client import Pipe, Reading, Result, Store, answer, trip
from retwis_site.store.ids import LARGEST_ID
from timeline.posts.entities import Post
from timeline.posts.reading.moments import Bounds, bounds_of
from timeline.posts.reading.post_reader import PostReader
from timeline.posts.reading.records import ask_authors
from timeline.posts.reading.visibility import LatestActed, ask_acted, ask_latest_acted
from timeline.relations.relations import ask_followed
from timeline.search import index
from timeline.search.query import (
    BadQuery,
    Before,
    ByPerson,
    KnownPeople,
    NotBefore,
    OneWord,
    Phrase,
    PostRole,
    Problem,
    Query,
    Scope,
    SearchPage,
    fits,
)
from timeline.timelines.pagination import POSTS_A_PAGE

# ---- The ids of the posts that a query's dates leave. A search looks nowhere else.
#
# Every post is checked besides: these bounds need not be exact, but must leave nothing out. They would leave out a post
# with an older date than its neighbours: `before:` does not find it.


def bounds(store: Store, query: Query, below: int, newest: int, counted: int) -> Bounds:
    """The bounds of a query's dates, below the cursor. `newest`, `counted`, and round trips for each date: as for
    `bounds_of`."""
    first, after = 0, below
    for part in query.wanted:
        if isinstance(part, NotBefore):
            first = max(first, bounds_of(store, part.seconds, newest, counted).first)
        elif isinstance(part, Before):
            after = min(after, bounds_of(store, part.seconds, newest, counted).after)
    return Bounds(first, after)


# ---- The posts that the index proposes: those that stand under all terms of a query, in some ranges of ids.


MOST_TERMS = 8  # that are looked up; the parts of the query with other terms are only checked


class Proposals(NamedTuple):
    """What the index says about some ranges, the newest first."""

    ranges: Sequence[index.Range]
    terms: Sequence[str]
    found: Sequence[Sequence[index.Postings]]  # for each range, the posts under each term

    def ids(self) -> Iterator[int]:
        """The posts that stand under all terms, the newest first."""
        for postings in self.found:
            yield from sorted(index.in_all(postings), reverse=True)

    def rarest(self, number: int) -> dict[str, int]:
        """The rarest terms, each with the most posts that it has in a range."""
        most = {term: max(len(postings[place]) for postings in self.found) for place, term in enumerate(self.terms)}
        return {term: most[term] for term in sorted(most, key=lambda term: most[term])[:number]}


def ask_proposals(pipe: Pipe, ranges: Sequence[index.Range], terms: Sequence[str]) -> Result[Proposals]:
    """Ask which posts stand under these terms, at least one. One command for each range and term."""
    asked = [[index.ask_postings(pipe, each, term) for term in terms] for each in ranges]
    return Result(lambda: Proposals(ranges, terms, [[posts.value for posts in of_range] for of_range in asked]))


def terms(query: Query, known: KnownPeople) -> list[str]:
    """The terms under which a post must stand to fit the query, at most MOST_TERMS: people and tags first, then the
    longest words, which are the rarest. None for a query without a wanted word, person, tag or kind."""
    words, others = set[str](), dict[str, None]()
    for part in query.wanted:
        (words if isinstance(part, OneWord | Phrase) else others).update(dict.fromkeys(part.terms(known)))
    return [*others, *sorted(words, key=lambda term: (-len(term), term))][:MOST_TERMS]


# ---- Which of the proposed posts are in the scope of a search: asked for many at once, before any is read.


class Among(NamedTuple):
    """Finds the posts of a scope among others."""

    at_once: int  # posts that are looked at together
    most: int  # posts that are looked at for a page
    some: Callable[[Sequence[int]], list[int]]  # those of these posts, at least one, in the scope, in the same order


ALL = Among(1, 1 << 30, list)
BOUNDS = {Scope.SAVED: (1000, 4000), Scope.FOLLOWING: (200, 1000)}  # posts at once, and for a page


def among(scope: Scope, store: Store, me: int | None) -> Among:
    """For a visitor, None, and for the viewer's own posts, which the query says: all posts."""
    if me is None or scope in (Scope.EVERYONE, Scope.MINE):
        return ALL
    return Among(*BOUNDS[scope], partial(_saved if scope is Scope.SAVED else _of_followed, store, me))


def _saved(store: Store, me: int, pids: Sequence[int]) -> list[int]:
    """The posts that a user likes or has bookmarked. One round trip."""
    acted = answer(store, ask_acted, me, pids)
    saved = {pid for pid, what in acted.items() if what.liked or what.bookmarked}
    return [pid for pid in pids if pid in saved]


def _of_followed(store: Store, me: int, pids: Sequence[int]) -> list[int]:
    """The posts by people whom a user follows. Two round trips; one while the authors are cached."""
    authors = answer(store, ask_authors, pids)
    followed = answer(store, ask_followed, me, sorted({*authors.values()}))
    return [pid for pid in pids if authors.get(pid) in followed]


# ---- One page of a search


NEWEST_RANGES = 2  # that are read for all terms
MOST_RANGES = 64  # a page; a million posts with ids from a counter
RAREST = 2  # terms for which further ranges are read
MOST_PROPOSED = 200_000  # posts that further ranges may have under these terms: some 1 MB
FIRST_TAKEN = POSTS_A_PAGE + 4  # posts that are read first: a page, and a few that may not fit
# How many posts are read and checked at once: first a page and a few that may not fit, then those that fill it.
READS = (FIRST_TAKEN, *[40] * 9)
MOST_SECONDS = 0.1  # of this thread's time: then no more are read. Hostile texts may take 3 ms each


class NewestRanges(NamedTuple):
    """What the index says about the newest ranges, and which others have all terms."""

    proposals: Proposals
    others: list[index.Range]


def ask_newest(pipe: Pipe, ranges: Sequence[index.Range], terms: Sequence[str]) -> Result[NewestRanges]:
    """`ranges`: the newest first. Commands as for `ask_proposals` and `ask_ranges_with`."""
    proposals = ask_proposals(pipe, ranges[:NEWEST_RANGES], terms)
    others = index.ask_ranges_with(pipe, ranges[NEWEST_RANGES:MOST_RANGES], terms)
    return Result(lambda: NewestRanges(proposals.value, others.value))


class Search:
    """One page of a search: first `ask`, then `page`. The index proposes posts; those in the scope are read."""

    def __init__(
        self,
        store: Store,
        terms: Sequence[str],
        ranges: Sequence[index.Range],
        newest: NewestRanges,
        within: Bounds,
        among: Among,
        reader: PostReader,
    ) -> None:
        """`ranges`: those below the end of `within`, the newest first, at most MOST_RANGES and one more. `newest`: what
        was asked for before; it may be about others, or about none."""
        self._store = store
        self._terms = terms
        self._ranges = tuple(each for each in ranges if each.after > within.first)
        self._newest = newest._replace(others=[each for each in newest.others if each in self._ranges])
        self._within = within
        self._among = among
        self._reader = reader
        self._proposed: Iterator[int] = iter(())
        self._looked_at = 0
        self._ready: list[int] = []
        self._ended = False
        self._down_to: int | None = None  # when they have ended: all from here up were looked at; None: all

    def ask(self, pipe: Pipe) -> None:
        """Ask in this round trip for what the first posts need: the newest ranges, if they were not asked for before,
        or further ones, if the newest have too few."""
        newest = self._newest
        if newest.proposals.ranges != self._ranges[:NEWEST_RANGES]:
            self._proposed = self._from_newest(ask_newest(pipe, self._ranges, self._terms))
            return
        ids = self._ids(newest.proposals)
        first = [*islice(ids, FIRST_TAKEN)]
        further = None if len(first) == FIRST_TAKEN else self._ask_further(pipe, newest)
        self._proposed = chain(first, ids, self._from_further(newest, further))

    def page(self) -> SearchPage:
        """The posts that fit, newest first. Round trips as for `_take`, and those of `PostReader.read` for each of
        the READS that the page needs."""
        posts: list[Post] = []
        last = None  # the last post that was checked
        until = time.thread_time() + MOST_SECONDS
        for number in READS:
            if batch := self._take(number):
                posts += self._reader.read(batch)[0]
                last = batch[-1]
            if self._is_done or len(posts) >= POSTS_A_PAGE or time.thread_time() > until:
                break
        if len(posts) > POSTS_A_PAGE:
            return SearchPage(posts[:POSTS_A_PAGE], posts[POSTS_A_PAGE - 1].pid, complete=True)
        older = self._down_to if self._is_done else last
        return SearchPage(posts, older, complete=older is None or len(posts) == POSTS_A_PAGE)

    @property
    def _is_done(self) -> bool:
        """Whether the proposed posts have ended, and all that were found among them were taken."""
        return self._ended and not self._ready

    def _take(self, number: int) -> list[int]:
        """The next ones; fewer when they end. At most one round trip in all, for further ranges, and those of
        `Among`."""
        while len(self._ready) < number and not self._ended:
            chunk = list(islice(self._proposed, max(number - len(self._ready), self._among.at_once)))
            self._looked_at += len(chunk)
            self._ready += self._among.some(chunk) if chunk else []
            if not chunk:
                self._ended = True
            elif self._looked_at >= self._among.most:
                self._ended, self._down_to = True, chunk[-1]
        taken, self._ready = self._ready[:number], self._ready[number:]
        return taken

    def _from_newest(self, newest: Result[NewestRanges]) -> Iterator[int]:
        yield from self._ids(newest.value.proposals)
        yield from self._from_further(newest.value, None)

    def _from_further(self, newest: NewestRanges, asked: Result[Proposals] | None) -> Iterator[int]:
        """The posts of further ranges, which are `asked` for now unless they were before."""
        further = asked.value if asked is not None else answer(self._store, self._ask_further, newest)
        yield from self._ids(further)
        if len(further.ranges) < len(newest.others):
            self._down_to = further.ranges[-1].first
        elif len(self._ranges) > MOST_RANGES:
            self._down_to = self._ranges[MOST_RANGES - 1].first

    def _ask_further(self, pipe: Pipe, newest: NewestRanges) -> Result[Proposals]:
        """As many of the other ranges as bounds allow, for the rarest terms. No command when there are no others."""
        rarest = newest.proposals.rarest(RAREST) if newest.others else {}
        most = max(1, MOST_PROPOSED // max(1, sum(rarest.values())))
        return ask_proposals(pipe, newest.others[:most], [*rarest])

    def _ids(self, proposals: Proposals) -> Iterator[int]:
        first, after = self._within
        return (pid for pid in proposals.ids() if first <= pid < after)


# ---- A search begins


T = TypeVar("T")


def begin(
    store: Store, viewer: Viewer, query: Query, scope: Scope, before: int | None, beside: Callable[[Pipe], Result[T]]
) -> tuple[Search, T]:
    """A search for the posts below the cursor, and what is asked `beside` it. One round trip, which also checks the
    viewer; more as for `known_ranges` and `bounds`. Raises BadQuery."""
    if scope is Scope.MINE:
        query = replace(query, wanted=(ByPerson(PostRole.FROM, None), *query.wanted))
    below = LARGEST_ID + 1 if before is None else before
    all_ranges = index.known_ranges(store)
    ranges = index.highest(all_ranges, below, MOST_RANGES + 1)

    def reading(pipe: Pipe, me: int | None) -> Reading[tuple[T, LatestActed, dict[str, int], NewestRanges]]:
        asked = [] if query.names else terms(query, KnownPeople({}, me))  # the uids of named people are not known yet
        return trip(
            beside(pipe),
            ask_latest_acted(pipe, me),
            ask_owners(pipe, query.names),
            ask_newest(pipe, ranges if asked else (), asked),
        )

    asked_beside, acted, uids, of_newest = viewer.ask(reading)
    me = viewer.uid
    for name in query.names:
        if name not in uids:
            raise BadQuery(Problem.UNKNOWN_PERSON, name)
    if me is None and query.names_viewer:
        raise BadQuery(Problem.UNKNOWN_PERSON, "me")
    known = KnownPeople(uids, me)
    asked = terms(query, known)
    if not asked:
        raise BadQuery(Problem.NOTHING_TO_FIND)
    newest = max((each.after for each in ranges), default=0)
    within = bounds(store, query, below, newest, all_ranges.last_counted)
    ranges = index.highest(all_ranges, within.after, MOST_RANGES + 1)
    searched = among(scope, store, me)
    reader = PostReader(
        store, viewer, [lambda posts: [post for post in posts if fits(query, known, post)]], acted=acted
    )
    return Search(store, asked, ranges, of_newest, within, searched, reader), asked_beside
