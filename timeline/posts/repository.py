"""Posts in Redis: publish, deliver, delete, and read many at once.

The order of the commands is the design's, section 5; it was checked by trying every interleaving with crashes.
"""

import time
from collections import deque
from collections.abc import Collection, Iterator, Sequence

from django.conf import settings

from retwis_site.exceptions import StoreError
from retwis_site.jobs.outbox import OWNER_GIVES_UP, Claim, Outbox
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import nonce
from timeline.posts.entities import NoSuchPost, PostDeleted, Published
from timeline.posts.post_ids import post_ids
from timeline.posts.reader import Record, forget, queue_post, records_of
from timeline.timelines.cached_list import queue_cut

TOKEN_LIVES = 24 * 3600  # seconds that a form's one-time token is remembered
DELETED_STAYS = 30 * 24 * 3600  # seconds that a deleted post answers "gone"
FOLLOWERS_AT_ONCE = 2048  # homes pushed to in one round trip: one chunk for what is delivered inline
FOLLOWERS_READ = 4 * FOLLOWERS_AT_ONCE  # in one go: to read on means to wait until all that was sent is done

FRESH = 60  # seconds that a post may be pushed into homes; an older one's id would stand too near their heads

CLEANED_AWAY = "this post was cleaned away before it was sent again; send it once more"


