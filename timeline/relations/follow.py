"""Follows: `following:` is the truth, `followers:` its mirror. Both hold the uid and the unix second of each follow."""

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import stored_ids
from retwis_site.store.replies import Reply, Result
from timeline.notices.entities import Kind
from timeline.relations.entities import FollowCounts, InCommon
from timeline.relations.protocol.blocks import ask_not_blocked
from timeline.relations.protocol.edges import Edges
from timeline.relations.protocol.notifying import notice_of
from timeline.relations.protocol.relation import PERSON, Edge, Effect, Relation, to_person

# ---- The ranking `users_by_followers`: the number of followers of each user. Users without followers are not in it.


class Ranking:
    """It is a `Count`: the number of edges to a user is their score."""

    def ask(self, pipe: Pipe, target: int) -> Reply[int]:
        return pipe.zcard(keys.followers(target))

    def ask_written(self, pipe: Pipe, target: int) -> Result[float]:
        score = pipe.zscore(keys.users_by_followers(), str(target))
        return Result(lambda: score.value or 0)

    def queue(self, pipe: Pipe, target: int, number: int) -> None:
        if number:
            pipe.zadd(keys.users_by_followers(), {str(target): number})
        else:
            pipe.zrem(keys.users_by_followers(), str(target))


RANKING = Ranking()


# ---- Follow


COMPARED = 10_000  # members of the smaller set that a comparison looks up
LATEST = 100  # users that `LatestFollowed` has at most: 2 KB
FIRST_SHARED = 4  # uids that a comparison returns


def _drop_home(pipe: Pipe, edge: Edge, score: float | None, fact: object) -> None:
    """The next read rebuilds the home with (or without) their posts, so no other backfill is needed."""
    pipe.unlink(keys.home(edge.who))


FOLLOW = Relation(
    kind="follow",
    truth=keys.following,
    target=PERSON,
    count=RANKING,
    conditions=(ask_not_blocked,),
    effects=(Effect(_drop_home), notice_of(Kind.FOLLOW)),
)


class Follows:
    """All follows: from a follower to a followed user."""

    def __init__(self, store: Store) -> None:
        self._edges = Edges(store, FOLLOW)

    def follow(self, me: int, them: int) -> None:
        """Let `me` follow `them`; a second follow keeps the first date. Round trips as for `Edges.set`."""
        self._edges.set(to_person(me, them), int(time.time()))

    def unfollow(self, me: int, them: int) -> None:
        """Let `me` no longer follow `them`. Round trips as for `Edges.unset`."""
        self._edges.unset(to_person(me, them))


def ask_follow_counts(pipe: Pipe, uid: int) -> Result[FollowCounts]:
    """How many users a user follows, and how many followers they have. Two commands."""
    following, followers = pipe.zcard(keys.following(uid)), pipe.zcard(keys.followers(uid))
    return Result(lambda: FollowCounts(following.value, followers.value))


def ask_followed(pipe: Pipe, me: int, uids: Collection[int]) -> Result[set[int]]:
    """Those of these users (at least one) that `me` follows."""
    scores = pipe.zmscore(keys.following(me), [str(uid) for uid in uids])
    return Result(lambda: {uid for uid, score in zip(uids, scores.value, strict=True) if score is not None})


@dataclass(frozen=True, slots=True)
class LatestFollowed:
    """The users that a user has followed last, at most LATEST of them."""

    members: frozenset[str]  # uids as text
    are_all: bool  # the user follows no one else


NO_FOLLOWED_READ = LatestFollowed(frozenset(), are_all=False)


def ask_latest_followed(pipe: Pipe, me: int) -> Result[LatestFollowed]:
    """A page can ask this before it knows whose posts it has, and for most users it is all that the page must know."""
    members = pipe.zrevrange(keys.following(me), 0, LATEST - 1)
    return Result(lambda: LatestFollowed(frozenset(members.value), len(members.value) < LATEST))


class FollowedPeople:
    """Which people of one page a user follows."""

    def __init__(self, me: int, latest: LatestFollowed) -> None:
        """`latest`: what this request has read. It asks about others only where a user follows more than these."""
        self._me = me
        self._latest = latest
        self._asked: set[int] = set()
        self._answers: list[Result[set[int]]] = []

    def ask(self, pipe: Pipe, uids: Collection[int]) -> None:
        """Ask about these people, unless it is known already. At most one command."""
        if self._latest.are_all:
            return
        unknown = {uid for uid in uids if uid not in self._asked and str(uid) not in self._latest.members}
        if unknown:
            self._asked |= unknown
            self._answers.append(ask_followed(pipe, self._me, unknown))

    def among(self, uids: Iterable[int]) -> set[int]:
        """Those of these people whom the user follows. It was asked about all of them."""
        members = self._latest.members
        latest = {uid for uid in uids if str(uid) in members}
        return latest.union(*[answer.value for answer in self._answers])


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

    def ask_shared(self, pipe: Pipe, members: Sequence[str]) -> "Result[Shared]":
        """Ask which members of the smaller set are also in the larger one. One command; none without members."""
        scores = pipe.zmscore(self.larger, members) if members else None

        def read() -> Shared:
            pairs = zip(members, scores.value if scores else (), strict=True)
            found = [member for member, score in pairs if score is not None]
            uids = stored_ids(self.smaller, found)
            return Shared(
                InCommon(len(uids), exact=self.smaller_size <= COMPARED), tuple(nsmallest(FIRST_SHARED, uids))
            )

        return Result(read)


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
