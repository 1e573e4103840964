"""Decisions about reports.

A decision is one act of staff, in the field `decision` of the report. HSETNX writes it: that is the commit, and it
decides between two moderators. All else follows from it, and a worker can do it again: the post is deleted or the
sanction imposed, all other open reports about the same thing get the same decision, the people are told, and the
reports leave the queue.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from django.utils.translation import gettext_lazy as _

from accounts.community.log import Act, Log
from accounts.community.roles import Roles
from accounts.community.sanctions import Sanctions, SanctionsAdmin
from accounts.users.entities import NoSuchUser, Refused, Role, State
from retwis_site.exceptions import LeaseEnded
from retwis_site.jobs.outbox import Claim, Outbox, job_id
from retwis_site.store import keys
from retwis_site.store.chunks import AT_ONCE, batches, newest_first
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_ids
from timeline.moderation.reports.repository import (
    PREFIX,
    SANCTIONS,
    TOLD,
    Action,
    Report,
    Reports,
    action_of,
    close,
    job_of,
)
from timeline.notices.entities import Kind, Notice
from timeline.notices.inbox import queue_add, queue_remove
from timeline.posts.entities import DeletedBy, NoSuchPost, PostDeleted
from timeline.posts.repository import Posts

A_DAY = 24 * 3600  # seconds
MOST_CHUNKS = 2  # of reports about the same thing that the request itself closes


class DecidedAlready(Refused):
    message = _("Someone else has decided this report already.")


class NotYours(Refused):
    message = _("You cannot decide about yourself, or about staff of your rank or above it.")


class NoPost(Refused):
    message = _("This report is about no post.")


class Deciding:
    """Decides reports."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = Outbox(store)

    def decide(self, report: Report, action: Action, reason: str, days: int, by: int) -> None:
        """Decide a report, and with it all open reports about the same thing. `days`: how long a sanction lasts; 0:
        until it is lifted. Some sixteen round trips for a single report. Raises DecidedAlready, NotYours, NoPost."""
        if action is Action.DELETE and report.about.pid is None:
            raise NoPost
        require_may_act(self._store, by, report.about.whom, action)
        until = int(time.time()) + days * A_DAY if days and action in SANCTIONS else 0
        act = Act(
            what=f"{PREFIX}{action}",
            by=by,
            whom=report.about.whom,
            post=report.about.pid or 0,
            reason=reason,
            until=until,
        )
        job = self._outbox.add(job_of(report.rid))
        if not job.store.hsetnx(keys.report(report.rid), "decision", act.line()):
            job.done()
            raise DecidedAlready
        with suppress(LeaseEnded):
            for number, _chunk in enumerate(Deciding(job.store).finish(report.rid)):
                if number == MOST_CHUNKS:
                    job.replace(job_of(report.rid))  # a worker does the rest
                    return
            job.done()

    def finish(self, rid: int) -> Iterator[None]:
        """Finish what was begun: list an open report, or carry out the decision about a decided one, in chunks of
        reports. Does nothing when the report is gone."""
        reports = Reports(self._store)
        report = reports.read(rid)
        if report is None:
            return
        if report.decision is None:
            reports.finish(report)
            return
        act, action = report.decision, action_of(report.decision)
        if action in SANCTIONS:
            self._impose(act, State(action))
        else:
            Log(self._store).write(act)
        if action is Action.DELETE:
            self._delete(act)
        if action in TOLD:
            _tell(self._store, [(report, act.whom)], act.when)
        for alike in self._alike(report):
            for one in alike:
                if one.decision is None:
                    self._store.hsetnx(keys.report(one.rid), "decision", act.line())
            _tell(self._store, [(one, one.who) for one in alike if one.who is not None], act.when)
            for one in alike:
                close(self._store, one)
            yield

    def _alike(self, report: Report) -> Iterator[list[Report]]:
        """In chunks, this report, and all about the same thing that have no decision or the same one."""
        yield [report]
        key = keys.reports_about(report.about.whom)
        for rows in newest_first(self._store, key):
            reports = Reports(self._store).some(stored_ids(key, [member for member, _ in rows])).values()
            alike = [
                one
                for one in reports
                if one.about.thing == report.about.thing and one.decision in (None, report.decision) and one != report
            ]
            yield from batches(alike, AT_ONCE)

    def _impose(self, act: Act, state: State) -> None:
        """Impose a sanction once: the person's hash and the log know whether it was imposed. Thirteen round trips
        at most."""
        present = Sanctions(self._store).of(act.whom)
        if present is not None and (present.state, present.reason) == (state, act.reason) and present.since >= act.when:
            return
        known = Log(self._store).about(act.whom).acts
        if any((one.what, one.by, one.reason) == (state, act.by, act.reason) and one.at >= act.at for one in known):
            return
        try:
            Sanctions(self._store).impose(act.whom, state, act.reason, act.until, act.by)
        except (NoSuchUser, SanctionsAdmin):
            return  # the account was deleted meanwhile, or its owner has become an admin

    def _delete(self, act: Act) -> None:
        try:
            Posts(self._store).delete(act.whom, act.post, DeletedBy.STAFF)
        except (NoSuchPost, PostDeleted):
            return  # its author was faster


def require_may_act(store: Store, by: int, whom: int, action: Action | None = None) -> None:
    """Raises NotYours for oneself, and for staff of the same rank or above. One round trip."""
    staff = Roles(store).staff()
    if by == whom or not may_act(staff.get(by, Role.MEMBER), staff.get(whom, Role.MEMBER), action):
        raise NotYours


def may_act(actor: Role, target: Role, action: Action | None = None) -> bool:
    """Whether staff of one role may do this to a person of another role. An admin may say that a report about another
    admin is unfounded, or warn and delete posts, but sanction none."""
    if target is Role.ADMIN and actor is Role.ADMIN:
        return action is not None and action not in SANCTIONS
    if target is Role.MEMBER:
        return actor is not Role.MEMBER
    return actor is Role.ADMIN


def _tell(store: Store, told: Sequence[tuple[Report, int]], when: int) -> None:
    """Tell people what was decided: a notice, also when they block or mute somebody. Two round trips.

    A notice of a deleted account goes again: a worker may have removed the others before."""
    pipe = store.pipeline()
    for report, uid in told:
        queue_add(pipe, uid, Notice(Kind.REPORT, report.rid, uid), when)
    pipe.execute()
    gone = [(report, uid, pipe.hget(keys.user(uid), "deleted")) for report, uid in told]
    pipe.execute()
    for report, uid, deleted in gone:
        if deleted.value is not None:
            queue_remove(pipe, uid, Notice(Kind.REPORT, report.rid, uid))
    pipe.execute()


def finish_report(store: Store, claim: Claim) -> bool:
    """The job `report:<id>:<nonce>`. Returns False when its turn ended before all reports were closed."""
    if not claim.carry_out_for_a_turn(Deciding(store).finish(job_id(claim.name, 1))):
        return False
    claim.outbox.done(claim.name)
    return True
