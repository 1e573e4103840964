"""Ends each page with what it has sent to Redis. Only installed with INSPECT."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from retwis_site.http import cookies
from retwis_site.inspector.audience import may_inspect
from retwis_site.inspector.changes import COOKIE, SECONDS, Change, Changes
from retwis_site.inspector.panel import panel
from retwis_site.rendering.fragments import active_language
from retwis_site.store.client import connect
from retwis_site.store.connection.recorder import Watch, watching

END = b"</body>"


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
        if not may_inspect(request):
            return response
        if _is_page(response):
            _add(response, watch, change)
            if cookie and not (change and change.waits):
                cookies.take_back(response, COOKIE)
        elif request.method == "POST":
            what = request.resolver_match.view_name if request.resolver_match else ""
            cookies.keep(response, COOKIE, Changes(connect()).note_form(what, watch), SECONDS)
        return response


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
