"""Ends each page with what it has sent to Redis. Only installed with INSPECT."""

from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from retwis_site.http import cookies
from retwis_site.inspector.changes import COOKIE, SECONDS, Change, Changes
from retwis_site.inspector.panel import panel
from retwis_site.rendering.fragments import active_language
from retwis_site.store.client import connect
from retwis_site.store.connection.recorder import Watch, watching

END = b"</body>"
_OF_PROXIES = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP", "HTTP_VIA")


class InspectorMiddleware:
    """Watches the request. A fragment, a feed or a download stays as it is.

    What it reads of the last form counts as the page's own: the server has been asked for it too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with watching() as watch:
            cookie = request.COOKIES.get(COOKIE) if request.method == "GET" else None
            change = Changes(connect()).read(cookie) if cookie else None
            response = self._get_response(request)
        if not _may_inspect(request):
            return response
        if _is_page(response):
            _add(response, watch, change)
            if cookie and not (change and change.waits):
                cookies.take_back(response, COOKIE)
        elif request.method == "POST":
            what = request.resolver_match.view_name if request.resolver_match else ""
            cookies.keep(response, COOKIE, Changes(connect()).note_form(what, watch), SECONDS)
        return response


# ---- Who may look behind the pages: everybody on a machine of their own, staff where others reach the site.


def _may_inspect(request: HttpRequest) -> bool:
    """Whether this page may show what it sends to Redis. False without INSPECT. No round trip: a viewer whom the view
    has not checked is nobody of staff."""
    if not settings.INSPECT:
        return False
    viewer: Any = getattr(request, "viewer", None)  # a page of an early middleware has none
    return is_at_home(request) or (viewer is not None and viewer.signed_in and viewer.checked.is_staff)


def is_at_home(request: HttpRequest) -> bool:
    """Whether nobody else reaches the site: it has no public name and no proxy, and the browser is on this machine."""
    if settings.PUBLIC or settings.TRUSTED_PROXIES or settings.CSRF_TRUSTED_ORIGINS:
        return False
    return not any(name in request.META for name in _OF_PROXIES) and _is_loopback(request.META.get("REMOTE_ADDR", ""))


@lru_cache(maxsize=1000)
def _is_loopback(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return address.is_loopback


# ---- The end of a page


def _is_page(response: HttpResponse) -> bool:
    """Whether it is a whole page of HTML."""
    return (
        not response.streaming
        and response.get("Content-Type", "").startswith("text/html")
        and response.content.endswith(b"</html>\n")
    )


def _add(response: HttpResponse, watch: Watch, change: Change | None) -> None:
    page = response.content
    end = page.rfind(END)
    response.content = b"".join([memoryview(page)[:end], panel(watch, change, active_language()), page[end:]])
