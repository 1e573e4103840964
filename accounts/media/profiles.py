"""The picture and the header of a profile: chosen, removed, and what shows them as long as they stand there.

The field `picture` or `header` of `user:<uid>` has the digest; to write it is the commit. Before it there is a mark in
`media_users:<digest>`, as for a post, and a job for the picture that stood there before. Two forms at once may replace
the same one, and then nobody releases the first of the new ones. So each has a job that looks at it after a day.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from functools import partial

from accounts.media.decoding import Shape
from accounts.media.repository import UPLOAD, UPLOAD_STAYS, Info, Mark, Pictures, job_of
from accounts.media.upkeep import with_file
from accounts.users.repository import Users, forget
from retwis_site.exceptions import LeaseEnded
from retwis_site.features import AskUse, SiteLines, Use
from retwis_site.jobs.outbox import LEASE, Job, Outbox
from retwis_site.maintenance.checks import Check, Searcher
from retwis_site.maintenance.lines import lines_of
from retwis_site.store import keys
from retwis_site.store.chunks import Writes
from retwis_site.store.client import Pipe, Repository, Result, answers
from retwis_site.store.ids import is_digest, nonce


class ProfilePicture(StrEnum):
    """One of the two: its field in `user:<uid>`, and the kind of its marks."""

    PICTURE = "picture"
    HEADER = "header"

    @property
    def shape(self) -> Shape:
        return Shape.PROFILE if self is ProfilePicture.PICTURE else Shape.HEADER

    def fits(self, info: Info) -> bool:
        """Whether a stored picture was made for this."""
        (_, width, height), *smaller = self.shape.value
        sizes = {name for name, _, _ in smaller}
        return info.width <= width and info.height <= height and sizes <= {*info.sizes}


class ProfilePictures(Repository):
    """The pictures and the headers of all profiles."""

    def choose(self, uid: int, kind: ProfilePicture, digest: str) -> None:
        """Show a picture that this user has uploaded, instead of the one before. Commit: the HSET. Seven round trips at
        most. Raises PictureGone. A deleted account keeps nothing of it."""
        leased = Outbox(self._store).add_for_later(job_of(digest, uid), UPLOAD_STAYS)
        before = self._release_later(uid, kind, digest)
        store = before.store if before is not None else leased
        now = int(time.time())
        Pictures(store).mark(Mark(kind, uid, now), [digest])
        Users(store).write(uid, {kind: digest})
        forget(uid)
        with suppress(LeaseEnded):
            store.zrem(keys.media_users(digest), str(Mark(UPLOAD, uid)))
            if before is not None:
                before.hand_over()

    def remove(self, uid: int, kind: ProfilePicture) -> None:
        """Show none. Commit: the HDEL. Four round trips; one without any."""
        before = self._release_later(uid, kind)
        if before is None:
            return
        Users(before.store).take_back(uid, [kind])
        forget(uid)
        with suppress(LeaseEnded):
            before.hand_over()

    def _release_later(self, uid: int, kind: ProfilePicture, new: str = "") -> Job | None:
        """The job that removes the picture that stands there now, if nothing shows it then; None when there is none, or
        when it is `new`. Two round trips; one without a job."""
        before = self._store.hget(keys.user(uid), kind) or ""
        if not is_digest(before) or before == new:
            return None
        return Outbox(self._store).add(f"{job_of(before, uid)}:{nonce()}")


def _ask_use(kind: ProfilePicture, pipe: Pipe, digest: str, uid: int, since: int) -> Result[Use]:
    """Whether a user shows a picture so. The field says it, but for young marks: they may be about to come to their
    commit. After its lease, a process no longer does. One command."""
    fields = pipe.hmget(keys.user(uid), ["deleted", kind])

    def read() -> Use:
        deleted, shown = fields.value
        if deleted is not None:
            return Use.ENDED
        if shown == digest:
            return Use.SHOWN
        return Use.UNKNOWN if time.time() - since < LEASE else Use.ENDED

    return Result(read)


USES: dict[str, AskUse] = {kind: partial(_ask_use, kind) for kind in ProfilePicture}


# ---- The file of a whole site


def _lines_of(kind: ProfilePicture) -> SiteLines:
    """The lines of which the key table tells. What they name gets its mark, an old one: it has come to its commit."""
    told = lines_of(keys.user.fields[kind])

    def write(writes: Writes, lines: Sequence[dict[str, object]]) -> None:
        known = with_file(writes.store, (str(line[kind]) for line in lines))
        own = [line for line in lines if line[kind] in known]
        told.write(writes, own)
        for line in own:
            writes.zadd(keys.media_users(str(line[kind])), {f"{kind}:{line['user']}:0": 0})

    return replace(told, write=write)


LINES = tuple(map(_lines_of, ProfilePicture))


# ---- Checks


LostPicture = tuple[int, ProfilePicture, str]  # of a user: a digest on the profile


class ProfilePictureChecks(Searcher):
    """Searches the pictures of profiles: each has its file, and a mark without which a worker would remove it."""

    def inconsistencies(self) -> list[Check]:
        return [
            self._check_of(
                "pictures of profiles that are not there, or that nothing keeps",
                keys.user,
                self._look,
                "user {0} has {2} as {1}",
                self._repair,
                jobs=lambda *_: set(),  # the mark is there before the field
            )
        ]

    def _look(self, uids: Sequence[int]) -> list[LostPicture]:
        """Two round trips."""
        stored = answers(self._store, lambda pipe, uid: pipe.hmget(keys.user(uid), ["deleted", *ProfilePicture]), uids)
        shown = [
            (uid, kind, digest)
            for uid, (deleted, *digests) in stored.items()
            for kind, digest in zip(ProfilePicture, digests, strict=True)
            if digest and is_digest(digest) and deleted is None
        ]
        with self._store.pipeline() as pipe:
            asked = [
                (one, pipe.zrange(keys.media_users(one[2]), 0, -1), pipe.type(keys.media(one[2]))) for one in shown
            ]
        return [
            (uid, kind, digest)
            for (uid, kind, digest), marks, type_ in asked
            if type_.value != keys.media.type or not any(mark.startswith(f"{kind}:{uid}:") for mark in marks.value)
        ]

    def _repair(self, uid: int, kind: ProfilePicture, digest: str) -> None:
        """A profile loses a picture without its file, and none that was chosen meanwhile."""
        if with_file(self._store, [digest]):
            now = int(time.time())
            self._store.zadd(keys.media_users(digest), {str(Mark(kind, uid, now)): now})
        else:
            Users(self._store).take_out(uid, kind, digest)
