"""Deleting an account: one command hides all of it, and a worker removes the rest."""

import time
from collections.abc import Collection, Iterator
from contextlib import suppress

from django.contrib.auth.hashers import make_password

from accounts.users.entities import User
from accounts.users.names import entries
from accounts.users.repository import Users
from retwis_site.exceptions import LeaseEnded
from retwis_site.features import features
from retwis_site.jobs.outbox import Claim, Outbox, add_due, job_id
from retwis_site.store import keys
from retwis_site.store.chunks import for_each
from retwis_site.store.client import Pipe, Repository, Store
from retwis_site.store.ids import nonce, parse_number
from retwis_site.store.kinds import KINDS, OfId
from retwis_site.store.local_cache import Memory

# ---- The job that removes a deleted account: every feature removes its part of it.
#
# The field `deleted` of `user:<uid>` is the truth; all else follows from it, a chunk at a time, so an account of any
# size takes the same memory. Each part either removes last the set that leads to its chunks, or adds a job for each
# member: when a worker is killed, the next one finds there what is left to do. A request that follows or posts at the
# same time reads `deleted` after its write. So either it sees the deletion and takes its write back, or the write is
# found here.


def finish_deletion(store: Store, claim: Claim) -> bool:
    """The job `gone:<uid>:<nonce>`. Returns False when its turn ended before all was removed. Five to eleven round
    trips a chunk. An account that is not deleted is left alone: its deletion never reached its commit.
    """
    uid = job_id(claim.name, 1)
    deleted = store.hget(keys.user(uid), "deleted")
    return not is_deleted(deleted) or claim.carry_out_for_a_turn(_remove(store, uid))


def _remove(store: Store, uid: int) -> Iterator[object]:
    """From the last feature to the first: what is built on an account goes before the account. Then the small keys, of
    which the key table says that they go: one round trip. It is no chunk."""
    for feature in reversed(features()):
        if feature.remove_account is not None:
            yield from feature.remove_account(store, uid)
    small = [kind(uid) for kind in KINDS.values() if kind.goes and isinstance(kind, OfId)]
    for_each(store, lambda pipe, key: pipe.unlink(key), small)


def remove_user(store: Store, uid: int) -> tuple[()]:
    """The part of the account itself: its places in the lists of users, and the fields of its hash. Four round trips.

    It is no chunk: a part that gave a chunk on each run would end each turn at once."""
    username = store.hget(keys.user(uid), "username")
    AccountDeletion(store).unlist(User(uid, username or ""))
    AccountDeletion(store).strip(uid)
    return ()


# ---- Deletion


KEPT_FIELDS = ("username", "deleted")  # what the hash of a deleted account keeps
FIELDS_AT_ONCE = 100


def is_deleted(field: str | None) -> bool:
    """Whether the field `deleted` of an account says that it is deleted, so that all it has may be removed. Any other
    text only hides the account, until an operator has seen to it."""
    return parse_number(field or "") is not None


class AccountDeletion(Repository):
    """Deletes accounts, and removes the entries that lead to them."""

    def delete(self, user: User, secret: str) -> None:
        """Delete an account for good; `secret` is the one that ends. Three round trips for an account of any size: a
        worker removes its follows, its followers and its posts.

        The commit is one HSET: it ends every session, closes the account to its password, and hides all of it. The
        username stays taken. The same round trip reads the fields that the HSET replaces, since another device may have
        changed them after `user` was read. This process forgets all that it has cached; other processes may show the
        posts for some seconds more. Raises StoreError when the store was too slow: then nothing was deleted.
        """
        job = Outbox(self._store).add(f"gone:{user.uid}:{nonce()}")
        left = {"deleted": str(int(time.time())), "password": make_password(None), "auth": "", "name": "", "bio": ""}
        pipe = job.store.pipeline()
        replaced = pipe.hmget(keys.user(user.uid), ["name", "auth"])
        pipe.hset(keys.user(user.uid), left)
        pipe.execute()
        Memory.clear_all()  # the posts are cached in many places, and a deletion is rare
        name, auth = replaced.value
        add_due(pipe, job.name)
        for ended in {secret, auth or secret}:
            pipe.hdel(keys.auths(), ended)
        _queue_unlisting(pipe, user, {user.name, name or ""})
        with suppress(LeaseEnded):
            pipe.execute()

    def unlist(self, user: User) -> None:
        """Remove a deleted account from the lists and the index of names. One round trip."""
        pipe = self._store.pipeline()
        _queue_unlisting(pipe, user, {user.name})
        pipe.execute()

    def strip(self, uid: int) -> None:
        """Remove every field of a deleted account but KEPT_FIELDS. Two round trips."""
        for fields in self._store.hash_fields(keys.user(uid), FIELDS_AT_ONCE):
            Users(self._store).take_back(uid, [field for field, _ in fields if field not in KEPT_FIELDS])


def _queue_unlisting(pipe: Pipe, user: User, names: Collection[str]) -> None:
    """`names`: the present and former display names."""
    pipe.zrem(keys.users_by_time(), user.username)
    for entry in {entry for name in names for entry in entries(User(user.uid, user.username, name))}:
        pipe.zrem(keys.users_by_name(), entry)
