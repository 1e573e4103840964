"""The site's cookies. All have HttpOnly and SameSite=Lax, and Secure when HTTPS is on."""

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpResponse
from django.utils.functional import Promise


@dataclass(frozen=True)
class PersonalCookie:
    """A cookie about one user. Deleting the account removes it; so does a logout, unless `outlives_logout`."""

    name: str
    outlives_logout: bool = False
    at_login: str | Promise = ""  # what the login page says to a browser that has this cookie


def keep(response: HttpResponse, name: str, value: str, seconds: int) -> None:
    """Set a cookie that the browser keeps for `seconds`."""
    response.set_cookie(name, value, max_age=seconds, httponly=True, samesite="Lax", secure=settings.HTTPS)


def take_back(response: HttpResponse, name: str) -> None:
    """Remove a cookie from the browser."""
    response.delete_cookie(name, samesite="Lax")
