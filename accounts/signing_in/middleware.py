"""Attaches `request.visit`, and with it a lazy `request.user`. A page that asks neither costs no round trip.

A page that did ask differs from visitor to visitor, and tells caches so.
"""

from collections.abc import Callable
from typing import cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.utils.functional import SimpleLazyObject

from accounts.signing_in.viewer import Visit
from accounts.users.entities import User, Visitor
from retwis_site.store.client import connect


class RetwisRequest(HttpRequest):
    """What views get, for type checkers: a request that has passed this middleware."""

    visit: Visit
    user: User | Visitor  # type: ignore[assignment]


class VisitMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        visit = Visit(connect(), request.COOKIES.get(settings.AUTH_COOKIE, ""))
        known = cast(RetwisRequest, request)
        known.visit = visit
        known.user = cast(User, SimpleLazyObject(lambda: visit.user))
        response = self._get_response(request)
        if visit.asked:
            if "Vary" not in response:
                response["Vary"] = "Cookie"
            elif "Cookie" not in response["Vary"]:
                patch_vary_headers(response, ["Cookie"])
            if visit.signed_in:
                response.setdefault("Cache-Control", "private, no-cache")
        return response
