"""Checks: orphans of accounts, which killed processes leave behind. They are harmless; `cleanup` removes them."""

from collections.abc import Sequence
from functools import partial

from accounts.users.checks.account_checks import AccountChecks
from accounts.users.deletion import KEPT_FIELDS, AccountDeletion, is_deleted
from retwis_site.maintenance.checks import Check, Chunks, Finding, confirmed, ids_of
from retwis_site.store import keys
from retwis_site.store.client import Store


class AccountOrphans:
    """Checks for `cleanup`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._accounts = AccountChecks(store)
        self._deletion = AccountDeletion(store)

    def orphans(self) -> list[Check]:
        return [
            Check("extra fields of deleted accounts", self.extra_fields, self._store.dbsize),  # one may be a secret
            Check("old passwords that were replaced", self.replaced_passwords, self._store.dbsize),
            Check("orphaned user: hashes", self.orphaned_users, self._store.dbsize),
        ]

    def extra_fields(self) -> Chunks:
        """Fields of deleted accounts that a request wrote during the deletion: `seen`, or others when it was killed."""
        if not self._store.hlen(keys.users()):  # fails while a proxy is down; the scan alone would go past the proxy
            return
        for batch in ids_of(self._store, "user:*"):
            found = confirmed(self._store, self._with_extra(batch), lambda uid: {f"gone:{uid}"}, self._with_extra)
            yield [Finding(keys.user(uid), partial(self._deletion.strip, uid)) for uid in found]

    def _with_extra(self, uids: Sequence[int]) -> list[int]:
        pipe = self._store.pipeline()
        asked = [(uid, pipe.hget(keys.user(uid), "deleted"), pipe.hlen(keys.user(uid))) for uid in uids]
        pipe.execute()
        kept = len(KEPT_FIELDS)
        return [uid for uid, deleted, fields in asked if is_deleted(deleted.value) and fields.value > kept]

    def replaced_passwords(self) -> Chunks:
        """`old_password` beside `password`, which wins: a login or a password change was killed."""
        for batch in ids_of(self._store, "user:*"):
            found = confirmed(self._store, self._with_both(batch), lambda uid: {f"auth:{uid}"}, self._with_both)
            yield [
                Finding(f"old_password in {keys.user(uid)}", partial(self._store.hdel, keys.user(uid), "old_password"))
                for uid in found
            ]

    def _with_both(self, uids: Sequence[int]) -> list[int]:
        pipe = self._store.pipeline()
        asked = [(uid, pipe.hmget(keys.user(uid), ["password", "old_password"])) for uid in uids]
        pipe.execute()
        return [uid for uid, fields in asked if None not in fields.value]

    def orphaned_users(self) -> Chunks:
        """`user:` hashes of registrations that died before their commit. None in a store without any name: `seed` is
        filling it."""
        if not self._store.hlen(keys.users()):
            return
        for batch in ids_of(self._store, "user:*"):
            orphans = confirmed(self._store, self._orphans(batch), lambda uid: {f"user:{uid}"}, self._orphans)
            yield [Finding(keys.user(uid), partial(self._store.unlink, keys.user(uid))) for uid in orphans]

    def _orphans(self, uids: Sequence[int]) -> list[int]:
        return [uid for uid in self._accounts.without_name(uids) if not self._accounts.was_registered(uid)]
