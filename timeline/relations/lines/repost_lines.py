"""The lines about reposts. A repost has an id and a time of its own, which its hash holds."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from accounts.users.repository import Users
from accounts.users.site_lines import uids_in_order
from retwis_site.features import AddressOf, Line, SiteLines
from retwis_site.maintenance.line_fields import ID, TIME, seconds
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import AT_ONCE, batches, newest_first, newest_first_of_each
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_id, stored_score, stored_time
from timeline.relations.lines.edge_lines import EdgeLines
from timeline.relations.protocol.removal import edges_of
from timeline.relations.repost import REPOST

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
    finish=EdgeLines(REPOST, "user", "post", "time").count,
)
