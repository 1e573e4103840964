"""Follows: `following:` is the truth, `followers:` its mirror. Both hold the uid and the unix second of each follow.

The order of the commands in every write was checked by exploring every interleaving with crashes in a model.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nsmallest

from retwis_site.jobs.outbox import Claim, Outbox
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import nonce, parse_ids, whole
from timeline.relations.entities import InCommon
from timeline.relations.ranking import Ranking

COMPARED = 10_000  # members of the smaller set that a comparison looks up
FIRST_SHARED = 4  # uids that a comparison returns


class Follows:
    """All follows. An edge is one follow: from a follower to a followed user."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = Outbox(store)
        self._ranking = Ranking(store)

    # ---- writing

    def follow(self, me: int, them: int) -> None:
        """Let `me` follow `them`; a second follow keeps the first date. Commit: the ZADD to `following:`. Eight round
        trips."""
        job = self._outbox.add(f"follow:{me}:{them}:{nonce()}")
        self._store.zadd_nx(keys.following(me), {str(them): int(time.time())})
        self.finish_follow(job.name)

    def unfollow(self, me: int, them: int) -> None:
        """Let `me` no longer follow `them`. Commit: the ZREM from `following:`. Eight round trips."""
        job = self._outbox.add(f"follow:{me}:{them}:{nonce()}")
        self._store.zrem(keys.following(me), str(them))
        self.finish_follow(job.name)

    def mend(self, me: int, them: int) -> None:
        """Make `followers:` match `following:` again, for one edge. Seven round trips."""
        job = self._outbox.add(f"follow:{me}:{them}:{nonce()}")
        self.finish_follow(job.name)

    def finish_follow(self, job: str) -> None:
        """The job `follow:<me>:<them>:<nonce>`, for its owner and for a worker: carry out what follows the commit.

        It makes the mirror match, drops the home of `me` and counts the followers of `them` anew. The next read
        rebuilds the home with (or without) their posts, so no other backfill is needed. Six round trips; two more each
        time that another process changes the edge meanwhile.

        The accounts are read after the mirror was written. Either this read sees a deletion, and the edge is removed
        again, or the worker that removes the account sees the edge.
        """
        me, them = (int(uid) for uid in job.split(":")[1:3])
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
            since_now, followers, *deleted = pipe.execute()
            if since_now is not None and deleted != [None, None]:
                self._store.zrem(keys.following(me), str(them))
                since = None
                continue
            if since_now == since:
                break
            since = since_now
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
        """Ask which of these users (at least one) `me` follows; `followed_uids(uids, reply)` reads the reply."""
        pipe.zmscore(keys.following(me), [str(uid) for uid in uids])


def finish_follow(store: Store, claim: Claim) -> None:
    """The job `follow:<follower>:<followed>:<nonce>`. Six round trips; two more each time that another process changes
    the edge meanwhile."""
    Follows(store).finish_follow(claim.name)


def followed_uids(uids: Sequence[int], reply: Sequence[float | None]) -> set[int]:
    """The followed ones of `uids`, from the reply to `queue_which_followed`."""
    return {uid for uid, score in zip(uids, reply, strict=True) if score is not None}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Finds the members that two sorted sets of uids share: reads the smaller set and looks its members up in the
    larger. Two round trips: `queue_smaller`, then `queue_shared` with the members, then `shared` with its reply."""

    smaller: str  # key
    larger: str  # key
    smaller_size: int
    larger_size: int  # only makes comparisons of changed sets unequal: they are keys of a cache

    def queue_smaller(self, pipe: Pipe) -> None:
        """Ask for the first COMPARED members of the smaller set."""
        pipe.zrange(self.smaller, 0, COMPARED - 1)

    def queue_shared(self, pipe: Pipe, members: Sequence[str]) -> None:
        """Ask which of these members (at least one) are also in the larger set."""
        pipe.zmscore(self.larger, members)

    def shared(self, members: Sequence[str], reply: Sequence[float | None]) -> "Shared":
        """The shared members, from the reply to `queue_shared`. Both arguments are empty when the smaller set is."""
        found = [member for member, score in zip(members, reply, strict=True) if score is not None]
        number = InCommon(len(found), exact=self.smaller_size <= COMPARED)
        return Shared(number, tuple(nsmallest(FIRST_SHARED, parse_ids(found))))


@dataclass(frozen=True, slots=True)
class Shared:
    """The result of a comparison."""

    number: InCommon
    first: tuple[int, ...]  # at most FIRST_SHARED shared uids, lowest first: the oldest accounts


def compare(one: str, one_size: int, other: str, other_size: int) -> Comparison:
    """A comparison of two sorted sets of uids, by their keys and sizes. No round trip."""
    if one_size <= other_size:
        return Comparison(one, other, one_size, other_size)
    return Comparison(other, one, other_size, one_size)
