"""Posts as they are stored, for the worker, checks and the download; and one post, as its own pages read it. Lists read
posts through `PostReader`."""

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from accounts.media.repository import ANIMATED
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from accounts.users.repository import ask_user
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Reading, Result, Store, answers, trip
from retwis_site.store.ids import is_digest, note_bad, parse_number, stored_id, stored_ids, stored_time
from retwis_site.store.local_cache import Hints, Memory
from timeline.posts.entities import (
    MOST_PICTURES,
    NO_COUNTS,
    NO_LINKS,
    NO_MEDIA,
    DeletedBy,
    Links,
    Media,
    NoSuchPost,
    Picture,
    Post,
    PostCounts,
    PostDeleted,
    PostRemoved,
    Unavailable,
    is_focus,
)
from timeline.relations.relation import BlockedByViewer, BlocksViewer
from timeline.relations.relations import ask_blocks

# ---- The texts that a post had.


class Version(NamedTuple):
    """A text of a post."""

    since: int  # unix seconds: since when it stands, or stood
    text: str


def ask_versions(pipe: Pipe, pid: int) -> Result[tuple[Version, ...]]:
    """All texts of an edited post, the one that stands now as the last; none for a post that was never edited. One
    command.

    The texts of a deleted post may still be there for a moment: a page must ask whether it is deleted."""
    key = keys.edits(pid)
    stored = pipe.hgetall(key)

    def read() -> tuple[Version, ...]:
        texts = []
        for since, text in stored.value.items():
            number = parse_number(since)
            if number is None:
                note_bad(key, since)
            else:
                texts.append(Version(number, text))
        return tuple(sorted(texts))

    return Result(read)


# ---- Records


LINKS, COUNTS = Links._fields, PostCounts._fields
BASIC = ("user_id", "time", "body", "deleted")  # what every post has
FIELDS = (*BASIC, *LINKS, "edited", "language", *COUNTS, "media")
CHANGES = ALT, REMOVED = "alt:", "removed:"  # with a digest behind them: `timeline/posts/pictures.py`

# pid -> uid of the author, for the posts that were read last: 2 MB. With it, a page asks for posts and authors at once.
_authors_by_pid: Hints[int] = Hints(1 << 17)
# pid -> the post that it reposts or quotes, and pid -> uid of the author that it answers: 1 MB each.
_named_by_pid: Hints[int] = Hints(1 << 16)
_answered_by_pid: Hints[int] = Hints(1 << 16)
# pid -> uids of the people that it mentions; few posts mention somebody. 700 KB.
_mentions_by_pid: Memory[int, tuple[int, ...]] = Memory(size=3500, seconds=3600)


Stored = Sequence[str]  # the hash of a post: its fields and their values in turn; empty for a missing post


def fields_of(stored: Stored) -> list[str | None]:
    """The FIELDS of a post."""
    in_turn = iter(stored)
    return [*map(dict(zip(in_turn, in_turn, strict=True)).get, FIELDS)]


class Record(NamedTuple):
    """A post as stored: its author is a uid."""

    pid: int
    uid: int
    time: int  # unix seconds
    body: str
    links: Links = NO_LINKS
    counts: PostCounts = NO_COUNTS
    edited: int | None = None  # unix seconds
    language: str = ""
    media: Media = NO_MEDIA

    def by(self, author: User) -> Post:
        return Post(
            *(self.pid, author, self.body, self.time, self.links, self.counts, self.edited, self.language, self.media)
        )


def ask_post(pipe: Pipe, pid: int) -> Result[Record | None]:
    """A post; None when it is missing or deleted."""
    fields = pipe.hmget(keys.post(pid), FIELDS)
    return Result(lambda: record_from(pid, *fields.value))


