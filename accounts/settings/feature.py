"""The settings: profile, password, appearance, language, and deleting the account."""

from django.utils.translation import gettext_lazy as _

from accounts.settings.limits import EDITS
from retwis_site.features import Feature
from retwis_site.http.form_fields import FormField

FEATURE = Feature(
    urls="accounts.settings.urls",
    limits=(EDITS,),
    form_fields={
        "settings": (FormField("name", "text", _("Display name")), FormField("bio", "textarea", _("About you"))),
    },
)
