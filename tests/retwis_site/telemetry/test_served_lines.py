"""The log of a running `serve`: one line for each request, with the figures of what was sent and received."""

import json

import pytest
from django.conf import settings

from tests.support.http.http_browser import Browser
from tests.support.people import PASSWORD
from tests.support.processes.processes import free_port, run_site, wait_until

pytestmark = [pytest.mark.real_server, pytest.mark.processes, pytest.mark.usefixtures("raw")]


@pytest.fixture(scope="module")
def site(empty_store, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    env = {"REDIS_URL": settings.REDIS_URL, "WEB_WORKERS": "2", "LOG_FORMAT": "json", "SLOW_REQUEST_MS": "1"}
    with run_site(folder, folder / "log", free_port(), **env) as site:
        site.wait_until_it_serves()
        yield site


@pytest.fixture
def objects(site):
    """`objects(logger, count)`: the lines of a logger that have come since the test began, once there are so many."""
    start = len(site.printed())

    def lines(logger, count):
        def found():
            texts = [line for line in site.printed()[start:].splitlines() if line.startswith("{")]
            return [one for one in map(json.loads, texts) if one["logger"] == logger]

        wait_until(lambda: len(found()) >= count, f"{count} lines of {logger}")
        assert len(found()) == count
        return found()

    return lines


def test_each_request_has_one_line_with_the_figures_of_its_answer(site, objects):
    paths = ["/timeline/", "/livez", "/static/retwis.css", "/no/such/page/", "/readyz"] * 4
    answers = {answer.headers["X-Request-ID"]: answer for answer in map(site.browser.ask, paths)}
    lines = objects("retwis.access", len(paths))
    assert {line["request_id"] for line in lines} == answers.keys()
    for line in lines:
        answer = answers[line["request_id"]]
        assert line["status"] == answer.status
        assert line["bytes"] == len(answer.page.encode())
        assert answer.seconds * 1000 >= line["ms"] >= line["store_ms"]
    routes = [line["route"] for line in lines]
    assert {route: routes.count(route) for route in routes} == {"timeline": 4, "livez": 4, "-": 8, "readyz": 4}
    assert {line["round_trips"] for line in lines if line["route"] in {"livez", "-"}} == {0}
    assert all(line["round_trips"] for line in lines if line["route"] == "readyz")


def test_an_error_page_its_header_and_its_line_have_the_same_id(site, objects):
    answer = site.browser.ask("/no/such/page/?q=secret")
    [line] = objects("retwis.access", 1)
    assert f"Request {line['request_id']}<" in answer.page
    assert answer.headers["X-Request-ID"] == line["request_id"]


def test_a_login_has_its_user_its_commands_and_no_secret(site, objects):
    browser = Browser(site.port)
    assert browser.submit("/register/", username="Zoe", password1=PASSWORD, password2=PASSWORD)[0] == 200
    secret = browser.cookie("auth")
    browser.open("/")
    registered = objects("retwis.accounts", 1)
    access = objects("retwis.access", 4)  # the form, the registration, the page after it, home
    assert registered[0]["message"] == "user 1 registered from 127.0.0.1"
    assert registered[0]["request_id"] == access[1]["request_id"]
    assert [line["uid"] for line in access] == [None, None, 1, 1]
    slow = objects("retwis.slow", sum(line["ms"] >= 1 for line in access))
    assert any(" commands: " in line["message"] for line in slow)
    assert [text for text in (PASSWORD, secret, "Zoe", "zoe") if text in site.printed()] == []