def record_from(
    pid: int, uid: str | None, when: str | None, body: str | None, deleted: str | None, *further: str | None
) -> Record | None:
    """A post from its fields FIELDS; None when it is missing or deleted, or has no author, or no text."""
    if uid is None or deleted is not None:
        return None
    key = keys.post(pid)
    author = stored_id(key, uid)
    links, counts, edited, language, media = (
        _further(key, further) if further.count(None) < len(further) else (NO_LINKS, NO_COUNTS, None, "", NO_MEDIA)
    )
    if author is None or (body is None and links.repost_of is None):
        return None
    _authors_by_pid.put(pid, author)
    if links is not NO_LINKS:
        _named_by_pid.put(pid, links.repost_of or links.quote or 0)
        _answered_by_pid.put(pid, links.reply_to_user or 0)
        if links.mentions:
            _mentions_by_pid.put(pid, links.mentions)
    return Record(pid, author, stored_time(key, when), body or "", links, counts, edited, language, media)


class Outline(NamedTuple):
    """Whose a post is and what it names. It is the same for a deleted post, and for one without a text."""

    pid: int
    uid: int
    time: int  # unix seconds
    links: Links
    deleted: str | None = None  # the field; None: it is not deleted

    @property
    def mentions(self) -> tuple[int, ...]:
        return self.links.mentions or ()


OUTLINE = ("user_id", "time", "deleted", *LINKS)


def ask_outline(pipe: Pipe, pid: int) -> Result[Outline | None]:
    """Also of a deleted post; None when it is missing or has no author. One command."""
    key = keys.post(pid)
    fields = pipe.hmget(key, OUTLINE)

    def read() -> Outline | None:
        author, when, deleted, *links = fields.value
        uid = stored_id(key, author)
        return None if uid is None else Outline(pid, uid, stored_time(key, when), links_from(key, links), deleted)

    return Result(read)


def outlines(store: Store, pids: Iterable[int]) -> dict[int, Outline]:
    """Those of these posts that exist, by id. One round trip; none without posts."""
    return {pid: one for pid, one in answers(store, ask_outline, pids).items() if one is not None}


def own_post(uid: int, pid: int, post: Outline | None) -> Outline:
    """A post that its author may change. Raises NoSuchPost (also for another author's than `uid`, and for a repost),
    PostDeleted."""
    if post is None or post.uid != uid or post.links.repost_of is not None:
        raise NoSuchPost(pid)
    if post.deleted is not None:
        raise post_deleted(pid, deleted_by(post.deleted))
    return post


def tombstone(pid: int, fields: Sequence[str | None]) -> Unavailable | None:
    """A deleted post in its place in the thread, from its fields FIELDS; None for any other post."""
    uid, _, _, deleted, *further = fields
    if uid is None or deleted is None:
        return None
    return Unavailable(pid, _further(keys.post(pid), further)[0], deleted_by(deleted))


def deleted_by(marked: str) -> DeletedBy:
    """Who has deleted a post, from its field `deleted` or from the name of the job."""
    return DeletedBy.STAFF if marked.endswith(DeletedBy.STAFF.mark) else DeletedBy.AUTHOR


def post_deleted(pid: int, by: DeletedBy) -> PostDeleted:
    """The exception that says who has deleted a post."""
    return PostRemoved(pid) if by is DeletedBy.STAFF else PostDeleted(pid)


def _further(key: str, fields: Sequence[str | None]) -> tuple[Links, PostCounts, int | None, str, Media]:
    """What only some posts have."""
    edited, language, *counts, media = fields[len(LINKS) :]
    numbers = PostCounts(*[(count and parse_number(count)) or 0 for count in counts]) if any(counts) else NO_COUNTS
    since = None if edited is None else stored_time(key, edited)
    return links_from(key, fields[: len(LINKS)]), numbers, since, language or "", media_from(key, media)


def media_from(key: str, stored: str | None) -> Media:
    """The pictures in the field `media` of this post. A field that cannot be read has none."""
    if not stored:
        return NO_MEDIA
    try:
        read = json.loads(stored)
        pictures = tuple(Picture(*one) for one in read["pictures"])
        is_good = len(pictures) <= MOST_PICTURES and all(map(_is_picture, pictures))
    except (ValueError, TypeError, KeyError, RecursionError):
        is_good = False
    if not is_good:
        note_bad(key, stored)
        return NO_MEDIA
    return Media(pictures, read.get("sensitive") is True)


