"""Checks of `muted_words:`: each member names words, and has not ended. Readers skip the others."""

import time
from collections.abc import Iterator
from functools import partial

from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, ids_of
from retwis_site.store import keys
from retwis_site.store.chunks import batches, newest_first_of_each
from retwis_site.store.client import Store
from timeline.relations.words.muted_words import parse

Row = tuple[int, str, float]  # the user, the member, its score


class WordChecks:
    """Searches the muted words. `TruthChecks` find those of unknown users."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def inconsistencies(self) -> list[Check]:
        return [Check("members of muted_words: that are no words", self.bad_members, self._store.dbsize)]

    def orphans(self) -> list[Check]:
        return [Check("entries of muted_words: that have ended", self.ended, self._store.dbsize)]

    def bad_members(self) -> Chunks:
        for rows in self._rows():
            yield [
                Finding(f"{keys.muted_words(uid)} has {member!r}", partial(self._remove, uid, member))
                for uid, member, _ in rows
                if parse(member) is None
            ]

    def ended(self) -> Chunks:
        for rows in self._rows():
            now = time.time()
            yield [
                Finding(f"{keys.muted_words(uid)} has ended words", partial(self._remove_ended, uid, member))
                for uid, member, until in rows
                if until < now
            ]

    def _rows(self) -> Iterator[list[Row]]:
        for uids in ids_of(self._store, "muted_words:*"):
            rows = newest_first_of_each(self._store, {uid: keys.muted_words(uid) for uid in uids})
            yield from batches(rows, AT_ONCE)

    def _remove(self, uid: int, member: str) -> None:
        self._store.zrem(keys.muted_words(uid), member)

    def _remove_ended(self, uid: int, member: str) -> None:
        """Remove words, unless they have been muted again meanwhile."""
        until = self._store.zscore(keys.muted_words(uid), member)
        if until is not None and until < time.time():
            self._remove(uid, member)
