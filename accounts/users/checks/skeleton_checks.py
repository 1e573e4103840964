"""Checks: usernames whose look is not in `skeletons`, and entries that no username has.

Sites of older versions and official databases have no `skeletons`. Of several old accounts that look alike, the first
has the entry, and all of them stay.
"""

from collections.abc import Sequence
from functools import partial

from accounts.users.names import holders, skeletons
from accounts.users.site_lines import uids_in_order
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, confirmed
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_id

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
