"""The pictures of posts in Redis: whether a post shows one, one that staff removes, what an edit says of them, and what
`doctor` looks for.

The field `media` of a published post follows from itself and from the fields `alt:<digest>` and `removed:<digest>`. An
edit and a moderator write these, one for each picture, and then make `media` match (`reconcile`). So of two changes at
once none undoes the other.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from django.utils.translation import gettext_lazy as _

from accounts.community.acts import begin_removal, carry_out_removal
from accounts.community.log import Act
from accounts.media.decoding import PictureRefused
from accounts.media.repository import ANIMATED, Info, Mark, Pictures, ask_info
from accounts.media.upkeep import with_file
from retwis_site.features import Use
from retwis_site.jobs.outbox import Claim, Job, Outbox, job_id, reconcile
from retwis_site.maintenance.checks import Check, Searcher, keep, looking
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Result, Store, answers
from retwis_site.store.ids import nonce, stored_id
from timeline.posts.entities import MOST_PICTURES, Media, NoSuchPost, Picture
from timeline.posts.reading.cached_posts import forget
from timeline.posts.reading.records import ALT, CHANGES, REMOVED, media_field, media_from


def with_sizes(media: Media, known: Mapping[str, Info]) -> Media:
    """The pictures of a new post, with what is stored of them."""
    return media._replace(pictures=tuple(with_stored(one, known[one.digest]) for one in media.pictures))


def with_stored(one: Picture, known: Info) -> Picture:
    """A picture of a post with what is stored of it."""
    moving = ANIMATED if ANIMATED in known.sizes else ""
    return one._replace(width=known.width, height=known.height, blurhash=known.blurhash, moving=moving)


def ask_picture_use(pipe: Pipe, digest: str, uid: int, pid: int) -> Result[Use]:
    """Whether a post of this user shows a picture. One that cannot be read shows all that have its mark. Two
    commands."""
    fields, listed = (
        pipe.hmget(keys.post(pid), ["user_id", "deleted", "media", f"{REMOVED}{digest}"]),
        pipe.zscore(keys.updates(uid), str(pid)),
    )

    def read() -> Use:
        author, deleted, media, removed = fields.value
        if author is None:
            return Use.UNKNOWN
        if author != str(uid) or deleted is not None or removed is not None:  # `media` follows later
            return Use.ENDED
        if media is None or listed.value is None:  # it had not come to its commit when this was read
            return Use.UNKNOWN
        shown = media_from(keys.post(pid), media).digests
        return Use.SHOWN if digest in shown or (media and not shown) else Use.ENDED  # a damaged field may name it

    return Result(read)


# ---- A member may ask the site to take no picture without a description: the field `needs_alt` of the user's hash.


class DescriptionMissing(PictureRefused):
    """The author wants each picture to have a description."""

    message = _("Describe each picture: your settings require it.")


def require_descriptions(store: Store, uid: int, pictures: Iterable[Picture]) -> None:
    """Raises DescriptionMissing when a picture has none and its author requires it. One round trip; none when all have
    one."""
    if not all(one.alt for one in pictures) and store.hget(keys.user(uid), "needs_alt"):
        raise DescriptionMissing


# ---- What follows from the changes of pictures.


class _Seen(NamedTuple):
    """The pictures of a post."""

    stored: str | None  # the field `media`
    right: str | None  # as it should be; None of a post that is deleted or gone
    late: tuple[str, ...] = ()  # fields about pictures that are no longer shown, which go
    author: int = 0  # of a deleted post


def _look(store: Store, pids: Iterable[int]) -> dict[int, _Seen]:
    """One round trip."""
    stored = answers(store, lambda pipe, pid: pipe.hgetall(keys.post(pid)), [*pids])
    return {pid: _seen(pid, fields) for pid, fields in stored.items()}


def _seen(pid: int, fields: Mapping[str, str]) -> _Seen:
    stored = fields.get("media")
    if "user_id" not in fields or "deleted" in fields:
        late = tuple(name for name in fields if name.startswith(CHANGES))
        return _Seen(stored, None, late, stored_id(keys.post(pid), fields.get("user_id")) or 0)
    late = tuple(name for name in fields if name.startswith(ALT) and name.replace(ALT, REMOVED, 1) in fields)
    media = media_from(keys.post(pid), stored)
    left = tuple(
        one._replace(alt=fields.get(f"{ALT}{one.digest}", one.alt))
        for one in media.pictures
        if f"{REMOVED}{one.digest}" not in fields
    )
    right = stored if left == media.pictures else media_field(media._replace(pictures=left)).get("media", "")
    return _Seen(stored, right, late)


def settle_pictures(store: Store, pid: int) -> None:
    """Make the field `media` of a post match what was done with its pictures. One round trip; two more for each
    time that it changes, and one of a deleted post."""

    def write(found: Mapping[int, _Seen]) -> dict[int, _Seen]:
        with store.pipeline() as pipe:
            for pid, now in found.items():
                if now.right is not None:
                    pipe.hset(keys.post(pid), {"media": now.right})
                elif now.author:  # the deletion may come too late to see which pictures it has
                    Pictures(store).release(now.author, media_from(keys.post(pid), now.stored).digests)
                for field in (*now.late, *(["media"] if now.right is None else [])):
                    pipe.hdel(keys.post(pid), field)
        return {pid: _Seen(now.right, now.right, author=now.author) for pid, now in found.items()}

    found = {pid: now for pid, now in _look(store, [pid]).items() if (now.stored, now.late) != (now.right, ())}
    reconcile(found, lambda written: _look(store, written), write)
    forget(pid)


def take_out(store: Store, pid: int, digest: str) -> None:
    """Let a post no longer show a picture. Commit: the HSET of `removed:`. Five round trips."""
    key = keys.post(pid)
    if digest in media_from(key, store.hget(key, "media")).digests:
        store.hset(key, {f"{REMOVED}{digest}": str(int(time.time()))})
    settle_pictures(store, pid)


def describe(store: Store, uid: int, pid: int, alts: Mapping[str, str]) -> bool:
    """Give pictures of a post of user `uid` other descriptions, by digest; those of other pictures are left out.
    Returns False when nothing is to be changed. Seven round trips; one without a change, none without descriptions.
    Raises NoSuchPost, also for another author's and a deleted one. Commit: the HSET of all descriptions."""
    if not alts:
        return False
    key = keys.post(pid)
    author, deleted, media = store.hmget(key, ["user_id", "deleted", "media"])
    if author != str(uid) or deleted is not None:
        raise NoSuchPost(pid)
    before = {one.digest: one.alt for one in media_from(key, media).pictures}
    changed = {digest: alt for digest, alt in alts.items() if before.get(digest, alt) != alt}
    if not changed:
        return False
    job = Outbox(store).add(f"pictures:{pid}:{nonce()}")
    job.store.hset(key, {f"{ALT}{digest}": alt for digest, alt in changed.items()})
    with job.ending():
        settle_pictures(job.store, pid)
    return True


