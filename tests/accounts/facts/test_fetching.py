"""Whether a page links back to a profile: what is asked, of whom, and for how long; and what counts as a link back."""

import socket
import threading
import time
from contextlib import contextmanager, suppress
from unittest.mock import patch

import pytest

from accounts.facts import fetching
from accounts.facts.fetching import NotFetched, addresses_of_me, fetched, is_public, linking_back, same_page

PROFILE = "https://retwis.example/@Alice/"
PUBLIC = "93.184.215.14"


@contextmanager
def server(*parts, pause=0.0):
    """A server on this machine that sends these parts of an answer. Yields how to connect to it, and what it got."""
    listener, got, ended = socket.create_server(("127.0.0.1", 0)), [], threading.Event()

    def serve():
        there, _ = listener.accept()
        with there:
            got.append(there.recv(65536).decode())
            for part in parts:
                if ended.wait(pause):
                    return
                try:
                    there.sendall(part)
                except OSError:
                    return

    def connect(address, host, until):
        got.append((address, host))
        here = socket.create_connection(listener.getsockname())
        here.setblocking(False)
        return here

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield connect, got
    finally:
        ended.set()
        listener.close()


def page(body, head="HTTP/1.1 200 OK", kind="text/html"):
    return f"{head}\r\nContent-Type: {kind}\r\n\r\n".encode() + body


def fetch(link, connect, seconds=5.0, addresses=(PUBLIC,)):
    with patch.multiple(fetching, resolved=lambda host: addresses, connected=connect):
        return fetched(link, time.monotonic() + seconds)


def never(address, host, until):
    raise AssertionError("connected")


# ---- the request


def test_one_request_goes_to_the_address_that_was_checked():
    with server(page(b"hello")) as (connect, got):
        assert fetch("https://B\u00fccher.example/\u00fc/?q=a b#there", connect) == "hello"
    where, request = got
    assert where == (PUBLIC, "xn--bcher-kva.example")
    first, *headers = request.split("\r\n")
    assert first == "GET /%C3%BC/?q=a%20b HTTP/1.1"
    assert "Host: xn--bcher-kva.example" in headers
    assert not any(header.startswith(("Cookie", "Authorization", "Referer")) for header in headers)


@pytest.mark.parametrize(
    ("link", "asked"),
    [
        ("https://stra\u00dfe.example/", "xn--strae-oqa.example"),
        ("https://\u03b2\u03cc\u03bb\u03bf\u03c2.example/", "xn--nxasmm1c.example"),
        ("https://\u0646\u0627\u0645\u0647\u200c\u0627\u06cc.example/", "xn--mgba3gch31f060k.example"),
    ],
)
def test_the_host_that_is_asked_is_the_one_to_which_a_browser_goes(link, asked):
    """Python's own `idna` takes the first for strasse.example, which may be somebody else's."""
    with server(page(b"hello")) as (connect, got):
        assert fetch(link, connect) == "hello"
    assert got[0] == (PUBLIC, asked)


@pytest.mark.parametrize(
    "link",
    [
        *("http://ann.example/", "ftp://ann.example/", "https:///", "https://", "ann.example"),
        *("https://ann.example:8443/", "https://ann.example:80/", "https://ann.example:x/", "https://[::1/"),
        *("https://ann:secret@ann.example/", "https://a..b/", f"https://{'a' * 64}.example/"),
    ],
)
def test_other_addresses_are_not_asked(link):
    with pytest.raises((NotFetched, ValueError)):
        fetch(link, never)


