"""The security headers of every answer: what a browser may load and do on a page of the site."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

# No frames, nothing inline, nothing from other sites. Forms and scripts send requests to this site only.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class BrowserHeaders:
    """Sets them on every answer. It stands before the middleware that answers itself, so static files and redirects to
    HTTPS have them too.

    With DEBUG there is no policy, since Django's debug pages have inline styles and scripts."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response
        self._headers = {k: v for k, v in HEADERS.items() if not (settings.DEBUG and k == "Content-Security-Policy")}

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        for name, value in self._headers.items():
            response.headers[name] = value
        return response
