"""Follows of tags: `tags_of:` is the truth, with the unix second of each. A tag is named by its folded text."""

import time

from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.replies import Result
from timeline.relations.protocol.edges import Edges
from timeline.relations.protocol.relation import TAG, Edge, Relation

TAG_FOLLOW = Relation("follow_tag", keys.tags_of, TAG)


class TagFollows:
    """All follows of tags: from a user to a folded tag."""

    def __init__(self, store: Store) -> None:
        self._edges = Edges(store, TAG_FOLLOW)

    def follow(self, me: int, tag: str) -> None:
        """Let `me` follow a tag; a second follow keeps the first date. Round trips as for `Edges.set`."""
        self._edges.set(Edge(me, tag), int(time.time()))

    def unfollow(self, me: int, tag: str) -> None:
        """Let `me` no longer follow a tag. Round trips as for `Edges.unset`."""
        self._edges.unset(Edge(me, tag))


def ask_follows_tag(pipe: Pipe, me: int, tag: str) -> Result[bool]:
    """Whether `me` follows a tag. One command."""
    since = pipe.zscore(keys.tags_of(me), tag)
    return Result(lambda: since.value is not None)
