"""Checks: sessions and `auths` that do not fit together. The user's hash is the truth."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from accounts.signing_in.sessions.entities import SESSION, ended_in, sessions_in, too_many_in
from accounts.signing_in.sessions.repository import Sessions
from retwis_site.features import AddressOf, Line, Owner
from retwis_site.maintenance.checks import Check, check_of
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_id

Owned = tuple[int, str]  # a uid, and the secret of a session


class SessionChecks:
    """Checks of sessions. They rely on AccountChecks, which come first."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sessions = Sessions(store)

    def inconsistencies(self) -> list[Check]:
        check = partial(check_of, self._store)
        return [
            check(
                "sessions that auths lacks",
                keys.user,
                self._lost,
                "auths does not know a session of user {0}",
                self._restore,
                subject=lambda one: one[0],
            ),
            check(
                "users with too many sessions",
                keys.user,
                self._with_too_many,
                "user {0} has too many sessions",
                self._end_surplus,
            ),
        ]

    def orphans(self) -> list[Check]:
        check = partial(check_of, self._store)
        return [
            check("stale entries in auths", keys.auths, self._stale, "an old secret of user {1:.16}"),
            check(
                "fields of ended sessions",
                keys.user,
                self._with_ended,
                "ended sessions of user {0}",
                self._remove_ended,
            ),
        ]

    # ---- inconsistencies

    def _lost(self, uids: Sequence[int]) -> list[Owned]:
        """Sessions that stand, but that `auths` does not lead to: their cookies open nothing."""
        found = [(uid, one.secret) for uid, stored in self._users(uids).items() for one in sessions_in(stored)]
        pipe = self._store.pipeline()
        owners = [(one, pipe.hget(keys.auths(), one[1])) for one in found]
        pipe.execute()
        return [one for one, owner in owners if owner.value != str(one[0])]

    def _restore(self, uid: int, secret: str) -> None:
        """Two users never share a session: when `auths` leads to another one, it is that user's."""
        if not self._store.hsetnx(keys.auths(), secret, str(uid)):
            self._store.hdel(keys.user(uid), f"{SESSION}{secret}")

    def _with_too_many(self, uids: Sequence[int]) -> list[int]:
        """Users with more than MOST_SESSIONS: a login was killed before it ended one."""
        return [uid for uid, stored in self._users(uids).items() if too_many_in(stored)]

    def _end_surplus(self, uid: int) -> None:
        self._sessions.remove(uid, too_many_in(self._store.hgetall(keys.user(uid))))

    # ---- orphans

    def _stale(self, entries: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Entries of `auths` that open nothing: neither the user's official secret nor one of a session, be it ended,
        since its field goes first. A login under way has such an entry for a moment, so it is looked at twice."""
        pipe = self._store.pipeline()
        asked = [(one, pipe.hmget(keys.user(parse_id(one[1]) or 0), ["auth", f"{SESSION}{one[0]}"])) for one in entries]
        pipe.execute()
        return [one for one, found in asked if found.value[0] != one[0] and found.value[1] is None]

    def _with_ended(self, uids: Sequence[int]) -> list[int]:
        """Sessions of an earlier generation, and hours of use without a session. `AccountOrphans` finds the fields of
        deleted accounts."""
        return [uid for uid, stored in self._users(uids).items() if "deleted" not in stored and ended_in(stored)]

    def _remove_ended(self, uid: int) -> None:
        self._sessions.remove(uid, ended_in(self._store.hgetall(keys.user(uid))))

    def _users(self, uids: Sequence[int]) -> dict[int, Mapping[str, str]]:
        pipe = self._store.pipeline()
        asked = {uid: pipe.hgetall(keys.user(uid)) for uid in uids}
        pipe.execute()
        return {uid: stored.value for uid, stored in asked.items()}


def remove_sessions(store: Store, uid: int) -> tuple[()]:
    """The part of a deleted account: its sessions, with their entries in `auths`. Three round trips."""
    Sessions(store).remove(uid, ended_in(store.hgetall(keys.user(uid))))
    return ()


# ---- The lines about sessions in the personal download.


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """A line for each session, without its secret; the most recently used first. One round trip."""
    yield [
        {
            "type": "session",
            "since": iso(session.since),
            "used": iso(session.used),
            "browser": session.device.browser,
            "system": session.device.system,
        }
        for session in sessions_in(store.hgetall(keys.user(owner.uid)))
    ]
