"""The edges of a deleted account and of deleted posts, removed by a worker a chunk at a time."""

from collections.abc import Iterator, Mapping
from functools import cache

from retwis_site.features import features
from retwis_site.store.client import Pipe, Store
from retwis_site.store.replies import Result
from timeline.relations.block import BLOCK
from timeline.relations.bookmark import BOOKMARK
from timeline.relations.follow import FOLLOW, RANKING
from timeline.relations.like import LIKE
from timeline.relations.mute import MUTE, MUTE_REPOSTS, MUTE_THREAD
from timeline.relations.muted_words import MUTE_WORDS
from timeline.relations.protocol.edges import remove_mirrors, remove_truths
from timeline.relations.protocol.relation import Counts, Relation
from timeline.relations.repost import REPOST
from timeline.relations.tag_follow import TAG_FOLLOW

RELATIONS = (FOLLOW, BLOCK, MUTE, MUTE_REPOSTS, MUTE_WORDS, TAG_FOLLOW, LIKE, REPOST, BOOKMARK, MUTE_THREAD)


@cache
def relations() -> tuple[Relation, ...]:
    """All relations: those of this site, and those of its own features."""
    return tuple(relation for feature in features() for relation in feature.relations)


def _to_posts() -> Iterator[Relation]:
    return (relation for relation in relations() if relation.mirror and relation.target.has_author)


def remove_relations(store: Store, uid: int) -> Iterator[None]:
    """Remove both sides of every edge of a deleted account, in chunks, then the user's place in the ranking."""
    for relation in relations():
        yield from remove_truths(store, relation, uid)
        if relation.mirror and relation.target.is_person:
            yield from remove_mirrors(store, relation, {uid: uid})
    Counts(store, RANKING).recount([uid])


def remove_edges_to_posts(store: Store, authors: Mapping[int, int]) -> Iterator[None]:
    """Remove both sides of every edge to deleted posts, in chunks. `authors`: their uids, by post."""
    for relation in _to_posts():
        yield from remove_mirrors(store, relation, authors)


def ask_edges_to_post(pipe: Pipe, pid: int) -> Result[int]:
    """How many edges lead to a post. One command a relation."""
    sizes = [pipe.zcard(relation.mirror(pid)) for relation in _to_posts() if relation.mirror]
    return Result(lambda: sum(size.value for size in sizes))
