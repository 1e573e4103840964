"""What staff does besides roles and sanctions, each with its line in the log: answers to applications, the site's own
words, pictures that are removed, and those that may be uploaded again."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from django.utils.translation import gettext_lazy as _

from accounts.community.log import Act, Log, read_act
from accounts.joining.applications import (
    ANSWER,
    NAME_TAKEN,
    Application,
    Applications,
    read_application,
    stored_application,
)
from accounts.media.profiles import Kind
from accounts.media.repository import Pictures
from accounts.users.entities import OPERATOR, NameTaken, Refused
from accounts.users.names import skeletons
from accounts.users.registration import Registration
from accounts.users.repository import Users, forget
from retwis_site import identity
from retwis_site.jobs.outbox import Claim, Job, Outbox, job_id
from retwis_site.store import keys
from retwis_site.store.client import Repository, Store

# ---- Answers to applications.
#
# HSETNX on the field `answer:<name>:<when the application was made>` is the commit: it decides between two moderators,
# and holds the line of the log. What follows can run twice, and the field goes last; so when a process dies, the job
# carries the answer out. An approval makes the account by a plain registration with the field `approved`, by which a
# second run knows that the account is its own.


# What answers are called in the log. TAKEN is an approval that came too late: somebody else has the name.
APPROVED, REFUSED, TAKEN = "joining:approved", "joining:refused", "joining:taken"


class Answers(Repository):
    """Answers applications."""

    def approve(self, username: str, at: int, by: int) -> bool:
        """Make the account. `at`: when the application was made. False when it has its answer already, or somebody else
        has the name or one that looks like it: then it is refused, and the applicant reads why. 19 round trips."""
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
        job = Outbox(self._store).add(f"application:{name}:{at}:{act.id}")
        won = job.store.hsetnx(keys.applications(), answer_of(name, at), act.line())
        with job.ending():
            return Answers(job.store).finish(name, at, act.id)
        return bool(won)

    def finish(self, name: str, at: int, act_id: str) -> bool:
        """What follows the commit; also after an answer that never reached it, or came second. Returns whether this
        answer was carried out now. 15 round trips for an approval, five for a refusal."""
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
        return is_carried_out

    def _carry_out(self, asked: Application, act: Act) -> bool:
        """Each line comes into the log before the application goes: the next run would not find what to say."""
        name = asked.username.lower()
        uid = self._make_account(asked, act.id) if act.what == APPROVED else None
        if uid is not None:
            Log(self._store).write(replace(act, whom=uid))
            self._store.hdel(keys.applications(), name)
            return True
        what, reason = (TAKEN, NAME_TAKEN) if act.what == APPROVED else (act.what, act.reason)
        Log(self._store).write(replace(act, what=what, reason=f"@{asked.username} {act.reason}".strip()))
        answered = replace(asked, refused=act.when, reason=reason)
        self._store.hset(keys.applications(), {name: stored_application(answered)})
        return what == REFUSED

    def _make_account(self, asked: Application, act_id: str) -> int | None:
        """The uid of the account, also of one that an earlier run has made; None when somebody else has the name or one
        that looks like it: another applicant, perhaps."""
        registration = Registration(self._store)
        try:
            begun = registration.begin(asked.username)
            if any(self._store.hmget(keys.skeletons(), skeletons(asked.username))):
                registration.give_up(begun)
                raise NameTaken(asked.username)
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
    Answers(store).finish(name, int(at), act_id)


# ---- The site's own words


class SiteWords(Repository):
    """The site's own words, for those who may change them."""

    def change(self, fields: Mapping[str, str], by: int = OPERATOR) -> None:
        """Set these fields; an empty text removes one. The log names those whose meaning changes; the others are not
        written. Seven round trips; one when nothing changes. Of two changes at once, the later one stands, field by
        field.

        The commit is one HSET, which also has the line for the log. An emptied field stays and counts as absent: to
        remove it would remove what another change has written meanwhile.
        """
        stored = self._store.hgetall(keys.site())
        before, after = identity.read(stored), identity.read({**stored, **fields})
        fields = {name: text for name, text in fields.items() if getattr(before, name) != getattr(after, name)}
        if not fields:
            return
        act = Act(what=f"site:{','.join(sorted(fields))}", by=by)
        if "announcement" in fields:
            fields["announced"] = act.id
        job = Outbox(self._store).add(f"site:{act.id}")
        job.store.hset(keys.site(), {**fields, **act.evidence()})
        identity.forget()
        with job.ending():
            Log(job.store).copy(keys.site(), act.id)


