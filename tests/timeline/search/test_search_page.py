"""The page /search/: which posts it finds, in which order, and what it says."""

import html
import re
import time
from datetime import UTC, datetime

import pytest

from retwis_site.store import snowflake
from tests.support.http.page_text import marked, post_ids, text_of, with_older
from tests.support.people import register
from tests.support.stored_posts import DAY, write_answer, write_indexed, write_tag
from timeline.posts.repository import Posts
from timeline.relations.relations import Bookmarks, Follows, Likes
from timeline.search.feature import SEARCHES, VISITORS_SEARCHES
from timeline.search.index import Indexing
from timeline.search.query import LONGEST_QUERY

TEXTS = {1: "Green tea", 2: "Black tea & <b>cake</b>", 3: "Coffee", 4: "Teas of 東京都", 5: "Tea, a green one #Tea"}


def search(client, typed, **fields):
    return client.get("/search/", {"q": typed, **fields})


@pytest.fixture
def posts(raw, store, alice, bob):
    write_indexed(raw, store, bob.user.uid, TEXTS)


@pytest.mark.parametrize(
    ("typed", "pids"),
    [
        ("tea", [5, 4, 2, 1]),
        ("TEA green", [5, 1]),
        ('"green tea"', [1]),
        ("tea -green", [4, 2]),
        ('tea -"green tea" -from:alice', [5, 4, 2]),
        ("#tea", [5]),
        ("from:bob -tea", [3]),
        ("from:BOB coffee", [3]),
        ("from:alice", []),
        ("京", [4]),
        ("京都", [4]),
        ("water", []),
        ("tea after:2023-11-14", []),
        ("tea after:2023-11-13 before:2023-11-15", [5, 4, 2, 1]),
    ],
)
def test_posts_are_found_newest_first(posts, browser, alice, typed, pids):
    assert post_ids(search(browser(alice), typed)) == pids
    assert post_ids(search(browser(), typed)) == pids


def test_the_title_says_what_was_searched_for(posts, browser):
    assert "<title>Search: tea &lt;b&gt; · Retwis</title>" in search(browser(), "tea <b>").content.decode()
    assert "<title>Search · Retwis</title>" in browser().get("/search/").content.decode()


def test_dates_find_the_posts_of_before_a_change_to_ids_from_the_time(raw, store, alice, browser):
    now, pid = int(time.time()), snowflake.make()
    write_indexed(raw, store, 1, dict.fromkeys((1, 2, 3, pid), "tea"))
    raw.set("next_post_id", 3)
    midnight = now // DAY * DAY - 20 * DAY
    for each, when in ((1, midnight - 1), (2, midnight), (3, now - 10 * DAY), (pid, now)):
        raw.hset(f"post:{each}", "time", when)
    before, day = (datetime.fromtimestamp(when, UTC).date() for when in (midnight - 1, midnight))
    assert post_ids(search(browser(), f"tea after:{before}")) == [pid, 3, 2]
    assert post_ids(search(browser(), f"tea before:{day}")) == [1]


def test_what_was_found_is_highlighted_and_escaped(posts, browser):
    assert marked(search(browser(), "tea")) == ["Tea", "Tea", "Teas", "tea", "tea"]
    page = search(browser(), "b cake").content.decode()
    assert "Black tea &amp; &lt;<mark>b</mark>&gt;<mark>cake</mark>&lt;/<mark>b</mark>&gt;</p>" in page


def test_each_search_highlights_its_own_words(raw, store, alice, member, bob):
    write_indexed(raw, store, bob.user.uid, {1: "Black tea & cake"})
    for _ in range(2):
        for word in ("tea", "cake", "black"):
            assert [one.lower() for one in marked(search(member, word))] == [word]
    Likes(store).like(alice.user.uid, 1, bob.user.uid)
    page = search(member, "cake")
    assert marked(page) == ["cake"]
    assert "Black tea &amp; <mark>cake</mark></p>" in page.content.decode()


