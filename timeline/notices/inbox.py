"""Notices: what others did that concerns a user, in `notices:<uid>`, and how far the user has read them.

`noticed` in the user's hash says how far. A mark in `notices:` says it too: a member with the same score. So one round
trip counts the new ones, without knowing the score before: they stand above the mark.
"""

import time
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from accounts.users.deletion import is_deleted
from accounts.users.entities import State
from accounts.users.repository import Users, state_now
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.commands import Scored
from retwis_site.store.ids import note_bad, parse_id, stored_score, stored_time
from retwis_site.store.replies import Question, Reply, Result

# ---- What others did.


class Kind(StrEnum):
    """The kinds of notices."""

    FOLLOW = "follow"
    LIKE = "like"
    REPOST = "repost"
    REPLY = "reply"
    QUOTE = "quote"
    MENTION = "mention"
    REPORT = "report"  # staff has decided about a report that the user has made, or that was about them


KINDS = {kind.value: kind for kind in Kind}
CAN_BE_QUIET = tuple(kind for kind in Kind if kind is not Kind.REPORT)  # each can be turned off in the settings
ABOUT_POSTS = (Kind.LIKE, Kind.REPOST, Kind.REPLY, Kind.QUOTE, Kind.MENTION)
BY_POSTS = (Kind.REPLY, Kind.QUOTE, Kind.MENTION)  # a post makes them. A person whom it concerns twice gets the first


class Notice(NamedTuple):
    """One notice. In `notices:` it stands as `<kind>:<what>:<who>`."""

    kind: Kind
    what: int  # the liked or reposted post, the followed user; of BY_POSTS, the new post; the report
    who: int  # uid of the user who did it; of a report, of the user who is told

    @property
    def member(self) -> str:
        return f"{self.kind}:{self.what}:{self.who}"


def parse_notice(member: str) -> Notice | None:
    """The notice that a member stands for; None for any other text."""
    kind, _, rest = member.partition(":")
    what, _, who = rest.partition(":")
    what_id, who_id = parse_id(what), parse_id(who)
    if kind not in KINDS or what_id is None or who_id is None:
        return None
    return Notice(KINDS[kind], what_id, who_id)


# ---- The kinds of notices that a user has turned off: the field `quiet` of the user's hash.


