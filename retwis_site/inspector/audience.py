"""Who may look behind the pages: everybody on a machine of their own, staff where others reach the site."""

from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.http import HttpRequest


def may_inspect(request: HttpRequest) -> bool:
    """Whether this page may show what it sends to Redis. False without INSPECT. No round trip: a viewer whom the view
    has not checked is nobody of staff."""
    if not settings.INSPECT:
        return False
    viewer: Any = getattr(request, "viewer", None)  # a page of an early middleware has none
    return is_at_home(request) or (viewer is not None and viewer.signed_in and viewer.is_staff)


def is_at_home(request: HttpRequest) -> bool:
    """Whether nobody else reaches the site: it has no public name and no proxy, and the browser is on this machine."""
    if settings.PUBLIC or settings.TRUSTED_PROXIES or settings.CSRF_TRUSTED_ORIGINS:
        return False
    return not any(name in request.META for name in _OF_PROXIES) and _is_loopback(request.META.get("REMOTE_ADDR", ""))


_OF_PROXIES = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP", "HTTP_VIA")


@lru_cache(maxsize=1000)
def _is_loopback(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return address.is_loopback
