"""What staff does besides sanctions, each with its line in the log: answers to applications, the site's own words,
pictures that are removed, those that may be uploaded again, and roles. And what staff may know of a person."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from django.utils.translation import gettext_lazy as _

from accounts.community.log import Act, Log, read_act
from accounts.community.sanctions import SanctionCase, alone_with, case_in, recount_job
from accounts.joining import joining
from accounts.media.profiles import ProfilePicture
from accounts.media.repository import Pictures
from accounts.signing_in.sessions.entities import SESSIONS
from accounts.users.accounts import Registration, alone_with_looks, looks_like_another
from accounts.users.entities import OPERATOR, NameTaken, NoSuchUser, Refused, Role, User
from accounts.users.repository import NO_SANCTION, PERSON, Users, forget, person, role_of
from retwis_site import identity
from retwis_site.jobs.outbox import Claim, Job, Outbox, job_id
from retwis_site.store import keys
from retwis_site.store.chunks import newest_below
from retwis_site.store.client import Repository, Store
from retwis_site.store.ids import integer, parse_id, parse_number, stored_digest, stored_time

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
        has the name or one that looks like it: then it is refused, and the applicant reads why. 21 round trips."""
        return self._answer(username, at, Act(what=APPROVED, by=by))

    def refuse(self, username: str, at: int, by: int, reason: str) -> bool:
        """Say no; the applicant reads the reason at the next login. False when the application has its answer already.
        Nine round trips."""
        return self._answer(username, at, Act(what=REFUSED, by=by, reason=reason))

    def _answer(self, username: str, at: int, act: Act) -> bool:
        asked = joining.Applications(self._store).find(username)
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
        answer was carried out now. 17 round trips for an approval, five for a refusal."""
        field = answer_of(name, at)
        text, line = self._store.hmget(keys.applications(), [name, field])
        act = read_act(keys.applications(), line) if line is not None else None
        is_carried_out = False
        if act is not None and act.id == act_id:
            asked = joining.read_application(text) if text is not None else None
            if asked is not None and asked.at == at and not asked.refused:
                is_carried_out = self._carry_out(asked, act)
            self._store.zrem(keys.applicants(), f"{name}:{at}")
            self._store.hdel(keys.applications(), field)
        return is_carried_out

    def _carry_out(self, asked: joining.Application, act: Act) -> bool:
        """Each line comes into the log before the application goes: the next run would not find what to say."""
        name = asked.username.lower()
        uid = self._make_account(asked, act.id) if act.what == APPROVED else None
        if uid is not None:
            Log(self._store).write(replace(act, whom=uid))
            self._store.hdel(keys.applications(), name)
            return True
        what, reason = (TAKEN, joining.NAME_TAKEN) if act.what == APPROVED else (act.what, act.reason)
        Log(self._store).write(replace(act, what=what, reason=f"@{asked.username} {act.reason}".strip()))
        answered = replace(asked, refused=act.when, reason=reason)
        self._store.hset(keys.applications(), {name: joining.stored_application(answered)})
        return what == REFUSED

    def _make_account(self, asked: joining.Application, act_id: str) -> int | None:
        """The uid of the account, also of one that an earlier run has made; None when somebody else has the name or one
        that looks like it: another applicant, perhaps."""
        try:
            with alone_with_looks(self._store, asked.username) as store:
                registration = Registration(store)
                begun = registration.begin(asked.username)
                if looks_like_another(store, asked.username):
                    registration.give_up(begun)
                    raise NameTaken(asked.username)
                return registration.complete(begun, asked.password, {"approved": act_id}).uid
        except NameTaken:
            uid = Users(self._store).find(asked.username) or 0
            approved, deleted = self._store.hmget(keys.user(uid), ["approved", "deleted"])
            return uid if approved == act_id or deleted is not None else None  # its owner may have deleted it since


def answer_of(name: str, at: int) -> str:
    """The field with the answer to the application that was made under this name at this time."""
    return f"{joining.ANSWER}{name}:{at}"


def finish_application(store: Store, claim: Claim) -> None:
    """The job `application:<name>:<at>:<id of the act>`."""
    _, name, at, act_id = claim.name.split(":")
    Answers(store).finish(name, int(at), act_id)


# ---- The site's own words


def change_site(store: Store, fields: Mapping[str, str], by: int = OPERATOR) -> None:
    """Set these of the site's words; an empty text removes one. The log names those whose meaning changes; the others
    are not written. Seven round trips; one when nothing changes. Of two changes at once, the later one stands, field
    by field.

    The commit is one HSET, which also has the line for the log. An emptied field stays and counts as absent: to
    remove it would remove what another change has written meanwhile.
    """
    stored = store.hgetall(keys.site())
    before, after = identity.read(stored), identity.read({**stored, **fields})
    fields = {name: text for name, text in fields.items() if getattr(before, name) != getattr(after, name)}
    if not fields:
        return
    act = Act(what=f"site:{','.join(sorted(fields))}", by=by)
    if "announcement" in fields:
        fields["announced"] = act.id
    job = Outbox(store).add(f"site:{act.id}")
    job.store.hset(keys.site(), {**fields, **act.evidence()})
    identity.forget()
    with job.ending():
        Log(job.store).copy(keys.site(), act.id)


def finish_site(store: Store, claim: Claim) -> None:
    """The job `site:<id of the act>`: the line of a change comes into the log. Three round trips."""
    Log(store).copy(keys.site(), claim.name.split(":")[1])


# ---- Staff removes a picture from what shows it, and nothing else. The job has the line of the log too, so a worker
# can do all of it again.


BLOCKED = "blocked"  # in the name of the job, before the look of the picture


def blocked_as(store: Store, digest: str) -> str:
    """What says in the name of a job that a picture is blocked, and how it looks: it may be gone when a worker blocks
    it. One round trip."""
    return f"{BLOCKED} {Pictures(store).look_of(digest)}".strip()


def begin_removal(
    store: Store, place: str, digest: str, act: Act, blocked: str, finish: Callable[[Store, Job], object]
) -> None:
    """Add the job `<place>:<digest>:<blocked>:<line of the log>`, and carry it out. `blocked`: as `blocked_as` has
    said, and then nobody may upload the picture again, or one that looks nearly the same; the line names it, so that
    staff can take this back. Empty: the picture only goes from here."""
    act = replace(act, also=digest) if blocked else act
    job = Outbox(store).add(f"{place}:{digest}:{blocked}:{act.line()}")
    with job.ending():
        finish(job.store, job)


def carry_out_removal(store: Store, removal: str, take_out: Callable[[str], object]) -> None:
    """`removal`: what the job's name has behind the place. The commit is that of `take_out`, which gets the digest. The
    look of a picture to be blocked is read before it is gone, where an earlier version has added the job."""
    digest, blocked, line = removal.split(":", 2)
    act = read_act("outbox", line)
    if act is None:
        return
    if blocked:
        Pictures(store).block(digest, blocked.removeprefix(BLOCKED).strip())
    take_out(digest)
    Pictures(store).release(act.whom, [digest])
    Log(store).write(act)


class PictureNotShown(Refused):
    message = _("This picture is no longer on the profile.")


def kind_of_picture(store: Store, uid: int, digest: str) -> ProfilePicture:
    """Where a profile has this picture. One round trip. Raises PictureNotShown."""
    shown = zip(ProfilePicture, store.hmget(keys.user(uid), [*ProfilePicture]), strict=True)
    kind = next((kind for kind, one in shown if one == digest != ""), None)
    if kind is None:
        raise PictureNotShown
    return kind


def remove_picture(store: Store, act: Act, kind: ProfilePicture, digest: str, blocked: str) -> None:
    """Remove a picture from the profile of the person of an act, which says by whom and why; `blocked` as for
    `begin_removal`. The line is written also when the profile no longer has it. Seven round trips, one more to
    block."""
    act = replace(act, what=f"{kind}:removed")
    begin_removal(store, f"staff_profile:{act.whom}:{kind}", digest, act, blocked, finish_picture)


def finish_picture(store: Store, job: Claim | Job) -> None:
    """The job `staff_profile:<uid>:<kind>:<digest>:<blocked>:<line of the log>`. The commit is the HDEL."""
    uid = job_id(job.name, 1)
    _job, _uid, kind, removal = job.name.split(":", 3)

    def take_out(digest: str) -> None:
        if Users(store).take_out(uid, kind, digest):
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


# ---- Roles: who is a moderator or an admin. The site never loses its last admin.
#
# The hash `staff` is the truth: uid -> role. The field `role` of `user:<uid>` follows it; pages read that one. A change
# first puts up a mark, `changing:<id>` -> uid, and then reads all of `staff`. It takes the role of an admin away only
# when another admin without a mark is left, and it stops when another change of the same person is under way. Every
# command is for the one key `staff`: of two admins who demote each other, the later one sees the mark of the earlier
# one. The mark stays until all that follows is done. A process that dies leaves a job, which removes the mark.


MARK = "changing:"


class LastAdmin(Refused):
    """The site would have no admin any more."""

    message = _("This is the only admin. Make another user an admin first.")


class RoleChanging(Refused):
    """Another change of this person's role is under way."""

    message = _("Someone else is changing this role right now. Try again in a minute.")


