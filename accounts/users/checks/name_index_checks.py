"""People whom their names do not find: `users_by_name` against what they are called."""

from collections.abc import Collection, Iterator, Sequence
from functools import partial

from accounts.users.name_index import NameIndex, Stored, right_entries
from accounts.users.names import parse
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, confirmed
from retwis_site.store import keys
from retwis_site.store.client import Store

Filed = tuple[str, int]  # an entry, and the uid of whoever has it, or should


class NameIndexChecks:
    """Searches in the index of names. Names and uids must be right before."""

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
        """Names of people that do not lead to them. Where there is no entry at all, as in a database from elsewhere,
        one finding stands for all."""
        for batch in self._users():
            lost = confirmed(self._store, self._lacking(batch), _explained, self._still_lacking)
            if lost and not self._size():
                yield [Finding("there is no users_by_name, as in a database from elsewhere", self._file_all)]
                return
            yield [
                Finding(f"users_by_name lacks {found!r}", partial(self._index.make_match, {uid: []}))
                for found, uid in lost
            ]

    def _file_all(self) -> None:
        for batch in self._users():
            self._index.make_match({uid: [] for uid in batch})

    def _users(self) -> Iterator[list[int]]:
        """Uids, in chunks, of those whose own name leads to them: who has another or none is found elsewhere."""
        for batch in self._store.hash_fields(keys.users(), AT_ONCE):
            named = [(name, int(uid)) for name, uid in batch if uid.isdecimal()]
            stored = self._index.stored({uid for _, uid in named})
            yield sorted({uid for name, uid in named if name in _as_typed_or_lower(stored[uid])})

    def _lacking(self, uids: Collection[int]) -> list[Filed]:
        """The entries of these that are not there. Two round trips."""
        right = [
            (found, uid)
            for uid, stored in self._index.stored(uids).items()
            for found in sorted(right_entries(uid, stored))
        ]
        pipe = self._store.pipeline()
        for found, _ in right:
            pipe.zscore(keys.users_by_name(), found)
        return [filed for filed, score in zip(right, pipe.execute(), strict=True) if score is None]

    def _still_lacking(self, lost: Sequence[Filed]) -> list[Filed]:
        return self._lacking({uid for _, uid in lost})

    def scored(self) -> Chunks:
        """Entries out of their place: the order is that of their bytes only while all scores are alike."""
        for scored in self._store.zset_scored(keys.users_by_name(), AT_ONCE):
            yield [
                Finding(
                    f"{found!r} has the score {score:g}", partial(self._store.zadd, keys.users_by_name(), {found: 0})
                )
                for found, score in scored
                if score != 0
            ]

    def stale(self) -> Chunks:
        """Entries that are none, or lead to nobody, to a deleted account, or to somebody who goes by another name."""
        for members in self._store.zset_members(keys.users_by_name(), AT_ONCE):
            filed = [(member, (parse(member) or ("", 0))[1]) for member in members]
            yield [
                Finding(f"{found!r} leads to nobody of that name", partial(self._take_out, found, uid))
                for found, uid in confirmed(self._store, self._stale(filed), _explained, self._stale)
            ]

    def _stale(self, filed: Sequence[Filed]) -> list[Filed]:
        stored = self._index.stored({uid for _, uid in filed})
        return [(found, uid) for found, uid in filed if found not in right_entries(uid, stored[uid])]

    def _take_out(self, found: str, uid: int) -> None:
        """Unless it is right by now."""
        self._index.make_match({uid: [found]})


def _as_typed_or_lower(stored: Stored) -> set[str]:
    username, *_ = stored
    return set() if username is None else {username, username.lower()}


def _explained(filed: Filed) -> set[str]:
    """The beginnings of the intents of whatever may be done to somebody's entries."""
    return {f"{kind}:{filed[1]}" for kind in ("user", "name", "gone")}
