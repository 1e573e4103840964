"""Pages that are rendered for one request: forms with what was typed, and errors. Other pages are fragments.

`base.html` is the frame of both kinds, so both give it the same names.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.messages import get_messages
from django.http import HttpRequest, HttpResponse
from django.template import loader
from django.utils.cache import get_conditional_response, set_response_etag
from django.utils.functional import SimpleLazyObject

from retwis_site.http import cookies
from retwis_site.http.cookies import csrf_token
from retwis_site.http.language import headers_in
from retwis_site.identity import Site, known_site
from retwis_site.rendering.fragments import NOTHING, Fragment, Html, active_language, joined
from retwis_site.store.local_cache import Memory

# ---- The theme that a visitor chose, stored in a cookie.


THEMES = ("light", "dark")
THEME_COOKIE = f"{settings.COOKIE_PREFIX}theme"


def theme_of(request: HttpRequest) -> str:
    """The choice: `light` or `dark`; empty for the theme of the visitor's system."""
    chosen = request.COOKIES.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else ""


# ---- Whether the keys of the script, such as `j` for the next post, are on. A cookie says that they are off.


SHORTCUTS_COOKIE = f"{settings.COOKIE_PREFIX}shortcuts"
OFF = "off"


def shortcuts_of(request: HttpRequest) -> str:
    """`on` or `off`, as the page tells the script."""
    return OFF if request.COOKIES.get(SHORTCUTS_COOKIE) == OFF else "on"


# ---- Pages


HTML = f"text/html; charset={settings.DEFAULT_CHARSET}"
MESSAGE = Fragment("retwis_site/_message.html")


def page(request: HttpRequest, template: str, context: Mapping[str, Any], status: int = 200) -> HttpResponse:
    """A page that is rendered now. Its template has the context, `request`, and what `base.html` needs: `here` (the
    name of the view), `theme`, `shortcuts`, `messages`, `csrf_token`, and what `of_site` gives."""
    around = {
        "request": request,
        "here": request.resolver_match.view_name if request.resolver_match else "",
        "theme": theme_of(request),
        "shortcuts": shortcuts_of(request),
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
    response = HttpResponse(html, HTML, status)
    response.headers._store.update(headers_in(language)._store)
    return response


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
    host = getattr(request, "allowed_host", None) or request.get_host()
    return f"{request.scheme}://{host}"


# ---- Pages that a process keeps for a second, for all visitors to whom they look the same.


# What a page shows of these cookies decides under which look it is kept. A browser with any other cookie gets a page
# that is made for it.
IMPERSONAL = frozenset({THEME_COOKIE, SHORTCUTS_COOKIE, settings.LANGUAGE_COOKIE_NAME, settings.CSRF_COOKIE_NAME})


class Kept(NamedTuple):
    """A page, and what it was made of besides its look."""

    origin: str  # compared, and no part of the look: with ALLOWED_HOSTS=.example.com, a client has many
    changes: int  # of `Memory`
    html: bytes
    etag: str


# By look: path, language, theme, shortcuts. A page has some 20 KB, so all have 1 MB.
_kept: Memory[tuple[str, str, str, str], Kept] = Memory(size=40, seconds=1)


def kept_for_visitors(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A view whose page is kept for visitors for one second, counted from before it was made. No round trip then. What
    this process has changed since, such as a deleted post, ends it at once.

    The view depends on nothing but the viewer, the origin and the look, and a visitor's page has no token. A kept page
    has an ETag of its content: browsers ask again each time, and get a 304 while it is the same. What the view raises,
    such as a failure of the store, is raised. Not kept: an address with a query; all pages with INSPECT, since each
    shows what it sends to the store, and with DEBUG.
    """

    @wraps(view)
    def kept_view(request: HttpRequest) -> HttpResponse:
        is_impersonal = IMPERSONAL.issuperset(request.COOKIES) and not cookies.may_have_messages(request)
        if settings.INSPECT or settings.DEBUG or request.META.get("QUERY_STRING") or not is_impersonal:
            return view(request)
        language, made_of = active_language(), (origin_of(request), Memory.changes)
        look = (request.path, language, theme_of(request), shortcuts_of(request))
        kept = _kept.get(look)
        if kept is None or kept[:2] != made_of:
            until = _kept.ends()
            made = view(request)
            if made.status_code != 200 or made.cookies:
                return made
            set_response_etag(made)
            kept = _kept.put_until(look, Kept(*made_of, made.content, made["ETag"]), until)
        response = html_response(kept.html, language)
        response["ETag"], response["Cache-Control"] = kept.etag, "no-cache"
        return get_conditional_response(request, kept.etag, None, response) or response

    return kept_view