class QuietKinds:
    """Which kinds a user gets. What was written before stays."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def wanted(self, uid: int) -> list[Kind]:
        """The kinds that are not turned off. One round trip."""
        quiet = turned_off(self._store.hget(keys.user(uid), "quiet"))
        return [kind for kind in CAN_BE_QUIET if kind not in quiet]

    def want(self, uid: int, kinds: Collection[str]) -> None:
        """Turn off all other kinds. One round trip, two for a deleted account."""
        Users(self._store).write(uid, {"quiet": " ".join(kind for kind in CAN_BE_QUIET if kind not in kinds)})


# ---- Inbox


KEPT = 1000  # the newest notices of each user
MARK = "up_to_here"  # after every kind of notice in the order of letters: notices of the same second are read


class Row(NamedTuple):
    """A notice with its date."""

    notice: Notice
    when: int  # unix seconds


def queue_add(pipe: Pipe, owner: int, notice: Notice, when: int) -> None:
    """Give the owner a notice; one that is there keeps its date. The oldest ones above KEPT go. Two commands."""
    pipe.zadd_nx(keys.notices(owner), {notice.member: when})
    pipe.zremrangebyrank(keys.notices(owner), 0, -KEPT - 2)  # the mark may be among those that stay


def queue_remove(pipe: Pipe, owner: int, notice: Notice) -> None:
    """Take a notice back. One command."""
    pipe.zrem(keys.notices(owner), notice.member)


def ask_rows(pipe: Pipe, owner: int) -> Result[list[Row]]:
    """All notices of a user, newest first. One command, of at most 40 KB."""
    scored = pipe.zrevrange_withscores(keys.notices(owner), 0, KEPT)
    return Result(lambda: rows_of(keys.notices(owner), scored.value))


def rows_of(key: str, scored: Scored) -> list[Row]:
    """The notices among members with scores, in their order."""
    rows = []
    for member, score in scored:
        notice = parse_notice(member)
        if notice is not None:
            rows.append(Row(notice, stored_score(key, member, score)))
        elif member != MARK:
            note_bad(key, member)
    return rows


def _new(owner: int, replies: Sequence[int | None]) -> int:
    """Without the mark all are new: the user has never read any, or the mark is older than all that is kept."""
    above, size = replies
    return (size or 0) if above is None else above


_NEW = Question(("ZREVRANK", keys.notices, MARK), ("ZCARD", keys.notices), read=_new)


def ask_new(pipe: Pipe, owner: int) -> Reply[int]:
    """The number of notices that the user has not read. Two commands."""
    return pipe.ask(_NEW, owner)


def ask_noticed(pipe: Pipe, owner: int) -> Result[int]:
    """The date up to which the user has read the notices, in unix seconds; 0: never. One command."""
    stored = pipe.hget(keys.user(owner), "noticed")
    return Result(lambda: stored_time(keys.user(owner), stored.value))


class Inbox:
    """The notices of one user."""

    def __init__(self, store: Store, owner: int) -> None:
        self._store = store
        self._owner = owner

    def set_read(self, when: int) -> None:
        """Note that the notices up to this date are read. One round trip."""
        pipe = self._store.pipeline()
        pipe.hset(keys.user(self._owner), {"noticed": str(when)})
        pipe.zadd(keys.notices(self._owner), {MARK: when})
        pipe.execute()

    def remove(self, notices: Iterable[Notice]) -> None:
        """Remove these: their owner has seen enough of them. One round trip."""
        pipe = self._store.pipeline()
        for notice in notices:
            queue_remove(pipe, self._owner, notice)
        pipe.execute()

    def clear(self) -> None:
        """Remove all, and the mark: all that come later are new. One round trip."""
        self._store.unlink(keys.notices(self._owner))

    def remove_those_by(self, others: Iterable[int]) -> None:
        """Remove all that these people have caused, as after a block. Two round trips; one when there is nothing."""
        by = set(others)
        pipe = self._store.pipeline()
        rows = ask_rows(pipe, self._owner)
        pipe.execute()
        self.remove(notice for notice, _ in rows.value if notice.who in by)


# ---- Who may cause a notice, and where: one look of a fixed number of commands.


MUTED_READ = 500  # threads that a user has muted last: 8 KB


class Welcome(NamedTuple):
    """Whether a notice may stand."""

    owner_exists: bool
    allowed: bool


UNWELCOME = Welcome(owner_exists=True, allowed=False)


def ask_welcome(pipe: Pipe, owner: int, notice: Notice, post: int | None = None) -> Result[Welcome]:
    """Whether `owner` wants this notice and sees who causes it: no block between the two, no mute, the kind is not
    turned off, and the thread of `post` is not muted. Six commands, eight with a post; none for one's own doing and for
    an unknown owner."""
    if not owner or owner == notice.who:
        return Result(lambda: UNWELCOME)
    blocks = [
        pipe.zscore(keys.blocked(owner), str(notice.who)),
        pipe.zscore(keys.blocked(notice.who), str(owner)),
    ]
    muted_until = pipe.zscore(keys.muted(owner), str(notice.who))
    fields = pipe.hmget(keys.user(owner), ["username", "deleted", "quiet"])
    thread = _ask_thread_muted(pipe, owner, post) if post else Result(lambda: False)
    seen = ask_seen(pipe, owner, notice.who)

    def read() -> Welcome:
        username, deleted, quiet = fields.value
        if username is None or is_deleted(deleted):
            return Welcome(owner_exists=False, allowed=False)
        blocked = any(block.value is not None for block in blocks)
        muted = muted_until.value is not None and muted_until.value > time.time()
        is_quiet = notice.kind in turned_off(quiet)
        return Welcome(True, allowed=seen.value and not (blocked or muted or is_quiet or thread.value))

    return Result(read)


def ask_seen(pipe: Pipe, owner: int, who: int) -> Result[bool]:
    """Whether `owner` sees a person, as far as staff decides: nobody sees one who is suspended, and only followers see
    one who is hidden. Two commands."""
    fields, follows = pipe.hmget(keys.user(who), ["state", "state_until"]), pipe.zscore(keys.following(owner), str(who))

    def read() -> bool:
        state = state_now(who, *fields.value)
        return state is not State.SUSPENDED and (state is not State.HIDDEN or follows.value is not None)

    return Result(read)


def _ask_thread_muted(pipe: Pipe, owner: int, post: int) -> Result[bool]:
    """Whether the owner has muted the thread of a post. Its first post is not known before the reply, so the threads
    are read that were muted last, MUTED_READ of them. Two commands."""
    root = pipe.hget(keys.post(post), "root")
    muted = pipe.zrevrange(keys.muted_threads(owner), 0, MUTED_READ - 1)
    return Result(lambda: (root.value or str(post)) in muted.value)


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
