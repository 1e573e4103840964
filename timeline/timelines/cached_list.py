"""A timeline as a list that may vanish: how it is read, pushed to, and rebuilt behind a fence.

Homes (`posts:<uid>`) and the global `timeline` are caches: about the newest 1000 ids, in a list because that costs 6 KB
where a sorted set would cost 100 KB. Ids are pushed at the head in whatever order deliveries run, so a reader sorts
them. Other entries stand among the ids:

    b<n>   a rebuild began here; `n` is that rebuild's own
    -H     a rebuild ended: every source was read down to the id H (0: to its very beginning)
    x      an id that died stood in the list; it is left as long as it was

The second is inserted right after its own `b<n>`, so a list that was dropped and begun anew meanwhile refuses it. The
third keeps a list that was cut from looking like one that never was, whose marks can be believed.

The global timeline may be shared by several lists. All lengths below are then divided by their number, `of`.
"""

import secrets
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import filterfalse

from retwis_site.exceptions import StoreReadOnly
from retwis_site.store.client import Pipe, Store
from retwis_site.store.local_cache import Memory, PageMemory

KEPT = 1000  # ids that a list is cut to
CUT_ABOVE = 1100  # length from which it is cut: cutting at every push would double the writes
WHOLE_FROM = 900  # length from which a list without marks counts as whole: its marks were cut off its tail
TRUSTED = 800  # how many of such a list's highest ids are relied on
LOST = 100  # dead ids that such a list may have lost; with more, its TRUSTED highest ids would reach too far down
FIRST_READ = 200  # entries that a first page reads
FIRST_TRUSTED = 150  # of those, likewise
REBUILD_TRIES = 3
PADDING = "x"

_renewed: Memory[str, bool] = Memory(size=20_000, seconds=3600)  # lists that were given new life within the hour


@dataclass(frozen=True, slots=True)
class ListContent:
    """What a list says: ids without repeats, newest first, none below the horizon; whether it can be relied on."""

    ids: list[int]
    complete_down_to: int  # from here down the list says nothing; 0: it reaches to the beginning
    complete: bool


_heads: PageMemory[str, tuple[Sequence[bytes], ListContent]] = PageMemory(size=1000, seconds=3600)  # some 20 MB


def _as_text(entries: Sequence[bytes]) -> list[str]:
    return [entry.decode(errors="replace") for entry in entries]


