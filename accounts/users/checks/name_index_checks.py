"""Checks: entries of `users_by_name` that are missing, stale, or have a wrong score."""

from collections.abc import Collection, Iterator, Sequence
from functools import partial

from accounts.users.name_index import NameIndex, Stored, right_entries
from accounts.users.names import parse
from accounts.users.repository import spellings
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, confirmed
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_id

OwnedEntry = tuple[str, int]  # an entry, and the uid that it leads to


class NameIndexChecks:
    """Checks of the index of names. They rely on AccountChecks, which come first and repair names and uids."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._index = NameIndex(store)

    def inconsistencies(self) -> list[Check]:
        return [
            Check("names that users_by_name lacks", self.lacking, lambda: self._store.hlen(keys.users())),
            Check("scores in users_by_name that are not 0", self.scored, self._size),
        ]

    def orphans(self) -> list[Check]:
        return [Check("stale entries in users_by_name", self.stale, self._size)]

    def _size(self) -> int:
        return self._store.zcard(keys.users_by_name())

    def lacking(self) -> Chunks:
        """Names of users without an entry. When the whole index is missing, as in a foreign database, one finding
        stands for all."""
        for batch in self._users():
            lost = confirmed(self._store, self._lacking(batch), _explained_by, self._still_lacking)
            if lost and not self._size():
                yield [Finding("there is no users_by_name, as in a foreign database", self._index_all)]
                return
            yield [
                Finding(f"users_by_name lacks {entry!r}", partial(self._index.make_match, {uid: []}))
                for entry, uid in lost
            ]

    def _index_all(self) -> None:
        for batch in self._users():
            self._index.make_match({uid: [] for uid in batch})

    def _users(self) -> Iterator[list[int]]:
        """The uids that their own names lead to, in chunks. AccountChecks find the others."""
        for batch in self._store.hash_fields(keys.users(), AT_ONCE):
            fields = [(name, uid) for name, text in batch if (uid := parse_id(text))]
            stored = self._index.stored({uid for _, uid in fields})
            yield sorted({uid for name, uid in fields if name in _as_typed_or_lower(stored[uid])})

    def _lacking(self, uids: Collection[int]) -> list[OwnedEntry]:
        """The missing entries of these users. Two round trips."""
        right = [
            (entry, uid)
            for uid, stored in self._index.stored(uids).items()
            for entry in sorted(right_entries(uid, stored))
        ]
        pipe = self._store.pipeline()
        scores = [(owned, pipe.zscore(keys.users_by_name(), owned[0])) for owned in right]
        pipe.execute()
        return [owned for owned, score in scores if score.value is None]

    def _still_lacking(self, lost: Sequence[OwnedEntry]) -> list[OwnedEntry]:
        return self._lacking({uid for _, uid in lost})

    def scored(self) -> Chunks:
        """Entries with a score other than 0. The set is in the order of its bytes only while all scores are equal."""
        for scored in self._store.zset_scored(keys.users_by_name(), AT_ONCE):
            yield [
                Finding(
                    f"{entry!r} has the score {score:g}", partial(self._store.zadd, keys.users_by_name(), {entry: 0})
                )
                for entry, score in scored
                if score != 0
            ]

    def stale(self) -> Chunks:
        """Members that are no entry, or lead to no user, to a deleted account, or to a user with another name."""
        for members in self._store.zset_members(keys.users_by_name(), AT_ONCE):
            owned = [(member, (parse(member) or ("", 0))[1]) for member in members]
            yield [
                Finding(f"{entry!r} leads to no user with that name", partial(self._remove, entry, uid))
                for entry, uid in confirmed(self._store, self._stale(owned), _explained_by, self._stale)
            ]

    def _stale(self, owned: Sequence[OwnedEntry]) -> list[OwnedEntry]:
        stored = self._index.stored({uid for _, uid in owned})
        return [(entry, uid) for entry, uid in owned if entry not in right_entries(uid, stored[uid])]

    def _remove(self, entry: str, uid: int) -> None:
        """Remove an entry, unless it is right by now."""
        self._index.make_match({uid: [entry]})


def _as_typed_or_lower(stored: Stored) -> set[str]:
    return set() if stored.username is None else set(spellings(stored.username))


def _explained_by(owned: OwnedEntry) -> set[str]:
    """The beginnings of the jobs that change the entries of a user."""
    return {f"{kind}:{owned[1]}" for kind in ("user", "name", "gone")}
