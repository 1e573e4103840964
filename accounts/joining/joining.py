"""How people join: at once, after an approval, or with an invitation, as the site's word `registration` says."""

from accounts.joining.applications import Applications
from accounts.joining.invitations import Invitation, Invitations
from accounts.joining.names import check_name
from accounts.joining.refusals import Closed, NeedsInvitation
from accounts.users.entities import Login, NameTaken
from accounts.users.registration import Registration
from accounts.users.repository import Users
from retwis_site.identity.site import Mode
from retwis_site.store.client import Store


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
        """Make a user; `password` is a Django hash. None when staff has to approve it first. About twelve round trips.
        Raises CannotJoin, NameTaken."""
        invitation = self.check_open(mode, code)
        if Users(self._store).find(username) is not None or Applications(self._store).is_reserved(username):
            raise NameTaken(username)
        check_name(self._store, username)
        if invitation is not None:
            return self._join_invited(username, password, code)
        if mode == "approval":
            Applications(self._store).apply(username, password, why)
            return None
        return Registration(self._store).register(username, password)

    def _join_invited(self, username: str, password: str, code: str) -> Login:
        invitation = Invitations(self._store).use(code)
        try:
            return Registration(self._store).register(username, password, invited_by=invitation.by)
        except NameTaken:
            Invitations(self._store).give_back(invitation)
            raise
