"""Applications of people who ask to join. Each is one field of the hash `applications`: the lower-cased name -> JSON.

HSETNX on the name decides between two people who ask for it. An account exists only after the approval, which is a
plain registration; so nothing has to hide an account that is not approved.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from django.contrib.auth.hashers import check_password
from django.utils.translation import gettext_lazy as _

from accounts.joining.refusals import NotYetMember, TooManyWait
from accounts.users.entities import NameTaken
from accounts.users.registration import Registration
from accounts.users.repository import Users
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import note_bad

MOST_WAITING = 500
KEPT = 30 * 24 * 3600  # seconds that a refused applicant can read the answer
LONGEST_WHY = 500  # characters


@dataclass(frozen=True, slots=True)
class Application:
    """Somebody asks to join."""

    username: str
    password: str  # a Django hash
    why: str
    at: int  # unix seconds
    refused: int = 0  # unix seconds; 0: it waits for an answer
    reason: str = ""  # of the refusal

    def __repr__(self) -> str:  # the hash stays out of logs
        return f"Application({self.username!r})"


class Applications:
    """All applications."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def apply(self, username: str, password: str, why: str) -> None:
        """Ask to join; `password` is a Django hash. Three round trips. Raises NameTaken, TooManyWait."""
        if Users(self._store).find(username) is not None:
            raise NameTaken(username)
        pipe = self._store.pipeline()
        before = pipe.hget(keys.applications(), username.lower())
        number = pipe.hlen(keys.applications())
        pipe.execute()
        self._remove_if_old(username, before.value)
        if number.value >= MOST_WAITING:
            raise TooManyWait
        asked = Application(username, password, why, int(time.time()))
        if not self._store.hsetnx(keys.applications(), username.lower(), stored_application(asked)):
            raise NameTaken(username)

    def is_reserved(self, username: str) -> bool:
        """Whether somebody has asked for this name. One round trip."""
        return self._store.hexists(keys.applications(), username.lower())

    def all(self) -> list[Application]:
        """Those that wait, oldest first. One round trip; one more removes old refusals."""
        stored = self._store.hgetall(keys.applications())
        for name, text in stored.items():
            self._remove_if_old(name, text)
        found = [one for text in stored.values() if (one := read_application(text)) is not None and not one.refused]
        return sorted(found, key=lambda one: (one.at, one.username))

    def find(self, username: str) -> Application | None:
        """The application for this name. One round trip."""
        text = self._store.hget(keys.applications(), username.lower())
        return None if text is None else read_application(text)

    def approve(self, username: str) -> bool:
        """Make the account. False when nobody waits under this name, or somebody else has it. About ten round trips.

        The registration is the commit, and the application goes after it. An application that a crash has left behind
        finds its own account at the second try, and goes."""
        asked = self.find(username)
        if asked is None or asked.refused:
            return False
        try:
            Registration(self._store).register(asked.username, asked.password)
            made = True
        except NameTaken:
            uid = Users(self._store).find(username)
            made = uid is not None and self._store.hget(keys.user(uid), "password") == asked.password
        self._store.hdel(keys.applications(), username.lower())
        return made

    def refuse(self, username: str, reason: str) -> bool:
        """Say no; the applicant reads the reason at the next login. False when nobody waits. Two round trips."""
        asked = self.find(username)
        if asked is None or asked.refused:
            return False
        answer = replace(asked, refused=int(time.time()), reason=reason)
        self._store.hset(keys.applications(), {username.lower(): stored_application(answer)})
        return True

    def tell(self, username: str, password: str, otherwise: Callable[[str], object]) -> None:
        """Raises NotYetMember for the right password of an applicant. Else `otherwise` gets the password, so that every
        name costs one hash. One round trip."""
        asked = self.find(username)
        if asked is None:
            otherwise(password)
        elif check_password(password, asked.password):
            raise NotYetMember(_outcome(asked))

    def _remove_if_old(self, name: str, text: str | None) -> None:
        found = read_application(text) if text is not None else None
        if text is not None and (found is None or (found.refused and found.refused + KEPT < time.time())):
            self._store.hdel(keys.applications(), name.lower())


def _outcome(asked: Application) -> str:
    if not asked.refused:
        return str(_("The people who run this site have not answered yet. Try again later."))
    refusal = str(_("The people who run this site have refused your application."))
    return f"{refusal} {asked.reason}".strip()


def stored_application(asked: Application) -> str:
    return json.dumps(asdict(asked), ensure_ascii=False, sort_keys=True)


def read_application(text: str) -> Application | None:
    """None for a text that is no application."""
    try:
        found = Application(**json.loads(text))
    except (ValueError, TypeError, RecursionError):
        note_bad(keys.applications(), "an application")
        return None
    texts, numbers = (found.username, found.password, found.why, found.reason), (found.at, found.refused)
    is_whole = all(isinstance(one, str) for one in texts) and all(isinstance(one, int) for one in numbers)
    return found if is_whole else None
