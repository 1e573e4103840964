"""The kinds of notices that a user has turned off: the field `quiet` of the user's hash."""

from collections.abc import Collection

from accounts.users.repository import Users
from retwis_site.store import keys
from retwis_site.store.client import Store
from timeline.notices.entities import CAN_BE_QUIET, Kind
from timeline.notices.welcome import turned_off


class QuietKinds:
    """Which kinds a user gets. What was written before stays."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def wanted(self, uid: int) -> list[Kind]:
        """The kinds that are not turned off. One round trip."""
        quiet = turned_off(self._store.hget(keys.user(uid), "quiet"))
        return [kind for kind in CAN_BE_QUIET if kind not in quiet]

    def want(self, uid: int, kinds: Collection[str]) -> None:
        """Turn off all other kinds. One round trip, two for a deleted account."""
        Users(self._store).write(uid, {"quiet": " ".join(kind for kind in CAN_BE_QUIET if kind not in kinds)})
