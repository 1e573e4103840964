"""The lines about posts in the file of a whole site."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from accounts.users.site_lines import uids_in_order
from retwis_site.features import Line, SiteLines
from retwis_site.maintenance.line_fields import ID, OPTIONAL_ID, TEXT, TIME, seconds
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import AT_ONCE, batches, newest_first_of_each
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_id
from retwis_site.store.snowflake import SMALLEST
from timeline.posts.post_ids import post_ids
from timeline.posts.reading.records import FIELDS, record_from

REPLY_FIELDS = ("reply_to", "root", "reply_to_user")


def read_posts(store: Store) -> Iterator[list[Line]]:
    """A line for each post that is not deleted, by the author's id, newest first. One round trip a chunk, and those of
    `newest_first_of_each`."""
    for uids in uids_in_order(store):
        rows = newest_first_of_each(store, {uid: keys.updates(uid) for uid in uids})
        for some in batches(rows, AT_ONCE):
            listed = [(uid, stored_id(keys.updates(uid), member)) for uid, member, _ in some]
            yield _lines(store, [(uid, pid) for uid, pid in listed if pid])


def _lines(store: Store, listed: Sequence[tuple[int, int]]) -> list[Line]:
    """The lines of posts, given as (uid of the author, pid); none for a post that is deleted or another author's."""
    pipe = store.pipeline()
    asked = [(uid, pid, pipe.hmget(keys.post(pid), FIELDS)) for uid, pid in listed]
    pipe.execute()
    lines: list[Line] = []
    for uid, pid, fields in asked:
        post = record_from(pid, *fields.value)
        if post is not None and post.uid == uid:
            line: Line = {"type": "post", "id": pid, "user": uid, "time": iso(post.time), "text": post.body}
            reply = {field: getattr(post.links, field) for field in REPLY_FIELDS}
            lines.append(line | {field: number for field, number in reply.items() if number is not None})
    return lines


def write_posts(store: Store, lines: Sequence[Line]) -> None:
    """Write posts. Homes and the global timeline are caches: their next read finds the posts. One round trip."""
    pipe = store.pipeline()
    updates: dict[int, dict[str, int]] = defaultdict(dict)
    for line in lines:
        pid, uid = line["id"], line["user"]
        fields = {"user_id": str(uid), "time": str(seconds(line, "time")), "body": line["text"]}
        pipe.hset(keys.post(pid), fields | {field: str(line[field]) for field in REPLY_FIELDS if field in line})
        updates[uid][str(pid)] = pid
        if pid >= SMALLEST:  # posts with ids from a counter are found by counting down
            post_ids(store).queue_as_recent(pipe, pid)
    for uid, pids in updates.items():
        pipe.zadd(keys.updates(uid), pids)
    pipe.execute()


POSTS = SiteLines(
    type="post",
    fields=lambda line: {"id": ID, "user": ID, "time": TIME, "text": TEXT, **dict.fromkeys(REPLY_FIELDS, OPTIONAL_ID)},
    read=read_posts,
    write=write_posts,
    unique=("id",),
    users=("user",),
    counter=keys.next_post_id,
)
