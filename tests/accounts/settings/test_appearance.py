"""Light, dark or like the system: chosen at /settings/appearance/, kept in a cookie, the same on every page."""

import re

import pytest

from retwis_site.rendering.pages import SHORTCUTS_COOKIE, THEME_COOKIE
from tests.support.stored_keys import publish

URL = "/settings/appearance/"
CHOICES = ["system", "light", "dark"]
PAGES = ["/", "/timeline/", "/@Alice/", "/@Alice/1/", "/@Alice/followers/", "/login/", "/register/", URL, "/nothing/"]


def page(client, url=URL, **headers):
    return client.get(url, headers=headers).content.decode()


def theme_of(text):
    """The theme of a page's `<html>`; empty for the system's."""
    return re.search(r'<html lang="en" dir="ltr"(?: data-theme="(\w+)")? data-colour="\w+">', text)[1] or ""


def offered(text):
    """The offered choices, and the checked ones."""
    buttons = re.findall(r'<input type="radio" name="theme" value="(\w+)"( checked)?>', text)
    return [value for value, _ in buttons], [value for value, checked in buttons if checked]


def next_field(text):
    """The address that saving leads to, from the hidden field."""
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
def test_every_page_has_the_chosen_colours(browser, raw, store, alice, who):
    publish(raw, store, alice, "hello")
    client = browser(alice if who == "alice" else None)
    for choice in ("system", "dark", "light", "system"):
        client.post(URL, {"theme": choice})
        for url in PAGES:
            expected = "" if choice == "system" else choice
            assert theme_of(client.get(url, follow=True).content.decode()) == expected, (choice, url)


def test_like_the_system_removes_the_cookie(browser):
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
def test_an_unknown_theme_is_refused_and_changes_nothing(browser, form):
    client = browser()
    client.post(URL, {"theme": "dark"})
    answer = client.post(URL, {**form, "next": "/timeline/"})
    text = answer.content.decode()
    assert answer.status_code == 422
    assert THEME_COOKIE not in answer.cookies
    assert "Choose one of these options." in text
    assert offered(text) == (CHOICES, [])
    assert next_field(text) == "/timeline/"
    assert theme_of(page(client)) == "dark"


@pytest.mark.parametrize("forged", ["pink", "", "DARK", 'dark"><script>', "x" * 4000, "\u00e9"])
def test_an_unknown_value_of_the_cookie_means_like_the_system(browser, forged):
    client = browser()
    client.cookies[THEME_COOKIE] = forged
    text = page(client)
    assert theme_of(text) == ""
    assert offered(text)[1] == ["system"]
    assert "<script>" not in text


# ---- keyboard shortcuts


def test_shortcuts_are_off_in_this_browser_until_they_are_on_again(browser, alice):
    client, other = browser(alice), browser(alice)
    cookie = client.post(URL, {"theme": "dark", "shortcuts": "off"}).cookies[SHORTCUTS_COOKIE]
    assert (cookie.value, cookie["max-age"], cookie["httponly"]) == ("off", 365 * 24 * 3600, True)
    client.post(URL, {"theme": "light"})  # a form that does not know of it
    for url in ("/", "/timeline/", "/nothing/", URL):
        assert 'data-shortcuts="off"' in page(client, url)
        assert 'data-shortcuts="on"' in page(other, url)
    assert 'name="shortcuts" value="off" checked' in page(client)
    client.post(URL, {"theme": "system", "shortcuts": "on"})
    assert 'data-shortcuts="on"' in page(client, "/")
    assert 'name="shortcuts" value="on" checked' in page(client)
    assert client.post(URL, {"theme": "system", "shortcuts": "loud"}).status_code == 422


def test_a_kept_page_of_visitors_is_kept_for_those_with_and_without_shortcuts(browser, round_trips, alice):
    on, off = browser(), browser()
    off.cookies[SHORTCUTS_COOKIE] = "off"
    for client, says in ((on, "on"), (off, "off"), (on, "on")):
        assert f'data-shortcuts="{says}"' in page(client, "/timeline/")
    assert round_trips(lambda: page(off, "/timeline/")).round_trips == []


# ---- links to the page, and back


@pytest.mark.parametrize("url", PAGES)
def test_every_page_links_to_the_pages_of_appearance_and_language(browser, raw, store, alice, url):
    publish(raw, store, alice, "hello")
    for client in (browser(alice), browser()):
        text = client.get(url, follow=True).content.decode()
        assert f'<a href="{URL}"' in text
        assert '<a href="/settings/language/"' in text


@pytest.mark.parametrize("url", ["/timeline/", "/@Alice/", "/timeline/?before=5", "/login/?next=/%40Alice/"])
def test_saving_leads_back_to_the_page_that_led_here(client, alice, url):
    after = next_field(page(client, referer=f"http://testserver{url}"))
    assert after == url
    assert client.post(URL, {"theme": "dark", "next": after})["Location"] == url


@pytest.mark.parametrize(
    "referer", ["", "http://evil.example/timeline/", "http://testserver/post/", "http://testserver/nothing/", "x:"]
)
def test_saving_leads_home_when_no_page_of_this_site_led_here(browser, referer):
    assert next_field(page(browser(), referer=referer)) == "/"


@pytest.mark.parametrize(
    "away", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:x", "", "x"]
)
def test_saving_never_leads_to_another_site(browser, away):
    assert browser().post(URL, {"theme": "dark", "next": away})["Location"] == "/"
    assert next_field(browser().post(URL, {"next": away}).content.decode()) == "/"


# ---- round trips and caches


def test_the_store_is_asked_for_the_viewer_alone(browser, alice, round_trips):
    client, visitor = browser(alice), browser()
    page(client)
    assert len(round_trips(lambda: page(client)).round_trips) == 1
    assert len(round_trips(lambda: client.post(URL, {"theme": "dark"})).round_trips) == 0
    assert len(round_trips(lambda: page(visitor)).round_trips) == 0
    assert len(round_trips(lambda: visitor.post(URL, {"theme": "dark"})).round_trips) == 0
    assert len(round_trips(lambda: visitor.post(URL, {"theme": "pink"})).round_trips) == 0
