"""Links that set a new password once: `/reset/<token>/`. An operator or a moderator makes one and hands it over.

`reset:<digest of the token>` has the user, the generation of the user's sessions, and the user's role. So a link also
ends with a password change, and with whatever else ends all sessions; and what a moderator made for a member opens no
account of staff. UNLINK takes it: its reply tells one of two requests at once that it was first.
"""

import hashlib
import secrets

from accounts.users.entities import State, SuspendedLogin, User
from accounts.users.repository import PERSON, person, state_now
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_id

LIVES = 24 * 3600  # seconds
LONGEST_TOKEN = 100  # characters
MADE_FOR = ("generation", "role")  # fields of a user; a link ends when one of them changes


class ResetLinks:
    """All links."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def make(self, uid: int) -> str:
        """The token of a new link for this user, 43 characters for an address. Two round trips."""
        token = secrets.token_urlsafe(32)
        generation, role = self._store.hmget(keys.user(uid), MADE_FOR)
        self._store.set_ex(_key(token), f"{uid}:{generation or ''}:{role or ''}", LIVES)
        return token

    def owner(self, token: str) -> User | None:
        """The user whose password the link sets; None when it was used, has ended or never was. Two round trips. Raises
        SuspendedLogin."""
        text, _, made_for = (self._store.get(_key(token)) or "").partition(":")
        uid = parse_id(text)
        if uid is None:
            return None
        *about, generation, role = self._store.hmget(keys.user(uid), [*PERSON, *MADE_FOR])
        if made_for != f"{generation or ''}:{role or ''}":
            return None
        username, _, deleted, state, until = about
        if username and deleted is None and state_now(uid, state, until) is State.SUSPENDED:
            raise SuspendedLogin(uid)
        return person(uid, about)

    def claim(self, token: str) -> User | None:
        """Take a link: like `owner`, for one request alone. Three round trips. Raises SuspendedLogin."""
        user = self.owner(token)
        return user if user is not None and self._store.unlink(_key(token)) else None


def _key(token: str) -> str:
    return keys.reset(hashlib.sha256(token[:LONGEST_TOKEN].encode(errors="replace")).hexdigest()[:32])
