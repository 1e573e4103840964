"""Why somebody cannot join now."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class CannotJoin(Exception):
    """A registration is refused. `text` says why."""

    text: Promise = _("You cannot join this site at the moment.")


class Closed(CannotJoin):
    text = _("Nobody can join this site at the moment.")


class NotInvited(CannotJoin):
    text = _("This invitation has been used, has ended, or was taken back. Ask for another one.")


class NeedsInvitation(CannotJoin):
    text = _("You need an invitation to join this site.")


class NameRefused(CannotJoin):
    text = _("This name cannot be used here. Choose another one.")


class TooManyWait(CannotJoin):
    text = _("Too many people wait for an answer. Try again in some days.")


class TooManyInvitations(CannotJoin):
    text = _("You have as many open invitations as you may have.")


class NotYetMember(Exception):
    """The right password of somebody whose application is not approved. `text` says how it stands."""

    def __init__(self, text: Promise | str) -> None:
        super().__init__()
        self.text = text
