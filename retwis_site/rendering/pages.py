"""A page is made of cached fragments with slots that each request fills.

A fragment is a rendered template that depends only on its arguments and its language. So it never becomes wrong, and
the cache key is the template, the language and the arguments. A post is a fragment, and so is a whole page without its
posts. What differs from request to request, such as a form's token, has a slot. A template renders a placeholder for
each slot, the HTML is split at the placeholders, and a page is its pieces joined. Pieces are bytes as they are sent, so
no page is searched, copied or encoded again.
"""

import re
import secrets
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.contrib.messages import get_messages
from django.http import HttpRequest, HttpResponse
from django.template import loader
from django.utils.translation import get_language

from retwis_site.http import flash_messages
from retwis_site.http.csrf import csrf_token
from retwis_site.http.language import headers_in
from retwis_site.rendering.theme import theme_of
from retwis_site.store.local_cache import PageMemory

Pieces = Sequence[bytes | str]  # HTML as it is sent, and the names of the slots between
Slots = Mapping[str, Pieces]  # what fills the slots, by name

EMPTY: Slots = {}

_fragments: PageMemory[Hashable, Pieces] = PageMemory(size=5_000, seconds=3600)  # some 30 MB
_slot_functions: dict[str, Callable[[HttpRequest], str]] = {}  # by the slot's name; called for each page
_SECRET = secrets.token_hex(16)  # the author of a post cannot guess it, so no post contains a placeholder
_PLACEHOLDER = re.compile(f"{_SECRET}-([a-z_]+)-")


def slot(name: str) -> str:
    """The placeholder that a template shows where the slot is to be."""
    return f"{_SECRET}-{name}-"


def slot_filled_by(name: str, fill: Callable[[HttpRequest], str]) -> str:
    """A placeholder for a slot that `fill` fills on each page: with HTML, or with text that needs no escaping."""
    _slot_functions[name] = fill
    return slot(name)


def cut_at_slots(html: str) -> Pieces:
    """HTML split at its placeholders: bytes, a slot's name, bytes, and so on. The first and the last are bytes."""
    return tuple(piece if index % 2 else piece.encode() for index, piece in enumerate(_PLACEHOLDER.split(html)))


CSRF_TOKEN = slot_filled_by("csrf_token", csrf_token)


def page(
    request: HttpRequest, template: str, context: Mapping[str, Any], slots: Slots = EMPTY, status: int = 200
) -> HttpResponse:
    """A page that is rendered now. Its template has `request`, `user`, `here` (the name of the view), `theme`,
    `messages`, `csrf_token`, the context, and a placeholder for each slot that is not empty."""
    common = {
        "request": request,
        "user": getattr(request, "user", None),
        "here": _here(request),
        "theme": theme_of(request),
        "messages": get_messages(request),
        "csrf_token": CSRF_TOKEN,
    }
    html = loader.render_to_string(template, {**common, **_placeholders(slots), **context})
    return _answer(request, cut_at_slots(html), slots, status)


def cached_page(request: HttpRequest, template: str, shown: Mapping[str, Hashable], slots: Slots) -> HttpResponse:
    """A page that shows only `shown`, which includes the `user`, and what fills the slots. All but the slots is cached.
    When there may be a message, the page is rendered now."""
    if flash_messages.may_have_messages(request):
        return page(request, template, shown, slots)
    arguments = {"here": _here(request), "theme": theme_of(request), **_placeholders(slots), **shown}
    return _answer(request, fragment(template, arguments), slots, 200)


def fragment(template: str, arguments: Mapping[str, Hashable]) -> Pieces:
    """A template that shows only these arguments, in the active language: from the cache, else rendered."""
    key = (template, get_language(), *arguments.values())
    pieces = _fragments.get(key)
    if pieces is None:
        pieces = cut_at_slots(loader.render_to_string(template, {"csrf_token": CSRF_TOKEN, **arguments}))
        _fragments.put(key, pieces)
    return pieces


def origin_of(request: HttpRequest) -> str:
    """The site's scheme and host in this request, such as `https://retwis.example`. Raises DisallowedHost.

    It differs by host, so a cached page that shows it must have it as an argument."""
    return f"{request.scheme}://{request.get_host()}"


def first_page_at(request: HttpRequest) -> str:
    """The path of the first page; empty when this is the first page."""
    return request.path if "before" in request.GET else ""


def _here(request: HttpRequest) -> str:
    return request.resolver_match.view_name if request.resolver_match else ""


def _placeholders(slots: Slots) -> dict[str, str]:
    """A placeholder for each slot by name; empty text for a slot with nothing in it."""
    return {name: slot(name) if content else "" for name, content in slots.items()}


def _answer(request: HttpRequest, pieces: Pieces, slots: Slots, status: int) -> HttpResponse:
    filled: list[bytes | str] = []
    for piece in pieces:
        if isinstance(piece, str) and piece in slots:
            filled += slots[piece]
        else:
            filled.append(piece)
    names = {piece for piece in filled if isinstance(piece, str)}
    made = {name: _slot_functions[name](request).encode() for name in names}
    body = b"".join([made[piece] if isinstance(piece, str) else piece for piece in filled])
    return HttpResponse(body, status=status, headers=headers_in(get_language() or settings.LANGUAGE_CODE))
