"""The job that removes a deleted account: every feature removes its part of it.

The field `deleted` of `user:<uid>` is the truth; all else follows from it, a chunk at a time, so an account of any size
takes the same memory. Each part either removes last the set that leads to its chunks, or adds a job for each member:
when a worker is killed, the next one finds there what is left to do. A request that follows or posts at the same time
reads `deleted` after its write. So either it sees the deletion and takes its write back, or the write is found here.
"""

from collections.abc import Iterator

from accounts.users.deletion import AccountDeletion, is_deleted
from accounts.users.entities import User
from retwis_site.features import features
from retwis_site.jobs.outbox import Claim, job_id
from retwis_site.store import keys
from retwis_site.store.client import Store


def finish_deletion(store: Store, claim: Claim) -> bool:
    """The job `gone:<uid>:<nonce>`. Returns False when its turn ended before all was removed. Five to eleven round
    trips a chunk. An account that is not deleted is left alone: its deletion never reached its commit.
    """
    uid = job_id(claim.name, 1)
    deleted = store.hget(keys.user(uid), "deleted")
    if is_deleted(deleted) and not claim.carry_out_for_a_turn(_remove(store, uid)):
        return False
    claim.outbox.done(claim.name)
    return True


def _remove(store: Store, uid: int) -> Iterator[object]:
    """From the last feature to the first: what is built on an account goes before the account."""
    for feature in reversed(features()):
        if feature.remove_account is not None:
            yield from feature.remove_account(store, uid)


def remove_user(store: Store, uid: int) -> tuple[()]:
    """The part of the account itself: its places in the lists of users, and the fields of its hash. Four round trips.

    It is no chunk: a part that gave a chunk on each run would end each turn at once."""
    username = store.hget(keys.user(uid), "username")
    AccountDeletion(store).unlist(User(uid, username or ""))
    AccountDeletion(store).strip(uid)
    return ()
