"""Upkeep of pictures: the job that removes those that nothing shows any more, their lines in the file of a site and in
the personal download, and what `doctor` and `cleanup` look for."""

import base64
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum, auto
from functools import partial
from itertools import chain
from typing import NamedTuple, TypeVar

from django.conf import settings

from accounts.media.decoding import PictureRefused, Shape, decoded
from accounts.media.repository import (
    ANIMATED,
    SIZE_PATTERN,
    UPLOAD,
    UPLOAD_STAYS,
    Mark,
    Pictures,
    ask_info,
    ask_memory,
    described,
)
from retwis_site.features import AddressOf, Line, LineField, Owner, SiteLines, Use, features
from retwis_site.jobs.outbox import PUT_OFF, WORKER_GIVES_UP, Claim, Outbox
from retwis_site.maintenance import checks
from retwis_site.maintenance.checks import Check, Chunks, Finding, Searcher, confirmed, looking, names_alone, rows
from retwis_site.maintenance.filling import PICTURES_AT_ONCE
from retwis_site.maintenance.lines import DIGEST, ID, NUMBER, OPTIONAL_TEXT, TEXT, TIME, rows_of_users, seconds
from retwis_site.maintenance.server_advice import Advice
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import AT_ONCE, Writes, batches, emptied, remove_members
from retwis_site.store.client import Pipe, Result, Store, answer, answers, for_each
from retwis_site.store.ids import is_digest, note_bad, parse_id, parse_number, stored_time
from retwis_site.store.kinds import id_in, unprefixed

T = TypeVar("T")

# ---- Removal: the job `picture:<digest>:<uid>` removes a picture that nothing shows any more, or a user's claim to it


COMES_WITHIN = 3600  # seconds until what has marked a picture has come to its commit, or never will


class MarkState(Enum):
    """What a mark says."""

    SHOWN = auto()
    COMING = auto()  # it may still come to its commit, or is an upload of today
    LAPSED = auto()  # it did not
    ENDED = auto()  # what has shown the picture never shows it again, or nothing came to show an upload in a day


def finish_picture(store: Store, claim: Claim) -> object:
    """One to eight round trips, and those of `Outbox.under_way` when a mark has lapsed. While something may still come
    to show the picture, the job waits for it: PUT_OFF."""
    if settle_picture(store, claim.name.split(":")[1]):
        return None
    Outbox(store).add_for_later(claim.name, COMES_WITHIN)
    return PUT_OFF


def settle_picture(store: Store, digest: str) -> bool:
    """Remove the marks of what no longer shows the picture, and the picture itself when nothing shows it. Returns False
    when something may still come to show it: then it must be looked at again later.

    Once it is `going`, a mark is of no use to those who write it. So all marks are read again after that. Only the
    worker that has said so decides then: there may be a job for each who has uploaded the picture."""
    marks = _look(store, digest)
    if is_used(marks):
        _forget_ended(store, digest, marks)
        return MarkState.COMING not in marks.values()
    if not _begins_to_go(store, digest):
        return False
    # A post whose process has died after its commit is not listed yet, and its job leads to it.
    lapsed = {mark for mark, state in marks.items() if state is MarkState.LAPSED}
    jobs = Outbox(store).under_way() if lapsed else set()
    marks |= _look(store, digest)
    if is_used(marks) or any(f"{mark.kind}:{mark.number}" in jobs for mark in lapsed):
        store.hdel(keys.media_info(digest), "going")
        return False
    _remove(store, digest, {mark.uid for mark in marks})
    return True


def _begins_to_go(store: Store, digest: str) -> bool:
    """Say that a picture is going. False while another worker is at it, or just was; what one has left that died is
    taken over. One round trip."""
    now, key = int(time.time()), keys.media_info(digest)
    with store.pipeline() as pipe:
        is_first, since = pipe.hsetnx(key, "going", str(now)), pipe.hget(key, "going")
    is_left = since.value is not None and stored_time(key, since.value) <= now - WORKER_GIVES_UP
    return bool(is_first.value) or is_left


def _look(store: Store, digest: str) -> dict[Mark, MarkState]:
    return marks_of(store, [digest])[digest]