def _is_picture(one: Picture) -> bool:
    """Whether a picture is as the type says: it was read from JSON."""
    digest, width, height, *texts = one
    are_right = type(width) is type(height) is int and all(isinstance(text, str) for text in (digest, *texts))
    says_right = is_focus(one.focus) and one.moving in {"", ANIMATED} if are_right else False
    return says_right and is_digest(digest) is not None and min(width, height) > 0


def _without_end(one: Picture) -> tuple[object, ...]:
    """Without what is empty at its end, after the description."""
    said = 4
    for place in range(4, len(one)):
        said = place + 1 if one[place] else said
    return one[:said]


def media_field(media: Media) -> dict[str, str]:
    """The field of a post that holds these pictures, as `media_from` reads it; none without pictures."""
    if not media.pictures:
        return {}
    pictures = [_without_end(one) for one in media.pictures]
    said: dict[str, object] = {"pictures": pictures, **({"sensitive": True} if media.sensitive else {})}
    return {"media": json.dumps(said, ensure_ascii=False, separators=(",", ":"))}


def links_from(key: str, fields: Sequence[str | None]) -> Links:
    """The links in the fields LINKS of this post."""
    if not any(fields) and fields[-1] is None:
        return NO_LINKS
    reply_to, root, reply_to_user, above, quote, repost_of, mentions = fields
    return Links(
        stored_id(key, reply_to),
        stored_id(key, root),
        stored_id(key, reply_to_user),
        tuple(stored_ids(key, above.split())) if above else (),
        stored_id(key, quote),
        stored_id(key, repost_of),
        None if mentions is None else tuple(stored_ids(key, mentions.split())),
    )


def link_fields(links: Links) -> dict[str, str]:
    """The fields of a post that hold these links, as `record_from` reads them."""
    return {
        name: " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        for name, value in zip(LINKS, links, strict=True)
        if value is not None and (value or name == "mentions")
    }


def stored_as(post: Record) -> dict[str, str]:
    """The fields of a post, as `record_from` reads them. A repost has no text of its own."""
    fields = {"user_id": str(post.uid), "time": str(post.time), **link_fields(post.links)}
    if post.links.repost_of is None:
        fields["body"] = post.body
    if post.edited is not None:
        fields["edited"] = str(post.edited)
    if post.language:
        fields["language"] = post.language
    fields |= {name: str(number) for name, number in zip(COUNTS, post.counts, strict=True) if number}
    return fields | media_field(post.media)


def ask_authors(pipe: Pipe, pids: Sequence[int]) -> Result[dict[int, int]]:
    """By id, the authors of these posts, as far as they have one. A command for each that is not cached."""
    known = {pid: uid for pid in pids if (uid := _authors_by_pid.get(pid)) is not None}
    asked = {pid: pipe.hget(keys.post(pid), "user_id") for pid in pids if pid not in known}

    def read() -> dict[int, int]:
        for pid, reply in asked.items():
            uid = stored_id(keys.post(pid), reply.value)
            if uid is not None:
                known[pid] = uid
                _authors_by_pid.put(pid, uid)
        return known

    return Result(read)


def cached_author(pid: int) -> int | None:
    """The uid of the author; None when this process has not cached it. No round trip."""
    return _authors_by_pid.get(pid)


def most_likely_named(pid: int) -> tuple[list[int], list[int]]:
    """The ids of the post that this one reposts or quotes, and the uids of its author and of the people that it names,
    as far as this process has cached them. No round trip."""
    post, author, answered = _named_by_pid.get(pid), _authors_by_pid.get(pid), _answered_by_pid.get(pid)
    people = [uid for uid in (author, answered, *(_mentions_by_pid.get(pid) or ())) if uid is not None]
    return [] if post is None else [post], people


# ---- One post of a user. It says why a post is not there, so it reads the post itself and caches nothing.


def one_post(viewer: Viewer, username: str, pid: int) -> Post:
    """One post of the user `username`. One round trip with cached uids. Raises NoSuchUser, AccountDeleted, NoSuchPost,
    PostDeleted, NotShown."""
    author, post = viewer.ask_about(username, lambda pipe, me, them: _read_one(pipe, me, them, pid))
    return post.value.by(author)