def finish_site(store: Store, claim: Claim) -> None:
    """The job `site:<id of the act>`: the line of a change comes into the log. Three round trips."""
    Log(store).copy(keys.site(), claim.name.split(":")[1])


# ---- Staff removes a picture from what shows it, and nothing else. The job has the line of the log too, so a worker
# can do all of it again.


BLOCKED = "blocked"  # in the name of the job: nobody may upload it again


def begin_removal(
    store: Store, place: str, digest: str, act: Act, blocks: bool, finish: Callable[[Store, Job], object]
) -> None:
    """Add the job `<place>:<digest>:<blocked>:<line of the log>`, and carry it out. With `blocks`, nobody may upload
    the picture again, or one that looks nearly the same; the line names it then, so that staff can take this back."""
    act = replace(act, also=digest) if blocks else act
    job = Outbox(store).add(f"{place}:{digest}:{BLOCKED if blocks else ''}:{act.line()}")
    with job.ending():
        finish(job.store, job)


def carry_out_removal(store: Store, removal: str, take_out: Callable[[str], object]) -> None:
    """`removal`: what the job's name has behind the place. The commit is that of `take_out`, which gets the digest. The
    hash of a picture to be blocked is read before it is gone."""
    digest, blocked, line = removal.split(":", 2)
    act = read_act("outbox", line)
    if act is None:
        return
    if blocked:
        Pictures(store).block(digest)
    take_out(digest)
    Pictures(store).release(act.whom, [digest])
    Log(store).write(act)


class PictureNotShown(Refused):
    message = _("This picture is no longer on the profile.")


def kind_of_picture(store: Store, uid: int, digest: str) -> Kind:
    """Where a profile has this picture. One round trip. Raises PictureNotShown."""
    shown = zip(Kind, store.hmget(keys.user(uid), [*Kind]), strict=True)
    kind = next((kind for kind, one in shown if one == digest != ""), None)
    if kind is None:
        raise PictureNotShown
    return kind


def remove_picture(store: Store, act: Act, kind: Kind, digest: str, blocks: bool) -> None:
    """Remove a picture from the profile of the person of an act, which says by whom and why; `blocks` as for
    `begin_removal`. The line is written also when the profile no longer has it. Seven round trips, two more to
    block."""
    act = replace(act, what=f"{kind}:removed")
    begin_removal(store, f"staff_profile:{act.whom}:{kind}", digest, act, blocks, finish_picture)


def finish_picture(store: Store, job: Claim | Job) -> None:
    """The job `staff_profile:<uid>:<kind>:<digest>:<blocked>:<line of the log>`. The commit is the HDEL."""
    uid = job_id(job.name, 1)
    _job, _uid, kind, removal = job.name.split(":", 3)

    def take_out(digest: str) -> None:
        if store.hget(keys.user(uid), kind) == digest:
            Users(store).take_back(uid, [kind])
            forget(uid)

    carry_out_removal(store, removal, take_out)


# ---- Staff takes a block back.


class NotBlocked(Refused):
    message = _("This picture can already be uploaded again.")


def allow_picture(store: Store, removed: Act, by: int, reason: str) -> None:
    """Let people upload the picture again that this act has blocked. The block of another one that looks nearly the
    same stands. Commit: the HDEL. Six round trips. Raises NotBlocked."""
    digest = removed.also
    if not Pictures(store).blocked([digest]):
        raise NotBlocked
    act = Act(what="picture:allowed", by=by, whom=removed.whom, post=removed.post, reason=reason)
    job = Outbox(store).add(f"allowed_picture:{digest}:{act.line()}")
    with job.ending():
        finish_allowed(job.store, job)


def finish_allowed(store: Store, job: Claim | Job) -> None:
    """The job `allowed_picture:<digest>:<line of the log>`."""
    _job, digest, line = job.name.split(":", 2)
    act = read_act("outbox", line)
    if act is not None:
        Pictures(store).unblock(digest)
        Log(store).write(act)
