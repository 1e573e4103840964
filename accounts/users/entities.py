"""Users and visitors. Two small classes share `is_authenticated`; neither ever holds a password."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from retwis_site.exceptions import Gone, NotDone, NotFound
from retwis_site.rendering.dates import A_DAY

OPERATOR = 0  # instead of a uid: the operator, who runs a command, or the site itself


class State(StrEnum):
    """What staff has imposed on a user: the field `state` of `user:<uid>`."""

    NONE = ""
    FROZEN = "frozen"  # reads, and cannot change anything that others see
    HIDDEN = "hidden"  # is seen by followers and on their own page alone
    SUSPENDED = "suspended"  # as if deleted, until it is lifted


UNSEEN = (State.HIDDEN, State.SUSPENDED)  # no number counts such a person


class Role(StrEnum):
    """What a user may do on the site: the field `role` of `user:<uid>`, which follows the hash `staff`."""

    MEMBER = "member"
    MODERATOR = "moderator"
    ADMIN = "admin"


SUSPENDED_FOR = 30 * A_DAY  # after it, a suspension without an end becomes a deletion


class Sanction(NamedTuple):
    """What staff has imposed on a user."""

    state: State
    until: int  # unix seconds; 0: until it is lifted
    reason: str
    since: int  # unix seconds
    act_id: str  # of the act that imposed it

    @property
    def deleted_at(self) -> int:
        """When the account will be deleted, in unix seconds; 0 for what is no suspension without an end."""
        return self.since + SUSPENDED_FOR if self.state is State.SUSPENDED and not self.until else 0


class User(NamedTuple):
    """A user as read. Two objects about one user differ after a change of name: compare their uids instead."""

    uid: int
    username: str  # as typed at registration
    name: str = ""  # the display name; empty when none is set
    state: State = State.NONE  # never SUSPENDED: such a user is not found
    colour: str = ""  # one of COLOURS; empty: it follows from the uid
    picture: str = ""  # the digest of the profile picture; empty: it is of initials

    @property
    def is_authenticated(self) -> bool:
        return True

    @property
    def shown_name(self) -> str:
        """The display name, or `@` and the username."""
        return self.name or f"@{self.username}"


@dataclass(frozen=True, slots=True)
class Visitor:
    """A viewer who is not signed in."""

    is_authenticated = False


@dataclass(slots=True)
class Verified:
    """A user whose password was right: a session may begin. Not frozen: `authenticate()` of Django sets `backend`."""

    user: User
    generation: str = ""  # of the user's sessions, as read with the password
    language: str = ""  # the code of the chosen language; empty when none was chosen
    since: int | None = None  # when the password was typed, in unix seconds; None: now
    way: str = ""  # how it was shown who it is: a `Way` of a session
    is_new: bool = False  # as `StoredPassword.is_new`
    digest: str = ""  # of the hash of the password, when a second factor must follow it; empty: a session may begin
    backend: str = ""


class NoSuchUser(NotFound):
    """No user has this name."""


class AccountDeleted(Gone):
    """The account with this name is deleted."""

    message = _("This account was deleted.")


class AccountSuspended(AccountDeleted):
    """The account with this name is suspended."""

    title = _("Suspended")
    message = _("This account is suspended.")


class Refused(NotDone):
    """What somebody wanted was not done. `message` says why, in a sentence for them."""

    message: Promise

    def __str__(self) -> str:
        return str(self.message)


class NameTaken(Refused):
    """A user has this name, perhaps in another letter case."""

    message = _("This username is taken. Choose another one.")


class AccountFrozen(Exception):
    """The viewer is frozen, and the request would change something."""


class SuspendedLogin(Exception):
    """The password or the link is right, but the account is suspended: neither does anything but show the reason."""

    def __init__(self, uid: int) -> None:
        super().__init__(str(uid))
        self.uid = uid


class NotSignedIn(Exception):
    """The page is for users, and the request has no cookie of one. `log_in_first` makes its answer."""
