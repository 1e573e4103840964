"""What browsers may do with our pages: show them, with our own stylesheet, pictures and scripts."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

# No frames, nothing inline, nothing from elsewhere; forms and scripts' requests go to us.
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
    """Says so on every answer, static files and redirects to HTTPS among them: it stands before all other middleware.
    With DEBUG without a policy, since Django's debug pages bring styles and scripts of their own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response
        self._said = {k: v for k, v in HEADERS.items() if not (settings.DEBUG and k == "Content-Security-Policy")}

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        for name, value in self._said.items():
            response.headers[name] = value
        return response
