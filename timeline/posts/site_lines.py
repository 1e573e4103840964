"""The lines about posts: in the file of a whole site, and in the personal download.

A post stands in its hash and in the lists of its author, thread and tags: code reads and writes it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

from accounts.media.repository import Mark
from accounts.media.upkeep import with_file
from accounts.users.entities import User
from accounts.users.repository import Users
from retwis_site.features import AddressOf, Line, LineField, Owner, SiteLines
from retwis_site.maintenance.checks import ids_of, keys_of, pairs
from retwis_site.maintenance.lines import ID, OPTIONAL_ID, OPTIONAL_IDS, TEXT, TIME, rows_of_users, seconds
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import AT_ONCE, Writes, batches, newest_first
from retwis_site.store.client import Store, answers, for_each
from retwis_site.store.ids import stored_id, stored_ids, stored_time
from retwis_site.store.snowflake import SMALLEST
from timeline.posts.entities import NO_MEDIA, DeletedBy, Links, Media, Picture, is_language
from timeline.posts.post_ids import post_ids
from timeline.posts.reading import records
from timeline.posts.repository import MOST_ABOVE
from timeline.posts.settling import QUOTES, REPLIES, Settling, authors_of, listings_of, queue_spellings
from timeline.relations.relation import recount

# The links in a line, in its order. Of those of a deleted post, only its place is left.
PLACE = {"reply_to": OPTIONAL_ID, "root": OPTIONAL_ID, "reply_to_user": OPTIONAL_ID, "above": OPTIONAL_IDS}
NAMED = {**PLACE, "quote": OPTIONAL_ID, "mentions": OPTIONAL_IDS}


def _are_texts(value: object) -> bool:
    """Whether these are the texts of an edited post: each with a time, and the last is the newest."""
    if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value):
        return False
    if not all(TIME.accepts(one.get("time")) and TEXT.accepts(one.get("text")) for one in value):
        return False
    times = [seconds(one, "time") for one in value]
    return times == sorted(set(times))


TEXTS = LineField("texts with their times, the newest last", _are_texts, required=False)
LANGUAGE = LineField(
    "the code of a language", lambda value: isinstance(value, str) and is_language(value) is not None, required=False
)


def _are_pictures(value: object) -> bool:
    """Whether these are the pictures of a post, as `media_from` takes them."""
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        return False
    named = [[*(Picture("")._asdict() | one).values()][: len(Picture._fields)] for one in value]
    return records.media_from("", json.dumps({"pictures": named})) != NO_MEDIA


PICTURES = LineField(f"up to four objects with {', '.join(Picture._fields)}", _are_pictures, required=False)
SENSITIVE = LineField("true", lambda value: value is True, required=False)
MEDIA = {"pictures": PICTURES, "sensitive": SENSITIVE}
STAFF = LineField("staff", lambda value: value == DeletedBy.STAFF, required=False)


def read_posts(store: Store) -> Iterator[Line]:
    """A line for each post that is not deleted, by the author's id, newest first; none for a repost, and for another
    author's post. One round trip for each AT_ONCE, and those of `rows_of_users`."""
    for some in batches(rows_of_users(store, keys.updates), AT_ONCE):
        with store.pipeline() as pipe:
            listed = [(uid, pid) for uid, member, _ in some if (pid := stored_id(keys.updates(uid), member))]
            asked = [(uid, records.ask_post(pipe, pid), records.ask_versions(pipe, pid)) for uid, pid in listed]
        for uid, answer, texts in asked:
            post = answer.value
            if _is_own(post, uid):
                line = {"id": post.pid, "user": uid, "time": iso(post.time), "text": post.body}
                yield (
                    line | language_of(post) | _links(post.links, NAMED) | texts_of(texts.value) | media_of(post.media)
                )


def _is_own(post: records.Record | None, uid: int) -> TypeGuard[records.Record]:
    """Whether it is there, by this user, and no repost."""
    return post is not None and post.uid == uid and post.links.repost_of is None


def _links(links: Links, names: Mapping[str, LineField]) -> Line:
    """What a line says of links: nothing where there are none. No mentions are not the same as mentions of nobody."""
    values = {name: getattr(links, name) for name in names}
    said = {name: value for name, value in values.items() if value or (name == "mentions" and value is not None)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in said.items()}


def language_of(post: records.Record) -> Line:
    """What the line of a post says of its language: nothing where its author has not said it."""
    return {"language": post.language} if post.language else {}


def texts_of(texts: Sequence[records.Version]) -> Line:
    """What the line of a post says of its texts: nothing about a post that was never edited."""
    return {"texts": [{"time": iso(since), "text": text} for since, text in texts]} if texts else {}


