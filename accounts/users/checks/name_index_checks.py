"""Checks: entries of `users_by_name` that are missing, stale, or have a wrong score."""

from collections.abc import Collection, Iterator, Sequence
from functools import partial

from accounts.users.checks.account_checks import owned_names
from accounts.users.name_index import NameIndex, Stored, right_entries
from accounts.users.names import holders, parse, skeletons
from accounts.users.repository import spellings
from retwis_site.maintenance.checks import (
    Built,
    Check,
    Chunks,
    Finding,
    check_of,
    confirmed,
    scored_in,
    texts_in,
)
from retwis_site.maintenance.lines import uids_in_order
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.commands import Scored
from retwis_site.store.ids import parse_id

OwnedEntry = tuple[str, int]  # an entry, and the uid that it leads to


class NameIndexChecks:
    """Checks of the index of names. They rely on AccountChecks, which come first and repair names and uids."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._index = NameIndex(store)

    def inconsistencies(self) -> list[Check]:
        return [
            check_of(
                self._store,
                "names that users_by_name lacks",
                keys.users,
                self._lacking,
                "users_by_name lacks {0!r}",
                lambda _, uid: self._index.make_match({uid: []}),
                read=self._users,
                jobs=lambda entry, uid: keys.users_by_name.jobs_on(entry, str(uid)),
                subject=lambda one: one[1],
                built=Built(keys.users_by_name(), self._index_all),
            ),
            check_of(
                self._store,
                "scores in users_by_name that are not 0",
                keys.users_by_name,
                _scored,
                "{0!r} has the score {1:g}",
                lambda entry, _: self._store.zadd(keys.users_by_name(), {entry: 0}),
                read=scored_in,
            ),
        ]

    def orphans(self) -> list[Check]:
        return [
            check_of(
                self._store,
                "stale entries in users_by_name",
                keys.users_by_name,
                self._stale,
                "{0!r} leads to no user with that name",
                lambda entry, uid: self._index.make_match({uid: [entry]}),  # it stays where it is right by now
                read=owned_entries,
                after=True,
            )
        ]

    def _index_all(self) -> None:
        for batch in self._users(self._store, [keys.users()]):
            self._index.make_match({uid: [] for uid in batch})

    def _users(self, store: Store, names: list[str]) -> Iterator[list[int]]:
        """The uids that their own names lead to, in chunks. AccountChecks find the others."""
        for batch in owned_names(store, names):
            stored = self._index.stored({uid for _, uid in batch})
            yield sorted({uid for name, uid in batch if name in _as_typed_or_lower(stored[uid])})

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

    def _stale(self, owned: Sequence[OwnedEntry]) -> list[OwnedEntry]:
        """Members that are no entry, or lead to no user, to a deleted account, or to a user with another name."""
        stored = self._index.stored({uid for _, uid in owned})
        return [(entry, uid) for entry, uid in owned if entry not in right_entries(uid, stored[uid])]


def _scored(entries: Scored) -> Scored:
    """Entries with a score other than 0. The set is in the order of its bytes only while all scores are equal."""
    return [(entry, score) for entry, score in entries if score != 0]


def owned_entries(store: Store, names: list[str]) -> Iterator[list[OwnedEntry]]:
    """The members of `users_by_name`; with 0 what is no entry."""
    return ([(member, (parse(member) or ("", 0))[1]) for member in chunk] for chunk in texts_in(store, names))


def _as_typed_or_lower(stored: Stored) -> set[str]:
    return set() if stored.username is None else set(spellings(stored.username))


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
        return [Check("names that skeletons lacks", at_end=self.lacking)]

    def orphans(self) -> list[Check]:
        return [
            check_of(
                self._store,
                "stale entries in skeletons",
                keys.skeletons,
                self._wrong,
                "skeletons has {0!r}, and no user has such a name",
            )
        ]

    def lacking(self) -> Chunks:
        """Usernames, those of deleted accounts too, whose look no username holds. One finding and one repair for all
        of a chunk. In the order of ids, so that of two accounts that look alike the first one gets the entry."""
        for uids in uids_in_order(self._store):
            lost = confirmed(self._store, self._lacking(uids), self._lacking, lambda uid: {f"user:{uid}"})
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
