"""Recovery of an account without e-mail: codes, and links that staff hands over."""

from django.utils.translation import gettext_lazy as _

from accounts.recovery.limits import CODES, NEW_CODES, RECOVERIES
from accounts.recovery.links import LIVES
from accounts.recovery.site_lines import RECOVERY_CODES
from accounts.signing_in.passwords import HASHING
from retwis_site.features import Feature
from retwis_site.http.form_fields import FormField

FEATURE = Feature(
    urls="accounts.recovery.urls",
    slow_views={("POST", "recover"): HASHING, ("POST", "recovery"): HASHING},
    limits=(CODES, RECOVERIES, NEW_CODES),
    temporary_keys={"reset:*": LIVES},
    site_lines=(RECOVERY_CODES,),
    form_fields={
        "recover": (
            FormField("username", "text", _("Username")),
            FormField("code", "text", _("Recovery code")),
            FormField("password1", "password", _("New password")),
            FormField("password2", "password", _("Repeat new password")),
        ),
    },
)
