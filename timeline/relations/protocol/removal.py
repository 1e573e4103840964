"""The edges of a deleted account or post, taken back a chunk at a time.

The deletion is committed before. So each edge sees it in its look, and takes itself back as it would after a race.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from retwis_site.store import keys
from retwis_site.store.chunks import emptied, heads
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_id, stored_id
from timeline.relations.protocol.edges import Edges
from timeline.relations.protocol.relation import Edge, Relation


def remove_truths(store: Store, relation: Relation, who: int) -> Iterator[None]:
    """Remove all edges from a deleted account, in chunks. At most eleven round trips a chunk."""
    key = relation.truth(who)
    for members in emptied(store, key):
        _remove_bad(store, key, [member for member in members if not relation.target.is_valid(member)])
        good = [member for member in members if relation.target.is_valid(member)]
        Edges(store, relation).mend(edges_of(store, relation, [(who, member) for member in good]))
        yield


def remove_mirrors(store: Store, relation: Relation, owners: Mapping[int, int]) -> Iterator[None]:
    """Remove all edges to deleted people or posts, in chunks. `owners`: the author of each post, or the person, by the
    id of the target. At most eleven round trips a chunk, whatever the number of targets."""
    assert relation.mirror is not None
    mirrors = {target: relation.mirror(target) for target in owners}
    while some := heads(store, mirrors):
        bad = [(target, member) for target, member in some if parse_id(member) is None]
        for target, member in bad:
            _remove_bad(store, mirrors[target], [member])
        Edges(store, relation).mend(
            [Edge(who, str(target), owners[target]) for target, member in some if (who := parse_id(member)) is not None]
        )
        yield


def edges_of(store: Store, relation: Relation, pairs: Sequence[tuple[int, str]]) -> list[Edge]:
    """Edges, from a person to a target each, with the owners of the targets. The author of a post is read: one round
    trip for all. A post that has expired has no author."""
    edges = [Edge(who, target, int(target) if relation.target.is_person else 0) for who, target in pairs]
    if not relation.target.has_author:
        return edges
    pipe = store.pipeline()
    asked = [(edge, pipe.hget(keys.post(int(edge.target)), "user_id")) for edge in edges]
    pipe.execute()
    return [replace(edge, owner=stored_id(keys.post(int(edge.target)), author.value) or 0) for edge, author in asked]


def _remove_bad(store: Store, key: str, members: Sequence[str]) -> None:
    """Remove members that lead to nothing. One round trip; none without them."""
    pipe = store.pipeline()
    for member in members:
        pipe.zrem(key, member)
    pipe.execute()
