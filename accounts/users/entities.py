"""Who somebody is. Two tiny classes share `is_authenticated`; neither ever holds a password."""

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from retwis_site.exceptions import Gone, NotFound


@dataclass(frozen=True, slots=True)
class User:
    """Equal only while nothing of it has changed: whether two are the same person, their uids tell."""

    uid: int
    username: str  # as typed at registration
    name: str = ""  # as they want to be called; empty where they did not say

    is_authenticated = True

    @property
    def shown_name(self) -> str:
        return self.name or self.username


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who is not signed in."""

    is_authenticated = False


@dataclass(slots=True)
class Login:
    """A user who has just proved who they are, and the secret that their cookie will carry.

    Not frozen: `django.contrib.auth.authenticate()` notes the backend on it.
    """

    user: User
    secret: str
    language: str = ""  # the code of the one that they have chosen; empty when they have not
    backend: str = ""

    def __repr__(self) -> str:  # the secret stays out of logs
        return f"Login({self.user!r})"


class NoSuchUser(NotFound):
    """Nobody has this name."""


class AccountDeleted(Gone):
    """Whoever had this name has deleted their account."""

    message = _("Whoever had this name has deleted their account.")


class NameTaken(Exception):
    """Somebody has this name, perhaps in other letter case."""


class NotSignedIn(Exception):
    """The page is for users, and the request's cookie names none."""
