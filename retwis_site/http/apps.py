"""Requests of apps, which speak Mastodon's client API: no cookie counts there, every answer is JSON, and a page of any
other site may read it (CORS). https://docs.joinmastodon.org/client/intro/
"""

import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.multipartparser import MultiPartParser, MultiPartParserError
from django.http.request import RawPostDataException, UnreadablePostError
from django.http.response import ResponseHeaders
from django.utils.datastructures import MultiValueDict

from retwis_site.store.ids import parse_id, parse_number

_ADDRESSES = (
    "/api/",
    "/oauth/token",
    "/oauth/revoke",
    "/.well-known/oauth-authorization-server",
    "/.well-known/nodeinfo",
    "/nodeinfo/",
)
JSON = "application/json; charset=utf-8"
METHODS = "GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE"
CORS = ResponseHeaders(
    {
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Allow-Methods": METHODS,
        # The star: all else that a page may send. It never stands for the first, and old browsers do not know it.
        "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, *",
        "Access-Control-Expose-Headers": "Link, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, "
        "X-Request-Id",
        "Access-Control-Max-Age": "86400",
    }
)


def is_of_app(request: HttpRequest) -> bool:
    """Whether the address is one of those that apps ask."""
    return f"{request.path_info}/".startswith(_ADDRESSES)


def bearer_of(request: HttpRequest) -> str:
    """The token in `Authorization: Bearer ...`; empty without one."""
    scheme, _, token = str(request.META.get("HTTP_AUTHORIZATION", "")).partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def refusal(status: int, error: str, details: Mapping[str, object] | None = None) -> HttpResponse:
    """An error as apps read it."""
    return json_response({"error": error, **(details or {})}, status)


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def written(found: object) -> bytes:
    """Compact JSON, in UTF-8. As bytes: one emoji would make a whole page of text four times as long."""
    return _encode(found).encode()


def json_response(found: object, status: int = 200) -> HttpResponse:
    """Compact JSON, in UTF-8. `found`: in bytes, it is written already."""
    return HttpResponse(found if isinstance(found, bytes) else written(found), JSON, status)


def list_of(items: Iterable[bytes]) -> bytes:
    """Items that are written already, as a list."""
    return b"[%b]" % b",".join(items)


# ---- Errors in what a request sends. The view answers them as JSON, and the repositories' own exceptions too.


class Unreadable(Exception):
    """The body is not what its Content-Type says. The answer has this text."""

    status = 400


class Forbidden(Exception):
    """The site, or the token, does not let this happen. The answer has this text."""

    status = 403


class Invalid(Exception):
    """A parameter cannot be taken: a 422, `Validation failed: ...`. `details` as Mastodon has them."""

    def __init__(self, why: str, details: Mapping[str, object] | None = None) -> None:
        super().__init__(why)
        self.details = details


# ---- Parameters: of the query, and of a body as form or JSON.


DEEPEST = 5  # values in each other
MOST_VALUES = 1000  # of a body as JSON; Django takes as many fields of a form
LONGEST_NAME = 200  # characters of the name that a value has in a form: each value within another has a name of its own
TRUE, FALSE = {"1", "true", "t", "on", "yes"}, {"0", "false", "f", "off", "no", ""}


class SentTexts:
    """The parameters of a call, as texts. A list is sent as `name[]`, or in JSON; an object as `name[field]`."""

    def __init__(self, texts: Mapping[str, list[str]], files: MultiValueDict[str, Any]) -> None:
        self._texts = texts
        self.files = files

    @property
    def names(self) -> list[str]:
        return list(self._texts)

    def __contains__(self, name: str) -> bool:
        return name in self._texts or f"{name}[]" in self._texts

    def text(self, name: str) -> str | None:
        """The last value; None when it was not sent."""
        values = self._texts.get(name)
        return values[-1] if values else None

    def texts(self, name: str) -> list[str]:
        """All values of a list but empty ones: a form has no other way to send an empty list."""
        return [text for sent in (f"{name}[]", name) for text in self._texts.get(sent, ()) if text]

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
        if not (text.isascii() and text.removeprefix("-").isdigit() and len(text) < 20):
            raise Invalid(f"{name} is no number")
        return max(1, min(int(text), most))

    def whole(self, name: str) -> int:
        """A number from 0 on, such as an offset; 0 when it was not sent. Raises Invalid."""
        found = parse_number(self.text(name) or "0")
        if found is None:
            raise Invalid(f"{name} is no number")
        return found

    def id(self, name: str) -> int | None:
        """An id of this site, or 0, which nothing has: apps send it for the beginning of a list. None when it was not
        sent. Raises Invalid for what can be neither."""
        return self.whole(name) if self.text(name) else None

    def ids(self, name: str) -> list[int]:
        """The ids of a list, each once. What is no id is left out."""
        return [found for text in dict.fromkeys(self.texts(name)) if (found := parse_id(text)) is not None]


