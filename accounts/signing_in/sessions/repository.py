"""Opens and ends sessions.

`auths[secret]` leads to a uid, and the hash of that user says whether the secret opens a session: as its field
`session:<secret>`, or as `auth`, the account's one secret of the official Retwis. Both must agree, so an old entry in
`auths` opens nothing. Tests interleave all of it, with crashes: `tests/protocols/`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial

from accounts.signing_in.factors import ask_has_factor
from accounts.signing_in.sessions.entities import SESSIONS, Device, new_value
from accounts.signing_in.viewer import Viewer
from accounts.users import repository as users
from accounts.users.entities import State, User, Verified
from accounts.users.repository import Users, is_deleted
from retwis_site.features import AddressOf, Line, Owner
from retwis_site.jobs.outbox import Claim, Outbox, alone, job_id
from retwis_site.maintenance.checks import Check, Searcher, looking
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Reply, Repository, Result, Store, answers, trip
from retwis_site.store.ids import nonce, parse_id

WRITTEN = ("auth", "generation", "password")  # fields that a job of the kind `auth` may have written


@dataclass(frozen=True, slots=True)
class StoredPassword:
    """What an account has for a login, read together."""

    username: str
    encoded: str = field(repr=False)  # a Django hash
    secret: str = field(repr=False)  # the official one; empty for an account that has none
    generation: str
    language: str
    is_old: bool  # another Retwis has made it: the first login replaces it
    is_suspended: bool
    needs_factor: bool  # the password alone opens nothing
    is_new: bool  # staff has let them join, no home has shown them a post yet, and they may act


class Sessions(Repository):
    """The sessions of all users."""

    def replace_old_password(self, uid: int, secret: str, password: str) -> None:
        """Keep a verified password as `password` (a Django hash) instead of `old_password`. Four round trips.

        The commit is HSETNX: it never undoes a password change, which sets the field. When the account is deleted by
        now, it keeps neither. A process that dies leaves a job that ends in the same state.
        """
        job = Outbox(self._store).add(f"auth:{uid}:{secret}:{nonce()}")
        with job.store.pipeline() as pipe:
            pipe.hsetnx(keys.user(uid), "password", password)
            deleted = pipe.hget(keys.user(uid), "deleted")
        superfluous = ("old_password",) if deleted.value is None else ("old_password", "password")
        with job.ending():
            Users(job.store).take_back(uid, superfluous)

    def add_prepared_password(self, uid: int, encoded: str, prepared: str) -> None:
        """Let the hash of a verified password in its prepared form count instead of `encoded`, which is of the form
        that was typed. It counts for that one alone, so it never undoes a password change. One round trip, two for a
        deleted account."""
        Users(self._store).write(uid, {"prepared_password": f"{encoded} {prepared}"})

    def open(self, verified: Verified, device: Device) -> str:
        """Begin a session on a device. Returns its secret, for the cookie. Two round trips; two more when others have
        ended or are too many.

        The commit is the HSET of its field: without it, the entry in `auths` opens nothing. The field has the
        generation that was read with the verified password. So a session that a password change came before has ended
        when it begins.
        """
        if verified.digest:
            raise ValueError("a second factor must be shown first")
        uid = verified.user.uid
        secret = users.new_secret_of(uid)
        self._store.hset(keys.auths(), {secret: str(uid)})
        with self._store.pipeline() as pipe:
            pipe.hset(keys.user(uid), {SESSIONS.field(secret): new_value(verified, device)})
            stored = pipe.hgetall(keys.user(uid))
        self.remove(uid, {*SESSIONS.ended_in(stored.value), *SESSIONS.too_many_in(stored.value, kept=secret)})
        return secret

    def end(self, uid: int, secret: str) -> None:
        """End one session. Two round trips. The official secret is replaced instead: seven round trips.

        The commit is the HDEL of its field. A dead process leaves an entry in `auths` that opens nothing."""
        if self._store.hdel(keys.user(uid), SESSIONS.field(secret)):
            self._remove_traces(uid, {secret})
        elif self._store.hget(keys.user(uid), "auth") == secret:
            self._rotate(uid, secret, {})

    def end_all(self, uid: int) -> str:
        """End every session, on each device. Returns the generation of those that follow. Eight round trips; two more
        when there are sessions with a secret of their own. Raises LeaseEnded."""
        return self._end_generation(uid, {})[0]

    def end_others(self, uid: int, present: str) -> str:
        """End every session. Returns the generation of the one with which the browser that asks goes on; empty when
        that has ended, too: `present`, the generation of its session, was no longer the user's. So it outlives no
        password change that comes between. Round trips as for `end_all`."""
        generation, replaced = self._end_generation(uid, {})
        return generation if replaced == present else ""

    def change_password(self, uid: int, password: str, spent: Iterable[str] = (), present: str | None = None) -> str:
        """Set another password (a Django hash) and end every session. Returns the generation of those that follow.
        Round trips as for `end_all`. `spent`: the field of the recovery code that allows it. `present`: the generation
        of the password that allows it. Empty when that code was spent meanwhile, or another password was set, or all
        sessions have ended: then that stands, in three round trips.

        One HSET writes the hash, another official secret and another generation, so no session outlives the old
        password, and spends the code: a store that refuses takes no code. The fields that it overrules are removed
        after it.
        """
        return self._end_generation(uid, {"password": password}, present, [*spent])[0]

    def _end_generation(
        self, uid: int, fields: Mapping[str, str], present: str | None = None, spent: Sequence[str] = ()
    ) -> tuple[str, str]:
        """The new generation, and the one that it has replaced. `present`: the only one that it may replace; of another
        one, and when a recovery code is `spent` already, the new one is empty."""
        with alone_with_sessions(self._store, uid) as store:
            asked = ["auth", "generation", *spent]
            secret, replaced, *codes = (text or "" for text in store.hmget(keys.user(uid), asked))
            if present not in (None, replaced):
                return "", replaced
            if "" in codes or users.SPENT in codes:
                return "", replaced
            generation, changed = nonce(), {**fields, **dict.fromkeys(spent, users.SPENT)}
            Sessions(store)._rotate(uid, secret, {**changed, "generation": generation})
        return generation, replaced

    def _rotate(self, uid: int, old: str, fields: Mapping[str, str]) -> None:
        """Replace the official secret, and write these fields with it. Five round trips; two more as for `end_all`."""
        job = Outbox(self._store).add(f"auth:{uid}:{old}:{nonce()}")
        with job.store.pipeline() as pipe:
            pipe.hset(keys.user(uid), {**fields, "auth": users.new_secret()})
            stored = pipe.hgetall(keys.user(uid))
        with job.ending():
            Sessions(job.store).settle(uid, old, stored.value)

    def settle(self, uid: int, old: str, fields: Mapping[str, str]) -> None:
        """Make `auths` follow the user's hash, whose fields were read after `old` was replaced, and remove what a new
        password has overruled. Up to four round trips.

        When the hash still has the old secret, it was not replaced. The old secret is empty for an account that had
        none. A deleted account has neither a secret nor a password.
        """
        current = fields.get("auth", "")
        if is_deleted(fields.get("deleted")):
            Users(self._store).take_back(uid, WRITTEN)
            current = ""
        if current and current != old:
            self._store.hset(keys.auths(), {current: str(uid)})
        with self._store.pipeline() as pipe:
            if current != old:
                pipe.hdel(keys.auths(), old)
            for overruled in users.overruled_by_password(fields):
                pipe.hdel(keys.user(uid), overruled)
        self.remove(uid, SESSIONS.ended_in(fields))

    def remove(self, uid: int, secrets: Collection[str]) -> None:
        """End these sessions, and remove all that is left of those that have ended. At most two round trips."""
        Users(self._store).take_back(uid, [SESSIONS.field(secret) for secret in secrets])
        self._remove_traces(uid, secrets)

    def _remove_traces(self, uid: int, secrets: Collection[str]) -> None:
        """Remove what ended sessions leave, once their fields are gone. At most one round trip."""
        with self._store.pipeline() as pipe:
            for secret in secrets:
                pipe.hdel(keys.auths(), secret)
                pipe.hdel(keys.user(uid), f"{SESSIONS.second}{secret}")


def alone_with_sessions(store: Store, uid: int) -> AbstractContextManager[Store]:
    """`alone`, for what ends all sessions of a user, and for what spends a recovery code, which a new password does
    too."""
    return alone(store, f"generation:{uid}")


def ask_stored_password(pipe: Pipe, uid: int) -> Result[StoredPassword | None]:
    """None for a deleted account, or for one without a password. `password` wins over `old_password`: a login or a
    password change has replaced that."""
    about = ("username", *users.HASHES, "auth", "deleted", "generation", "language", "approved", "seen")
    asked = [*about, "state", "state_until"]
    fields, has_factor = pipe.hmget(keys.user(uid), asked), ask_has_factor(pipe, uid)

    def read() -> StoredPassword | None:
        username, password, added, old, auth, deleted, generation, language, approved, seen, *state = fields.value
        encoded = users.hash_that_counts(password, added, old)
        if username is None or encoded is None or deleted is not None:
            return None
        imposed = users.state_now(uid, *state)
        return StoredPassword(
            *(username, encoded, auth or "", generation or "", language or ""),
            is_old=password is None,
            is_suspended=imposed is State.SUSPENDED,
            needs_factor=has_factor.value,
            is_new=approved is not None and seen is None and imposed is not State.FROZEN,
        )

    return Result(read)


def ask_stored(pipe: Pipe, uid: int) -> Reply[dict[str, str]]:
    """All fields of a user's hash: profile, sessions, codes."""
    return pipe.hgetall(keys.user(uid))