INNER = [
    *("127.0.0.1", "127.1.2.3", "10.0.0.1", "0.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
    *("192.0.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255"),
    *("::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1"),
    *("::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::8.8.8.8", "64:ff9b:1::1", "2002:7f00:1::", "2001:0:1::1"),
    *("2001:db8::1", "100::1", "fec0::1", "192.0.0.8", "192.0.0.192", "192.88.99.1", "3fff::1"),
]


@pytest.mark.parametrize("address", INNER)
def test_no_request_reaches_the_machine_or_its_network(address):
    assert not is_public(address)
    for addresses in ((address,), (PUBLIC, address), (address, PUBLIC)):
        with pytest.raises(NotFetched):
            fetch("https://ann.example/", never, addresses=addresses)


def test_public_addresses_are_asked():
    assert all(map(is_public, [PUBLIC, "8.8.8.8", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "::ffff:8.8.8.8"]))
    with pytest.raises(NotFetched):
        fetch("https://ann.example/", never, addresses=())


@pytest.mark.parametrize("status", ["301 Moved\r\nLocation: https://other.example/", "404 Not Found", "500 Error"])
def test_no_redirect_is_followed_and_no_error_page_read(status):
    with server(page(b"hello", f"HTTP/1.1 {status}")) as (connect, got), pytest.raises(NotFetched):
        fetch("https://ann.example/", connect)
    assert len(got) == 2


@pytest.mark.parametrize("kind", ["application/json", "text/plain; charset=utf-8", "image/svg+xml", ""])
def test_what_is_no_page_is_not_read_since_it_may_repeat_what_anybody_asks_for(kind):
    with server(page(b"hello", kind=kind)) as (connect, _), pytest.raises(NotFetched):
        fetch("https://ann.example/", connect)


@pytest.mark.parametrize("kind", ["text/html;charset=utf-8", "TEXT/HTML", "application/xhtml+xml"])
def test_a_page_may_be_html_or_xhtml(kind):
    with server(page(b"hello", kind=kind)) as (connect, _):
        assert fetch("https://ann.example/", connect) == "hello"


def test_no_more_than_the_first_64_kilobytes_are_read():
    with server(page(b"a" * 60_000), *[b"b" * 60_000] * 1000) as (connect, _):
        text = fetch("https://ann.example/", connect)
    assert len(text) < fetching.LONGEST_ANSWER
    assert text.startswith("aaa")


def test_a_body_that_drips_ends_at_the_deadline():
    with server(page(b""), *[b"a"] * 1000, pause=0.02) as (connect, _), pytest.raises(NotFetched):
        fetch("https://ann.example/", connect, seconds=0.3)


def test_a_handshake_that_drips_ends_at_the_deadline(monkeypatch):
    listener, ended = socket.create_server(("127.0.0.1", 0)), threading.Event()
    monkeypatch.setattr(fetching, "PORT", listener.getsockname()[1])

    def serve():
        there, _ = listener.accept()
        with there, suppress(OSError):
            there.sendall(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xf0")  # the beginning of a long ServerHello
            for _ in range(250):  # five seconds: without a deadline the handshake would end with this connection
                if ended.wait(0.02):
                    return
                there.sendall(b"\x03")

    with listener:
        threading.Thread(target=serve, daemon=True).start()
        with pytest.raises((TimeoutError, NotFetched)):  # NotFetched where the half second ended before the handshake
            fetching.connected("127.0.0.1", "ann.example", time.monotonic() + 0.5)
        ended.set()


def test_all_links_together_take_one_deadline(monkeypatch):
    monkeypatch.setattr(fetching, "DEADLINE", 0.2)
    ended = threading.Event()
    monkeypatch.setattr(fetching, "resolved", lambda host: ended.wait(30) and [])
    began = time.monotonic()
    assert linking_back([f"https://ann{number}.example/" for number in range(4)], PROFILE) == set()
    ended.set()
    assert time.monotonic() - began < 10


def test_links_whose_pages_link_back_are_found(monkeypatch):
    body = f'<a href="{PROFILE}" rel="me">me</a>'.encode()
    monkeypatch.setattr(fetching, "resolved", lambda host: ["10.0.0.1"] if host == "inner.example" else [PUBLIC])
    with server(page(body)) as (connect, _):
        monkeypatch.setattr(fetching, "connected", connect)
        links = ["https://ann.example/", "https://inner.example/", "http://plain.example/", "https://[", "x"]
        assert linking_back(links, PROFILE) == {"https://ann.example/"}


# ---- what a page links to


@pytest.mark.parametrize(
    ("page", "found"),
    [
        (f'<a rel="me" href="{PROFILE}">', True),
        (f'<link href="{PROFILE}" rel="nofollow ME noopener"/>', True),
        ("<A REL=me HREF=https://retwis.example/@alice>", True),
        ('<a rel="me" href="HTTPS://Retwis.Example:443/%40Alice/#top">', True),
        ('<a rel="me" href="https://retwis.example/@alice/?a&amp;b">', False),
        (f'<a rel="home" href="{PROFILE}">', False),
        (f'<a href="{PROFILE}">rel="me"', False),
        (f'<area rel="me" href="{PROFILE}">', False),
        ('<a rel="me" href="https://retwis.example/@bob/">', False),
        ('<a rel="me" href="http://retwis.example/@alice/">', False),
        ('<a rel="me" href="https://retwis.example.evil.example/@alice/">', False),
        ('<a rel="me" href="/@alice/">', False),
        ('<a rel="me">', False),
        ('<a rel="me" href="https://[">', False),
        (f'<!-- <a rel="me" href="{PROFILE}"> -->', False),
        (f'<script>"<a rel=me href={PROFILE}>"</script>', False),
        (f'<textarea><a rel="me" href="{PROFILE}">', False),
        ("", False),
    ],
)
def test_a_link_back_has_the_token_me_and_the_address_of_the_profile(page, found):
    links = addresses_of_me(page, "https://ann.example/")
    assert any(same_page(link, PROFILE) for link in links) == found


@pytest.mark.parametrize(
    "part", ["<!--", "<a ", "<script", "<a rel='", "<", "&#", '<a href="', "<![", "<a rel=me href=x>"]
)
def test_a_hostile_page_takes_little_time(part):
    began = time.process_time()
    list(addresses_of_me(part * (fetching.LONGEST_ANSWER // len(part)), "https://ann.example/"))
    assert time.process_time() - began < 2
