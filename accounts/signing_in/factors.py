"""The second factor of an account, as far as logging in and confirming it is the user need to know of it.

`credentials:<uid>` has a field for each factor. While there is one, a password alone opens nothing: it only gives the
browser a signed state, which leads to the second step. accounts/second_factor/ has the factors themselves.
"""

from typing import NamedTuple

from django.conf import settings
from django.core import signing
from django.utils.crypto import constant_time_compare, salted_hmac

from retwis_site.store import keys
from retwis_site.store.client import Pipe, Result, Store
from retwis_site.store.ids import digest_of

TOTP, PASSKEY = "totp", "passkey:"  # fields of `credentials:<uid>`, the second is what their names begin with


def ask_has_factor(pipe: Pipe, uid: int) -> Result[bool]:
    """Whether an account has a second factor. Also one that cannot be read counts: what is damaged opens nothing."""
    number = pipe.hlen(keys.credentials(uid))
    return Result(lambda: number.value > 0)


def remove_factors(store: Store, uid: int) -> bool:
    """Remove all factors of an account; its password opens it alone then. Returns whether there were any. One round
    trip.

    What they have served last stays until `cleanup`: a request that has read a factor before could else take the same
    code again.
    """
    return bool(store.unlink(keys.credentials(uid)))


def use_of(field: str, value: str) -> str:
    """The member of `factor_uses:<uid>` for a field of `credentials:<uid>`: another secret has another one."""
    return digest_of(value.rpartition(":")[2] if field == TOTP else field)


# ---- The state between the password and the second factor: a cookie of the browser. It is no session and becomes none
# without the factor. It ends with the password that was typed, and with the generation of the sessions.


PENDING_COOKIE = f"{settings.COOKIE_PREFIX}second"
PENDING_LIVES = 5 * 60  # seconds
_PENDING = "a password that waits for a second factor"


class Pending(NamedTuple):
    """A login whose password was right."""

    uid: int
    generation: str
    digest: str
    language: str

    def signed(self) -> str:
        """For the cookie."""
        return signing.dumps(list(self), salt=_PENDING)


def pending_of(text: str) -> Pending | None:
    """The state in a cookie; None for one that is forged or too old."""
    try:
        return Pending(*signing.loads(text, salt=_PENDING, max_age=PENDING_LIVES))
    except signing.BadSignature:
        return None


def password_digest(encoded: str) -> str:
    """Names the hash of a password without telling it."""
    return salted_hmac(_PENDING, encoded, algorithm="sha256").hexdigest()[:32]


# ---- For ten minutes after a second factor was shown, nothing asks for it again. A cookie says so, for one session.


CONFIRMED_COOKIE = f"{settings.COOKIE_PREFIX}confirmed"
CONFIRMED_FOR = 10 * 60  # seconds
_CONFIRMED = signing.TimestampSigner(salt="a second factor was shown")


def confirmation(secret: str) -> str:
    """For the cookie: that the session with this secret has shown a second factor now."""
    return _CONFIRMED.sign(session_digest(secret))


def is_confirmation(text: str, secret: str) -> bool:
    """Whether the text says so of this session, and is fresh."""
    try:
        told = _CONFIRMED.unsign(text, max_age=CONFIRMED_FOR)
    except signing.BadSignature:
        return False
    return constant_time_compare(told, session_digest(secret))


def session_digest(secret: str) -> str:
    """Names a session in what is signed for it alone."""
    return salted_hmac("session", secret, algorithm="sha256").hexdigest()[:32]
