"""Rate limits of signing in and registering."""

import hashlib

from django.utils.translation import ngettext_lazy

from retwis_site.store.rate_limits import Limit

LOGINS = Limit(  # for each pair of an account and an address
    *("login", 10, 15 * 60, "wrong passwords"),
    ngettext_lazy(
        "That would be more than %(times)d wrong password in a short time.",
        "That would be more than %(times)d wrong passwords in a short time.",
        "times",
    ),
)
GUESSES = Limit(  # for each address, over all accounts
    *("guess", 200, 15 * 60, "guesses from your network"),
    ngettext_lazy(
        "That would be more than %(times)d guess from your network in a short time.",
        "That would be more than %(times)d guesses from your network in a short time.",
        "times",
    ),
)
REGISTRATIONS = Limit(
    *("register", 30, 3600, "new accounts from your network"),
    ngettext_lazy(
        "That would be more than %(times)d new account from your network in a short time.",
        "That would be more than %(times)d new accounts from your network in a short time.",
        "times",
    ),
)


def login_subject(name: str, address: str) -> str:
    """What LOGINS counts by: a hash of the typed name and the address, 32 hex digits for a name of any length.

    The address is part of it, so that wrong passwords from elsewhere do not lock the owner of the account out.
    """
    return hashlib.sha256(f"{name.lower()}\0{address}".encode(errors="replace")).hexdigest()[:32]
