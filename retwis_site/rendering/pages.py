"""Pages that are rendered for one request: forms with what was typed, and errors. Other pages are fragments.

`base.html` is the frame of both kinds, so both give it the same names.
"""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.messages import get_messages
from django.http import HttpRequest, HttpResponse
from django.template import loader
from django.utils.functional import SimpleLazyObject

from retwis_site.http import cookies
from retwis_site.http.cookies import csrf_token
from retwis_site.http.language import headers_in
from retwis_site.identity import Site, known_site
from retwis_site.rendering.fragments import NOTHING, Fragment, Html, active_language, joined

# ---- The theme that a visitor chose, stored in a cookie.


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


# ---- Pages


MESSAGE = Fragment("retwis_site/_message.html")


def page(request: HttpRequest, template: str, context: Mapping[str, Any], status: int = 200) -> HttpResponse:
    """A page that is rendered now. Its template has the context, `request`, and what `base.html` needs: `here` (the
    name of the view), `theme`, `messages`, `csrf_token`, and what `of_site` gives."""
    around = {
        "request": request,
        "here": request.resolver_match.view_name if request.resolver_match else "",
        "theme": theme_of(request),
        "messages": messages(request),
        "title_number": NOTHING,
        "banner": NOTHING,
        **of_site(known_site()),
        "csrf_token": SimpleLazyObject(lambda: csrf_token(request)),  # a page without a form sets no cookie
    }
    return html_response(loader.render_to_string(template, {**around, **context}).encode(), active_language(), status)


def of_site(site: Site) -> dict[str, str]:
    """The site's own words in the frame. The announcement is empty: who sees one is up to the pages of accounts."""
    return {"site_name": site.name, "tagline": site.shown_tagline, "colour": site.colour, "announcement": NOTHING}


def html_response(html: bytes, language: str, status: int = 200) -> HttpResponse:
    """A response with this page, which is in `language`."""
    return HttpResponse(html, status=status, headers=headers_in(language))


def messages(request: HttpRequest) -> Html:
    """The messages for this page ("Posted."), as HTML. Then they count as shown."""
    if not cookies.may_have_messages(request):
        return NOTHING
    stored, language = get_messages(request), active_language()
    if not stored:  # to go through the empty ones would set the cookie
        return NOTHING
    return joined(MESSAGE.fill(language, text=str(one), tags=one.tags or "") for one in stored)


def origin_of(request: HttpRequest) -> str:
    """The site's scheme and host in this request, such as `https://retwis.example`. Raises DisallowedHost."""
    return f"{request.scheme}://{request.get_host()}"
