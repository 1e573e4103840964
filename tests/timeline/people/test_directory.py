"""The page /people/: the newest and the most followed users, page by page."""

import html
import re

import pytest
from hypothesis import HealthCheck, given, settings as hypothesis_settings, strategies as st

from accounts.signing_in.viewer import Viewer
from tests.support.http.page_text import names, text_of
from tests.support.people import LONG_AGO
from tests.support.stored_keys import empty, everything
from timeline.people import directory
from timeline.people.directory import People
from timeline.people.lists import Cursor
from timeline.relations.relations import Follows

OLDER = re.compile(r'href="(\?[^"]*before=[^"]*)" rel="next"')


@pytest.fixture
def small(monkeypatch):
    """Pages of three people."""
    monkeypatch.setattr(directory, "PEOPLE_A_PAGE", 3)


def add_user(raw, uid, name, joined, followers=0):
    raw.hset(f"user:{uid}", mapping={"username": name, "password": "hash", "auth": f"secret{uid}"})
    raw.hset("users", name.lower(), uid)
    raw.zadd("users_by_time", {name: joined})
    if followers:
        raw.zadd(f"followers:{uid}", {1000 + number: 1 for number in range(followers)})
        raw.zadd("users_by_followers", {uid: followers})


def follow_all_links(client, url="/people/"):
    """The names on each page; each page is reached by the link on the one before."""
    pages = []
    while True:
        page = client.get(url)
        assert page.status_code == 200
        pages.append(names(page))
        older = OLDER.search(page.content.decode())
        if older is None:
            return pages
        url = f"/people/{html.unescape(older[1])}"


# ---- the newest


