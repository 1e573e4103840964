"""Blocks: `blocked:` is the truth, `blocked_by:` its mirror. Both hold the unix second of each block.

While one of two people blocks the other, neither follows the other, and neither sees the other while signed in.
"""

import time
from collections.abc import Mapping

from retwis_site.store import keys
from retwis_site.store.client import Store
from timeline.notices.inbox import Inbox
from timeline.relations.follow import FOLLOW
from timeline.relations.protocol.edges import Edges
from timeline.relations.protocol.relation import PERSON, Edge, Relation, to_person


def _part(store: Store, stand: Mapping[Edge, bool]) -> None:
    """No one of two follows the other, and no one has a notice of the other. Nine round trips for one block at most.

    Each follow is reconciled as if its own job ran: it sees the block and takes itself back. This is done when the
    block no longer stands, too: an earlier attempt may have died in the middle of it."""
    pairs = [(edge.who, edge.owner) for edge in stand]
    follows = [to_person(*ends) for me, them in pairs for ends in ((me, them), (them, me))]
    Edges(store, FOLLOW).reconcile(follows)
    for edge, stands in stand.items():
        if stands:
            Inbox(store, edge.who).remove_those_by([edge.owner])
            Inbox(store, edge.owner).remove_those_by([edge.who])


BLOCK = Relation(kind="block", truth=keys.blocked, target=PERSON, afterwards=_part)


class BlockedPeople:
    """All blocks: from a user to another."""

    def __init__(self, store: Store) -> None:
        self._edges = Edges(store, BLOCK)

    def block(self, me: int, them: int) -> None:
        """Let `me` block `them`; a second block keeps the first date. Neither follows the other any more. Twelve
        round trips; up to two more with notices."""
        self._edges.set(to_person(me, them), int(time.time()))

    def unblock(self, me: int, them: int) -> None:
        """Let `me` no longer block `them`. The follows do not come back. Ten round trips."""
        self._edges.unset(to_person(me, them))
