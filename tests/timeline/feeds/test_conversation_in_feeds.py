"""Replies and quotes in feeds. Edited posts and reposts: test_feeds.py."""

import json

import pytest

from retwis_site.store.local_cache import Memory
from tests.support.http.feed_xml import Html, all_of, one, root, texts
from tests.support.people import LONG_AGO
from tests.support.stored_posts import write_answer, write_posts
from timeline.posts.repository import Posts

ALICE, BOB = 1, 2
FEEDS = ["/timeline/atom/", "/timeline/rss/"]


@pytest.fixture(autouse=True)
def posts(store, raw, alice, bob):
    """Bob's post 1; alice answers it in 2 and quotes it in 3."""
    write_posts(raw, BOB, [1])
    write_answer(raw, ALICE, 2, parent=1)
    write_posts(raw, ALICE, [3])
    raw.hset("post:3", "quote", 1)
    raw.zadd("quotes_of:1", {3: 3})


def entries(browser):
    """By address, which is the id of each entry."""
    feed = root(browser().get("/timeline/atom/"))
    return {one(entry, "atom:id").text: entry for entry in all_of(feed, "atom:entry")}


def contents(browser, url):
    feed = root(browser().get(url))
    return texts(feed, "atom:entry/atom:content") or texts(feed, "channel/item/description")


def test_a_reply_names_the_entry_that_it_answers(browser):
    found = entries(browser)
    attributes = one(found["http://testserver/@Alice/2/"], "thr:in-reply-to").attrib
    assert attributes == {"ref": "http://testserver/@bob/1/", "href": "http://testserver/@bob/1/", "type": "text/html"}
    assert attributes["ref"] in found
    assert [address for address, entry in found.items() if all_of(entry, "thr:in-reply-to")] == [
        "http://testserver/@Alice/2/"
    ]


def test_a_quote_leads_to_the_quoted_post(browser):
    related = "atom:link[@rel='related']"
    found = {
        address: [link.get("href") for link in all_of(entry, related)] for address, entry in entries(browser).items()
    }
    assert found == {
        "http://testserver/@Alice/3/": ["http://testserver/@bob/1/"],
        "http://testserver/@Alice/2/": [],
        "http://testserver/@bob/1/": [],
    }


@pytest.mark.parametrize("url", FEEDS)
def test_the_text_says_whom_it_answers_and_has_the_quoted_post(browser, url):
    quote, reply, plain = [Html(content) for content in contents(browser, url)]
    assert reply.words == "Replying to @bobpost 2"
    assert quote.words == "post 3@bobpost 1"
    assert ("blockquote", {"cite": "http://testserver/@bob/1/"}) in quote.elements
    assert ("a", {"href": "http://testserver/@bob/1/"}) in reply.elements
    assert plain.elements == [("p", {"dir": "auto"})]


@pytest.mark.parametrize("url", FEEDS)
@pytest.mark.parametrize("sensitive", [False, True])
def test_the_quoted_post_brings_its_pictures_unless_they_are_covered(browser, raw, url, sensitive):
    media = {"pictures": [["a" * 40, 900, 600, "Something red", "0" * 16]]} | ({"sensitive": True} if sensitive else {})
    raw.hset("post:1", "media", json.dumps(media))
    Memory.clear_all()
    quote, _, bobs = [Html(content) for content in contents(browser, url)]
    shown = [attributes["alt"] for name, attributes in quote.elements if name == "img"]
    assert shown == ([] if sensitive else ["Something red"])
    assert ("Sensitive pictures" in quote.words) is ("Sensitive pictures" in bobs.words) is sensitive


@pytest.mark.parametrize("url", FEEDS)
def test_a_deleted_quoted_post_is_not_in_the_feed(browser, store, url):
    Posts(store).delete(BOB, 1)
    Memory.clear_all()
    quote, _ = [Html(content) for content in contents(browser, url)]
    assert quote.words == "post 3This post is not available."


@pytest.mark.parametrize("url", FEEDS)
def test_a_reply_to_a_deleted_account_names_nobody(browser, raw, url):
    raw.hset("user:2", "deleted", LONG_AGO)
    Memory.clear_all()
    _, reply = [Html(content) for content in contents(browser, url)]
    assert reply.words == "post 2"
    assert not any(all_of(entry, "thr:in-reply-to") for entry in entries(browser).values())