class Roles(Repository):
    """Gives and takes roles."""

    def staff(self) -> dict[int, Role]:
        """All moderators and admins, by uid. One round trip."""
        return staff_in(self._store.hgetall(keys.staff()))

    def give(self, uid: int, role: Role, by: int = OPERATOR) -> None:
        """Give a role; MEMBER takes it away. An admin has no sanction: it ends. Commit: the second HSET. Sixteen
        round trips at most. Raises NoSuchUser, also for a deleted account; LastAdmin; RoleChanging."""
        username, deleted = self._store.hmget(keys.user(uid), ["username", "deleted"])
        if not username or deleted is not None:
            raise NoSuchUser(str(uid))
        act = Act(what=f"role:{role}", whom=uid, by=by)
        job = Outbox(self._store).add(f"role:{uid}:{act.id}")
        mark = f"{MARK}{act.id}"
        with job.store.pipeline() as pipe:
            pipe.hset(keys.staff(), {mark: str(uid)})
            stored = pipe.hgetall(keys.staff())
        refusal = _refusal(stored.value, uid, role, mark)
        if refusal is not None:
            job.store.hdel(keys.staff(), mark)
            job.done()
            raise refusal
        job.store.hset(keys.staff(), {str(uid): role, **act.evidence()})
        with job.ending():
            Roles(job.store).finish(uid, act.id)

    def finish(self, uid: int, act_id: str) -> None:
        """What follows the commit: the field `role` and the log. Also after a change that never reached its commit.
        Eleven round trips at most."""
        self.follow(uid)
        Log(self._store).copy(keys.staff(), act_id)
        self._store.hdel(keys.staff(), f"{MARK}{act_id}")

    def follow(self, uid: int) -> None:
        """Make the field `role` of a user follow `staff`. An admin has no sanction, and numbers follow its end. Four
        round trips, two more for an admin with a sanction. Raises LeaseEnded."""
        with alone_with(self._store, uid) as store:
            with store.pipeline() as pipe:
                stored, state = pipe.hget(keys.staff(), str(uid)), pipe.hget(keys.user(uid), "state")
            role = role_of(uid, stored.value)
            fields = {"role": "" if role is Role.MEMBER else role}
            if role is Role.ADMIN and state.value:
                recount = Outbox(store).add(recount_job(uid))
                is_written = Users(recount.store).write(uid, fields | NO_SANCTION)
                recount.hand_over()  # not before: the worker would find the sanction
            else:
                is_written = Users(store).write(uid, fields)
            if not is_written:
                store.hdel(keys.staff(), str(uid))  # the account was deleted meanwhile


