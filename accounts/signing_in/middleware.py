"""Attaches `request.viewer`, and a lazy `request.user`. A page that asks neither costs no round trip.

A page that asks either depends on the cookie. Its response says so to caches: retwis_site/middleware.py.
"""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

from accounts.signing_in.proofs import AppToken
from accounts.signing_in.tokens import OWN
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User, Visitor
from retwis_site.http.apps import bearer_of, is_of_app
from retwis_site.identity import forget
from retwis_site.rendering import just_changed
from retwis_site.store.client import connect


class RetwisRequest(HttpRequest):
    """The type of a request that has passed this middleware, as views get it. For type checkers alone."""

    viewer: Viewer
    LANGUAGE_CODE: str  # of the language of this request
    user: User | Visitor  # type: ignore[assignment]


SITE_CHANGED = f"{settings.COOKIE_PREFIX}site_changed"  # of an admin, whose next pages show what was just changed


class ViewerMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_of_app(request):
            token = bearer_of(request)
            viewer = Viewer(connect(), "" if OWN in token else AppToken(token))
        else:
            viewer = Viewer(connect(), request.COOKIES.get(settings.AUTH_COOKIE, ""), just_changed.read(request))
        if SITE_CHANGED in request.COOKIES:
            forget()
        attached: Any = request
        attached.viewer = viewer
        attached.user = SimpleLazyObject(lambda: viewer.user)
        return self._get_response(request)