def media_of(media: Media) -> Line:
    """What the line of a post says of its pictures: nothing without any."""
    if not media.pictures:
        return {}
    return {"pictures": [one._asdict() for one in media.pictures], **({"sensitive": True} if media.sensitive else {})}


def media_in(line: Line) -> Media:
    """The pictures of a line, as `media_of` says them."""
    pictures = tuple(
        Picture(**{name: one[name] for name in Picture._fields if name in one}) for one in line.get("pictures", ())
    )
    return Media(pictures, line.get("sensitive", False))


def with_media(store: Store, lines: Sequence[Line]) -> list[tuple[Line, Media]]:
    """Lines with those of their pictures that the store has. One round trip; none without any."""
    said = [(line, media_in(line)) for line in lines]
    known = with_file(store, (digest for _, media in said for digest in media.digests))
    return [
        (line, media._replace(pictures=tuple(one for one in media.pictures if one.digest in known)))
        for line, media in said
    ]


def _write_posts(writes: Writes, lines: Sequence[Line]) -> None:
    """Homes and the global timeline are caches: their next read finds the posts. A post that had pictures alone goes
    with them."""
    for line, media in with_media(writes.store, lines):
        if line.get("pictures") and not (line["text"] or media.pictures):
            continue
        pid, body, edited = line["id"], line["text"], None
        if texts := {seconds(one, "time"): one["text"] for one in line.get("texts", ())}:
            writes.hset(keys.edits(pid), {str(since): text for since, text in texts.items()})
            edited, body = list(texts.items())[-1]
        for digest in media.digests:
            mark = str(Mark("post", line["user"], pid))
            writes.zadd(keys.media_users(digest), {mark: seconds(line, "time")})
        post = _place(line, NAMED)._replace(body=body, edited=edited, language=line.get("language") or "", media=media)
        _write(writes, post, {})
        queue_spellings(writes.pipe, body)
        writes.zadd(keys.updates(line["user"]), {str(pid): pid})
        if pid >= SMALLEST:  # posts with ids from a counter are found by counting down
            post_ids(writes.store).queue_as_recent(writes.pipe, pid)


def _write_deleted(writes: Writes, lines: Sequence[Line]) -> None:
    """Deleted posts, without an expiry; none that was deleted during the export, and stands before. One round trip."""
    pids = [line["id"] for line in lines]
    there = answers(writes.store, lambda pipe, pid: pipe.hexists(keys.post(pid), "user_id"), pids)
    for line in (line for line in lines if not there[line["id"]]):
        mark = DeletedBy(line.get("by", DeletedBy.AUTHOR)).mark
        _write(writes, _place(line, PLACE), {"deleted": f"{seconds(line, 'deleted')}{mark}"})


def _place(line: Line, names: Mapping[str, LineField]) -> records.Record:
    """Whose a post is, when it was written, and what it names. A foreign database may not know the first post of a
    thread: then it is the post answered."""
    named = {name: line[name] for name in names if line.get(name) is not None}
    values: Line = {name: tuple(value) if isinstance(value, list) else value for name, value in named.items()}
    links = Links(**values)
    links = links._replace(root=links.root or links.reply_to)
    return records.Record(line["id"], line["user"], seconds(line, "time"), "", links)


def _write(writes: Writes, post: records.Record, more: Mapping[str, str]) -> None:
    """The hash of a post, and its id in the lists of its thread, quotes and tags."""
    writes.hset(keys.post(post.pid), {**records.stored_as(post), **more})
    for listing in listings_of(post.links, post.body):
        writes.zadd(listing.key, {str(post.pid): post.pid})


def finish_posts(store: Store) -> Iterator[None]:
    """Write which posts stand above replies whose lines do not say so, take deleted replies out of their threads that
    have no replies here, and count replies and quotes. Six round trips for each 500 posts with replies or quotes, up to
    MOST_ABOVE more for replies that do not say so, and those of `Settling` for deleted ones."""
    for _, names in keys_of(store, [keys.replies_to]):
        for chunk in pairs(store, names):
            _write_above(store, {pid: parent for parent, pid in chunk})
            _settle_deleted(store, [pid for _, pid in chunk])
            yield
    for count in (REPLIES, QUOTES):
        for pids in ids_of(store, count.mirror):
            recount(store, count, pids)
            yield


