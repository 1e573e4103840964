"""The notice that an edge causes: an effect of a relation, written and removed with the mirror."""

import time
from dataclasses import dataclass

from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.ids import integer, stored_time
from retwis_site.store.replies import Result
from timeline.notices.entities import Kind, Notice
from timeline.notices.inbox import Welcome, ask_welcome, queue_notice
from timeline.relations.protocol.relation import Edge, Effect


@dataclass(frozen=True, slots=True)
class NoticeFacts:
    """What a look has found about a notice."""

    welcome: Welcome
    made: int | None = None  # the date of the edge's own post; None: it has none


def notice_of(kind: Kind) -> Effect:
    """The effect of a relation: `edge.owner` gets a notice of this kind. At most seven commands a look, and two when it
    is written."""

    def ask(pipe: Pipe, edge: Edge) -> Result[object]:
        post = None if kind is Kind.FOLLOW else int(edge.target)
        welcome = ask_welcome(pipe, edge.owner, _notice(edge), post)
        if not edge.own_post:
            return Result(lambda: NoticeFacts(welcome.value))
        key = keys.post(edge.own_post)
        when = pipe.hget(key, "time")
        return Result(lambda: NoticeFacts(welcome.value, stored_time(key, when.value)))

    def queue(pipe: Pipe, edge: Edge, score: float | None, fact: object) -> None:
        assert isinstance(fact, NoticeFacts)
        queue_notice(pipe, edge.owner, _notice(edge), _date(score, fact), fact.welcome)

    def _date(score: float | None, facts: NoticeFacts) -> int | None:
        """Unix seconds; None when the edge does not stand. The score of a repost is an id, so its post has the date."""
        if score is None:
            return None
        return integer(score) if kind is not Kind.REPOST else facts.made or int(time.time())

    def _notice(edge: Edge) -> Notice:
        return Notice(kind, int(edge.target), edge.who)

    return Effect(queue, ask)