def parse_whole(entries: Sequence[str], of: int = 1) -> ListContent:
    """Make sense of a whole list."""
    ids, ends, begun = _sorted_out(entries)
    if len(entries) >= WHOLE_FROM // of:
        content = _relied_on(ids[: TRUSTED // of], ends, begun)
        return replace(content, complete=content.complete and entries.count(PADDING) <= LOST // of)
    complete_down_to = max(ends, default=0)
    return ListContent([pid for pid in ids if pid >= complete_down_to], complete_down_to, complete=bool(ends))


def parse_head(entries: Sequence[str], of: int = 1) -> ListContent:
    """Make sense of a list's first FIRST_READ entries."""
    if len(entries) < FIRST_READ // of:
        return parse_whole(entries, of)
    ids, ends, begun = _sorted_out(entries)
    return _relied_on(ids[: FIRST_TRUSTED // of], ends, begun)


def _sorted_out(entries: Sequence[str]) -> tuple[list[int], list[int], bool]:
    """Ids, newest first; the ends of rebuilds; whether one began."""
    ids = sorted(dict.fromkeys(map(int, filter(str.isdecimal, entries))), reverse=True)  # nearly sorted as they come
    marks = list(filterfalse(str.isdecimal, entries))
    ends = [int(mark[1:]) for mark in marks if mark.startswith("-") and mark[1:].isdecimal()]
    if ids and ids[-1] == 0:
        ends.append(ids.pop())
    return ids, ends, any(mark.startswith("b") for mark in marks)


def _relied_on(trusted: list[int], ends: list[int], begun: bool) -> ListContent:
    """A list of which not all is known: its marks may lie deeper, or may have been cut off. Its lowest ids are not
    relied on, since one that was pushed late can stand where higher ones are missing."""
    complete_down_to = max(max(ends, default=0), trusted[-1] if trusted else 0)
    complete = bool(trusted) and (bool(ends) or not begun)
    return ListContent([pid for pid in trusted if pid >= complete_down_to], complete_down_to, complete)


@dataclass(frozen=True, slots=True)
class Slice:
    """The newest ids of one source, newest first; whether it may go on below them."""

    ids: list[int]
    goes_on: bool


@dataclass(frozen=True, slots=True)
class Merge:
    """What a list's sources hold: the newest ids, complete down to the horizon (0: to the beginning)."""

    ids: list[int]
    complete_down_to: int


def merge(slices: Iterable[Slice], keep: int = KEPT) -> Merge:
    """The newest `keep` ids of several sources. Where one goes on below its slice, nothing below is complete."""
    complete_down_to = 0
    ids: set[int] = set()
    for piece in slices:
        ids.update(piece.ids)
        if piece.goes_on:
            complete_down_to = max(complete_down_to, piece.ids[-1])
    newest_first = sorted(ids, reverse=True)
    if len(newest_first) > keep:
        complete_down_to = max(complete_down_to, newest_first[keep - 1])
    return Merge([pid for pid in newest_first if pid >= complete_down_to], complete_down_to)


def queue_cut(pipe: Pipe, key: str, length: int, of: int = 1) -> None:
    """Cut a list that a push has made too long; for a shorter one, nothing."""
    if length > CUT_ABOVE // of:
        pipe.ltrim(key, 0, KEPT // of - 1)


class TimelineList:
    """One such list in the store, alone or one `of` several; `lives`: seconds until it goes by itself, None for
    never."""

    def __init__(self, store: Store, key: str, lives: int | None, of: int = 1) -> None:
        self._store = store
        self._key = key
        self._lives = lives
        self._of = of

    def queue_page(self, pipe: Pipe, before: int | None) -> None:
        """Ask for what a page below the cursor needs: the head for the first page, the whole list for later ones."""
        pipe.lrange_as_sent(self._key, 0, -1 if before is not None else FIRST_READ // self._of - 1)

    def page(self, entries: Sequence[bytes], before: int | None, sources: Callable[[], Merge]) -> ListContent:
        """The reply to `queue_page`, made sense of; rebuilt from the sources when the list cannot be relied on."""
        content = self._head(entries) if before is None else parse_whole(_as_text(entries), self._of)
        if content.complete:
            self._renew()
            return content
        found = self.rebuild(entries, sources)
        return ListContent(found.ids, found.complete_down_to, complete=True)

    def _head(self, entries: Sequence[bytes]) -> ListContent:
        """The reply to `queue_page` for a first page: what parse_head makes of it, or made of the very same entries."""
        known = _heads.get(self._key)
        if known is not None and known[0] == entries:
            return known[1]
        content = parse_head(_as_text(entries), self._of)
        _heads.put(self._key, (entries, content))
        return content

    def read(self) -> ListContent:
        """All that the list says, whether it can be relied on or not. One round trip."""
        return parse_whole(self._store.lrange(self._key, 0, -1), self._of)

    def rebuild(self, unfinished: Sequence[object], sources: Callable[[], Merge]) -> Merge:
        """Make the list anew from its sources, and return what they hold. `unfinished`: what stands there now.

        Three round trips and the sources' own; one more to take away what stands there. A fence notices that the list
        was dropped meanwhile (somebody followed or unfollowed): then what was found may be out of date, and it is done
        again; after a few times it is served as it is, and the next read rebuilds. A store that takes no writes is only
        read. Order of commands: the design's section 6, checked by trying every interleaving with crashes.
        """
        for _ in range(REBUILD_TRIES):
            try:
                mark = self._begin(unfinished)
                found = sources()
                if self._finish(mark, found):
                    return found
            except StoreReadOnly:
                return sources()
            unfinished = ()
        return found

    def _renew(self) -> None:
        """Let the list live on while it is read. At most one round trip an hour."""
        if self._lives is None or _renewed.get(self._key) is not None:
            return
        try:
            self._store.expire(self._key, self._lives)
        except StoreReadOnly:  # it can wait: a list lives for days
            return
        _renewed.put(self._key, True)

    def _begin(self, unfinished: Sequence[object]) -> str:
        mark = f"b{secrets.token_hex(4)}"
        if unfinished:
            self._store.unlink(self._key)
        pipe = self._store.pipeline()
        pipe.rpush(self._key, mark)
        if self._lives is not None:
            pipe.expire(self._key, self._lives)
            _renewed.put(self._key, True)
        pipe.execute()
        return mark

    def _finish(self, mark: str, found: Merge) -> bool:
        if found.ids:
            self._store.rpushx(self._key, [str(pid) for pid in found.ids])
        # LINSERT answers 0 without the list and -1 without our mark in it: both say that it was dropped meanwhile.
        return self._store.linsert_after(self._key, mark, str(-found.complete_down_to)) > 0

    def drop(self, pids: Sequence[int]) -> None:
        """Take dead ids out. One round trip, if there are any; a store that takes no writes keeps them: they are
        skipped when read."""
        pipe = self._store.pipeline()
        self.queue_drop(pipe, pids)
        with suppress(StoreReadOnly):
            pipe.execute()

    def queue_drop(self, pipe: Pipe, pids: Sequence[int]) -> None:
        """One occurrence of each dead id goes, and fillers come for them: the list stays as long as it was."""
        if pids:
            pipe.rpushx(self._key, [PADDING] * len(pids))
        for pid in pids:
            pipe.lrem_first(self._key, str(pid))
