"""Checks of reposts: an edge and the post that it makes must stand together.

`EdgeChecks` compare the two sides of the edge. These compare the edge with its post.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from retwis_site.maintenance.checks import Check, Chunks, Finding, confirmed, members_of
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_id, whole
from timeline.relations.protocol.edges import Edges
from timeline.relations.protocol.removal import edges_of
from timeline.relations.repost import REPOST


class Repost(NamedTuple):
    """A user, the post that they repost, and the post that the repost is."""

    who: int
    original: int
    own: int


class RepostChecks:
    """Searches the posts that reposts are. A repair relies on the checks of the edges, which run before."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def inconsistencies(self) -> list[Check]:
        size = self._store.dbsize
        return [
            Check("entries of reposts: whose own post is missing or not listed", self.edges, size),
            Check("listed reposts that reposts: does not name", self.posts, size),
        ]

    def edges(self) -> Chunks:
        for chunk in members_of(self._store, "reposts:*"):
            reposts = [Repost(who, original, whole(own)) for who, original, own in chunk]
            yield self._findings(reposts, self._without_post)

    def _without_post(self, reposts: Sequence[Repost]) -> list[Repost]:
        pipe = self._store.pipeline()
        asked = [
            (
                one,
                pipe.zscore(keys.reposts(one.who), str(one.original)),
                pipe.hexists(keys.post(one.own), "user_id"),
                pipe.zscore(keys.updates(one.who), str(one.own)),
            )
            for one in reposts
        ]
        pipe.execute()
        return [
            one
            for one, stands, has_hash, listed in asked
            if stands.value == one.own and not (has_hash.value and listed.value is not None)
        ]

    def posts(self) -> Chunks:
        for chunk in members_of(self._store, "updates:*"):
            pipe = self._store.pipeline()
            asked = [(who, own, pipe.hget(keys.post(own), "repost_of")) for who, own, _ in chunk]
            pipe.execute()
            reposts = [
                Repost(who, original, own)
                for who, own, named in asked
                if (original := stored_id(keys.post(own), named.value)) is not None
            ]
            yield self._findings(reposts, self._without_edge)

    def _without_edge(self, reposts: Sequence[Repost]) -> list[Repost]:
        pipe = self._store.pipeline()
        asked = [
            (
                one,
                pipe.zscore(keys.reposts(one.who), str(one.original)),
                pipe.zscore(keys.updates(one.who), str(one.own)),
            )
            for one in reposts
        ]
        pipe.execute()
        return [one for one, stands, listed in asked if listed.value is not None and stands.value != one.own]

    def _findings(self, reposts: Sequence[Repost], look: Callable[[Sequence[Repost]], list[Repost]]) -> list[Finding]:
        wrong = confirmed(
            self._store,
            look(reposts),
            lambda one: {f"repost:{one.who}:{one.original}", f"gone:{one.who}", f"del:{one.original}"},
            look,
        )
        return [
            Finding(f"{keys.post(one.own)}, repost of {one.original} by user {one.who}", partial(self._mend, one))
            for one in wrong
        ]

    def _mend(self, one: Repost) -> None:
        """An edge without its post is taken back; a post without its edge is withdrawn."""
        [edge] = edges_of(self._store, REPOST, [(one.who, str(one.original))])
        Edges(self._store, REPOST).mend([replace(edge, own_post=one.own)])
