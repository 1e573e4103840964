"""What granian answers without the site, and how it parses ambiguous requests."""

import pytest

from tests.support.http.raw_http import HOST, exchange

pytestmark = [pytest.mark.real_server, pytest.mark.processes]


@pytest.fixture
def port(served_by_one_worker):
    return served_by_one_worker.port


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


@pytest.mark.parametrize("path", ["/", "/nothing/", "/static/retwis.css", "/livez"])
def test_no_answer_reveals_a_version(port, path):
    request = b"GET " + path.encode() + b" HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n"
    head = exchange(port, request).partition("\r\n\r\n")[0]
    lines = dict(line.lower().split(": ", 1) for line in head.splitlines()[1:])
    assert lines["server"] == "granian"
    assert not {"x-powered-by", "via", "x-runtime"} & set(lines)


@pytest.mark.parametrize("path", ["/", "/post/", "/login/"])
def test_trace_does_not_return_the_request(port, path):
    request = b"TRACE " + path.encode() + b" HTTP/1.1\r\nConnection: close\r\nX-Mine: not back\r\n" + HOST + b"\r\n"
    answer = exchange(port, request)
    assert answer.startswith("HTTP/1.1 405 ")
    assert "not back" not in answer