def staff_in(stored: Mapping[str, str]) -> dict[int, Role]:
    """The moderators and admins in the hash `staff`, without the marks of changes."""
    found = {uid: role_of(uid, role) for field, role in stored.items() if (uid := parse_id(field)) is not None}
    return {uid: role for uid, role in found.items() if role is not Role.MEMBER}


def _refusal(stored: Mapping[str, str], uid: int, role: Role, mark: str) -> Refused | None:
    """Why a change must stop; None when it may go on."""
    marked = {parse_id(text) for field, text in stored.items() if field.startswith(MARK) and field != mark}
    if uid in marked:
        return RoleChanging()
    admins = {one for one, its in staff_in(stored).items() if its is Role.ADMIN}
    if uid in admins and role is not Role.ADMIN and not admins - marked - {uid}:
        return LastAdmin()
    return None


def finish_role(store: Store, claim: Claim) -> None:
    """The job `role:<uid>:<id of the act>`. Round trips as for `Roles.finish`."""
    Roles(store).finish(job_id(claim.name, 1), claim.name.split(":")[2])


# ---- What staff may know of a person, whatever is imposed on them; and what staff notes about a person, for itself.


@dataclass(frozen=True)
class PersonRecord:
    """A person as staff sees them. Nothing secret is in it. Times are unix seconds."""

    user: User
    role: Role
    standing: SanctionCase | None  # what is imposed, with the appeal
    deleted: int | None  # since when; None for an account that is not deleted
    registered: int | None
    posts: int  # without reposts
    followers: int
    following: int
    sessions: int
    invited_by: str | None  # a username; empty for the operator; None for a person who came without an invitation
    bio: str
    facts: tuple[str | None, str | None]  # on the profile, as for `facts_of`
    header: str  # the digest of the header; empty without one


