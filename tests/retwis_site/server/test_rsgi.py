"""A request from granian to the site and back: its environment, its body, its thread and its answer."""

import asyncio
import contextlib
import threading
from email import message
from itertools import chain
from tempfile import TemporaryFile
from wsgiref.validate import check_environ

import pytest
from django.core.signals import request_finished
from django.http import StreamingHttpResponse
from django.templatetags.static import static
from django.utils import translation
from granian.rsgi import ProtocolClosed

from retwis_site.server import rsgi
from retwis_site.server.worker import Loop
from tests.support.http.http_browser import TIMEOUT
from tests.support.http.rsgi_requests import Headers, Protocol, Scope, answered
from tests.support.http.security_headers import HEADERS, POLICY


def with_headers(*headers, **changes):
    return Scope(headers=Headers(headers), **changes)


# ---- the WSGI environment


@pytest.mark.parametrize(
    "scope",
    [
        Scope(),
        Scope("/@é€/", "a=1&b=€", "POST", http_version="1.0", scheme="https"),
        with_headers(("content-type", "text/plain"), ("content-length", "5"), ("x-a", ""), ("x-a", "b")),
        with_headers(http_version="2", authority="retwis.example", server="[::1]:8000", client="[2001:db8::1]:5"),
    ],
)
def test_an_environment_conforms_to_pep_3333(serving, scope):
    environ = serving.environ_of(scope)
    check_environ(environ)
    for name, value in environ.items():
        if not name.startswith("wsgi."):
            value.encode("latin-1")
    assert environ["wsgi.input"].read() == b""


def test_repeated_headers_are_joined_and_cookies_with_semicolons(serving):
    environ = serving.environ_of(
        with_headers(
            ("cookie", "a=1"), ("x-forwarded-for", "1.1.1.1"), ("cookie", "b=2"), ("x-forwarded-for", "2.2.2.2")
        )
    )
    assert environ["HTTP_COOKIE"] == "a=1; b=2"
    assert environ["HTTP_X_FORWARDED_FOR"] == "1.1.1.1,2.2.2.2"


def test_a_header_with_an_underscore_is_ignored(serving):
    environ = serving.environ_of(with_headers(("x_forwarded_proto", "https"), ("content_length", "7"), ("host_", "x")))
    assert not [name for name in environ if name.startswith("HTTP_") or name == "CONTENT_LENGTH"]


def test_content_type_and_content_length_have_no_http_prefix(serving):
    environ = serving.environ_of(with_headers(("content-type", "text/plain"), ("content-length", "7")))
    assert (environ["CONTENT_TYPE"], environ["CONTENT_LENGTH"]) == ("text/plain", "7")
    assert "HTTP_CONTENT_TYPE" not in environ
    assert "HTTP_CONTENT_LENGTH" not in environ


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_long_content_type_is_not_parsed(serving, raw, monkeypatch, method):
    """Python takes as many steps as its length squared: 60 KB stopped a worker for ten seconds."""
    real, parsed = message._parseparam, [0]
    monkeypatch.setattr(message, "_parseparam", lambda text: parsed.append(len(text)) or real(text))
    kind, body = f'multipart/form-data; charset="{";" * 5000}', b"a=1"
    headers = ("host", "localhost"), ("content-type", kind), ("content-length", str(len(body)))
    assert answered(serving, with_headers(*headers, path="/", method=method), Protocol(body)).status in {200, 403}
    assert max(parsed) < 400


@pytest.mark.parametrize(
    ("server", "client", "expected"),
    [
        ("127.0.0.1:8000", "192.0.2.7:4711", ("127.0.0.1", "8000", "192.0.2.7")),
        ("[::1]:80", "[2001:db8::1]:5", ("[::1]", "80", "2001:db8::1")),
    ],
)
def test_ipv4_and_ipv6_addresses_are_parsed(serving, server, client, expected):
    environ = serving.environ_of(Scope(server=server, client=client))
    assert (environ["SERVER_NAME"], environ["SERVER_PORT"], environ["REMOTE_ADDR"]) == expected


def test_the_authority_of_http_2_is_the_host_unless_there_is_a_host_header(serving):
    assert (
        serving.environ_of(with_headers(http_version="2", authority="retwis.example"))["HTTP_HOST"] == "retwis.example"
    )
    both = with_headers(("host", "one.example"), http_version="2", authority="two.example")
    assert serving.environ_of(both)["HTTP_HOST"] == "one.example"
    assert "HTTP_HOST" not in serving.environ_of(with_headers(http_version="1.0"))


