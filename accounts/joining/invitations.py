"""Invitations. Each is a field of `invites:<uid>`, of the user who invites; those of the operator are in `invites:0`.

The field is the code, `<uid>-<end>-<random>`; its value says how many uses are left. So a code leads to its own hash,
says itself when it ends, and nothing can disagree.
"""

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass

from accounts.joining.refusals import NotInvited, TooManyInvitations
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_number

OPERATOR = 0
DAYS = 14
MOST_USES = 1000
MOST_DAYS = 3650
LONGEST_CODE = 60


@dataclass(frozen=True, slots=True)
class Invitation:
    """An open invitation. `by` is 0 for one of the operator."""

    code: str
    by: int
    ends: int  # unix seconds
    left: int  # uses


def read(code: str, left: str | None) -> Invitation | None:
    """An open invitation; None for one that has ended or was used up, and for any other text."""
    by, _, rest = code.partition("-")
    ends, _, random = rest.partition("-")
    found = parse_number(by), parse_number(ends), parse_number(left or "")
    if None in found or not random or len(code) > LONGEST_CODE:
        return None
    invitation = Invitation(code, found[0] or 0, found[1] or 0, found[2] or 0)
    return invitation if invitation.left > 0 and invitation.ends > time.time() else None


class Invitations:
    """The invitations of all users and of the operator."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def make(self, by: int = OPERATOR, uses: int = 1, days: int = DAYS, quota: int | None = None) -> Invitation:
        """A new invitation. Two round trips. Raises TooManyInvitations above a quota of open uses: of two that are made
        at once, both may be refused, and none is made above it."""
        ends = int(time.time()) + days * 24 * 3600
        code = f"{by}-{ends}-{secrets.token_hex(8)}"
        pipe = self._store.pipeline()
        pipe.hset(keys.invites(by), {code: str(uses)})
        stored = pipe.hgetall(keys.invites(by))
        pipe.execute()
        if quota is not None and sum(one.left for one in open_ones(stored.value)) > quota:
            self.revoke(by, code)
            raise TooManyInvitations
        return Invitation(code, by, ends, uses)

    def of(self, by: int) -> list[Invitation]:
        """The open invitations of a user, the first to end first. One round trip; one more removes those that are not
        open any more."""
        stored = self._store.hgetall(keys.invites(by))
        found = open_ones(stored)
        pipe = self._store.pipeline()
        for code in stored.keys() - {one.code for one in found}:
            pipe.hdel(keys.invites(by), code)
        pipe.execute()
        return found

    def find(self, code: str) -> Invitation:
        """The open invitation with this code. One round trip. Raises NotInvited."""
        by = parse_number(code.partition("-")[0])
        if by is None or len(code) > LONGEST_CODE:
            raise NotInvited
        found = read(code, self._store.hget(keys.invites(by), code))
        if found is None:
            raise NotInvited
        return found

    def use(self, code: str) -> Invitation:
        """Take a use of an invitation. Two round trips. Raises NotInvited.

        One command decides, HINCRBY: of two people with the last use, one gets a number below 0, and gives it back. A
        crash before the registration loses the use, and gives nobody one too many."""
        found = self.find(code)
        if self._store.hincrby(keys.invites(found.by), code, -1) < 0:
            self.give_back(found)
            raise NotInvited
        return found

    def give_back(self, invitation: Invitation) -> None:
        """The registration failed. One round trip."""
        self._store.hincrby(keys.invites(invitation.by), invitation.code, 1)

    def revoke(self, by: int, code: str) -> None:
        """Take an invitation back. One round trip."""
        self._store.hdel(keys.invites(by), code)


def open_ones(stored: Mapping[str, str]) -> list[Invitation]:
    """The open invitations in a hash of invitations, the first to end first."""
    found = [one for code, left in stored.items() if (one := read(code, left)) is not None]
    return sorted(found, key=lambda one: (one.ends, one.code))
