"""Django's messages ("Posted."), stored in a cookie: the site has no sessions table."""

from collections.abc import Callable
from functools import partial
from weakref import proxy

from django.conf import settings
from django.contrib.messages import get_messages
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject, empty


class FlashStorage(CookieStorage):
    cookie_name = f"{settings.COOKIE_PREFIX}messages"


class FlashMiddleware:
    """Like Django's MessageMiddleware, but makes the storage only when it is used: few pages have a message.

    The request knows its storage, and the storage only weakly knows the request. Else both, with all that the request
    holds, would stay in memory until the garbage collector finds them."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request._messages = SimpleLazyObject(partial(FlashStorage, proxy(request)))  # type: ignore[attr-defined]
        response = self._get_response(request)
        if _is_in_use(request):
            get_messages(request).update(response)  # type: ignore[union-attr]
        return response


def may_have_messages(request: HttpRequest) -> bool:
    """Whether there may be a message to show. It does not read the cookie's text."""
    return FlashStorage.cookie_name in request.COOKIES or _is_in_use(request)


def _is_in_use(request: HttpRequest) -> bool:
    storage = getattr(request, "_messages", None)  # an answer of an earlier middleware has none
    return storage is not None and storage._wrapped is not empty
