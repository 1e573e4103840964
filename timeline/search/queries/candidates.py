"""The posts that may fit a query, the newest first, from as many ranges of ids as a page needs and may read."""

from collections.abc import Iterator, Sequence
from itertools import islice

from retwis_site.store.client import Store
from timeline.posts.reading.moments import Bounds
from timeline.search.index.ranges import Range
from timeline.search.queries.proposals import Proposals, ask_proposals
from timeline.search.queries.scopes import Among

NEWEST_RANGES = 2  # that are read for all terms
MOST_RANGES = 64  # a page; a million posts with ids from a counter
RAREST = 2  # terms for which further ranges are read
MOST_PROPOSED = 200_000  # posts that further ranges may have under these terms: some 1 MB


class Candidates:
    """The posts that the index proposes, as far as they are in the scope of the search."""

    def __init__(
        self,
        store: Store,
        terms: Sequence[str],
        ranges: Sequence[Range],
        newest: Proposals | None,
        within: Bounds,
        among: Among,
    ) -> None:
        """`ranges`: the newest first, at most MOST_RANGES and one more. `newest`: what was asked for before."""
        self._store = store
        self._terms = terms
        self._ranges = tuple(each for each in ranges if each.after > within.first and each.first < within.after)
        self._newest = newest
        self._within = within
        self._among = among
        self._proposed = self._from_ranges()
        self._looked_at = 0
        self._ready: list[int] = []
        self.ended = False
        self.down_to: int | None = None  # when they have ended: all from here up were looked at; None: all

    def take(self, number: int) -> list[int]:
        """The next ones; fewer when they end. At most two round trips in all, one without ranges that were not asked
        for before, and those of `Among`."""
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

    def _from_ranges(self) -> Iterator[int]:
        """The newest ranges are read for all terms, then as many others as bounds allow for the rarest."""
        ranges = self._ranges[:NEWEST_RANGES]
        if not ranges:
            return
        if self._newest is None or self._newest.ranges != ranges:
            self._newest = self._asked(ranges, self._terms)
        yield from self._ids(self._newest)
        read = len(ranges)
        if len(self._ranges) > read:
            rarest = self._newest.rarest(RAREST)
            read += min(max(1, MOST_PROPOSED // max(1, sum(rarest.values()))), MOST_RANGES - NEWEST_RANGES)
            yield from self._ids(self._asked(self._ranges[len(ranges) : read], [*rarest]))
        if len(self._ranges) > read:
            self.down_to = self._ranges[read - 1].first

    def _asked(self, ranges: Sequence[Range], terms: Sequence[str]) -> Proposals:
        pipe = self._store.pipeline()
        proposals = ask_proposals(pipe, ranges, terms)
        pipe.execute()
        return proposals.value

    def _ids(self, proposals: Proposals) -> Iterator[int]:
        first, after = self._within
        return (pid for pid in proposals.ids() if first <= pid < after)
