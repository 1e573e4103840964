"""Likes: `likes:` is the truth, `liked_by:` its mirror. Both hold the unix second of each like."""

import time

from retwis_site.store import keys
from retwis_site.store.client import Store
from timeline.notices.entities import Kind
from timeline.relations.protocol.edges import Edges
from timeline.relations.protocol.notifying import notice_of
from timeline.relations.protocol.relation import POST, Edge, PostCount, Relation

LIKES = PostCount(keys.liked_by)
LIKE = Relation(
    kind="like",
    truth=keys.likes,
    target=POST,
    count=LIKES,
    effects=(notice_of(Kind.LIKE),),
)


class Likes:
    """All likes: from a user to a post."""

    def __init__(self, store: Store) -> None:
        self._edges = Edges(store, LIKE)

    def like(self, me: int, pid: int, author: int) -> None:
        """Let `me` like a post of `author`; a second like keeps the first date. A like of a deleted post is taken back.
        Round trips as for `Edges.set`."""
        self._edges.set(Edge(me, str(pid), author), int(time.time()))

    def unlike(self, me: int, pid: int, author: int) -> None:
        """Let `me` no longer like a post of `author`. Round trips as for `Edges.unset`."""
        self._edges.unset(Edge(me, str(pid), author))
