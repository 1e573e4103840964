"""Finds the posts that fit a query, newest first.

The index says which posts of a range of ids stand under a term. The newest ranges come first. They also show which
terms are rare. Further ranges are read for the rarest terms alone, many at once, and only if they may have posts with
all terms. So a rare word costs few round trips, and few commands.
What the index proposes is read and checked like the posts of any page. Whatever the query is, a page reads no more than
the bounds below; where they end it, the page says that older posts were not searched.
"""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from accounts.signing_in.viewer import Viewer
from accounts.users.repository import ask_owners
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import LARGEST_ID
from retwis_site.store.reading import trip
from retwis_site.store.replies import Result
from timeline.posts.entities import Post
from timeline.posts.reading.post_reader import PostReader, ask_latest_acted
from timeline.search.index.postings import Range, highest, known_ranges
from timeline.search.queries.candidates import (
    FIRST_TAKEN,
    MOST_RANGES,
    Candidates,
    Newest,
    among,
    ask_newest,
    bounds,
    terms,
)
from timeline.search.queries.matching import Matching
from timeline.search.queries.parsing import ByViewer, NothingToFind, Query, Scope, SearchPage, UnknownPerson
from timeline.timelines.pagination import POSTS_A_PAGE

# How many posts are read and checked at once: first a page and a few that may not fit, then those that fill it.
READS = (FIRST_TAKEN, *[40] * 9)
MOST_SECONDS = 0.1  # of this thread's time: then no more are read. Hostile texts may take 3 ms each


T = TypeVar("T")


class Searching:
    """Searches posts. Only reads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def begin(
        self, viewer: Viewer, query: Query, scope: Scope, before: int | None, beside: Callable[[Pipe], Result[T]]
    ) -> "tuple[Search, T]":
        """A search for the posts below the cursor, and what is asked `beside` it. One round trip, which also checks the
        viewer; more as for `known_ranges` and `bounds`. Raises NothingToFind, UnknownPerson."""
        below = LARGEST_ID + 1 if before is None else before
        ranges = highest(known_ranges(self._store), below, MOST_RANGES + 1)
        answer, acted, uids, newest = viewer.ask(
            lambda pipe, me: trip(
                beside(pipe),
                ask_latest_acted(pipe, me),
                ask_owners(pipe, query.names) if query.names else NO_UIDS,
                _ask_newest(pipe, ranges, [] if query.names else terms(query, scope, {}, me)),
            )
        )
        me = viewer.uid
        for name in query.names:
            if name not in uids:
                raise UnknownPerson(name)
        if me is None and any(isinstance(part, ByViewer) for part in query.parts):
            raise UnknownPerson("me")
        asked = terms(query, scope, uids, me)
        if not asked:
            raise NothingToFind
        within = bounds(self._store, query, below, max((each.after for each in ranges), default=0))
        searched = among(scope, self._store, me)
        candidates = Candidates(self._store, asked, ranges, newest, within, searched)
        matching = Matching(query, uids, me)
        reader = PostReader(self._store, viewer.user, [matching], acted=acted, fresh=viewer.just_changed)
        return Search(candidates, reader), answer


NO_UIDS: Result[dict[str, int]] = Result(dict)


def _ask_newest(pipe: Pipe, ranges: Sequence[Range], asked: Sequence[str]) -> Result[Newest | None]:
    """None without terms: the uids of named people are not known yet, by which posts are found."""
    newest = ask_newest(pipe, ranges, asked) if asked else None
    return Result(lambda: newest.value if newest else None)


class Search:
    """One page of a search: first `ask`, then `page`."""

    def __init__(self, candidates: Candidates, reader: PostReader) -> None:
        self._candidates = candidates
        self._reader = reader

    def ask(self, pipe: Pipe) -> None:
        """Ask for what the page needs first. Commands as for `Candidates`."""
        self._candidates.ask(pipe)

    def page(self) -> SearchPage:
        """The posts that fit, newest first. Round trips as for `Candidates`, and those of `PostReader.read` for each of
        the READS that the page needs."""
        candidates = self._candidates
        posts: list[Post] = []
        last = None  # the last post that was checked
        until = time.thread_time() + MOST_SECONDS
        for number in READS:
            if batch := candidates.take(number):
                posts += self._reader.read(batch)[0]
                last = batch[-1]
            if candidates.ended or len(posts) >= POSTS_A_PAGE or time.thread_time() > until:
                break
        if len(posts) > POSTS_A_PAGE:
            return SearchPage(posts[:POSTS_A_PAGE], posts[POSTS_A_PAGE - 1].pid, complete=True)
        older = candidates.down_to if candidates.ended else last
        return SearchPage(posts, older, complete=older is None or len(posts) == POSTS_A_PAGE)
