"""The settings: profile, password, sessions, appearance, language, and deleting the account."""

from django.utils.translation import gettext_lazy as _

from accounts.settings.limits import EDITS, PASSWORD_FORMS, SESSIONS
from accounts.signing_in.passwords import HASHING
from retwis_site.features import Feature
from retwis_site.http.form_fields import FormField

FEATURE = Feature(
    urls="accounts.settings.urls",
    slow_views={("POST", "password"): HASHING, ("POST", "delete_account"): HASHING},
    limits=(EDITS, PASSWORD_FORMS, SESSIONS),
    form_fields={
        "settings": (FormField("name", "text", _("Display name")), FormField("bio", "textarea", _("About you"))),
    },
)
