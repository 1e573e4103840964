"""The site's cookies. All are protected alike: no script reads them, no other site sends them, HTTPS keeps them."""

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpResponse


@dataclass(frozen=True)
class PersonalCookie:
    """A cookie that is about one user. It ends with their account; with a logout too, unless `outlives_logout`."""

    name: str
    outlives_logout: bool = False


def keep(response: HttpResponse, name: str, value: str, seconds: int) -> None:
    """Set a cookie that the browser keeps for `seconds`."""
    response.set_cookie(name, value, max_age=seconds, httponly=True, samesite="Lax", secure=settings.HTTPS)


def take_back(response: HttpResponse, name: str) -> None:
    """Remove a cookie from the browser."""
    response.delete_cookie(name, samesite="Lax")
