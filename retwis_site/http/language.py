"""Which language a visitor reads: what they have chosen in this browser, else what it says that they like."""

from collections.abc import Callable
from functools import lru_cache

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.translation.trans_real import LANGUAGE_CODE_MAX_LENGTH as LOOKED_AT

from retwis_site.http import cookies

CODES = frozenset(code for code, _ in settings.LANGUAGES)
COOKIE = settings.LANGUAGE_COOKIE_NAME
LIVES = 365 * 24 * 3600  # seconds


class LanguageMiddleware:
    """Speaks it while a request is answered, and not a moment longer: the same thread answers the next one. What a
    stream makes later is in the site's own language.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        translation.activate(language_of(request))
        try:
            return self._get_response(request)
        finally:
            translation.deactivate()


def language_of(request: HttpRequest) -> str:
    """The code of one of the site's languages: `en`, `de`, `ar`."""
    chosen = request.COOKIES.get(COOKIE, "")
    return chosen if chosen in CODES else _liked(_shortened(request.META.get("HTTP_ACCEPT_LANGUAGE", "")))


def _shortened(header: str) -> str:
    """What Django looks at of an Accept-Language. Strangers may send more, which nobody should remember."""
    if len(header) <= LOOKED_AT:
        return header
    return header[:LOOKED_AT].rpartition(",")[0]


@lru_cache(maxsize=1000)
def _liked(header: str) -> str:
    """What Django makes of an Accept-Language."""
    request = HttpRequest()
    request.META["HTTP_ACCEPT_LANGUAGE"] = header
    return translation.get_language_from_request(request)


def headers_in(language: str) -> dict[str, str]:
    """The headers of an answer in this language. It depends on two of the request's: on the cookies also for who is
    there, and for the colours."""
    return {"Content-Language": language, "Vary": "Accept-Language, Cookie"}


def keep_language(response: HttpResponse, code: str) -> None:
    """Have the browser remember a choice."""
    cookies.keep(response, COOKIE, code, LIVES)
