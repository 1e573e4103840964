"""The lines about relations in the personal download."""

from collections.abc import Iterator
from math import inf

from accounts.users.repository import Users
from retwis_site.features import AddressOf, Line, Owner
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import newest_first
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_ids, stored_score
from timeline.relations.follow import FOLLOW
from timeline.relations.lines.repost_lines import account_reposts
from timeline.relations.protocol.relation import Relation, Scores
from timeline.relations.protocol.removal import edges_of
from timeline.relations.removal import RELATIONS
from timeline.relations.repost import REPOST
from timeline.relations.words.muted_words import MUTE_WORDS


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """The users that the owner follows, the owner's followers, then the edges of all other relations, each newest
    first. At most three round trips a chunk."""
    yield from _people(store, "following", keys.following(owner.uid), "since")
    yield from _people(store, "follower", keys.followers(owner.uid), "since")
    for relation in RELATIONS:
        key, when = relation.truth(owner.uid), "until" if relation.scores is Scores.UNTIL else "since"
        if relation is FOLLOW:
            continue
        if relation.target.is_person:
            yield from _people(store, relation.kind, key, when)
        elif relation is REPOST:
            yield from account_reposts(store, owner.uid, address_of)
        elif relation.target.has_author:
            yield from _posts(store, relation, owner.uid, address_of)
        else:
            yield from _others(store, relation, key, when)


def _people(store: Store, type_: str, key: str, when: str) -> Iterator[list[Line]]:
    """Lines about users, without deleted accounts. Two round trips a chunk."""
    for rows in newest_first(store, key):
        scores = dict(rows)
        uids = stored_ids(key, list(scores))
        people = Users(store).people(uids)
        yield [
            {
                "type": type_,
                "id": uid,
                "username": people[uid].username,
                when: _moment(key, str(uid), scores[str(uid)]),
            }
            for uid in uids
            if uid in people
        ]


def _posts(store: Store, relation: Relation, me: int, address_of: AddressOf) -> Iterator[list[Line]]:
    """Lines about posts, without those of deleted accounts. Three round trips a chunk."""
    key = relation.truth(me)
    for rows in newest_first(store, key):
        scores = dict(rows)
        edges = edges_of(store, relation, [(me, str(pid)) for pid in stored_ids(key, list(scores))])
        people = Users(store).people({edge.owner for edge in edges})
        yield [
            {
                "type": relation.kind,
                "id": int(edge.target),
                "since": _moment(key, edge.target, scores[edge.target]),
                "address": address_of("post", people[edge.owner].username, int(edge.target)),
            }
            for edge in edges
            if edge.owner in people
        ]


def _others(store: Store, relation: Relation, key: str, when: str) -> Iterator[list[Line]]:
    """Lines about tags and words, and about threads, by the id of the first post. One round trip a chunk."""
    name = "words" if relation is MUTE_WORDS else "tag" if relation.target.is_text else "id"
    for rows in newest_first(store, key):
        scores = dict(rows)
        targets = list(scores) if relation.target.is_text else stored_ids(key, list(scores))
        yield [
            {"type": relation.kind, name: target, when: _moment(key, str(target), scores[str(target)])}
            for target in targets
        ]


def _moment(key: str, member: str, score: float) -> str | None:
    """The time in a score; None for a mute without an end."""
    return None if score == inf else iso(stored_score(key, member, score))
