"""Which requests a view takes, where they came from, and where they lead."""

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
from accounts.users.entities import NotSignedIn

P = ParamSpec("P")


def change(view: Callable[P, HttpResponseBase]) -> Callable[P, HttpResponseBase]:
    """A view that changes something: it takes a POST, so nothing leads back to its address."""
    guarded = require_POST(view)
    guarded.is_change = True  # type: ignore[attr-defined]
    return guarded


def login_required(
    view: Callable[Concatenate[RetwisRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Send visitors to the login page, and from there back: to this page, or, since a redirect cannot repeat a POST,
    to the page whose form they sent. Round trips as for `request.user`."""

    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        known = cast(RetwisRequest, request)
        try:
            known.viewer.require_user()
        except NotSignedIn:
            here = request.get_full_path() if request.method in {"GET", "HEAD"} else page_of_form(request)
            return to_login(here)
        return view(known, *args, **kwargs)

    update_wrapper(guarded, view)
    return guarded


def to_login(after: str) -> HttpResponseRedirect:
    """To the login page, which leads on to `after`."""
    return HttpResponseRedirect(f"{reverse('login')}?{urlencode({'next': after})}")


def page_of_form(request: HttpRequest) -> str:
    """The path of our page that a form was sent from, as far as the browser tells; else home. A form that came back
    with an error stands at the address of a change, which is none to return to."""
    try:
        parts = urlsplit(request.META.get("HTTP_REFERER", ""))
        view = resolve(unquote(parts.path)).func
    except (Resolver404, ValueError):  # it may be anything
        return "/"
    if parts.netloc != request.get_host():
        return "/"
    if getattr(view, "is_change", False):
        return "/"
    return own_page(request, f"{parts.path}?{parts.query}" if parts.query else parts.path)


def own_page(request: HttpRequest, address: str) -> str:
    """The address when it is the path of one of our pages, else home."""
    ours = url_has_allowed_host_and_scheme(address, allowed_hosts=None, require_https=request.is_secure())
    return address if ours and address.startswith("/") and not address.startswith("//") else "/"
