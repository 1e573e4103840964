"""A timeline as a cached list: how it is read, pushed to, and rebuilt.

Home timelines (`posts:<uid>`) and the global `timeline` are caches of about the newest 1000 ids. As a list, these take
6 KB; as a sorted set, 100 KB. Deliveries push ids at the head in any order, so a reader sorts them. A list has four
more kinds of entries:

    b<n>   rebuild token: a rebuild began; `n` is random, so each rebuild has its own
    -H     complete-down-to id: a rebuild ended; it had read every source down to the id H. `0`: to the beginning
    b<n>:  label: the ids that the rebuild with the token `b<n>` had read come next
    x      padding: it replaces a removed dead id

A rebuild inserts its `-H` directly after its token. When the list was dropped and begun anew meanwhile, the token is
gone and the store refuses the insert. But the ids are pushed already, and too old: a list whose first label has no
token is not complete. Padding keeps a list that was cut as long as it was. A shorter list would look as if it had never
been cut, and a `-H` in it would be trusted. The global timeline may have several lists (`shards`). All lengths below
are then divided by their number.
"""

import secrets
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import methodcaller
from typing import NamedTuple

from retwis_site.exceptions import StoreReadOnly, StoreRefused
from retwis_site.store.client import Pipe, Reply, Store, for_each
from retwis_site.store.commands import Question
from retwis_site.store.ids import note_bad, stored_numbers
from retwis_site.store.kinds import OfId
from retwis_site.store.local_cache import Memory

# All of these count entries.
KEPT = 1000  # a list is cut to this length
CUT_ABOVE = 1100  # a list is cut when it is longer; a cut at every push would double the writes
MAYBE_CUT_FROM = 900  # from this length on, a cut may have taken the token and the `-H` off the tail
TRUSTED = 800  # the highest ids of such a list that are shown
MOST_PADDING = 100  # in such a list; with more padding, its TRUSTED highest ids would reach too far down
FIRST_READ = 100  # a first page reads these, and one more for a label
FIRST_TRUSTED = 60  # the highest ids among FIRST_READ entries that are shown

REBUILD_TRIES = 3
PADDING = "x"
MARKS = ("b", "-", PADDING)  # the beginnings of the entries that are no ids
_is_token = methodcaller("startswith", "b")

RENEWED_EVERY = 24 * 3600  # seconds after which a read sets the expiry of a list again


class Head(NamedTuple):
    """What a page has asked of a list."""

    entries: Sequence[str]
    expires_in: int | None  # seconds; negative for a list that never expires or is not there; None: not asked


def entries_for(before: int | None, shards: int = 1) -> int:
    """The place of the last entry that a page below the cursor `before` reads: of the whole list, if there is one."""
    return FIRST_READ // shards if before is None else -1


def head_of(kind: OfId, before: int | None) -> Question[Head]:
    """For a list of a user that expires: the entries that a page needs."""
    last = entries_for(before)
    return Question(("LRANGE", kind, 0, last), ("TTL", kind), read=lambda uid, replies: Head(*replies))


@dataclass(frozen=True, slots=True)
class ListContent:
    """The ids of a list, or of all its sources: unique, newest first, none below `complete_down_to`."""

    ids: list[int]
    complete_down_to: int  # below this id, posts may be missing; 0: the list reaches to the beginning
    complete: bool = True  # False: ids may be missing anywhere, so the list must be rebuilt


