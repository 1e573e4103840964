"""The lines about relations: in the file of a whole site, and in the personal download."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf

from accounts.users.repository import Users
from retwis_site.features import AddressOf, Line, Owner, SiteLines
from retwis_site.maintenance import lines
from retwis_site.maintenance.checks import ids_of
from retwis_site.maintenance.lines import ID, TIME, rows_of_users, seconds
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import AT_ONCE, Writes, batches, newest_first
from retwis_site.store.client import Store
from retwis_site.store.commands import Scored
from retwis_site.store.ids import stored_id, stored_score, stored_time
from timeline.relations.follow import FOLLOW
from timeline.relations.protocol.edges import edges_of
from timeline.relations.protocol.relation import Counts, Relation, Scores
from timeline.relations.removal import RELATIONS, relations
from timeline.relations.repost import REPOST

# ---- The file of a whole site


def lines_of(relation: Relation) -> SiteLines:
    """As the key table tells of the truth. All edges to a target are counted in the end: four round trips for each 500
    targets."""
    target, what = relation.target, relation.names[2]

    def count(store: Store) -> None:
        if relation.count is not None and relation.mirror is not None:
            for targets in ids_of(store, relation.mirror.pattern):
                Counts(store, relation.count).recount(targets)

    told = REPOSTS if relation is REPOST else lines.lines_of(relation.truth, " ".join(relation.names))
    return replace(told, posts=(what,) if target.has_author else (), finish=count)


# A repost has an id and a time of its own, which its hash holds. So these lines have code.


def _read_reposts(store: Store) -> Iterator[Line]:
    """A line for each repost, by the user's id, newest first. One round trip for each AT_ONCE, and those of
    `rows_of_users`."""
    for some in batches(rows_of_users(store, keys.reposts), AT_ONCE):
        rows = [
            (uid, pid, own)
            for uid, member, score in some
            if (pid := stored_id(keys.reposts(uid), member)) and (own := stored_score(keys.reposts(uid), member, score))
        ]
        times = _times(store, [own for _, _, own in rows])
        yield from ({"id": own, "user": uid, "post": pid, "time": times[own]} for uid, pid, own in rows)


def _write_reposts(writes: Writes, lines: Sequence[Line]) -> None:
    """Both sides of each repost, and its own post."""
    for line in lines:
        own, uid, pid = line["id"], line["user"], line["post"]
        fields = {"user_id": str(uid), "time": str(seconds(line, "time")), "repost_of": str(pid)}
        writes.hset(keys.post(own), fields)
        writes.zadd(keys.reposts(uid), {str(pid): own})
        writes.zadd(keys.reposted_by(pid), {str(uid): own})
        writes.zadd(keys.updates(uid), {str(own): own})


def _times(store: Store, reposts: Sequence[int]) -> dict[int, str]:
    """The times of reposts, by their ids. One round trip."""
    pipe = store.pipeline()
    asked = {own: pipe.hget(keys.post(own), "time") for own in reposts}
    pipe.execute()
    return {own: iso(stored_time(keys.post(own), when.value)) for own, when in asked.items()}


REPOSTS = SiteLines(
    type=REPOST.kind,
    fields=lambda line: {"id": ID, "user": ID, "post": ID, "time": TIME},
    read=_read_reposts,
    write=_write_reposts,
    unique=("id",),
    users=("user",),
)
ABOUT_PEOPLE = tuple(lines_of(relation) for relation in RELATIONS if not relation.target.is_post)
ABOUT_POSTS = tuple(lines_of(relation) for relation in RELATIONS if relation.target.is_post)  # after the posts


# ---- The personal download


Moments = Mapping[str, str | None]  # since or until when, by the member of the truth; None: without an end


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """The users that the owner follows, the owner's followers, then the edges of all other relations, each newest
    first. At most four round trips a chunk."""
    sets = [(FOLLOW, "following", keys.following), (FOLLOW, "follower", keys.followers)]
    sets += [(relation, relation.kind, relation.truth) for relation in relations() if relation is not FOLLOW]
    for relation, type_, kind in sets:
        for rows in newest_first(store, kind(owner.uid)):
            moments = _moments(store, relation, kind(owner.uid), rows)
            yield [{"type": type_, **line} for line in _said(store, relation, owner.uid, moments, address_of)]


def _moments(store: Store, relation: Relation, key: str, rows: Scored) -> Moments:
    """One round trip for reposts, else none."""
    good = [(member, score) for member, score in rows if relation.target.is_text or stored_id(key, member)]
    if relation.scores is not Scores.OWN_POST:
        return {member: None if score == inf else iso(stored_score(key, member, score)) for member, score in good}
    own = {member: number for member, score in good if (number := stored_score(key, member, score))}
    times = _times(store, list(own.values()))
    return {member: times[number] for member, number in own.items()}


def _said(store: Store, relation: Relation, me: int, moments: Moments, address_of: AddressOf) -> Iterator[Line]:
    """What lines say about people and posts, without those of deleted accounts; about tags and words, and about
    threads, by the id of the first post. Two round trips at most."""
    when = "until" if relation.scores is Scores.UNTIL else "since"
    if relation.target.is_person:
        people = Users(store).people([*map(int, moments)])
        known = [(people[int(uid)], moment) for uid, moment in moments.items() if int(uid) in people]
        yield from ({"id": user.uid, "username": user.username, when: moment} for user, moment in known)
    elif relation.target.has_author:
        edges = edges_of(store, relation, [(me, pid) for pid in moments])
        people = Users(store).people({edge.owner for edge in edges})
        for pid, author in [(edge.target, people[edge.owner].username) for edge in edges if edge.owner in people]:
            yield {"id": int(pid), when: moments[pid], "address": address_of("post", author, int(pid))}
    elif relation.target.is_text:
        yield from ({relation.names[2]: text, when: moment} for text, moment in moments.items())
    else:
        yield from ({"id": int(pid), when: moment} for pid, moment in moments.items())
