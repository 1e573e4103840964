"""Hypothesis strategies for requests that no browser sends. The addresses come from the URL conf, so a new address is
fuzzed at once."""

import base64
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, product
from typing import Any
from urllib.parse import quote, quote_plus, unquote_to_bytes

from django.contrib.messages import constants
from django.contrib.messages.storage import default_storage
from django.contrib.messages.storage.base import Message
from django.http import HttpRequest
from django.urls import get_resolver
from hypothesis import strategies as st

from tests.support.http import hostile_values
from tests.support.http.hostile_values import FORM, MARKER, MULTIPART, NASTY, ODD, PART
from tests.support.people import SECRET
from timeline.api.views import ENDPOINTS

CSRF = "0123456789ABCDEFGHIJabcdefghij01"
APP_TOKEN = "f" * 32 + "1"  # of an app, for alice
PICTURE = "0" * 40  # the digest of a stored picture
OTHER_CSRF = "10jihgfedcbaJIHGFEDCBA9876543210"

# ---- a request


@dataclass(frozen=True)
class Request:
    """A request. `target`: the path and the query of the request line."""

    method: str
    target: bytes
    headers: dict[str, bytes] = field(default_factory=dict)
    body: bytes = b""
    scheme: str = "http"
    hangs_up: bool = False  # before the body has arrived

    def environ(self) -> dict[str, Any]:
        """The WSGI environment: the path without percent escapes, bytes decoded as latin-1."""
        path, _, query = self.target.partition(b"?")
        environ = {
            "REQUEST_METHOD": self.method,
            "SCRIPT_NAME": "",
            "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
            "QUERY_STRING": query.decode("latin-1"),
            "CONTENT_LENGTH": str(len(self.body)) if self.body else "",
            "SERVER_NAME": "testserver",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "HTTP_HOST": "testserver",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": self.scheme,
            "wsgi.input": DisconnectedBody() if self.hangs_up else io.BytesIO(self.body),
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": True,
            "wsgi.run_once": False,
        }
        for name, value in self.headers.items():
            key = name.upper().replace("-", "_")
            environ[key if key.startswith("CONTENT_") else f"HTTP_{key}"] = value.decode("latin-1")
        return environ


class DisconnectedBody(io.BytesIO):
    """The body of a client that disconnected."""

    def read(self, size: int | None = -1) -> bytes:
        raise OSError("the client has disconnected")


seldom = st.sampled_from([False] * 5 + [True])


@st.composite
def mostly(draw: st.DrawFn, usual: st.SearchStrategy[Any], unusual: st.SearchStrategy[Any]) -> Any:
    """`usual` in five of six examples."""
    return draw(unusual if draw(seldom) else usual)


# ---- addresses


@dataclass(frozen=True, eq=False)
class Route:
    """An address of the URL conf, such as `@<username:username>/<id:pid>/`, with its converters by name."""

    text: str
    converters: dict[str, Any]

    def __str__(self) -> str:
        return self.text or "home"


def routes() -> Iterator[Route]:
    """Every address of the site."""
    for pattern in get_resolver().url_patterns:
        yield Route(str(pattern.pattern), pattern.pattern.converters)


PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
SENSIBLE = {
    "UsernameConverter": hostile_values.NAMES,
    "IdConverter": hostile_values.IDS,
    "SlugConverter": [b"people", b"pages"],
    "ChapterConverter": [b"keys-and-hashes"],
    "PathConverter": hostile_values.KEYS,
    "PictureConverter": [PICTURE.encode()],
    "api/": [endpoint.address.removeprefix("/api/").encode() for endpoint in ENDPOINTS if "/api/" in endpoint.address],
    "nodeinfo/": [b"2.0"],
}
SENSIBLE["api/"] = [re.sub(rb":\w+", b"1", address) for address in SENSIBLE["api/"]]
# alice and her post; a user that she can follow; a user with a strange name that she follows, and a post of that user.
PLAIN = [
    {"UsernameConverter": b"Alice", "IdConverter": b"1", "SlugConverter": b"people", "PathConverter": b"user:1"}
    | {"api/": b"v1/statuses/1/context", "nodeinfo/": b"2.0"},
    {"UsernameConverter": b"carol", "IdConverter": b"2", "SlugConverter": b"pages"},
    {"UsernameConverter": hostile_values.QUOTED, "IdConverter": b"3"},
]

bits = st.binary(min_size=1, max_size=4).map(lambda some: quote(some, safe="").encode())
pieces = st.lists(
    st.sampled_from(hostile_values.NAMES + hostile_values.IDS + NASTY) | bits, min_size=1, max_size=3
).map(b"".join)


