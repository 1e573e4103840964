"""Reports as they are stored: made, and read.

The id of a report is the time in microseconds, claimed by the first field of its hash. One person has one open report
about one thing: the member of `reports_by:` for the thing, without the id at its end. Its ZADD NX is the commit. A job
stands before it, so a worker lists the report when the process dies after it.
"""

import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import NamedTuple

from accounts.community.log import Act, read_act
from accounts.users.deletion import is_deleted
from accounts.users.entities import AccountDeleted
from retwis_site.exceptions import LeaseEnded
from retwis_site.jobs.outbox import Outbox
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import nonce, stored_id, stored_ids
from retwis_site.store.replies import Result

# ---- Reports: what users tell the staff about a person or a post.


LONGEST_NOTE = 500  # characters
RULE = "rule:"  # the reason `rule:3` names the third rule of the site
PREFIX = "report:"  # decisions are called so in the log


class Reason(StrEnum):
    """Why something is reported. A rule of the site is a reason too: RULE and its number."""

    SPAM = "spam"
    HARASSMENT = "harassment"
    ILLEGAL = "illegal"
    OTHER = "other"


class Action(StrEnum):
    """What staff decides about a report."""

    DISMISS = "dismissed"
    WARN = "warned"
    DELETE = "post_deleted"
    FREEZE = "frozen"
    HIDE = "hidden"
    SUSPEND = "suspended"


SANCTIONS = (Action.FREEZE, Action.HIDE, Action.SUSPEND)  # each is also the name of a state
TOLD = (Action.WARN, Action.DELETE)  # the reported person is told in a notice; a page of theirs names a sanction


class NewReport(NamedTuple):
    """A report as a user has written it."""

    whom: int  # uid of the reported person, or of the author of the reported post
    pid: int | None  # None: the person is reported
    reason: str  # a Reason, or RULE and a number
    note: str = ""
    rule: str = ""  # the text of the rule
    body: str = ""  # the text of the post as the reporter has seen it

    @property
    def thing(self) -> str:
        """What is reported, in `reports_by:`."""
        return thing_of(self.whom, self.pid)


class Report(NamedTuple):
    """A report as stored."""

    rid: int
    who: int | None  # uid of the reporter; None: the account is deleted
    about: NewReport
    decision: Act | None

    @property
    def when(self) -> int:
        """In unix seconds."""
        return self.rid // 1_000_000

    @property
    def action(self) -> Action | None:
        """What was decided; None for an open report."""
        return action_of(self.decision) if self.decision is not None else None


def thing_of(whom: int, pid: int | None) -> str:
    return f"{whom}:{pid or 0}"


def action_of(act: Act) -> Action | None:
    """The action of a decision, from its act; None for any other act."""
    name = act.what.removeprefix(PREFIX)
    return Action(name) if act.what.startswith(PREFIX) and name in list(Action) else None


# ---- Repository


FIELDS = ("who", "whom", "pid", "reason", "note", "rule", "body", "decision")


