"""One line for each request: what was asked, what it cost, and for whom. A slow request has a second line, with what it
has sent to the store and without what anybody has typed."""

import re
from pathlib import Path
from time import perf_counter

import pytest
from django.contrib.staticfiles import finders
from django.http import HttpResponse, StreamingHttpResponse
from django.test import Client, RequestFactory

from accounts.recovery.codes import ResetLinks
from accounts.signing_in.passwords import HASHING
from retwis_site.exceptions import StoreError
from retwis_site.store.connection import recorder
from retwis_site.telemetry.log_lines import LONGEST_LINE
from retwis_site.telemetry.middleware import BEGAN, MOST_ROUND_TRIPS, ObservedRequests
from retwis_site.telemetry.redaction import HIDDEN
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
    browser(csrf=True).post(f"/reset/{token}\u200b\n/", {"password1": "x"})  # as some programs copy a link
    secrets += [token, "a-secret-query"]
    text = written()
    assert text.count("retwis.access") == 8
    assert "Forbidden (CSRF cookie not set.): /reset/.../" in text
    assert "GET /reset/.../: the head of the request is refused" in text
    assert [secret for secret in secrets if secret in text] == []


# ---- slow requests


@pytest.fixture
def slow(of_logger):
    return lambda: of_logger("retwis.slow")


@pytest.fixture
def lasting(store, settings):
    """`lasting(2.0, work)`: a request that takes two seconds and does this work in the store. One second is slow."""
    settings.SLOW_REQUEST_MS = 1000

    def ask(seconds, work):
        def view(request):
            work(store)
            return HttpResponse("ok")

        ObservedRequests(view)(RequestFactory().get("/", **{BEGAN: perf_counter() - seconds}))

    return ask


def several_reads(store):
    store.hmget("user:7", ["username", "password"])
    pipe = store.pipeline()
    pipe.hset("user:7", {"username": "typed", "password": "typed"})
    pipe.zrange("tag:typed", 0, 19)
    pipe.execute()


def test_a_slow_request_names_its_round_trips_and_commands(lasting, slow):
    lasting(2.0, several_reads)
    [line] = slow()
    head, first, second = line.replace("; #2", ": #2").split(": #")
    assert head.startswith("GET - 200 took 2")
    assert head.endswith(" ms, from 127.0.0.1")
    assert ", 2 round trips in " in head
    assert first.startswith("1 ")
    assert first.endswith(" ms, 1 commands: HMGET user:7 username password")
    commands = f"HSET user:7 username {HIDDEN} password {HIDDEN}, ZRANGE tag:{HIDDEN} 0 19"
    assert second.endswith(f" ms, 2 commands: {commands}")


def test_a_round_trip_of_which_a_part_is_kept_has_the_number_of_all(lasting, slow, monkeypatch):
    monkeypatch.setattr(recorder, "MOST_KEPT", 2)
    lasting(2.0, several_reads)
    assert " ms, 2 commands: HSET user:7" in slow()[0]


def test_a_request_below_the_limit_has_no_such_line(lasting, slow, settings):
    settings.SLOW_REQUEST_MS = 5000
    lasting(4.9, several_reads)
    assert slow() == []
    lasting(5.1, several_reads)
    assert len(slow()) == 1


def test_zero_turns_it_off(lasting, slow, settings):
    settings.SLOW_REQUEST_MS = 0
    lasting(100.0, several_reads)
    assert slow() == []


def test_a_request_without_the_store_has_a_line_too(lasting, slow):
    lasting(2.0, lambda store: None)
    [line] = slow()
    assert line.endswith(" ms, 0 round trips in 0.0 ms, from 127.0.0.1")


def test_of_many_round_trips_the_line_has_the_slowest_and_stays_short(lasting, slow):
    def very_many(store):
        for _ in range(30):
            pipe = store.pipeline()
            for number in range(100):
                pipe.hmget(f"user:{number}", ["username", "name", "bio", "language"])
            pipe.execute()

    lasting(2.0, very_many)
    [line] = slow()
    assert line.count(" ms, 100 commands: ") + line.count("these are not kept") == MOST_ROUND_TRIPS
    assert len(line) <= LONGEST_LINE


def test_a_slow_login_shows_neither_password_nor_name_nor_session(client, alice, slow, settings):
    settings.SLOW_REQUEST_MS = 1
    client.post("/login/", {"username": "Alice", "password": PASSWORD})
    line = slow()[-1]
    assert "HSET auths" in line
    secret = client.cookies[settings.AUTH_COOKIE].value
    assert [text for text in (PASSWORD, "alice", "Alice", secret) if text in line] == []
