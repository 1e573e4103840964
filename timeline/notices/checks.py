"""Checks of `notices:`: each notice has a cause, and the mark stands where the user has stopped reading.

A notice that is missing is no error: its kind may have been turned off, or the two may have blocked each other.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from accounts.users.checks.account_checks import sets_of_unknown_users
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, confirmed, ids_of
from retwis_site.store import keys
from retwis_site.store.chunks import SETS_AT_ONCE, batches
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import stored_time
from retwis_site.store.replies import Answer
from timeline.notices.entities import BY_POSTS, Kind, Notice, parse_notice
from timeline.notices.inbox import KEPT, MARK

TRUTHS: dict[Kind, Callable[[int], str]] = {
    Kind.FOLLOW: keys.following,
    Kind.LIKE: keys.likes,
    Kind.REPOST: keys.reposts,
}


class Entry(NamedTuple):
    """A member of `notices:`."""

    owner: int
    member: str


class NoticeChecks:
    """Searches `notices:`. It relies on the checks of accounts, posts and relations, which run before."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def inconsistencies(self) -> list[Check]:
        size = self._store.dbsize
        return [
            Check(
                "notices of unknown users", partial(sets_of_unknown_users, self._store, "notices:*", keys.notices), size
            ),
            Check("members of notices: that are no notices", self.bad_members, size),
            Check("marks of read notices that differ from user:", self.wrong_marks, size),
        ]

    def orphans(self) -> list[Check]:
        return [Check("notices whose cause is gone", self.without_cause, self._store.dbsize)]

    def bad_members(self) -> Chunks:
        """Members that name no notice. Readers skip them."""
        for entries in self._entries():
            yield [self._finding(one) for one in entries if one.member != MARK and parse_notice(one.member) is None]

    def without_cause(self) -> Chunks:
        """Notices of follows, likes and reposts that do not stand, of posts that are deleted, and of reports that are
        gone."""
        for entries in self._entries():
            found = confirmed(self._store, self._causeless(entries), lambda one: at_work_on(*one), self._causeless)
            yield [self._finding(one) for one in found]

    def wrong_marks(self) -> Chunks:
        """Marks at another date than `noticed`, which is the truth."""
        for uids in ids_of(self._store, "notices:*"):
            again = self._wrongly_marked(self._wrongly_marked(uids))
            yield [Finding(f"{keys.notices(uid)} has a wrong mark", partial(self._mend_mark, uid)) for uid in again]

    def _entries(self) -> Iterator[list[Entry]]:
        """All members, in chunks. One round trip for SETS_AT_ONCE sets; a set has about KEPT members at most."""
        for uids in ids_of(self._store, "notices:*"):
            for some in batches(uids, SETS_AT_ONCE):
                pipe = self._store.pipeline()
                asked = [(uid, pipe.zrevrange(keys.notices(uid), 0, KEPT + 1)) for uid in some]
                pipe.execute()
                entries = (Entry(uid, member) for uid, members in asked for member in members.value)
                yield from batches(entries, AT_ONCE)

    def _causeless(self, entries: Sequence[Entry]) -> list[Entry]:
        pipe = self._store.pipeline()
        asked = [
            (one, pipe.zscore(keys.notices(one.owner), one.member), _ask_cause(pipe, one.owner, notice))
            for one in entries
            if (notice := parse_notice(one.member)) is not None
        ]
        pipe.execute()
        return [one for one, score, cause in asked if score.value is not None and not cause.value]

    def _wrongly_marked(self, uids: Sequence[int]) -> list[int]:
        """Those of the users whose mark is wrong."""
        pipe = self._store.pipeline()
        asked = [
            (
                uid,
                pipe.zscore(keys.notices(uid), MARK),
                pipe.hget(keys.user(uid), "noticed"),
                pipe.zcard(keys.notices(uid)),
            )
            for uid in uids
        ]
        pipe.execute()
        return [
            uid
            for uid, mark, noticed, size in asked
            if (mark.value or 0) != stored_time(keys.user(uid), noticed.value)
            and not (mark.value is None and size.value > KEPT)  # it is older than all that is kept
        ]

    def _mend_mark(self, uid: int) -> None:
        noticed = self._store.hget(keys.user(uid), "noticed")
        if noticed is None:
            self._store.zrem(keys.notices(uid), MARK)
        else:
            self._store.zadd(keys.notices(uid), {MARK: stored_time(keys.user(uid), noticed)})

    def _finding(self, one: Entry) -> Finding:
        key = keys.notices(one.owner)
        return Finding(f"{key} has {one.member[:40]}", partial(self._store.zrem, key, one.member))


def _ask_cause(pipe: Pipe, owner: int, notice: Notice) -> Answer[bool]:
    """Whether what the notice says is so. One command."""
    if notice.kind is Kind.REPORT:
        decision = pipe.hget(keys.report(notice.what), "decision")
        return Answer(lambda: decision.value is not None and notice.who == owner)
    if notice.kind in BY_POSTS:
        fields = pipe.hmget(keys.post(notice.what), ["user_id", "deleted"])
        return Answer(lambda: fields.value == [str(notice.who), None])
    score = pipe.zscore(TRUTHS[notice.kind](notice.who), str(notice.what))
    return Answer(lambda: score.value is not None and (notice.kind is not Kind.FOLLOW or notice.what == owner))


def at_work_on(owner: int, member: str) -> set[str]:
    """The beginnings of the jobs that may be about to write or remove a member."""
    notice = parse_notice(member)
    if notice is None:
        return {f"gone:{owner}"}
    kind, what, who = notice
    if kind is Kind.REPORT:
        return {f"gone:{owner}", f"report:{what}"}
    jobs = {f"{job}:{what}" for job in ("post", "fan", "edit", "del")} if kind in BY_POSTS else {f"{kind}:{who}:{what}"}
    return {f"gone:{owner}", f"gone:{who}", f"del:{what}", *jobs}
