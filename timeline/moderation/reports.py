"""Reports and what staff decides about them, as they are stored.

The id of a report is the time in microseconds, claimed by the first field of its hash. One person has one open report
about one thing: the member of `reports_by:` for the thing, without the id at its end. Its ZADD NX is the commit. A job
stands before it, so a worker lists the report when the process dies after it.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from typing import NamedTuple

from django.utils.translation import gettext_lazy as _

from accounts.community.acts import Roles, blocked_as, kind_of_picture, remove_picture
from accounts.community.log import Act, Log, read_act
from accounts.community.sanctions import Sanctions, SanctionsAdmin, TooLate, alone_with
from accounts.media.profiles import ProfilePicture
from accounts.media.repository import Mark, Pictures, ask_info
from accounts.users.entities import AccountDeleted, NoSuchUser, Refused, Role, State
from accounts.users.repository import is_deleted
from retwis_site.exceptions import LeaseEnded, OfNewerVersion
from retwis_site.jobs.outbox import Outbox
from retwis_site.store import keys
from retwis_site.store.chunks import newest_first
from retwis_site.store.client import Pipe, Repository, Result, Store, answer, answers, for_each
from retwis_site.store.ids import LARGEST_ID, integer, is_digest, nonce, stored_id, stored_ids, stored_numbers
from timeline.notices import Inbox, Notice, NoticeKind, queue_add, queue_remove
from timeline.posts.entities import NO_MEDIA, DeletedBy, Media, NoSuchPost, Picture, PostDeleted, PostRemoved
from timeline.posts.pictures import remove_by_staff, require_picture, with_stored
from timeline.posts.reading.records import deleted_by, media_field, media_from
from timeline.posts.repository import Posts

# ---- Reports: what users tell the staff about a person or a post.


LONGEST_NOTE = 500  # characters
REPORTS_SHOWN = 500  # about one person: one post may have so many that all others stand below them
RULE = "rule:"  # the reason `rule:3` names the third rule of the site
PREFIX = "report:"  # decisions are called so in the log


class Reason(StrEnum):
    """Why something is reported. A rule of the site is a reason too: RULE and its number."""

    SPAM = "spam"
    HARASSMENT = "harassment"
    ILLEGAL = "illegal"
    OTHER = "other"


class Action(StrEnum):
    """What staff decides about a report. DELETE may stand before another one; PICTURE stands alone."""

    DISMISS = "dismissed"
    WARN = "warned"
    DELETE = "post_deleted"
    PICTURE = "picture_deleted"  # one of the post, or of the profile
    FREEZE = "frozen"
    HIDE = "hidden"
    SUSPEND = "suspended"


SANCTIONS = (Action.FREEZE, Action.HIDE, Action.SUSPEND)  # each is also the name of a state


class NewReport(NamedTuple):
    """A report as a user has written it."""

    whom: int  # uid of the reported person, or of the author of the reported post
    pid: int | None  # None: the person is reported
    reason: str  # a Reason, or RULE and a number
    note: str = ""
    rule: str = ""  # the text of the rule
    body: str = ""  # the text of the post as the reporter has seen it
    media: Media = NO_MEDIA  # its pictures; of a person, the report itself finds those of the profile

    @property
    def thing(self) -> str:
        """What is reported, in `reports_by:`."""
        return f"{self.whom}:{self.pid or 0}"


class Report(NamedTuple):
    """A report as stored."""

    rid: int
    who: int | None  # uid of the reporter; None: the account is deleted
    about: NewReport
    decision: Act | None
    noted: tuple[int, ...] | None = None  # ids of the posts that the decision has deleted; None: nobody has noted it

    @property
    def when(self) -> int:
        """In unix seconds."""
        return self.rid // 1_000_000

    @property
    def actions(self) -> tuple[Action, ...]:
        """What was decided: `report:post_deleted,frozen` has two. Empty for an open report, and for an act of another
        version."""
        if self.decision is None or not self.decision.what.startswith(PREFIX):
            return ()
        names = self.decision.what.removeprefix(PREFIX).split(",")
        return tuple(map(Action, names)) if {*names} <= {*Action} else ()

    @property
    def action(self) -> Action | None:
        """What was decided about the person, or else about the post; None where `actions` is empty."""
        return self.actions[-1] if self.actions else None

    @property
    def pids(self) -> list[int]:
        """What was decided about: the ids of posts, each once; 0: the person. None for a picture: the reports about its
        post, or about the person, stay open."""
        if self.decision is None or self.action is Action.PICTURE:
            return []
        return [*dict.fromkeys([self.decision.post, *stored_numbers("decision", self.decision.also.split())])]

    @property
    def chosen(self) -> list[int]:
        """The ids of the posts that the decision deletes, unless their author is faster."""
        return [pid for pid in self.pids if pid] if Action.DELETE in self.actions else []

    @property
    def deleted(self) -> Sequence[int]:
        """The ids of the posts that it has deleted; all that were chosen where that was not noted."""
        return self.chosen if self.noted is None else self.noted


# ---- Repository


AT_THE_SAME_TIME = 60  # seconds between two moderators who delete one picture
MOST_STEPS = 12  # deletions of further posts, and chunks of reports, that the request itself carries out


class DecidedAlready(Refused):
    message = _("This report has been decided already. Nothing else was done.")


class NotYours(Refused):
    message = _("You cannot decide about yourself, or about staff of your rank or above it.")


class NoPost(Refused):
    message = _("This report is about no post.")


FIELDS = ("who", "whom", "pid", "reason", "note", "rule", "body", "media", "decision", "deleted")


class Reports(Repository):
    """All reports, and their decisions."""

    def make(self, who: int, new: NewReport) -> int | None:
        """Report a person or a post. Returns the id of the report; None when `who` has an open report about it: that
        one stays. Nine round trips; one more for a person, two more with pictures. Raises AccountDeleted when one
        of the two accounts is deleted meanwhile."""
        rid = self._new_id(new.whom)
        job = Outbox(self._store).add(job_of(rid))
        report = Report(rid, who, new._replace(media=_kept(job.store, rid, new)), None)
        job.store.hset(keys.report(rid), fields_of(who, report.about))
        if not job.store.zadd_nx(keys.reports_by(who), {new.thing: rid}):
            job.store.unlink(keys.report(rid))
            job.done()
            return None
        has_accounts = True
        with job.ending():
            has_accounts = Reports(job.store)._list_made(report)
        if not has_accounts:
            raise AccountDeleted
        return rid

    def open_by(self, who: int, thing: str) -> int | None:
        """The id of the open report of a user about something, as `NewReport.thing` names it. One round trip."""
        rid = self._store.zscore(keys.reports_by(who), thing)
        return None if rid is None else integer(rid)

    def claim(self, report: Report) -> int | None:
        """The id of the open report that the set of the same person names for the same thing: of this one, if it is
        committed. A report without a person claims itself. One round trip; none without a person."""
        return report.rid if report.who is None else self.open_by(report.who, report.about.thing)

    def finish_made(self, report: Report) -> None:
        """List an open report whose process died after its commit. At most six round trips.

        The deletion of the account of its author first takes the name from the report, and then removes the set."""
        if self.claim(report) != report.rid:
            now = self.read(report.rid)
            if now is None or now.who is not None:
                return
        self._list_made(report)

    def _list_made(self, report: Report) -> bool:
        """Write where an open report stands: among those about the person, and in the queue. A decision about it that
        comes between takes it out of the queue again; one that has deleted its post decides this report too. When an
        account was deleted, the report goes again: a worker may have looked for its reports before this one was there.
        Then returns False. Four round trips, seven more for such a post."""
        rid, whom = report.rid, report.about.whom
        self._store.zadd(keys.reports_about(whom), {str(rid): rid})
        self._store.zadd(keys.reports(), {str(rid): rid})
        with self._store.pipeline() as pipe:  # read after the write
            decision = pipe.hget(keys.report(rid), "decision")
            mark = pipe.hget(keys.post(report.about.pid or 0), "deleted")
        if decision.value is not None:
            self._store.zrem(keys.reports(), str(rid))
        elif mark.value is not None and deleted_by(mark.value) is DeletedBy.STAFF:
            self._decide_too(report)
        if _gone(self._store, (report.who, whom)):
            self._store.zrem(keys.reports_about(whom), str(rid))
            forget(self._store, report)
            return False
        return True

    def read(self, rid: int) -> Report | None:
        """A report, open or decided; None when there is none. One round trip."""
        return self.some([rid]).get(rid)

    def some(self, rids: Collection[int]) -> dict[int, Report]:
        """The reports that exist, by id. One round trip; none without ids."""
        return answer(self._store, ask_reports, rids)

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

    # ---- decisions
    #
    # A decision is one act of staff, in the field `decision` of the report. HSETNX writes it: that is the commit, and
    # it decides between two moderators. The act says all that staff wants: which posts and whom it is about, whether
    # the posts go, what is imposed, what those who have reported are told. All else follows from it, and a worker can
    # do it again: the posts are deleted and the sanction imposed, all other open reports about the same things get the
    # same decision, the people are told, and the reports leave the queue.

    def decide(
        self,
        report: Report,
        by: int,
        actions: Sequence[Action],
        reason: str,
        until: int = 0,
        also: str = "",
        told: str = "",
        shown: str | None = None,
    ) -> None:
        """Decide a report, and with it all open reports about the same things. The last of the `actions` is about the
        person; DELETE may stand before it, or alone. `until`: of a sanction; `also` and `told` as for `Act`;
        `shown`: as for `Sanctions.impose`.

        Some 18 round trips for a single report, 27 with a sanction; six more for each AT_ONCE others, eleven with a
        deletion, ten for each further post. Raises DecidedAlready, NotYours, NoPost, SanctionChanged; LeaseEnded."""
        if report.decision is not None:  # with it may have gone what this one is to delete
            raise DecidedAlready
        about, what = report.about, f"{PREFIX}{','.join(actions)}"
        until = until if actions[-1] in SANCTIONS else 0
        act = Act(
            what=what, by=by, whom=about.whom, post=about.pid or 0, reason=reason, until=until, also=also, told=told
        )
        if Action.DELETE in actions and not report._replace(decision=act).chosen:
            raise NoPost
        require_may_act(self._store, by, about.whom, actions[-1])
        job = Outbox(self._store).add(job_of(report.rid))
        try:
            self._commit(job.store, report.rid, act, actions[-1], shown)
        except Refused:
            job.done()
            raise
        with suppress(LeaseEnded):
            for number, _step in enumerate(Reports(job.store).finish(report.rid)):
                if number == MOST_STEPS:
                    job.replace(job_of(report.rid))  # a worker does the rest
                    return
            job.done()

    def _commit(self, store: Store, rid: int, act: Act, action: Action, shown: str | None) -> None:
        """Write the decision. One process at a time looks at what is imposed and replaces it."""
        if action in SANCTIONS:
            with alone_with(store, act.whom) as store:
                Sanctions(store).require_shown(act.whom, shown)
                _write_decision(store, rid, act)
                _impose(store, act, action)
        else:
            _write_decision(store, rid, act)

    def delete_posts(self, whom: int, texts: Mapping[int, str], by: int, reason: str) -> None:
        """Delete posts of one person (`texts`: their texts by their ids), whether they are reported or not. This
        decides the newest open report on one of them, or a new one by the moderator. So all reports on them are closed,
        and the author is told. Round trips of `decide`, and two or twelve more. Raises as `decide`; AccountDeleted."""
        known = self.about(whom, REPORTS_SHOWN)
        if any(texts.keys() <= {*one.chosen} for one in known):  # it was sent again, and a worker carries it out
            raise DecidedAlready
        found = next((one for one in known if one.decision is None and one.about.pid in texts), None)
        if found is None:
            pid, body = next(iter(texts.items()))
            found = self._own_report(NewReport(whom, pid, Reason.OTHER, body=body), by)
        also = " ".join(str(pid) for pid in texts if pid != found.about.pid)
        self.decide(found, by, [Action.DELETE], reason, also=also)

    def delete_picture(self, about: NewReport, digest: str, blocks: bool, by: int, reason: str) -> None:
        """Delete one picture of a post, or without a post of a person's profile; `blocks` as for `begin_removal`. This
        decides a report by the moderator alone, so that its owner is told. Some thirty round trips. Raises as `decide`;
        AccountDeleted; NoSuchPost and PictureNotShown when the picture is no longer there."""
        kind = ""
        if about.pid is None:
            kind = kind_of_picture(self._store, about.whom, digest)
        else:
            require_picture(self._store, about.pid, digest)
        also = f"{digest}:{blocked_as(self._store, digest) if blocks else ''}:{kind}"
        self.decide(self._own_report(about, by), by, [Action.PICTURE], reason, also=also)

    def _own_report(self, new: NewReport, by: int) -> Report:
        """A new report by the moderator, or the open one about the same thing. Raises DecidedAlready: another form of
        the same moderator was faster."""
        found = self.read(self.make(by, new) or self.open_by(by, new.thing) or 0)
        if found is None:
            raise DecidedAlready
        return found

    def finish(self, rid: int, below: int | None = None) -> Iterator[int]:
        """Finish what was begun: list an open report, or carry out the decision about a decided one, in steps: a
        deletion, or a chunk of reports. Yields the id below which all is left: 0 while this one is not closed. `below`:
        such an id, to which an earlier turn has come. Does nothing when the report is gone. Raises OfNewerVersion."""
        report = self.read(rid)
        if report is None:
            return
        act = report.decision
        if act is None:
            self.finish_made(report)
            return
        if report.action is None:
            raise OfNewerVersion
        if below is None:
            yield from self._act(report, act)
            self._close([report], act)
            yield LARGEST_ID
        key, last = keys.reports_about(report.about.whom), (float(below), str(below)) if below is not None else None
        for rows in newest_first(self._store, key, last):
            known = self.some(stored_ids(key, [member for member, _ in rows])).values()
            alike = [one for one in known if (one.about.pid or 0) in report.pids and one.rid != rid]
            self._close([one for one in alike if one.decision in (None, act)], act)
            yield integer(rows[-1][1])

    def _decide_too(self, report: Report) -> None:
        """Let a decision that deletes the post of a report decide it, which may have looked for others before this one
        was listed. Two round trips; those of `_close` when there is one."""
        known = self.about(report.about.whom, REPORTS_SHOWN)
        acts = (one.decision for one in known if one.decision is not None and report.about.pid in one.chosen)
        if (act := next(acts, None)) is not None:
            self._close([report], act)

    def _act(self, report: Report, act: Act) -> Iterator[int]:
        """Carry out all of a decision but what it means for reports."""
        line = replace(act, also="", told="")
        self._act_on_person(act, report.action, line)
        lines = {pid: replace(line, what=f"{PREFIX}{Action.DELETE}", post=pid, until=0) for pid in report.chosen}
        marks = answers(self._store, lambda pipe, pid: pipe.hget(keys.post(pid), "deleted"), lines)
        deleted = [pid for pid, mark in marks.items() if mark and deleted_by(mark) is DeletedBy.STAFF]
        Log(self._store).write(*(lines[pid] for pid in deleted))  # all that earlier turns have done takes one step
        for pid in (pid for pid, mark in marks.items() if not mark):
            if self._delete(lines[pid]):
                deleted.append(pid)
            yield 0
        if report.chosen:
            self._store.hset(keys.report(report.rid), {"deleted": " ".join(map(str, sorted(deleted)))})
        if deleted or report.action in (Action.WARN, Action.PICTURE):  # a page of theirs names a sanction
            self._tell_once(report, act)

    def _close(self, reports: Sequence[Report], act: Act) -> None:
        """Decide reports about one person, tell those who have made them, and close them."""
        if not reports:
            return
        with self._store.pipeline() as pipe:
            for one in reports:
                if one.decision is None:
                    pipe.hsetnx(keys.report(one.rid), "decision", act.line())
        _tell(self._store, [(one, one.who) for one in reports if one.who not in (None, act.by)], act.when)
        close(self._store, reports)

    def _act_on_person(self, act: Act, action: Action | None, line: Act) -> None:
        """Do all that was decided but the deletion of posts, once: the log knows whether it was done. All has the id of
        the decision."""
        if action is Action.DELETE:
            return
        if action not in (*SANCTIONS, Action.PICTURE):
            Log(self._store).write(replace(line, what=f"{PREFIX}{action}"))
            return
        Log(self._store).copy(keys.user(act.whom), act.id)  # what was imposed may be lifted already
        if any(one.id == act.id for one in Log(self._store).about(act.whom)):
            return
        if action is Action.PICTURE:  # one that its owner has removed meanwhile is blocked all the same
            digest, blocked, kind = act.also.split(":")
            if kind:
                remove_picture(self._store, line, ProfilePicture(kind), digest, blocked)
            else:
                remove_by_staff(self._store, line, digest, blocked)
            return
        with alone_with(self._store, act.whom) as store:
            last = Sanctions(store).last_act(act.whom)
            if last is None or last.at < act.at:  # else staff has done something else before the worker came
                _impose(store, act, action)

    def _tell_once(self, report: Report, act: Act) -> None:
        """Tell a person what was decided about them. Two moderators may delete the same posts or picture at once, each
        by a report of their own; and a worker may finish two reports that were decided together. Each looks, after it
        has told them, whether another one has: of their notices the one with the lowest id stays."""
        _tell(self._store, [(report, act.whom)], act.when)
        same = [
            Notice(NoticeKind.REPORT, one.rid, act.whom)
            for one in self.about(act.whom, REPORTS_SHOWN)
            if one.decision == act
            or (one.actions == report.actions == (Action.DELETE,) and {*one.chosen} == {*report.chosen})
            or (one.decision is not None and one.actions == (Action.PICTURE,) and _is_same_picture(one.decision, act))
        ]
        told = answers(self._store, lambda pipe, one: pipe.zscore(keys.notices(act.whom), one.member), same)
        Inbox(self._store, act.whom).remove(sorted(one for one in same if told[one] is not None)[1:])

    def _delete(self, act: Act) -> bool:
        """Returns False when its author was faster: then staff has deleted nothing, and the log has no line of it."""
        try:
            with suppress(PostRemoved):  # by staff: this is done again
                Posts(self._store).delete(act.whom, act.post, DeletedBy.STAFF)
        except (NoSuchPost, PostDeleted):
            return False
        Log(self._store).write(act)
        return True


def _kept(store: Store, rid: int, new: NewReport) -> Media:
    """The pictures of the post, or the profile picture and the header of the person, as they are: they stay until the
    report is decided. Those that a worker removes just now are left out. Two round trips, none without pictures; one
    more for a person."""
    pictures = new.media.pictures
    if new.pid is None:
        shown = store.hmget(keys.user(new.whom), [*ProfilePicture])
        pictures = tuple(Picture(digest) for digest in shown if digest and is_digest(digest))
    mark, digests = Mark("report", new.whom, rid), [one.digest for one in pictures]
    Pictures(store).keep(mark, digests)
    known = answers(store, ask_info, digests)  # read after the marks
    Pictures(store).unmark(mark, [digest for digest, info in known.items() if info is None])
    found = [with_stored(one, info) for one in pictures if (info := known[one.digest]) is not None]
    return new.media._replace(pictures=tuple(found))


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
    who, whom, pid, reason, note, rule, body, media, decision, deleted = fields
    key = keys.report(rid)
    reported = stored_id(key, whom)
    if reported is None or reason is None:
        return None
    pictures = media_from(key, media)
    about = NewReport(reported, stored_id(key, pid), reason, note or "", rule or "", body or "", pictures)
    act = read_act(key, decision) if decision is not None else None
    noted = tuple(stored_ids(key, deleted.split())) if deleted is not None else None
    return Report(rid, stored_id(key, who), about, act, noted)


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
        **media_field(about.media),
    }
    return {name: text for name, text in fields.items() if text}


def close(store: Store, reports: Sequence[Report]) -> None:
    """Take decided reports about one person (at least one) out of the queue, and give the claims on their things back.
    Two round trips, three with pictures; two more where an account is deleted: a worker may have looked for its claims
    before these were there. Can run twice."""
    Pictures(store).release(reports[0].about.whom, {digest for one in reports for digest in one.about.media.digests})
    with store.pipeline() as pipe:
        for one in reports:
            pipe.zrem(keys.reports(), str(one.rid))
            if one.who is not None:
                key, score = keys.reports_by(one.who), str(one.rid)
                pipe.zremrangebyscore(key, score, score)
                pipe.zadd(key, {f"{one.about.thing}:{one.rid}": one.rid})
    gone = _gone(store, (one.who for one in reports))
    left = {one.rid: keys.reports_by(one.who) for one in reports if one.who is not None and one.who in gone}
    for_each(store, lambda pipe, rid: pipe.zremrangebyscore(left[rid], str(rid), str(rid)), left)
    for_each(store, queue_nameless, left)  # last: by the name, a worker that does this again finds the claim


def _gone(store: Store, people: Iterable[int | None]) -> set[int]:
    """Those of these people whose account is deleted. One round trip; none without people."""
    asked = [uid for uid in {*people} if uid is not None]
    found = answers(store, lambda pipe, uid: pipe.hget(keys.user(uid), "deleted"), asked)
    return {uid for uid, mark in found.items() if is_deleted(mark)}


def queue_nameless(pipe: Pipe, rid: int) -> None:
    """Remove from a report who has made it, and their note. Two commands."""
    for field in ("who", "note"):
        pipe.hdel(keys.report(rid), field)


def forget(store: Store, report: Report) -> None:
    """Remove a report, but not from the set of the reports about the person. Three round trips. The claim of its author
    and the hash go last: a worker whose owner was killed in between finds the rest by them."""
    store.zrem(keys.reports(), str(report.rid))
    if report.who is not None:
        store.zremrangebyscore(keys.reports_by(report.who), str(report.rid), str(report.rid))
    store.unlink(keys.report(report.rid))


def _write_decision(store: Store, rid: int, act: Act) -> None:
    if not store.hsetnx(keys.report(rid), "decision", act.line()):
        raise DecidedAlready


def _impose(store: Store, act: Act, action: Action | None) -> None:
    """`store`: of `alone_with`. Not where the account is deleted or just goes, or its owner has become an admin."""
    with suppress(NoSuchUser, SanctionsAdmin, TooLate):
        Sanctions(store).carry_out(replace(act, what=State(str(action)), post=0, also="", told=""))


def _is_same_picture(one: Act, other: Act) -> bool:
    """Whether two decisions have deleted a picture together. Its owner may show it again, and it may go again later."""
    pictures = {(act.post, act.also.partition(":")[0]) for act in (one, other)}
    return one.what == other.what and len(pictures) == 1 and abs(one.when - other.when) < AT_THE_SAME_TIME


def require_may_act(store: Store, by: int, whom: int, action: Action | None) -> None:
    """Raises NotYours for oneself, and for staff of the same rank or above. An admin may say that a report about
    another admin is unfounded, or warn and delete posts, but sanction none. The only admin may do this to themself:
    else a report about them would wait for ever. One round trip."""
    staff, ranks = Roles(store).staff(), [*Role]
    actor, target = (staff.get(uid, Role.MEMBER) for uid in (by, whom))
    if ranks.index(actor) > ranks.index(target):
        return
    is_mild = action is not None and action not in SANCTIONS
    has_other_admin = any(role is Role.ADMIN for uid, role in staff.items() if uid != by)
    if not is_mild or actor is not Role.ADMIN or (by == whom and has_other_admin):
        raise NotYours


def _tell(store: Store, told: Sequence[tuple[Report, int]], when: int) -> None:
    """Tell people what was decided: a notice, also when they block or mute somebody. Two round trips; three where an
    account is deleted.

    A notice of a deleted account, or about one, goes again: a worker may have removed the others before."""
    with store.pipeline() as pipe:
        for report, uid in told:
            queue_add(pipe, uid, Notice(NoticeKind.REPORT, report.rid, uid), when)
    gone = _gone(store, (one for report, uid in told for one in (uid, report.about.whom)))
    with store.pipeline() as pipe:
        for report, uid in told:
            if not gone.isdisjoint((uid, report.about.whom)):
                queue_remove(pipe, uid, Notice(NoticeKind.REPORT, report.rid, uid))