def marks_of(store: Store, digests: Collection[str]) -> dict[str, dict[Mark, MarkState]]:
    """What the marks of pictures say. A bad member is skipped. Two round trips; one for uploads alone."""
    asks = {kind: ask for feature in features() for kind, ask in feature.picture_uses.items()}
    stored = answers(store, lambda pipe, digest: pipe.zrange_withscores(keys.media_users(digest), 0, -1), digests)
    found = {
        digest: {mark: since for member, since in members if (mark := Mark.read(keys.media_users(digest), member))}
        for digest, members in stored.items()
    }
    known = [(digest, mark) for digest, marks in found.items() for mark in marks if mark.kind in asks]
    uses = answers(store, lambda pipe, one: asks[one[1].kind](pipe, one[0], one[1].uid, one[1].number), known)
    return {
        digest: {mark: _state(mark, uses.get((digest, mark)), since) for mark, since in marks.items()}
        for digest, marks in found.items()
    }


def is_used(marks: Mapping[Mark, MarkState]) -> bool:
    """Whether something shows the picture, or may come to show it."""
    return not {MarkState.SHOWN, MarkState.COMING}.isdisjoint(marks.values())


def _state(mark: Mark, use: Use | None, since: float) -> MarkState:
    """`use`: None for an upload, which stays for a day. What is not there yet may come for an hour."""
    if use is Use.SHOWN:
        return MarkState.SHOWN
    if use is Use.ENDED:
        return MarkState.ENDED
    if time.time() - since < (UPLOAD_STAYS if use is None else COMES_WITHIN):
        return MarkState.COMING
    return MarkState.ENDED if mark.kind == UPLOAD else MarkState.LAPSED


def _forget_ended(store: Store, digest: str, marks: Mapping[Mark, MarkState]) -> None:
    """Some still show it. The users of whom nothing does no longer have it; nor do those who uploaded it, and showed it
    nowhere for a day. One round trip; none when all do."""
    ended = {mark for mark, state in marks.items() if state is MarkState.ENDED}
    with store.pipeline() as pipe:
        for mark in ended:
            pipe.zrem(keys.media_users(digest), str(mark))
        for uid in {mark.uid for mark in ended} - {mark.uid for mark in marks.keys() - ended}:
            pipe.zrem(keys.media_of(uid), digest)


def _remove(store: Store, digest: str, uids: set[int]) -> None:
    """Three round trips. `media_info:` goes last: it says which files there are, and that they are going."""
    owner, sizes = store.hmget(keys.media_info(digest), ["owner", "sizes"])
    with store.pipeline() as pipe:
        for name in ("", *(sizes or "").split()):
            pipe.unlink(keys.media(f"{digest}{name}"))
        for uid in uids | {parse_id(owner or "") or 0}:
            pipe.zrem(keys.media_of(uid), digest)
        pipe.zrem(keys.media_sizes(), digest)
        pipe.unlink(keys.media_users(digest))
    store.unlink(keys.media_info(digest))


# ---- With a deleted account


def remove_pictures(store: Store, uid: int) -> Iterator[None]:
    """Leave the pictures of a deleted account to jobs, a chunk at a time: what showed them was removed before. Four
    round trips a chunk."""
    for digests in emptied(store, keys.media_of(uid)):
        for_each(store, lambda pipe, digest: pipe.unlink(keys.media_draft(uid, digest)), digests)
        Pictures(store).unmark(Mark(UPLOAD, uid), digests)
        Pictures(store).release(uid, digests)
        remove_members(store, keys.media_of(uid), digests)
        yield


# ---- The file of a whole site


