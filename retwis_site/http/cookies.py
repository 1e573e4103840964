"""The site's cookies, and Django's two: messages ("Posted."), since there is no sessions table, and the CSRF token.

All have HttpOnly and SameSite=Lax, and Secure when HTTPS is on.
"""

import os
from dataclasses import dataclass
from weakref import proxy

from django.conf import settings
from django.contrib.messages import get_messages
from django.contrib.messages.storage.base import BaseStorage
from django.contrib.messages.storage.cookie import CookieStorage
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CSRF_ALLOWED_CHARS, get_token
from django.utils.functional import Promise, cached_property

CHOICE_LIVES = 365 * 24 * 3600  # seconds


@dataclass(frozen=True)
class PersonalCookie:
    """A cookie about one user. Deleting the account removes it; so does a logout, unless `outlives_logout`."""

    name: str
    outlives_logout: bool = False
    at_login: str | Promise = ""  # what the login page says to a browser that has this cookie


def keep(response: HttpResponse, name: str, value: str, seconds: int) -> None:
    """Set a cookie that the browser keeps for `seconds`."""
    response.set_cookie(name, value, max_age=seconds, httponly=True, samesite="Lax", secure=settings.HTTPS)


def take_back(response: HttpResponse, name: str) -> None:
    """Remove a cookie from the browser."""
    response.delete_cookie(name, samesite="Lax")


def keep_choice(response: HttpResponse, name: str, chosen: str) -> None:
    """Let the browser keep a choice, such as that of the language, for CHOICE_LIVES seconds. An empty one removes the
    cookie."""
    if chosen:
        keep(response, name, chosen, CHOICE_LIVES)
    else:
        take_back(response, name)


# ---- Messages


class FlashStorage(CookieStorage):
    """Like Django's, but makes its signer only when it is used: few pages have a message. The oldest ones go where a
    cookie has no room for all.

    The request knows its storage, and the storage only weakly knows the request. Else both, with all that the request
    holds, would stay in memory until the garbage collector finds them."""

    cookie_name = f"{settings.COOKIE_PREFIX}messages"

    def __init__(self, request: HttpRequest) -> None:
        BaseStorage.__init__(self, proxy(request))

    @cached_property
    def signer(self) -> signing.Signer:
        return signing.get_cookie_signer(salt=self.key_salt)


def may_have_messages(request: HttpRequest) -> bool:
    """Whether there may be a message to show. It does not read the cookie's text."""
    if FlashStorage.cookie_name in request.COOKIES:
        return True
    storage = get_messages(request)  # an empty list for an answer of an earlier middleware
    return isinstance(storage, FlashStorage) and storage.added_new


# ---- The CSRF token of a form: like Django's `get_token`, in a fifth of the time.


def csrf_token(request: HttpRequest) -> str:
    """The token for a form, 64 characters. A valid cookie stays as it is; Django's `get_token` would renew it on each
    page."""
    secret = request.COOKIES.get(_CSRF_COOKIE)
    if secret is None or secret != request.META.get("CSRF_COOKIE"):  # no cookie, or Django refuses it
        return get_token(request)
    return masked(secret)


def masked(secret: str) -> str:
    """The secret encrypted with a new random mask, as in Django's forms. So the compressed size of a page does not
    reveal the secret (BREACH)."""
    mask = os.urandom(len(secret)).translate(_TO_INDEXES)
    # Both are below 128 in each byte, so the sum of two long numbers is the sum of each pair.
    both = int.from_bytes(mask) + int.from_bytes(secret.encode().translate(_INDEXES))
    return (mask + both.to_bytes(len(secret))).translate(_TO_CHARS).decode()


_CSRF_COOKIE = settings.CSRF_COOKIE_NAME
_INDEXES = bytes.maketrans(CSRF_ALLOWED_CHARS.encode(), bytes(range(len(CSRF_ALLOWED_CHARS))))
_TO_INDEXES = bytes(byte % len(CSRF_ALLOWED_CHARS) for byte in range(256))
_TO_CHARS = bytes(ord(CSRF_ALLOWED_CHARS[index]) for index in _TO_INDEXES)
