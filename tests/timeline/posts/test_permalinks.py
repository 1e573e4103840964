"""The page of one post: its title, its canonical address and its Open Graph tags."""

import re
from html import escape

import pytest

from retwis_site.store.local_cache import Memory
from tests.support.http.hostile_values import MARKER
from tests.support.http.page_text import CANONICAL, meta_tags
from tests.support.stored_keys import publish
from tests.support.stored_posts import write_answer


@pytest.fixture
def page(browser, raw, store, alice):
    """`page(text)` publishes a post and returns its page, as a visitor sees it."""

    def show(text, **headers):
        publish(raw, store, alice, text)
        raw.hset("post:1", "time", 1_700_000_000)
        return browser().get("/@alice/1/", **headers).content.decode()

    return show


def test_the_page_of_a_post_has_open_graph_tags(page):
    head = meta_tags(page("Hello @bob, see https://redis.io/"))
    assert {name: content for name, content in head.items() if name.startswith(("og:", "article:", "twitter:"))} == {
        "og:type": "article",
        "og:site_name": "Retwis",
        "og:title": "@Alice on Retwis",
        "og:description": "Hello @bob, see https://redis.io/",
        "og:url": "http://testserver/@Alice/1/",
        "og:image": "http://testserver/apple-touch-icon.png",
        "twitter:card": "summary",
        "article:published_time": "2023-11-14T22:13:20Z",
        "article:author": "http://testserver/@Alice/",
    }
    assert head["description"] == "Hello @bob, see https://redis.io/"


def test_every_address_of_a_post_names_the_same_canonical_one(page, browser):
    [canonical] = CANONICAL.findall(page("Hello"))
    assert canonical == "http://testserver/@Alice/1/"
    for asked in ("/@ALICE/1/", "/@alice/1/?utm_source=x"):
        answer = browser().get(asked).content.decode()
        assert CANONICAL.findall(answer) == [canonical]
        assert meta_tags(answer)["og:url"] == canonical
    assert browser().get("/@Alice/1/").status_code == 200


def test_the_title_begins_with_the_author_and_the_text(page):
    text = page("A text of more than sixty characters, " + "which goes on and on " * 5)
    [title] = re.findall("<title>(.*)</title>", text)
    assert title == "@Alice: A text of more than sixty characters, which goes on and on … · Retwis"


def test_the_title_of_a_reply_says_that_it_is_one(browser, store, raw, alice, bob):
    publish(raw, store, alice, "Tea?")
    write_answer(raw, 2, 2, 1, body="Yes, please")
    assert "<title>Reply by @bob: Yes, please · Retwis</title>" in browser().get("/@bob/2/").content.decode()
    assert "<title>@Alice: Tea? · Retwis</title>" in browser().get("/@Alice/1/").content.decode()


@pytest.mark.parametrize("before", ["", "x", "xxx"])
@pytest.mark.parametrize("seen", ["👩\u200d👩\u200d👧\u200d👦", "🇩🇪", "👍🏽", "e\u0301"])
def test_a_title_is_cut_between_what_people_see_as_characters(page, seen, before):
    [title] = re.findall("<title>@Alice: (.*)… · Retwis</title>", page(before + seen * (277 // len(seen))))
    assert title == before + seen * title.count(seen)
    assert title.count(seen) > 30


@pytest.mark.parametrize("text", [MARKER, '"><script>x</script>', "{{ x }} {% y %}", "' onload='x", "&quot;&#34;"])
def test_a_hostile_text_stays_text_in_the_head_too(page, text):
    shown = page(text)
    head = meta_tags(shown)
    assert head["og:description"] == head["description"] == text
    assert f'content="{escape(text)}"' in shown
    assert f"<title>@Alice: {escape(text)} · Retwis</title>" in shown
    assert "<script>" not in shown


def test_a_longer_text_in_a_foreign_database_is_cut_in_the_head_only(browser, raw, page):
    page("short")
    raw.hset("post:1", "body", "long " * 200)
    answer = browser().get("/@alice/1/").content.decode()
    assert len(meta_tags(answer)["og:description"]) == 300
    assert "long " * 200 in answer


def test_a_missing_post_or_another_authors_has_no_open_graph_tags(browser, client, page, bob):
    page("oops")
    other = browser().get("/@bob/1/")
    assert other.status_code == 404
    assert 'property="og:' not in other.content.decode()
    assert "oops" not in other.content.decode()
    assert client.get("/@alice/2/").status_code == 404


def test_a_deleted_post_has_no_open_graph_tags(browser, alice, page):
    page("oops")
    browser(alice).post("/@alice/1/delete/")
    answer = browser().get("/@alice/1/")
    assert answer.status_code == 410
    assert 'property="og:' not in answer.content.decode()
    assert "canonical" not in answer.content.decode()


def test_no_other_page_has_the_tags_of_a_post(browser, page):
    page("Hello")
    for url in ("/", "/timeline/", "/@alice/", "/login/"):
        answer = browser().get(url).content.decode()
        assert meta_tags(answer).get("og:type") in {None, "website", "profile"}
        assert 'property="article:' not in answer
        assert "/1/" not in "".join(CANONICAL.findall(answer))


def test_the_open_graph_title_has_the_authors_display_name(page, browser, raw):
    page("Hello")
    raw.hset("user:1", "name", "Ann & B.")
    Memory.clear_all()
    assert meta_tags(browser().get("/@alice/1/").content.decode())["og:title"] == "\u2068Ann & B.\u2069 on Retwis"