class Reports:
    """All reports."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = Outbox(store)

    def make(self, who: int, new: NewReport) -> bool:
        """Report a person or a post. Returns False when `who` has an open report about it: that one stays. Nine round
        trips. Raises AccountDeleted when one of the two accounts is deleted meanwhile."""
        rid = self._new_id(new.whom)
        job = self._outbox.add(job_of(rid))
        job.store.hset(keys.report(rid), fields_of(who, new))
        if not job.store.zadd_nx(keys.reports_by(who), {new.thing: rid}):
            job.store.unlink(keys.report(rid))
            job.done()
            return False
        with suppress(LeaseEnded):
            has_accounts = Reports(job.store)._list_made(rid, who, new.whom)
            job.done()
            if not has_accounts:
                raise AccountDeleted
        return True

    def finish(self, report: Report) -> None:
        """List an open report whose process died after its commit. At most six round trips."""
        if report.who is None or self._is_committed(report, report.who):
            self._list_made(report.rid, report.who, report.about.whom)

    def _is_committed(self, report: Report, who: int) -> bool:
        """Whether the set of its author names this report. The deletion of the author's account first takes the name
        from the report, and then removes the set. Two round trips at most."""
        if self._store.zscore(keys.reports_by(who), report.about.thing) == report.rid:
            return True
        now = self.read(report.rid)
        return now is not None and now.who is None

    def _list_made(self, rid: int, who: int | None, whom: int) -> bool:
        """List a report. When an account was deleted it goes again, since a worker may have looked for its reports
        before this one was there; then returns False. Four round trips."""
        self.list_open(rid, whom)
        pipe = self._store.pipeline()
        deleted = [pipe.hget(keys.user(uid), "deleted") for uid in (who, whom) if uid is not None]
        pipe.execute()
        if any(is_deleted(field.value) for field in deleted):
            forget(self._store, rid, whom, who)
            return False
        return True

    def list_open(self, rid: int, whom: int) -> None:
        """Write where a report that is not decided stands: among those about the person, and in the queue. Three
        round trips. A decision that comes between takes it out of the queue again."""
        self._store.zadd(keys.reports_about(whom), {str(rid): rid})
        self._store.zadd(keys.reports(), {str(rid): rid})
        if self._store.hget(keys.report(rid), "decision") is not None:  # read after the write
            self._store.zrem(keys.reports(), str(rid))

    def read(self, rid: int) -> Report | None:
        """A report, open or decided; None when there is none. One round trip."""
        return self.some([rid]).get(rid)

    def some(self, rids: Collection[int]) -> dict[int, Report]:
        """The reports that exist, by id. One round trip; none without ids."""
        pipe = self._store.pipeline()
        found = ask_reports(pipe, rids)
        pipe.execute()
        return found.value

    def open(self, before: int | None, number: int) -> list[Report]:
        """Open reports, newest first, below this id. Two round trips."""
        high = "+inf" if before is None else f"({before}"
        return self._of(keys.reports(), self._store.zrevrangebyscore(keys.reports(), high, "-inf", number))

    def about(self, whom: int, number: int) -> list[Report]:
        """The newest reports about a person and their posts, open and decided. Two round trips."""
        return self._of(keys.reports_about(whom), self._store.zrevrange(keys.reports_about(whom), 0, number - 1))

    def _of(self, key: str, members: Sequence[str]) -> list[Report]:
        return list(self.some(stored_ids(key, members)).values())

    def _new_id(self, whom: int) -> int:
        """Claim an id. One round trip, nearly always."""
        rid = time.time_ns() // 1000
        while not self._store.hsetnx(keys.report(rid), "whom", str(whom)):
            rid += 1
        return rid


def job_of(rid: int) -> str:
    """A job that finishes what a report, or the decision about it, has begun."""
    return f"report:{rid}:{nonce()}"


def ask_reports(pipe: Pipe, rids: Collection[int]) -> Result[dict[int, Report]]:
    """The reports that exist, by id, in the order of `rids`. One command each."""
    asked = {rid: pipe.hmget(keys.report(rid), FIELDS) for rid in rids}

    def read() -> dict[int, Report]:
        found = {rid: report_from(rid, fields.value) for rid, fields in asked.items()}
        return {rid: report for rid, report in found.items() if report is not None}

    return Result(read)


def report_from(rid: int, fields: Sequence[str | None]) -> Report | None:
    """A report from its fields FIELDS; None without one."""
    who, whom, pid, reason, note, rule, body, decision = fields
    key = keys.report(rid)
    reported = stored_id(key, whom)
    if reported is None or reason is None:
        return None
    about = NewReport(reported, stored_id(key, pid), reason, note or "", rule or "", body or "")
    return Report(rid, stored_id(key, who), about, read_act(key, decision) if decision is not None else None)


def fields_of(who: int | None, about: NewReport) -> dict[str, str]:
    """The fields of a report that is not decided, as `report_from` reads them."""
    fields = {
        "who": str(who or ""),
        "whom": str(about.whom),
        "pid": str(about.pid or ""),
        "reason": about.reason,
        "note": about.note,
        "rule": about.rule,
        "body": about.body,
    }
    return {name: text for name, text in fields.items() if text}


def ask_open(pipe: Pipe) -> Result[int]:
    """The number of open reports. One command."""
    number = pipe.zcard(keys.reports())
    return Result(lambda: number.value)


def close(store: Store, report: Report) -> None:
    """Take a decided report out of the queue, and give the claim on its thing back. One round trip; can run twice."""
    pipe = store.pipeline()
    pipe.zrem(keys.reports(), str(report.rid))
    if report.who is not None:
        key, score = keys.reports_by(report.who), str(report.rid)
        pipe.zremrangebyscore(key, score, score)
        pipe.zadd(key, {f"{report.about.thing}:{report.rid}": report.rid})
    pipe.execute()


def forget(store: Store, rid: int, whom: int, who: int | None) -> None:
    """Remove a report altogether. Four round trips. The claim of its author and the hash go last: a worker whose owner
    was killed in between finds the rest by them."""
    store.zrem(keys.reports_about(whom), str(rid))
    forget_all_but_member(store, rid, who)


def forget_all_but_member(store: Store, rid: int, who: int | None) -> None:
    """Remove a report, but not from the set of the reports about the person. Three round trips."""
    store.zrem(keys.reports(), str(rid))
    if who is not None:
        store.zremrangebyscore(keys.reports_by(who), str(rid), str(rid))
    store.unlink(keys.report(rid))
