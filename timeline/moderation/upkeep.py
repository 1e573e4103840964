"""The upkeep of reports: their job, their lines in files, what of them goes with an account, and their checks."""

import time
from collections.abc import Collection, Iterator, Sequence
from functools import partial

from accounts.community.log import read_act
from accounts.media.repository import Mark, Pictures
from accounts.users.checks import unknown
from accounts.users.repository import Users
from retwis_site.features import AddressOf, Line, LineField, Owner, SiteLines, Use
from retwis_site.jobs.outbox import Claim, Outbox, add_due, job_id
from retwis_site.maintenance.checks import Check, Chunks, Finding, Searcher, entries, ids, keep, move_away
from retwis_site.maintenance.lines import ID, NAME, OPTIONAL_ID, OPTIONAL_IDS, TEXT, rows_of_users
from retwis_site.rendering.dates import iso
from retwis_site.store import keys
from retwis_site.store.chunks import AT_ONCE, Writes, batches, emptied, newest_first, remove_members
from retwis_site.store.client import Pipe, Result, Store, answers
from retwis_site.store.ids import integer, stored_id, stored_ids
from timeline.moderation.reports import (
    Action,
    NewReport,
    Report,
    Reports,
    close,
    fields_of,
    forget,
    job_of,
    queue_nameless,
)
from timeline.notices import Inbox, Notice, NoticeKind
from timeline.posts.reading.records import media_from
from timeline.posts.site_lines import MEDIA, media_of, with_media


def finish_report(store: Store, claim: Claim) -> bool:
    """The job `report:<id>:<nonce>`. Returns False when its turn ended before the report was closed. When it ends
    later, another job goes on with the others that it decides: `report:<id>:<nonce>:<the id below which they are>`."""
    rid, reached = job_id(claim.name, 1), [0]
    steps = Reports(store).finish(rid, job_id(claim.name, 3) if claim.name.count(":") == 3 else None)
    if claim.carry_out_for_a_turn(map(reached.append, steps)):
        return True
    if reached[-1]:
        add_due(store, f"{job_of(rid)}:{reached[-1]}")
    return bool(reached[-1])


def _is_decision(value: object) -> bool:
    return isinstance(value, str) and read_act("the file", value) is not None


DECISION = LineField("a line of the log", _is_decision, required=False)
FIELDS = {
    "id": ID,
    "by": OPTIONAL_ID,
    "user": ID,
    "post": OPTIONAL_ID,
    "reason": NAME,
    "rule": TEXT,
    "note": TEXT,
    "body": TEXT,
    "decision": DECISION,
    "deleted": OPTIONAL_IDS,
    **MEDIA,
}


def account_lines(store: Store, owner: Owner, address_of: AddressOf) -> Iterator[list[Line]]:
    """The reports that the owner has made, newest first; without the text of the reported post, which is another
    person's, and without what has become of that person. Three round trips a chunk."""
    for rows in newest_first(store, keys.reports_by(owner.uid)):
        found = Reports(store).some([integer(score) for _, score in rows])
        people = Users(store).people({report.about.whom for report in found.values()})
        yield [
            {
                "type": "report",
                "id": report.about.whom,
                "username": people[report.about.whom].username if report.about.whom in people else None,
                "post": report.about.pid,
                "reason": report.about.rule or report.about.reason,
                "note": report.about.note,
                "time": iso(report.when),
                "decision": ("dismissed" if report.action is Action.DISMISS else "acted") if report.actions else None,
                "told": report.decision.told if report.decision is not None else "",
            }
            for report in found.values()
        ]


# The file of a whole site. A report stands in up to four keys: code reads it.


def _read(store: Store) -> Iterator[Line]:
    """A line for each report, by the id of the reported user, newest first. One round trip for each AT_ONCE, and those
    of `rows_of_users`."""
    for chunk in batches(rows_of_users(store, keys.reports_about), AT_ONCE):
        rids = [rid for uid, member, _ in chunk if (rid := stored_id(keys.reports_about(uid), member))]
        yield from map(_line, Reports(store).some(rids).values())


def _line(report: Report) -> Line:
    about = report.about
    line = {"id": report.rid, "user": about.whom, "reason": about.reason}
    line |= {"rule": about.rule, "note": about.note, "body": about.body}
    decision = report.decision.line() if report.decision is not None else None
    deleted = [*report.noted] if report.noted is not None else None
    may = {"by": report.who, "post": about.pid, "decision": decision, "deleted": deleted}
    return line | {name: value for name, value in may.items() if value is not None} | media_of(about.media)


