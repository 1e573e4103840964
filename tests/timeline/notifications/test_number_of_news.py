"""The number of new notices: in the navigation and in the title of every page, and in the answer to the poll."""

import re

import pytest

from tests.support.people import LONG_AGO
from tests.support.stored_keys import publish
from timeline.notices.inbox import MARK

PAGES = ["/", "/timeline/", "/people/", "/settings/", "/@Alice/", "/@Alice/1/", "/settings/notifications/"]


@pytest.fixture
def site(store, raw, alice, bob):
    publish(raw, store, alice, "Hello")
    return raw


def number(html):
    """What the navigation and the title say."""
    [shown] = re.findall(r'id="news" data-count="([^"]*)"', html)
    [title] = re.findall(r"<title>(\(\S+\) )?", html)
    return shown, title


@pytest.mark.parametrize("url", PAGES)
def test_every_page_has_the_number(browser, site, alice, url):
    client = browser(alice)
    assert number(client.get(url).content.decode()) == ("", "")
    site.zadd("notices:1", {"follow:1:2": LONG_AGO, "like:1:2": LONG_AGO + 1, MARK: LONG_AGO})
    assert number(client.get(url).content.decode()) == ("1", "(1) ")


def test_it_ends_at_99(browser, site, alice):
    site.zadd("notices:1", {f"like:{pid}:2": LONG_AGO for pid in range(1, 101)})
    assert number(browser(alice).get("/people/").content.decode()) == ("99+", "(99+) ")


def test_the_page_of_notices_has_none_any_more(browser, site, alice):
    site.zadd("notices:1", {"follow:1:2": LONG_AGO})
    client = browser(alice)
    assert number(client.get("/notifications/?only=mentions").content.decode()) == ("1", "(1) ")
    assert number(client.get("/notifications/").content.decode()) == ("", "")
    assert number(client.get("/people/").content.decode()) == ("", "")


def test_a_visitor_has_none(browser, site):
    assert 'id="news"' not in browser().get("/timeline/").content.decode()


def test_an_error_page_has_none(browser, site, alice):
    response = browser(alice).get("/@nobody_at_all/")
    assert response.status_code == 404
    assert 'id="news"' not in response.content.decode()


def test_the_poll_answers_only_what_is_not_known(browser, site, alice, round_trips):
    client = browser(alice)
    assert client.get("/notifications/number/?known=").status_code == 204
    site.zadd("notices:1", {"follow:1:2": LONG_AGO})
    assert client.get("/notifications/number/?known=1").status_code == 204
    answers = []
    recorded = round_trips(lambda: answers.append(client.get("/notifications/number/?known=")))
    assert 'data-count="1"' in answers[0].content.decode()
    assert len(recorded.round_trips) == 1
    assert len(recorded.commands) == 4
    assert browser().get("/notifications/number/?known=").status_code == 204


def test_the_poll_of_home_carries_it(browser, store, site, alice, bob):
    client = browser(alice)
    html = client.get("/").content.decode()
    assert 'hx-get="/notifications/number/"' not in html
    assert client.get("/new/?after=99&known=").status_code == 204
    site.zadd("notices:1", {"follow:1:2": LONG_AGO})
    answer = client.get("/new/?after=99&known=").content.decode()
    assert 'id="news" data-count="1" hx-swap-oob="true"' in answer
    assert 'id="arrived"' not in answer
    assert client.get("/new/?after=99&known=1").status_code == 204


def test_other_pages_ask_for_themselves(browser, site, alice):
    client = browser(alice)
    for url in ("/people/", "/?before=1", "/settings/"):
        assert 'hx-get="/notifications/number/"' in client.get(url).content.decode(), url