def parse_whole(key: str, entries: Sequence[str], shards: int = 1) -> ListContent:
    """Parse all entries of the list `key`."""
    if len(entries) >= MAYBE_CUT_FROM // shards:
        content = _content_of_part(*_parsed(key, entries, TRUSTED // shards))
        return replace(content, complete=content.complete and entries.count(PADDING) <= MOST_PADDING // shards)
    ids, complete_down_to, _ = _parsed(key, entries, len(entries))
    lowest = complete_down_to or 0
    return ListContent(_down_to(lowest, ids), lowest, complete=complete_down_to is not None)


def parse_head(key: str, entries: Sequence[str], shards: int = 1) -> ListContent:
    """Parse the entries of the list `key` that a first page reads."""
    if len(entries) <= FIRST_READ // shards:
        return parse_whole(key, entries, shards)
    return _content_of_part(*_parsed(key, entries, FIRST_TRUSTED // shards))


def _parsed(key: str, entries: Sequence[str], most: int) -> tuple[list[int], int | None, bool]:
    """The highest ids, unique, newest first, at most `most`; the highest complete-down-to id, None without one; whether
    there is a token. To make a number of a text costs more than all else here, so only these ids are made. A bad text
    among the highest takes the place of an id."""
    texts = sorted(dict.fromkeys(entries))  # nearly sorted already
    first, end = bisect_left(texts, "0"), bisect_left(texts, ":")  # what comes after "9"
    decimal, others = texts[first:end], texts[:first] + texts[end:]
    complete = stored_numbers(key, [entry[1:] for entry in others if entry.startswith("-")])
    if decimal and decimal[0] == "0":  # no post has this id
        complete.append(0)
        del decimal[0]
    decimal.sort(key=len)  # in the order of their numbers now
    ids = stored_numbers(key, decimal[-most:])[::-1]
    for entry in others:
        if not entry.startswith(MARKS):
            note_bad(key, entry)
    labels = [entry for entry in others if entry.endswith(":")]
    if labels and min(labels, key=entries.index)[:-1] not in others:  # as if a rebuild had not ended
        return ids, None, True
    return ids, max(complete, default=None), any(map(_is_token, others))


def _content_of_part(trusted: list[int], complete_down_to: int | None, has_token: bool) -> ListContent:
    """The content of a list of which only the head is known: its `-H` may lie deeper, or a cut has taken it.

    `trusted` are the highest ids of that head. The lowest are left out: an id that was pushed late may stand where
    higher ids are missing. A token without a `-H` says that a rebuild has not ended.
    """
    lowest = max(complete_down_to or 0, trusted[-1] if trusted else 0)
    complete = bool(trusted) and (complete_down_to is not None or not has_token)
    return ListContent(_down_to(lowest, trusted), lowest, complete)


def _down_to(lowest: int, ids: list[int]) -> list[int]:
    """The ids, highest first, without those below `lowest`."""
    return ids if not ids or ids[-1] >= lowest else [pid for pid in ids if pid >= lowest]


@dataclass(frozen=True, slots=True)
class Slice:
    """The first ids of one source, in the order in which they are looked at: mostly newest first."""

    ids: list[int]
    has_more: bool  # whether the source may have others behind these


def merge(slices: Iterable[Slice], keep: int = KEPT) -> ListContent:
    """The newest `keep` ids of several sources. It is complete down to the highest end of a slice that has more."""
    complete_down_to = 0
    ids: set[int] = set()
    for piece in slices:
        ids.update(piece.ids)
        if piece.has_more:
            complete_down_to = max(complete_down_to, piece.ids[-1])
    newest_first = sorted(ids, reverse=True)
    if len(newest_first) > keep:
        complete_down_to = max(complete_down_to, newest_first[keep - 1])
    return ListContent([pid for pid in newest_first if pid >= complete_down_to], complete_down_to)


def _with_listed(key: str, entries: Sequence[str], merged: ListContent) -> ListContent:
    """The content of a list that cannot be rebuilt: its sources, and what it has. A database of the official Retwis has
    lists and no `updates:`."""
    lowest = merged.complete_down_to
    ids = {pid for pid in (*merged.ids, *parse_whole(key, entries).ids) if pid >= lowest}
    return ListContent(sorted(ids, reverse=True), lowest)


def queue_cut(pipe: Pipe, key: str, length: int, shards: int = 1) -> None:
    """Cut a list after a push, when its new `length` is above CUT_ABOVE."""
    if length > CUT_ABOVE // shards:
        pipe.ltrim(key, 0, KEPT // shards - 1)


def queue_cuts(pipe: Pipe, keys: Sequence[str], lengths: Sequence[int]) -> None:
    """Cut many lists after pushes that made them so long. Nearly always none is too long."""
    if max(lengths, default=0) > CUT_ABOVE:
        for key, length in zip(keys, lengths, strict=True):
            queue_cut(pipe, key, length)


_Rebuild = Future[ListContent | None]  # None: there was no proof that the list is complete
_under_way: dict[tuple[Store, str], _Rebuild] = {}  # the rebuilds of this process
_just_rebuilt: Memory[str, bool] = Memory(size=1000, seconds=5)  # by this process


class TimelineList:
    """A cached list in the store."""

    def __init__(self, store: Store, key: str, expires_after: int | None, shards: int = 1) -> None:
        """`expires_after`: seconds without a read until the store removes it, None for never. `shards`: the number of
        lists that the timeline has."""
        self._store = store
        self._key = key
        self._expires_after = expires_after
        self._shards = shards

    def ask_entries(self, pipe: Pipe, before: int | None) -> Reply[list[str]]:
        """Ask for the entries that a page needs, of a list that never expires. One command."""
        return pipe.lrange(self._key, 0, entries_for(before, self._shards))

    def page(self, head: Head, before: int | None, read_sources: Callable[[], ListContent]) -> ListContent:
        """The content, from the answer to `head_of` or `ask_entries`. A list that is not complete is rebuilt.

        At most one round trip a day, to renew the expiry; a rebuild costs those of `_rebuild`.
        """
        content = (parse_head if before is None else parse_whole)(self._key, head.entries, self._shards)
        if content.complete:
            self._renew_expiry(head.expires_in)
            return content
        return self._rebuilt_once(head.entries, read_sources)

    def read(self) -> ListContent:
        """The content of the whole list, complete or not; nothing is rebuilt. One round trip."""
        return parse_whole(self._key, self._store.lrange(self._key, 0, -1), self._shards)

    def _rebuilt_once(self, stale: Sequence[str], read_sources: Callable[[], ListContent]) -> ListContent:
        """The content after a rebuild. However many threads find the list incomplete, one rebuilds it, the others wait.

        They may take its result, although they came later: its `-H` proves that the list was not dropped since the
        rebuild began, so its sources had all that anyone has done before. Without that proof they begin again. A thread
        whose `stale` entries are older than the last rebuild looks at the list again: one round trip.
        """
        mine: _Rebuild = Future()
        while (under_way := _under_way.setdefault((self._store, self._key), mine)) is not mine:
            content = under_way.result()
            if content is not None:
                return content
        try:
            content, proven = self._rebuild(stale, read_sources)
        except BaseException as error:
            del _under_way[self._store, self._key]
            mine.set_exception(error)
            raise
        _just_rebuilt.put(self._key, True)
        del _under_way[self._store, self._key]
        mine.set_result(content if proven else None)
        return content

    def _rebuild(self, stale: Sequence[str], read_sources: Callable[[], ListContent]) -> tuple[ListContent, bool]:
        """The content, and whether it is proven: see `_rebuilt_once`.

        Three round trips and those of the sources; one more to remove stale entries. A follow or unfollow drops the
        list. When the token shows such a drop, the sources may have been read too early: the rebuild starts again.
        After REBUILD_TRIES the last result is returned, and the next read rebuilds. A read-only store is not written
        to. `tests/model/lists/` explores all interleavings of these commands, with crashes.
        """
        if _just_rebuilt.get(self._key):
            stale = self._store.lrange(self._key, 0, -1)
            content = parse_whole(self._key, stale, self._shards)
            if content.complete:
                return content, True
        for _ in range(REBUILD_TRIES):
            try:
                token = self._begin(stale)
                merged = read_sources()
                if self._finish(token, merged):
                    return merged, True
            except StoreReadOnly:  # nobody can have done anything since
                return _with_listed(self._key, stale, read_sources()), True
            stale = ()
        return merged, False

    def _renew_expiry(self, expires_in: int | None) -> None:
        """Keep a list that is read. At most one round trip a day."""
        if self._expires_after is None or expires_in is None or expires_in > self._expires_after - RENEWED_EVERY:
            return
        with suppress(StoreReadOnly):  # it can wait: a list stays for days
            self._store.expire(self._key, self._expires_after)

    def _begin(self, stale: Sequence[object]) -> str:
        """Remove stale entries and push a new token, which is returned. At most two round trips."""
        token = f"b{secrets.token_hex(4)}"
        if stale:
            self._store.unlink(self._key)
        with self._store.pipeline() as pipe:
            pipe.rpush(self._key, token)
            if self._expires_after is not None:
                pipe.expire(self._key, self._expires_after)
        return token

    def _finish(self, token: str, merged: ListContent) -> bool:
        """Push label and ids, and insert the `-H`. Returns False when the list was dropped meanwhile. One round trip.

        Both commands are for one key, so the server runs them in this order everywhere. When it refuses one of them,
        the list may have a `-H` without the ids: it is dropped."""
        try:
            with self._store.pipeline() as pipe:
                pipe.rpushx(self._key, [f"{token}:", *map(str, merged.ids)])
                place = pipe.linsert_after(self._key, token, str(-merged.complete_down_to))
        except StoreRefused:
            self._store.unlink(self._key)
            raise
        # LINSERT returns 0 without the list, and -1 without the token: in both cases the list was dropped meanwhile.
        return place.value > 0


def remove_dead(store: Store, dead: Mapping[str, Sequence[int]]) -> None:
    """Remove one occurrence of each dead id, by the key of its list. One round trip, none without ids. Padding goes in
    first, so no list gets shorter. A read-only store keeps them: readers skip them.

    A server without memory refuses the padding, and removes the ids all the same: so these lists are dropped, in one
    round trip more."""
    pipe = store.pipeline()  # no block: pages call this, nearly always without any, and it takes two Python calls
    for key, pids in dead.items():
        pipe.rpushx(key, [PADDING] * len(pids))
        for pid in pids:
            pipe.lrem_first(key, str(pid))
    with suppress(StoreReadOnly):
        try:
            pipe.execute()
        except StoreReadOnly:
            for_each(store, lambda pipe, key: pipe.unlink(key), dead)
