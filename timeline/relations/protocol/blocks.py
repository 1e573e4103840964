"""Blocks between two people: what they refuse, and what they hide."""

from collections.abc import Collection

from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.reading import Reading, trip
from retwis_site.store.replies import Reply, Result
from timeline.relations.entities import NO_BLOCKS, Blocks
from timeline.relations.protocol.relation import Edge


def ask_blocks(pipe: Pipe, me: int | None, them: int) -> Result[Blocks]:
    """The blocks between two people. Two commands; none for a visitor, and about oneself."""
    if me is None or me == them:
        return Result(lambda: NO_BLOCKS)
    mine, theirs = pipe.zscore(keys.blocked(me), str(them)), pipe.zscore(keys.blocked(them), str(me))
    return Result(lambda: Blocks(mine.value is not None, theirs.value is not None))


def ask_not_blocked(pipe: Pipe, edge: Edge, score: Reply[float | None]) -> Result[bool]:
    """A `Condition`: no block stands between the two people of an edge. Two commands."""
    blocks = ask_blocks(pipe, edge.who, edge.owner)
    return Result(lambda: not any(blocks.value))


def read_blocks(pipe: Pipe, me: int | None, them: int) -> Reading[Blocks]:
    """The blocks between the viewer and a person, in a round trip of its own."""
    [blocks] = yield from trip(ask_blocks(pipe, me, them))
    return blocks


def ask_blocked(pipe: Pipe, me: int, people: Collection[int]) -> Result[set[int]]:
    """Those of these people whom `me` blocks or who block `me`. Two commands; none without people."""
    if not people:
        return Result(set[int])
    members = [str(uid) for uid in people]
    asked = [pipe.zmscore(key(me), members) for key in (keys.blocked, keys.blocked_by)]

    def read() -> set[int]:
        rows = zip(people, *(scores.value for scores in asked), strict=True)
        return {uid for uid, mine, theirs in rows if mine is not None or theirs is not None}

    return Result(read)