# ---- A picture that staff removes from a post.


def require_picture(store: Store, pid: int, digest: str) -> None:
    """Raises NoSuchPost, also for a post that does not have this picture. One round trip."""
    if digest not in media_from(keys.post(pid), store.hget(keys.post(pid), "media")).digests:
        raise NoSuchPost(pid)


def remove_by_staff(store: Store, act: Act, digest: str, blocked: str) -> None:
    """Remove one picture from the post of an act, which says by whom, whose it is and why; `blocked` as for
    `begin_removal`. The line is written also when the post no longer has it. Ten round trips, one more to
    block."""
    act = replace(act, what="picture:deleted")
    begin_removal(store, f"staff_picture:{act.post}", digest, act, blocked, finish_removal)


def finish_removal(store: Store, job: Claim | Job) -> None:
    """The job `staff_picture:<pid>:<digest>:<blocked>:<line of the log>`."""
    pid = job_id(job.name, 1)
    _job, _pid, removal = job.name.split(":", 2)
    carry_out_removal(store, removal, partial(take_out, store, pid))


# ---- Checks: each picture of a post has its file, and a mark without which a worker would remove it.


WrongPicture = tuple[int, str, int]  # pid, digest, uid of the author

UNREADABLE = "pictures that cannot be read"  # in place of a digest


class PostPictureChecks(Searcher):
    """Searches the pictures of published posts."""

    def inconsistencies(self) -> list[Check]:
        return [
            self._check_of(
                "pictures of posts that are not there, cannot be read, or that nothing keeps",
                keys.post,
                self._look,
                "post {0} shows {1}",
                self._repair,
                jobs=lambda pid, *_: keys.post.jobs_on(pid, str(pid)),
            )
        ]

    def _look(self, pids: Sequence[int]) -> list[WrongPicture]:
        """Two round trips."""
        names = ["user_id", "deleted", "media"]
        stored = answers(self._store, lambda pipe, pid: pipe.hmget(keys.post(pid), names), pids)
        shown = {
            (pid, digest, uid)
            for pid, (author, deleted, media) in stored.items()
            if media and deleted is None and (uid := stored_id(keys.post(pid), author))
            for digest in media_from(keys.post(pid), media).digests or [UNREADABLE]
        }
        return looking(self._store, _ask_wrong)(sorted(shown))

    def _repair(self, pid: int, digest: str, uid: int) -> None:
        """A picture without its file leaves the post."""
        if digest == UNREADABLE:
            self._write_again(pid, uid)
        elif with_file(self._store, [digest]):
            self._store.zadd(keys.media_users(digest), {str(Mark("post", uid, pid)): int(time.time())})
        else:
            take_out(self._store, pid, digest)

    def _write_again(self, pid: int, uid: int) -> None:
        """Let a post show the pictures that have its mark, in the order in which the damaged field names them. The
        field is kept: descriptions are lost with it, but for those of an edit. Seven round trips."""
        text = self._store.hget(keys.post(pid), "media")
        if not text or media_from(keys.post(pid), text).pictures:
            return
        own, mark = self._store.zrange(keys.media_of(uid), 0, -1), str(Mark("post", uid, pid))
        marks = answers(self._store, lambda pipe, digest: pipe.zscore(keys.media_users(digest), mark), own)
        marked = [digest for digest, since in marks.items() if since is not None]
        known = {digest: info for digest, info in answers(self._store, ask_info, marked).items() if info is not None}
        named = sorted(known, key=lambda digest: (digest not in text, text.find(digest)))[:MOST_PICTURES]
        pictures = tuple(with_stored(Picture(digest), known[digest]) for digest in named)
        again = media_field(Media(pictures, sensitive="sensitive" in text))
        keep(self._store, keys.post(pid), b"media", text.encode(errors="replace"))
        if again:
            self._store.hset(keys.post(pid), again)
        else:
            self._store.hdel(keys.post(pid), "media")
        settle_pictures(self._store, pid)


def _ask_wrong(pipe: Pipe, one: WrongPicture) -> Result[bool]:
    """Whether a listed post shows a picture without its file or its mark; or the field cannot be read."""
    pid, digest, uid = one
    if digest == UNREADABLE:
        return Result(lambda: True)
    listed, kind = pipe.zscore(keys.updates(uid), str(pid)), pipe.type(keys.media(digest))
    mark = pipe.zscore(keys.media_users(digest), str(Mark("post", uid, pid)))
    return Result(lambda: listed.value is not None and (mark.value is None or kind.value != keys.media.type))
