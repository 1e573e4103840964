"""A timeline as a list that may vanish: how it is read, pushed to, and rebuilt behind a fence.

Homes (`posts:<uid>`) and the global `timeline` are caches: about the newest 1000 ids, in a list because that costs 6 KB
where a sorted set would cost 100 KB. Ids are pushed at the head in whatever order deliveries run, so a reader sorts
them. Two kinds of marks stand among the ids:

    b<n>   a rebuild began here; `n` is that rebuild's own
    -H     a rebuild ended: every source was read down to the id H (0: to its very beginning)

The second is inserted right after its own `b<n>`, so a list that was dropped and begun anew meanwhile refuses it.
"""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from retwis_site.exceptions import StoreReadOnly
from retwis_site.store import Pipe, Store

KEPT = 1000  # ids that a list is cut to
CUT_ABOVE = 1100  # length from which it is cut: cutting at every push would double the writes
WHOLE_FROM = 900  # length from which a list without marks counts as whole: its marks were cut off its tail
TRUSTED = 800  # how many of such a list's highest ids are relied on
FIRST_READ = 200  # entries that a first page reads
FIRST_TRUSTED = 150  # of those, likewise
REBUILD_TRIES = 3


@dataclass(frozen=True, slots=True)
class Listing:
    """What a list says: ids without repeats, newest first, none below the horizon; whether it can be relied on."""

    ids: list[int]
    horizon: int  # from here down the list says nothing; 0: it reaches to the beginning
    complete: bool


def parse(entries: Sequence[str], all_read: bool) -> Listing:
    """Make sense of a list's entries; `all_read` when they are the whole list and not only its head."""
    ids: set[int] = set()
    ends: list[int] = []
    begun = False
    for entry in entries:
        if entry.startswith("b"):
            begun = True
        elif entry == "0" or entry.startswith("-"):
            ends.append(-int(entry))
        else:
            ids.add(int(entry))
    newest_first = sorted(ids, reverse=True)
    horizon = max(ends, default=0)
    if all_read and len(entries) < WHOLE_FROM:
        return Listing([pid for pid in newest_first if pid >= horizon], horizon, complete=bool(ends))
    # The marks of a long list may lie beyond what was read, or have been cut off. Its lowest ids are not relied on:
    # one that was pushed late can stand where higher ones are missing.
    trusted = newest_first[: TRUSTED if all_read else FIRST_TRUSTED]
    horizon = max(horizon, trusted[-1] if trusted else 0)
    return Listing([pid for pid in trusted if pid >= horizon], horizon, complete=bool(ends) or not begun)


@dataclass(frozen=True, slots=True)
class Merge:
    """What a list's sources hold: the newest ids, complete down to the horizon (0: to the beginning)."""

    ids: list[int]
    horizon: int


def merge(slices: Iterable[Sequence[int]], slice_length: int, keep: int = KEPT) -> Merge:
    """The newest `keep` ids of several sources, each given newest first and cut at `slice_length`.

    A source that fills its slice may go on below it, so nothing below its last id is known to be complete.
    """
    horizon = 0
    ids: set[int] = set()
    for piece in slices:
        ids.update(piece)
        if len(piece) >= slice_length:
            horizon = max(horizon, piece[-1])
    newest_first = sorted(ids, reverse=True)
    if len(newest_first) > keep:
        horizon = max(horizon, newest_first[keep - 1])
    return Merge([pid for pid in newest_first if pid >= horizon], horizon)


class TimelineList:
    """One such list in the store."""

    def __init__(self, store: Store, key: str) -> None:
        self._store = store
        self.key = key

    def queue_head(self, pipe: Pipe) -> None:
        """Ask for what a first page needs; for `parse(reply, all_read=len(reply) < FIRST_READ)`."""
        pipe.lrange(self.key, 0, FIRST_READ - 1)

    def queue_all(self, pipe: Pipe) -> None:
        """Ask for the whole list; for `parse(reply, all_read=True)`."""
        pipe.lrange(self.key, 0, -1)

    def begin(self, present: bool, expire: int | None) -> str:
        """Put up a rebuild's first mark, and return it. One round trip; two when an unfinished list is `present`."""
        mark = f"b{secrets.token_hex(4)}"
        if present:
            self._store.unlink(self.key)
        pipe = self._store.pipeline()
        pipe.rpush(self.key, mark)
        if expire is not None:
            pipe.expire(self.key, expire)
        pipe.execute()
        return mark

    def finish(self, mark: str, found: Merge) -> bool:
        """Fill in what the rebuild found and mark its end. Two round trips.

        False when the list was dropped since `begin`: what was found may be out of date.
        """
        if found.ids:
            self._store.rpushx(self.key, [str(pid) for pid in found.ids])
        # LINSERT answers 0 without the list and -1 without our mark in it: both say that it was dropped meanwhile.
        return self._store.linsert_after(self.key, mark, str(-found.horizon)) > 0

    def drop(self, pids: Sequence[int]) -> None:
        """Take dead ids out. One round trip, if there are any. A store that takes no writes keeps them."""
        pipe = self._store.pipeline()
        for pid in pids:
            pipe.lrem_all(self.key, str(pid))
        try:
            pipe.execute()
        except StoreReadOnly:
            return
