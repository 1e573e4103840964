"""Users and visitors. Two small classes share `is_authenticated`; neither ever holds a password."""

from dataclasses import dataclass
from typing import NamedTuple

from django.utils.translation import gettext_lazy as _

from retwis_site.exceptions import Gone, NotFound


class User(NamedTuple):
    """A user as read. Two objects about one user differ after a change of name: compare their uids instead."""

    uid: int
    username: str  # as typed at registration
    name: str = ""  # the display name; empty when none is set

    @property
    def is_authenticated(self) -> bool:
        return True

    @property
    def shown_name(self) -> str:
        return self.name or self.username


@dataclass(frozen=True, slots=True)
class Visitor:
    """A viewer who is not signed in."""

    is_authenticated = False


@dataclass(slots=True)
class Login:
    """A user who has just signed in or registered, and the secret for the cookie.

    Not frozen: `django.contrib.auth.authenticate()` sets `backend`.
    """

    user: User
    secret: str
    language: str = ""  # the code of the chosen language; empty when none was chosen
    backend: str = ""

    def __repr__(self) -> str:  # the secret stays out of logs
        return f"Login({self.user!r})"


class NoSuchUser(NotFound):
    """No user has this name."""


class AccountDeleted(Gone):
    """The account with this name is deleted."""

    message = _("This account was deleted.")


class NameTaken(Exception):
    """A user has this name, perhaps in another letter case."""


class NotSignedIn(Exception):
    """The page is for users, and the request has no cookie of one."""
