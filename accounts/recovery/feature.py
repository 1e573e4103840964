"""Recovery of an account without e-mail: codes, and links that staff hands over."""

from django.utils.translation import gettext_lazy as _

from accounts.signing_in.forms import NewPasswordForm, PresentPasswordForm
from accounts.signing_in.passwords import HASHING
from retwis_site.features import Feature
from retwis_site.http.form_fields import FormField, fields_of, hidden
from retwis_site.maintenance.lines import lines_of
from retwis_site.store import keys
from retwis_site.store.rate_limits import Limit

# ---- Rate limits of the recovery of accounts.


# For each pair of an account and an address, as for logins
CODES = Limit("recover", 10, 15 * 60, "wrong recovery codes", _("Too many wrong recovery codes in a short time."))
# For each address, over all accounts; links count too
RECOVERIES = Limit(
    "recovery", 60, 15 * 60, "recoveries from your network", _("Too many attempts from your network in a short time.")
)
NEW_CODES = Limit("codes", 20, 3600, "new recovery codes", _("Too many attempts in a short time."))


# ---- What it declares


FEATURE = Feature(
    urls="accounts.recovery.views",
    first_page="recovery",  # unless a later feature knows what comes before
    slow_views={("POST", "recover"): HASHING, ("POST", "recovery"): HASHING},
    limits=(CODES, RECOVERIES, NEW_CODES),
    site_lines=(lines_of(keys.user.fields["recovery:<hash>"]),),
    form_fields={
        "recover": (
            FormField("username", "text", _("Username")),
            FormField("code", "password", _("Recovery code")),
            *fields_of(NewPasswordForm),
            *hidden("next"),
        ),
        "reset": fields_of(NewPasswordForm),
        "recovery": (*fields_of(PresentPasswordForm), *hidden("next")),
    },
)
