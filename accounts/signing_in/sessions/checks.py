"""Checks: sessions and `auths` that do not fit together. The user's hash is the truth."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from accounts.signing_in.sessions.entities import SESSION, ended_in, sessions_in, too_many_in
from accounts.signing_in.sessions.repository import Sessions
from retwis_site.features import AddressOf, Line, Owner
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, confirmed, ids_of
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_id

Secret = tuple[str, int]  # with the uid


class SessionChecks:
    """Checks of sessions. They rely on AccountChecks, which come first."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sessions = Sessions(store)

    def inconsistencies(self) -> list[Check]:
        return [
            Check("sessions that auths lacks", self.unknown_to_auths, self._store.dbsize),
            Check("users with too many sessions", self.too_many, self._store.dbsize),
        ]

    def orphans(self) -> list[Check]:
        return [
            Check("stale entries in auths", self.stale_secrets, lambda: self._store.hlen(keys.auths())),
            Check("fields of ended sessions", self.ended, self._store.dbsize),
        ]

    # ---- inconsistencies

    def unknown_to_auths(self) -> Chunks:
        """Sessions that stand, but that `auths` does not lead to: their cookies open nothing."""
        for uids in ids_of(self._store, "user:*"):
            lost = confirmed(self._store, self._lost(uids), _changes_of, self._still_lost)
            yield [
                Finding(f"auths does not know a session of user {uid}", partial(self._restore, secret, uid))
                for secret, uid in lost
            ]

    def _lost(self, uids: Sequence[int]) -> list[Secret]:
        found = [(one.secret, uid) for uid, fields in self._users(uids).items() for one in sessions_in(fields)]
        pipe = self._store.pipeline()
        owners = [(secret, uid, pipe.hget(keys.auths(), secret)) for secret, uid in found]
        pipe.execute()
        return [(secret, uid) for secret, uid, owner in owners if owner.value != str(uid)]

    def _still_lost(self, suspects: Sequence[Secret]) -> list[Secret]:
        again = set(self._lost(sorted({uid for _, uid in suspects})))
        return [suspect for suspect in suspects if suspect in again]

    def _restore(self, secret: str, uid: int) -> None:
        """Two users never share a session: when `auths` leads to another one, it is that user's."""
        if not self._store.hsetnx(keys.auths(), secret, str(uid)):
            self._store.hdel(keys.user(uid), f"{SESSION}{secret}")

    def too_many(self) -> Chunks:
        """Users with more than MOST_SESSIONS: a login was killed before it ended one."""
        for uids in ids_of(self._store, "user:*"):
            found = confirmed(self._store, self._with_too_many(uids), lambda uid: {f"auth:{uid}"}, self._with_too_many)
            yield [Finding(f"user {uid} has too many sessions", partial(self._end_surplus, uid)) for uid in found]

    def _with_too_many(self, uids: Sequence[int]) -> list[int]:
        return [uid for uid, fields in self._users(uids).items() if too_many_in(fields)]

    def _end_surplus(self, uid: int) -> None:
        self._sessions.remove(uid, too_many_in(self._store.hgetall(keys.user(uid))))

    # ---- orphans

    def stale_secrets(self) -> Chunks:
        """Entries of `auths` that open nothing. A login under way has such an entry for a moment, so it is looked at
        twice."""
        for batch in self._store.hash_fields(keys.auths(), AT_ONCE):
            suspects = self._stale([(secret, parse_id(text) or 0) for secret, text in batch])
            yield [
                Finding(f"an old secret of user {uid}", partial(self._store.hdel, keys.auths(), secret))
                for secret, uid in confirmed(self._store, suspects, lambda _: set(), self._stale)
            ]

    def _stale(self, entries: Sequence[Secret]) -> list[Secret]:
        """Those that are neither the user's official secret nor one of a session, be it ended: its field goes first."""
        pipe = self._store.pipeline()
        asked = [(secret, uid, pipe.hmget(keys.user(uid), ["auth", f"{SESSION}{secret}"])) for secret, uid in entries]
        pipe.execute()
        return [
            (secret, uid)
            for secret, uid, fields in asked
            for auth, session in [fields.value]
            if auth != secret and session is None
        ]

    def ended(self) -> Chunks:
        """Sessions of an earlier generation, and hours of use without a session. `AccountOrphans` finds the fields of
        deleted accounts."""
        for uids in ids_of(self._store, "user:*"):
            found = confirmed(self._store, self._with_ended(uids), lambda uid: {f"auth:{uid}"}, self._with_ended)
            yield [Finding(f"ended sessions of user {uid}", partial(self._remove_ended, uid)) for uid in found]

    def _with_ended(self, uids: Sequence[int]) -> list[int]:
        return [uid for uid, fields in self._users(uids).items() if "deleted" not in fields and ended_in(fields)]

    def _remove_ended(self, uid: int) -> None:
        self._sessions.remove(uid, ended_in(self._store.hgetall(keys.user(uid))))

    def _users(self, uids: Sequence[int]) -> dict[int, Mapping[str, str]]:
        pipe = self._store.pipeline()
        asked = {uid: pipe.hgetall(keys.user(uid)) for uid in uids}
        pipe.execute()
        return {uid: fields.value for uid, fields in asked.items()}


def _changes_of(secret: Secret) -> set[str]:
    """The jobs that may be about to remove a session, for `confirmed`."""
    return {f"auth:{secret[1]}"}


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
