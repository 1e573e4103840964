"""Tags whose posts a user reads at home: a choice for each tag that the user follows, off at first.

`home_tags:` is the truth, with the unix second of each choice. Its mirror `homes_of_tag:` says into whose homes a new
post with the tag is pushed, as `followers:` does for a person. A home shows only posts with a chosen tag, so what a
list still has after a choice was taken back is not shown.
"""

import time
from collections.abc import Mapping

from retwis_site.store import keys
from retwis_site.store.client import Pipe, Repository, Result, Store, answers
from retwis_site.store.commands import Question
from timeline.relations.edges import Edges
from timeline.relations.relation import DROPS_HOME, Edge, Relation

# As many sources as a rebuild of a home reads twice when all are busy. A busy tag fills the list of 1000 ids alone:
# the more of them, the less far back the list reaches.
MOST_AT_HOME = 20


def _ask_follows(pipe: Pipe, edge: Edge) -> Result[bool]:
    """A `Condition`: the user follows the tag. One command."""
    since = pipe.zscore(keys.tags_of(edge.who), edge.target)
    return Result(lambda: since.value is not None)


HOME_TAG = Relation("home_tag", keys.home_tags, conditions=(_ask_follows,), effects=(DROPS_HOME,))


class HomeTags(Repository):
    """All choices of tags for home: from a user to a folded tag."""

    def add(self, me: int, tag: str) -> None:
        """Let the home of `me` have the posts with a tag. It is taken back when `me` does not follow the tag. Round
        trips as for `Edges.set`, without a count."""
        Edges(self._store, HOME_TAG).set(Edge(me, tag), int(time.time()))

    def remove(self, me: int, tag: str) -> None:
        """Let the home of `me` no longer have the posts with a tag. Round trips as for `add`."""
        Edges(self._store, HOME_TAG).unset(Edge(me, tag))


# The folded tags whose posts the home of a user has: of those chosen last, at most MOST_AT_HOME. One command.
HOME_TAGS = Question(("ZREVRANGE", keys.home_tags, 0, MOST_AT_HOME - 1), read=lambda me, replies: frozenset(replies[0]))


def leave_homes(store: Store, stand: Mapping[Edge, bool]) -> None:
    """Take back the choices of tags that are followed no more. `stand`: which follows of tags stand. One round trip
    where a follow has ended, and at most seven more where the tag was chosen."""
    found = answers(store, _ask_chosen, [edge for edge, stands in stand.items() if not stands])
    Edges(store, HOME_TAG).reconcile([edge for edge, is_chosen in found.items() if is_chosen])


def _ask_chosen(pipe: Pipe, edge: Edge) -> Result[bool]:
    """Whether a tag was chosen: a process that has died may have left one side of it. Two commands."""
    truth = pipe.zscore(keys.home_tags(edge.who), edge.target)
    mirror = pipe.zscore(keys.homes_of_tag(edge.target), str(edge.who))
    return Result(lambda: truth.value is not None or mirror.value is not None)
