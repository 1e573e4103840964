"""Rate limits of the recovery of accounts."""

from django.utils.translation import gettext_lazy as _

from retwis_site.store.rate_limits import Limit

CODES = Limit(  # for each pair of an account and an address, as for logins
    *("recover", 10, 15 * 60, "wrong recovery codes"),
    _("Too many wrong recovery codes in a short time. The limit is %(times)d."),
)
RECOVERIES = Limit(  # for each address, over all accounts; links count too
    *("recovery", 60, 15 * 60, "recoveries from your network"),
    _("Too many attempts from your network in a short time. The limit is %(times)d."),
)
NEW_CODES = Limit(
    *("codes", 20, 3600, "new recovery codes"),
    _("Too many attempts in a short time. The limit is %(times)d."),
)
