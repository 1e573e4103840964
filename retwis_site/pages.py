"""How a page is put together: from parts that are remembered, with holes that each request fills.

A part is a template that shows nothing but what it is given. Whatever it was rendered to is right for ever, so it is
remembered by its template and its arguments, and found again while these are the same: a post, the head of a page, a
whole page but for its posts. What differs from request to request, such as a form's token, stands in it as a mark, and
is put in when the page is whole.
"""

import os
import secrets
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from django.conf import settings
from django.contrib.messages import get_messages
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CSRF_ALLOWED_CHARS, get_token
from django.template import loader

from retwis_site import flash
from retwis_site.memory import PageMemory

_parts: PageMemory[Hashable, str] = PageMemory(size=5_000, seconds=3600)  # some 10 MB
_fills: dict[str, Callable[[HttpRequest], str]] = {}
_holes: dict[str, str] = defaultdict(lambda: secrets.token_hex(16))  # name: its mark

Holes = Mapping[str, str]  # name: HTML
NOTHING: Holes = {}


def mark(fill: Callable[[HttpRequest], str]) -> str:
    """What stands in a part for text that `fill` gives on each page: text that needs no escaping. Nobody who writes a
    post can guess it."""
    made = secrets.token_hex(16)
    _fills[made] = fill
    return made


def _csrf_token(request: HttpRequest) -> str:
    """As Django's get_token, which takes five times as long, and renews the cookie whenever it is asked. One that the
    browser has stays as long as its login."""
    secret = request.COOKIES.get(settings.CSRF_COOKIE_NAME)
    if secret is None or secret != request.META.get("CSRF_COOKIE"):  # none yet, or one that Django refuses
        return get_token(request)
    return masked(secret)


def masked(secret: str) -> str:
    """The secret as Django's forms carry it: hidden by another mask each time, so that nothing can be learned from how
    well a page compresses (BREACH)."""
    mask = [byte % len(CSRF_ALLOWED_CHARS) for byte in os.urandom(len(secret))]
    hidden = [(_PLACES[char] + by) % len(CSRF_ALLOWED_CHARS) for char, by in zip(secret, mask, strict=True)]
    return "".join([CSRF_ALLOWED_CHARS[place] for place in mask + hidden])


_PLACES = {char: place for place, char in enumerate(CSRF_ALLOWED_CHARS)}

CSRF_TOKEN = mark(_csrf_token)


def part(template: str, arguments: Mapping[str, Hashable]) -> str:
    """A template that shows only these arguments: rendered, or remembered."""
    key = (template, *arguments.values())
    known = _parts.get(key)
    if known is None:
        known = loader.render_to_string(template, {"csrf_token": CSRF_TOKEN, **arguments})
        _parts.put(key, known)
    return known


def page(
    request: HttpRequest, template: str, context: Mapping[str, Any], holes: Holes = NOTHING, status: int = 200
) -> HttpResponse:
    """A page that is rendered anew. Its template has `request`, `user`, `here` (the name of its address), `messages`,
    `csrf_token`, what the context says, and `posts` where there is HTML for a hole of that name."""
    everywhere = {
        "request": request,
        "user": getattr(request, "user", None),
        "here": _here(request),
        "messages": get_messages(request),
        "csrf_token": CSRF_TOKEN,
    }
    html = loader.render_to_string(template, {**everywhere, **_marks(holes), **context})
    return _answer(request, html, holes, status)


def page_of(request: HttpRequest, template: str, shown: Mapping[str, Hashable], holes: Holes) -> HttpResponse:
    """The same for a page that shows nothing but `shown`, with its `user`, and what fills the holes: all but that is
    remembered. While a message waits it is rendered anew."""
    if flash.waits(request):
        return page(request, template, shown, holes)
    return _answer(request, part(template, {"here": _here(request), **_marks(holes), **shown}), holes, 200)


def _here(request: HttpRequest) -> str:
    return request.resolver_match.view_name if request.resolver_match else ""


def _marks(holes: Holes) -> dict[str, str]:
    """Marks for what is there; a hole with nothing for it is empty text already in the template."""
    return {name: _holes[name] if inside else "" for name, inside in holes.items()}


def _answer(request: HttpRequest, html: str, holes: Holes, status: int) -> HttpResponse:
    # What is long comes last: each replacement makes a copy.
    html = _filled(request, html)
    for name, inside in holes.items():
        html = html.replace(_holes[name], _filled(request, inside))
    return HttpResponse(html, status=status)


def _filled(request: HttpRequest, html: str) -> str:
    for made, fill in _fills.items():
        if made in html:
            html = html.replace(made, fill(request))
    return html
