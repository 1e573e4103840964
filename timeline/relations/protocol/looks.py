"""A look: all that decides about some edges, read in one round trip."""

from collections.abc import Collection
from dataclasses import dataclass

from retwis_site.store.client import Pipe
from retwis_site.store.replies import Answer, Reply
from timeline.relations.protocol.relation import Edge, Relation
from timeline.relations.protocol.targets import ask_person_exists


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look has found about an edge."""

    score: float | None  # in the truth; None: the edge does not stand
    allowed: bool  # both sides exist, and every condition holds
    facts: tuple[object, ...]  # for each effect, what decides about it


class Look:
    """Queues its commands; after `execute()` it has `seen` and `counts`."""

    def __init__(self, pipe: Pipe, relation: Relation, edges: Collection[Edge]) -> None:
        scores = {edge: pipe.zscore(relation.truth(edge.who), edge.target) for edge in edges}
        people = {who: ask_person_exists(pipe, str(who)) for who in {edge.who: None for edge in edges}}
        targets = {edge.target: None for edge in edges}
        exist = {target: relation.target.ask_exists(pipe, target) for target in targets}
        self._asked = [
            (
                edge,
                score,
                [
                    people[edge.who],
                    exist[edge.target],
                    *(condition(pipe, edge, score) for condition in relation.conditions),
                ],
                [effect.ask(pipe, edge) for effect in relation.effects],
            )
            for edge, score in scores.items()
        ]
        self._counts: dict[int, Reply[int] | Answer[int]] = {}
        if relation.count is not None:
            self._counts = {int(target): relation.count.ask(pipe, int(target)) for target in targets}

    @property
    def seen(self) -> dict[Edge, Seen]:
        return {
            edge: Seen(score.value, all(each.value for each in conditions), tuple(fact.value for fact in facts))
            for edge, score, conditions, facts in self._asked
        }

    @property
    def counts(self) -> dict[int, int]:
        """What the count of each target must be."""
        return {target: number.value for target, number in self._counts.items()}
