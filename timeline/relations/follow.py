"""Follows: `following:` is the truth, `followers:` its mirror. Both hold the uid and the unix second of each follow.

The order of the commands in every write was checked by exploring every interleaving with crashes in a model.
"""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from accounts.users.deletion import is_deleted
from retwis_site.jobs.outbox import Claim, Outbox, job_id
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import nonce, stored_ids, stored_score
from retwis_site.store.replies import Answer, Reply
from timeline.relations.entities import FollowCounts, InCommon
from timeline.relations.ranking import Ranking

COMPARED = 10_000  # members of the smaller set that a comparison looks up
LATEST = 100  # users that `LatestFollowed` has at most: 2 KB
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
        me, them = job_id(job, 1), job_id(job, 2)
        pipe = self._store.pipeline()
        since = self._store.zscore(keys.following(me), str(them))
        while True:
            if since is None:
                self._store.zrem(keys.followers(them), str(me))
            else:
                self._store.zadd(keys.followers(them), {str(me): stored_score(keys.following(me), str(them), since)})
            since_now = pipe.zscore(keys.following(me), str(them))
            followers = pipe.zcard(keys.followers(them))
            deleted = [pipe.hget(keys.user(uid), "deleted") for uid in (me, them)]
            pipe.execute()
            if since_now.value is not None and any(is_deleted(each.value) for each in deleted):
                self._store.zrem(keys.following(me), str(them))
                since = None
                continue
            if since_now.value == since:
                break
            since = since_now.value
        pipe.unlink(keys.home(me))
        self._ranking.queue_place(pipe, them, followers.value)
        pipe.execute()
        self._ranking.settle({them: followers.value})
        self._outbox.done(job)


def finish_follow(store: Store, claim: Claim) -> None:
    """The job `follow:<follower>:<followed>:<nonce>`. Six round trips; two more each time that another process changes
    the edge meanwhile."""
    Follows(store).finish_follow(claim.name)


def ask_follow_counts(pipe: Pipe, uid: int) -> Answer[FollowCounts]:
    """How many users a user follows, and how many followers they have. Two commands."""
    following, followers = pipe.zcard(keys.following(uid)), pipe.zcard(keys.followers(uid))
    return Answer(lambda: FollowCounts(following.value, followers.value))


def ask_followed(pipe: Pipe, me: int, uids: Collection[int]) -> Answer[set[int]]:
    """Those of these users (at least one) that `me` follows."""
    scores = pipe.zmscore(keys.following(me), [str(uid) for uid in uids])
    return Answer(lambda: {uid for uid, score in zip(uids, scores.value, strict=True) if score is not None})


@dataclass(frozen=True, slots=True)
class LatestFollowed:
    """The users that a user has followed last, at most LATEST of them."""

    members: frozenset[str]  # uids as text
    are_all: bool  # the user follows no one else


NO_FOLLOWED_READ = LatestFollowed(frozenset(), are_all=False)


def ask_latest_followed(pipe: Pipe, me: int) -> Answer[LatestFollowed]:
    """A page can ask this before it knows whose posts it has, and for most users it is all that the page must know."""
    members = pipe.zrevrange(keys.following(me), 0, LATEST - 1)
    return Answer(lambda: LatestFollowed(frozenset(members.value), len(members.value) < LATEST))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Finds the members that two sorted sets of uids share: reads the smaller set and looks its members up in the
    larger. Two round trips: `ask_smaller`, then `ask_shared` with the members."""

    smaller: str  # key
    larger: str  # key
    smaller_size: int

    def ask_smaller(self, pipe: Pipe) -> Reply[list[str]]:
        """Ask for the first COMPARED members of the smaller set."""
        return pipe.zrange(self.smaller, 0, COMPARED - 1)

    def ask_shared(self, pipe: Pipe, members: Sequence[str]) -> "Answer[Shared]":
        """Ask which members of the smaller set are also in the larger one. One command; none without members."""
        scores = pipe.zmscore(self.larger, members) if members else None

        def read() -> Shared:
            pairs = zip(members, scores.value if scores else (), strict=True)
            found = [member for member, score in pairs if score is not None]
            uids = stored_ids(self.smaller, found)
            return Shared(
                InCommon(len(uids), exact=self.smaller_size <= COMPARED), tuple(nsmallest(FIRST_SHARED, uids))
            )

        return Answer(read)


@dataclass(frozen=True, slots=True)
class Shared:
    """The result of a comparison."""

    number: InCommon
    first: tuple[int, ...]  # at most FIRST_SHARED shared uids, lowest first: the oldest accounts


def compare(one: str, one_size: int, other: str, other_size: int) -> Comparison:
    """A comparison of two sorted sets of uids, by their keys and sizes. No round trip."""
    if one_size <= other_size:
        return Comparison(one, other, one_size)
    return Comparison(other, one, other_size)
