"""Who follows whom: `following:` is the truth, `followers:` its mirror."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nsmallest

from retwis_site.jobs.outbox import Claim, Outbox
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import nonce, parse_id, whole
from timeline.relations.entities import InCommon
from timeline.relations.ranking import Ranking

COMPARED = 10_000  # ids of the smaller side that "in common" looks at
FIRST = 4  # of whom it also tells who they are


class Follows:
    """The edges between users."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = Outbox(store)
        self._ranking = Ranking(store)

    # ---- writing

    def follow(self, me: int, them: int) -> None:
        """Follow somebody; twice keeps the first date. Commit: the ZADD to `following:`. Eight round trips."""
        job = self._outbox.add(f"follow:{me}:{them}:{nonce()}")
        self._store.zadd_nx(keys.following(me), {str(them): int(time.time())})
        self.finish_follow(job.name)

    def unfollow(self, me: int, them: int) -> None:
        """Stop following somebody. Commit: the ZREM from `following:`. Eight round trips."""
        job = self._outbox.add(f"follow:{me}:{them}:{nonce()}")
        self._store.zrem(keys.following(me), str(them))
        self.finish_follow(job.name)

    def mend(self, me: int, them: int) -> None:
        """Make the mirror match, whichever side was damaged. Seven round trips."""
        job = self._outbox.add(f"follow:{me}:{them}:{nonce()}")
        self.finish_follow(job.name)

    def finish_follow(self, job: str) -> None:
        """What follows the commit of `follow:<A>:<B>:<nonce>`, for its owner as for the worker: make the mirror match,
        drop A's home, whose next read is rebuilt with (or without) B's posts, which is the whole backfill, and count
        B's followers anew. Six round trips; two more each time that somebody comes between.

        Whether both still have their accounts is read after the mirror was written: either this sees a deletion, and
        takes back what it wrote, or what clears up after the deletion sees the edge.
        """
        me, them = (int(part) for part in job.split(":")[1:3])
        pipe = self._store.pipeline()
        since = self._store.zscore(keys.following(me), str(them))
        while True:
            if since is None:
                self._store.zrem(keys.followers(them), str(me))
            else:
                self._store.zadd(keys.followers(them), {str(me): whole(since)})
            pipe.zscore(keys.following(me), str(them))
            self._ranking.queue_count(pipe, them)
            pipe.hget(keys.user(me), "deleted")
            pipe.hget(keys.user(them), "deleted")
            again, followers, *left = pipe.execute()
            if again is not None and left != [None, None]:
                self._store.zrem(keys.following(me), str(them))
                since = None
                continue
            if again == since:
                break
            since = again
        pipe.unlink(keys.home(me))
        self._ranking.queue_place(pipe, them, followers)
        pipe.execute()
        self._ranking.settle({them: followers})
        self._outbox.done(job)

    # ---- reading

    def queue_following_count(self, pipe: Pipe, uid: int) -> None:
        pipe.zcard(keys.following(uid))

    def queue_followers_count(self, pipe: Pipe, uid: int) -> None:
        pipe.zcard(keys.followers(uid))

    def queue_which_followed(self, pipe: Pipe, me: int, uids: Sequence[int]) -> None:
        """Ask which of these (at least one) somebody follows; for `which(uids, reply)`."""
        pipe.zmscore(keys.following(me), [str(uid) for uid in uids])


def finish_follow(store: Store, claim: Claim) -> None:
    """The job `follow:<follower>:<followed>:<nonce>`. Six round trips; two more each time that another change comes
    between."""
    Follows(store).finish_follow(claim.name)


def which(uids: Sequence[int], reply: Sequence[float | None]) -> set[int]:
    """Of the uids that were asked about, those that stand in the sorted set."""
    return {uid for uid, score in zip(uids, reply, strict=True) if score is not None}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sets of people, of which the smaller is read and looked up in the larger."""

    smaller: str  # keys
    larger: str
    size: int  # of the smaller
    larger_size: int

    def queue_smaller(self, pipe: Pipe) -> None:
        """Ask for the smaller set's ids; for `queue_shared`."""
        pipe.zrange(self.smaller, 0, COMPARED - 1)

    def queue_shared(self, pipe: Pipe, ids: Sequence[str]) -> None:
        """Ask which of them stand in the larger; for `shared`. There must be one at least."""
        pipe.zmscore(self.larger, ids)

    def shared(self, ids: Sequence[str], reply: Sequence[float | None]) -> "Shared":
        found = [uid for uid, score in zip(ids, reply, strict=True) if score is not None]
        people = (uid for member in found if (uid := parse_id(member)) is not None)
        return Shared(InCommon(len(found), exact=self.size <= COMPARED), tuple(nsmallest(FIRST, people)))


@dataclass(frozen=True, slots=True)
class Shared:
    """What a comparison has found."""

    number: InCommon
    first: tuple[int, ...]  # some of them: who has been here longest


def compare(one: str, one_size: int, other: str, other_size: int) -> Comparison:
    """What to ask to learn how many ids two sorted sets (keys and lengths) share."""
    if one_size <= other_size:
        return Comparison(one, other, one_size, other_size)
    return Comparison(other, one, other_size, one_size)
