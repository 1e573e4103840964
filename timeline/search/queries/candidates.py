"""The posts that may fit a query, the newest first, from as many ranges of ids as a page needs and may read."""

from collections.abc import Sequence

from retwis_site.store.client import Store
from timeline.search.index.ranges import Range
from timeline.search.queries.dates import Bounds
from timeline.search.queries.proposals import Proposals, ask_proposals
from timeline.search.queries.scopes import Among

NEWEST_RANGES = 2  # that are read for all terms
MOST_RANGES = 64  # a page; a million posts with ids from a counter
RAREST = 2  # terms for which further ranges are read
MOST_PROPOSED = 200_000  # posts that further ranges may have under these terms: some 1 MB


class Candidates:
    """Proposed posts in the scope of a search. `read_newest` comes first."""

    def __init__(
        self, store: Store, terms: Sequence[str], ranges: Sequence[Range], within: Bounds, among: Among
    ) -> None:
        """`ranges`: the newest first, at most MOST_RANGES and one more."""
        self._store = store
        self._terms = terms
        self._within = within
        self._among = among
        self._rest = tuple(each for each in ranges if each.after > within.first and each.first < within.after)
        self._can_read_further = False
        self.ids: list[int] = []
        self.down_to: int | None = None  # all from here up were looked at; None: all

    def read_newest(self, known: Proposals | None) -> None:
        """Those of the newest ranges, `known` if they were asked for before. At most one round trip, and one or two for
        a scope."""
        ranges = self._rest[:NEWEST_RANGES]
        if not ranges:
            return
        self._newest = known if known is not None and known.ranges == ranges else self._asked(ranges, self._terms)
        self._can_read_further = self._add(self._newest)

    def read_further(self) -> None:
        """Those of further ranges, as many as bounds allow, once. Round trips as for `read_newest`."""
        if not self._can_read_further:
            return
        rarest = self._newest.rarest(RAREST)
        number = max(1, MOST_PROPOSED // max(1, sum(rarest.values())))
        self._add(self._asked(self._rest[: min(number, MOST_RANGES - NEWEST_RANGES)], [*rarest]))
        self._can_read_further = False

    def _asked(self, ranges: Sequence[Range], terms: Sequence[str]) -> Proposals:
        pipe = self._store.pipeline()
        proposals = ask_proposals(pipe, ranges, terms)
        pipe.execute()
        return proposals.value

    def _add(self, proposals: Proposals) -> bool:
        """Returns whether there are further ranges to read."""
        ids = [pid for pid in proposals.ids() if self._within.first <= pid < self._within.after]
        looked_at = ids[: self._among.most]
        self.ids += self._among.some(looked_at) if looked_at else []
        self._rest = self._rest[len(proposals.ranges) :]
        if len(looked_at) < len(ids):
            self.down_to = looked_at[-1]
            return False
        self.down_to = proposals.ranges[-1].first if self._rest else None
        return bool(self._rest)
