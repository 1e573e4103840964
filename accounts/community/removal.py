"""What goes: an account that has been suspended for 30 days, and the part of the community in a deleted account."""

import time

from accounts.community.sanctions import DAY, GRACE, STORED, imposed
from accounts.users.deletion import AccountDeletion
from accounts.users.entities import User
from retwis_site.jobs.outbox import Claim, job_id
from retwis_site.store import keys
from retwis_site.store.client import Store


def finish_removal(store: Store, claim: Claim) -> None:
    """The job `removal:<uid>:<id of the act>`: delete an account that has been suspended for 30 days. While an appeal
    is open, it looks again each day. Up to seven round trips."""
    uid, act_id = job_id(claim.name, 1), claim.name.split(":")[2]
    pipe = store.pipeline()
    stored = pipe.hmget(keys.user(uid), ["username", "deleted", *STORED])
    appealed = pipe.zscore(keys.appeals(), f"{uid}:{act_id}")
    pipe.execute()
    username, deleted, *fields = stored.value
    present = imposed(uid, fields)
    is_for_good = present is not None and present.deleted_at and present.act_id == act_id
    if present is None or not is_for_good or not username or deleted is not None:
        claim.outbox.done(claim.name)
        return
    due = present.deleted_at + GRACE
    if appealed.value is not None:
        due = max(due, int(time.time()) + DAY)
    if due > time.time():
        store.zadd(keys.outbox(claim.name), {claim.name: due})
        return
    AccountDeletion(store).delete(User(uid, username), "")
    claim.outbox.done(claim.name)


def remove_community(store: Store, uid: int) -> tuple[()]:
    """Remove the role, the acts about the person, and an open appeal. Lines of the log stay: they have no name. Two
    round trips. It is no chunk: there are few of them."""
    act_id = store.hget(keys.user(uid), "state_act")
    pipe = store.pipeline()
    pipe.hdel(keys.staff(), str(uid))
    pipe.unlink(keys.acts(uid))
    pipe.zrem(keys.appeals(), f"{uid}:{act_id}")
    pipe.execute()
    return ()
