"""Posts in Redis: publish, deliver, delete, and read many at once.

The order of the commands in every write was checked by exploring every interleaving with crashes in a model.
"""

import time
from collections import deque
from collections.abc import Collection, Iterator, Sequence

from django.conf import settings

from accounts.users.deletion import is_deleted
from retwis_site.exceptions import StoreError
from retwis_site.jobs.outbox import OWNER_GIVES_UP, Claim, Outbox, job_id
from retwis_site.store import keys
from retwis_site.store.cached_list import queue_cut
from retwis_site.store.chunks import AT_ONCE
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import nonce, stored_id, stored_ids, stored_time
from retwis_site.store.replies import Reply
from timeline.posts.entities import NoSuchPost, PostDeleted, Published
from timeline.posts.post_ids import post_ids
from timeline.posts.reading.post_reader import forget
from timeline.posts.reading.records import Record, ask_post, existing
from timeline.relations.removal import ask_edges_to_post, remove_edges_to_posts

TOKEN_LIVES = 24 * 3600  # seconds that a form's one-time token is kept
DELETED_STAYS = 30 * 24 * 3600  # seconds that the page of a deleted post answers 410
FOLLOWERS_AT_ONCE = 2048  # homes pushed to in one round trip; an inline delivery has one such chunk
FOLLOWERS_READ = 4 * FOLLOWERS_AT_ONCE  # followers read in one round trip; the next read waits for all pushes sent

PUSHED_WITHIN = 60  # seconds; the id of an older post would be too low for the head of a home

REMOVED_BY_CLEANUP = "cleanup removed this post before the form was sent again; send it once more"


