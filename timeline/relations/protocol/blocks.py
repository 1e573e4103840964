"""Blocks between two people: what they refuse, and what they hide."""

from typing import NamedTuple

from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.replies import Answer, Reply
from timeline.relations.protocol.relation import Edge


class Blocks(NamedTuple):
    """Whether one person blocks another, and the other one them."""

    mine: bool
    theirs: bool


NO_BLOCKS = Blocks(mine=False, theirs=False)


def ask_blocks(pipe: Pipe, me: int | None, them: int) -> Answer[Blocks]:
    """The blocks between two people. Two commands; none for a visitor, and about oneself."""
    if me is None or me == them:
        return Answer(lambda: NO_BLOCKS)
    mine, theirs = pipe.zscore(keys.blocked(me), str(them)), pipe.zscore(keys.blocked(them), str(me))
    return Answer(lambda: Blocks(mine.value is not None, theirs.value is not None))


def ask_not_blocked(pipe: Pipe, edge: Edge, score: Reply[float | None]) -> Answer[bool]:
    """A `Condition`: no block stands between the two people of an edge. Two commands."""
    blocks = ask_blocks(pipe, edge.who, edge.owner)
    return Answer(lambda: not any(blocks.value))
