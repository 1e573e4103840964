"""The job `picture:<digest>:<uid>`: remove a picture that nothing shows any more, or a user's claim to it."""

import time
from collections.abc import Collection, Iterator, Mapping
from enum import Enum, auto

from accounts.media.repository import UPLOAD, UPLOAD_STAYS, Mark, Pictures
from retwis_site.features import Use, features
from retwis_site.jobs.outbox import PUT_OFF, Claim, Outbox
from retwis_site.store import keys
from retwis_site.store.chunks import emptied, remove_members
from retwis_site.store.client import Store, answers, for_each
from retwis_site.store.ids import note_bad, parse_id

COMES_WITHIN = 3600  # seconds until what has marked a picture has come to its commit, or never will


class MarkState(Enum):
    """What a mark says."""

    SHOWN = auto()
    COMING = auto()  # it may still come to its commit, or is an upload of today
    LAPSED = auto()  # it did not
    ENDED = auto()  # what has shown the picture is deleted, and never shows it again


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

    Once it is `going`, a mark is of no use to those who write it. So all marks are read again after that."""
    marks = _look(store, digest)
    if is_used(marks):
        _forget_ended(store, digest, marks)
        return MarkState.COMING not in marks.values()
    store.hset(keys.media_info(digest), {"going": str(int(time.time()))})
    # A post whose process has died after its commit is not listed yet, and its job leads to it.
    lapsed = {mark for mark, state in marks.items() if state is MarkState.LAPSED and mark.kind != UPLOAD}
    jobs = Outbox(store).under_way() if lapsed else set()
    marks |= _look(store, digest)
    if is_used(marks) or any(f"{mark.kind}:{mark.number}" in jobs for mark in lapsed):
        store.hdel(keys.media_info(digest), "going")
        return False
    _remove(store, digest, {mark.uid for mark in marks})
    return True


def _look(store: Store, digest: str) -> dict[Mark, MarkState]:
    return marks_of(store, [digest])[digest]


def marks_of(store: Store, digests: Collection[str]) -> dict[str, dict[Mark, MarkState]]:
    """What the marks of pictures say. A bad member is skipped. Two round trips; one for uploads alone."""
    asks = {kind: ask for feature in features() for kind, ask in feature.picture_uses.items()}
    stored = answers(store, lambda pipe, digest: pipe.zrange_withscores(keys.media_users(digest), 0, -1), digests)
    found: dict[str, dict[Mark, float]] = {digest: {} for digest in digests}
    for digest, members in stored.items():
        for member, since in members:
            mark = Mark.read(member)
            if mark is None:
                note_bad(keys.media_users(digest), member)
            else:
                found[digest][mark] = since
    known = [(digest, mark) for digest, marks in found.items() for mark in marks if mark.kind in asks]
    uses = answers(store, lambda pipe, one: asks[one[1].kind](pipe, one[0], one[1].uid, one[1].number), known)
    return {
        digest: {mark: _state(uses.get((digest, mark)), since) for mark, since in marks.items()}
        for digest, marks in found.items()
    }


def is_used(marks: Mapping[Mark, MarkState]) -> bool:
    """Whether something shows the picture, or may come to show it."""
    return not {MarkState.SHOWN, MarkState.COMING}.isdisjoint(marks.values())


def _state(use: Use | None, since: float) -> MarkState:
    """`use`: None for an upload, which stays for a day. What is not there yet may come for an hour."""
    if use is Use.SHOWN:
        return MarkState.SHOWN
    if use is Use.ENDED:
        return MarkState.ENDED
    stays = UPLOAD_STAYS if use is None else COMES_WITHIN
    return MarkState.COMING if time.time() - since < stays else MarkState.LAPSED


def _forget_ended(store: Store, digest: str, marks: Mapping[Mark, MarkState]) -> None:
    """Some still show it. Those users of whom nothing does no longer have it. One round trip; none when all do."""
    ended = {mark for mark, state in marks.items() if state is MarkState.ENDED}
    pipe = store.pipeline()
    for mark in ended:
        pipe.zrem(keys.media_users(digest), str(mark))
    for uid in {mark.uid for mark in ended} - {mark.uid for mark in marks.keys() - ended}:
        pipe.zrem(keys.media_of(uid), digest)
    pipe.execute()


def _remove(store: Store, digest: str, uids: set[int]) -> None:
    """Three round trips. `media_info:` goes last: it says which files there are, and that they are going."""
    owner, sizes = store.hmget(keys.media_info(digest), ["owner", "sizes"])
    pipe = store.pipeline()
    for name in ("", *(sizes or "").split()):
        pipe.unlink(keys.media(f"{digest}{name}"))
    for uid in uids | {parse_id(owner or "") or 0}:
        pipe.zrem(keys.media_of(uid), digest)
    pipe.zrem(keys.media_sizes(), digest)
    pipe.unlink(keys.media_users(digest))
    pipe.execute()
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
