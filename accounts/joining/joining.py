"""How people join: at once, after an approval, or with an invitation, as the site's word `registration` says."""

from contextlib import suppress
from typing import NamedTuple

from accounts.joining.applications import Applications
from accounts.joining.invitations import Invitation, Invitations
from accounts.joining.names import check_name
from accounts.joining.refusals import Closed, NeedsInvitation, NotInvited
from accounts.users.entities import Login, NameTaken
from accounts.users.registration import Registration
from accounts.users.repository import Users, ask_owners
from retwis_site.exceptions import LeaseEnded
from retwis_site.identity import Mode
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_number, stored_names

# ---- The newest users, and who has invited them.


MOST = 50
LOOKED_AT = 200  # of the newest users, when a page names whom one person has invited


class Newcomer(NamedTuple):
    username: str
    invited_by: str  # a username; empty for the operator


def newcomers(store: Store) -> list[Newcomer]:
    """Those of the newest MOST users who were invited, newest first. Four round trips. An inviter whose account is gone
    counts as the operator."""
    by = _inviters(store, MOST)
    people = Users(store).people({uid for uid in by.values() if uid})
    return [Newcomer(name, people[uid].username if uid in people else "") for name, uid in by.items()]


def invited_by(store: Store, uid: int) -> list[str]:
    """The usernames of those of the newest LOOKED_AT users whom this user has invited, newest first. Three round
    trips."""
    return [name for name, by in _inviters(store, LOOKED_AT).items() if by == uid]


def _inviters(store: Store, number: int) -> dict[str, int]:
    """By username, newest first, who has invited those of the newest users who were invited; 0: the operator."""
    names = stored_names(keys.users_by_time(), store.zrevrange(keys.users_by_time(), 0, number - 1))
    if not names:
        return {}
    pipe = store.pipeline()
    owners = ask_owners(pipe, names)
    pipe.execute()
    asked = {name: pipe.hget(keys.user(uid), "invited_by") for name, uid in owners.value.items()}
    pipe.execute()
    return {name: parse_number(field.value) or 0 for name, field in asked.items() if field.value is not None}


# ---- Joining


class Joining:
    """Makes accounts of strangers, by the rules of the site."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def check_open(self, mode: Mode, code: str) -> Invitation | None:
        """The invitation with this code, if there is one. One round trip with a code, else none. Raises CannotJoin."""
        if mode == "closed":
            raise Closed
        if code:
            return Invitations(self._store).find(code)
        if mode == "invite":
            raise NeedsInvitation
        return None

    def join(self, mode: Mode, username: str, password: str, why: str, code: str) -> Login | None:
        """Make a user; `password` is a Django hash. None when staff has to approve it first. About fifteen round trips.
        Raises CannotJoin, NameTaken."""
        invitation = self.check_open(mode, code)
        if Users(self._store).find(username) is not None or Applications(self._store).is_reserved(username):
            raise NameTaken(username)
        check_name(self._store, username)
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