@pytest.mark.parametrize("text", ["/@é€/", "/\U0001f600", "/@\ufffd\ufffd/", "/ /"])
def test_a_path_and_a_query_are_utf_8(serving, text):
    """granian has replaced invalid bytes with U+FFFD."""
    environ = serving.environ_of(Scope(path=text, query_string=text))
    assert environ["PATH_INFO"].encode("latin-1").decode() == text
    assert environ["QUERY_STRING"].encode("latin-1").decode() == text


def test_the_site_answers_requests_with_unusual_paths_queries_and_headers(serving, raw, alice):
    for scope, status in (
        (Scope("/login/", "next=/€é"), 200),
        (Scope("/@\ufffd/"), 404),
        (Scope("/", "before=€"), 400),
        (with_headers(("host", "localhost"), ("cookie", "a=b"), ("cookie", f"auth={alice.secret}")), 200),
    ):
        protocol = answered(serving, scope)
        assert protocol.status == status
        assert protocol.headers["content-length"] == str(len(b"".join(protocol.chunks)))
    assert "Alice" in protocol.chunks[0].decode()


# ---- the body


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(rsgi, "BODY_TIMEOUT", 0.01)


def form_request(length, **changes):
    content_type = ("content-type", "application/x-www-form-urlencoded")
    return with_headers(
        ("host", "localhost"), content_type, ("content-length", length), path="/login/", method="POST", **changes
    )


def test_a_body_that_does_not_arrive_is_a_408(serving, raw, impatient):
    protocol = answered(serving, form_request("5"), Protocol(asyncio.Event().wait))
    assert protocol.status == 408
    assert protocol.headers["connection"] == "close"
    missing = [name for name, value in HEADERS.items() if protocol.headers.get(name.lower()) != value]
    assert not missing
    assert set(protocol.headers["content-security-policy"].split("; ")) >= POLICY


def test_the_408_is_in_the_clients_language(serving, raw, impatient):
    for header in (("accept-language", "ar-EG"), ("cookie", "language=ar")):
        scope = form_request("5")
        scope.headers.append(header)
        protocol = answered(serving, scope, Protocol(asyncio.Event().wait))
        assert "لم يصل النموذج" in b"".join(protocol.chunks).decode()
        assert translation.get_language() == "en"


@pytest.mark.parametrize("content_type", ["text/plain; x*=none'x'%ff", "text/plain; charset=none"])
def test_the_408_does_not_depend_on_the_content_type(serving, raw, impatient, content_type):
    scope = with_headers(("host", "localhost"), ("content-type", content_type), ("content-length", "5"), method="POST")
    assert answered(serving, scope, Protocol(asyncio.Event().wait)).status == 408


def test_a_form_is_incomplete_when_the_client_disconnects(serving, raw):
    async def disconnect():
        raise ProtocolClosed

    protocol = answered(serving, form_request("5"), Protocol(disconnect))
    assert protocol.status == 400
    assert "Only a part of the form arrived, so nothing was saved." in b"".join(protocol.chunks).decode()


@pytest.mark.parametrize("length", ["0", ""])
def test_an_empty_body_is_not_awaited(serving, raw, length):
    def never():
        raise AssertionError("the body was read")

    assert answered(serving, form_request(length), Protocol(never)).status == 403


# ---- the thread


def threads_of(serving, monkeypatch, scope, protocol):
    """The names of the threads that run the site when granian starts a coroutine from a thread of its own."""
    names = []

    def site(environ, start_response):
        names.append(threading.current_thread().name)
        return real(environ, start_response)

    real = serving.site
    monkeypatch.setattr(serving, "site", site)
    loop = Loop()
    running = threading.Thread(target=loop.run_forever, name="loop")
    running.start()
    ended = threading.Event()

    async def handle():
        await serving.application.__rsgi__(scope, protocol)
        ended.set()

    coroutine = handle()
    calling = threading.Thread(
        target=lambda: loop.call_soon_threadsafe(lambda each: loop.create_task(each), coroutine), name="granian"
    )
    calling.start()
    assert ended.wait(TIMEOUT)
    calling.join()
    loop.call_soon_threadsafe(loop.stop)
    running.join()
    loop.close()
    return names


def test_a_page_is_made_in_the_thread_that_granian_calls_from(serving, raw, monkeypatch):
    protocol = Protocol()
    assert threads_of(serving, monkeypatch, Scope(), protocol) == ["granian"]
    assert protocol.status == 200


def test_a_form_is_awaited_and_handled_in_the_event_loops_thread(serving, raw, monkeypatch):
    async def late():
        await asyncio.sleep(0)
        return b"body="

    protocol = Protocol(late)
    form = form_request("5")
    form.path = "/post/"
    assert threads_of(serving, monkeypatch, form, protocol) == ["loop"]
    assert protocol.status == 403  # without a token


