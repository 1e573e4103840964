"""The notices of one user, in `notices:<uid>`, and how far the user has read them.

`noticed` in the user's hash says how far. A mark in `notices:` says it too: a member with the same score. So one round
trip counts the new ones, without knowing the score before: they stand above the mark.
"""

from collections.abc import Iterable
from typing import NamedTuple

from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.commands import Scored
from retwis_site.store.ids import note_bad, stored_score, stored_time
from retwis_site.store.replies import Answer
from timeline.notices.entities import Notice, parse_notice

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


def ask_rows(pipe: Pipe, owner: int) -> Answer[list[Row]]:
    """All notices of a user, newest first. One command, of at most 40 KB."""
    scored = pipe.zrevrange_withscores(keys.notices(owner), 0, KEPT)
    return Answer(lambda: rows_of(keys.notices(owner), scored.value))


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


def ask_new(pipe: Pipe, owner: int) -> Answer[int]:
    """The number of notices that the user has not read. Two commands.

    Without the mark all are new: the user has never read any, or the mark is older than all that is kept."""
    above = pipe.zrevrank(keys.notices(owner), MARK)
    size = pipe.zcard(keys.notices(owner))
    return Answer(lambda: size.value if above.value is None else above.value)


def ask_noticed(pipe: Pipe, owner: int) -> Answer[int]:
    """The date up to which the user has read the notices, in unix seconds; 0: never. One command."""
    stored = pipe.hget(keys.user(owner), "noticed")
    return Answer(lambda: stored_time(keys.user(owner), stored.value))


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

    def remove_those_by(self, others: Iterable[int]) -> None:
        """Remove all that these people have caused, as after a block. Two round trips; one when there is nothing."""
        by = set(others)
        pipe = self._store.pipeline()
        rows = ask_rows(pipe, self._owner)
        pipe.execute()
        for notice, _ in rows.value:
            if notice.who in by:
                queue_remove(pipe, self._owner, notice)
        pipe.execute()
