"""Django's messages ("Posted."), stored in a cookie: the site has no sessions table."""

from functools import cached_property
from weakref import proxy

from django.conf import settings
from django.contrib.messages import get_messages
from django.contrib.messages.storage.base import BaseStorage
from django.contrib.messages.storage.cookie import CookieStorage
from django.core import signing
from django.http import HttpRequest, HttpResponseBase


class FlashStorage(CookieStorage):
    """Like Django's, but makes its signer only when it is used: few pages have a message.

    The request knows its storage, and the storage only weakly knows the request. Else both, with all that the request
    holds, would stay in memory until the garbage collector finds them."""

    cookie_name = f"{settings.COOKIE_PREFIX}messages"

    def __init__(self, request: HttpRequest) -> None:
        BaseStorage.__init__(self, proxy(request))

    @cached_property
    def signer(self) -> signing.Signer:
        return signing.get_cookie_signer(salt=self.key_salt)

    def update(self, response: HttpResponseBase) -> None:
        """Django's returns the oldest messages when they found no room. With DEBUG its middleware would fail then."""
        super().update(response)


def may_have_messages(request: HttpRequest) -> bool:
    """Whether there may be a message to show. It does not read the cookie's text."""
    if FlashStorage.cookie_name in request.COOKIES:
        return True
    storage = get_messages(request)  # an empty list for an answer of an earlier middleware
    return isinstance(storage, FlashStorage) and storage.added_new
