"""A slow request has a second line, with what it has sent to the store and without what anybody has typed."""

from time import perf_counter

import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from retwis_site.store.connection import recorder
from retwis_site.telemetry.log_lines import LONGEST_LINE
from retwis_site.telemetry.middleware import BEGAN, MOST_ROUND_TRIPS, ObservedRequests
from retwis_site.telemetry.redaction import HIDDEN
from tests.support.people import PASSWORD


@pytest.fixture
def slow(of_logger):
    return lambda: of_logger("retwis.slow")


@pytest.fixture
def lasting(store):
    """`lasting(2.0, work)`: a request that takes two seconds, and does this work in the store."""

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
