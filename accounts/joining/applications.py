"""Applications of people who ask to join. Each is one field of the hash `applications`: the lower-cased name -> JSON.

HSETNX on the name decides between two people who ask for it. An account exists only after the approval, which is a
plain registration; so nothing has to hide an account that is not approved. Staff's answer is a field of the same hash
until it is carried out (`accounts/community/acts.py`). The sorted set `applicants` names those that wait, so that
one command counts them.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from django.contrib.auth.hashers import check_password
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from accounts.users.entities import NameTaken, Refused
from accounts.users.repository import Users
from retwis_site.jobs.outbox import Claim, Outbox
from retwis_site.store import keys
from retwis_site.store.client import Repository, Store
from retwis_site.store.ids import note_bad

MOST_WAITING = 500
KEPT = 30 * 24 * 3600  # seconds that a refused applicant can read the answer
LONGEST_WHY = 500  # characters
NAME_TAKEN = gettext_noop("Someone else has this name, or one that looks like it. Ask again with another name.")
ANSWER = "answer:"  # what the field of an answer begins with


class TooManyWait(Refused):
    message = _("Too many people wait for an answer. Try again in some days.")


class NotYetMember(Exception):
    """The right password of somebody whose application is not approved. `text` says how it stands."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


@dataclass(frozen=True, slots=True)
class Application:
    """Somebody asks to join."""

    username: str
    password: str  # a Django hash
    why: str
    at: int  # unix seconds
    refused: int = 0  # unix seconds; 0: it waits for an answer
    reason: str = ""  # of the refusal

    @property
    def member(self) -> str:
        """In the sorted set of those that wait."""
        return f"{self.username.lower()}:{self.at}"

    def __repr__(self) -> str:  # the hash stays out of logs
        return f"Application({self.username!r})"

    @property
    def is_over(self) -> bool:
        """Whether it was refused so long ago that the name is free again."""
        return 0 < self.refused < time.time() - KEPT


class Applications(Repository):
    """All applications."""

    def apply(self, username: str, password: str, why: str) -> None:
        """Ask to join; `password` is a Django hash. Commit: HSETNX. Seven round trips. Old refusals go, and
        older ones make room. Raises NameTaken, TooManyWait."""
        if Users(self._store).find(username) is not None:
            raise NameTaken(username)
        stored = self._read()
        waiting = sum(not one.refused for one in stored)
        if waiting >= MOST_WAITING:
            raise TooManyWait
        asked = Application(username, password, why, int(time.time()))
        job = Outbox(self._store).add(f"applied:{asked.member}")
        pipe = job.store.pipeline()
        for one in old_refusals(stored, MOST_WAITING - waiting):
            pipe.hdel(keys.applications(), one.username.lower())
        added = pipe.hsetnx(keys.applications(), username.lower(), stored_application(asked))
        pipe.execute()
        if not added.value:
            job.done()
            raise NameTaken(username)
        with job.ending():
            Applications(job.store).list_waiting(asked)

    def list_waiting(self, asked: Application) -> None:
        """Write that an application waits. Two round trips. An answer that comes between takes it out again."""
        self._store.zadd(keys.applicants(), {asked.member: asked.at})
        found = self.find(asked.username)  # read after the write
        if found is None or found.refused or found.at != asked.at:
            self._store.zrem(keys.applicants(), asked.member)

    def is_reserved(self, username: str) -> bool:
        """Whether somebody has asked for this name, or was refused of late. One round trip."""
        found = self.find(username)
        return found is not None and not found.is_over

    def all(self) -> list[Application]:
        """Those that wait, oldest first. One round trip."""
        return sorted((one for one in self._read() if not one.refused), key=lambda one: (one.at, one.username))

    def _read(self) -> list[Application]:
        """Those that wait, and those that were refused. One round trip."""
        stored = self._store.hgetall(keys.applications())
        texts = (text for field, text in stored.items() if not field.startswith(ANSWER))
        return [one for text in texts if (one := read_application(text)) is not None]

    def find(self, username: str) -> Application | None:
        """The application for this name. One round trip."""
        text = self._store.hget(keys.applications(), username.lower())
        return None if text is None else read_application(text)

    def tell(self, username: str, passwords: Sequence[str], otherwise: Callable[[Sequence[str]], object]) -> None:
        """Raises NotYetMember for the right password of an applicant, in one of its forms. Else `otherwise` gets them,
        so that every name costs the same hashes. One round trip."""
        asked = self.find(username)
        if asked is None:
            otherwise(passwords)
        elif any(check_password(one, asked.password) for one in passwords):
            raise NotYetMember(_outcome(asked))


def finish_applying(store: Store, claim: Claim) -> None:
    """The job `applied:<name>:<at>`. Three round trips at most."""
    asked = Applications(store).find(claim.name.split(":")[1])
    if asked is not None and claim.name == f"applied:{asked.member}":
        Applications(store).list_waiting(asked)


def old_refusals(stored: Sequence[Application], room: int) -> list[Application]:
    """The refusals that are over; the oldest ones too when there are more than `room`."""
    refused = sorted((one for one in stored if one.refused), key=lambda one: one.refused, reverse=True)
    return [one for place, one in enumerate(refused) if place >= room or one.is_over]


def _outcome(asked: Application) -> str:
    if not asked.refused:
        return str(_("The people who run this site have not answered yet. Try again later."))
    refusal = str(_("The people who run this site have refused your application."))
    return f"{refusal} {gettext(asked.reason) if asked.reason else ''}".strip()  # NAME_TAKEN has a translation


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
