"""Bookmarks: `bookmarks:` is the truth, with the unix second of each. Only their owner sees them, without a mirror."""

import time

from retwis_site.store import keys
from retwis_site.store.client import Store
from timeline.relations.protocol.edges import Edges
from timeline.relations.protocol.relation import POST, Edge, Relation

BOOKMARK = Relation(kind="bookmark", truth=keys.bookmarks, target=POST)


class Bookmarks:
    """All bookmarks: from a user to a post."""

    def __init__(self, store: Store) -> None:
        self._edges = Edges(store, BOOKMARK)

    def add(self, me: int, pid: int, author: int) -> None:
        """Let `me` bookmark a post of `author`; a second time keeps the first date. A bookmark of a deleted post is
        taken back. Round trips as for `Edges.set`."""
        self._edges.set(Edge(me, str(pid), author), int(time.time()))

    def remove(self, me: int, pid: int, author: int) -> None:
        """Remove a bookmark. Round trips as for `Edges.unset`."""
        self._edges.unset(Edge(me, str(pid), author))