def test_highlights_stand_in_links(raw, store, alice, browser):
    write_indexed(raw, store, 1, {1: "See https://example.org/notes/of/a/long/day/in/may @alice"})
    page = search(browser(), "example may alice").content.decode()
    assert "https://<mark>example</mark>.org/notes/of/" in page
    assert '<span class="rest">/long/day/in/<mark>may</mark></span></a>' in page
    assert '<a href="/@alice/">@<mark>alice</mark></a>' in page.lower()


def test_other_pages_show_no_highlights(posts, member):
    search(member, "tea")
    assert marked(member.get("/@bob/")) == []
    assert marked(search(member, "black")) == ["Black"]
    assert marked(search(member, "cake black")) == ["Black", "cake"]


def test_an_edited_post_is_found_by_its_present_words(posts, browser, store, bob):
    Posts(store).edit(bob.user.uid, 3, "Water")
    Indexing(store).index([3])
    assert post_ids(search(browser(bob), "coffee")) == []
    assert post_ids(search(browser(bob), "water")) == [3]


def test_replies_are_found_by_whom_they_answer(posts, raw, store, browser, alice, bob):
    write_answer(raw, alice.user.uid, 6, 1, body="Tea, yes")
    Indexing(store).index([6])
    assert post_ids(search(browser(bob), "tea is:reply")) == [6]
    assert post_ids(search(browser(bob), "to:me")) == [6]
    assert post_ids(search(browser(bob), "to:bob from:alice")) == [6]
    assert post_ids(search(browser(bob), "tea -is:reply")) == [5, 4, 2, 1]


# ---- scopes


def test_a_search_can_be_among_some_posts(posts, raw, store, alice, member, bob, carol):
    write_indexed(raw, store, alice.user.uid, {6: "My tea"})
    write_indexed(raw, store, carol.user.uid, {7: "Tea for carol"})
    Follows(store).follow(alice.user.uid, bob.user.uid)
    Likes(store).like(alice.user.uid, 2, bob.user.uid)
    Bookmarks(store).add(alice.user.uid, 7, carol.user.uid)
    assert post_ids(search(member, "tea")) == [7, 6, 5, 4, 2, 1]
    assert post_ids(search(member, "tea", **{"in": "everyone"})) == [7, 6, 5, 4, 2, 1]
    assert post_ids(search(member, "tea", **{"in": "following"})) == [5, 4, 2, 1]
    assert post_ids(search(member, "tea", **{"in": "mine"})) == [6]
    assert post_ids(search(member, "-coffee", **{"in": "mine"})) == [6]
    assert post_ids(search(member, "tea", **{"in": "saved"})) == [7, 2]


@pytest.mark.parametrize("scope", ["following", "mine", "saved"])
def test_visitors_log_in_first(posts, browser, scope):
    answer = search(browser(), "tea", **{"in": scope})
    assert answer.status_code == 302
    assert answer["Location"] == f"/login/?next=%2Fsearch%2F%3Fq%3Dtea%26in%3D{scope}"


def test_the_scopes_are_links_that_keep_the_query(posts, browser, alice):
    page = search(browser(alice), 'a "b&c"', **{"in": "mine"}).content.decode()
    assert '<a href="?q=a+%22b%26c%22&amp;in=mine" aria-current="page">' in page
    assert '<a href="?q=a+%22b%26c%22">Everyone</a>' in page
    assert "in=mine" not in search(browser(), "a").content.decode()
    german = browser(alice).get("/search/", {"q": "a"}, headers={"accept-language": "de"}).content.decode()
    assert '<a href="?q=a&amp;in=following">Leute, denen du folgst</a>' in german


# ---- pages


def test_a_page_leads_to_older_posts_and_none_comes_twice(raw, store, browser, alice):
    write_indexed(raw, store, alice.user.uid, {pid: f"tea {pid}" for pid in range(1, 46)})
    Indexing(store).index(range(1, 46))  # a record twice does no harm
    pages = [post_ids(page) for page in with_older(browser(alice), "/search/?q=tea&in=mine")]
    assert [len(pids) for pids in pages] == [20, 20, 5]
    assert [pid for pids in pages for pid in pids] == list(range(45, 0, -1))


