"""Whether a page on the web links to a profile with `rel=me`. It is the only request that the site makes to others.

A member names the address, so it may be anything. No request reaches the machine or its network: the name is resolved
once, each of its addresses must be public, and the connection goes to the address that was checked. One request over
HTTPS to port 443, no redirects, no proxy, nothing about the user; DEADLINE seconds in all and LONGEST_ANSWER bytes.
"""

import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from html.parser import HTMLParser
from http.client import HTTPException, HTTPResponse, IncompleteRead
from io import BytesIO
from ipaddress import IPv6Address, ip_address, ip_network
from threading import Thread
from typing import TypeVar, cast
from urllib.parse import quote, unquote, urljoin, urlsplit

import idna
import regex

T = TypeVar("T")

DEADLINE = 5.0  # seconds for one link, from its name to the last byte
LONGEST_ANSWER = 64 * 1024  # bytes; no more are read
PORT = 443
PAGES = ("text/html", "application/xhtml+xml")
# Networks that Python takes for the internet, in some version at least.
_NOT_PUBLIC = [
    # IPv6 addresses that lead to an IPv4 address: NAT64, 6to4, Teredo, and the old ones that are compatible.
    *map(ip_network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96")),
    # No public use. In the first one, some clouds tell a machine its secrets.
    *map(ip_network, ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20")),
]


class NotFetched(Exception):
    """The site does not ask this address, or has no answer from it."""


# ---- All links of a profile


def linking_back(links: Iterable[str], profile: str) -> set[str]:
    """Those of these links whose pages link to the profile. All at once: DEADLINE seconds at most."""
    asked = {link: in_thread(lambda link=link: links_back(link, profile)) for link in links}  # type: ignore[misc]
    until = time.monotonic() + DEADLINE
    found = set()
    for link, answer in asked.items():
        try:
            if answer.result(max(until - time.monotonic(), 0)):
                found.add(link)
        except TimeoutError:  # a resolver that takes its time; its thread ends by itself
            continue
    return found


def in_thread(work: Callable[[], T]) -> Future[T]:
    """A daemon: no end of the process waits for it."""
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    Thread(target=run, daemon=True).start()
    return done


# ---- One link


def links_back(link: str, profile: str) -> bool:
    """Whether the page behind a link links to the profile. False also where it cannot be read."""
    try:
        page = fetched(link, time.monotonic() + DEADLINE)
    except (NotFetched, OSError, ValueError, HTTPException):
        return False
    return any(same_page(address, profile) for address in addresses_of_me(page, link))


def fetched(link: str, until: float) -> str:
    """The first LONGEST_ANSWER bytes of a page, as text. `until`: monotonic seconds. Raises NotFetched, OSError,
    ValueError and HTTPException."""
    parts = urlsplit(link)
    if parts.scheme != "https" or not parts.hostname or "@" in parts.netloc or parts.port not in (None, PORT):
        raise NotFetched(link)
    host = _in_ascii(parts.hostname)
    addresses = resolved(host)
    if not addresses or not all(map(is_public, addresses)):
        raise NotFetched(host)
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    lines = (
        f"GET {quote(target, safe=_IN_TARGET)} HTTP/1.1",
        f"Host: {host}",
        "Connection: close",
        "Accept: text/html",
        "Accept-Encoding: identity",
        "User-Agent: Retwis (rel=me)",
    )
    try:
        with connected(addresses[0], host, until) as connection:
            connection.settimeout(_left(until))
            connection.sendall("".join(f"{line}\r\n" for line in (*lines, "")).encode("ascii"))
            return _text_of(_received(connection, until))
    except TimeoutError as error:
        raise NotFetched("too slow") from error


def _in_ascii(host: str) -> str:
    """A host as browsers ask for it. Python's own `idna` takes that of straße.example for strasse.example, which may be
    somebody else's. Raises UnicodeError."""
    return (host.encode("idna") if host.isascii() else idna.encode(host, uts46=True)).decode()


_IN_TARGET = "/%:@!$&'()*+,;=~?"  # of what need not be quoted


def is_public(address: str) -> bool:
    """Whether an IP address is one of the internet, and no way to the machine or its network."""
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        if ip.ipv4_mapped is not None:
            return is_public(str(ip.ipv4_mapped))
        if ip.is_site_local:
            return False
    if any(ip in network for network in _NOT_PUBLIC):
        return False
    return ip.is_global and not (
        ip.is_multicast or ip.is_reserved or ip.is_private or ip.is_loopback or ip.is_link_local or ip.is_unspecified
    )


def resolved(host: str) -> list[str]:
    """The IP addresses of a name. Raises OSError, UnicodeError."""
    found = socket.getaddrinfo(host, PORT, type=socket.SOCK_STREAM)
    return [*dict.fromkeys(str(address[0]) for *_, address in found)]


def connected(address: str, host: str, until: float) -> ssl.SSLSocket:
    """A connection to an address whose certificate is that of the name. `until`: monotonic seconds. Raises OSError,
    NotFetched."""
    secure = ssl.create_default_context()
    plain = socket.create_connection((address, PORT), timeout=_left(until))
    try:
        plain.settimeout(_left(until))  # of the whole handshake
        return secure.wrap_socket(plain, server_hostname=host)
    except BaseException:
        plain.close()
        raise


def _left(until: float) -> float:
    """Seconds. Raises NotFetched."""
    left = until - time.monotonic()
    if left <= 0:
        raise NotFetched("too slow")
    return left


def _received(connection: socket.socket, until: float) -> bytes:
    """All that comes, headers too, up to LONGEST_ANSWER."""
    answer = b""
    while len(answer) < LONGEST_ANSWER:
        connection.settimeout(_left(until))
        some = connection.recv(LONGEST_ANSWER - len(answer))
        if not some:
            break
        answer += some
    return answer


class _Received:
    """An answer that is there already, as `HTTPResponse` reads a socket."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer

    def makefile(self, mode: str) -> BytesIO:
        return BytesIO(self._answer)


def _text_of(answer: bytes) -> str:
    """The body of a page of status 200, as far as it came. What is no page is not read: an interface of a site, or a
    file, may repeat what anybody asks for. Raises NotFetched, HTTPException, ValueError."""
    response = HTTPResponse(cast(socket.socket, _Received(answer)))
    response.begin()
    if response.status != 200 or response.headers.get_content_type() not in PAGES:
        raise NotFetched(response.status)
    try:
        body = response.read()
    except IncompleteRead as error:
        body = error.partial
    return body.decode("utf-8", "replace")


# ---- What a page links to


# Linear: each part is read once, whatever the page holds.
_UNREAD = regex.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|textarea|template|title)\b.*?(?:</\1|\Z)", regex.DOTALL | regex.I
)
_LINK = regex.compile(r"<(?:a|link)\s[^<>]{1,2000}>", regex.I)


class _Tag(HTMLParser):
    """Reads one tag."""

    def __init__(self) -> None:
        super().__init__()
        self.attributes: dict[str, str | None] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes = dict(reversed(attrs))  # the first of two counts

    handle_startendtag = handle_starttag


def addresses_of_me(page: str, base: str) -> Iterator[str]:
    """The addresses to which a page links with `rel=me`. `base`: its own address."""
    for found in _LINK.finditer(_UNREAD.sub("", page)):
        tag = _Tag()
        tag.feed(found[0])
        rel, address = tag.attributes.get("rel"), tag.attributes.get("href")
        if address and "me" in (rel or "").lower().split():
            with suppress(ValueError):
                yield urljoin(base, address.strip())


def same_page(one: str, other: str) -> bool:
    """Whether two addresses are those of one profile. A name may have capitals, and the last slash may be missing."""
    try:
        return _normal(one) == _normal(other)
    except ValueError:
        return False


def _normal(address: str) -> tuple[str, str, int | None, str, str]:
    parts = urlsplit(address)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname or "", port, unquote(parts.path).rstrip("/").lower(), parts.query
