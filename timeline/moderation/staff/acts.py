"""What staff does, in words."""

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.community.sanctions import GRANTED, REFUSED
from accounts.community.site.forms import SiteForm
from accounts.users.entities import Role, State
from retwis_site.http.language import listed
from timeline.moderation.reports.entities import PREFIX, Action

SITE = "site:"  # what a change of the site's words is called in the log, before the names of the fields

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
    "link": _("Link for a new password made"),
}


def in_words(what: str) -> str:
    """An act in words; an act of another version as it is stored. A change of the site names the changed fields."""
    if what.startswith(SITE):
        names = what.removeprefix(SITE).split(",")
        fields = [str(SiteForm.base_fields[name].label) if name in SiteForm.base_fields else name for name in names]
        return gettext("Site changed: %(fields)s") % {"fields": listed(*fields)}
    return str(LABELS.get(what.removeprefix(PREFIX), what))
