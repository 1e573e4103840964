"""Pictures in Redis: store, use, and remove what nothing uses any more.

A picture is named by the digest of its largest file, so it is stored once, however often it is uploaded. What shows it
stands in `media_users:<digest>`, a mark each. Marks are written first: before the picture, and before the post that
shows it. So no post shows a picture that is not there.

- An upload adds a job that is due after a day, writes its mark, asks whether the picture is `going`, and stores it.
- A post adds its mark, asks whether the picture is `going`, and then comes to its own commit.
- The job (`upkeep.py`) removes a picture that nothing shows: it writes `going`, and only then reads the marks by which
  it decides. So either it sees the mark of the other one, or that one sees `going`.
"""

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from accounts.media.decoding import Decoded, PictureRefused, Shape, decoded
from retwis_site.jobs.outbox import Outbox, add_due
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Repository, Result, answers, for_each, handles
from retwis_site.store.ids import nonce, note_bad, parse_number, stored_id, stored_time
from retwis_site.store.rate_limits import Limit

# ---- How much memory pictures take: a sorted set has the bytes of each. To add them up would take longer with each
# picture, so they are counted in classes: those in which an allocator rounds up memory, four for each doubling. The sum
# is at most a fifth too large, and nearer to what the server takes than that of the bytes.

CLASSES = [(4 + part) * 2**power for power in range(8, 19) for part in range(1, 5)]  # 1.25 KB to 2 MB


def ask_memory(pipe: Pipe, key: str) -> Result[int]:
    """The bytes that the pictures in `media_of:<uid>` or `media_sizes` take, about. A command for each class."""
    bounds = zip(["-inf", *(f"({size}" for size in CLASSES)], CLASSES, strict=False)
    counts = [(size, pipe.zcount(key, above, str(size))) for above, size in bounds]
    return Result(lambda: sum(size * count.value for size, count in counts))


# ---- What is stored


class Info(NamedTuple):
    """What is known of a stored picture."""

    width: int  # pixels, of the largest file
    height: int
    size: int  # bytes of all files
    owner: int  # uid of who has uploaded it first
    since: int  # unix seconds
    sizes: tuple[str, ...]  # what the names of its files add to the digest
    look: str  # as for `Decoded`
    blurhash: str


ANIMATED = "-animated"  # the size of a picture that moves; all its other files stand still
SIZE_PATTERN = f"(?:-[0-9]{{2,4}}|{ANIMATED})?"  # what the name of a file has behind the digest
FIELDS = ("width", "height", "bytes", "owner", "since", "sizes", "look", "blurhash", "going")


def ask_info(pipe: Pipe, digest: str) -> Result[Info | None]:
    """What is known of a picture; None for one that is not there, or is being removed. One command."""
    key = keys.media_info(digest)
    fields = pipe.hmget(key, FIELDS)

    def read() -> Info | None:
        width, height, size, owner, since, sizes, look, blurhash, going = fields.value
        numbers = [number for text in (width, height, size) if (number := parse_number(text or ""))]
        if going is not None or len(numbers) < 3:
            return None
        return Info(
            width=numbers[0],
            height=numbers[1],
            size=numbers[2],
            owner=stored_id(key, owner) or 0,
            since=stored_time(key, since),
            sizes=("", *(sizes or "").split()),
            look=look or "",
            blurhash=blurhash or "",
        )

    return Result(read)


def described(picture: Info | Decoded) -> dict[str, int | str]:
    """The fields of a picture that say nothing of whose it is."""
    return {
        "width": picture.width,
        "height": picture.height,
        "bytes": picture.size,
        "sizes": " ".join(filter(None, picture.sizes)),
        "look": picture.look,
        "blurhash": picture.blurhash,
    }


class PictureGone(PictureRefused):
    """It was removed meanwhile, or never was this user's."""

    message = _("This picture is no longer there. Choose it again.")


class PictureBlocked(PictureRefused):
    """Staff has removed it, or one that looks nearly the same."""

    message = _("The moderators have removed this picture before. It cannot be uploaded again.")


class StoreFull(PictureRefused):
    """All pictures together take as much memory as MEDIA_MEMORY says."""

    message = _("The site has no room for more pictures right now. Everything else works.")


class QuotaReached(PictureRefused):
    """The pictures of this user take as much memory as MEDIA_QUOTA says."""

    message = _("Your pictures take all the room that one person has. Delete posts with pictures to make room.")