def _write_above(store: Store, parents: Mapping[int, int]) -> None:
    """`parents`: the post answered, by reply."""
    stored = answers(store, lambda pipe, pid: pipe.hget(keys.post(pid), "above"), parents)
    above = {pid: [parents[pid]] for pid, text in stored.items() if text is None}
    climbing = set(above)
    for _ in range(MOST_ABOVE - 1):
        answered = answers(store, lambda pipe, pid: pipe.hget(keys.post(above[pid][-1]), "reply_to"), climbing)
        for pid, reply_to in answered.items():
            parent = stored_id(keys.post(above[pid][-1]), reply_to)
            if parent is None:
                climbing.discard(pid)
            else:
                above[pid].append(parent)
    for_each(store, lambda pipe, pid: pipe.hset(keys.post(pid), {"above": " ".join(map(str, above[pid]))}), above)


def _settle_deleted(store: Store, replies: Sequence[int]) -> None:
    """Those of these replies that are deleted and have no replies: the file had some, of accounts that were deleted
    while it was written."""
    deleted = _deleted(store, replies)
    answered = answers(store, lambda pipe, pid: pipe.zcard(keys.replies_to(pid)), deleted)
    unanswered = [pid for pid, number in answered.items() if not number]
    if unanswered:
        Settling(store).settle(unanswered)


# Deleted posts that have replies keep their places in threads.


def _read_deleted(store: Store) -> Iterator[Line]:
    """A line for each, by id. Two round trips for each 500 posts with replies. The ids are in memory: such posts are
    few."""
    pids = sorted(pid for some in ids_of(store, keys.replies_to) for pid in _deleted(store, some))
    for chunk in batches(pids, AT_ONCE):
        for post in records.outlines(store, chunk).values():
            if post.deleted is not None:
                by = records.deleted_by(post.deleted)
                since = stored_time(keys.post(post.pid), post.deleted.removesuffix(by.mark))
                line = {"id": post.pid, "user": post.uid, "time": iso(post.time), "deleted": iso(since)}
                marked = {"by": by.value} if by is DeletedBy.STAFF else {}
                yield line | marked | _links(post.links, PLACE)


def _deleted(store: Store, pids: Sequence[int]) -> list[int]:
    deleted = answers(store, lambda pipe, pid: pipe.hexists(keys.post(pid), "deleted"), pids)
    return [pid for pid, is_deleted in deleted.items() if is_deleted]


POSTS = SiteLines(
    type="post",
    fields=lambda line: {
        "id": ID,
        "user": ID,
        "time": TIME,
        "text": TEXT,
        "language": LANGUAGE,
        "texts": TEXTS,
        **NAMED,
        **MEDIA,
    },
    read=read_posts,
    write=_write_posts,
    unique=("id",),
    users=("user",),
    counter=keys.next_post_id,
    finish=finish_posts,
)
# The account of the author may be deleted, too. So the lines need no user.
TOMBSTONES = SiteLines(
    type="deleted_post",
    fields=lambda line: {"id": ID, "user": ID, "time": TIME, "deleted": TIME, "by": STAFF, **PLACE},
    read=_read_deleted,
    write=_write_deleted,
    unique=("id",),
)


# ---- The personal download


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """The owner's posts, newest first, without reposts. Two round trips a chunk; two more where posts answer or quote
    others."""
    updates = keys.updates(owner.uid)
    for rows in newest_first(store, updates):
        pids = stored_ids(updates, [member for member, _ in rows])
        with store.pipeline() as pipe:
            asked = [(records.ask_post(pipe, pid), records.ask_versions(pipe, pid)) for pid in pids]
        posts = [(post.value, texts.value) for post, texts in asked if _is_own(post.value, owner.uid)]
        authors = _authors(store, {pid for post, _ in posts for pid in _named(post).values()})
        yield [
            {
                "type": "post",
                "id": post.pid,
                "time": iso(post.time),
                "text": post.body,
                **language_of(post),
                "address": address_of("post", owner.username, post.pid),
                **_named(post),
                **{
                    f"{field}_address": address_of("post", authors[pid].username, pid)
                    for field, pid in _named(post).items()
                    if pid in authors
                },
                **texts_of(texts),
                **media_of(post.media),
            }
            for post, texts in posts
        ]


def _named(post: records.Record) -> dict[str, int]:
    """The posts that a post answers and quotes, by field."""
    named = {"reply_to": post.links.reply_to, "quote": post.links.quote}
    return {field: pid for field, pid in named.items() if pid is not None}


def _authors(store: Store, pids: set[int]) -> dict[int, User]:
    """The authors of these posts, without deleted accounts. Two round trips; none without posts."""
    known = authors_of(store, pids)
    people = Users(store).people({one.author for one in known.values() if one.author})
    return {pid: people[one.author] for pid, one in known.items() if one.author in people}
