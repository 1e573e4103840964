"""What staff does, in words."""

from django.utils.translation import gettext_lazy as _

from accounts.community.sanctions import GRANTED, REFUSED
from accounts.users.entities import Role, State
from timeline.moderation.reports.entities import PREFIX, Action

LABELS = {
    State.FROZEN: _("Account frozen"),
    State.HIDDEN: _("Account hidden"),
    State.SUSPENDED: _("Account suspended"),
    "lifted": _("Sanction lifted"),
    GRANTED: _("Appeal granted"),
    REFUSED: _("Appeal refused"),
    Action.DISMISS: _("No rule was broken"),
    Action.WARN: _("Person warned"),
    Action.DELETE: _("Post deleted"),
    "post:deleted": _("Post deleted"),
    f"role:{Role.MEMBER}": _("Role taken away"),
    f"role:{Role.MODERATOR}": _("Made a moderator"),
    f"role:{Role.ADMIN}": _("Made an admin"),
    "joining:approved": _("Application approved"),
    "joining:refused": _("Application refused"),
    "site": _("Site changed"),
    "link": _("Link for a new password made"),
}


def in_words(what: str) -> str:
    """An act in words, without what of the site has changed; an act of another version as it is stored."""
    name = "site" if what.startswith("site:") else what.removeprefix(PREFIX)
    return str(LABELS.get(name, what))