def test_a_later_page_leads_back(raw, store, browser, alice):
    write_indexed(raw, store, alice.user.uid, dict.fromkeys(range(1, 4), "tea"))
    page = search(browser(alice), "tea", before=3, **{"in": "mine"})
    assert post_ids(page) == [2, 1]
    assert '<a href="?q=tea&amp;in=mine">Back to the newest posts</a>' in page.content.decode()
    assert "End of the results." in text_of(page)


# ---- people and tags


def test_people_and_tags_stand_above_the_posts(posts, raw, store, browser):
    register(store, "Teapot")
    write_tag(raw, "Tea", [5])
    page = search(browser(), "tea").content.decode()
    assert page.index('href="/@Teapot/"') < page.index('href="/tags/tea/"') < page.index("<article")
    later = search(browser(), "tea", before=5).content.decode()
    assert "Teapot" not in later
    assert "tags-found" not in later


def test_a_tag_is_found_by_its_sign_and_people_only_by_words(posts, raw, store, browser):
    register(store, "Teapot")
    write_tag(raw, "Tea", [5])
    page = search(browser(), "#tea").content.decode()
    assert 'href="/tags/tea/"' in page
    assert "Teapot" not in page
    assert "Teapot" not in search(browser(), "tea -green").content.decode()


@pytest.mark.parametrize(
    ("typed", "tag"),
    [("Größe", "Größe"), ("cafés", "cafés"), ("ёлка", "Ёлка"), ("İstanbul", "istanbul"), ("Über!", "überall")],
)
def test_a_word_finds_the_tags_that_begin_with_it_as_it_is_typed(posts, raw, browser, typed, tag):
    """Words are compared without their accents, and tags with them."""
    write_tag(raw, tag, [5])
    assert f">#{tag}<" in search(browser(), typed).content.decode()


def test_only_a_few_people_are_shown_with_a_link_to_all(posts, store, browser):
    for number in range(5):
        register(store, f"tea{number}")
    page = search(browser(), "tea").content.decode()
    assert len(set(re.findall(r'href="/@(tea\d)/"', page))) == 3
    assert '<a href="/people/?q=tea">More people</a>' in page


# ---- what is not searched


def test_an_empty_search_shows_the_field_and_explains_it(browser, raw):
    for page in (browser().get("/search/"), search(browser(), "  ")):
        assert page.status_code == 200
        assert '<details class="operators" open>' in page.content.decode()
        assert "before:2026-11-01" in text_of(page)


@pytest.mark.parametrize(
    ("typed", "status", "said"),
    [
        ("from:nobody tea", 200, "No user has the name nobody."),
        ("from:me", 200, "No user has the name me."),
        ("-tea", 200, "Add a word to search for."),
        ("before:2026-11-01", 200, "Add a word to search for."),
        ("!!!", 200, "Add a word to search for."),
        ("before:today", 400, "Write a date as year, month and day"),
        ("has:cheese", 400, "After has: you can write only link or picture."),
        ("is:nice", 400, "After is: you can write only reply."),
        ("tea" * 1700, 400, f"It may have up to {LONGEST_QUERY} characters."),
    ],
)
def test_the_page_says_what_to_do(posts, browser, typed, status, said):
    page = search(browser(), typed)
    assert page.status_code == status
    assert said in text_of(page)
    assert f'value="{html.escape(typed[:LONGEST_QUERY])}"' in page.content.decode()


@pytest.mark.parametrize(
    "typed",
    ["\x00", "tea\x00", '"', '"tea', '"""', "\u202etea", "\ud7ff\ue000", "%s{}", "a:b:c", "from:\x00", "#", "-" * 300],
)
def test_hostile_texts_get_an_answer(posts, browser, alice, typed):
    assert search(browser(alice), typed).status_code == 200


# ---- limits


def test_a_user_and_an_address_may_search_only_so_often(posts, browser, raw, alice, monkeypatch, settings):
    settings.THROTTLE = True
    for limit in (SEARCHES, VISITORS_SEARCHES):
        monkeypatch.setitem(vars(limit), "times", 2)
    for client in (browser(alice), browser()):
        assert [search(client, "tea").status_code for _ in range(3)] == [200, 200, 429]
    assert raw.zcard("throttle:search:1") == raw.zcard("throttle:searches:127.0.0.1") == 2
