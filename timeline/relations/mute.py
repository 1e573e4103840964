"""Mutes: of people (`muted:`), of their reposts (`muted_reposts:`), and of threads (`muted_threads:`).

The score of a person is until when the mute lasts, in unix seconds, or `+inf`. Nothing leads from the muted to a mute:
they never learn of it. The notices that they have caused are removed, and do not come back after the mute.
"""

import time
from collections.abc import Collection, Mapping
from math import inf

from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.replies import Result
from timeline.notices.inbox import Inbox
from timeline.relations.entities import Hiding
from timeline.relations.protocol.blocks import ask_blocked, ask_blocks
from timeline.relations.protocol.edges import Edges
from timeline.relations.protocol.relation import PERSON, THREAD, Edge, Relation, Scores, ask_standing, to_person

A_DAY = 24 * 3600  # seconds
FOREVER = inf

THREADS_READ = 500  # threads that a user has muted last: 8 KB


def _remove_notices(store: Store, stand: Mapping[Edge, bool]) -> None:
    """What a muted person has caused is no news any more: neither counted nor shown. Two round trips for each edge
    that stands."""
    for edge, stands in stand.items():
        if stands:
            Inbox(store, edge.who).remove_those_by([edge.owner])


MUTE = Relation("mute", keys.muted, PERSON, scores=Scores.UNTIL, afterwards=_remove_notices)
MUTE_REPOSTS = Relation("mute_reposts", keys.muted_reposts, PERSON, scores=Scores.UNTIL)
MUTE_THREAD = Relation("mute_thread", keys.muted_threads, THREAD)


def in_days(days: int) -> float:
    """The unix second in which a mute of so many days ends."""
    return time.time() // 1 + days * A_DAY


class Mutes:
    """Mutes of people: of all that they post, or of their reposts alone."""

    def __init__(self, store: Store) -> None:
        self._all = Edges(store, MUTE)
        self._reposts = Edges(store, MUTE_REPOSTS)

    def mute(self, me: int, them: int, until: float = FOREVER) -> None:
        """Hide `them` from `me`, until a unix second. Muting again replaces the end. Round trips as for `Edges.set`,
        and two more at most."""
        self._all.set(to_person(me, them), until)

    def unmute(self, me: int, them: int) -> None:
        """Show `them` to `me` again. Round trips as for `Edges.unset`."""
        self._all.unset(to_person(me, them))

    def mute_reposts(self, me: int, them: int, until: float = FOREVER) -> None:
        """Hide the reposts of `them` from `me`, as `mute`."""
        self._reposts.set(to_person(me, them), until)

    def unmute_reposts(self, me: int, them: int) -> None:
        """Show the reposts of `them` to `me` again, as `unmute`."""
        self._reposts.unset(to_person(me, them))


class MutedThreads:
    """Threads of which a user gets no notices. A thread is named by its first post."""

    def __init__(self, store: Store) -> None:
        self._edges = Edges(store, MUTE_THREAD)

    def mute(self, me: int, root: int) -> None:
        """Let `me` get no notices of a thread. Round trips as for `Edges.set`."""
        self._edges.set(Edge(me, str(root)), int(time.time()))

    def unmute(self, me: int, root: int) -> None:
        """Let `me` get notices of a thread again. Round trips as for `Edges.unset`."""
        self._edges.unset(Edge(me, str(root)))


def ask_muted_threads(pipe: Pipe, me: int) -> Result[frozenset[str]]:
    """The first posts (ids as text) of the threads that `me` has muted last, THREADS_READ of them. One command."""
    muted = pipe.zrevrange(keys.muted_threads(me), 0, THREADS_READ - 1)
    return Result(lambda: frozenset(muted.value))


def ask_hidden(pipe: Pipe, me: int, people: Collection[int]) -> Result[set[int]]:
    """Those of these people whom lists leave out for `me`: whom they mute, and those with a block between the two.
    Three commands; none without people."""
    blocked, muted = ask_blocked(pipe, me, people), ask_standing(pipe, MUTE, me, people)
    return Result(lambda: blocked.value | muted.value)


def ask_hiding(pipe: Pipe, me: int, them: int) -> Result[Hiding]:
    """What `me` does not see of `them`. Four commands."""
    blocks = ask_blocks(pipe, me, them)
    muted, reposts = ask_standing(pipe, MUTE, me, [them]), ask_standing(pipe, MUTE_REPOSTS, me, [them])
    return Result(lambda: Hiding(blocks.value, bool(muted.value), bool(reposts.value)))
