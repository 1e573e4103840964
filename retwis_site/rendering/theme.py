"""The theme that a visitor chose, stored in a cookie."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from retwis_site.http import cookies

THEMES = ("light", "dark")
THEME_COOKIE = f"{settings.COOKIE_PREFIX}theme"
THEME_LIVES = 365 * 24 * 3600  # seconds


def theme_of(request: HttpRequest) -> str:
    """The choice: `light` or `dark`; empty for the theme of the visitor's system."""
    chosen = request.COOKIES.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else ""


def keep_theme(response: HttpResponse, theme: str) -> None:
    """Store the choice in a cookie for THEME_LIVES seconds; an empty `theme` removes the cookie."""
    if not theme:
        cookies.take_back(response, THEME_COOKIE)
        return
    cookies.keep(response, THEME_COOKIE, theme, THEME_LIVES)
