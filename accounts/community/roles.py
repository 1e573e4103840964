"""Roles: who is a moderator or an admin. The site never loses its last admin.

The hash `staff` is the truth: uid -> role. The field `role` of `user:<uid>` follows it; pages read that one. A change
first puts up a mark, `changing:<id>` -> uid, and then reads all of `staff`. It takes the role of an admin away only
when another admin without a mark is left, and it stops when another change of the same person is under way. Every
command is for the one key `staff`: of two admins who demote each other, the later one sees the mark of the earlier one.
The mark stays until all that follows is done. A process that dies leaves a job, which removes the mark.
"""

from collections.abc import Collection, Mapping

from django.utils.translation import gettext_lazy as _

from accounts.community.log import Act, Log
from accounts.community.sanctions import recount_job
from accounts.users.entities import OPERATOR, NoSuchUser, Refused, Role
from accounts.users.repository import NO_SANCTION, Users, role_of
from retwis_site.jobs.outbox import Claim, Outbox, job_id, reconcile
from retwis_site.store import keys
from retwis_site.store.client import Repository, Store
from retwis_site.store.ids import parse_id

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

    def of(self, uid: int) -> Role:
        """The role of a user. One round trip."""
        return role_of(uid, self._store.hget(keys.staff(), str(uid)))

    def give(self, uid: int, role: Role, by: int = OPERATOR, reason: str = "") -> None:
        """Give a role; MEMBER takes it away. An admin has no sanction: it ends. Commit: the second HSET. Sixteen
        round trips at most. Raises NoSuchUser, also for a deleted account; LastAdmin; RoleChanging."""
        username, deleted = self._store.hmget(keys.user(uid), ["username", "deleted"])
        if not username or deleted is not None:
            raise NoSuchUser(str(uid))
        act = Act(what=f"role:{role}", whom=uid, by=by, reason=reason)
        job = Outbox(self._store).add(f"role:{uid}:{act.id}")
        mark = f"{MARK}{act.id}"
        pipe = job.store.pipeline()
        pipe.hset(keys.staff(), {mark: str(uid)})
        stored = pipe.hgetall(keys.staff())
        pipe.execute()
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
        Eleven round trips at most; two more each time that another change comes between."""
        self.follow(uid)
        Log(self._store).copy(keys.staff(), act_id)
        self._store.hdel(keys.staff(), f"{MARK}{act_id}")

    def follow(self, uid: int) -> None:
        """Make the field `role` of a user follow `staff`. An admin has no sanction, and numbers follow its end. Three
        round trips, one more for an admin, three for one with a sanction; two more each time that another change comes
        between."""

        def look(written: Collection[int]) -> dict[int, Role]:
            return {one: self.of(one) for one in written}

        def write(found: Mapping[int, Role]) -> Mapping[int, Role]:
            fields = {"role": "" if found[uid] is Role.MEMBER else found[uid]}
            if found[uid] is Role.ADMIN and self._store.hget(keys.user(uid), "state"):
                recount = Outbox(self._store).add(recount_job(uid))
                written = Users(recount.store).write(uid, fields | NO_SANCTION)
                recount.hand_over()  # not before: the worker would find the sanction
            else:
                written = Users(self._store).write(uid, fields)
            if written:
                return found
            self._store.hdel(keys.staff(), str(uid))  # the account was deleted meanwhile
            return {}

        reconcile(look([uid]), look, write)


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
