"""What an app asks: one call, its parameters, and how its answer is written.

All addresses of the API stand in the tables `ENDPOINTS` of this room's files, in the words of Mastodon's documentation.
One view takes all of them (`views.py`).
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode

from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.multipartparser import MultiPartParser, MultiPartParserError
from django.utils.datastructures import MultiValueDict

from accounts.signing_in.middleware import RetwisRequest
from accounts.signing_in.viewer import Viewer
from retwis_site.store.ids import parse_id, parse_number

# ---- Errors, which the view answers as JSON. The repositories' own exceptions are answered too.


class Unreadable(Exception):
    """The body is not what its Content-Type says: a 400."""


class Invalid(Exception):
    """A parameter cannot be taken: a 422, `Validation failed: ...`. `details` as Mastodon has them."""

    def __init__(self, why: str, details: Mapping[str, object] | None = None) -> None:
        super().__init__(why)
        self.details = details


# ---- Parameters: of the query, and of a body as form or JSON.


TRUE, FALSE = {"1", "true", "t", "on", "yes"}, {"0", "false", "f", "off", "no", ""}


class Sent:
    """The parameters of a call, as texts. A list is sent as `name[]`, or in JSON; an object as `name[field]`."""

    def __init__(self, texts: Mapping[str, list[str]], files: MultiValueDict[str, Any]) -> None:
        self._texts = texts
        self.files = files

    def __contains__(self, name: str) -> bool:
        return name in self._texts or f"{name}[]" in self._texts

    def text(self, name: str) -> str | None:
        """The last value; None when it was not sent."""
        values = self._texts.get(name)
        return values[-1] if values else None

    def texts(self, name: str) -> list[str]:
        """All values of a list."""
        return [*self._texts.get(f"{name}[]", ()), *self._texts.get(name, ())]

    def objects(self, name: str) -> list[dict[str, str]]:
        """The objects of a list: sent as `name[0][field]` or `name[][field]`, or in JSON."""
        rows: dict[tuple[int, int], dict[str, str]] = {}
        for sent, values in self._texts.items():
            found = re.fullmatch(rf"{name}\[(\d{{0,4}})\]\[(\w+)\]", sent)
            if found is not None:
                for place, value in enumerate(values):
                    rows.setdefault((int(found[1] or 0), place), {})[found[2]] = value
        return [row for _, row in sorted(rows.items())]

    def flag(self, name: str) -> bool:
        """False when it was not sent. Raises Invalid."""
        text = (self.text(name) or "").lower()
        if text not in TRUE | FALSE:
            raise Invalid(f"{name} is neither true nor false")
        return text in TRUE

    def number(self, name: str, default: int, most: int) -> int:
        """At least 1, at most `most`: a larger one counts as `most`. Raises Invalid for what is no number."""
        text = self.text(name)
        if not text:
            return default
        if not (text.isascii() and text.lstrip("-").isdigit() and len(text) < 20):
            raise Invalid(f"{name} is no number")
        return max(1, min(int(text), most))

    def whole(self, name: str) -> int:
        """A number from 0 on, such as an offset; 0 when it was not sent. Raises Invalid."""
        text = self.text(name) or "0"
        found = parse_number(text)
        if found is None:
            raise Invalid(f"{name} is no number")
        return found

    def id(self, name: str) -> int | None:
        """An id of this site; None when it was not sent. Raises Invalid for what can be none."""
        text = self.text(name)
        if not text:
            return None
        found = parse_id(text)
        if found is None:
            raise Invalid(f"{name} is no id")
        return found


def sent_by(request: HttpRequest) -> Sent:
    """Reads the query and the body. Raises Unreadable."""
    texts: dict[str, list[str]] = {name: list(values) for name, values in request.GET.lists()}
    files: MultiValueDict[str, Any] = MultiValueDict()
    if request.content_type == "application/json":
        for name, value in _json_body(request.body).items():
            _flatten(texts, name, value)
    elif request.body:
        form, files = _form_of(request)
        for name, values in form.lists():
            texts[name] = list(values)
    return Sent(texts, files)


def _json_body(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise Unreadable("the body is no JSON") from error
    if not isinstance(found, dict):
        raise Unreadable("the body is no JSON object")
    return found


def _flatten(texts: dict[str, list[str]], name: str, value: Any) -> None:
    """Adds a value of JSON under the name that it has in a form. null counts as not sent."""
    if isinstance(value, dict):
        for key, inner in value.items():
            _flatten(texts, f"{name}[{key}]", inner)
    elif isinstance(value, list):
        texts[f"{name}[]"] = []
        for inner in value:
            _flatten(texts, f"{name}[]", inner)
    elif isinstance(value, bool):
        texts.setdefault(name, []).append("true" if value else "false")
    elif value is not None:
        texts.setdefault(name, []).append(str(value))


def _form_of(request: HttpRequest) -> tuple[QueryDict, MultiValueDict[str, Any]]:
    """The form in the body, with any method. Django reads one of POST alone."""
    if request.method == "POST":
        return request.POST, request.FILES
    try:
        if request.content_type == "multipart/form-data":
            return MultiPartParser(request.META, request, request.upload_handlers, request.encoding or "utf-8").parse()
        return QueryDict(request.body, encoding=request.encoding or "utf-8"), MultiValueDict()
    except (MultiPartParserError, RequestDataTooBig, TooManyFieldsSent, LookupError, ValueError) as error:
        raise Unreadable("the body is no form") from error


# ---- Pages of a list


MOST_A_PAGE = 40


class Window(NamedTuple):
    """Which part of a list, newest first, an app asks for. With `min_id` the page just above it."""

    max_id: int | None
    since_id: int | None
    min_id: int | None
    limit: int


# ---- Calls


@dataclass(frozen=True, slots=True)
class Call:
    """One request of an app."""

    request: RetwisRequest
    named: Mapping[str, str]  # what the address names: `id` of `/api/v1/statuses/:id`
    sent: Sent

    @property
    def viewer(self) -> Viewer:
        return self.request.viewer

    @property
    def id(self) -> int:
        """The id in the address; 0, which nothing has, for what is none."""
        return parse_id(self.named["id"]) or 0

    def window(self, default: int = 20, most: int = MOST_A_PAGE) -> Window:
        """Raises Invalid."""
        sent = self.sent
        return Window(sent.id("max_id"), sent.id("since_id"), sent.id("min_id"), sent.number("limit", default, most))


Answer = Callable[[Call], object]  # what is written as JSON, or a whole HttpResponse


class Endpoint(NamedTuple):
    """An address of the API, and what answers it."""

    method: str
    address: str  # as Mastodon documents it, such as `/api/v1/statuses/:id/context`
    answer: Answer
    # What a token must allow, such as `read:statuses`; its parent `read` covers it. Empty: nobody need be signed in.
    scope: str = ""
    open_to_frozen: bool = False  # a change that others do not see


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of a list. `newest` and `oldest`: the cursors of its ends; None of an empty page. `has_more`: whether
    something older follows."""

    items: object  # what is written
    newest: int | str | None
    oldest: int | str | None
    has_more: bool


