"""Who may cause a notice, and where: one look of a fixed number of commands."""

import time
from typing import NamedTuple

from accounts.users.deletion import is_deleted
from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.replies import Answer
from timeline.notices.entities import CAN_BE_QUIET, Kind, Notice
from timeline.notices.inbox import queue_add, queue_remove

MUTED_READ = 500  # threads that a user has muted last: 8 KB


class Welcome(NamedTuple):
    """Whether a notice may stand."""

    owner_exists: bool
    allowed: bool


UNWELCOME = Welcome(owner_exists=True, allowed=False)


def ask_welcome(pipe: Pipe, owner: int, notice: Notice, post: int | None = None) -> Answer[Welcome]:
    """Whether `owner` wants this notice: no block between the two, no mute, the kind is not turned off, and the thread
    of `post` is not muted. Four commands, six with a post; none for one's own doing and for an unknown owner."""
    if not owner or owner == notice.who:
        return Answer(lambda: UNWELCOME)
    blocks = [
        pipe.zscore(keys.blocked(owner), str(notice.who)),
        pipe.zscore(keys.blocked(notice.who), str(owner)),
    ]
    muted_until = pipe.zscore(keys.muted(owner), str(notice.who))
    fields = pipe.hmget(keys.user(owner), ["username", "deleted", "quiet"])
    thread = _ask_thread_muted(pipe, owner, post) if post else Answer(lambda: False)

    def read() -> Welcome:
        username, deleted, quiet = fields.value
        if username is None or is_deleted(deleted):
            return Welcome(owner_exists=False, allowed=False)
        blocked = any(block.value is not None for block in blocks)
        muted = muted_until.value is not None and muted_until.value > time.time()
        is_quiet = notice.kind in turned_off(quiet)
        return Welcome(owner_exists=True, allowed=not (blocked or muted or is_quiet or thread.value))

    return Answer(read)


def _ask_thread_muted(pipe: Pipe, owner: int, post: int) -> Answer[bool]:
    """Whether the owner has muted the thread of a post. Its first post is not known before the reply, so the threads
    are read that were muted last, MUTED_READ of them. Two commands."""
    root = pipe.hget(keys.post(post), "root")
    muted = pipe.zrevrange(keys.muted_threads(owner), 0, MUTED_READ - 1)
    return Answer(lambda: (root.value or str(post)) in muted.value)


def queue_notice(pipe: Pipe, owner: int, notice: Notice, when: int | None, welcome: Welcome) -> None:
    """Write what a look has found: add the notice, or remove it. `when`: its date; None: its cause does not stand.

    Nothing is left of a deleted owner's notices. At most two commands."""
    if not owner or owner == notice.who:
        return
    if not welcome.owner_exists:
        pipe.unlink(keys.notices(owner))
    elif when is not None and welcome.allowed:
        queue_add(pipe, owner, notice, when)
    else:
        queue_remove(pipe, owner, notice)


def turned_off(quiet: str | None) -> frozenset[Kind]:
    """The kinds that the field `quiet` of a user turns off."""
    return frozenset(kind for kind in CAN_BE_QUIET if kind in (quiet or "").split())
