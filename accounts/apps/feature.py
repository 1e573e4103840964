"""Apps of other people, which speak Mastodon's client API: OAuth 2, and what each may do."""

from django.utils.translation import gettext_lazy as _

from accounts.apps.repository import TokenChecks, account_lines
from accounts.signing_in.passwords import HASHING
from accounts.signing_in.tokens import CALLS
from retwis_site.features import Feature
from retwis_site.store.rate_limits import Limit

# For each address: anybody may register an app
APPS = Limit("app", 30, 3600, "new apps from your network", _("Too many new apps from your network in a short time."))
NEW_TOKENS = Limit(
    "token", 120, 3600, "tokens from your network", _("Too many tokens from your network in a short time.")
)
CONSENTS = Limit(
    *("consent", 60, 3600, "apps that were allowed or removed"),
    _("You have allowed or removed too many apps in a short time."),
)

FEATURE = Feature(
    urls="accounts.apps.views",
    slow_views={("POST", address): HASHING for address in ("/oauth/authorize", "/oauth/authorize/")},
    limits=(APPS, NEW_TOKENS, CONSENTS, CALLS),
    searchers=(TokenChecks,),
    account_lines=account_lines,
)