def listed(items: Sequence[object], older: str | None) -> Listed:
    """A page whose cursor names its last row. Nothing leads to the page above it."""
    return Listed(items, None, older, older is not None)


T = TypeVar("T")


def part_of(
    call: Call, items: Sequence[T], name: Callable[[T], str], default: int = 40, most: int = 80
) -> tuple[Sequence[T], str | None]:
    """The page that an app asks for of a short list, and the cursor of the next one: the name of its last item. The
    page behind an item that is gone is empty. Raises Invalid."""
    limit, after = call.sent.number("limit", default, most), call.sent.text("max_id")
    if after:
        items = items[next((place for place, one in enumerate(items, 1) if name(one) == after), len(items)) :]
    part = items[:limit]
    return part, name(part[-1]) if len(items) > len(part) else None


def links_of(request: HttpRequest, page: Listed) -> str:
    """The header `Link`: `next` first, which clients with one slot take. Other parameters are kept. Empty for an empty
    page."""
    kept = [(name, value) for name, value in _parameters(request) if name not in {"max_id", "since_id", "min_id"}]
    base = request.build_absolute_uri(request.path)
    links = []
    if page.has_more and page.oldest is not None:
        links.append(f'<{base}?{urlencode([*kept, ("max_id", page.oldest)])}>; rel="next"')
    if page.newest is not None:
        links.append(f'<{base}?{urlencode([*kept, ("min_id", page.newest)])}>; rel="prev"')
    return ", ".join(links)


def _parameters(request: HttpRequest) -> list[tuple[str, str]]:
    return [(name, value) for name, values in request.GET.lists() for value in values]


def json_of(found: object) -> HttpResponse:
    """The answer, as compact JSON in UTF-8."""
    body = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return HttpResponse(body.encode(), content_type="application/json; charset=utf-8")
