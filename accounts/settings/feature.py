"""The settings: profile, password, sessions, appearance, language, and deleting the account."""

from django.utils.translation import gettext_lazy as _

from accounts.signing_in.passwords import HASHING
from retwis_site.features import Feature
from retwis_site.http.form_fields import NEW_PASSWORD, PASSWORD, FormField, hidden
from retwis_site.store.rate_limits import Limit

# ---- Rate limits of the settings.


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


# ---- What it declares


FEATURE = Feature(
    urls="accounts.settings.views",
    slow_views={("POST", "password"): HASHING, ("POST", "delete_account"): HASHING},
    limits=(EDITS, PASSWORD_FORMS, SESSIONS),
    uploads=("settings",),
    form_fields={
        "settings": (
            FormField("name", "text", _("Display name")),
            FormField("bio", "textarea", _("About you")),
            FormField("picture", "file", _("Picture")),
            FormField("header", "file", _("Header")),
        ),
        "password": (PASSWORD, *NEW_PASSWORD),
        "delete_account": (PASSWORD, *hidden("last_admin")),
    },
)
