"""One line for each request: what was asked, what it cost, and for whom."""

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.http import HttpResponse, StreamingHttpResponse
from django.test import Client, RequestFactory

from accounts.recovery.codes import ResetLinks
from accounts.signing_in.passwords import HASHING
from retwis_site.exceptions import StoreError
from retwis_site.store.connection.recorder import Watch
from retwis_site.telemetry.middleware import ObservedRequests
from tests.support.people import PASSWORD

ADDRESS = "203.0.113.9"


@pytest.fixture
def access(of_logger):
    return lambda: of_logger("retwis.access")


def test_a_page_has_one_line_with_its_view_its_size_its_round_trips_and_its_viewer(member, access, round_trips):
    member.get("/", REMOTE_ADDR=ADDRESS)
    [_] = access()
    answers = []
    recorded = round_trips(lambda: answers.append(member.get("/?unread=secret", REMOTE_ADDR=ADDRESS)))
    [_, line] = access()
    figures = re.fullmatch(
        rf"GET home 200, (\d+) bytes, ([\d.]+) ms, (\d+) round trips in ([\d.]+) ms, from {ADDRESS}, uid 1", line
    )
    assert int(figures[1]) == len(answers[0].content)
    assert int(figures[3]) == len(recorded.round_trips) > 0
    assert float(figures[4]) <= float(figures[2])


@pytest.mark.usefixtures("raw")
@pytest.mark.parametrize(
    ("method", "path", "begins"),
    [
        ("get", "/livez", "GET livez 200, 3 bytes"),
        ("head", "/livez", "HEAD livez 200, 0 bytes"),
        ("get", "/no/such/page/", "GET - 404, "),
        ("get", "/static/retwis.css", "GET - 200, {css} bytes"),
        ("head", "/static/retwis.css", "HEAD - 200, 0 bytes"),
        ("post", "/timeline/", "POST timeline 405, "),
    ],
)
def test_what_is_no_page_has_one_line_too(client, access, method, path, begins):
    getattr(client, method)(path)
    [line] = access()
    assert line.startswith(begins.format(css=Path(finders.find("retwis.css")).stat().st_size))
    assert line.endswith("0 round trips in 0.0 ms, from 127.0.0.1, uid -")


def test_a_viewer_whom_the_view_has_not_asked_for_costs_no_round_trip(member, access, round_trips):
    assert round_trips(lambda: member.get("/livez")).round_trips == []
    assert access()[-1].endswith("uid -")


def test_the_cause_of_a_503_stands_at_the_end(failing, access):
    assert failing(StoreError("no answer")).status_code == 503
    assert access()[-1].endswith(", cause store")


def test_a_full_queue_is_a_cause_too(browser, access, monkeypatch):
    monkeypatch.setattr(HASHING, "at_once", 0)
    monkeypatch.setattr(HASHING, "waiting", 0)
    assert browser().post("/login/", {"username": "1", "password": "1"}).status_code == 503
    assert access()[-1].endswith(", cause queue")


def test_a_page_that_fails_has_a_line(failing, access):
    assert failing(ZeroDivisionError()).status_code == 500
    assert access()[-1].startswith("GET profile 500, ")


def test_a_streamed_answer_of_unknown_length_has_its_line_when_it_has_been_sent(access):
    stream = StreamingHttpResponse(iter([b"12345", b"67"]))
    answer = ObservedRequests(lambda request: stream)(RequestFactory().get("/"))
    assert access() == []
    assert b"".join(answer) == b"1234567"
    answer.close()
    [line] = access()
    assert line.startswith("GET - 200, 7 bytes")


def test_a_streamed_answer_whose_client_has_gone_has_a_line(access):
    answer = ObservedRequests(lambda request: StreamingHttpResponse(iter([b"12345"])))(RequestFactory().get("/"))
    answer.close()
    assert access()[0].startswith("GET - 200, 0 bytes")


def test_a_request_of_very_many_commands_keeps_only_the_first_ones_in_memory(store, settings):
    seen = []

    def view(request):
        pipe = store.pipeline()
        for _ in range(3000):
            pipe.get("next_post_id")
        pipe.execute()
        return HttpResponse("ok")

    middleware = ObservedRequests(view)
    middleware._observers = (seen.append,)
    middleware(RequestFactory().get("/"))
    assert isinstance(seen[0].recorded, Watch)
    assert seen[0].round_trips == 1
    assert len(seen[0].recorded.commands) == 1000


def test_no_line_has_a_secret(browser, client, raw, store, alice, written):
    """Login, registration, and a link for a new password: neither what was typed, nor cookies, nor the link."""
    secrets = ["my-wrong-password", PASSWORD, "Zoe-the-typed-name", alice.secret]
    client.post("/login/", {"username": "Zoe-the-typed-name", "password": "my-wrong-password"})
    client.post("/login/", {"username": "Alice", "password": PASSWORD})
    secrets.append(client.cookies["auth"].value)
    browser().post("/register/", {"username": "Zoe", "password1": PASSWORD, "password2": PASSWORD})
    token = ResetLinks(store).make(alice.user.uid)
    for csrf in (False, True):
        browser(csrf=csrf).post(f"/reset/{token}/", {"password1": "x", "password2": "my-wrong-password"})
    browser(alice).get(f"/reset/{token}/?q=a-secret-query")
    Client().get(f"/reset/{token}/", headers={"x-long": "x" * 20_000})
    secrets += [token, "a-secret-query"]
    text = written()
    assert text.count("retwis.access") == 7
    assert "Forbidden (CSRF cookie not set.): /reset/.../" in text
    assert "GET /reset/.../: the head of the request is refused" in text
    assert [secret for secret in secrets if secret in text] == []
