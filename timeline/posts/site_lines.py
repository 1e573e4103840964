"""The lines about posts in the file of a whole site."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from accounts.users.site_lines import uids_in_order
from retwis_site.features import Line, LineField, SiteLines
from retwis_site.maintenance.checks import ids_of, members_of
from retwis_site.maintenance.filling import ID, OPTIONAL_ID, OPTIONAL_IDS, TEXT, TIME, seconds
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import AT_ONCE, batches, newest_first_of_each
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_id, stored_time
from retwis_site.store.snowflake import SMALLEST
from timeline.posts.entities import DeletedBy, Links
from timeline.posts.post_ids import post_ids
from timeline.posts.reading.records import (
    FIELDS,
    LINKS,
    Version,
    ask_versions,
    deleted_by,
    link_fields,
    links_from,
    record_from,
)
from timeline.posts.writing.publication import MOST_ABOVE
from timeline.posts.writing.settling import QUOTES, REPLIES, listings_of, queue_spellings
from timeline.relations.protocol.relation import Counts

ID_FIELDS = ("reply_to", "root", "reply_to_user", "quote")
IDS_FIELDS = ("above", "mentions")


def _are_texts(value: object) -> bool:
    """Whether these are the texts of an edited post: each with a time, and the last is the newest."""
    if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value):
        return False
    if not all(TIME.accepts(one.get("time")) and TEXT.accepts(one.get("text")) for one in value):
        return False
    times = [seconds(one, "time") for one in value]
    return times == sorted(set(times))


TEXTS = LineField("texts with their times, the newest last", _are_texts, required=False)


def read_posts(store: Store) -> Iterator[list[Line]]:
    """A line for each post that is not deleted, by the author's id, newest first. One round trip a chunk, and those of
    `newest_first_of_each`."""
    for uids in uids_in_order(store):
        rows = newest_first_of_each(store, {uid: keys.updates(uid) for uid in uids})
        for some in batches(rows, AT_ONCE):
            listed = [(uid, stored_id(keys.updates(uid), member)) for uid, member, _ in some]
            yield _lines(store, [(uid, pid) for uid, pid in listed if pid])


def _lines(store: Store, listed: Sequence[tuple[int, int]]) -> list[Line]:
    """The lines of posts, given as (uid of the author, pid); none for a post that is
    deleted or another author's, and for a repost."""
    pipe = store.pipeline()
    asked = [(uid, pid, pipe.hmget(keys.post(pid), FIELDS), ask_versions(pipe, pid)) for uid, pid in listed]
    pipe.execute()
    lines: list[Line] = []
    for uid, pid, fields, texts in asked:
        post = record_from(pid, *fields.value)
        if post is not None and post.uid == uid and post.links.repost_of is None:
            line: Line = {"type": "post", "id": pid, "user": uid, "time": iso(post.time), "text": post.body}
            lines.append(line | _links(post.links) | texts_of(texts.value))
    return lines


def _links(links: Links) -> Line:
    numbers = {field: getattr(links, field) for field in ID_FIELDS}
    lists = {"above": list(links.above) or None, "mentions": None if links.mentions is None else list(links.mentions)}
    return {field: value for field, value in (numbers | lists).items() if value is not None}


def texts_of(texts: Sequence[Version]) -> Line:
    """What the line of a post says of its texts: nothing about a post that was never edited."""
    return {"texts": [{"time": iso(since), "text": text} for since, text in texts]} if texts else {}


def write_posts(store: Store, lines: Sequence[Line]) -> None:
    """Write posts. Homes and the global timeline are caches: their next read finds the posts. One round trip."""
    pipe = store.pipeline()
    updates: dict[int, dict[str, int]] = defaultdict(dict)
    for line in lines:
        pid, uid = line["id"], line["user"]
        fields = {"user_id": str(uid), "time": str(seconds(line, "time")), "body": line["text"]}
        texts = {str(seconds(one, "time")): one["text"] for one in line.get("texts", ())}
        if texts:
            pipe.hset(keys.edits(pid), texts)
            fields["edited"], fields["body"] = list(texts.items())[-1]
        links = _links_of(line)
        pipe.hset(keys.post(pid), fields | link_fields(links))
        for listing in listings_of(links, fields["body"]):
            pipe.zadd(listing.key, {str(pid): pid})
        queue_spellings(pipe, fields["body"])
        updates[uid][str(pid)] = pid
        if pid >= SMALLEST:  # posts with ids from a counter are found by counting down
            post_ids(store).queue_as_recent(pipe, pid)
    for uid, pids in updates.items():
        pipe.zadd(keys.updates(uid), pids)
    pipe.execute()


def _links_of(line: Line) -> Links:
    """The links of a line. A foreign database may not know the first post of a thread: then it is the post answered."""
    numbers = {field: line.get(field) for field in ID_FIELDS}
    if numbers["root"] is None:
        numbers["root"] = numbers["reply_to"]
    mentions = line.get("mentions")
    return Links(**numbers, above=tuple(line.get("above", ())), mentions=None if mentions is None else tuple(mentions))


def finish_posts(store: Store) -> None:
    """Write which posts stand above replies whose lines do not say so, and count replies and quotes. Four round trips
    for each 500 posts with replies or quotes, and up to MOST_ABOVE more for replies that do not say so."""
    for chunk in members_of(store, "replies_to:*"):
        for some in batches(chunk, AT_ONCE):
            _write_above(store, {pid: parent for parent, pid, _ in some})
    for pattern, count in (("replies_to:*", REPLIES), ("quotes_of:*", QUOTES)):
        for pids in ids_of(store, pattern):
            Counts(store, count).recount(pids)


def _write_above(store: Store, parents: Mapping[int, int]) -> None:
    """`parents`: the post answered, by reply."""
    pipe = store.pipeline()
    stored = {pid: pipe.hget(keys.post(pid), "above") for pid in parents}
    pipe.execute()
    above = {pid: [parents[pid]] for pid, text in stored.items() if text.value is None}
    climbing = set(above)
    for _ in range(MOST_ABOVE - 1):
        asked = {pid: pipe.hget(keys.post(above[pid][-1]), "reply_to") for pid in climbing}
        pipe.execute()
        for pid, reply_to in asked.items():
            parent = stored_id(keys.post(above[pid][-1]), reply_to.value)
            if parent is None:
                climbing.discard(pid)
            else:
                above[pid].append(parent)
    for pid, pids in above.items():
        pipe.hset(keys.post(pid), {"above": " ".join(map(str, pids))})
    pipe.execute()


POSTS = SiteLines(
    type="post",
    fields=lambda line: {
        "id": ID,
        "user": ID,
        "time": TIME,
        "text": TEXT,
        "texts": TEXTS,
        **dict.fromkeys(ID_FIELDS, OPTIONAL_ID),
        **dict.fromkeys(IDS_FIELDS, OPTIONAL_IDS),
    },
    read=read_posts,
    write=write_posts,
    unique=("id",),
    users=("user",),
    counter=keys.next_post_id,
    finish=finish_posts,
)


# ---- The lines about deleted posts that have replies, in the file of a whole site: they keep their places in threads.


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