class Posts:
    """What people have written."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = Outbox(store)
        self._ids = post_ids(store)

    # ---- writing

    def publish(self, uid: int, body: str, token: str) -> Published:
        """Post `body` and deliver it; with the same `token` a second click is the same post.

        Commit: the ZADD to the outbox. Ten round trips whatever the number of followers, and up to two more where lists
        are cut: it is delivered here to up to DELIVER_INLINE_LIMIT of them, and left to a worker beyond. A second click
        on a post that stands, or was deleted, costs three and drops the author's home, in case the first died before it
        got there; one whose first click died earlier still is finished with the first one's text (HSETNX).
        """
        gives_up = time.monotonic() + OWNER_GIVES_UP
        fresh = self._ids.take(uid)
        pid = self._claim_token(uid, token, fresh)
        if pid != fresh:
            self._ids.give_back(fresh)
            settled = self._settled(uid, pid, token)
            if settled is not None:
                return settled
        pipe = self._store.pipeline()
        pipe.hsetnx(keys.post(pid), "user_id", str(uid))
        pipe.hsetnx(keys.post(pid), "time", str(int(time.time())))
        pipe.hsetnx(keys.post(pid), "body", body)
        pipe.hget(keys.post(pid), "body")
        pipe.zcard(keys.followers(uid))
        *_, stands, followers = pipe.execute()
        if time.monotonic() > gives_up:  # `cleanup` may take the hash for debris by now
            raise StoreError("the store was too slow for this post; send it again")
        job = self._outbox.add(f"post:{pid}:{nonce()}")
        published = Published(pid, stands)
        if self._stand(uid, pid):
            self._push_own(uid, pid)
            if followers > settings.DELIVER_INLINE_LIMIT:
                self._outbox.replace(job.name, f"fan:{pid}:{nonce()}")
                return published
            if any(job.expired() for _ in self._push(uid, pid)):
                return published  # it took too long: whoever takes the intent over finishes it
        self._outbox.done(job.name)
        return published

    def _claim_token(self, uid: int, token: str, fresh: int) -> int:
        key = keys.idem(uid, token)
        while not self._store.set_nx_ex(key, str(fresh), TOKEN_LIVES):
            first = self._store.get(key)
            if first is not None:  # else it expired in between: claim it again
                return int(first)
        return fresh

    def _settled(self, uid: int, pid: int, token: str) -> Published | None:
        """A post that stands, or was deleted; None for one that never got as far.

        Raises StoreError when the id has another author: it was cleaned away, and claimed anew. Then the token is free.
        """
        pipe = self._store.pipeline()
        pipe.hsetnx(keys.post(pid), "user_id", str(uid))
        pipe.hmget(keys.post(pid), ["user_id", "deleted", "body"])
        pipe.zscore(keys.updates(uid), str(pid))
        pipe.unlink(keys.home(uid))
        _, (author, deleted, body), score, _ = pipe.execute()
        if author != str(uid):
            self._store.unlink(keys.idem(uid, token))
            raise StoreError(CLEANED_AWAY)
        return Published(pid, body or "") if score is not None or deleted is not None else None

    def _push_own(self, uid: int, pid: int) -> None:
        """Push a new post into its author's home and the global timeline. One round trip, two where one is cut."""
        pipe = self._store.pipeline()
        pipe.lpushx(keys.home(uid), str(pid))
        pipe.lpush(keys.timeline(pid), str(pid))
        home, timeline = pipe.execute()
        queue_cut(pipe, keys.home(uid), home)
        queue_cut(pipe, keys.timeline(pid), timeline, shards=settings.TIMELINE_SHARDS)
        pipe.execute()

    def _push(self, uid: int, pid: int) -> Iterator[int]:
        """Push a new post into its followers' homes, in chunks; yields how many after each. Two round trips a chunk,
        one more where homes are cut; the store works on one chunk while the next is made."""
        chunks: deque[list[str]] = deque()

        def pushes() -> Iterator[Pipe]:
            for followers in self._store.zset_members(keys.followers(uid), FOLLOWERS_READ):
                for start in range(0, len(followers), FOLLOWERS_AT_ONCE):
                    chunk = followers[start : start + FOLLOWERS_AT_ONCE]
                    chunks.append([keys.home(int(follower)) for follower in chunk])
                    pipe = self._store.pipeline()
                    pipe.lpushx_each(chunks[-1], str(pid))
                    yield pipe

        cuts = self._store.pipeline()
        for lengths in self._store.stream(pushes()):
            homes = chunks.popleft()
            for home, length in zip(homes, lengths, strict=True):
                queue_cut(cuts, home, length)
            cuts.execute()
            yield len(homes)

    def fan_out(self, claim: Claim) -> bool:
        """What the worker does for `fan:<pid>:<nonce>`: push into the homes that the author's request left to it;
        whether all was done before it had to stop. Whoever is not the first to claim it, or comes late, drops homes, as
        `redeliver`.
        """
        pid = int(claim.name.split(":")[1])
        author, when = self._store.hmget(keys.post(pid), ["user_id", "time"])
        if claim.attempt > 1 or time.time() - int(when or 0) > FRESH:
            self.redeliver(claim.name)
            return True
        pushes = self._push(int(author), pid) if author is not None and self._stand(int(author), pid) else ()
        if not claim.carry_out(pushes):
            return False
        self._outbox.done(claim.name)
        return True

    def redeliver(self, job: str) -> None:
        """What the worker does for `post:<pid>:<nonce>`: finish a delivery that somebody else left.

        Homes are dropped, not pushed to, and rebuild themselves: so old ids never pile up at a list's head.
        """
        pid = int(job.split(":")[1])
        author = self._store.hget(keys.post(pid), "user_id")
        if author is not None and self._stand(int(author), pid):
            pipe = self._store.pipeline()
            pipe.unlink(keys.home(int(author)))
            pipe.unlink(keys.timeline(pid))
            pipe.execute()
            for followers in self._store.zset_members(keys.followers(int(author)), FOLLOWERS_AT_ONCE):
                for follower in followers:
                    pipe.unlink(keys.home(int(follower)))
                pipe.execute()
        self._outbox.done(job)

    def _stand(self, uid: int, pid: int) -> bool:
        """Put a post among its author's; False when it was deleted meanwhile, or its author's account. Read after the
        write: either this sees the deletion, or the deletion's own ZREM comes later. Two round trips, three for a
        deleted one, four for a deleted author's.

        Raises StoreError for one whose hash is gone: `cleanup` took it for debris while an old form was sent again.
        """
        pipe = self._store.pipeline()
        pipe.zadd(keys.updates(uid), {str(pid): pid})
        self._ids.queue_as_recent(pipe, pid)
        pipe.execute()
        pipe.hmget(keys.post(pid), ["user_id", "deleted"])
        pipe.hget(keys.user(uid), "deleted")
        (author, deleted), author_left = pipe.execute()
        if author is not None and deleted is None:
            if author_left is None:
                return True
            self.mark_deleted([pid])
        self._store.zrem(keys.updates(uid), str(pid))
        if author is None:
            raise StoreError(CLEANED_AWAY)
        return False

    def delete(self, uid: int, pid: int) -> None:
        """Delete one's own post. Six round trips. Raises NoSuchPost (also for another's), PostDeleted."""
        author, deleted = self._store.hmget(keys.post(pid), ["user_id", "deleted"])
        if author != str(uid):
            raise NoSuchPost(pid)
        if deleted is not None:
            raise PostDeleted(pid)
        job = self._outbox.add(f"del:{pid}:{uid}:{nonce()}")
        self.finish_delete(job.name)

    def finish_delete(self, job: str) -> None:
        """Carry out `del:<pid>:<uid>:<nonce>`, for its owner as for the worker: it rolls forward. Four round trips."""
        pid, uid = (int(part) for part in job.split(":")[1:3])
        self._store.hset(keys.post(pid), {"deleted": str(int(time.time())), "body": ""})
        forget(pid)
        self._store.zrem(keys.updates(uid), str(pid))
        self._store.expire(keys.post(pid), DELETED_STAYS)
        self._outbox.done(job)

    def mark_deleted(self, pids: Sequence[int]) -> None:
        """Delete posts whose author has deleted their account, all but their places in `updates:`, which lead to them.
        One round trip for all together."""
        now = str(int(time.time()))
        pipe = self._store.pipeline()
        for pid in pids:
            pipe.hset(keys.post(pid), {"deleted": now, "body": ""})
            pipe.expire(keys.post(pid), DELETED_STAYS)
            forget(pid)
        pipe.execute()

    # ---- reading

    def read(self, pids: Collection[int]) -> tuple[list[Record], list[int]]:
        """The posts that stand, in the order given, and the ids of those that do not. One round trip."""
        pipe = self._store.pipeline()
        for pid in pids:
            queue_post(pipe, pid)
        return records_of(pids, pipe.execute())