def _write(writes: Writes, lines: Sequence[Line]) -> None:
    """Open and decided reports."""
    for line, media in with_media(writes.store, lines):
        rid, who, decision = line["id"], line.get("by"), line.get("decision")
        about = NewReport(
            *(line["user"], line.get("post"), line["reason"], line["note"], line["rule"], line["body"]), media
        )
        writes.hset(keys.report(rid), fields_of(who, about) | ({"decision": decision} if decision else {}))
        if (deleted := line.get("deleted")) is not None:
            writes.hset(keys.report(rid), {"deleted": " ".join(map(str, deleted))})
        writes.zadd(keys.reports_about(about.whom), {str(rid): rid})
        if who is not None:
            writes.zadd(keys.reports_by(who), {f"{about.thing}:{rid}" if decision else about.thing: rid})
        if not decision:
            writes.zadd(keys.reports(), {str(rid): rid})
            for digest in about.media.digests:
                writes.zadd(keys.media_users(digest), {str(Mark("report", about.whom, rid)): rid // 1_000_000})


REPORTS = SiteLines("report", lambda line: FIELDS, _read, _write, unique=("id",), users=("user", "by"))


# ---- The pictures that reports keep.


def ask_picture_use(pipe: Pipe, digest: str, whom: int, rid: int) -> Result[Use]:
    """Whether an open report needs a picture. One command."""
    fields = pipe.hmget(keys.report(rid), ["media", "decision"])

    def read() -> Use:
        media, decision = fields.value
        if decision is not None:
            return Use.ENDED
        return Use.SHOWN if digest in media_from(keys.report(rid), media).digests else Use.UNKNOWN

    return Result(read)


# ---- What of reports goes with a deleted account.
#
# The reports about the person go altogether, with the texts of their posts and the notices of what was decided: nobody
# is left to be judged. The reports that the person has made stay for the staff, without the name and without the note.


def remove_reports(store: Store, uid: int) -> Iterator[None]:
    """Remove the reports about a deleted account, and the name from those by it, in chunks. Pictures that only a report
    has kept go at once, however new it is."""
    key = keys.reports_about(uid)
    for members in emptied(store, key):
        for report in Reports(store).some(stored_ids(key, members)).values():
            Pictures(store).unmark(Mark("report", uid, report.rid), report.about.media.digests)
            Pictures(store).release(uid, report.about.media.digests)
            if report.who is not None:
                Inbox(store, report.who).remove([Notice(NoticeKind.REPORT, report.rid, report.who)])
            forget(store, report)  # the members go last: they lead here
        remove_members(store, key, members)
        yield
    key = keys.reports_by(uid)
    for members in emptied(store, key):
        scores = store.zmscore(key, members)
        with store.pipeline() as pipe:
            for rid in (integer(score) for score in scores if score is not None):
                queue_nameless(pipe, rid)
        remove_members(store, key, members)
        yield


def at_work_by(uid: int, member: str) -> set[str]:
    """The beginnings of the jobs that may be at work on a report by a user."""
    return {f"gone:{uid}", f"report:{member.rpartition(':')[2]}"}


# ---- Checks: each open report is in the queue, each decided one is not, and the sets name reports that exist.
#
# Two kinds of reports are left alone: those that are younger than UNDER_WAY, since their request may still be at work,
# and open ones with a job, since a worker will list them.


UNDER_WAY = 60  # seconds


class ReportChecks(Searcher):
    """Searches `report:`, `reports`, `reports_about:` and `reports_by:`."""

    def inconsistencies(self) -> list[Check]:
        return [
            self._check_of(
                "decisions about reports that cannot be read",
                keys.report,
                self._unreadable,
                "that about {key}: nobody could decide it again",
                self._reopen,
            ),
            Check("open reports that a set lacks", (keys.report,), self.unlisted),
            self._check_of(
                "decided reports that a set lacks",
                keys.report,
                self._decided,
                "{key} does not stand where it must",
                self._list_decided,
                jobs=self._jobs_on,
            ),
            Check("entries of the queue that are no open reports", at_end=self.not_open),
        ]

    def orphans(self) -> list[Check]:
        gone = "entries about reports that are gone"
        return [
            self._check_of(
                "reports that were never sent",
                keys.report,
                self._never_sent,
                "{key} was never sent",
                lambda rid: move_away(self._store, keys.report(rid)),  # a server may have lost what told of it
            ),
            Check(gone, (keys.reports_about, keys.reports_by), self.gone),
        ]

    def _unreadable(self, rids: Sequence[int]) -> list[int]:
        """One round trip."""
        lines = answers(self._store, lambda pipe, rid: pipe.hget(keys.report(rid), "decision"), rids)
        return [rid for rid, line in lines.items() if line is not None and read_act(keys.report(rid), line) is None]

    def _reopen(self, rid: int) -> None:
        """Let a report wait for a decision again: the next check puts it into the queue."""
        line = self._store.hget(keys.report(rid), "decision")
        if line is not None:
            keep(self._store, keys.report(rid), b"decision", line.encode(errors="replace"))
            self._store.hdel(keys.report(rid), "decision")

    def unlisted(self, names: list[str]) -> Chunks:
        """Reports without a decision that the queue, the set of the reported person or that of their author has, and
        another of these has lost. Their author's set may name a later one, which stands for both."""
        for rids in ids(self._store, names):
            under_way = Outbox(self._store).under_way()  # before the reports: a job may close one meanwhile
            reports = [one for one in Reports(self._store).some(rids).values() if not _is_young(one.rid)]
            yield [
                Finding(f"{keys.report(one.rid)} does not stand where it must", partial(self._list, one))
                for one in reports
                if one.decision is None and self._is_lost(one) and self._is_of_known(one)
                if under_way.isdisjoint(self._jobs(one))
            ]

    def _list(self, report: Report) -> None:
        """Write where an open report stands, unless an account is deleted. What a decision that comes between has
        closed is closed again."""
        if report.who is not None:
            key, thing = keys.reports_by(report.who), report.about.thing
            if self._claim(report) is None:
                self._store.zrem(key, thing)  # a claim that leads to no report
            self._store.zadd_nx(key, {thing: report.rid})
        Reports(self._store).finish_made(report)
        now = Reports(self._store).read(report.rid)
        if now is not None and now.decision is not None:
            close(self._store, [now])

    def _decided(self, rids: Sequence[int]) -> list[int]:
        """Reports with a decision that the set of the reported person or that of their author has lost: staff, the
        download and `export` find them there. Two round trips, one more for each that is found."""
        found = Reports(self._store).some(rids)
        lists = [(one.rid, *place) for one in found.values() if one.decision is not None for place in _places_of(one)]
        scores = answers(self._store, lambda pipe, one: pipe.zscore(*one[1:]), lists)
        lost = dict.fromkeys(rid for (rid, *_), score in scores.items() if score is None)
        return [rid for rid in lost if self._is_of_known(found[rid])]

    def _is_of_known(self, report: Report) -> bool:
        """Whether its people exist: the sets of others are moved away. One round trip."""
        return not unknown(self._store, {uid for uid in (report.who, report.about.whom) if uid is not None})

    def _list_decided(self, rid: int) -> None:
        report = Reports(self._store).read(rid)
        for key, member in _places_of(report) if report is not None else ():
            self._store.zadd(key, {member: rid})

    def _jobs_on(self, rid: int) -> set[str]:
        report = Reports(self._store).read(rid)
        return self._jobs(report) if report is not None else set()

    def not_open(self) -> Chunks:
        """Members of `reports` without a report, or with one that is decided."""
        under_way = Outbox(self._store).under_way()
        for rows in newest_first(self._store, keys.reports()):
            rids = stored_ids(keys.reports(), [member for member, _ in rows])
            found = Reports(self._store).some(rids)
            decided = [one for one in found.values() if one.decision is not None]
            yield [
                *(
                    Finding(f"{keys.reports()} has {rid}", partial(self._store.zrem, keys.reports(), str(rid)))
                    for rid in rids
                    if rid not in found
                ),
                *(
                    Finding(f"{keys.reports()} has {one.rid}, which is decided", partial(close, self._store, [one]))
                    for one in decided
                    if under_way.isdisjoint(self._jobs(one))
                ),
            ]

    def _never_sent(self, rids: Collection[int]) -> list[int]:
        """Reports that nothing names, or without a reason: their request died."""
        found = Reports(self._store).some(rids)
        return [rid for rid in rids if not _is_young(rid) and not self._was_sent(found.get(rid))]

    def _was_sent(self, report: Report | None) -> bool:
        """What staff sees was sent, also when the set of the reporter has lost it."""
        return report is not None and (
            report.decision is not None or Reports(self._store).claim(report) == report.rid or any(self._listed(report))
        )

    def gone(self, names: list[str]) -> Chunks:
        """Members of `reports_about:` and `reports_by:` whose reports are gone."""
        for found in entries(self._store, names):
            there = Reports(self._store).some([integer(score) for _, _, score in found])
            yield [
                Finding(f"{key} has {member}", partial(self._store.zrem, key, member))
                for key, member, score in found
                if integer(score) not in there and not _is_young(integer(score))
            ]

    def _claim(self, report: Report) -> int | None:
        """As `Reports.claim`; None for one that leads to no report. Two round trips at most."""
        claim = Reports(self._store).claim(report)
        return claim if claim == report.rid or (claim and Reports(self._store).read(claim)) else None

    def _is_lost(self, report: Report) -> bool:
        claim, listed = self._claim(report), self._listed(report)
        return any(listed) if claim is None else claim == report.rid and not all(listed)

    def _listed(self, report: Report) -> list[bool]:
        """Whether the set of the reported person has a report, and whether the queue has it."""
        lists = [keys.reports_about(report.about.whom), keys.reports()]
        found = answers(self._store, lambda pipe, key: pipe.zscore(key, str(report.rid)), lists)
        return [found[key] is not None for key in lists]

    def _jobs(self, report: Report) -> set[str]:
        """The beginnings of the jobs that may be at work on a report: that of any about the person may close it."""
        about = self._store.zrevrange(keys.reports_about(report.about.whom), 0, AT_ONCE)
        return {f"gone:{report.about.whom}", f"gone:{report.who}", *(f"report:{rid}" for rid in (report.rid, *about))}


def _places_of(report: Report) -> list[tuple[str, str]]:
    """Where a decided report stands: keys of sorted sets, and its member in each."""
    places = [(keys.reports_about(report.about.whom), str(report.rid))]
    if report.who is not None:
        places.append((keys.reports_by(report.who), f"{report.about.thing}:{report.rid}"))
    return places


def _is_young(rid: int) -> bool:
    """Whether a report may still be on its way."""
    return rid // 1_000_000 > time.time() - UNDER_WAY