class Posts:
    """All posts."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = Outbox(store)
        self._ids = post_ids(store)

    # ---- writing

    def publish(self, uid: int, body: str, token: str) -> Published:
        """Publish `body` and deliver it. A second click on the form has the same `token` and gives the same post.

        Commit: the ZADD to the outbox. Ten round trips for any number of followers, and up to two more where lists are
        cut. Up to DELIVER_INLINE_LIMIT followers get the post here, more of them from a worker. A second click on a
        published or deleted post costs three round trips. It drops the author's home, because the first request may
        have died before that push. When the first request died before its commit, the second click finishes it, with
        the first text (HSETNX). Raises StoreError.
        """
        deadline = time.monotonic() + OWNER_GIVES_UP
        new_pid = self._ids.take(uid)
        pid = self._claim_token(uid, token, new_pid)
        if pid != new_pid:
            self._ids.give_back(new_pid)
            published = self._published_before(uid, pid, token)
            if published is not None:
                return published
        pipe = self._store.pipeline()
        pipe.hsetnx(keys.post(pid), "user_id", str(uid))
        pipe.hsetnx(keys.post(pid), "time", str(int(time.time())))
        pipe.hsetnx(keys.post(pid), "body", body)
        stored_body = pipe.hget(keys.post(pid), "body")
        followers = pipe.zcard(keys.followers(uid))
        pipe.execute()
        if time.monotonic() > deadline:  # `cleanup` may take the hash for an orphan by now
            raise StoreError("the store was too slow for this post; send it again")
        job = self._outbox.add(f"post:{pid}:{nonce()}")
        published = Published(pid, stored_body.value or "")
        if self._add_to_updates(uid, pid):
            self._push_own(uid, pid)
            if followers.value > settings.DELIVER_INLINE_LIMIT:
                self._outbox.replace(job.name, f"fan:{pid}:{nonce()}")
                return published
            if any(job.expired() for _ in self._push(uid, pid)):
                return published  # Too slow: stop. The worker that claims this job finishes it.
        self._outbox.done(job.name)
        return published

    def _claim_token(self, uid: int, token: str, new_pid: int) -> int:
        """The id of the token's post: `new_pid`, or the id that an earlier click has given it."""
        key = keys.idem(uid, token)
        while not self._store.set_nx_ex(key, str(new_pid), TOKEN_LIVES):
            first_pid = self._store.get(key)
            if first_pid is None:  # it has just expired: claim it again
                continue
            pid = stored_id(key, first_pid)
            if pid is not None:
                return pid
            self._store.unlink(key)
        return new_pid

    def _published_before(self, uid: int, pid: int, token: str) -> Published | None:
        """A post that an earlier click has published, even if it is deleted by now; None when that click died before.

        Raises StoreError when the id has another author: `cleanup` removed the hash, and another post got the id. Then
        the token can be used again.
        """
        pipe = self._store.pipeline()
        pipe.hsetnx(keys.post(pid), "user_id", str(uid))
        fields = pipe.hmget(keys.post(pid), ["user_id", "deleted", "body"])
        score = pipe.zscore(keys.updates(uid), str(pid))
        pipe.unlink(keys.home(uid))
        pipe.execute()
        author, deleted, body = fields.value
        if author != str(uid):
            self._store.unlink(keys.idem(uid, token))
            raise StoreError(REMOVED_BY_CLEANUP)
        return Published(pid, body or "") if score.value is not None or deleted is not None else None

    def _push_own(self, uid: int, pid: int) -> None:
        """Push a new post into its author's home and the global timeline. One round trip, two where a list is cut."""
        pipe = self._store.pipeline()
        home = pipe.lpushx(keys.home(uid), str(pid))
        timeline = pipe.lpush(keys.timeline(pid), str(pid))
        pipe.execute()
        queue_cut(pipe, keys.home(uid), home.value)
        queue_cut(pipe, keys.timeline(pid), timeline.value, shards=settings.TIMELINE_SHARDS)
        pipe.execute()

    def _push(self, uid: int, pid: int) -> Iterator[int]:
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

    def fan_out(self, claim: Claim) -> bool:
        """The job `fan:<pid>:<nonce>`: push a post into its followers' homes. Returns False when the worker had to stop
        before the end. Later attempts, and a late first one, drop the homes instead, as `redeliver`."""
        pid = job_id(claim.name, 1)
        author, when = self._store.hmget(keys.post(pid), ["user_id", "time"])
        if claim.attempt > 1 or time.time() - stored_time(keys.post(pid), when) > PUSHED_WITHIN:
            self.redeliver(claim.name)
            return True
        uid = stored_id(keys.post(pid), author)
        pushes = self._push(uid, pid) if uid is not None and self._add_to_updates(uid, pid) else ()
        if not claim.carry_out(pushes):
            return False
        self._outbox.done(claim.name)
        return True

    def redeliver(self, job: str) -> None:
        """The job `post:<pid>:<nonce>`: finish a delivery that its owner left.

        Homes are dropped and rebuilt by their next read. A push would put old ids at the head of a list.
        """
        pid = job_id(job, 1)
        author = stored_id(keys.post(pid), self._store.hget(keys.post(pid), "user_id"))
        if author is not None and self._add_to_updates(author, pid):
            pipe = self._store.pipeline()
            pipe.unlink(keys.home(author))
            pipe.unlink(keys.timeline(pid))
            pipe.execute()
            for members in self._store.zset_members(keys.followers(author), FOLLOWERS_AT_ONCE):
                for follower in stored_ids(keys.followers(author), members):
                    pipe.unlink(keys.home(follower))
                pipe.execute()
        self._outbox.done(job)

    def _add_to_updates(self, uid: int, pid: int) -> bool:
        """Add a post to its author's `updates:`. Returns False when the post or its author's account is deleted.

        The deletion is read after the write. Either this read sees it, or the ZREM of the deletion comes later. Two
        round trips; three for a deleted post, five for a deleted account. Raises StoreError when the post's hash is
        gone: `cleanup` took it for an orphan while an old form was sent again.
        """
        pipe = self._store.pipeline()
        pipe.zadd(keys.updates(uid), {str(pid): pid})
        self._ids.queue_as_recent(pipe, pid)
        pipe.execute()
        fields = pipe.hmget(keys.post(pid), ["user_id", "deleted"])
        account_deleted = pipe.hget(keys.user(uid), "deleted")
        pipe.execute()
        author, deleted = fields.value
        if author is not None and deleted is None:
            if not is_deleted(account_deleted.value):
                return True
            self.mark_deleted([pid])
            for _ in remove_edges_to_posts(self._store, {pid: uid}):
                pass  # only someone who has guessed its address can have liked it
        self._store.zrem(keys.updates(uid), str(pid))
        if author is None:
            raise StoreError(REMOVED_BY_CLEANUP)
        return False

    def delete(self, uid: int, pid: int) -> None:
        """Delete a post of user `uid`, and the likes of it: up to AT_ONCE here, more of them by a worker. Five round
        trips; eleven more with likes. Raises NoSuchPost (also for another author's), PostDeleted.

        Commit: the HSET of `deleted`."""
        author, deleted = self._store.hmget(keys.post(pid), ["user_id", "deleted"])
        if author != str(uid):
            raise NoSuchPost(pid)
        if deleted is not None:
            raise PostDeleted(pid)
        job = self._outbox.add(f"del:{pid}:{uid}:{nonce()}")
        self._hide(pid)
        edges = self._unlist(uid, pid)
        if edges > AT_ONCE:
            self._outbox.replace(job.name, f"del:{pid}:{uid}:{nonce()}")
            return
        if edges and any(job.expired() for _ in remove_edges_to_posts(self._store, {pid: uid})):
            return  # Too slow: stop. The worker that claims this job finishes it.
        self._outbox.done(job.name)

    def finish_delete(self, claim: Claim) -> bool:
        """The job `del:<pid>:<uid>:<nonce>`, for a worker: finish the deletion. Returns False when its turn ended
        before all likes were removed. Five round trips, and those of `remove_edges_to_posts`.

        A post whose hash has expired is not marked again: that would make a hash."""
        pid, uid = job_id(claim.name, 1), job_id(claim.name, 2)
        author, deleted = self._store.hmget(keys.post(pid), ["user_id", "deleted"])
        if author is not None and deleted is None:
            self._hide(pid)
        self._unlist(uid, pid)
        if not claim.carry_out_for_a_turn(remove_edges_to_posts(self._store, {pid: uid})):
            return False
        self._outbox.done(claim.name)
        return True

    def _hide(self, pid: int) -> None:
        self._store.hset(keys.post(pid), {"deleted": str(int(time.time())), "body": ""})
        forget(pid)

    def _unlist(self, uid: int, pid: int) -> int:
        """Remove a deleted post from its author's posts; returns how many edges lead to it. One round trip. An edge
        that comes later sees the deletion itself."""
        pipe = self._store.pipeline()
        pipe.zrem(keys.updates(uid), str(pid))
        pipe.expire(keys.post(pid), DELETED_STAYS)
        edges = ask_edges_to_post(pipe, pid)
        pipe.execute()
        return edges.value

    def mark_deleted(self, pids: Sequence[int]) -> None:
        """Delete posts of a deleted account. Their ids stay in `updates:`, which leads to them. One round trip."""
        now = str(int(time.time()))
        pipe = self._store.pipeline()
        for pid in pids:
            pipe.hset(keys.post(pid), {"deleted": now, "body": ""})
            pipe.expire(keys.post(pid), DELETED_STAYS)
            forget(pid)
        pipe.execute()

    # ---- reading

    def read(self, pids: Collection[int]) -> tuple[list[Record], list[int]]:
        """The posts that exist, in the order of `pids`, and the ids of the missing or deleted ones. One round trip."""
        pipe = self._store.pipeline()
        asked = {pid: ask_post(pipe, pid) for pid in pids}
        pipe.execute()
        return existing(asked)
