"""The posts that may fit a query, the newest first, from as many ranges of ids as a page needs and may read."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from retwis_site.store.client import Pipe, Store
from retwis_site.store.replies import Answer
from timeline.posts.reading.moments import Bounds
from timeline.search.index.range_bits import ask_ranges_with
from timeline.search.index.ranges import Range
from timeline.search.queries.proposals import Proposals, ask_proposals
from timeline.search.queries.scopes import Among
from timeline.timelines.pagination import POSTS_A_PAGE

NEWEST_RANGES = 2  # that are read for all terms
MOST_RANGES = 64  # a page; a million posts with ids from a counter
RAREST = 2  # terms for which further ranges are read
MOST_PROPOSED = 200_000  # posts that further ranges may have under these terms: some 1 MB
FIRST_TAKEN = POSTS_A_PAGE + 4  # posts that are read first: a page, and a few that may not fit


class Newest(NamedTuple):
    """What the index says about the newest ranges, and which others have all terms."""

    proposals: Proposals
    others: list[Range]


def ask_newest(pipe: Pipe, ranges: Sequence[Range], terms: Sequence[str]) -> Answer[Newest]:
    """`ranges`: the newest first. Commands as for `ask_proposals` and `ask_ranges_with`."""
    proposals = ask_proposals(pipe, ranges[:NEWEST_RANGES], terms)
    others = ask_ranges_with(pipe, ranges[NEWEST_RANGES:MOST_RANGES], terms)
    return Answer(lambda: Newest(proposals.value, others.value))


class Candidates:
    """The posts that the index proposes, as far as they are in the scope of the search. First `ask`, then `take`."""

    def __init__(
        self,
        store: Store,
        terms: Sequence[str],
        ranges: Sequence[Range],
        newest: Newest | None,
        within: Bounds,
        among: Among,
    ) -> None:
        """`ranges`: the newest first, at most MOST_RANGES and one more. `newest`: what was asked for before."""
        self._store = store
        self._terms = terms
        self._ranges = tuple(each for each in ranges if each.after > within.first and each.first < within.after)
        self._newest = newest and newest._replace(others=[each for each in newest.others if each in self._ranges])
        self._within = within
        self._among = among
        self._proposed: Iterator[int] = iter(())
        self._looked_at = 0
        self._ready: list[int] = []
        self.ended = False
        self.down_to: int | None = None  # when they have ended: all from here up were looked at; None: all

    def ask(self, pipe: Pipe) -> None:
        """Ask in this round trip for what the first posts need: the newest ranges, if they were not asked for before,
        or further ones, if the newest have too few."""
        newest = self._newest
        if newest is None or newest.proposals.ranges != self._ranges[:NEWEST_RANGES]:
            self._proposed = self._from_newest(ask_newest(pipe, self._ranges, self._terms))
            return
        ids = self._ids(newest.proposals)
        first = [*islice(ids, FIRST_TAKEN)]
        further = None if len(first) == FIRST_TAKEN else self._ask_further(pipe, newest)
        self._proposed = chain(first, ids, self._from_further(newest, further))

    def take(self, number: int) -> list[int]:
        """The next ones; fewer when they end. At most one round trip in all, for further ranges, and those of
        `Among`."""
        while len(self._ready) < number and not self.ended:
            chunk = list(islice(self._proposed, max(number - len(self._ready), self._among.at_once)))
            self._looked_at += len(chunk)
            self._ready += self._among.some(chunk) if chunk else []
            if not chunk:
                self.ended = True
            elif self._looked_at >= self._among.most:
                self.ended, self.down_to = True, chunk[-1]
        taken, self._ready = self._ready[:number], self._ready[number:]
        return taken

    def _from_newest(self, newest: Answer[Newest]) -> Iterator[int]:
        yield from self._ids(newest.value.proposals)
        yield from self._from_further(newest.value, None)

    def _from_further(self, newest: Newest, asked: Answer[Proposals] | None) -> Iterator[int]:
        """The posts of further ranges, which are `asked` for now unless they were before."""
        if asked is None:
            pipe = self._store.pipeline()
            asked = self._ask_further(pipe, newest)
            pipe.execute()
        further = asked.value
        yield from self._ids(further)
        if len(further.ranges) < len(newest.others):
            self.down_to = further.ranges[-1].first
        elif len(self._ranges) > MOST_RANGES:
            self.down_to = self._ranges[MOST_RANGES - 1].first

    def _ask_further(self, pipe: Pipe, newest: Newest) -> Answer[Proposals]:
        """As many of the other ranges as bounds allow, for the rarest terms. No command when there are no others."""
        rarest = newest.proposals.rarest(RAREST) if newest.others else {}
        most = max(1, MOST_PROPOSED // max(1, sum(rarest.values())))
        return ask_proposals(pipe, newest.others[:most], [*rarest])

    def _ids(self, proposals: Proposals) -> Iterator[int]:
        first, after = self._within
        return (pid for pid in proposals.ids() if first <= pid < after)
