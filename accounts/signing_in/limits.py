"""Rate limits of signing in and registering."""

import hashlib

from django.utils.translation import gettext_lazy as _

from retwis_site.store.rate_limits import Limit

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