def one_post_or_hidden(viewer: Viewer, username: str, pid: int) -> tuple[Post, bool]:
    """As `one_post`, also when a block hides the post from the viewer, and whether one does."""
    author, post = viewer.ask_about(username, lambda pipe, me, them: _read_one(pipe, me, them, pid))
    return post.behind_blocks().by(author), post.is_hidden()


def _read_one(pipe: Pipe, me: int | None, them: int, pid: int) -> Reading["OnePost"]:
    post = OnePost(pipe, me, them, pid)
    yield
    return post


def find_post(viewer: Viewer, pid: int) -> Post:
    """A post by its id alone. Round trips as for `read_by_id`. Raises NoSuchPost, PostDeleted, NotShown."""
    author, post = viewer.ask(lambda pipe, me: read_by_id(pipe, me, pid))
    return post.value.by(author)


def find_post_or_hidden(viewer: Viewer, pid: int) -> Post:
    """As `find_post`, also when a block hides the post from the viewer."""
    author, post = viewer.ask(lambda pipe, me: read_by_id(pipe, me, pid))
    return post.behind_blocks().by(author)


def read_by_id(pipe: Pipe, me: int | None, pid: int) -> Reading[tuple[User, "OnePost"]]:
    """The author of a post, and what was asked for it. One round trip; one more while its author is not cached. Raises
    NoSuchPost, also for a post of a deleted account."""
    author = cached_author(pid)
    while True:
        if author is None:
            [stored] = yield from trip(pipe.hget(keys.post(pid), "user_id"))
            author = stored_id(keys.post(pid), stored)
        if author is None:
            raise NoSuchPost(pid)
        user = ask_user(pipe, author)
        post = yield from _read_one(pipe, me, author, pid)
        if post.fields.value[0] in (None, str(author)):
            break
        author = None  # a cached author is only a guess
    if user.value is None:
        raise NoSuchPost(pid)
    return user.value, post


def texts_of_post(viewer: Viewer, username: str, pid: int) -> tuple[Post, tuple[Version, ...]]:
    """A post and all its texts, the one that stands now as the last. Round trips and errors as for `one_post`."""
    author, (found, versions) = viewer.ask_about(
        username, lambda pipe, me, them: trip(OnePost(pipe, me, them, pid), ask_versions(pipe, pid))
    )
    return found.by(author), versions or (Version(found.time, found.body),)


class OnePost:
    """Asks for one post of the user `them`. Three commands."""

    def __init__(self, pipe: Pipe, me: int | None, them: int, pid: int) -> None:
        self._pid = pid
        self._author = them
        self._pipe = pipe
        self.fields = pipe.hmget(keys.post(pid), FIELDS)
        self._score = pipe.zscore(keys.updates(them), str(pid))
        self._blocks = ask_blocks(pipe, me, them)

    @property
    def value(self) -> Record:
        """Raises NoSuchPost, PostDeleted, NotShown."""
        if self.is_hidden():
            raise BlocksViewer if self._blocks.value.theirs else BlockedByViewer
        return self.behind_blocks()

    @property
    def or_place(self) -> Result[Record | Unavailable]:
        """A handle of the same, and of a deleted post that of its place in a thread. Errors as for `value`."""

        def read() -> Record | Unavailable:
            try:
                return self.value
            except PostDeleted:
                if (found := tombstone(self._pid, self.fields.value)) is None:
                    raise
                return found

        return Result(read)

    def is_hidden(self) -> bool:
        """Whether one of the viewer and the author blocks the other."""
        return any(self._blocks.value)

    def behind_blocks(self) -> Record:
        """The post, also behind a block between its author and the viewer. Raises NoSuchPost, PostDeleted."""
        author, when, body, deleted, *further = self.fields.value
        if author != str(self._author):
            raise NoSuchPost(self._pid)
        if deleted is not None:
            raise post_deleted(self._pid, deleted_by(deleted))
        found = record_from(self._pid, author, when, body, deleted, *further)
        if found is None:
            raise NoSuchPost(self._pid)
        # Without the entry, its request died before the commit. The official Retwis has no `updates:`.
        if self._score.value is None and not self._pipe.is_foreign:
            raise NoSuchPost(self._pid)
        return found