BITS = 128  # of a look
ALIKE = 10  # bits that differ between pictures that look nearly the same, at most
TELLING = 16  # bits that a look must have, and must not have: that of a plain picture says nothing


def is_alike(blocked: str, look: str) -> bool:
    """Whether pictures with these hashes look nearly the same: one of the hashes of each."""
    try:
        pairs = [(int(one, 16), int(other, 16)) for one in blocked.split() for other in look.split()]
    except ValueError:
        return False
    return any(
        TELLING <= one.bit_count() <= BITS - TELLING and (one ^ other).bit_count() <= ALIKE for one, other in pairs
    )


@dataclass(frozen=True, slots=True)
class Mark:
    """What shows a picture: of which kind, whose, and its id. A kind is one of `Feature.picture_uses`, or UPLOAD."""

    kind: str
    uid: int
    number: int = 0

    def __str__(self) -> str:
        """As a member of `media_users:<digest>`."""
        return f"{self.kind}:{self.uid}:{self.number}"

    @classmethod
    def read(cls, key: str, member: str) -> "Mark | None":
        """From a member of `key`; None for a bad one."""
        kind, *numbers = member.split(":")
        uid, number = (parse_number(text) for text in numbers) if len(numbers) == 2 else (None, None)
        if uid is None or number is None:
            note_bad(key, member)
            return None
        return cls(kind, uid, number)


UPLOAD = "upload"  # not yet shown anywhere
UPLOAD_STAYS = 24 * 3600  # seconds


# How often a user may upload a picture: each takes a process for some tenths of a second.
UPLOADS = Limit("upload", 200, 3600, "uploads", _("Too many pictures in a short time."))


def job_of(digest: str, uid: int) -> str:
    """The name of the job that removes an upload that nothing has come to show."""
    return f"picture:{digest}:{uid}"


