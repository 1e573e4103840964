"""Sessions. As in the official Retwis, a user has one secret: in `auths`, and as `auth` in the user's own hash."""

from collections.abc import Mapping

from accounts.users.entities import Login, User
from accounts.users.repository import Users, new_secret
from retwis_site.jobs.outbox import Claim, Outbox
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import nonce

ROTATED = ("auth", "password")  # fields that may be written together with a new secret


class Sessions:
    """Opens and ends sessions."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = Outbox(store)

    def stored_password(self, uid: int) -> tuple[str, str, str] | None:
        """`username`, `password` (a Django hash) and `auth`, read together. None for a deleted account, or for one
        without a password. One round trip."""
        username, password, auth, deleted = self._store.hmget(
            keys.user(uid), ["username", "password", "auth", "deleted"]
        )
        if username is None or password is None or deleted is not None:
            return None
        return str(username), str(password), str(auth or "")

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

        One HSET writes the hash and the new secret, so no old session outlives the old password.
        """
        secret = str(self._store.hget(keys.user(uid), "auth") or "")
        return self._rotate(uid, secret, {"password": password})

    def _rotate(self, uid: int, old: str, fields: Mapping[str, str]) -> str:
        new = new_secret()
        job = f"auth:{uid}:{old}:{nonce()}"
        self._outbox.add(job)
        if Users(self._store).write(uid, {**fields, "auth": new}):
            self._store.hset(keys.auths(), {new: str(uid)})
        self._store.hdel(keys.auths(), old)
        self._outbox.done(job)
        return new


def finish_auth(store: Store, claim: Claim) -> None:
    """The job `auth:<uid>:<old secret>:<nonce>`: make `auths` follow the user's hash. Up to four round trips.

    When the hash still has the old secret, the change never began. The old secret is empty for an account that had
    none. A deleted account has neither a secret nor a password.
    """
    _, uid, rest = claim.name.split(":", 2)
    old = rest.rpartition(":")[0]
    current, deleted = store.hmget(keys.user(int(uid)), ["auth", "deleted"])
    current = current or ""
    if deleted is not None:
        Users(store).take_back(int(uid), ROTATED)
        current = ""
    if current != old:
        if current:
            store.hset(keys.auths(), {current: uid})
        store.hdel(keys.auths(), old)
    claim.outbox.done(claim.name)