NOTHING_SENT = SentTexts({}, MultiValueDict())


def sent_by(request: HttpRequest) -> SentTexts:
    """Reads the query and the body. Raises Unreadable."""
    if not request.META.get("QUERY_STRING") and not request.META.get("CONTENT_LENGTH"):
        return NOTHING_SENT
    return _read(request, {name: list(values) for name, values in request.GET.lists()})


def sent_in_body(request: HttpRequest) -> SentTexts:
    """The same without the query: a secret has no place in an address. Raises Unreadable."""
    return _read(request, {})


def _read(request: HttpRequest, texts: dict[str, list[str]]) -> SentTexts:
    files: MultiValueDict[str, Any] = MultiValueDict()
    body = _body_of(request)
    if request.content_type == "application/json":
        left = iter(range(MOST_VALUES))
        for name, value in _json_body(body).items():
            _flatten(texts, name, value, left)
    elif body:
        form, files = _form_of(request)
        for name, values in form.lists():
            texts[name] = list(values)
    return SentTexts(texts, files)


def _body_of(request: HttpRequest) -> bytes:
    """Raises Unreadable, also for a Content-Length that is no number, which Django reads only now, or such as `+5`: it
    has read so much as a form by then."""
    if not request.META.get("CONTENT_LENGTH"):  # Django would read nothing
        return b""
    try:
        return request.body
    except (ValueError, UnreadablePostError, RawPostDataException, RequestDataTooBig) as error:
        raise Unreadable("the body cannot be read") from error


def _json_body(body: bytes) -> dict[str, Any]:
    """Apps without parameters send `null`, too: what is no object has none, as for Mastodon. Raises Unreadable."""
    try:
        found = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise Unreadable("the body is no JSON") from error
    return found if isinstance(found, dict) else {}


def _flatten(texts: dict[str, list[str]], name: str, value: Any, left: Iterator[object]) -> None:
    """Adds a value of JSON under the name that it has in a form. null counts as not sent. Each value takes one of those
    that are `left`. Half of a character, which JSON may have, becomes a question mark. Raises Unreadable."""
    if name.count("[") > DEEPEST:
        raise Unreadable("the body has too many objects in each other")
    if len(name) > LONGEST_NAME or next(left, None) is None:
        raise Unreadable("the body has too many values, or too long names")
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            _flatten(texts, f"{name}[{key}]", inner, left)
    elif isinstance(value, dict | list):  # apps empty a list by {}, too
        texts[f"{name}[]"] = []
        for place, inner in enumerate(value):
            _flatten(texts, f"{name}[{place if isinstance(inner, dict) else ''}]", inner, left)
    elif isinstance(value, bool):
        texts.setdefault(name, []).append("true" if value else "false")
    elif value is not None:
        texts.setdefault(name, []).append(str(value).encode(errors="replace").decode())


def _form_of(request: HttpRequest) -> tuple[QueryDict, MultiValueDict[str, Any]]:
    """The form in the body, with any method. Django reads one of POST alone."""
    if request.method == "POST":
        return request.POST, request.FILES
    try:
        if (request.content_type or "").startswith("multipart/"):
            body, encoding = io.BytesIO(request.body), request.encoding or "utf-8"
            return MultiPartParser(request.META, body, request.upload_handlers, encoding).parse()
        return QueryDict(request.body, encoding=request.encoding or "utf-8"), MultiValueDict()
    except (MultiPartParserError, RequestDataTooBig, TooManyFieldsSent, LookupError, ValueError) as error:
        raise Unreadable("the body is no form") from error
