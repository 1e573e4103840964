"""How a page is put together: from parts that are remembered, with holes that each request fills.

A part is a template that shows nothing but what it is given, in one language. Whatever it was rendered to is right for
ever, so it is remembered by its template, its language and its arguments, and found again while these are the same: a
post, the head of a page, a whole page but for its posts. What differs from request to request, such as a form's token,
is a hole in it: its mark stands there when it is rendered, there it is cut, and a page is its pieces joined. They are
bytes as they are sent, so that no page is searched, copied or encoded again.
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

Pieces = Sequence[bytes | str]  # HTML as it is sent, and the names of the holes between
Slots = Mapping[str, Pieces]  # what fills them, by their names

EMPTY: Slots = {}


_fragments: PageMemory[Hashable, Pieces] = PageMemory(size=5_000, seconds=3600)  # some 30 MB
_fills: dict[str, Callable[[HttpRequest], str]] = {}  # by name: what is made for each page
_SECRET = secrets.token_hex(16)  # nobody who writes a post can guess it
_MARK = re.compile(f"{_SECRET}-([a-z_]+)-")


def slot(name: str) -> str:
    """What a template is given to show where a hole is to be."""
    return f"{_SECRET}-{name}-"


def slot_filled_by(name: str, fill: Callable[[HttpRequest], str]) -> str:
    """The same, where `fill` gives each page its text: HTML, or what needs no escaping."""
    _fills[name] = fill
    return slot(name)


def cut_at_slots(html: str) -> Pieces:
    """HTML in which marks stand, cut at them: bytes, a name, bytes, a name, and so on, and bytes at the end."""
    return tuple(piece if place % 2 else piece.encode() for place, piece in enumerate(_MARK.split(html)))


CSRF_TOKEN = slot_filled_by("csrf_token", csrf_token)


def page(
    request: HttpRequest, template: str, context: Mapping[str, Any], slots: Slots = EMPTY, status: int = 200
) -> HttpResponse:
    """A page that is rendered anew. Its template has `request`, `user`, `here` (the name of its address), `theme`,
    `messages`, `csrf_token`, what the context says, and a mark for each hole that is not empty."""
    everywhere = {
        "request": request,
        "user": getattr(request, "user", None),
        "here": _here(request),
        "theme": theme_of(request),
        "messages": get_messages(request),
        "csrf_token": CSRF_TOKEN,
    }
    html = loader.render_to_string(template, {**everywhere, **_slots_for(slots), **context})
    return _answer(request, cut_at_slots(html), slots, status)


def cached_page(request: HttpRequest, template: str, shown: Mapping[str, Hashable], slots: Slots) -> HttpResponse:
    """The same for a page that shows nothing but `shown`, with its `user`, and what fills the holes: all but that is
    remembered. While a message waits it is rendered anew."""
    if flash_messages.waits(request):
        return page(request, template, shown, slots)
    given = {"here": _here(request), "theme": theme_of(request), **_slots_for(slots), **shown}
    return _answer(request, fragment(template, given), slots, 200)


def fragment(template: str, arguments: Mapping[str, Hashable]) -> Pieces:
    """A template that shows only these arguments, in the language that is spoken: rendered, or remembered."""
    key = (template, get_language(), *arguments.values())
    known = _fragments.get(key)
    if known is None:
        known = cut_at_slots(loader.render_to_string(template, {"csrf_token": CSRF_TOKEN, **arguments}))
        _fragments.put(key, known)
    return known


def origin_of(request: HttpRequest) -> str:
    """Where the site stands for whoever asks, as whole addresses begin: `https://retwis.example`. A page with such an
    address must be given it: it is another one for each host."""
    return f"{request.scheme}://{request.get_host()}"


def first_page_at(request: HttpRequest) -> str:
    """The address of the first page; empty when this is the first page."""
    return request.path if "before" in request.GET else ""


def _here(request: HttpRequest) -> str:
    return request.resolver_match.view_name if request.resolver_match else ""


def _slots_for(slots: Slots) -> dict[str, str]:
    """Marks for what is there; a hole with nothing for it is empty text already in the template."""
    return {name: slot(name) if inside else "" for name, inside in slots.items()}


def _answer(request: HttpRequest, pieces: Pieces, slots: Slots, status: int) -> HttpResponse:
    whole: list[bytes | str] = []
    for piece in pieces:
        if isinstance(piece, str) and piece in slots:
            whole += slots[piece]
        else:
            whole.append(piece)
    made = {name: _fills[name](request).encode() for name in {piece for piece in whole if isinstance(piece, str)}}
    body = b"".join([made[piece] if isinstance(piece, str) else piece for piece in whole])
    return HttpResponse(body, status=status, headers=headers_in(get_language() or settings.LANGUAGE_CODE))
