"""Rate limits of the settings."""

from django.utils.translation import gettext_lazy as _

from retwis_site.store.rate_limits import Limit

EDITS = Limit(
    *("edit", 60, 3600, "changes to a profile"),
    _("Too many changes to your profile in a short time. The limit is %(times)d."),
)
SESSIONS = Limit(
    *("session", 60, 3600, "devices that were logged out"),
    _("Too many devices logged out in a short time. The limit is %(times)d."),
)
PASSWORD_FORMS = Limit(  # forms that ask for the current password, right or wrong, from any address
    *("password", 20, 3600, "password changes and deletions"),
    _("Too many attempts in a short time. The limit is %(times)d."),
)
