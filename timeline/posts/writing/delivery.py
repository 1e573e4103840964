"""A published post comes to its author's posts, its listings, and the timelines of its author and followers."""

import time
from collections import deque
from collections.abc import Iterator, Mapping

from django.conf import settings

from accounts.users.deletion import is_deleted
from retwis_site.exceptions import StoreError
from retwis_site.jobs.outbox import Claim, Job, Outbox, job_id
from retwis_site.store import keys
from retwis_site.store.cached_list import queue_cut
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import nonce, stored_id, stored_ids, stored_time
from retwis_site.store.replies import Reply
from timeline.posts.entities import NO_LINKS
from timeline.posts.notices import PostNotices
from timeline.posts.post_ids import post_ids
from timeline.posts.writing.deletion import mark_deleted, notices_of
from timeline.posts.writing.settling import PostLook, PostState, Settling
from timeline.relations.removal import remove_edges_to_posts

# ---- A new or changed post is left to a worker, which writes it into the index of the search.


def leave_to_the_index(pipe: Pipe, pid: int) -> None:
    """Leave the job `index:<pid>:<nonce>` to a worker, due at once. It stands in the same key as the other jobs of the
    post. Each job has a name of its own: a worker that has read the text before an edit does not remove the job of this
    edit."""
    job = f"index:{pid}:{nonce()}"
    pipe.zadd(keys.outbox(job), {job: int(time.time())})


# ---- Delivery


FOLLOWERS_AT_ONCE = 2048  # homes pushed to in one round trip; an inline delivery has one such chunk
FOLLOWERS_READ = 4 * FOLLOWERS_AT_ONCE  # followers read in one round trip; the next read waits for all pushes sent

PUSHED_WITHIN = 60  # seconds; the id of an older post would be too low for the head of a home

REMOVED_BY_CLEANUP = "cleanup removed this post before the form was sent again; send it once more"