def test_a_static_file_is_read_in_the_thread_that_granian_calls_from(serving, raw, monkeypatch):
    protocol = Protocol()
    assert threads_of(serving, monkeypatch, Scope(static("retwis.css")), protocol) == ["granian"]
    assert len(b"".join(protocol.chunks)) == int(protocol.headers["content-length"]) > 0


def test_a_download_is_made_in_a_thread_of_its_own(serving, raw, alice, monkeypatch):
    protocol = Protocol()
    scope = with_headers(("host", "localhost"), ("cookie", f"auth={alice.secret}"), path="/settings/download/")
    [thread] = threads_of(serving, monkeypatch, scope, protocol)
    assert thread not in {"granian", "loop"}
    assert b'"type": "end"' in b"".join(protocol.chunks)


# ---- the answer


class Source:
    """The chunks of a stream; `closed` once it is closed."""

    def __init__(self):
        self.closed = False
        self._chunks = iter([b"one", b"two", b"three"])

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._chunks)

    def close(self):
        self.closed = True


def test_a_streamed_answer_is_sent_at_once_and_closed(serving, answers_with):
    source = Source()
    answers_with(StreamingHttpResponse(source))
    assert answered(serving, Scope()).chunks == [b"onetwothree"]
    assert source.closed


def test_a_streamed_answer_that_fails_is_closed_and_not_sent(serving, answers_with):
    source = Source()
    source._chunks = chain([b"one"], iter(lambda: 1 / 0, None))
    answers_with(StreamingHttpResponse(source))
    protocol = Protocol()
    with pytest.raises(ZeroDivisionError):
        answered(serving, Scope(), protocol)
    assert protocol.status is None
    assert source.closed


@pytest.fixture
def temporary_file(serving, monkeypatch):
    """A file without a name, which the site returns as its answer."""

    def site(environ, start_response):
        start_response("200 OK", [("Content-Length", "5")])
        return environ["wsgi.file_wrapper"](file, 4096)

    monkeypatch.setattr(serving, "site", site)
    with TemporaryFile() as file:
        file.write(b"whole")
        file.seek(0)
        yield file


def test_a_temporary_file_is_sent_from_the_disk_and_stays_open_meanwhile(serving, temporary_file):
    protocol = Protocol()

    async def run():
        task = asyncio.create_task(serving.application.__rsgi__(Scope(), protocol))
        while protocol.file is None:
            await asyncio.sleep(0)
        assert protocol.file.read() == b"whole"
        assert not task.done()
        assert not temporary_file.closed
        task.cancel()

    asyncio.run(run())
    protocol.file.close()
    assert protocol.headers == {"content-length": "5"}
    assert protocol.chunks == []
    assert temporary_file.closed


def test_a_temporary_file_is_truncated_and_closed_after_the_timeout(serving, temporary_file, monkeypatch):
    monkeypatch.setattr(serving, "FILE_TIMEOUT", 0.01)
    with answered(serving, Scope()).file as file:
        assert file.read() == b""
    assert temporary_file.closed


def test_a_temporary_file_is_sent_for_a_request_that_began_outside_the_loop(serving, temporary_file, monkeypatch):
    monkeypatch.setattr(serving, "FILE_TIMEOUT", 0.01)
    protocol = Protocol()
    assert threads_of(serving, monkeypatch, Scope(), protocol) == ["granian"]
    protocol.file.close()
    assert protocol.status == 200
    assert temporary_file.closed


def test_an_answer_that_is_a_list_is_sent_at_once(serving, monkeypatch):
    def site(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"com", b"plete"]

    monkeypatch.setattr(serving, "site", site)
    protocol = answered(serving, Scope())
    assert (protocol.status, protocol.chunks) == (200, [b"complete"])


@pytest.mark.usefixtures("raw")
@pytest.mark.parametrize("path", ["/", "/nothing/"])
def test_the_site_returns_a_page_as_a_list_and_has_finished_the_request(serving, path):
    done = []

    def finished(**kwargs):
        done.append(path)

    request_finished.connect(finished)
    try:
        answer = serving.site(serving.environ_of(Scope(path)), lambda *arguments: None)
    finally:
        request_finished.disconnect(finished)
    assert isinstance(answer, list)
    assert done == [path]


def test_the_site_returns_a_static_file_as_a_stream(serving):
    answer = serving.site(serving.environ_of(Scope(static("retwis.css"))), lambda *arguments: None)
    with contextlib.closing(answer):
        assert not isinstance(answer, list)
        assert b"".join(answer)
