"""Brings back whom and what a person blocks and mutes, the tags that they follow, what they like and have saved."""

import time
from collections.abc import Mapping, Sequence
from math import inf

from accounts.users.repository import Users
from retwis_site.features import Line
from retwis_site.maintenance.line_fields import seconds
from retwis_site.store import keys
from retwis_site.store.chunks import AT_ONCE, batches
from retwis_site.store.client import Store
from timeline.account_data.named_posts import Conversation, find, is_same, named
from timeline.relations.block import BLOCK
from timeline.relations.bookmark import BOOKMARK
from timeline.relations.like import LIKE
from timeline.relations.mute import MUTE, MUTE_REPOSTS
from timeline.relations.protocol.edges import Edges
from timeline.relations.protocol.relation import Edge, Relation, to_person
from timeline.relations.tag_follow import TAG_FOLLOW
from timeline.relations.words.muted_words import MOST_MUTED, MUTE_WORDS, parse
from timeline.timelines.pins import Pins

TO_PEOPLE = (BLOCK, MUTE, MUTE_REPOSTS)
TO_POSTS = (LIKE, BOOKMARK)


class RestoredRelations:
    """Adds edges to an account, each with its date. One that stands already stays as it is. 500 take a fixed number of
    round trips; people are found one by one. All raise StoreError when the store was too slow."""

    def __init__(self, store: Store, uid: int) -> None:
        self._store = store
        self._uid = uid

    def to_people(self, lines: Mapping[str, Sequence[Line]]) -> int:
        """Blocks and mutes of the people who have such a username here. Returns how many names no user has."""
        unknown = 0
        for relation in TO_PEOPLE:
            for some in batches(lines[relation.kind], AT_ONCE):
                uids = {line["username"]: Users(self._store).find(line["username"]) for line in some}
                people = Users(self._store).people([uid for uid in uids.values() if uid is not None])
                people.pop(self._uid, None)
                scores = {uids[line["username"]]: _score(line) for line in some}
                self._set(relation, {to_person(self._uid, uid): scores[uid] for uid in people})
                unknown += sum(uid not in people for uid in uids.values())
        return unknown

    def to_words(self, lines: Mapping[str, Sequence[Line]]) -> None:
        """Muted words: of those that may be muted, the first MOST_MUTED."""
        good = [line for line in lines[MUTE_WORDS.kind] if parse(line["words"]) is not None]
        self._set(MUTE_WORDS, {Edge(self._uid, line["words"]): _score(line) for line in good[:MOST_MUTED]})

    def to_tags(self, lines: Mapping[str, Sequence[Line]]) -> int:
        """Follows of the tags that somebody has used here. Returns the number of the others."""
        unknown = 0
        for some in batches(lines[TAG_FOLLOW.kind], AT_ONCE):
            spellings = self._store.hmget(keys.tags(), [line["tag"] for line in some])
            used = [line for line, spelling in zip(some, spellings, strict=True) if spelling is not None]
            self._set(TAG_FOLLOW, {Edge(self._uid, line["tag"]): _score(line) for line in used})
            unknown += len(some) - len(used)
        return unknown

    def to_posts(self, lines: Mapping[str, Sequence[Line]], conversation: Conversation) -> int:
        """Likes and bookmarks of the posts that this site has. Returns the number of the others."""
        missing = 0
        for relation in TO_POSTS:
            for some in batches(lines[relation.kind], AT_ONCE):
                edges = self._edges_to_posts(some, conversation)
                self._set(relation, edges)
                missing += len(some) - len(edges)
        return missing

    def pin(self, pid: int | None) -> None:
        """Pin a post of the owner, unless one is pinned. Three round trips; none without a post."""
        if pid is not None and self._store.hget(keys.user(self._uid), "pinned") is None:
            Pins(self._store).pin(self._uid, pid)

    def _edges_to_posts(self, lines: Sequence[Line], conversation: Conversation) -> dict[Edge, float]:
        pids = {line["id"]: conversation.id_of(line["id"]) or line["id"] for line in lines}
        found = find(self._store, set(pids.values()))
        edges = {}
        for line in lines:
            target = found.get(pids[line["id"]])
            if target is None:
                continue
            is_own = conversation.id_of(line["id"]) is not None
            if is_own or is_same(target, named(line["id"], line["address"]), seconds(line, "since")):
                edges[Edge(self._uid, str(target.pid), target.uid)] = _score(line)
        return edges

    def _set(self, relation: Relation, edges: Mapping[Edge, float]) -> None:
        Edges(self._store, relation).set_all(edges)


def _score(line: Line) -> float:
    """The date of an edge, not in the future; of a mute its end, for ever without one."""
    if "until" in line:
        return inf if line["until"] is None else seconds(line, "until")
    return min(seconds(line, "since"), int(time.time()))
