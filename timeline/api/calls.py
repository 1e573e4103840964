"""What an app asks: one call, its parameters, and how its answer is written.

All addresses of the API stand in the tables `ENDPOINTS` of this room's files, in the words of Mastodon's documentation.
One view takes all of them (`views.py`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from django.http import HttpRequest
from django.utils.encoding import escape_uri_path

from accounts.signing_in.middleware import RetwisRequest
from accounts.signing_in.viewer import Viewer
from retwis_site.http.apps import Invalid, SentTexts
from retwis_site.rendering.pages import origin_of
from retwis_site.store.ids import parse_id
from timeline.people.lists import Cursor
from timeline.timelines.pagination import Part

# ---- Pages of a list


MOST_A_PAGE = 40
CURSORS = frozenset({"max_id", "since_id", "min_id"})


# ---- Cursors of lists of people and of saved posts. They are numbers: Mastodon's own app for iOS, for one, looks for
# digits alone in the header `Link`.


OF_A_MEMBER = 10**16  # larger than any id
LONGEST_CURSOR = 32  # digits


def number_of(cursor: Cursor) -> str:
    """A cursor whose member is an id, as apps get it. `Call.cursor` reads it."""
    return str(cursor.score * OF_A_MEMBER + int(cursor.member))


# ---- Calls


@dataclass(frozen=True, slots=True)
class Call:
    """One request of an app."""

    request: RetwisRequest
    named: Mapping[str, str]  # what the address names: `id` of `/api/v1/statuses/:id`
    sent: SentTexts

    @property
    def viewer(self) -> Viewer:
        return self.request.viewer

    @property
    def origin(self) -> str:
        """The site's scheme and host, such as `https://retwis.example`."""
        return origin_of(self.request)

    @property
    def id(self) -> int:
        """The id in the address; 0, which nothing has, for what is none."""
        return parse_id(self.named["id"]) or 0

    def cursor(self, name: str) -> Cursor | None:
        """None when it was not sent. Raises Invalid, as `part`."""
        text = self.sent.text(name)
        if not text:
            return None
        if not (text.isascii() and text.isdigit() and len(text) <= LONGEST_CURSOR):
            raise Invalid(f"{name} is no number")
        score, member = divmod(int(text), OF_A_MEMBER)
        return Cursor(score, str(member))

    def part(self, default: int = 20, most: int = MOST_A_PAGE) -> Part:
        """Which part of a list an app asks for. With `min_id`, which counts before `since_id`, the page just above it.
        Raises Invalid."""
        sent = self.sent
        below, since, least = (sent.id(name) for name in ("max_id", "since_id", "min_id"))
        above = since if least is None else least
        return Part(below, above or 0, least is not None, sent.number("limit", default, most))


def valid(form: Any) -> Any:
    """The form. Raises Invalid."""
    if not form.is_valid():
        raise Invalid(" ".join(str(error) for errors in form.errors.values() for error in errors))
    return form


Answer = Callable[[Call], object]  # what is written as JSON, or is written already (bytes), or a whole HttpResponse


class Endpoint(NamedTuple):
    """An address of the API, and what answers it."""

    method: str
    address: str  # as Mastodon documents it, such as `/api/v1/statuses/:id/context`
    answer: Answer
    # What a token must allow, such as `read:statuses`; its parent `read` covers it. Empty: nobody need be signed in.
    scope: str = ""
    open_to_frozen: bool = False  # a change that others do not see
    # Without a token, everybody is answered. With one, the answer tells what its user hides, keeps and follows.
    open_to_visitors: bool = False

    @property
    def needs_user(self) -> bool:
        return bool(self.scope) and not self.open_to_visitors


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of a list."""

    items: object  # what is written
    newest: int | str | None  # the cursor of what is newer; None of an empty page
    older: int | str | None  # the cursor of the next page; None on the last one
    up: str = "min_id"  # leads to what is newer; `since_id` in a list that is read from its beginning


LONGEST_KEPT = 200  # characters of a path that is kept; clients choose them
_kept = lru_cache(maxsize=100)(escape_uri_path)  # few paths have lists


def _escaped(path: str) -> str:
    """A tag may stand in it with its hash sign."""
    return str(_kept(path) if len(path) <= LONGEST_KEPT else escape_uri_path(path))


def links_of(request: HttpRequest, page: Listed) -> str:
    """The header `Link`: `next` first, which clients with one slot take. Other parameters are kept. Empty for an empty
    page."""
    kept = [(name, value) for name, values in request.GET.lists() if name not in CURSORS for value in values]
    base = f"{origin_of(request)}{_escaped(request.path)}?{urlencode(kept)}{'&' if kept else ''}"
    links = []
    if page.older is not None:
        links.append(f'<{base}max_id={quote(str(page.older))}>; rel="next"')
    if page.newest is not None:
        links.append(f'<{base}{page.up}={quote(str(page.newest))}>; rel="prev"')
    return ", ".join(links)
