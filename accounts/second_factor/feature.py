"""A second factor beside the password: authenticator apps, passkeys, and recovery codes."""

from django.utils.translation import gettext_lazy as _

from accounts.second_factor.upkeep import PASSKEYS, TOTPS, FactorChecks, account_lines
from accounts.signing_in.forms import PresentPasswordForm
from accounts.signing_in.passwords import HASHING
from retwis_site.features import Feature
from retwis_site.http.form_fields import FormField, fields_of, hidden
from retwis_site.store.rate_limits import Limit

# ---- Rate limits. The first one counts by account alone: only a person with the password, or with an open session,
# gets that far, so no stranger locks out the owner.


FACTORS = Limit("factor", 10, 3600, "wrong second factors", _("Too many wrong codes in a short time."))
# For each address, over all accounts; logins with a passkey alone count too
FROM_ADDRESS = Limit(
    *("factors", 200, 15 * 60, "second factors from your network"),
    _("Too many attempts from your network in a short time."),
)
# Forms that ask for the current password, right or wrong
CHANGES = Limit("security", 30, 3600, "changes of second factors", _("Too many attempts in a short time."))

# ---- What it declares


FEATURE = Feature(
    urls="accounts.second_factor.views",
    slow_views={("POST", "add_totp"): HASHING, ("POST", "add_passkey"): HASHING},
    limits=(FACTORS, FROM_ADDRESS, CHANGES),
    searchers=(FactorChecks,),
    account_lines=account_lines,
    site_lines=(TOTPS, PASSKEYS),
    form_fields={
        **{name: (FormField("code", "password", _("Code")), *hidden("next")) for name in ("second_step", "confirm")},
        "passkey_login": hidden("next"),
        **dict.fromkeys(("add_totp", "add_passkey"), fields_of(PresentPasswordForm)),
    },
)
