"""The id of a request is in its answer, on its error page and in each of its lines of the log."""

import re

import pytest
from granian.rsgi import ProtocolClosed

from retwis_site.telemetry.log_lines import current_request_id
from tests.support.http.rsgi_requests import Headers, Protocol, Scope, answered

MADE = re.compile(r"[0-9a-f]{16}")


@pytest.mark.usefixtures("raw")
@pytest.mark.parametrize("path", ["/livez", "/timeline/", "/static/retwis.css", "/no/such/page/"])
def test_each_answer_has_an_id_of_its_own(client, path):
    first, second = (client.get(path).headers["X-Request-ID"] for _ in range(2))
    assert MADE.fullmatch(first)
    assert first != second


@pytest.mark.parametrize("sent", ["abcdefgh", "0af7651916cd43dd8448eb211c80319c", "a.b_c-d1", "x" * 64])
def test_an_id_that_the_client_sends_is_taken(client, written, sent):
    assert client.get("/livez", headers={"x-request-id": sent}).headers["X-Request-ID"] == sent
    assert f" [{sent}]: GET livez" in written()


@pytest.mark.parametrize("sent", ["", "short", "x" * 65, "with a space", "a]: forged\nline", "<b>12345</b>", "é" * 8])
def test_another_text_is_no_id(client, written, sent):
    assert MADE.fullmatch(client.get("/livez", headers={"x-request-id": sent}).headers["X-Request-ID"])
    assert sent == "" or sent not in written()


def test_the_page_and_every_line_of_a_failed_request_have_the_same_id(failing, written):
    answer = failing(ZeroDivisionError())
    request_id = answer.headers["X-Request-ID"]
    assert f"Request {request_id}" in answer.content.decode()
    heads = [line for line in written().splitlines() if line.startswith("20")]
    assert len(heads) == 2
    assert all(f" [{request_id}]: " in line for line in heads)
    assert "ZeroDivisionError" in written()


@pytest.mark.usefixtures("raw")
@pytest.mark.parametrize(
    ("status", "ask"),
    [
        (404, lambda client: client.get("/nothing/")),
        (403, lambda client: client.post("/login/")),
        (400, lambda client: client.get("/", headers={"host": "localhost:99999"})),
        (431, lambda client: client.get("/", headers={"x-long": "x" * 20_000})),
        (405, lambda client: client.post("/timeline/")),
    ],
)
def test_every_error_page_shows_the_id(browser, status, ask):
    answer = ask(browser(csrf=status == 403))
    assert answer.status_code == status
    assert f"Request {answer.headers['X-Request-ID']}" in answer.content.decode()


@pytest.mark.usefixtures("raw")
def test_a_line_outside_of_a_request_has_no_id(client):
    client.get("/livez")
    assert current_request_id() == ""


def test_a_form_that_arrives_in_part_has_an_id_and_a_line(serving, written):
    headers = Headers([("host", "localhost"), ("content-length", "10"), ("x-request-id", "from-the-proxy")])

    async def disconnect():
        raise ProtocolClosed

    protocol = answered(serving, Scope("/login/", method="POST", headers=headers), Protocol(disconnect))
    assert (protocol.status, protocol.headers["x-request-id"]) == (400, "from-the-proxy")
    assert " [from-the-proxy]: POST - 400, " in written()
