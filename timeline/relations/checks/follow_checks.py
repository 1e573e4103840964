"""Checks of follows: `following:` and its mirror `followers:` must agree."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from accounts.users.checks.unknown_users import sets_of_unknown_users, unknown
from retwis_site.maintenance.checks import Check, Chunks, Finding, confirmed, members_of
from retwis_site.maintenance.damaged import ask_damaged
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_score
from timeline.relations.follow import Follows

Edge = tuple[int, int]  # the uid of the set, and the member


@dataclass(frozen=True)
class Side:
    """One of the two sorted sets of an edge."""

    pattern: str
    own: Callable[[int], str]
    mirror: Callable[[int], str]
    follows: Callable[[int, int], tuple[int, int]]  # uid of the set, member -> follower, followed


FOLLOWING = Side("following:*", keys.following, keys.followers, lambda uid, other: (uid, other))
FOLLOWERS = Side("followers:*", keys.followers, keys.following, lambda uid, other: (other, uid))


class FollowChecks:
    """Searches the edges. A repair relies on the checks of accounts, which run before."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._follows = Follows(store)

    def inconsistencies(self) -> list[Check]:
        size = self._store.dbsize
        return [
            Check("follows of unknown users", self.of_unknown_users, lambda: 2 * size()),
            Check("entries of following: missing from followers:, or unknown", partial(self.edges, FOLLOWING), size),
            Check("entries of followers: missing from following:, or unknown", partial(self.edges, FOLLOWERS), size),
        ]

    def of_unknown_users(self) -> Chunks:
        """`following:` and `followers:` sets whose owner does not exist."""
        yield from sets_of_unknown_users(self._store, "following:*", keys.following)
        yield from sets_of_unknown_users(self._store, "followers:*", keys.followers)

    def edges(self, side: Side) -> Chunks:
        """Edges of one side that are missing from the other side, or whose other user does not exist."""

        def look(edges: Sequence[Edge]) -> list[Edge]:
            pipe = self._store.pipeline()
            asked = [
                (
                    (uid, member),
                    pipe.zscore(side.own(uid), str(member)),  # another process may have removed the edge
                    pipe.zscore(side.mirror(member), str(uid)),
                    pipe.hexists(keys.user(member), "username"),
                )
                for uid, member in edges
            ]
            pipe.execute()
            return [
                edge
                for edge, own, mirrored, exists in asked
                if own.value is not None and (mirrored.value is None or not exists.value)
            ]

        def under_way(edge: Edge) -> set[str]:
            me, them = side.follows(*edge)
            return {f"follow:{me}:{them}", f"gone:{me}", f"gone:{them}"}

        for chunk in members_of(self._store, side.pattern):
            edges = [(uid, member) for uid, member, _ in chunk]
            yield [
                Finding(f"{side.own(uid)} has {member}", partial(self._repair, side, uid, member))
                for uid, member in confirmed(self._store, look(edges), under_way, look)
            ]

    def _repair(self, side: Side, uid: int, other: int) -> None:
        if unknown(self._store, [other]):
            self._store.zrem(side.own(uid), str(other))
            self._store.zrem(side.mirror(other), str(uid))
            return
        me, them = side.follows(uid, other)
        if side is FOLLOWERS:
            self._restore(me, them)
        self._follows.mend(me, them)

    def _restore(self, me: int, them: int) -> None:
        """Where a repair has removed bad entries of `following:`, its mirror is all that is left of a follow."""
        pipe = self._store.pipeline()
        since, damaged = pipe.zscore(keys.followers(them), str(me)), ask_damaged(pipe, keys.following(me))
        pipe.execute()
        if damaged.value and since.value is not None:
            when = stored_score(keys.followers(them), str(me), since.value)
            self._store.zadd_nx(keys.following(me), {str(them): when})
