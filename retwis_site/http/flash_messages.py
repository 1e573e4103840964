"""Django's messages ("Posted."), which travel in a cookie: no sessions table."""

from collections.abc import Callable

from django.conf import settings
from django.contrib.messages import get_messages
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject, empty


class FlashStorage(CookieStorage):
    cookie_name = f"{settings.COOKIE_PREFIX}messages"


class FlashMiddleware:
    """Django's own MessageMiddleware, for pages of which hardly any has a message: the storage is made when it is asked
    for."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request._messages = SimpleLazyObject(lambda: FlashStorage(request))  # type: ignore[attr-defined]
        response = self._get_response(request)
        if _is_in_use(request):
            get_messages(request).update(response)  # type: ignore[union-attr]
        return response


def waits(request: HttpRequest) -> bool:
    """Whether there may be a message to show."""
    return FlashStorage.cookie_name in request.COOKIES or _is_in_use(request)


def _is_in_use(request: HttpRequest) -> bool:
    return request._messages._wrapped is not empty  # type: ignore[attr-defined]
