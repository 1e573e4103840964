"""Sessions. As in the official Retwis, a user has one secret: in `auths`, and as `auth` in the user's own hash."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from accounts.users.deletion import is_deleted
from accounts.users.entities import Login, User
from accounts.users.repository import Users, new_secret
from retwis_site.jobs.outbox import Claim, Outbox, job_id
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import nonce

WRITTEN = ("auth", "password")  # fields that a job of the kind `auth` may have written


@dataclass(frozen=True, slots=True)
class StoredPassword:
    """What an account has for a login, read together."""

    username: str
    encoded: str = field(repr=False)  # a Django hash
    secret: str = field(repr=False)  # empty for an account that has none yet
    is_old: bool  # another Retwis has made it: the first login replaces it


class Sessions:
    """Opens and ends sessions. Every order of their commands was explored in a model, with crashes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = Outbox(store)

    def stored_password(self, uid: int) -> StoredPassword | None:
        """None for a deleted account, or for one without a password. `password` wins over `old_password`: a login or a
        password change has replaced that. One round trip."""
        username, password, auth, deleted, old = self._store.hmget(
            keys.user(uid), ["username", "password", "auth", "deleted", "old_password"]
        )
        encoded = password if password is not None else old
        if username is None or encoded is None or deleted is not None:
            return None
        return StoredPassword(username, encoded, auth or "", is_old=password is None)

    def replace_old_password(self, uid: int, secret: str, password: str) -> None:
        """Keep a verified password as `password` (a Django hash) instead of `old_password`. Four round trips.

        The commit is HSETNX: it never undoes a password change, which sets the field. When the account is deleted by
        now, it keeps neither. A process that dies leaves a job that ends in the same state.
        """
        job = f"auth:{uid}:{secret}:{nonce()}"
        self._outbox.add(job)
        pipe = self._store.pipeline()
        pipe.hsetnx(keys.user(uid), "password", password)
        deleted = pipe.hget(keys.user(uid), "deleted")
        pipe.execute()
        superfluous = ("old_password",) if deleted.value is None else ("old_password", "password")
        Users(self._store).take_back(uid, superfluous)
        self._outbox.done(job)

    def open(self, uid: int, username: str, secret: str) -> Login | None:
        """Sign in with the secret that was read beside the verified password. Two round trips.

        None, after a third, when a password change, a logout or a deletion came between: then the password must be
        verified again. None also for an account without a secret, which gets one here.
        """
        if not secret:
            self._rotate(uid, "", {})
            return None
        self._store.hset(keys.auths(), {secret: str(uid)})
        now, language = self._store.hmget(keys.user(uid), ["auth", "language"])
        if now != secret:  # a secret never comes back
            self._store.hdel(keys.auths(), secret)
            return None
        return Login(User(uid, username), secret, str(language or ""))

    def end_all(self, uid: int, secret: str) -> None:
        """Sign out on every device; `secret` is the one that ends. Five round trips."""
        self._rotate(uid, secret, {})

    def change_password(self, uid: int, password: str) -> str:
        """Set another password (a Django hash) and end every session. Returns the new secret. Six round trips.

        One HSET writes the hash and the new secret, so no old session outlives the old password. An `old_password`,
        which it overrules, is removed after it.
        """
        secret = str(self._store.hget(keys.user(uid), "auth") or "")
        return self._rotate(uid, secret, {"password": password})

    def _rotate(self, uid: int, old: str, fields: Mapping[str, str]) -> str:
        new = new_secret()
        job = f"auth:{uid}:{old}:{nonce()}"
        self._outbox.add(job)
        if Users(self._store).write(uid, {**fields, "auth": new}):
            self._store.hset(keys.auths(), {new: str(uid)})
        pipe = self._store.pipeline()
        pipe.hdel(keys.auths(), old)
        if "password" in fields:
            pipe.hdel(keys.user(uid), "old_password")
        pipe.execute()
        self._outbox.done(job)
        return new


def finish_auth(store: Store, claim: Claim) -> None:
    """The job `auth:<uid>:<old secret>:<nonce>`: make `auths` follow the user's hash, and remove an old password that
    was replaced. Up to five round trips.

    When the hash still has the old secret, the secret was not changed. The old secret is empty for an account that had
    none. A deleted account has neither a secret nor a password.
    """
    uid = job_id(claim.name, 1)
    old = claim.name.split(":", 2)[2].rpartition(":")[0]
    current, deleted, password, old_password = store.hmget(
        keys.user(uid), ["auth", "deleted", "password", "old_password"]
    )
    current = current or ""
    if is_deleted(deleted):
        Users(store).take_back(uid, WRITTEN)
        current = ""
    if password is not None and old_password is not None:
        store.hdel(keys.user(uid), "old_password")
    if current != old:
        if current:
            store.hset(keys.auths(), {current: str(uid)})
        store.hdel(keys.auths(), old)
    claim.outbox.done(claim.name)
