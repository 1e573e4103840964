"""Requests of apps, which speak Mastodon's client API: no cookie counts there, every answer is JSON, and a page of any
other site may read it (CORS). https://docs.joinmastodon.org/client/intro/
"""

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import ResponseHeaders

_ADDRESSES = (
    "/api/",
    "/oauth/token",
    "/oauth/revoke",
    "/.well-known/oauth-authorization-server",
    "/.well-known/nodeinfo",
    "/nodeinfo/",
)
METHODS = "GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE"
CORS = ResponseHeaders(
    {
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Allow-Methods": METHODS,
        "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key",
        "Access-Control-Expose-Headers": "Link, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, "
        "X-Request-Id",
        "Access-Control-Max-Age": "86400",
    }
)


def is_of_app(request: HttpRequest) -> bool:
    """Whether the address is one of those that apps ask."""
    return request.path_info.startswith(_ADDRESSES)


def bearer_of(request: HttpRequest) -> str:
    """The token in `Authorization: Bearer ...`; empty without one."""
    scheme, _, token = str(request.META.get("HTTP_AUTHORIZATION", "")).partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def refusal(status: int, error: str, details: Mapping[str, object] | None = None) -> HttpResponse:
    """An error as apps read it."""
    return JsonResponse({"error": error, **(details or {})}, status=status, json_dumps_params={"ensure_ascii": False})


def preflight() -> HttpResponse:
    """What a browser asks before it sends a page's request to another site; SiteMiddleware adds the headers."""
    return HttpResponse(status=204)
