"""What granian answers without the site, and how it parses ambiguous requests."""

import pytest

from tests.support.http.raw_http import HOST, exchange
from tests.support.http.security_headers import HEADERS, POLICY
from tests.support.processes.fresh_process import in_a_process


@pytest.fixture
def port(served_by_one_worker):
    return served_by_one_worker.port


@pytest.mark.real_server
@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        b"Content-Length: 4\r\nContent-Length: 5\r\n",
        b"Content-Length: +5\r\n",
        b"Content-Length: 5, 4\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"Transfer-Encoding : chunked\r\n",
        b"X: a\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n",
    ],
)
def test_a_second_request_cannot_hide_in_the_body_of_the_first(port, framing):
    hidden = b"0\r\n\r\nGET /livez HTTP/1.1\r\n" + HOST + b"\r\n"
    answer = exchange(port, b"POST /post/ HTTP/1.1\r\n" + HOST + framing + b"\r\n" + hidden)
    assert answer.split()[1] in {"400", "411"}
    assert answer.count("HTTP/1.1 ") == 1
    assert "\r\n\r\nok\n" not in answer


@pytest.mark.real_server
@pytest.mark.parametrize("path", ["/", "/nothing/", "/static/retwis.css", "/livez"])
def test_no_answer_reveals_a_version(port, path):
    request = b"GET " + path.encode() + b" HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n"
    head = exchange(port, request).partition("\r\n\r\n")[0]
    lines = dict(line.lower().split(": ", 1) for line in head.splitlines()[1:])
    assert lines["server"] == "granian"
    assert not {"x-powered-by", "via", "x-runtime"} & set(lines)


@pytest.mark.real_server
@pytest.mark.parametrize("path", ["/", "/post/", "/login/"])
def test_trace_does_not_return_the_request(port, path):
    request = b"TRACE " + path.encode() + b" HTTP/1.1\r\nConnection: close\r\nX-Mine: not back\r\n" + HOST + b"\r\n"
    answer = exchange(port, request)
    assert answer.startswith("HTTP/1.1 405 ")
    assert "not back" not in answer


def test_the_answer_to_a_form_that_never_arrived_has_the_security_headers():
    code = """
import asyncio
from retwis_site.server import rsgi
rsgi.BODY_TIMEOUT = 0.05

class Scope:
    method, path, query_string, http_version, scheme = "POST", "/post/", "", "1.1", "http"
    server, client, authority, headers = "127.0.0.1:80", "127.0.0.1:5", None, {"content-length": "5"}

class Never:
    async def __call__(self):
        await asyncio.Event().wait()

    def response_str(self, status, headers, body):
        print(status, *sorted(f"{name.title()}: {value}" for name, value in headers), sep="\\n", flush=True)

asyncio.run(rsgi.application.__rsgi__(Scope, Never()))
"""
    status, *headers = in_a_process(code).splitlines()
    assert status == "408"
    sent = dict(line.split(": ", 1) for line in headers)
    assert sent["Content-Type"] == "text/plain; charset=utf-8"
    assert set(sent.get("Content-Security-Policy", "").split("; ")) >= POLICY
    missing = [name for name, value in HEADERS.items() if sent.get(name) != value]
    assert not missing, missing
