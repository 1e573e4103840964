"""The lines about relations: in the file of a whole site, and in the personal download."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from accounts.users.repository import Users
from accounts.users.site_lines import uids_in_order
from retwis_site.features import AddressOf, Line, Owner, SiteLines
from retwis_site.maintenance.checks import ids_of
from retwis_site.maintenance.filling import ID, NAME, TIME, TIME_OR_NULL, seconds
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import AT_ONCE, batches, newest_first, newest_first_of_each
from retwis_site.store.client import Store
from retwis_site.store.ids import note_bad, stored_id, stored_ids, stored_score, stored_time
from timeline.relations.follow import FOLLOW
from timeline.relations.protocol.edges import edges_of
from timeline.relations.protocol.relation import Counts, Relation, Scores
from timeline.relations.removal import RELATIONS, relations
from timeline.relations.repost import REPOST

# ---- Lines about edges in the file of a whole site: the same for every relation.


@dataclass(frozen=True)
class EdgeLines:
    """The lines of one relation, which have the name of its jobs as their type."""

    relation: Relation

    def read(self, store: Store) -> Iterator[list[Line]]:
        """A line for each edge, by the id of the person, newest first. Round trips as for `newest_first_of_each`."""
        truth = self.relation.truth
        who, what, when = self.relation.fields
        for uids in uids_in_order(store):
            rows = newest_first_of_each(store, {uid: truth(uid) for uid in uids})
            for some in batches(rows, AT_ONCE):
                yield [
                    {
                        "type": self.relation.kind,
                        who: uid,
                        what: target,
                        when: None if score == inf else iso(stored_score(truth(uid), member, score)),
                    }
                    for uid, member, score in some
                    if (target := self._target_of(truth(uid), member)) is not None
                ]

    def _target_of(self, key: str, member: str) -> int | str | None:
        if not self.relation.target.is_text:
            return stored_id(key, member)
        if not member:
            note_bad(key, member)
        return member or None

    def write(self, store: Store, lines: Sequence[Line]) -> None:
        """Write both sides of each edge. One round trip."""
        members: dict[str, dict[str, float]] = defaultdict(dict)  # by key
        of_who, of_target, when = self.relation.fields
        for line in lines:
            who, target = line[of_who], line[of_target]
            score = inf if line[when] is None else seconds(line, when)
            members[self.relation.truth(who)][str(target)] = score
            if self.relation.mirror:
                members[self.relation.mirror(target)][str(who)] = score
        pipe = store.pipeline()
        for key, scores in members.items():
            pipe.zadd(key, scores)
        pipe.execute()

    def count(self, store: Store) -> None:
        """Count the edges to all targets. Four round trips for each 500 targets; none for a relation without counts."""
        if self.relation.count is None or self.relation.mirror is None:
            return
        for targets in ids_of(store, self.relation.mirror.pattern):
            Counts(store, self.relation.count).recount(targets)

    def lines(self) -> SiteLines:
        target = self.relation.target
        who, what, when = self.relation.fields
        fields = {
            who: ID,
            what: NAME if target.is_text else ID,
            when: TIME_OR_NULL if self.relation.scores is Scores.UNTIL else TIME,
        }
        return SiteLines(
            type=self.relation.kind,
            fields=lambda line: fields,
            read=self.read,
            write=self.write,
            users=(who, what) if target.is_person else (who,),
            posts=(what,) if target.has_author else (),
            finish=self.count,
        )


# ---- The lines about reposts. A repost has an id and a time of its own, which its hash holds.


Row = tuple[int, int, int]  # the user, the post, the id of the repost


def read(store: Store) -> Iterator[list[Line]]:
    """A line for each repost, by the user's id, newest first. One round trip a chunk, and those of
    `newest_first_of_each`."""
    for uids in uids_in_order(store):
        found = newest_first_of_each(store, {uid: keys.reposts(uid) for uid in uids})
        for some in batches(found, AT_ONCE):
            rows = [row for uid, member, score in some if (row := _row(uid, member, score))]
            times = _times(store, rows)
            yield [
                {"type": REPOST.kind, "id": own, "user": uid, "post": pid, "time": times[own]} for uid, pid, own in rows
            ]


def write(store: Store, lines: Sequence[Line]) -> None:
    """Write both sides of each repost, and its own post. One round trip."""
    members: dict[str, dict[str, int]] = defaultdict(dict)  # by key
    pipe = store.pipeline()
    for line in lines:
        own, uid, pid = line["id"], line["user"], line["post"]
        fields = {"user_id": str(uid), "time": str(seconds(line, "time")), "repost_of": str(pid)}
        pipe.hset(keys.post(own), fields)
        members[keys.reposts(uid)][str(pid)] = own
        members[keys.reposted_by(pid)][str(uid)] = own
        members[keys.updates(uid)][str(own)] = own
    for key, scores in members.items():
        pipe.zadd(key, scores)
    pipe.execute()


def account_reposts(store: Store, me: int, address_of: AddressOf) -> Iterator[list[Line]]:
    """The owner's reposts, newest first, for the personal download. At most four round trips a chunk."""
    key = keys.reposts(me)
    for some in newest_first(store, key):
        rows = [row for member, score in some if (row := _row(me, member, score))]
        times = _times(store, rows)
        edges = edges_of(store, REPOST, [(me, str(pid)) for _, pid, _ in rows])
        authors = {int(edge.target): edge.owner for edge in edges}
        people = Users(store).people(set(authors.values()))
        yield [
            {
                "type": REPOST.kind,
                "id": pid,
                "since": times[own],
                "address": address_of("post", people[authors[pid]].username, pid),
            }
            for _, pid, own in rows
            if authors[pid] in people
        ]


