"""The colours that a visitor chose, kept in a cookie."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from retwis_site.http import cookies

THEMES = ("light", "dark")
THEME_COOKIE = f"{settings.COOKIE_PREFIX}theme"
THEME_LIVES = 365 * 24 * 3600  # seconds


def theme_of(request: HttpRequest) -> str:
    """What the visitor chose: `light` or `dark`; empty to be what their system is."""
    chosen = request.COOKIES.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else ""


def keep_theme(response: HttpResponse, theme: str) -> None:
    """Let the browser remember a choice, or that there is none."""
    if not theme:
        cookies.take_back(response, THEME_COOKIE)
        return
    cookies.keep(response, THEME_COOKIE, theme, THEME_LIVES)
