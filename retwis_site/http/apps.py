"""Requests of apps, which speak Mastodon's client API: no cookie counts there, every answer is JSON, and a page of any
other site may read it (CORS). https://docs.joinmastodon.org/client/intro/
"""

import json
from collections.abc import Iterable, Mapping

from django.http import HttpRequest, HttpResponse
from django.http.response import ResponseHeaders

_ADDRESSES = (
    "/api/",
    "/oauth/token",
    "/oauth/revoke",
    "/.well-known/oauth-authorization-server",
    "/.well-known/nodeinfo",
    "/nodeinfo/",
)
JSON = "application/json; charset=utf-8"
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
    return json_response({"error": error, **(details or {})}, status)


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Json(bytes):
    """A value that is written already. As bytes: one emoji would make a whole page of text four times as long."""


def written(found: object) -> Json:
    """Compact JSON, in UTF-8."""
    return Json(_encode(found).encode())


def json_response(found: object, status: int = 200) -> HttpResponse:
    """Compact JSON, in UTF-8."""
    return HttpResponse(found if isinstance(found, Json) else written(found), JSON, status)


def list_of(items: Iterable[Json]) -> Json:
    """Items that are written already, as a list."""
    return Json(b"[%b]" % b",".join(items))


def preflight() -> HttpResponse:
    """What a browser asks before it sends a page's request to another site; SiteMiddleware adds the headers."""
    return HttpResponse(status=204)
