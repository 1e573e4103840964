"""Requests over real connections to `manage.py serve` with one worker: slow, many, or several on one connection."""

import contextlib
import http.client
import re
import socket
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.conf import settings

from tests.support.http.http_browser import TIMEOUT
from tests.support.http.raw_http import HOST, exchange
from tests.support.people import PASSWORD

pytestmark = [pytest.mark.real_server, pytest.mark.processes]

FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"


@pytest.fixture
def site(served_by_one_worker):
    return served_by_one_worker


def connect(site):
    return socket.create_connection(("127.0.0.1", site.port), timeout=TIMEOUT)


def read_all(connection):
    return b"".join(iter(lambda: connection.recv(65536), b"")).decode()


def post(path, length, *more):
    return b"".join((b"POST ", path, b" HTTP/1.1\r\n", HOST, FORM, b"Content-Length: %d\r\n" % length, *more, b"\r\n"))


def test_a_form_sent_in_pieces_is_complete(site, raw):
    fields = site.browser.ask("/register/").form("/register/")
    token = site.browser.cookie("csrftoken").encode()
    body = urlencode({**fields, "username": "Piecemeal", "password1": PASSWORD, "password2": PASSWORD}).encode()
    with connect(site) as connection:
        head = post(b"/register/", len(body), b"Cookie: csrftoken=", token, b"\r\nConnection: close\r\n")
        for piece in (head[:20], head[20:-1], head[-1:], body[:1], body[1:50], body[50:-1], body[-1:]):
            connection.sendall(piece)
            assert site.browser.open("/livez")[0] == 200  # the server has read that piece by now
        assert read_all(connection).startswith("HTTP/1.1 302 ")
    assert raw.hexists("users", "piecemeal")


def test_expect_100_continue_is_answered(site):
    with connect(site) as connection:
        connection.sendall(post(b"/login/", 6, b"Expect: 100-continue\r\nConnection: close\r\n"))
        assert connection.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"body=x")
        assert read_all(connection).startswith("HTTP/1.1 403 ")  # no token


def test_a_too_large_form_is_read_and_comes_back(site):
    """A browser shows no answer while it still sends."""
    body = b"body=Typed&more=" + b"x" * 3 * settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    with connect(site) as connection:
        connection.sendall(post(b"/post/", len(body), b"Connection: close\r\n") + body)
        answer = read_all(connection)
    assert answer.startswith("HTTP/1.1 413 ")
    assert "\nTyped</textarea>" in answer


def test_100_mb_of_pictures_are_read_and_dropped_and_the_text_comes_back(site):
    megabyte, part = bytes(1024 * 1024), b'--x\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n'
    start = part % (b"body", b"") + b"Typed\r\n" + part % (b"picture", b'; filename="x.png"')
    head = post(b"/post/", len(start) + 100 * len(megabyte), b"Connection: close\r\n")
    before = memory_of(site)
    with connect(site) as connection:
        connection.sendall(head.replace(FORM, b"Content-Type: multipart/form-data; boundary=x\r\n") + start)
        for _ in range(100):
            connection.sendall(megabyte)
        answer = read_all(connection)
    assert answer.startswith("HTTP/1.1 422 ")
    assert "Pictures may have 24 MB together." in answer
    assert "\nTyped</textarea>" in answer
    assert memory_of(site) - before < 16 * 1024 * 1024


def memory_of(site):
    """The largest number of bytes that the worker has had in memory."""
    [pid] = site.web_workers()
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1]) * 1024


def test_an_incomplete_form_is_refused(site, raw):
    with connect(site) as connection:
        connection.sendall(post(b"/post/", 1000) + b"body=half")
        connection.shutdown(socket.SHUT_WR)
        assert read_all(connection).startswith("HTTP/1.1 400 ")
    assert not raw.exists("next_post_id")


