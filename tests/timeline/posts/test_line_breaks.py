"""The line breaks of a post: as typed they are stored, shown on pages and in feeds, and left out of titles."""

import re

import pytest
from hypothesis import given, strategies as st

from retwis_site.http.form_fields import is_visible
from retwis_site.store.ids import DIGEST
from tests.support.stored_keys import publish
from timeline.posts import composer
from timeline.posts.composer import normalised
from timeline.posts.entities import LONGEST_POST

HAIKU = "An old silent pond\n\nA frog jumps in\nSplash & silence"


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("two\r\nlines", "two\nlines"),
        ("two\nlines", "two\nlines"),
        ("two\rlines", "two\nlines"),
        ("two\x0blines", "two\nlines"),
        ("two\u2028lines", "two\nlines"),
        ("two\u2029lines", "two\nlines"),
        ("two  \r\n  lines", "two\n  lines"),
        ("a paragraph\r\n\r\nanother", "a paragraph\n\nanother"),
        ("far\r\n\r\n\r\n\r\nbelow", "far\n\nbelow"),
        ("far\n \n\t\n\u200b\nbelow", "far\n\nbelow"),
        ("\r\n\r\n  around\r\n\r\n", "around"),
    ],
)
def test_line_breaks_are_stored_as_typed_but_at_most_two_in_a_row(browser, alice, raw, typed, stored):
    assert browser(alice).post("/post/", {"body": typed, "token": "t"}).status_code == 302
    assert raw.hget("post:1", "body") == stored


def test_a_line_break_counts_as_one_character(member, raw):
    text = "\r\n".join("x" * (LONGEST_POST // 2))  # 140 letters and 139 line breaks, which browsers send as two
    assert member.post("/post/", {"body": f"{text}\r\n\r\n\r\n", "token": "t"}).status_code == 302
    assert len(raw.hget("post:1", "body")) == LONGEST_POST - 1
    assert member.post("/post/", {"body": f"{text}\r\nxx", "token": "u"}).status_code == 422


def test_a_line_of_null_characters_alone_is_refused_as_any_other(browser, alice, raw):
    for text in ("a\0b", "a\r\n\0"):
        assert browser(alice).post("/post/", {"body": text, "token": "t"}).status_code == 422
    assert not raw.exists("post:1")


@pytest.mark.parametrize(
    "fields",
    [
        {"body": "a\n" * 500_000, "token": "t"},
        {"body": "", "token": "t", "media": ["0" * DIGEST], "alt": "a\n" * 500_000},
        {"body": "", "token": "t", "media": [f"{one:0{DIGEST}x}" for one in range(400)], "alt": ["a\n" * 1000] * 400},
    ],
    ids=["a text", "a description", "many descriptions"],
)
def test_of_a_text_that_is_far_too_long_few_lines_are_looked_at(member, raw, monkeypatch, fields):
    """1 MB of short lines stopped a worker for half a second."""
    looked_at = []
    monkeypatch.setattr(composer, "is_visible", lambda line: looked_at.append(line) or is_visible(line))
    assert member.post("/post/", fields).status_code in {413, 422}
    assert len(looked_at) <= composer.LONGEST_NORMALISED
    assert not raw.exists("post:1")


def test_pages_show_the_line_breaks(browser, alice, raw, store):
    publish(raw, store, alice, HAIKU)
    for address in ("/", "/timeline/", "/@alice/", "/@alice/1/"):
        page = browser(alice).get(address).content.decode()
        assert f'dir="auto">{HAIKU.replace("&", "&amp;")}</p>' in page, address


def test_a_title_has_the_text_in_one_line(browser, alice, raw, store):
    publish(raw, store, alice, HAIKU)
    page = browser().get("/@alice/1/").content.decode()
    assert re.search("<title>[^<]*An old silent pond A frog jumps in Splash &amp; silence · Retwis</title>", page)
    assert f'<meta name="description" content="{HAIKU.replace("&", "&amp;")}">' in page


@pytest.mark.parametrize("feed", ["/@alice/atom/", "/@alice/rss/", "/timeline/atom/"])
def test_a_feed_has_the_line_breaks_as_html(browser, alice, raw, store, feed):
    publish(raw, store, alice, HAIKU)
    text = browser().get(feed).content.decode()
    assert "An old silent pond&lt;br&gt;&lt;br&gt;A frog jumps in&lt;br&gt;Splash &amp;amp; silence&lt;/p&gt;" in text
    assert "An old silent pond A frog jumps in Splash &amp; silence</title>" in text


def test_a_link_ends_with_its_line(browser, alice, bob, raw, store):
    publish(raw, store, alice, "https://example.com/a\nb and @alice\n@bob")
    page = browser().get("/timeline/").content.decode()
    assert 'dir="ltr">https://example.com/a</a>\nb and <a href="/@alice/">@alice</a>\n<a' in page


@given(st.text(st.sampled_from("ab \t\n\r\x0b\x0c\x1c\x85\u2028\u2029\u200b")))
def test_normalised_texts_stay_as_they_are(text):
    once = normalised(text)
    assert normalised(once) == once
    assert "\n\n\n" not in once
    assert not re.search(r"[\r\x0b\x0c\x1c\x85\u2028\u2029]|[ \t]\n", once)
    assert [char for char in once if char in "ab"] == [char for char in text if char in "ab"]
