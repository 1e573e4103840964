"""How often people may try to sign in and register."""

import hashlib

from django.utils.translation import ngettext_lazy

from retwis_site.store.rate_limits import Limit

LOGINS = Limit(  # an account and an address together
    *("login", 10, 15 * 60, "wrong passwords"),
    ngettext_lazy(
        "That would be more than %(times)d wrong password in a short time.",
        "That would be more than %(times)d wrong passwords in a short time.",
        "times",
    ),
)
GUESSES = Limit(  # an address, at whatever accounts
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


def somebody_at(name: str, address: str) -> str:
    """An account as tried from one address: so nobody elsewhere can lock its owner out. Of fixed length, whatever
    somebody types for a name."""
    return hashlib.sha256(f"{name.lower()}\0{address}".encode(errors="replace")).hexdigest()[:32]