def stored_of(viewer: Viewer) -> tuple[User, dict[str, str]]:
    """The signed-in user, and what `ask_stored` asks. Round trips as for `Viewer.ask`. Raises NotSignedIn."""
    me, [fields] = viewer.ask_as_user(lambda pipe, me: trip(ask_stored(pipe, me)))
    return me, fields


def finish_auth(store: Store, claim: Claim) -> None:
    """The job `auth:<uid>:<old secret>:<nonce>`: carry out what follows the commit. Up to five round trips."""
    uid = job_id(claim.name, 1)
    old = claim.name.split(":", 2)[2].rpartition(":")[0]
    Sessions(store).settle(uid, old, store.hgetall(keys.user(uid)))


# ---- Checks: sessions and `auths` that do not fit together. The user's hash is the truth.


Owned = tuple[int, str]  # a uid, and the secret of a session


class SessionChecks(Searcher):
    """Checks of sessions. They rely on AccountChecks, which come first."""

    def inconsistencies(self) -> list[Check]:
        return [
            self._check_of(
                "sessions that auths lacks",
                keys.user,
                self._lost,
                "auths does not know a session of user {0}",
                self._restore,
            ),
            self._check_of(
                "users with too many sessions",
                keys.user,
                self._with_too_many,
                "user {0} has too many sessions",
                self._end_surplus,
            ),
        ]

    def orphans(self) -> list[Check]:
        return [
            self._check_of("stale entries in auths", keys.auths, self._stale, "an old secret of user {1:.16}"),
            self._check_of(
                "fields of ended sessions",
                keys.user,
                looking(self._store, SESSIONS.ask_ended),
                "ended sessions of user {0}",
                partial(remove_sessions, self._store),
            ),
        ]

    # ---- inconsistencies

    def _lost(self, uids: Sequence[int]) -> list[Owned]:
        """Sessions that stand, but that `auths` does not lead to: their cookies open nothing."""
        stored = answers(self._store, ask_stored, uids)
        found = [(uid, one.secret) for uid, fields in stored.items() for one in SESSIONS.standing_in(fields).values()]
        owners = answers(self._store, lambda pipe, one: pipe.hget(keys.auths(), one[1]), found)
        return [one for one, owner in owners.items() if owner != str(one[0])]

    def _restore(self, uid: int, secret: str) -> None:
        """Two users never share a session: when `auths` leads to another one, it is that user's."""
        if not self._store.hsetnx(keys.auths(), secret, str(uid)):
            self._store.hdel(keys.user(uid), SESSIONS.field(secret))

    def _with_too_many(self, uids: Sequence[int]) -> list[int]:
        """Users with more than MOST_SESSIONS: a login was killed before it ended one."""
        stored = answers(self._store, ask_stored, uids)
        return [uid for uid, fields in stored.items() if SESSIONS.too_many_in(fields)]

    def _end_surplus(self, uid: int) -> None:
        Sessions(self._store).remove(uid, SESSIONS.too_many_in(self._store.hgetall(keys.user(uid))))

    # ---- orphans

    def _stale(self, entries: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Entries of `auths` that open nothing: neither the user's official secret nor one of a session, be it ended,
        since its field goes first. A login under way has such an entry for a moment, so it is looked at twice."""
        found = answers(
            self._store,
            lambda pipe, one: pipe.hmget(keys.user(parse_id(one[1]) or 0), ["auth", SESSIONS.field(one[0])]),
            entries,
        )
        return [one for one, (auth, session) in found.items() if auth != one[0] and session is None]


def remove_sessions(store: Store, uid: int) -> tuple[()]:
    """Remove what is left of ended sessions, with their entries in `auths`: all sessions of a deleted account have
    ended. Three round trips."""
    Sessions(store).remove(uid, SESSIONS.ended_in(store.hgetall(keys.user(uid))))
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
            "way": session.way or "password",
        }
        for session in SESSIONS.standing_in(store.hgetall(keys.user(owner.uid))).values()
    ]
