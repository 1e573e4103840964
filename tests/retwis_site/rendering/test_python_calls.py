"""How many Python functions a warm page calls: a budget that is the same on every machine."""

import io
import logging
from functools import partial

import pytest
from django.conf import settings
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import RequestFactory

from retwis_site.store.connection import transport
from retwis_site.telemetry import log_lines
from retwis_site.telemetry.log_lines import BoundedLine
from tests.support.apps import token_of
from tests.support.runs.python_calls import python_calls
from tests.support.stored_posts import write_posts
from timeline.relations.relations import Follows

pytestmark = pytest.mark.real_server  # what fakeredis calls is no part of a page

HOME, PROFILE, OWN_PROFILE, EVERYONE, HOME_OF_APP = 485, 556, 550, 505, 580


@pytest.fixture
def warm_calls(store, raw, alice, bob, monkeypatch):
    """`warm_calls(path)`: the calls for a page that this process has just shown to alice, who follows bob."""
    # However busy the machine is: connections do not idle between two pages, and no second of the log begins.
    monkeypatch.setattr(transport, "FRESH", 60)
    monkeypatch.setattr(log_lines, "_second", str)
    log = logging.getLogger("retwis")  # pytest has added its own handlers
    (own,) = [one for one in log.handlers if isinstance(one.formatter, BoundedLine)]
    monkeypatch.setattr(log, "handlers", [own])
    monkeypatch.setattr(own, "stream", io.StringIO())
    for signal in (request_started, request_finished):  # the client of Django's tests has connected it
        signal.disconnect(close_old_connections)
    Follows(store).follow(1, 2)
    raw.zadd("following:1", {"2": 1})  # long ago: two people are compared each time while a follow is a minute old
    write_posts(raw, 2, range(1, 30))
    cookies = f"{settings.AUTH_COOKIE}={alice.secret}; {settings.CSRF_COOKIE_NAME}={'a' * 32}"
    # A page counts the cookies alone, and an answer to an app its token.
    headers = {
        "host": "localhost",
        "accept-language": "en",
        "cookie": cookies,
        "authorization": f"Bearer {token_of(alice)}",
    }
    factory = RequestFactory(headers=headers)
    from retwis_site.wsgi import application as site

    def answer(path):
        begun = []
        page = site(factory.get(path).environ, lambda status, headers: begun.append(status))
        assert begun == ["200 OK"]
        return b"".join(page)

    def calls(path):
        for _ in range(3):
            answer(path)
        return python_calls(partial(answer, path))

    return calls


@pytest.mark.parametrize(
    ("path", "most"),
    [
        ("/", HOME),
        ("/@bob/", PROFILE),
        ("/@alice/", OWN_PROFILE),
        ("/timeline/", EVERYONE),
        ("/api/v1/timelines/home", HOME_OF_APP),
    ],
)
def test_a_warm_page_takes_few_python_calls(raw, warm_calls, path, most):
    if path == "/@alice/":
        write_posts(raw, 1, range(31, 60))
    calls = warm_calls(path)
    assert calls.total() <= most, calls.most_common(50)
