"""Display names on pages: beside the username, never read as markup, and without effect on the text around them."""

import re

import pytest

from accounts.users.entities import User
from accounts.users.names import isolated
from retwis_site.store.local_cache import Memory
from tests.support.http.hostile_values import MARKER
from tests.support.stored_keys import publish
from timeline.relations.follow import Follows

pytestmark = pytest.mark.usefixtures("clock")

ALICE_SHOWN = '<bdi>Alice Liddell</bdi> <bdi class="handle">@Alice</bdi>'


@pytest.fixture
def named_alice(raw, store, alice, bob):
    """alice has a display name and a post. She and bob follow each other."""
    raw.hset("user:1", "name", "Alice Liddell")
    publish(raw, store, alice, "Down the hole")
    Follows(store).follow(1, 2)
    Follows(store).follow(2, 1)
    Memory.clear_all()


def main(page):
    text = page.content.decode()
    return text[text.index("<main") :]


@pytest.mark.usefixtures("named_alice")
@pytest.mark.parametrize(
    "url",
    [
        "/",
        "/timeline/",
        "/@alice/",
        "/@alice/1/",
        "/@bob/followers/",
        "/@bob/following/",
        "/@alice/followers/",
        "/people/",
    ],
)
def test_the_display_name_is_shown_on_every_page(browser, bob, url):
    assert ALICE_SHOWN in main(browser(bob).get(url))


@pytest.mark.usefixtures("named_alice")
def test_the_display_name_is_shown_at_home_and_in_suggestions(browser, alice, bob, carol, raw):
    assert ALICE_SHOWN in main(browser(alice).get("/"))
    page = browser(alice).get("/").content.decode()
    assert '<bdi class="me-name">Alice Liddell</bdi>' in page
    assert ALICE_SHOWN in main(browser(carol).get("/"))


@pytest.mark.usefixtures("named_alice")
@pytest.mark.parametrize(
    ("url", "title"),
    [
        ("/@alice/", "\u2068Alice Liddell\u2069 (@alice) · Retwis"),
        ("/@alice/1/", "\u2068Alice Liddell\u2069: Down the hole · Retwis"),
        ("/@alice/followers/", "Followers of \u2068Alice Liddell\u2069 · Retwis"),
        ("/@alice/following/", "People followed by \u2068Alice Liddell\u2069 · Retwis"),
        ("/@bob/", "bob (@bob) · Retwis"),
    ],
)
def test_titles_have_the_display_name(browser, url, title):
    assert f"<title>{title}</title>" in browser().get(url).content.decode()


def test_without_a_display_name_the_username_stands_alone(browser, raw, store, alice, bob):
    publish(raw, store, alice, "Down the hole")
    page = main(browser(bob).get("/timeline/"))
    assert '<p class="author"><a href="/@Alice/">Alice</a> <a class="age"' in page
    assert "handle" not in page


@pytest.mark.usefixtures("named_alice")
def test_a_new_name_is_shown_once_the_cached_one_has_expired(browser, raw, clock):
    for url in ("/timeline/", "/@alice/", "/@alice/1/", "/@bob/followers/", "/people/"):
        assert ALICE_SHOWN in main(browser().get(url))
    raw.hset("user:1", "name", "Queen")
    assert "<bdi>Queen</bdi>" in main(browser().get("/@alice/"))
    clock.now += 6
    for url in ("/timeline/", "/@alice/", "/@alice/1/", "/@bob/followers/", "/people/"):
        page = main(browser().get(url))
        assert "<bdi>Queen</bdi>" in page, url
        assert "Liddell" not in page, url


@pytest.mark.usefixtures("named_alice")
@pytest.mark.parametrize(
    "url", ["/", "/timeline/", "/@alice/", "/@alice/1/", "/@bob/followers/", "/people/", "/people/?q=a"]
)
def test_markup_in_a_name_is_shown_as_text(browser, bob, raw, url):
    raw.hset("user:1", mapping={"name": MARKER, "bio": MARKER})
    raw.zadd("users_by_name", {f"{MARKER.lower()}:1": 0})
    page = browser(bob).get(url).content.decode()
    assert "<zq7" not in page
    assert "&lt;zq7" in page


def test_names_in_the_text_of_a_page_are_isolated(browser, bob, raw, named_alice):
    raw.hset("user:1", "name", "\u202eevil")
    for url in ("/", "/timeline/", "/@alice/", "/@alice/1/", "/@alice/followers/", "/@bob/followers/", "/people/"):
        page = browser(bob).get(url).content.decode()
        assert "\u202eevil" in page
        text = re.sub(r"<bdi[^>]*>[^<]*</bdi>|\u2068evil\u2069", "", page[page.index("<body") :])
        assert "evil" not in text, url


def test_names_in_titles_are_isolated():
    assert isolated(User(1, "a", "\u202eev\u2069il\u2066")) == "\u2068evil\u2069"
    assert isolated(User(1, "a")) == "a"
