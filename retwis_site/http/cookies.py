"""Every cookie of ours has the same protection: no script reads it, no other site sends it, HTTPS keeps it."""

from django.conf import settings
from django.http import HttpResponse


def keep(response: HttpResponse, name: str, value: str, seconds: int) -> None:
    """Have the browser keep a cookie."""
    response.set_cookie(name, value, max_age=seconds, httponly=True, samesite="Lax", secure=settings.HTTPS)


def take_back(response: HttpResponse, name: str) -> None:
    """Have the browser forget it."""
    response.delete_cookie(name, samesite="Lax")