class Delivery:
    """Brings posts to where they are read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = Outbox(store)
        self._ids = post_ids(store)
        self._settling = Settling(store)

    def deliver(self, job: Job, uid: int, pid: int, now: PostState, followers: int) -> None:
        """Deliver a new post whose `job` was just added; `job.store` is the store of this object. Up to
        DELIVER_INLINE_LIMIT followers get it here, more of them from a worker. Seven round trips, and up to two more
        where lists are cut; for a reply or a quote those of `Settling.agree`, and for a post that concerns people
        those of `PostNotices.write`."""
        look = self._list(uid, pid, {pid: now})
        self._settle(pid, {pid: now}, look)
        if look is not None:
            PostNotices(self._store).write(notices_of(pid, uid, look.seen[pid].links, int(time.time())))
            self._push_own(uid, pid)
            if followers > settings.DELIVER_INLINE_LIMIT:
                job.replace(f"fan:{pid}:{nonce()}")
                return
            for _ in self.push_to_followers(uid, pid):
                pass
        job.done()

    def fan_out(self, claim: Claim) -> bool:
        """The job `fan:<pid>:<nonce>`: push a post into its followers' homes. Returns False when the worker had to stop
        before the end. Later attempts, and a late first one, drop the homes instead, as `redeliver`."""
        pid = job_id(claim.name, 1)
        author, when = self._store.hmget(keys.post(pid), ["user_id", "time"])
        if claim.attempt > 1 or time.time() - stored_time(keys.post(pid), when) > PUSHED_WITHIN:
            self.redeliver(claim.name)
            return True
        uid = stored_id(keys.post(pid), author)
        look = self._list(uid, pid, {}) if uid is not None else None
        self._settle(pid, {}, look)
        if uid is not None and look is not None and not claim.carry_out(self.push_to_followers(uid, pid)):
            return False
        self._outbox.done(claim.name)
        return True

    def redeliver(self, job: str) -> None:
        """The job `post:<pid>:<nonce>`: finish a delivery that its owner left.

        Homes are dropped and rebuilt by their next read. A push would put old ids at the head of a list.
        """
        pid = job_id(job, 1)
        stored, when = self._store.hmget(keys.post(pid), ["user_id", "time"])
        author = stored_id(keys.post(pid), stored)
        look = self._list(author, pid, {}) if author is not None else None
        self._settle(pid, {}, look)
        if author is not None and look is not None:
            PostNotices(self._store).write(
                notices_of(pid, author, look.seen[pid].links, stored_time(keys.post(pid), when))
            )
            self._store.unlink(keys.timeline(pid))
            self.drop_homes(author)
        self._outbox.done(job)

    def drop_homes(self, uid: int) -> None:
        """Drop the homes of a user and of the user's followers: their next read finds all posts. Two round trips for
        each FOLLOWERS_AT_ONCE followers, and one more."""
        self._store.unlink(keys.home(uid))
        pipe = self._store.pipeline()
        for members in self._store.zset_members(keys.followers(uid), FOLLOWERS_AT_ONCE):
            for follower in stored_ids(keys.followers(uid), members):
                pipe.unlink(keys.home(follower))
            pipe.execute()

    def push_into_own_home(self, uid: int, pid: int) -> None:
        """Push a new repost into its author's home. One round trip, two where the list is cut."""
        home = self._store.lpushx(keys.home(uid), str(pid))
        pipe = self._store.pipeline()
        queue_cut(pipe, keys.home(uid), home)
        pipe.execute()

    def _list(self, uid: int, pid: int, written: Mapping[int, PostState]) -> PostLook | None:
        """Add a post to its author's `updates:`, to the jobs of the search index, and, when it is known (`written`), to
        its listings. Returns how it stands; None when the post or its author's account is deleted.

        The deletion is read after the write. Either this read sees it, or the ZREM of the deletion comes later. Two
        round trips; three for a deleted post, five for a deleted account. Raises StoreError when the post's hash is
        gone: `cleanup` took it for an orphan while an old form was sent again.
        """
        pipe = self._store.pipeline()
        pipe.zadd(keys.updates(uid), {str(pid): pid})
        self._ids.queue_as_recent(pipe, pid)
        leave_to_the_index(pipe, pid)
        for now in written.values():
            self._settling.queue(pipe, pid, now)
        pipe.execute()
        look = PostLook(pipe, {pid: written[pid].links if pid in written else NO_LINKS})
        account_deleted = pipe.hget(keys.user(uid), "deleted")
        pipe.execute()
        now = look.seen[pid]
        if now.exists and not now.deleted:
            if not is_deleted(account_deleted.value):
                return look
            mark_deleted(self._store, [pid])
            for _ in remove_edges_to_posts(self._store, {pid: uid}):
                pass  # only someone who has guessed its address can have liked it
        self._store.zrem(keys.updates(uid), str(pid))
        if not now.exists:
            raise StoreError(REMOVED_BY_CLEANUP)
        return None

    def _settle(self, pid: int, written: Mapping[int, PostState], look: PostLook | None) -> None:
        """Make the listings match. `look`: None for a deleted post, which is read again; its text, which leads to what
        was written of it, may be gone by now."""
        if look is None:
            self._settling.settle([pid], written)
        else:
            self._settling.agree(written, look)

    def _push_own(self, uid: int, pid: int) -> None:
        """Push a new post into its author's home and the global timeline. One round trip, two where a list is cut."""
        pipe = self._store.pipeline()
        home = pipe.lpushx(keys.home(uid), str(pid))
        timeline = pipe.lpush(keys.timeline(pid), str(pid))
        pipe.execute()
        queue_cut(pipe, keys.home(uid), home.value)
        queue_cut(pipe, keys.timeline(pid), timeline.value, shards=settings.TIMELINE_SHARDS)
        pipe.execute()

    def push_to_followers(self, uid: int, pid: int) -> Iterator[int]:
        """Push a new post into its followers' homes; yields the number of homes after each chunk. Two round trips a
        chunk, one more where homes are cut. The store works on one chunk while the next is made."""
        sent: deque[tuple[list[str], Reply[list[int]]]] = deque()  # homes with their new lengths

        def pushes() -> Iterator[Pipe]:
            for members in self._store.zset_members(keys.followers(uid), FOLLOWERS_READ):
                followers = stored_ids(keys.followers(uid), members)
                for start in range(0, len(followers), FOLLOWERS_AT_ONCE):
                    chunk = followers[start : start + FOLLOWERS_AT_ONCE]
                    homes = [keys.home(follower) for follower in chunk]
                    pipe = self._store.pipeline()
                    sent.append((homes, pipe.lpushx_each(homes, str(pid))))
                    yield pipe

        cuts = self._store.pipeline()
        for _ in self._store.stream(pushes()):
            homes, lengths = sent.popleft()
            for home, length in zip(homes, lengths.value, strict=True):
                queue_cut(cuts, home, length)
            cuts.execute()
            yield len(homes)
