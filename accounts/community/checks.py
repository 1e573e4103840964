"""Checks of roles, sanctions and appeals; and of joining: answers that nothing carries out, uses of invitations without
an account, and what is over. The hash `staff` is the truth of roles, the user's hash that of sanctions."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX

from accounts.community import sanctions
from accounts.community.acts import MARK, Answers, Roles
from accounts.community.log import EVIDENCE, Log, read_act
from accounts.community.sanctions import GRACE, GRANTED, SanctionCase, Sanctions
from accounts.joining.joining import ANSWER, Application, Applications, read_application, read_invitation
from accounts.users.accounts import AccountDeletion
from accounts.users.checks import AccountChecks
from accounts.users.entities import Role, State, User
from accounts.users.repository import IMPOSED, sanction_of
from retwis_site.jobs.outbox import PUT_OFF, Claim, Outbox, job_id
from retwis_site.maintenance import checks
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, Searcher, confirmed
from retwis_site.rendering.dates import A_DAY
from retwis_site.store import keys
from retwis_site.store.chunks import SETS_AT_ONCE, batches
from retwis_site.store.client import Store, answers, handles
from retwis_site.store.ids import parse_id
from retwis_site.store.kinds import OfId

# ---- What goes: an account that has been suspended for 30 days, and the part of the community in a deleted account.


def finish_removal(store: Store, claim: Claim) -> object:
    """The job `removal:<uid>:<id of the act>`: delete an account that has been suspended for 30 days. While an appeal
    is open, it looks again each day: PUT_OFF. Up to five round trips.

    One command reads all that decides. A look at the sorted set of open appeals besides could see a granted appeal that
    waits no more, and the sanction as it was before."""
    uid, act_id = job_id(claim.name, 1), claim.name.split(":")[2]
    stored = store.hgetall(keys.user(uid))
    username, present = stored.get("username"), sanctions.case_in(uid, stored)
    is_for_good = present is not None and present.imposed.deleted_at and present.imposed.act_id == act_id
    if present is None or not is_for_good or not username or "deleted" in stored:
        return None
    due = _due(present)
    if due > time.time():
        store.zadd(keys.outbox(claim.name), {claim.name: due})
        return PUT_OFF
    AccountDeletion(store).delete(User(uid, username), "")
    return None


def _due(present: SanctionCase) -> int:
    """When an account may be deleted, in unix seconds: an hour after the last moment to lift the suspension. That is 30
    days, or the refusal of an appeal. A granted appeal is about to end it."""
    if present.is_asked or (present.answer is not None and present.answer.what == GRANTED):
        return int(time.time()) + A_DAY
    return max(present.imposed.deleted_at, present.answer.when if present.answer is not None else 0) + GRACE


def remove_community(store: Store, uid: int) -> tuple[()]:
    """Remove the role and an open appeal. Lines of the log stay: they have no name. Two round trips; no chunk."""
    act_id = store.hget(keys.user(uid), "state_act")
    with store.pipeline() as pipe:
        pipe.hdel(keys.staff(), str(uid))
        pipe.zrem(keys.appeals(), f"{uid}:{act_id}")
    return ()


# ---- Checks


@dataclass(frozen=True)
class WrongUser:
    """What does not fit together about a user."""

    uid: int
    what: str
    repair: Callable[[], object] | None = field(default=None, compare=False)
    act_id: str = ""  # of an act that is not in the log
    noted: tuple[str, str] | None = None  # the sorted set and its member, of which one look at the user knows nothing


class CommunityChecks(Searcher):
    """The checks of the community."""

    def inconsistencies(self) -> list[Check]:
        """The roles, sanctions and appeals of users, and what `staff` has to be finished."""
        return [
            self._check_of(
                "sanctions that users have lost",
                keys.acts,
                self._lost,
                "{key} tells of a sanction, and user {0} has none that can be read",
                Sanctions(self._store).restore,
            ),
            Check("roles and sanctions that do not fit together", (keys.user,), self.users),
            self._check_of(
                "changes of roles that nothing finishes",
                keys.staff,
                self._unfinished,
                "staff has {0}",
                self._finish,
                read=checks.names_in,
            ),
            *map(self._check_of_lines, (keys.log, keys.acts, keys.staff_notes)),
        ]

    def _check_of_lines(self, kind: OfId) -> Check:
        return self._check_of(
            f"lines of {kind.word}: that tell of no act, or stand at another time",
            kind,
            lambda found: [one for one in found if _is_wrong_line(kind, *one)],
            "{key} has one",
            partial(self._mend_line, kind),
            read=checks.rows,
        )

    def _mend_line(self, kind: OfId, number: int, line: str, at: float) -> None:
        """Give an act its time; what is none is kept under `damaged:`."""
        key, act = kind(number), read_act(kind(number), line)
        if act is not None:
            self._store.send("ZADD", key, "XX", act.at, line)
        else:
            checks.keep(self._store, key, line.encode(), at)
            self._store.zrem(key, line)

    def orphans(self) -> list[Check]:
        label = "appeals against what is no longer imposed"
        return [self._check_of(label, keys.appeals, self._stale, "appeals has {0!r}")]

    # ---- users

    def _lost(self, uids: Sequence[int]) -> list[int]:
        """Users on whom their acts impose something, with a field `state` that is missing or no state: after a sanction
        it is empty. Others of its fields are left, or no password opens anything, since the hash was lost as a whole
        and written again. One round trip, and one for each such user."""
        asked = ["username", "deleted", "state", "state_act", "password"]
        stored = answers(self._store, lambda pipe, uid: pipe.hmget(keys.user(uid), asked), uids)
        lost = [
            uid
            for uid, (name, deleted, state, act_id, password) in stored.items()
            if name and deleted is None and state not in list(State)
            if act_id or (password or "").startswith(UNUSABLE_PASSWORD_PREFIX)
        ]
        return [uid for uid in lost if Sanctions(self._store).imposed_by_acts(uid) is not None]

    def users(self, names: list[str]) -> Chunks:
        """Users whose role is not the one in `staff`, whose suspension no job ends, whose sanction ends without a job
        for the numbers, whose appeal does not wait for a decision, whose act is not in the log, or whose state is
        none."""
        for uids in checks.ids(self._store, names):
            wrong = confirmed(self._store, self._wrong(uids), self._wrong, _jobs_on, lambda one: one.uid)
            yield [Finding(f"user {one.uid}: {one.what}", one.repair) for one in wrong]

    def _wrong(self, uids: Sequence[int]) -> list[WrongUser]:
        with self._store.pipeline() as pipe:
            asked = [
                (uid, pipe.hgetall(keys.user(uid)), pipe.hget(keys.staff(), str(uid))) for uid in dict.fromkeys(uids)
            ]
            staff = pipe.type(keys.staff())
        found = [
            one
            for uid, fields, role in asked
            if "username" in fields.value and "deleted" not in fields.value
            for one in self._wrong_in(uid, fields.value, None if staff.value == "none" else role.value or Role.MEMBER)
        ]
        return [one for one in found if one.noted is None or self._store.zscore(*one.noted) is None]

    def _wrong_in(self, uid: int, fields: Mapping[str, str], right: str | None) -> Iterator[WrongUser]:
        """What one user's hash alone makes doubtful. `right`: the role in `staff`; None where that is lost as a whole:
        then the hash is all that tells of a role."""
        store, key, state, role = self._store, keys.user(uid), fields.get("state", ""), fields.get("role", "")
        if state not in list(State):
            yield WrongUser(uid, f"{state[:40]!r} is no state. To remove it: HDEL {key} state")
        if right is None and role in {Role.MODERATOR, Role.ADMIN}:
            fix = f"To give it again: manage.py user role {fields['username']} {role}"
            what = f"staff is lost, which had the role {role!r}. {fix}. Do so for all before doctor --fix"
            yield WrongUser(uid, what)
        elif right not in {None, *Role}:
            fix = f"To remove it: manage.py user role {fields['username']} member"
            yield WrongUser(uid, f"{(right or '')[:40]!r} is no role. {fix}")
        elif (role or Role.MEMBER) != (right or Role.MEMBER):
            yield WrongUser(uid, "the role is not the one in staff", partial(Roles(store).follow, uid))
        for act_id in (name.removeprefix(EVIDENCE) for name in fields if name.startswith(EVIDENCE)):
            yield WrongUser(uid, "an act is not in the log", partial(Log(store).copy, key, act_id), act_id)
        present = sanction_of(uid, [*map(fields.get, IMPOSED)])
        if present is None:
            return
        if present.deleted_at:
            job = sanctions.removal_job(uid, present.act_id)
            repair: Callable[[], object] = partial(sanctions.delete_later, store, uid, present.act_id)
            yield WrongUser(uid, "no job ends the suspension", repair, noted=(keys.outbox(job), job))
        if present.until:
            job = sanctions.end_job(uid, present.until)
            repair = partial(sanctions.follow_end, store, uid, present.until)
            yield WrongUser(uid, "no job follows the end of the sanction", repair, noted=(keys.outbox(job), job))
        appeal = sanctions.read_appeal(uid, fields.get("appeal"))
        if appeal is not None and appeal.act == present.act_id and sanctions.answer_of(present.act_id) not in fields:
            repair = partial(Sanctions(store).queue_appeal, appeal)
            noted = (keys.appeals(), appeal.member)
            yield WrongUser(uid, "the appeal does not wait for a decision", repair, noted=noted)

    # ---- staff

    def _unfinished(self, fields: Sequence[str]) -> list[str]:
        """Marks of changes and lines for the log in `staff` that no job is about. Unknown roles have no repair."""
        left = [field for field in fields if field.startswith((MARK, EVIDENCE))]
        under_way = {job.rpartition(":")[2] for job in Outbox(self._store).under_way()} if left else set()
        return [
            field
            for field in left
            if field.partition(":")[2] not in under_way
            and self._store.hget(keys.staff(), field) is not None  # read after the jobs
        ]

    def _finish(self, field: str) -> None:
        if field.startswith(EVIDENCE):
            Log(self._store).copy(keys.staff(), field.removeprefix(EVIDENCE))
        else:
            self._store.hdel(keys.staff(), field)

    # ---- appeals

    def _stale(self, members: Sequence[str]) -> list[str]:
        """Open appeals of people on whom this act imposes nothing any more."""
        owners = {member: parse_id(member.partition(":")[0]) or 0 for member in members}
        asked = answers(self._store, lambda pipe, member: pipe.hmget(keys.user(owners[member]), IMPOSED), members)
        standing = [(member, sanction_of(owners[member], fields)) for member, fields in asked.items()]
        return [member for member, present in standing if present is None or member.partition(":")[2] != present.act_id]


def _is_wrong_line(kind: OfId, number: int, line: str, at: float) -> bool:
    act = read_act(kind(number), line)
    return act is None or act.at != at


def _jobs_on(one: WrongUser) -> set[str]:
    return keys.user.explained_by(one.uid, "")


# ---- Checks of joining


FieldValue = tuple[str, str]  # of a hash, with its value
CodeUse = tuple[str, str, float]  # the key `uses:<digest>`, a uid in it, and when
StoredInvitation = tuple[str, str, str]  # the key, a code in it, and how many people it lets in


class JoiningChecks(Searcher):
    """The checks of applications and invitations."""

    def inconsistencies(self) -> list[Check]:
        return [
            self._check_of(
                "applications that cannot be read",
                keys.applications,
                _unreadable,
                "the application for {0!r}",
                self._move_away,
            ),
            self._check_of(
                "answers to applications that nothing carries out",
                keys.applications,
                self._answers,
                "applications has {0!r}",
                self._finish,
                jobs=lambda field, _: {f"application:{field.removeprefix(ANSWER)}"},
            ),
            self._check_of(
                "applications that wait and are not counted",
                keys.applications,
                self._uncounted,
                "the application for {0!r}",
                self._count,
                jobs=lambda name, _: {f"applied:{name}", f"application:{name}"},
            ),
            self._check_of(  # the repair lets somebody else use it
                "uses of invitations without an account",
                keys.uses,
                self._unused,
                "a use by user {1}, who never registered",
                read=checks.entries,
            ),
        ]

    def orphans(self) -> list[Check]:
        return [
            self._check_of(
                "entries about applications that do not wait",
                keys.applicants,
                self._not_waiting,
                "applicants has {0!r}",
                jobs=lambda member: {f"applied:{member}", f"application:{member}"},
            ),
            self._check_of(
                "refusals that are over",
                keys.applications,
                _refusals_over,
                "the refusal of {0!r}",
                lambda name, text: Applications(self._store).forget({name: text}),
            ),
            self._check_of(
                "invitations that have ended",
                keys.invites,
                _ended,
                "an invitation in {0}",
                lambda key, code, _: self._store.hdel(key, code),
                read=_invitations,
            ),
        ]

    # ---- applications

    def _move_away(self, name: str, text: str) -> None:
        """What is no application keeps a name from everyone. It is kept under `damaged:`."""
        checks.keep(self._store, keys.applications(), name.encode(), text.encode())
        Applications(self._store).forget({name: text})

    def _answers(self, stored: Sequence[FieldValue]) -> list[FieldValue]:
        """The answers among fields of `applications` that are still there."""
        there = [one for one in stored if one[0].startswith(ANSWER)]
        lines = answers(self._store, lambda pipe, one: pipe.hget(keys.applications(), one[0]), there)
        return [one for one, line in lines.items() if line == one[1]]

    def _finish(self, field: str, line: str) -> None:
        """Carry an answer out as its job would; remove what is no answer."""
        act = read_act(keys.applications(), line)
        _, name, at = field.split(":") if field.count(":") == 2 else ("", "", "")
        if act is not None and at.isdecimal():
            Answers(self._store).finish(name, int(at), act.id)
        self._store.hdel(keys.applications(), field)

    def _uncounted(self, stored: Sequence[FieldValue]) -> list[FieldValue]:
        """Those of these applications that still wait, and that `applicants` lacks. One round trip."""
        waiting = {one: asked.member for one in stored if (asked := _waiting(one)) is not None}
        found = handles(
            self._store,
            lambda pipe, one: (pipe.hget(keys.applications(), one[0]), pipe.zscore(keys.applicants(), waiting[one])),
            waiting,
        )
        return [one for one, (text, score) in found.items() if text.value == one[1] and score.value is None]

    def _count(self, name: str, text: str) -> None:
        asked = _waiting((name, text))
        if asked is not None:
            Applications(self._store).list_waiting(asked)

    def _not_waiting(self, members: Sequence[str]) -> list[str]:
        """Members of `applicants` without such an application that waits. One round trip."""
        names = {member: member.partition(":")[0] for member in members}
        texts = answers(self._store, lambda pipe, member: pipe.hget(keys.applications(), names[member]), members)
        asked = {member: _waiting((names[member], text)) for member, text in texts.items() if text is not None}
        return [member for member in members if (one := asked.get(member)) is None or one.member != member]

    # ---- invitations

    def _unused(self, uses: Sequence[CodeUse]) -> list[CodeUse]:
        """Those of the uses by uids that no user has, which are still there. Three round trips."""
        accounts = AccountChecks(self._store)
        nameless = set(accounts.without_name([parse_id(uid) or 0 for _, uid, _ in uses]))
        unused = [use for use in uses if parse_id(use[1]) in nameless]
        times = answers(self._store, lambda pipe, use: pipe.zscore(*use[:2]), unused)
        return [use for use, when in times.items() if when is not None]


def _waiting(stored: FieldValue) -> Application | None:
    """The application of a field of `applications` that waits for an answer; None for any other field."""
    asked = read_application(stored[1]) if not stored[0].startswith(ANSWER) else None
    return asked if asked is not None and not asked.refused else None


def _unreadable(stored: Sequence[FieldValue]) -> list[FieldValue]:
    return [one for one in stored if not one[0].startswith(ANSWER) and read_application(one[1]) is None]


def _refusals_over(stored: Sequence[FieldValue]) -> list[FieldValue]:
    """Refusals that the applicant had time enough to read."""
    asked = [(one, read_application(one[1])) for one in stored if not one[0].startswith(ANSWER)]
    return [one for one, application in asked if application is not None and application.is_over]


def _invitations(store: Store, names: list[str]) -> Iterator[list[StoredInvitation]]:
    for some in batches(names, SETS_AT_ONCE):
        found = answers(store, lambda pipe, key: pipe.hgetall(key), some)
        yield from batches(((key, *one) for key, stored in found.items() for one in stored.items()), AT_ONCE)


def _ended(invitations: Sequence[StoredInvitation]) -> list[StoredInvitation]:
    """Invitations that have ended, and fields that are no invitations. A used one stays until its end."""
    asked = [(one, read_invitation(*one[1:])) for one in invitations]
    return [one for one, open_ in asked if open_ is None or not open_.is_open]  # as if nobody had used it