def _is_base64(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(base64.b64decode(value, validate=True))
    except ValueError:
        return False


_is_size = re.compile(SIZE_PATTERN).fullmatch
SIZE = LineField("such as -600, or empty", lambda value: isinstance(value, str) and _is_size(value) is not None)
WEBP = LineField("a WebP file in base64", _is_base64)
IN_DOWNLOAD = {"digest": DIGEST, "webp": WEBP, "animated": replace(WEBP, required=False)}  # what is read of a picture


def _read_files(store: Store) -> Iterator[Line]:
    """A line for each file of each picture that is shown somewhere, by digest. Six round trips for 16 pictures, and a
    pass over the names of all keys: `media_sizes` may lack some."""
    known = (map(_digest_in, names) for _, names in checks.keys_of(store, [keys.media_info]))
    shown = {digest for some in known for digest in _shown_by(store, some)}
    for digests in batches(sorted(shown), PICTURES_AT_ONCE):
        infos = answers(store, ask_info, digests)
        names = [(digest, size) for digest, info in infos.items() if info is not None for size in info.sizes]
        files = answers(store, lambda pipe, name: pipe.get_bytes(keys.media("".join(name))), names)
        for (digest, size), content in files.items():
            if content is not None:
                yield {"digest": digest, "size": size, "webp": base64.b64encode(content).decode()}


def _shown_by(store: Store, digests: Iterable[str]) -> dict[str, set[int]]:
    """By digest, the users whose posts and the like show these pictures. Without uploads that nothing shows."""
    known = marks_of(store, [*filter(is_digest, digests)])
    shown = {
        digest: {one.uid for one, state in marks.items() if state is MarkState.SHOWN} for digest, marks in known.items()
    }
    return {digest: uids for digest, uids in shown.items() if uids}


def _write_files(writes: Writes, lines: Sequence[Line]) -> None:
    for line in lines:
        writes.pipe.set(keys.media(f"{line['digest']}{line['size']}"), base64.b64decode(line["webp"]))


def _read_pictures(store: Store) -> Iterator[Line]:
    """A line for each picture that a user shows, by uid. Three round trips for 500, and those of `rows_of_users`."""
    for some in batches(rows_of_users(store, keys.media_of), AT_ONCE):
        shown = _shown_by(store, {digest for _, digest, _ in some})
        infos = answers(store, ask_info, shown)
        for uid, digest, _ in some:
            info = infos.get(digest)
            if info is not None and uid in shown[digest]:
                yield {
                    "user": uid,
                    "digest": digest,
                    "time": iso(info.since),
                    **described(info),
                }


def with_file(store: Store, digests: Iterable[str]) -> set[str]:
    """The pictures among these whose file is in the store. The line of a picture that was uploaded during an export may
    stand in a file without it. One round trip; none without pictures."""
    types = answers(store, lambda pipe, digest: pipe.type(keys.media(digest)), {*digests})
    return {digest for digest, found in types.items() if found == keys.media.type}


def _write_pictures(writes: Writes, lines: Sequence[Line]) -> None:
    known = with_file(writes.store, (line["digest"] for line in lines))
    for line in (line for line in lines if line["digest"] in known):
        digest, fields = line["digest"], {name: str(line[name]) for name in DESCRIBED if line.get(name)}
        about = {"owner": str(line["user"]), "since": str(seconds(line, "time"))}
        writes.hset(keys.media_info(digest), fields | about)
        writes.zadd(keys.media_of(line["user"]), {digest: line["bytes"]})
        writes.zadd(keys.media_sizes(), {digest: line["bytes"]})


DESCRIBED = {  # as `described`; older files lack the last ones
    **dict.fromkeys(("width", "height", "bytes"), NUMBER),
    "sizes": TEXT,
    **dict.fromkeys(("look", "blurhash"), OPTIONAL_TEXT),
}
FILES = SiteLines(
    type="picture_file",
    fields=lambda line: {"digest": DIGEST, "size": SIZE, "webp": WEBP},
    read=_read_files,
    write=_write_files,
    at_once=PICTURES_AT_ONCE,
)
PICTURES = SiteLines(
    type="picture",
    fields=lambda line: {"user": ID, "digest": DIGEST, "time": TIME, **DESCRIBED},
    read=_read_pictures,
    write=_write_pictures,
    users=("user",),
)

# ---- The personal download


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """The pictures that the owner has uploaded, a few in a chunk, without those whose file is lost. Two round trips a
    chunk."""
    pictures = Pictures(store)
    for digests in batches(chain.from_iterable(store.zset_ranks(keys.media_of(owner.uid), AT_ONCE)), PICTURES_AT_ONCE):
        infos = pictures.of_user(owner.uid, digests)
        names = [f"{digest}{size}" for digest, info in infos.items() for size in info.sizes if size in {"", ANIMATED}]
        files = answers(store, lambda pipe, name: pipe.get_bytes(keys.media(name)), names)
        in_base64 = {name: base64.b64encode(file).decode() for name, file in files.items() if file}
        yield [
            {
                "type": "picture",
                "digest": digest,
                "time": iso(info.since),
                "width": info.width,
                "height": info.height,
                "address": address_of("media", digest),
                "webp": in_base64[digest],
                **({"animated": moving} if (moving := in_base64.get(f"{digest}{ANIMATED}")) else {}),
            }
            for digest, info in infos.items()
            if digest in in_base64
        ]


# ---- Checks


SIZES = [*dict.fromkeys([*(name for shape in Shape for name, *_ in shape.value), ANIMATED])]  # behind the digest


def advice(store: Store) -> list[Advice]:
    """Whether pictures soon find no room. One round trip."""
    used = answer(store, ask_memory, keys.media_sizes())
    if used < settings.MEDIA_MEMORY * 0.9:
        return []
    text = f"Pictures take {used >> 20} MB of the {settings.MEDIA_MEMORY >> 20} MB of MEDIA_MEMORY."
    hint = "Raise it, as far as the memory of the store allows. When it is full, uploads are refused."
    return [Advice("retwis.W019", text, hint)] if settings.MEDIA_MEMORY else []


NAMING = ("media", "picture", "header")  # the fields of posts and users that name pictures
DIGESTS = re.compile("[0-9a-f]{40}")


class UnlistedPicture(NamedTuple):
    """A picture that a sorted set lacks."""

    info: str  # its key
    lacking: str  # the key of the set
    size: int

    @property
    def digest(self) -> str:
        return _digest_in(self.info)


class PictureChecks(Searcher):
    """Searches pictures. The checks of posts, which run later, write marks that are missing."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._unmarked: list[str] = []  # the keys of pictures of which no mark says that something shows them

    def inconsistencies(self) -> list[Check]:
        return [
            self._check_of(
                "pictures that media_sizes or media_of: lacks",
                keys.media_info,
                self._unlisted,
                "{1} lacks the picture of {0}",
                lambda info, lacking, size: self._store.zadd(lacking, {_digest_in(info): size}),
                read=names_alone,
                jobs=lambda info, *_: _jobs(info),
            ),
            self._check_of(
                "pictures that something shows, of which nothing is known",
                keys.media_users,
                self._forgotten,
                "{0}",
                self._describe,
                read=names_alone,
                jobs=lambda _: set(),  # it is known before something shows it
            ),
        ]

    def orphans(self) -> list[Check]:
        unnamed = self._unknown(_digest_in)
        return [
            self._check_of("files of pictures that are not known", keys.media, unnamed, read=names_alone, jobs=_jobs),
            self._check_of(
                "marks of pictures that are not known", keys.media_users, unnamed, read=names_alone, jobs=_jobs
            ),
            Check("pictures that nothing shows", (keys.media_info,), self._suspected, self._unshown),
            self._check_of(
                "old uploads of pictures that others show",
                keys.media_users,
                self._left,
                "{0} has one",
                lambda key: settle_picture(self._store, _digest_in(key)),
                read=names_alone,
                jobs=_jobs,
            ),
            self._check_of(
                "pictures of users that are not there", keys.media_of, self._unknown(lambda row: row[1]), read=rows
            ),
            self._check_of("sizes of pictures that are not there", keys.media_sizes, self._unknown(str)),
        ]

    def _unknown(self, digest_in: Callable[[T], str]) -> Callable[[Sequence[T]], list[T]]:
        """A look for what has no `media_info:`. What something shows stays: a server that has taken over without the
        last writes may lack that key alone, and pages show the files without it. Three round trips."""

        def ask(pipe: Pipe, one: T) -> Result[bool]:
            return _ask_unknown(pipe, digest_in(one))

        def look(some: Sequence[T]) -> list[T]:
            found = looking(self._store, ask)(some)
            shown = _shown_by(self._store, {digest_in(one) for one in found})
            return [one for one in found if digest_in(one) not in shown]

        return look

    def _forgotten(self, names: Sequence[str]) -> list[str]:
        """One round trip, and four where something is found. The checks of what shows a picture take out one without
        its file."""
        found = looking(self._store, _ask_unknown)(map(_digest_in, names))
        shown = _shown_by(self._store, with_file(self._store, found))
        return [name for name in names if _digest_in(name) in shown]

    def _describe(self, key: str) -> None:
        """Write again what is known of a picture: its files say nearly all of it, and what has shown it first whose it
        is. Without that no export and no download has it. A round trip for each size, and four."""
        digest, pictures = _digest_in(key), Pictures(self._store)
        files = {size: file for size in SIZES if (file := pictures.file(f"{digest}{size}")) is not None}
        shown = [one for one, state in _look(self._store, digest).items() if state is MarkState.SHOWN]
        if not shown or "" not in files:  # it has gone meanwhile
            return
        since = self._store.zscore(key, str(shown[0])) or 0
        try:
            picture = decoded(files[""], Shape.POST)  # it has the size of that shape at most, and so keeps it
        except PictureRefused:
            note_bad(keys.media(digest), "a damaged file")  # the next run finds it again
            return
        pictures.write(shown[0].uid, replace(picture, digest=digest, files=files), str(int(since)))

    # ---- what lists a picture

    def _unlisted(self, names: Sequence[str]) -> list[UnlistedPicture]:
        """Pictures that have no size, or that their owner shows and does not have. Two round trips, and two more where
        something is found."""
        stored = answers(self._store, lambda pipe, key: pipe.hmget(key, ["owner", "bytes"]), names)
        lists = []
        for info, (owner, stored_size) in stored.items():
            uid, size = parse_id(owner or ""), parse_number(stored_size or "") or 0
            lists.append(UnlistedPicture(info, keys.media_sizes(), size))
            if uid:
                lists.append(UnlistedPicture(info, keys.media_of(uid), size))
        scores = answers(self._store, lambda pipe, one: pipe.zscore(one.lacking, one.digest), lists)
        found = [one for one, score in scores.items() if score is None]
        shown = _shown_by(self._store, {one.digest for one in found})
        # `media_sizes`, which is of no user, has each picture that anybody shows.
        return [one for one in found if one.digest in shown and id_in(one.lacking) in {None, *shown[one.digest]}]

    # ---- what nothing shows

    def _suspected(self, names: list[str]) -> Chunks:
        """Note the pictures of which no mark says that something shows them."""
        self._unmarked += confirmed(self._store, self._unused(names), self._unused, _jobs)
        yield []

    def _unshown(self) -> Chunks:
        """Those of them that no post and no profile names: a server may have lost the marks alone, which `doctor`
        writes again. All posts and users are read where there are suspects."""
        named: set[str] = set()
        for _, names in checks.keys_of(self._store, [keys.user, keys.post] if self._unmarked else []):
            stored = answers(self._store, lambda pipe, key: pipe.hmget(key, NAMING), names)
            named.update(*(DIGESTS.findall(text or "") for texts in stored.values() for text in texts))
        unshown = [key for key in self._unmarked if _digest_in(key) not in named]
        yield [
            Finding(key, partial(settle_picture, self._store, _digest_in(key)))
            for key in checks.still_there(self._store, unshown, str)
        ]

    def _left(self, names: Sequence[str]) -> list[str]:
        """Those of these keys that have an old upload of a picture that others show. Two round trips."""
        return [
            name
            for name, marks in self._marks(names)
            if is_used(marks) and any(one.kind == UPLOAD and marks[one] is MarkState.ENDED for one in marks)
        ]

    def _unused(self, names: Sequence[str]) -> list[str]:
        return [name for name, marks in self._marks(names) if not is_used(marks)]

    def _marks(self, names: Sequence[str]) -> Iterator[tuple[str, dict[Mark, MarkState]]]:
        """What the marks of the pictures say to which these keys belong."""
        found = marks_of(self._store, [_digest_in(name) for name in names])
        return ((name, found[_digest_in(name)]) for name in names)


def _ask_unknown(pipe: Pipe, digest: str) -> Result[bool]:
    known = pipe.hexists(keys.media_info(digest), "width")
    return Result(lambda: not known.value)


def _digest_in(key: str) -> str:
    """Of `media:<digest>-600` and of the other keys of a picture."""
    return unprefixed(key).partition(":")[2].partition("-")[0]


def _jobs(key: str) -> set[str]:
    return {f"picture:{_digest_in(key)}"}