def test_all_users_are_listed_the_newest_first(browser, raw, small):
    for uid in range(1, 9):
        add_user(raw, uid, f"person{uid}", LONG_AGO + uid // 3)
    assert follow_all_links(browser()) == [
        ["person8", "person7", "person6"],
        ["person5", "person4", "person3"],
        ["person2", "person1"],
    ]


def test_a_row_has_names_bio_followers_and_join_date(browser, store, raw, alice, bob):
    raw.hset("user:1", mapping={"name": "Alice Liddell", "bio": "Curiouser and curiouser! " * 6 + "<i>"})
    raw.zadd("users_by_time", {"Alice": 1_772_800_000})
    Follows(store).follow(2, 1)
    page = browser().get("/people/")
    text = text_of(page)
    assert "Alice Liddell @Alice" in text
    assert "Curiouser and curiouser! Curiouser and curiouser! Curiouser and curiouser! Curi…" in text
    assert "1 follower Joined in March 2026" in text
    assert '<time datetime="2026-03-06T12:26:40Z" title="6 March 2026, 12:26 UTC">' in page.content.decode()


def test_when_the_last_row_of_a_page_is_removed_the_next_page_leaves_no_row_out(store, raw, small):
    for uid in range(1, 9):
        add_user(raw, uid, f"person{uid}", LONG_AGO + uid // 4)
    first = People(store).newest(Viewer(store, ""), None)
    assert first.older == Cursor(LONG_AGO + 1, "person6")
    raw.zrem("users_by_time", "person6")
    second = People(store).newest(Viewer(store, ""), first.older)
    # All rows of the same second come again.
    assert [person.user.username for person in second.people] == ["person7", "person5", "person4"]


@pytest.mark.parametrize(
    "name", ["a b", "a/b", "Jörg", "50%", "a?b&c=d#e", "日本", "<i>", '"x"', "-", "5-x", "a:1", "\udfff"]
)
def test_odd_names_in_a_foreign_database_have_rows_and_cursors(browser, raw, small, name):
    name = name.encode(errors="replace").decode()
    for uid in range(1, 4):
        add_user(raw, uid, f"new{uid}", LONG_AGO + 100 + uid)
    add_user(raw, 4, name, LONG_AGO + 50)
    add_user(raw, 5, "new5", LONG_AGO + 60)
    add_user(raw, 6, "new6", LONG_AGO + 55)  # so that the page ends with the odd name
    add_user(raw, 7, "old", LONG_AGO)
    pages = follow_all_links(browser())
    assert len(pages) == 3
    assert [len(page) for page in pages] == [3, 3, 1]
    assert pages[2] == ["old"]


def test_a_user_under_two_spellings_has_one_row(browser, raw, alice):
    raw.zadd("users_by_time", {"ALICE": 5, "alice": 6})
    assert names(browser().get("/people/")) == ["Alice"]


joins = st.dictionaries(st.text("abcé:-/ %", min_size=1, max_size=4), st.integers(0, 3), max_size=12)


@hypothesis_settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(joined=joins, gone=st.integers(0, 11))
def test_all_pages_together_have_every_user_even_when_one_is_removed_meanwhile(store, raw, small, joined, gone):
    empty(raw)
    joined = {name.lower(): when for name, when in joined.items()}
    for uid, (name, when) in enumerate(joined.items(), 1):
        add_user(raw, uid, name, when)
    everyone = sorted(joined, key=lambda name: (joined[name], name.encode()), reverse=True)

    def all_pages(removed):
        """The names on all pages; `removed` goes when it is the last row of a page."""
        found, before = [], None
        while True:
            page = People(store).newest(Viewer(store, ""), before)
            found += [person.user.username for person in page.people]
            if page.older is None:
                return found
            if removed and found[-1] == removed:
                raw.zrem("users_by_time", removed)
            before = page.older

    assert all_pages(None) == everyone
    if gone < len(everyone):
        found = all_pages(everyone[gone])
        assert list(dict.fromkeys(found)) == everyone  # all in order; some may come twice


# ---- the most followed


def test_the_most_followed_come_first_and_users_without_followers_are_left_out(browser, raw, small):
    for uid, followers in enumerate((2, 5, 0, 2, 9, 2, 0), 1):
        add_user(raw, uid, f"person{uid}", LONG_AGO, followers)
    assert follow_all_links(browser(), "/people/?by=followers") == [
        ["person5", "person2", "person6"],
        ["person4", "person1"],
    ]


def test_when_the_last_row_gains_followers_the_next_page_leaves_no_row_out(store, raw, small):
    for uid in range(1, 8):
        add_user(raw, uid, f"person{uid}", LONG_AGO, followers=2)
    first = People(store).most_followed(Viewer(store, ""), None)
    assert first.older == Cursor(2, "5")
    raw.zadd("users_by_followers", {5: 90})
    second = People(store).most_followed(Viewer(store, ""), first.older)
    assert [person.user.uid for person in second.people] == [7, 6, 4]  # all rows with two followers again


def test_members_that_are_no_user_are_not_listed(browser, raw, alice):
    raw.zadd("users_by_followers", {"x": 9, "007": 8, "-1": 7, "99": 6, "1": 5})
    raw.zadd("users_by_time", {"ghost": 2 * LONG_AGO, "": 3})
    assert names(browser().get("/people/?by=followers")) == ["Alice"]
    assert names(browser().get("/people/")) == ["Alice"]


# ---- both


def test_the_orders_are_links_and_the_current_one_is_marked(browser, alice):
    for url, current in (("/people/", "/people/"), ("/people/?by=followers", "?by=followers")):
        page = browser().get(url).content.decode()
        [tabs] = re.findall(r'<nav class="tabs".*?</nav>', page, re.DOTALL)
        assert re.findall(r'href="([^"]+)" aria-current="page"', tabs) == [current]
        assert re.findall(r'href="([^"]+)"', tabs) == ["/people/", "?by=followers"]


def test_a_later_page_has_a_link_to_the_first(browser, raw, small):
    for uid in range(1, 6):
        add_user(raw, uid, f"person{uid}", LONG_AGO + uid, followers=uid)
    for url, back in (("/people/", "/people/"), ("/people/?by=followers", "/people/?by=followers")):
        page = browser().get(url).content.decode()
        later = browser().get(f"/people/{html.unescape(OLDER.search(page)[1])}").content.decode()
        assert f'<p class="newest"><a href="{back}">' in later


def test_an_empty_site_says_so(browser):
    assert "No users yet." in text_of(browser().get("/people/"))
    assert "No one has followers yet." in text_of(browser().get("/people/?by=followers"))


def test_a_signed_in_user_can_follow_everyone_else_on_the_page(browser, store, alice, bob, carol):
    Follows(store).follow(1, 2)
    page = browser(alice).get("/people/").content.decode()
    actions = re.findall(r'action="([^"]+)"', page[page.index("<main") :])
    assert set(actions) == {"/people/", "/@bob/unfollow/", "/@carol/follow/"}


def test_a_visitor_gets_no_csrf_token_and_no_cookie(client, alice, bob):
    assert "csrfmiddlewaretoken" not in client.get("/people/").content.decode()
    assert not client.cookies


def test_reading_writes_nothing(browser, raw, alice, bob):
    before = everything(raw)
    for url in ("/people/", "/people/?by=followers", "/people/?q=a"):
        browser(bob).get(url)
    assert everything(raw) == before


def test_every_page_has_a_link_to_the_directory(browser, alice):
    for url in ("/", "/timeline/", "/people/", "/nothing/"):
        page = browser().get(url).content.decode()
        [footer] = re.findall(r'<footer class="bottom">.*?</footer>', page, re.DOTALL)
        assert 'href="/people/"' in footer
        assert ('href="/people/" aria-current="page"' in footer) == (url == "/people/")
