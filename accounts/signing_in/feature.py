"""Signing in: registration and login, sessions, rate limits."""

import hashlib

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from accounts.signing_in.passwords import HASHING
from accounts.signing_in.sessions.checks import SessionChecks, account_lines, remove_sessions
from accounts.signing_in.sessions.repository import finish_auth
from retwis_site.features import Feature
from retwis_site.http.cookies import PersonalCookie
from retwis_site.http.form_fields import FormField
from retwis_site.rendering import just_changed
from retwis_site.store.rate_limits import Limit

# ---- Rate limits of signing in and registering.


LOGINS = Limit(  # for each pair of an account and an address
    *("login", 10, 15 * 60, "wrong passwords"),
    _("Too many wrong passwords in a short time. The limit is %(times)d."),
)
ATTEMPTS = Limit(  # for each address, over all accounts: a right password costs a hash, as a wrong one does
    *("attempt", 200, 15 * 60, "logins from your network"),
    _("Too many login attempts from your network in a short time. The limit is %(times)d."),
)
REGISTRATIONS = Limit(
    *("register", 30, 3600, "new accounts from your network"),
    _("Too many new accounts from your network in a short time. The limit is %(times)d."),
)


def login_subject(name: str, address: str) -> str:
    """What LOGINS counts by: a hash of the typed name and the address, 32 hex digits for a name of any length.

    The address is part of it, so that wrong passwords from elsewhere do not lock the owner of the account out.
    """
    return hashlib.sha256(f"{name.lower()}\0{address}".encode(errors="replace")).hexdigest()[:32]


# ---- What it declares


_USERNAME = FormField("username", "text", _("Username"))

FEATURE = Feature(
    urls="accounts.signing_in.views",
    slow_views={("POST", "login"): HASHING, ("POST", "register"): HASHING},
    jobs={"auth": finish_auth},
    limits=(LOGINS, ATTEMPTS, REGISTRATIONS),
    inconsistencies=lambda store: SessionChecks(store).inconsistencies(),
    orphans=lambda store: SessionChecks(store).orphans(),
    account_lines=account_lines,
    remove_account=remove_sessions,
    form_fields={
        "login": (_USERNAME, FormField("password", "password", _("Password")), FormField("next", "hidden")),
        "register": (
            _USERNAME,
            FormField("password1", "password", _("Password")),
            FormField("password2", "password", _("Repeat password")),
            FormField("why", "textarea", _("Why do you want to join?")),
            FormField("code", "hidden"),
        ),
    },
    cookies=(PersonalCookie(settings.AUTH_COOKIE), PersonalCookie(just_changed.COOKIE)),
)