def fill(route: Route, fillings: Iterable[Any], literal: Callable[[bytes], Any]) -> list[Any]:
    """The parts of an address: the literal parts, with a filling for each parameter between them."""
    first, *others = [part.encode() for part in PARAMETER.split(route.text)[::2]]
    return [
        literal(b"/" + first),
        *chain(*((filling, literal(other)) for filling, other in zip(fillings, others, strict=True))),
    ]


def converters_of(route: Route) -> list[str]:
    """The class names of the converters, in the order of the parameters; of what apps ask, the beginning of the
    address."""
    beginning = route.text.partition("<")[0]
    if beginning in SENSIBLE:
        return [beginning]
    return [type(route.converters[name]).__name__ for name in PARAMETER.findall(route.text)]


def plain_addresses(route: Route | None) -> list[bytes]:
    """Valid paths of the address."""
    if route is None:
        return [b"/nothing/", b"/" + hostile_values.QUOTED]
    names = converters_of(route)
    filled = (fill(route, [words.get(name, b"1") for name in names], bytes) for words in PLAIN)
    return list(dict.fromkeys(map(b"".join, filled)))


def addresses(route: Route) -> st.SearchStrategy[bytes]:
    """Valid and invalid paths of this address, and paths that are nearly of this address."""
    path = st.tuples(*fill(route, map(_words, converters_of(route)), st.just)).map(b"".join)
    nearly = st.one_of(
        path.map(lambda exact: exact.removesuffix(b"/")),
        st.tuples(path, st.sampled_from(hostile_values.AFTER)).map(b"".join),
        st.tuples(st.sampled_from(hostile_values.BEFORE), path).map(b"".join),
    )
    return mostly(path, nearly)


