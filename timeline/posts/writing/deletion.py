"""The deletion of posts."""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from accounts.community.log import Act, Log, read_act
from retwis_site.exceptions import LeaseEnded
from retwis_site.jobs.outbox import Claim, Outbox, job_id
from retwis_site.store import keys
from retwis_site.store.chunks import AT_ONCE, emptied
from retwis_site.store.client import Store
from retwis_site.store.ids import nonce, stored_id, stored_ids
from timeline.posts.entities import NO_LINKS, DeletedBy, Links, NoSuchPost, PostDeleted
from timeline.posts.notices import NewPost, PostNotices
from timeline.posts.reading.cached_posts import forget
from timeline.posts.reading.records import LINKS, deleted_by, links_from
from timeline.posts.writing.settling import PostLook, Settling
from timeline.relations.removal import ask_edges_to_post, remove_edges_to_posts


class Deletion:
    """Deletes single posts. Deleted accounts: `remove_posts`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = Outbox(store)
        self._settling = Settling(store)

    def delete(self, uid: int, pid: int, by: DeletedBy = DeletedBy.AUTHOR) -> None:
        """Delete a post of user `uid`, and the likes of it: up to AT_ONCE here, more of them by a worker. Eight round
        trips; two more each for a reply and for a quote, twelve more with likes or reposts. Raises NoSuchPost (also
        for another author's), PostDeleted.

        Commit: the HSET of `deleted`. A post with replies stays in its thread, without its text."""
        author, deleted, original = self._store.hmget(keys.post(pid), ["user_id", "deleted", "repost_of"])
        if author != str(uid) or original is not None:  # a repost is undone, not deleted
            raise NoSuchPost(pid)
        if deleted is not None:
            raise PostDeleted(pid)
        job = self._outbox.add(f"del:{pid}:{uid}:{nonce()}{by.mark}")
        mark_deleted(job.store, [pid], by)
        with suppress(LeaseEnded):
            edges = Deletion(job.store)._remove(uid, pid)
            if edges > AT_ONCE:
                job.replace(f"del:{pid}:{uid}:{nonce()}{by.mark}")
                return
            if edges:
                for _ in remove_edges_to_posts(job.store, {pid: uid}):
                    pass
            job.done()

    def _remove(self, uid: int, pid: int) -> int:
        """Remove what a deleted post has led to, but the likes and the like; returns their number."""
        look, edges = self._unlist(uid, pid)
        self._settling.agree({}, look)
        PostNotices(self._store).remove([notices_of(pid, uid, look.seen[pid].links, 0)])
        return edges

    def finish(self, claim: Claim) -> bool:
        """The job `del:<pid>:<uid>:<nonce>`, or `del:<pid>:<uid>:<nonce>:staff`, for a worker: finish the deletion.
        Returns False when its turn ended before all likes were removed.

        A post whose hash has expired is not marked again: that would make a hash."""
        pid, uid = job_id(claim.name, 1), job_id(claim.name, 2)
        author, deleted = self._store.hmget(keys.post(pid), ["user_id", "deleted"])
        if author is not None and deleted is None:
            mark_deleted(self._store, [pid], deleted_by(claim.name))
        self._remove(uid, pid)
        if not claim.carry_out_for_a_turn(remove_edges_to_posts(self._store, {pid: uid})):
            return False
        self._outbox.done(claim.name)
        return True

    def _unlist(self, uid: int, pid: int) -> tuple[PostLook, int]:
        """Remove a deleted post from its author's posts; returns how it stands, and how many edges lead to it. An edge
        that comes later sees the deletion itself. One round trip."""
        pipe = self._store.pipeline()
        pipe.zrem(keys.updates(uid), str(pid))
        edges = ask_edges_to_post(pipe, pid)
        look = PostLook(pipe, {pid: NO_LINKS})
        pipe.execute()
        return look, edges.value


def notices_of(pid: int, uid: int, links: Links, when: int) -> NewPost:
    """What of a post of user `uid` decides whom it concerns. `when`: the date of the notices, in unix seconds."""
    return NewPost(pid, uid, when, links.reply_to_user, links.quote, links.mentions or ())


def mark_deleted(store: Store, pids: Sequence[int], by: DeletedBy = DeletedBy.AUTHOR) -> None:
    """The commit of a deletion. What follows is written by `Settling.settle`, which also removes the texts. One round
    trip."""
    now = int(time.time())
    pipe = store.pipeline()
    for pid in pids:
        pipe.hset(keys.post(pid), {"deleted": f"{now}{by.mark}"})
        forget(pid)
    pipe.execute()


# ---- A post that staff deletes, with its line in the log: the job has both, so a worker can do all of it again.


def delete_by_staff(store: Store, pid: int, by: int, reason: str) -> int:
    """Delete anybody's post. Returns the uid of its author. Five round trips besides those of `Deletion.delete`. Raises
    NoSuchPost, PostDeleted."""
    author = stored_id(keys.post(pid), store.hget(keys.post(pid), "user_id"))
    if author is None:
        raise NoSuchPost(pid)
    act = Act(what="post:deleted", by=by, whom=author, post=pid, reason=reason)
    job = Outbox(store).add(f"staff_deletion:{pid}:{act.line()}")
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
    """The job `staff_deletion:<pid>:<line of the log>`: delete the post, unless it is deleted, and write the line."""
    act = read_act("outbox", claim.name.split(":", 2)[2])
    if act is not None:
        with suppress(NoSuchPost, PostDeleted):
            Deletion(store).delete(act.whom, act.post, DeletedBy.STAFF)
        Log(store).write(act)
    claim.outbox.done(claim.name)


# ---- The posts of a deleted account, removed by a worker a chunk at a time.


def remove_posts(store: Store, uid: int) -> Iterator[None]:
    """Delete all posts of a user with their likes, in chunks. Each chunk leaves `updates:` last, since `updates:` leads
    to the posts.

    Each post has a job of its own. Without it, a worker that is killed here could leave a number of replies that no
    other process corrects: the post that led to it may have left `updates:` meanwhile.

    Only removed from the set: a post of another author that is in it by mistake, and reposts. Their edges withdraw
    them, perhaps just now, and to mark a withdrawn one would make a hash. Six round trips a chunk, up
    to two more with notices, and those of `Settling.settle` and `remove_edges_to_posts`."""
    key = keys.updates(uid)
    for members in emptied(store, key):
        pipe = store.pipeline()
        asked = [(pid, pipe.hmget(keys.post(pid), ["user_id", *LINKS])) for pid in stored_ids(key, members)]
        pipe.execute()
        links = {
            pid: links_from(keys.post(pid), fields.value[1:]) for pid, fields in asked if fields.value[0] == str(uid)
        }
        own = [pid for pid, named in links.items() if named.repost_of is None]
        jobs = [f"settle:{pid}:{nonce()}" for pid in own]
        leased = Outbox(store).add_all(jobs)
        mark_deleted(leased, own)
        Settling(leased).settle(own)
        for job in jobs:
            Outbox(leased).queue_done(pipe, job)
        pipe.execute()
        PostNotices(store).remove([notices_of(pid, uid, links[pid], 0) for pid in own])
        yield from remove_edges_to_posts(store, dict.fromkeys(own, uid))
        for member in members:
            pipe.zrem(key, member)
        pipe.execute()
        yield