def test_a_hundred_slow_clients_delay_no_other(site):
    """The only worker answers others while it waits for the slow clients, and answers those once they are done."""
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(connect(site)) for _ in range(100)]
        for connection in slow:
            connection.sendall(post(b"/login/", 12, b"Connection: close\r\n") + b"body=h")
        for _ in range(10):
            for path in ("/", "/timeline/", "/login/", "/livez"):
                assert site.browser.open(path)[0] == 200
        assert site.browser.open("/login/", {"username": "nobody", "password": "x"})[0] == 403
        for connection in slow:
            connection.setblocking(False)
            with pytest.raises(BlockingIOError):
                connection.recv(1)
            connection.settimeout(TIMEOUT)
            connection.sendall(b"alf+it")
        assert all(read_all(connection).startswith("HTTP/1.1 403 ") for connection in slow)  # no token


def test_one_connection_serves_many_requests(site):
    client = http.client.HTTPConnection("127.0.0.1", site.port, timeout=TIMEOUT)
    with contextlib.closing(client):
        client.connect()
        first = client.sock
        for method, path, body, status in [
            ("GET", "/", None, 200),
            ("HEAD", "/", None, 200),
            ("GET", "/nothing/", None, 404),
            ("POST", "/post/", "body=x", 403),
            ("HEAD", "/static/retwis.css", None, 200),
            ("GET", "/livez", None, 200),
        ]:
            client.request(method, path, body, {"Content-Type": "application/x-www-form-urlencoded"})
            answer = client.getresponse()
            text = answer.read()
            assert answer.status == status, path
            assert (len(text) == int(answer.headers["Content-Length"])) == (method != "HEAD")
            assert client.sock is first
        assert text == b"ok\n"


@pytest.mark.parametrize("path", ["/", "/timeline/", "/livez", "/static/retwis.css", "/nothing/"])
def test_head_has_the_headers_of_get_and_no_body(site, path):
    request = b" " + path.encode() + b" HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n"
    head, _, no_body = exchange(site.port, b"HEAD" + request).partition("\r\n\r\n")
    whole, _, body = exchange(site.port, b"GET" + request).partition("\r\n\r\n")
    assert no_body == ""
    assert head.split()[1] == whole.split()[1]
    [length] = re.findall(r"content-length: ([0-9]+)", head.lower())
    assert int(length) == len(body) > 0


def test_a_static_file_arrives_complete(site):
    page = site.browser.open("/")[1]
    for kind in ("css", "svg"):
        path = re.search(rf'href="(/static/[^"]+\.{kind})"', page)[1]
        request = b"GET " + path.encode() + b" HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n"
        name = re.sub(r"\.[0-9a-f]{12}\.", ".", Path(path).name)
        [source] = settings.BASE_DIR.glob(f"[!v]*/static/{name}")  # not those that `serve` has collected in var/
        body = exchange(site.port, request).partition("\r\n\r\n")[2].encode("latin-1")
        assert re.sub(rb"\.[0-9a-f]{12}\.", b".", body) == source.read_bytes()  # a stylesheet names other files


def test_an_address_that_is_not_percent_encoded_is_read_as_utf_8(site):
    address = "/login/?next=/@é€/".encode()
    request = b"GET " + address + b" HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n"
    answer = exchange(site.port, request).encode("latin-1").decode()
    assert answer.startswith("HTTP/1.1 200 ")
    assert 'name="next" value="/@é€/"' in answer


def test_slow_and_quick_clients_each_get_their_own_language(site):
    """One thread awaits the forms; pages are made in it and in another."""
    titles = {"ar": "خطأ 403", "de": "Fehler 403", "en": "Error 403"}
    with contextlib.ExitStack() as stack:
        slow = {code: stack.enter_context(connect(site)) for code in titles}
        for code, connection in slow.items():
            cookie = f"Cookie: language={code}\r\nConnection: close\r\n".encode()
            connection.sendall(post(b"/login/", 12, cookie) + b"body=h")
        for code in (*titles, *titles):
            head = f"GET /nothing/ HTTP/1.1\r\nAccept-Language: {code}\r\nConnection: close\r\n".encode()
            with connect(site) as quick:
                quick.sendall(head + HOST + b"\r\n")
                assert f'<html lang="{code}"' in read_all(quick)
        for code, connection in slow.items():
            connection.sendall(b"alfabc")
            answer = read_all(connection)
            assert f'<html lang="{code}"' in answer
            assert titles[code] in answer