def _words(converter: str) -> st.SearchStrategy[bytes]:
    sensible = SENSIBLE.get(converter, hostile_values.NAMES + hostile_values.IDS)
    return mostly(st.sampled_from(sensible * (2 * len(NASTY) // len(sensible) or 1) + NASTY), pieces)


PARAMETERS = [name + b"=" for name in hostile_values.PARAMETERS] * 20 + hostile_values.PARAMETERS + NASTY
cursors = st.sampled_from(hostile_values.CURSORS * 5 + [CSRF.encode()] * 5 + NASTY)
parameters = st.tuples(st.sampled_from(PARAMETERS), mostly(cursors, pieces)).map(b"".join)
queries = mostly(st.lists(parameters, min_size=1, max_size=3).map(b"&".join), st.just(hostile_values.TOO_MANY))
no_view = st.sampled_from(hostile_values.NO_VIEW) | pieces


@cache
def targets(route: Route | None) -> st.SearchStrategy[bytes]:
    """Paths, often with a query. Without a route, addresses of no view."""
    path = addresses(route) if route else no_view
    return path | st.tuples(path, queries).map(b"?".join)


# ---- headers


def _values(usual: list[bytes]) -> st.SearchStrategy[bytes]:
    anything = st.binary(max_size=20).map(lambda some: some.translate(None, b"\0\r\n"))
    return mostly(st.sampled_from(usual * (len(ODD) // len(usual) + 1) + ODD), anything)


header = st.one_of([st.tuples(st.just(name), _values(usual)) for name, usual in hostile_values.HEADERS.items()])
headers = st.lists(header, max_size=3).map(dict)


@cache
def cookie_values() -> list[bytes]:
    """Valid and broken values of cookies; none matches a form's token."""
    drafts = [base64.urlsafe_b64encode(draft) for draft in (MARKER.encode(), b"\xff", b"\0", b"x" * 3000)]
    signed = str(default_storage(HttpRequest())._encode([Message(constants.ERROR, MARKER)])).encode()
    return [*drafts, signed, signed[:-1], *hostile_values.COOKIE_VALUES, *ODD]


COOKIE_NAMES = [name + b"=" for name in hostile_values.COOKIES] * 20 + hostile_values.COOKIES + NASTY
values = st.deferred(lambda: st.sampled_from(cookie_values() * 3 + NASTY))
cookies = st.lists(st.tuples(st.sampled_from(COOKIE_NAMES), values).map(b"".join), max_size=2)

# ---- bodies


def encoded(form: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), text.encode()) for name, text in form.items()]


def urlencoded(pairs: list[tuple[bytes, bytes]]) -> bytes:
    return b"&".join(b"=".join(quote_plus(part).encode() for part in pair) for pair in pairs)


def unescaped(pairs: list[tuple[bytes, bytes]]) -> bytes:
    return b"&".join(b"=".join(pair) for pair in pairs)


def as_json(pairs: list[tuple[bytes, bytes]]) -> bytes:
    return json.dumps({name.decode("latin-1"): value.decode("latin-1") for name, value in pairs}).encode()


def multipart(
    pairs: list[tuple[bytes, bytes]], boundary: bytes = b"x", part: bytes = PART, end: bytes = b"--"
) -> bytes:
    parts = [b"--" + boundary + b"\r\n" + part % name + b"\r\n" + value + b"\r\n" for name, value in pairs]
    return b"".join(parts) + b"--" + boundary + end + b"\r\n"


typed = st.sampled_from(hostile_values.MARKERS) | st.sampled_from(hostile_values.VALUES) | st.text(max_size=300)
# The fields of any form of the site: valid, except for up to three of them.
forms = st.tuples(
    st.sampled_from(hostile_values.FORMS), st.dictionaries(st.sampled_from(hostile_values.FIELDS), typed, max_size=3)
).map(lambda parts: {**parts[0], **parts[1]})

field_names = st.sampled_from([name.encode() for name in hostile_values.FIELDS * 10] + NASTY)
contents = mostly(typed.map(lambda text: text.encode()), st.sampled_from(NASTY) | st.binary(max_size=20))
oddities = st.lists(st.tuples(field_names, contents), max_size=2)
fields = forms.map(encoded) | st.tuples(forms.map(encoded), oddities).map(lambda parts: parts[0] + parts[1]) | oddities
encoders = st.sampled_from([(FORM, urlencoded)] * 5 + [(FORM, unescaped), (b"application/json", as_json)])
multiparts = st.tuples(
    mostly(st.just(b"x"), st.sampled_from(hostile_values.BOUNDARIES)),
    mostly(st.just(PART), st.sampled_from(hostile_values.PARTS)),
    mostly(st.just(b"--"), st.sampled_from([b"", b"x"])),
)
charsets = mostly(st.just(b""), st.sampled_from(hostile_values.CHARSETS))
other_kinds = mostly(st.none(), st.sampled_from(hostile_values.KINDS))


@st.composite
def bodies(draw: st.DrawFn, token: str | None) -> tuple[bytes, bytes]:
    """A content type, and a body that may have another type."""
    pairs = draw(fields) + ([(b"csrfmiddlewaretoken", token.encode())] if token is not None else [])
    if draw(st.booleans()):
        kind, encode = draw(encoders)
        body = encode(pairs)
    else:
        boundary, part, end = draw(multiparts)
        kind, body = b"multipart/form-data; boundary=" + boundary, multipart(pairs, boundary, part, end)
    other = draw(other_kinds)
    return (kind if other is None else other) + draw(charsets), body


# ---- whole requests

# A cookie and a form's token that do not match: one is missing or of another form, or both have an invalid shape.
BAD_PAIRS = [
    (None, None),
    (CSRF, None),
    (None, CSRF),
    (CSRF, OTHER_CSRF),
    (CSRF, CSRF.lower()),
    (CSRF, ""),
    ("", ""),
    ("x", "x"),
    (CSRF[:-1], CSRF[:-1]),
    (CSRF + "x", CSRF + "x"),
    (CSRF[:-1] + "%", CSRF[:-1] + "%"),
    (CSRF[:-1] + "\u00b2", CSRF[:-1] + "\u00b2"),
]
# Cookie, token, whether the token is sent as a header, and the Origin. Another site's form may have a matching pair.
BAD_PROOFS = [(*pair, as_header, None) for pair in BAD_PAIRS for as_header in (False, False, pair[1] is not None)]
BAD_PROOFS += [(CSRF, CSRF, as_header, origin) for origin in hostile_values.FOREIGN for as_header in (False, True)]
PROOFS = [(CSRF, CSRF, True, None), (CSRF, CSRF, False, None)]
SIGNED_IN = [prefix + b"auth=" + SECRET.encode() for prefix in hostile_values.COOKIE_PREFIXES]
TOKEN = {"csrfmiddlewaretoken": CSRF}
TOKEN_COOKIES = [prefix + b"csrftoken=" + CSRF.encode() for prefix in hostile_values.COOKIE_PREFIXES]
SEPARATORS = [b"; "] * 6 + [b";", b","]
clients = st.sampled_from(list(product(([], SIGNED_IN, SIGNED_IN), ("http", "https"), SEPARATORS)))
hangs_up = st.sampled_from([False] * 20 + [True])


@st.composite
def _requests(draw: st.DrawFn, route: Route | None, methods: list[str], proofs: list[Any]) -> Request:
    method, target, sent = draw(st.sampled_from(methods)), draw(targets(route)), {**draw(headers)}
    cookie, token, as_header, origin = draw(st.sampled_from(proofs))
    signed_in, scheme, separator = draw(clients)
    body = b""
    if method.upper() != "GET" or draw(seldom):
        kind, body = draw(bodies(None if as_header else token))
        sent.setdefault("Content-Type", kind)
    if as_header:
        sent["X-CSRFToken"] = token.encode()
    if origin is not None:
        sent["Origin"] = origin
    jar = [*draw(cookies), *signed_in]
    if cookie is not None:
        jar += [prefix + b"csrftoken=" + cookie.encode() for prefix in hostile_values.COOKIE_PREFIXES]
    if jar:
        sent["Cookie"] = separator.join(jar)
    return Request(method, target, sent, body, scheme, draw(hangs_up))


def without_a_token(route: Route | None) -> st.SearchStrategy[Request]:
    """Any request of alice or of a visitor without a token that matches its cookie."""
    return _requests(route, hostile_values.METHODS, BAD_PROOFS)


def with_a_token(route: Route | None) -> st.SearchStrategy[Request]:
    """Any POST with a token that matches its cookie, so it reaches the view."""
    return _requests(route, ["POST"], PROOFS)


@st.composite
def of_an_app(draw: st.DrawFn) -> Request:
    """Any call of an app that alice has allowed everything."""
    endpoint = draw(st.sampled_from(ENDPOINTS))
    parts = [
        draw(mostly(st.sampled_from(hostile_values.IDS), pieces)) if part.startswith(":") else part.encode()
        for part in endpoint.address.split("/")
    ]
    query = b"?" + draw(queries) if draw(st.booleans()) else b""
    kind, body = draw(bodies(None))
    sent = {**draw(headers), "Content-Type": kind, "Authorization": b"Bearer " + APP_TOKEN.encode()}
    method = draw(mostly(st.just(endpoint.method), st.sampled_from(hostile_values.METHODS)))
    return Request(method, b"/".join(parts) + query, sent, body, hangs_up=draw(hangs_up))


# ---- fixed requests, which must not depend on chance


def _sent(path: bytes, form: dict[str, str], cookies: list[bytes], **sent: bytes) -> Request:
    headers = {"Cookie": b"; ".join(cookies), "Content-Type": FORM, **sent}
    return Request("POST", path, headers, urlencoded(encoded(form)))


def plain_without_a_token(route: Route | None) -> Iterator[Request]:
    """Each form without its token, or from another site; each odd cookie; each odd word in the query."""
    for path, form in product(plain_addresses(route), hostile_values.FORMS):
        yield _sent(path, form, [])
        yield _sent(path, form, SIGNED_IN)
        yield _sent(path, {**form, **TOKEN}, SIGNED_IN + TOKEN_COOKIES, Origin=hostile_values.FOREIGN[0])
    *_, path = plain_addresses(route)
    for value in cookie_values():
        jar = [name + b"=" + value for name in hostile_values.COOKIES if not name.endswith(b"auth")]
        yield Request("GET", path, {"Cookie": b"; ".join(jar + SIGNED_IN)})
    for number, word in enumerate([*hostile_values.CURSORS, *NASTY]):
        query = b"&".join(name + b"=" + word for name in hostile_values.PARAMETERS)
        yield Request("GET", path + b"?" + query, {"Cookie": b"; ".join(SIGNED_IN * (number % 2))})


def plain_with_a_token(route: Route | None) -> Iterator[Request]:
    """Each valid form, sent by alice and by a visitor."""
    for path, cookies, form in product(plain_addresses(route), ([], SIGNED_IN), hostile_values.FORMS):
        yield _sent(path, {**form, **TOKEN}, cookies + TOKEN_COOKIES)


def one_odd_header(name: str) -> Iterator[Request]:
    """Each odd value of a header, for a page, a file and a form."""
    pairs = encoded(hostile_values.FORMS[0])
    for value in [*hostile_values.HEADERS[name], *ODD]:
        body = multipart(pairs) if value.startswith(MULTIPART) else urlencoded(pairs)
        yield Request("GET", b"/@Alice/1/", {"Cookie": b"; ".join(SIGNED_IN), name: value})
        yield Request("POST", b"/post/", {"Content-Type": FORM, name: value}, body)
    for value in hostile_values.HEADERS[name]:
        yield Request("GET", b"/static/retwis.css", {name: value})
        yield Request("GET", b"/?" + hostile_values.TOO_MANY, {name: value})
        headers = {"Content-Type": MULTIPART, name: value}
        yield Request("POST", b"/post/", headers, multipart(pairs), hangs_up=True)


def one_odd_header_of_a_form(name: str) -> Iterator[Request]:
    """Each odd value of a header, on forms with a token that redirect to the previous page."""
    for value in [*hostile_values.HEADERS[name], *ODD]:
        yield _sent(b"/@Alice/1/delete/", TOKEN, SIGNED_IN + TOKEN_COOKIES, **{name: value})
        yield _sent(b"/@carol/follow/", TOKEN, TOKEN_COOKIES, **{name: value})
