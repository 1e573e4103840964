"""How people join: at once, after an approval, or with an invitation, as the site's word `registration` says; and under
which names."""

import time
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import NamedTuple

from django.urls import get_resolver
from django.utils.translation import gettext_lazy as _

from accounts.joining.applications import Applications
from accounts.joining.invitations import Invitation, Invitations, NotInvited
from accounts.users.entities import OPERATOR, Login, NameTaken, Refused
from accounts.users.names import skeletons
from accounts.users.registration import Registration
from accounts.users.repository import Users, ask_owners
from retwis_site.exceptions import LeaseEnded
from retwis_site.identity import Mode
from retwis_site.store import keys
from retwis_site.store.chunks import answer, answers
from retwis_site.store.client import Repository, Store
from retwis_site.store.ids import parse_number, stored_names

# ---- The newest users, and who has invited them.


MOST = 50
LOOKED_AT = 200  # of the newest users, when a page names whom one person has invited


class Newcomer(NamedTuple):
    username: str
    invited_by: str  # a username; empty for the operator


def newcomers(store: Store) -> list[Newcomer]:
    """Those of the newest MOST users who were invited, newest first. Four round trips; one more when an inviter is
    suspended or deleted. An inviter without a stored name counts as the operator."""
    by = _inviters(store, MOST)
    people = Users(store).people({*by.values()} - {OPERATOR})
    gone = {*by.values()} - {OPERATOR, *people}
    names = answers(store, lambda pipe, uid: pipe.hget(keys.user(uid), "username"), gone)
    names |= {uid: person.username for uid, person in people.items()}
    return [Newcomer(name, names.get(uid) or "") for name, uid in by.items()]


def invited_by(store: Store, uid: int) -> list[str]:
    """The usernames of those of the newest LOOKED_AT users whom this user has invited, newest first. Three round
    trips."""
    return [name for name, by in _inviters(store, LOOKED_AT).items() if by == uid]


def _inviters(store: Store, number: int) -> dict[str, int]:
    """By username, newest first, who has invited those of the newest users who were invited; 0: the operator."""
    names = stored_names(keys.users_by_time(), store.zrevrange(keys.users_by_time(), 0, number - 1))
    if not names:
        return {}
    uids = answer(store, ask_owners, names)
    by = answers(store, lambda pipe, name: pipe.hget(keys.user(uids[name]), "invited_by"), uids)
    return {name: parse_number(field) or 0 for name, field in by.items() if field is not None}


# ---- Names that nobody may register: words of the site, and words that staff has blocked; also what looks like them.


WORDS = (
    *("admin", "administrator", "moderator", "mod", "root", "support", "help", "staff", "team", "official", "operator"),
    *("system", "security", "abuse", "info", "contact", "webmaster", "postmaster", "everyone", "nobody", "me", "you"),
)
MOST_BLOCKED = 1000


def is_reserved(name: str) -> bool:
    """Whether the name is, or looks like, a word of the site or the beginning of one of its addresses."""
    firsts = {str(pattern.pattern).partition("/")[0] for pattern in get_resolver().url_patterns}
    taken = {skeleton for word in (*WORDS, *firsts) if word.isalnum() for skeleton in skeletons(word)}
    return not taken.isdisjoint(skeletons(name))


class NameRefused(Refused):
    message = _("This name cannot be used here. Choose another one.")


class BlockedNames(Repository):
    """Names that staff has blocked: a word stands for itself and what looks like it, and `*` for any letters."""

    def add(self, word: str) -> None:
        """Block a word; existing accounts stay. One round trip."""
        self._store.hset(keys.blocked_names(), {word.lower(): str(int(time.time()))})

    def remove(self, word: str) -> None:
        """One round trip."""
        self._store.hdel(keys.blocked_names(), word.lower())

    def all(self) -> list[str]:
        """One round trip."""
        return sorted(self._store.hgetall(keys.blocked_names()))

    def has(self, name: str) -> bool:
        """Whether a word blocks this name. One round trip."""
        shapes = {name.lower(), *skeletons(name)}
        patterns = {shape for word in self.all() for shape in (word, *skeletons(word))}
        return any(fnmatchcase(shape, pattern) for shape in shapes for pattern in patterns)


def check_name(store: Store, name: str) -> None:
    """Two round trips. Raises NameRefused for a name that is reserved, blocked, or looks like an account's."""
    similar = store.hmget(keys.skeletons(), skeletons(name))
    if any(similar) or is_reserved(name) or BlockedNames(store).has(name):
        raise NameRefused


# ---- Joining


class Closed(Refused):
    message = _("Nobody can join this site at the moment.")


class NeedsInvitation(Refused):
    message = _("You need an invitation to join this site.")


class Joining(Repository):
    """Makes accounts of strangers, by the rules of the site."""

    def check_open(self, mode: Mode, code: str) -> Invitation | None:
        """The open invitation with this code, if there is one: where people may join without, a code that has ended is
        none. One round trip with a code, else none. Raises Refused."""
        if mode == "closed":
            raise Closed
        if code:
            try:
                return Invitations(self._store).find(code)
            except NotInvited:
                if mode == "invite":
                    raise
        elif mode == "invite":
            raise NeedsInvitation
        return None

    def check_name(self, username: str) -> None:
        """Four round trips. Raises NameTaken, also for the name of an application, and NameRefused."""
        if Users(self._store).find(username) is not None or Applications(self._store).is_reserved(username):
            raise NameTaken(username)
        check_name(self._store, username)

    def join(self, mode: Mode, username: str, password: str, why: str, code: str) -> Login | None:
        """Make a user; `password` is a Django hash. None when staff has to approve it first. About fifteen round trips.
        Raises Refused."""
        invitation = self.check_open(mode, code)
        self.check_name(username)
        if invitation is not None:
            return self._join_invited(username, password, invitation)
        if mode == "approval":
            Applications(self._store).apply(username, password, why)
            return None
        return Registration(self._store).register(username, password)

    def _join_invited(self, username: str, password: str, invitation: Invitation) -> Login:
        """The use is taken under the new uid, before the fields from which a worker could finish the registration: so
        nobody joins without a use. A use without a registration is given back."""
        registration, invitations = Registration(self._store), Invitations(self._store)
        begun = registration.begin(username)
        try:
            use = invitations.use(invitation, begun.uid)
        except NotInvited:
            registration.give_up(begun)
            raise
        try:
            login = registration.complete(begun, password, {"invited_by": str(invitation.by)})
        except NameTaken:
            invitations.give_back(use, invitation, begun.uid)
            raise
        with suppress(LeaseEnded):
            use.done()
        return login