def _row(uid: int, member: str, score: float) -> Row | None:
    key = keys.reposts(uid)
    pid, own = stored_id(key, member), stored_score(key, member, score)
    return (uid, pid, own) if pid and own else None


def _times(store: Store, rows: Sequence[Row]) -> dict[int, str]:
    """The times of reposts, by their ids. One round trip."""
    pipe = store.pipeline()
    asked = {own: pipe.hget(keys.post(own), "time") for _, _, own in rows}
    pipe.execute()
    return {own: iso(stored_time(keys.post(own), when.value)) for own, when in asked.items()}


REPOSTS = SiteLines(
    type=REPOST.kind,
    fields=lambda line: {"id": ID, "user": ID, "post": ID, "time": TIME},
    read=read,
    write=write,
    unique=("id",),
    users=("user",),
    posts=("post",),
    finish=EdgeLines(REPOST).count,
)


# ---- The lines about relations in the personal download.


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """The users that the owner follows, the owner's followers, then the edges of all other relations, each newest
    first. At most three round trips a chunk."""
    yield from _people(store, "following", keys.following(owner.uid), "since")
    yield from _people(store, "follower", keys.followers(owner.uid), "since")
    for relation in relations():
        key, when = relation.truth(owner.uid), _when(relation)
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
    key, when = relation.truth(me), _when(relation)
    for rows in newest_first(store, key):
        scores = dict(rows)
        edges = edges_of(store, relation, [(me, str(pid)) for pid in stored_ids(key, list(scores))])
        people = Users(store).people({edge.owner for edge in edges})
        yield [
            {
                "type": relation.kind,
                "id": int(edge.target),
                when: _moment(key, edge.target, scores[edge.target]),
                "address": address_of("post", people[edge.owner].username, int(edge.target)),
            }
            for edge in edges
            if edge.owner in people
        ]


def _others(store: Store, relation: Relation, key: str, when: str) -> Iterator[list[Line]]:
    """Lines about tags and words, and about threads, by the id of the first post. One round trip a chunk."""
    name = relation.fields[1] if relation.target.is_text else "id"
    for rows in newest_first(store, key):
        scores = dict(rows)
        targets = list(scores) if relation.target.is_text else stored_ids(key, list(scores))
        yield [
            {"type": relation.kind, name: target, when: _moment(key, str(target), scores[str(target)])}
            for target in targets
        ]


def _when(relation: Relation) -> str:
    """What a line calls the score of an edge."""
    return "until" if relation.scores is Scores.UNTIL else "since"


def _moment(key: str, member: str, score: float) -> str | None:
    """The time in a score; None for a mute without an end."""
    return None if score == inf else iso(stored_score(key, member, score))


# ---- The lines of each relation in the file of a whole site.


def lines_of(relation: Relation) -> SiteLines:
    return REPOSTS if relation is REPOST else EdgeLines(relation).lines()


ABOUT_PEOPLE = tuple(lines_of(relation) for relation in RELATIONS if not relation.target.is_post)
ABOUT_POSTS = tuple(lines_of(relation) for relation in RELATIONS if relation.target.is_post)  # after the posts
