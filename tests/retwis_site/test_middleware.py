"""One layer of middleware for every route: what it costs, and what a site of its own adds around it."""

import logging
from functools import partial

import pytest
from django.conf import settings as site_settings
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import resolve, reverse
from django.utils import translation

from retwis_site.checks import requests_pass_the_site
from retwis_site.middleware import MOST_HOSTS, SiteMiddleware
from retwis_site.urls import MOST_ASKED, urlpatterns
from tests.support.runs.python_calls import python_calls

MOST_CALLS = 80  # without the line of the log


class Seen:
    """A middleware of a site: what it sees on the way in, and on the way back."""

    def __init__(self, get_response):
        self._get_response = get_response

    def __call__(self, request):
        seen = (hasattr(request, "viewer"), hasattr(request, "_messages"), translation.get_language())
        response = self._get_response(request)
        response["X-Seen"] = f"{seen}, {response.status_code}, {'X-Frame-Options' in response}"
        return response


@pytest.fixture
def wrapped():
    """`wrapped(view)`: the layer around a view."""
    return lambda view: SiteMiddleware(view)


@pytest.fixture
def warm_calls(wrapped, monkeypatch):
    """The Python calls of a view that does nothing, in a process that has answered the same request before."""
    monkeypatch.setattr(logging.getLogger("retwis.access"), "disabled", True)
    cookies = f"{site_settings.CSRF_COOKIE_NAME}={'a' * 32}; {site_settings.AUTH_COOKIE}={'b' * 32}"
    factory = RequestFactory(headers={"host": "localhost", "accept-language": "de", "cookie": cookies})
    site = wrapped(lambda request: HttpResponse(b""))
    site(factory.get("/"))
    return lambda: python_calls(partial(site, factory.get("/")))


def test_a_view_that_does_nothing_takes_few_python_calls(warm_calls):
    calls = warm_calls()
    assert calls.total() <= MOST_CALLS, calls.most_common()
    assert warm_calls() == calls


def test_a_part_that_has_nothing_to_do_is_not_called(warm_calls):
    idle = ("CommonMiddleware", "SecurityMiddleware", "WhiteNoise", "InspectorMiddleware", "CookieStorage")
    assert not [name for name in warm_calls() if any(one in name for one in idle)]


@pytest.mark.parametrize("name", MOST_ASKED)
def test_an_address_that_is_asked_often_is_found_early_and_by_its_own_pattern_alone(name):
    [pattern] = [one for one in urlpatterns if one.name == name]
    values = {"username": "bob", "pid": 7, "rest": "v1/timelines/home", "file": "0" * 40}
    path = reverse(name, kwargs={part: values[part] for part in pattern.pattern.converters})
    assert [one.name for one in urlpatterns if one.resolve(path[1:])] == [name]
    resolve(path)  # Django compiles a pattern when it is first needed
    assert python_calls(partial(resolve, path)).total() < 45


def test_a_middleware_before_ours_sees_every_answer_and_one_behind_it_what_a_view_sees(settings, browser, alice):
    seen = f"{__name__}.Seen"
    ours = list(site_settings.MIDDLEWARE)
    settings.MIDDLEWARE = [seen, *ours]
    for path, status in (("/", 200), ("/nothing/", 404), ("/static/retwis.css", 200), ("/timeline", 301)):
        assert browser(alice).get(path)["X-Seen"] == f"(False, False, 'en'), {status}, True"
    settings.MIDDLEWARE = [*ours, seen]
    german = {"accept-language": "de"}
    assert browser(alice).get("/", headers=german)["X-Seen"] == "(True, True, 'de'), 200, False"
    assert browser(alice).get("/nothing/", headers=german)["X-Seen"] == "(True, True, 'de'), 404, False"
    assert "X-Seen" not in browser(alice).get("/static/retwis.css")


def test_settings_of_djangos_own_middleware_are_kept(settings, browser):
    settings.PREPEND_WWW, settings.ALLOWED_HOSTS = True, [".retwis.example"]
    site = browser()
    for _ in range(2):
        answer = site.get("/timeline", headers={"host": "retwis.example"})
        assert (answer.status_code, answer["Location"]) == (301, "http://www.retwis.example/timeline/")
        assert site.get("/timeline/", headers={"host": "www.retwis.example"}).status_code == 200


def test_a_host_is_looked_at_once_and_few_are_kept(wrapped, settings):
    settings.ALLOWED_HOSTS = [".retwis.example"]
    site = wrapped(lambda request: HttpResponse(b""))
    for number in range(3 * MOST_HOSTS):
        assert site(RequestFactory(headers={"host": f"{number}.retwis.example"}).get("/")).status_code == 200
    assert len(site._hosts) <= MOST_HOSTS
    for _ in range(2):
        assert site(RequestFactory(headers={"host": "evil.example"}).get("/")).status_code == 400


def test_an_exception_is_an_answer_in_the_language_of_the_request_with_all_headers(wrapped):
    def fails(request):
        raise ZeroDivisionError

    answer = wrapped(fails)(RequestFactory(headers={"accept-language": "de"}).get("/"))
    assert answer.status_code == 500
    assert answer["Content-Language"] == "de"
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["X-Request-ID"]
    assert translation.get_language() == "en"


@pytest.mark.usefixtures("raw")
def test_a_server_gets_each_header_once():
    sent = []
    request = RequestFactory().get("/about/")
    WSGIHandler()(request.environ, lambda status, headers: sent.extend(headers))
    names = [name for name, _ in sent]
    assert len(names) == len(set(names))
    assert {"Content-Type", "Content-Length", "X-Frame-Options", "X-Request-ID"} <= set(names)


def test_a_site_without_this_layer_does_not_start(settings):
    assert requests_pass_the_site() == []
    settings.MIDDLEWARE = ["django.middleware.csrf.CsrfViewMiddleware"]
    assert [error.id for error in requests_pass_the_site()] == ["retwis.E006"]
