"""Invitations. Each is a field of `invites:<uid>`, of the user who invites; those of the operator are in `invites:0`.

The field is the code, `<uid>-<end>-<random>`; its value says how many people it lets in. So a code leads to its own
hash and says itself when it ends. Whom it has let in stands in a sorted set of uids, `uses:<digest>`. A new user takes
a use before the registration's commit, under their uid: so the job of a registration that died can give exactly this
use back, also twice.
"""

import hashlib
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext_lazy as _

from accounts.users.entities import OPERATOR, Refused
from accounts.users.registration import Registration
from accounts.users.repository import ask_user
from retwis_site.jobs.outbox import Claim, Job, Outbox, job_id
from retwis_site.rendering.dates import A_DAY
from retwis_site.store import keys
from retwis_site.store.chunks import answers, for_each
from retwis_site.store.client import Repository, Store
from retwis_site.store.ids import parse_number

DAYS = 14
MOST_USES = 1000
MOST_DAYS = 3650
KEPT = A_DAY  # seconds that the uses of an invitation outlive it

_CODE = re.compile(r"([0-9]{1,16})-([0-9]{1,16})-[0-9a-z]{1,24}")


class NotInvited(Refused):
    message = _("This invitation has been used, has ended, or was revoked. Ask for another one.")


class TooManyInvitations(Refused):
    message = _("You have as many open invitations as you may have.")


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation. `by` is 0 for one of the operator."""

    code: str
    by: int
    ends: int  # unix seconds
    uses: int  # how many people it lets in
    used: int = 0
    inviter: str = ""  # the username, as `find` reads it; empty for the operator

    def __repr__(self) -> str:  # the code stays out of logs
        return f"Invitation(by={self.by})"

    @property
    def left(self) -> int:
        """How many people can still use it."""
        return max(self.uses - self.used, 0)

    @property
    def is_open(self) -> bool:
        return self.left > 0 and self.ends > time.time()


def new_token() -> str:
    """The random part of a code. A form has it before it is sent."""
    return secrets.token_hex(8)


def read(code: str, uses: str | None) -> Invitation | None:
    """What a code and its field say, without who has used it. It may have ended. None for any other text."""
    match, number = _CODE.fullmatch(code), parse_number(uses or "")
    if match is None or number is None:
        return None
    by, ends = parse_number(match[1]), parse_number(match[2])
    return None if by is None or ends is None else Invitation(code, by, ends, number)


def uses_of(code: str) -> str:
    """The key of those whom an invitation has let in."""
    return keys.uses(hashlib.sha256(code.encode()).hexdigest()[:32])


class Invitations(Repository):
    """The invitations of all users and of the operator."""

    def make(self, by: int = OPERATOR, uses: int = 1, days: int = DAYS) -> Invitation:
        """A new invitation. One round trip."""
        return self._make(by, uses, days, new_token())

    def make_within(self, quota: int, by: int, token: str) -> Invitation:
        """The invitation of a member's form, which has this token: a form that is sent again makes no second one while
        the first is open. Three round trips; five for such a form. Raises TooManyInvitations above a quota of open
        uses: of two that are made at once, both may be refused. One above it is made only when the process dies before
        it has counted."""
        made = self._make(by, 1, DAYS, token)
        found = self.open([by])  # read after the write: of two at once, the later one sees both
        first, *again = [one for one in found if one.code.endswith(f"-{token}")] or [made]
        for one in again:
            self.revoke(by, one.code)
        if first.code == made.code and sum(one.left for one in found if one not in again) > quota:
            self.revoke(by, made.code)
            raise TooManyInvitations
        return first

    def _make(self, by: int, uses: int, days: int, token: str) -> Invitation:
        ends = int(time.time()) + days * A_DAY
        made = Invitation(f"{by}-{ends}-{token}", by, ends, uses)
        self._store.hset(keys.invites(by), {made.code: str(uses)})
        return made

    def of(self, by: int) -> list[Invitation]:
        """The open invitations of a user, the first to end first. Two round trips; one more removes those that have
        ended. One that is used up stays until then: a use may be given back."""
        found = self.all([by])
        ended = [one.code for one in found if one.ends <= time.time()]
        for_each(self._store, lambda pipe, code: pipe.hdel(keys.invites(by), code), ended)
        return [one for one in found if one.is_open]

    def open(self, by: Sequence[int]) -> list[Invitation]:
        """The open invitations of several users, in their order, each user's first to end first. Two round trips."""
        return [one for one in self.all(by) if one.is_open]

    def all(self, by: Sequence[int]) -> list[Invitation]:
        """The same, with those that are not open any more."""
        stored = answers(self._store, lambda pipe, uid: pipe.hgetall(keys.invites(uid)), by)
        found = [
            one
            for of_one in stored.values()
            for one in sorted(filter(None, (read(code, uses) for code, uses in of_one.items())), key=_by_end)
        ]
        used = answers(self._store, lambda pipe, one: pipe.zcard(uses_of(one.code)), found)
        return [replace(one, used=number) for one, number in used.items()]

    def find(self, code: str) -> Invitation:
        """The open invitation with this code; none of a user who is suspended or whose account is deleted. One round
        trip. Raises NotInvited."""
        named = read(code, "0")
        if named is None:
            raise NotInvited
        pipe = self._store.pipeline()
        uses = pipe.hget(keys.invites(named.by), code)
        used = pipe.zcard(uses_of(code))
        inviter = ask_user(pipe, named.by)
        pipe.execute()
        found = read(code, uses.value)
        if found is None or (found.by != OPERATOR and inviter.value is None):
            raise NotInvited
        found = replace(found, used=used.value, inviter=inviter.value.username if inviter.value else "")
        if not found.is_open:
            raise NotInvited
        return found

    def use(self, invitation: Invitation, uid: int) -> Job:
        """Take a use for a user who is about to register, before the fields of the user are written. Returns the job
        that gives it back if nothing comes of it; when the user has the name, it is done. Two round trips. Raises
        NotInvited when none is left: of two people who take the last use at the same moment both may be refused, and
        never both let in."""
        job = Outbox(self._store).add(f"invited:{uid}:{uses_of(invitation.code).rpartition(':')[2]}")
        key = uses_of(invitation.code)
        pipe = job.store.pipeline()
        pipe.zadd(key, {str(uid): int(time.time())})
        pipe.expire(key, max(invitation.ends - int(time.time()), 0) + KEPT)
        taken = pipe.zcard(key)
        pipe.execute()
        if taken.value > invitation.uses:
            self.give_back(job, invitation, uid)
            raise NotInvited
        return job

    def give_back(self, job: Job, invitation: Invitation, uid: int) -> None:
        """The user could not register. Two round trips."""
        job.store.zrem(uses_of(invitation.code), str(uid))
        job.done()

    def revoke(self, by: int, code: str) -> bool:
        """Take an invitation of this user back. Returns whether there was one. Two round trips. The field goes first:
        without it, nobody joins."""
        found = read(code, "0")
        if found is None or found.by != by:
            return False
        was_there = bool(self._store.hdel(keys.invites(by), code))
        self._store.unlink(uses_of(code))
        return was_there


def _by_end(invitation: Invitation) -> tuple[int, str]:
    return invitation.ends, invitation.code


def finish_use(store: Store, claim: Claim) -> None:
    """The job `invited:<uid>:<digest>`: a use stays with a user who has registered; else it is given back. Up to seven
    round trips."""
    uid = job_id(claim.name, 1)
    if not Registration(store).settle(uid):
        store.zrem(keys.uses(claim.name.split(":")[2]), str(uid))
