"""The lines about deleted posts that have replies, in the file of a whole site: they keep their places in threads."""

from collections.abc import Iterator, Sequence

from retwis_site.features import Line, LineField, SiteLines
from retwis_site.maintenance.checks import ids_of
from retwis_site.maintenance.line_fields import ID, OPTIONAL_ID, OPTIONAL_IDS, TIME, seconds
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import AT_ONCE, batches
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_id, stored_time
from timeline.posts.entities import DeletedBy, Links
from timeline.posts.reading.records import LINKS, deleted_by, link_fields, links_from
from timeline.posts.writing.listings import listings_of

STAFF = LineField("staff", lambda value: value == DeletedBy.STAFF, required=False)
PLACE = ("reply_to", "root", "reply_to_user", "above")  # all that is left of the links of a deleted post


def _read(store: Store) -> Iterator[list[Line]]:
    """A line for each, by id. Two round trips for each 500 posts with replies. The ids are in memory: such posts are
    few."""
    pids = sorted(pid for some in ids_of(store, "replies_to:*") for pid in _deleted(store, some))
    for chunk in batches(pids, AT_ONCE):
        pipe = store.pipeline()
        asked = {pid: pipe.hmget(keys.post(pid), ["user_id", "time", "deleted", *LINKS]) for pid in chunk}
        pipe.execute()
        lines = []
        for pid, fields in asked.items():
            key, (author, when, deleted, *links) = keys.post(pid), fields.value
            uid = stored_id(key, author)
            if uid is not None and deleted is not None:
                place = {name: getattr(links_from(key, links), name) for name in PLACE}
                by = deleted_by(deleted)
                since = stored_time(key, deleted.removesuffix(by.mark))
                times = {"time": iso(stored_time(key, when)), "deleted": iso(since)}
                lines.append(
                    {"type": "deleted_post", "id": pid, "user": uid, **times}
                    | ({"by": by.value} if by is DeletedBy.STAFF else {})
                    | {name: list(value) if name == "above" else value for name, value in place.items() if value}
                )
        yield lines


def _deleted(store: Store, pids: Sequence[int]) -> list[int]:
    pipe = store.pipeline()
    asked = {pid: pipe.hexists(keys.post(pid), "deleted") for pid in pids}
    pipe.execute()
    return [pid for pid, deleted in asked.items() if deleted.value]


def _write(store: Store, lines: Sequence[Line]) -> None:
    """Write deleted posts, without an expiry. One round trip."""
    pipe = store.pipeline()
    for line in lines:
        numbers = {name: line.get(name) for name in PLACE if name != "above"}
        links = Links(**numbers, above=tuple(line.get("above", ())))
        fields = {"user_id": str(line["user"]), "time": str(seconds(line, "time")), "body": ""}
        mark = DeletedBy(line.get("by", DeletedBy.AUTHOR)).mark
        pipe.hset(keys.post(line["id"]), fields | {"deleted": f"{seconds(line, 'deleted')}{mark}"} | link_fields(links))
        for listing in listings_of(links, ""):
            pipe.zadd(listing.key, {str(line["id"]): line["id"]})
    pipe.execute()


# The account of the author may be deleted, too. So the lines need no user.
TOMBSTONES = SiteLines(
    type="deleted_post",
    fields=lambda line: {
        "id": ID,
        "user": ID,
        "time": TIME,
        "deleted": TIME,
        "by": STAFF,
        **dict.fromkeys(PLACE, OPTIONAL_ID),
        "above": OPTIONAL_IDS,
    },
    read=_read,
    write=_write,
    unique=("id",),
)
