"""A post that staff deletes, with its line in the log: the job has both, so a worker can do all of it again."""

from contextlib import suppress

from accounts.community.log import Act, Log, read_act
from retwis_site.exceptions import LeaseEnded
from retwis_site.jobs.outbox import Claim, Outbox
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_id
from timeline.posts.entities import DeletedBy, NoSuchPost, PostDeleted
from timeline.posts.writing.deletion import Deletion


def delete_by_staff(store: Store, pid: int, by: int, reason: str) -> int:
    """Delete anybody's post. Returns the uid of its author. Five round trips besides those of `Deletion.delete`. Raises
    NoSuchPost, PostDeleted."""
    author = stored_id(keys.post(pid), store.hget(keys.post(pid), "user_id"))
    if author is None:
        raise NoSuchPost(pid)
    act = Act(what="post:deleted", by=by, whom=author, post=pid, reason=reason)
    job = Outbox(store).add(f"unpost:{pid}:{act.line()}")
    try:
        Deletion(job.store).delete(author, pid, DeletedBy.STAFF)
    except (NoSuchPost, PostDeleted):
        job.done()  # it is not there, or its author was faster
        raise
    with suppress(LeaseEnded):
        Log(job.store).write(act)
        job.done()
    return author


def finish_staff_deletion(store: Store, claim: Claim) -> None:
    """The job `unpost:<pid>:<line of the log>`: delete the post, unless it is deleted, and write the line."""
    act = read_act("outbox", claim.name.split(":", 2)[2])
    if act is not None:
        with suppress(NoSuchPost, PostDeleted):
            Deletion(store).delete(act.whom, act.post, DeletedBy.STAFF)
        Log(store).write(act)
    claim.outbox.done(claim.name)
