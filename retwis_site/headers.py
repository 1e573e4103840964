"""What browsers may do with our pages: nothing but show them, with our own stylesheet and pictures."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

# No scripts, no frames, nothing inline, nothing from elsewhere; forms go to us.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "img-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)


class ContentSecurityPolicy:
    """Says so on every answer; with DEBUG not, since Django's debug pages bring styles and scripts of their own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        if not settings.DEBUG:
            response["Content-Security-Policy"] = POLICY
        return response
