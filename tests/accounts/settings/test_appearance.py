"""Light, dark or like the system: chosen at /settings/appearance/, kept in a cookie, the same on every page."""

import re

import pytest

from retwis_site.rendering.theme import THEME_COOKIE
from tests.support.stored_keys import everything, publish

URL = "/settings/appearance/"
CHOICES = ["system", "light", "dark"]
PAGES = ["/", "/timeline/", "/@Alice/", "/@Alice/1/", "/@Alice/followers/", "/login/", "/register/", URL, "/nothing/"]


def page(client, url=URL, **headers):
    return client.get(url, headers=headers).content.decode()


def theme_of(text):
    """What a page's `<html>` says; empty for the system's."""
    return re.search(r'<html lang="en" dir="ltr"(?: data-theme="(\w+)")?>', text)[1] or ""


def offered(text):
    """The choices, and which of them are marked."""
    found = re.findall(r'<input type="radio" name="theme" value="(\w+)"( checked)?>', text)
    return [value for value, _ in found], [value for value, marked in found if marked]


def leads_to(text):
    return re.search(r'name="next" value="([^"]*)"', text)[1]


# ---- choosing


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_choice_is_kept_for_a_year_where_no_script_can_read_it(browser, theme):
    client = browser()
    answer = client.post(URL, {"theme": theme})
    cookie = answer.cookies[THEME_COOKIE]
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert (cookie.value, cookie["max-age"], cookie["samesite"], cookie["path"]) == (theme, 365 * 24 * 3600, "Lax", "/")
    assert cookie["httponly"]
    assert not cookie["secure"]


@pytest.mark.parametrize("who", ["alice", "a visitor"])
def test_every_page_has_the_colours_of_the_choice_until_there_is_another(browser, raw, store, alice, who):
    publish(raw, store, alice, "hello")
    client = browser(alice if who == "alice" else None)
    for choice in ("system", "dark", "light", "system"):
        client.post(URL, {"theme": choice})
        for url in PAGES:
            expected = "" if choice == "system" else choice
            assert theme_of(client.get(url, follow=True).content.decode()) == expected, (choice, url)


def test_like_the_system_is_no_cookie(browser):
    client = browser()
    client.post(URL, {"theme": "dark"})
    taken = client.post(URL, {"theme": "system"}).cookies[THEME_COOKIE]
    assert (taken.value, taken["max-age"], taken["samesite"]) == ("", 0, "Lax")


@pytest.mark.parametrize("choice", CHOICES)
def test_the_page_marks_the_present_choice(browser, choice):
    client = browser()
    client.post(URL, {"theme": choice})
    assert offered(page(client)) == (CHOICES, [choice])


@pytest.mark.parametrize("form", [{}, {"theme": ""}, {"theme": "pink"}, {"theme": "light "}, {"theme": "light\0"}])
def test_what_is_none_of_the_three_is_refused_and_changes_nothing(browser, form):
    client = browser()
    client.post(URL, {"theme": "dark"})
    answer = client.post(URL, {**form, "next": "/timeline/"})
    text = answer.content.decode()
    assert answer.status_code == 422
    assert THEME_COOKIE not in answer.cookies
    assert "Choose one of these options." in text
    assert offered(text) == (CHOICES, [])
    assert leads_to(text) == "/timeline/"
    assert theme_of(page(client)) == "dark"


@pytest.mark.parametrize("forged", ["pink", "", "DARK", 'dark"><script>', "x" * 4000, "\u00e9"])
def test_a_cookie_that_is_none_of_ours_is_the_systems_choice(browser, forged):
    client = browser()
    client.cookies[THEME_COOKIE] = forged
    text = page(client)
    assert theme_of(text) == ""
    assert offered(text)[1] == ["system"]
    assert "<script>" not in text


def test_without_a_token_nothing_is_chosen(browser):
    answer = browser(csrf=True).post(URL, {"theme": "dark"})
    assert answer.status_code == 403
    assert THEME_COOKIE not in answer.cookies


# ---- there and back


@pytest.mark.parametrize("url", PAGES)
def test_every_page_leads_to_it(browser, raw, store, alice, url):
    publish(raw, store, alice, "hello")
    for client in (browser(alice), browser()):
        assert f'<a href="{URL}"' in client.get(url, follow=True).content.decode()


@pytest.mark.parametrize("url", ["/timeline/", "/@Alice/", "/timeline/?before=5", "/login/?next=/%40Alice/"])
def test_it_leads_back_to_the_page_that_it_was_opened_from(browser, alice, url):
    client = browser()
    after = leads_to(page(client, referer=f"http://testserver{url}"))
    assert after == url
    assert client.post(URL, {"theme": "dark", "next": after})["Location"] == url


@pytest.mark.parametrize(
    "referer", ["", "http://evil.example/timeline/", "http://testserver/post/", "http://testserver/nothing/", "x:"]
)
def test_else_it_leads_home(browser, referer):
    assert leads_to(page(browser(), referer=referer)) == "/"


@pytest.mark.parametrize(
    "away", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:x", "", "x"]
)
def test_it_never_leads_elsewhere(browser, away):
    assert browser().post(URL, {"theme": "dark", "next": away})["Location"] == "/"
    assert leads_to(browser().post(URL, {"next": away}).content.decode()) == "/"


# ---- what it costs


def test_it_asks_the_store_nothing_but_who_is_there(browser, alice, round_trips):
    client, stranger = browser(alice), browser()
    page(client)
    assert len(round_trips(lambda: page(client)).round_trips) == 1
    assert len(round_trips(lambda: client.post(URL, {"theme": "dark"})).round_trips) == 0
    assert len(round_trips(lambda: page(stranger)).round_trips) == 0
    assert len(round_trips(lambda: stranger.post(URL, {"theme": "dark"})).round_trips) == 0
    assert len(round_trips(lambda: stranger.post(URL, {"theme": "pink"})).round_trips) == 0


def test_nothing_of_it_is_in_the_store(browser, alice, raw):
    before = everything(raw)
    browser(alice).post(URL, {"theme": "dark"})
    assert everything(raw) == before


@pytest.mark.parametrize("url", ["/", "/login/", "/nothing/", URL])
def test_no_cache_shows_one_visitors_colours_to_another(browser, url):
    assert "Cookie" in browser().get(url)["Vary"]
