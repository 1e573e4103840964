"""Checks of `notices:`: each notice has a cause, and the mark stands where the user has stopped reading.

A notice that is missing is no error: its kind may have been turned off, or the two may have blocked each other.
"""

from collections.abc import Callable, Sequence
from functools import partial

from retwis_site.maintenance.checks import Check, check_of, looking, rows
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import stored_time
from retwis_site.store.replies import Result
from timeline.notices.entities import BY_POSTS, Kind, Notice, parse_notice
from timeline.notices.inbox import KEPT, MARK

TRUTHS: dict[Kind, Callable[[int], str]] = {
    Kind.FOLLOW: keys.following,
    Kind.LIKE: keys.likes,
    Kind.REPOST: keys.reposts,
}


SAYS = "{key} has {1:.40}"
Entry = tuple[int, str, float]  # of `notices:`: whose, the member, its score


class NoticeChecks:
    """Searches `notices:`. It relies on the checks of accounts, posts and relations, which run before."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def inconsistencies(self) -> list[Check]:
        check = partial(check_of, self._store)
        return [
            check("members of notices: that are no notices", keys.notices, _bad, SAYS, read=rows),
            check(
                "marks of read notices that differ from user:",
                keys.notices,
                looking(self._store, _ask_wrong_mark),
                "{key} has a wrong mark",
                self._mend_mark,
            ),
        ]

    def orphans(self) -> list[Check]:
        """Notices of follows, likes and reposts that do not stand, of posts that are deleted, and of reports that are
        gone."""
        return [
            check_of(
                self._store,
                "notices whose cause is gone",
                keys.notices,
                looking(self._store, _ask_causeless),
                SAYS,
                read=rows,
                jobs=lambda owner, member, _: at_work_on(owner, member),
            )
        ]

    def _mend_mark(self, uid: int) -> None:
        noticed = self._store.hget(keys.user(uid), "noticed")
        if noticed is None:
            self._store.zrem(keys.notices(uid), MARK)
        else:
            self._store.zadd(keys.notices(uid), {MARK: stored_time(keys.user(uid), noticed)})


def _bad(entries: Sequence[Entry]) -> list[Entry]:
    """Members that name no notice. Readers skip them."""
    return [one for one in entries if one[1] != MARK and parse_notice(one[1]) is None]


def _ask_wrong_mark(pipe: Pipe, uid: int) -> Result[bool]:
    """Whether the mark is at another date than `noticed`, which is the truth, and not older than all that is kept."""
    mark, size = pipe.zscore(keys.notices(uid), MARK), pipe.zcard(keys.notices(uid))
    noticed = pipe.hget(keys.user(uid), "noticed")
    return Result(
        lambda: (
            (mark.value or 0) != stored_time(keys.user(uid), noticed.value)
            and not (mark.value is None and size.value > KEPT)
        )
    )


def _ask_causeless(pipe: Pipe, one: Entry) -> Result[bool]:
    owner, member, _ = one
    notice = parse_notice(member)
    if notice is None:  # it has a check of its own
        return Result(lambda: False)
    score, cause = pipe.zscore(keys.notices(owner), member), _ask_cause(pipe, owner, notice)
    return Result(lambda: score.value is not None and not cause.value)


def _ask_cause(pipe: Pipe, owner: int, notice: Notice) -> Result[bool]:
    """Whether what the notice says is so. One command."""
    if notice.kind is Kind.REPORT:
        decision = pipe.hget(keys.report(notice.what), "decision")
        return Result(lambda: decision.value is not None and notice.who == owner)
    if notice.kind in BY_POSTS:
        fields = pipe.hmget(keys.post(notice.what), ["user_id", "deleted"])
        return Result(lambda: fields.value == [str(notice.who), None])
    score = pipe.zscore(TRUTHS[notice.kind](notice.who), str(notice.what))
    return Result(lambda: score.value is not None and (notice.kind is not Kind.FOLLOW or notice.what == owner))


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
