"""Staff's answers to applications, each with its line in the log.

HSETNX on the field `answer:<name>:<when the application was made>` is the commit: it decides between two moderators,
and holds the line of the log. What follows can run twice, and the field goes last; so when a process dies, the job
carries the answer out. An approval makes the account by a plain registration with the field `approved`, by which a
second run knows that the account is its own.
"""

from contextlib import suppress
from dataclasses import replace

from accounts.community.log import Act, Log, read_act
from accounts.joining.applications import ANSWER, Application, Applications, read_application, stored_application
from accounts.users.entities import NameTaken
from accounts.users.registration import Registration
from accounts.users.repository import Users
from retwis_site.exceptions import LeaseEnded
from retwis_site.jobs.outbox import Claim, Outbox
from retwis_site.store import keys
from retwis_site.store.client import Store

APPROVED, REFUSED = "joining:approved", "joining:refused"  # what answers are called in the log


class Answers:
    """Answers applications."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = Outbox(store)

    def approve(self, username: str, at: int, by: int) -> bool:
        """Make the account. `at`: when the application was made. False when it has its answer already, or somebody else
        has the name. 18 round trips."""
        return self._answer(username, at, Act(what=APPROVED, by=by))

    def refuse(self, username: str, at: int, by: int, reason: str) -> bool:
        """Say no; the applicant reads the reason at the next login. False when the application has its answer already.
        Nine round trips."""
        return self._answer(username, at, Act(what=REFUSED, by=by, reason=reason))

    def _answer(self, username: str, at: int, act: Act) -> bool:
        asked = Applications(self._store).find(username)
        if asked is None or asked.refused or asked.at != at:
            return False
        name = username.lower()
        job = self._outbox.add(f"application:{name}:{at}:{act.id}")
        won = job.store.hsetnx(keys.applications(), answer_of(name, at), act.line())
        with suppress(LeaseEnded):
            return Answers(job.store).finish(job.name, name, at, act.id)
        return bool(won)

    def finish(self, job: str, name: str, at: int, act_id: str) -> bool:
        """What follows the commit; also after an answer that never reached it, or came second. Returns whether this
        answer was carried out now. 15 round trips for an approval, six for a refusal."""
        field = answer_of(name, at)
        text, line = self._store.hmget(keys.applications(), [name, field])
        act = read_act(keys.applications(), line) if line is not None else None
        is_carried_out = False
        if act is not None and act.id == act_id:
            asked = read_application(text) if text is not None else None
            if asked is not None and asked.at == at and not asked.refused:
                is_carried_out = self._carry_out(asked, act)
            self._store.zrem(keys.applicants(), f"{name}:{at}")
            self._store.hdel(keys.applications(), field)
        self._outbox.done(job)
        return is_carried_out

    def _carry_out(self, asked: Application, act: Act) -> bool:
        """Each line comes into the log before the application goes: the next run would not find what to say."""
        if act.what == REFUSED:
            Log(self._store).write(replace(act, reason=f"@{asked.username} {act.reason}".strip()))
            answered = replace(asked, refused=act.when, reason=act.reason)
            self._store.hset(keys.applications(), {asked.username.lower(): stored_application(answered)})
            return True
        uid = self._make_account(asked, act.id)
        if uid is not None:
            Log(self._store).write(replace(act, whom=uid))
        self._store.hdel(keys.applications(), asked.username.lower())
        return uid is not None

    def _make_account(self, asked: Application, act_id: str) -> int | None:
        """The uid of the account, also of one that an earlier run has made; None when somebody else has the name."""
        registration = Registration(self._store)
        try:
            begun = registration.begin(asked.username)
            return registration.complete(begun, asked.password, {"approved": act_id}).user.uid
        except NameTaken:
            uid = Users(self._store).find(asked.username) or 0
            approved, deleted = self._store.hmget(keys.user(uid), ["approved", "deleted"])
            return uid if approved == act_id or deleted is not None else None  # its owner may have deleted it since


def answer_of(name: str, at: int) -> str:
    """The field with the answer to the application that was made under this name at this time."""
    return f"{ANSWER}{name}:{at}"


def finish_application(store: Store, claim: Claim) -> None:
    """The job `application:<name>:<at>:<id of the act>`."""
    _, name, at, act_id = claim.name.split(":")
    Answers(store).finish(claim.name, name, int(at), act_id)
