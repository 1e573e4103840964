"""Checks: entries of `users_by_name` that are missing, stale, or have a wrong score."""

from collections.abc import Collection, Iterator, Sequence
from functools import partial

from accounts.users.name_index import NameIndex, Stored, right_entries
from accounts.users.names import holders, parse, skeletons
from accounts.users.repository import spellings
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, confirmed
from retwis_site.maintenance.lines import uids_in_order
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


# ---- Checks: usernames whose look is not in `skeletons`, and entries that no username has.
#
# Sites of older versions and official databases have no `skeletons`. Of several old accounts that look alike, the first
# has the entry, and all of them stay.


Entry = tuple[str, str]  # a field of `skeletons`: the skeleton, and the uid that it leads to


class SkeletonChecks:
    """Checks of `skeletons`. They rely on AccountChecks, which come first and repair names and uids."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def inconsistencies(self) -> list[Check]:
        return [Check("names that skeletons lacks", self.lacking, lambda: self._store.hlen(keys.users()))]

    def orphans(self) -> list[Check]:
        return [Check("stale entries in skeletons", self.stale, lambda: self._store.hlen(keys.skeletons()))]

    def lacking(self) -> Chunks:
        """Usernames, those of deleted accounts too, whose look no username holds. One finding and one repair for all
        of a chunk. In the order of ids, so that of two accounts that look alike the first one gets the entry."""
        for uids in uids_in_order(self._store):
            lost = confirmed(self._store, self._lacking(uids), lambda uid: {f"user:{uid}"}, self._lacking)
            what = f"the names of user {lost[0]}, and of {len(lost) - 1} more users" if lost else ""
            yield [Finding(what, partial(self._note, lost), len(lost))] if lost else []

    def _lacking(self, uids: Sequence[int]) -> list[int]:
        """Those of the users whose look nobody holds; of those that look alike, the first. Three round trips."""
        looks = {uid: skeletons(name) for uid, name in self._names(uids).items()}
        held = self._held({skeleton for some in looks.values() for skeleton in some})
        found = []
        for uid, some in looks.items():
            if not held.issuperset(some):
                found.append(uid)
                held.update(some)
        return found

    def _held(self, wanted: set[str]) -> set[str]:
        """Those of the skeletons that lead to a user with a name of this look. Two round trips."""
        if not wanted:
            return set()
        ordered = sorted(wanted)
        stored = zip(ordered, self._store.hmget(keys.skeletons(), ordered), strict=True)
        return wanted - {skeleton for skeleton, _ in self._wrong([(one, holder or "") for one, holder in stored])}

    def _note(self, uids: Sequence[int]) -> None:
        """Give users the looks of their names that nobody holds. Four round trips."""
        wanted = holders(self._names(uids))
        held = self._held(set(wanted))
        missing = {skeleton: uid for skeleton, uid in wanted.items() if skeleton not in held}
        if missing:
            self._store.hset(keys.skeletons(), missing)

    def stale(self) -> Chunks:
        """Entries that lead to no user with a name of this look."""
        for fields in self._store.hash_fields(keys.skeletons(), AT_ONCE):
            suspects = self._wrong(fields)
            yield [
                Finding(
                    f"skeletons has {skeleton!r}, and no user has such a name",
                    partial(self._store.hdel, keys.skeletons(), skeleton),
                )
                for skeleton, _ in confirmed(self._store, suspects, lambda one: {f"user:{one[1]}"}, self._wrong)
            ]

    def _wrong(self, entries: Sequence[Entry]) -> list[Entry]:
        """Those of the entries that lead to no user with a name of this look. One round trip."""
        names = self._names([uid for _, holder in entries if (uid := parse_id(holder)) is not None])
        named = [(one, names.get(parse_id(one[1]) or 0)) for one in entries]
        return [one for one, name in named if name is None or one[0] not in skeletons(name)]

    def _names(self, uids: Sequence[int]) -> dict[int, str]:
        """The usernames of those of the uids that have one. One round trip."""
        pipe = self._store.pipeline()
        asked = {uid: pipe.hget(keys.user(uid), "username") for uid in uids}
        pipe.execute()
        return {uid: name.value for uid, name in asked.items() if name.value}
