"""Decorators that restrict a view to POST or to users, and the addresses that a request may be redirected to."""

from collections.abc import Callable
from functools import update_wrapper
from typing import Concatenate, ParamSpec, cast
from urllib.parse import unquote, urlencode, urlsplit

from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from accounts.signing_in.middleware import RetwisRequest
from accounts.users.entities import NotSignedIn, User

P = ParamSpec("P")


def change(view: Callable[P, HttpResponseBase]) -> Callable[P, HttpResponseBase]:
    """Marks a view that changes something. It answers POST alone, so `page_of_form` never returns its address."""
    guarded = require_POST(view)
    guarded.is_change = True  # type: ignore[attr-defined]
    return guarded


def open_to_frozen(view: Callable[P, HttpResponseBase]) -> Callable[P, HttpResponseBase]:
    """Marks a view whose POST a frozen user may send: it changes nothing that others see."""
    view.open_to_frozen = True  # type: ignore[attr-defined]
    return view


def login_required(
    view: Callable[Concatenate[RetwisRequest, User, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Gives the view the signed-in user, after the request. Redirects visitors to the login page. Round trips as for
    `request.user`.

    After the login they return to this page. A redirect cannot repeat a POST, so after one they return to the page that
    has the form.
    """

    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        retwis_request = cast(RetwisRequest, request)
        try:
            me = retwis_request.viewer.require_user()
        except NotSignedIn:
            after = request.get_full_path() if request.method in {"GET", "HEAD"} else page_of_form(request)
            return to_login(after)
        return view(retwis_request, me, *args, **kwargs)

    update_wrapper(guarded, view)
    return guarded


def to_login(after: str) -> HttpResponseRedirect:
    """A redirect to the login page, which leads on to `after`."""
    return HttpResponseRedirect(f"{reverse('login')}?{urlencode({'next': after})}")


def page_of_form(request: HttpRequest) -> str:
    """The path and query of this site's page that has the form, from the Referer header; "/" when that is unknown.

    A form with an error is shown at the address of a `change`. That address answers no GET, so "/" is returned.
    """
    try:
        parts = urlsplit(request.META.get("HTTP_REFERER", ""))
        view = resolve(unquote(parts.path)).func
    except (Resolver404, ValueError):  # the header may hold anything
        return "/"
    if parts.netloc != request.get_host():
        return "/"
    if getattr(view, "is_change", False):
        return "/"
    return own_page(request, f"{parts.path}?{parts.query}" if parts.query else parts.path)


def own_page(request: HttpRequest, address: str) -> str:
    """The address when it is a path of this site, else "/"."""
    is_safe = url_has_allowed_host_and_scheme(address, allowed_hosts=None, require_https=request.is_secure())
    return address if is_safe and address.startswith("/") and not address.startswith("//") else "/"
