"""What goes: an account that has been suspended for 30 days, and the part of the community in a deleted account."""

import time

from accounts.community.sanctions import DAY, GRACE, GRANTED, Standing, standing_in
from accounts.users.deletion import AccountDeletion
from accounts.users.entities import User
from retwis_site.jobs.outbox import Claim, job_id
from retwis_site.store import keys
from retwis_site.store.client import Store


def finish_removal(store: Store, claim: Claim) -> None:
    """The job `removal:<uid>:<id of the act>`: delete an account that has been suspended for 30 days. While an appeal
    is open, it looks again each day. Up to six round trips.

    One command reads all that decides. A look at the sorted set of open appeals besides could see a granted appeal that
    waits no more, and the sanction as it was before."""
    uid, act_id = job_id(claim.name, 1), claim.name.split(":")[2]
    stored = store.hgetall(keys.user(uid))
    username, present = stored.get("username"), standing_in(uid, stored)
    is_for_good = present is not None and present.imposed.deleted_at and present.imposed.act_id == act_id
    if present is None or not is_for_good or not username or "deleted" in stored:
        claim.outbox.done(claim.name)
        return
    due = _due(present)
    if due > time.time():
        store.zadd(keys.outbox(claim.name), {claim.name: due})
        return
    AccountDeletion(store).delete(User(uid, username), "")
    claim.outbox.done(claim.name)


def _due(present: Standing) -> int:
    """When an account may be deleted, in unix seconds: an hour after the last moment to lift the suspension. That is 30
    days, or the refusal of an appeal. A granted appeal is about to end it."""
    if present.is_asked or (present.answer is not None and present.answer.what == GRANTED):
        return int(time.time()) + DAY
    return max(present.imposed.deleted_at, present.answer.when if present.answer is not None else 0) + GRACE


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