class Pictures(Repository):
    """All pictures."""

    def upload(self, uid: int, content: bytes, shape: Shape) -> Decoded:
        """Decode and store what a user has uploaded. Some tenths of a second, two round trips and those of `add`.
        Raises PictureRefused of each kind, TooOften."""
        UPLOADS.count(self._store, uid)
        return self.take(uid, content, shape)

    def take(self, uid: int, content: bytes, shape: Shape) -> Decoded:
        """The same, however often: for commands."""
        picture = decoded(content, shape)
        for digest, look in self._store.hgetall(keys.blocked_media()).items():
            if digest == picture.digest or is_alike(look, picture.look):
                raise PictureBlocked
        self.add(uid, picture)
        return picture

    def add(self, uid: int, picture: Decoded) -> None:
        """Store what a user has uploaded. Without a post it stays for a day. Four round trips. Raises StoreFull,
        QuotaReached; PictureGone while a worker removes the same picture."""
        digest, now = picture.digest, str(int(time.time()))
        leased = Outbox(self._store).add_for_later(job_of(digest, uid), UPLOAD_STAYS)
        Pictures(leased).keep(Mark(UPLOAD, uid), [digest])
        with leased.pipeline() as pipe:
            going = pipe.hget(keys.media_info(digest), "going")
            own, all_ = pipe.zscore(keys.media_of(uid), digest), pipe.zscore(keys.media_sizes(), digest)
            of_user, of_all = ask_memory(pipe, keys.media_of(uid)), ask_memory(pipe, keys.media_sizes())
        if going.value is not None:
            self.unmark(Mark(UPLOAD, uid), [digest])
            raise PictureGone
        if all_.value is None and of_all.value + picture.size > settings.MEDIA_MEMORY:
            raise StoreFull
        if own.value is None and of_user.value + picture.size > settings.MEDIA_QUOTA:
            raise QuotaReached
        Pictures(leased).write(uid, picture, now)

    def write(self, uid: int, picture: Decoded, since: str) -> None:
        """Store the files of a picture of this user, and what is known of it. One round trip; can run twice."""
        digest, about = picture.digest, {name: str(value) for name, value in described(picture).items()}
        with self._store.pipeline() as pipe:
            for name, content in picture.files.items():
                pipe.set(keys.media(f"{digest}{name}"), content)
            pipe.hset(keys.media_info(digest), about)
            pipe.hsetnx(keys.media_info(digest), "owner", str(uid))
            pipe.hsetnx(keys.media_info(digest), "since", since)
            pipe.zadd(keys.media_of(uid), {digest: picture.size})
            pipe.zadd(keys.media_sizes(), {digest: picture.size})

    def of_user(self, uid: int, digests: Collection[str]) -> dict[str, Info]:
        """By digest, those of these pictures that this user has uploaded. One round trip; none without any."""
        key = keys.media_of(uid)
        asked = handles(self._store, lambda pipe, digest: (ask_info(pipe, digest), pipe.zscore(key, digest)), digests)
        found = {digest: info.value for digest, (info, own) in asked.items() if own.value is not None}
        return {digest: info for digest, info in found.items() if info is not None}

    def is_waiting(self, uid: int, digest: str) -> bool:
        """Whether nothing has come to show what this user has uploaded. One round trip."""
        return self._store.zscore(keys.media_users(digest), str(Mark(UPLOAD, uid))) is not None

    def mark(self, mark: Mark, digests: Collection[str]) -> dict[str, Info]:
        """Say that something is about to show these pictures of its user: call it before the commit of that. What never
        comes to its commit loses them after an hour. Returns what is known of each. Two round trips; none without
        pictures. Raises PictureGone, also for a picture that staff has blocked since it was uploaded."""
        if not digests:
            return {}
        now = int(time.time())
        with self._store.pipeline() as pipe:
            for digest in digests:
                pipe.zadd(keys.media_users(digest), {str(mark): now})
            blocked = pipe.hmget(keys.blocked_media(), [*digests])
        found = self.of_user(mark.uid, digests)
        if len(found) < len(set(digests)) or any(look is not None for look in blocked.value):
            self.unmark(mark, digests)
            raise PictureGone
        return found

    def keep(self, mark: Mark, digests: Iterable[str]) -> None:
        """Let pictures stay which something else shows now, such as for a report. One round trip; none without any."""
        now = int(time.time())
        for_each(self._store, lambda pipe, digest: pipe.zadd(keys.media_users(digest), {str(mark): now}), digests)

    def keep_for_a_day(self, uid: int, digests: Collection[str]) -> None:
        """Let pictures of a user stay as uploads when what shows them now goes. A round trip for each, and one."""
        for digest in digests:
            Outbox(self._store).add_for_later(job_of(digest, uid), UPLOAD_STAYS)
        self.keep(Mark(UPLOAD, uid), digests)

    def unmark(self, mark: Mark, digests: Iterable[str]) -> None:
        """Take a mark back that was of no use. One round trip."""
        for_each(self._store, lambda pipe, digest: pipe.zrem(keys.media_users(digest), str(mark)), digests)

    def shown(self, uid: int, digests: Iterable[str]) -> None:
        """After the commit: the uploads have become what shows them. One round trip; none without pictures."""
        with self._store.pipeline() as pipe:
            for digest in digests:
                pipe.zrem(keys.media_users(digest), str(Mark(UPLOAD, uid)))
                Outbox(self._store).queue_done(pipe, job_of(digest, uid))

    def release(self, uid: int, digests: Iterable[str]) -> None:
        """Something of this user no longer shows these pictures: a worker removes those that nothing else shows. One
        round trip; none without pictures."""
        for_each(self._store, add_due, (f"{job_of(digest, uid)}:{nonce()}" for digest in digests))

    def look_of(self, digest: str) -> str:
        """How a picture looks, as for `Decoded`; empty for one that is gone. One round trip."""
        return self._store.hget(keys.media_info(digest), "look") or ""

    def block(self, digest: str, look: str = "") -> None:
        """Nobody may upload this picture again, or one that looks nearly the same, nor post what was uploaded before.
        `look`: as `look_of`, where that was asked before. The first block stands: a worker that repeats it may find
        the picture gone. One round trip, two without a look."""
        self._store.hsetnx(keys.blocked_media(), digest, look or self.look_of(digest) or "0")

    def unblock(self, digest: str) -> None:
        """Take a block back, with the look that it has kept. One round trip."""
        self._store.hdel(keys.blocked_media(), digest)

    def blocked(self, digests: Collection[str]) -> set[str]:
        """Those of these pictures that staff has blocked. One round trip; none without any."""
        looks = answers(self._store, lambda pipe, digest: pipe.hget(keys.blocked_media(), digest), digests)
        return {digest for digest, look in looks.items() if look is not None}

    def file(self, name: str) -> bytes | None:
        """A file by its name, a digest with its size behind it; None without it. One round trip."""
        return self._store.get_bytes(keys.media(name))