def person_record(store: Store, name: str) -> PersonRecord:
    """The person with this name, also one who is suspended or deleted. Three round trips. Raises NoSuchUser."""
    uid = Users(store).find(name)
    if uid is None:
        raise NoSuchUser(name)
    with store.pipeline() as pipe:
        stored, role = pipe.hgetall(keys.user(uid)), pipe.hget(keys.staff(), str(uid))
        posts, reposts = pipe.zcard(keys.updates(uid)), pipe.zcard(keys.reposts(uid))
        followers, following = pipe.zcard(keys.followers(uid)), pipe.zcard(keys.following(uid))
    fields = stored.value
    deleted, hiding = fields.get("deleted"), ("deleted", "state", "state_until")
    user = person(uid, [None if field in hiding else fields.get(field) for field in PERSON])
    if user is None:
        raise NoSuchUser(name)
    with store.pipeline() as pipe:
        registered = pipe.zscore(keys.users_by_time(), user.username)
        inviter = parse_number(fields.get("invited_by", ""))
        inviter_name = pipe.hget(keys.user(inviter), "username") if inviter else None
    return PersonRecord(
        user=user,
        role=role_of(uid, role.value),
        standing=case_in(uid, fields),
        deleted=None if deleted is None else stored_time(keys.user(uid), deleted),
        registered=None if registered.value is None else integer(registered.value),
        posts=posts.value - reposts.value,
        followers=followers.value,
        following=following.value,
        sessions=len(SESSIONS.standing_in(fields)),
        invited_by=None if inviter is None else (inviter_name.value or "") if inviter_name else "",
        bio=fields.get("bio", ""),
        facts=(fields.get("facts"), fields.get("verified_links")),
        header=stored_digest(keys.user(uid), fields.get(ProfilePicture.HEADER)),
    )


# ---- Notes. Staff alone reads them: no page and no download of the person has them.


NOTE = "note"  # what a note is called as an act
LONGEST_STAFF_NOTE = 1000  # characters
NOTES_SHOWN = 50


class StaffNotes(Repository):
    """The notes of staff about people."""

    def add(self, uid: int, by: int, text: str) -> None:
        """Note something about a person. Two round trips; three where the account is deleted: nothing stays then."""
        note = Act(what=NOTE, whom=uid, by=by, reason=text)
        self._store.zadd(keys.staff_notes(uid), {note.line(): note.at})
        Users(self._store).keeps(uid, keys.staff_notes(uid))

    def about(self, uid: int, before: int | None = None) -> tuple[list[Act], int | None]:
        """The newest notes about a person, or those before this moment in unix milliseconds; `reason` has the text.
        Then the `before` of the older ones; None on the last page. Two round trips at most."""
        key = keys.staff_notes(uid)
        rows, older = newest_below(self._store, [key], before, NOTES_SHOWN)
        return [note for line, _at in rows if (note := read_act(key, line)) is not None], older
