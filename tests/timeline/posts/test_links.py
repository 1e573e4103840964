"""Links in a post's text: web addresses and @names. Everything else stays text."""

import re
from urllib.parse import unquote, urlsplit

import pytest
from django.urls import resolve
from hypothesis import given
from hypothesis import strategies as st

from tests.support.http.answers import LINK_RELATION
from tests.support.stored_keys import publish
from tests.support.texts.shown_links import LINKED, Shown
from timeline.posts import links
from timeline.posts.entities import LONGEST_POST
from timeline.posts.links import MOST_LABELS, folded

TAG = re.compile(r"/tags/([^/]+)/")
PROFILE = re.compile(r"/@([A-Za-z0-9_]{1,30})/")
PLAIN_TEXTS = [
    "Nothing at all, 3.14 and e.g. this...",
    "javascript:alert(1) data:text/html,x vbscript:x ftp://example.com/x //example.com/x file:///etc/passwd",
    "mailto:alice@example.com",
    "alice@example.com, <bob.me@example.com>",
    "https://bank.example@evil.example/",
    "https://evil.example\\@bank.example/",
    "https://bank.example℀evil.example/",  # normalization turns this character into "a/c"
    "@alice@example.com",  # an account of another site
    "@alice.example",
    "example.invalid/@alice",
    "https://example.com%2f.evil.example https://a:x@b.example https://a:99999/ https://a:80@b.example https://-a.example",
    "https://a_b.example https://example..com https://" + "a" * 64 + ".com foo://example.com xhttp://example.com",
    "a@alice é@alice e\u0301@alice _@alice @@alice",
    "@alicé @alice\u0301 @alice日本 @" + "a" * 31,
    "@ @- @é #1",
    "**bold** [text](x) <b>b</b> `code` &amp; &lt;",
]
FRAGMENTS = [
    *["@", "@alice", "@Bob_1", "a", "_", "é", "\u0301", "日本", "😀", "👩\u200d🚀", "\ufe0f"],
    *["\u200b", "\u202e", "\u2067", "\0", "\ufffd"],
    *["http://", "https://", "HTTPS://", "//", "ftp://", "mailto:", "javascript:", "data:", ":", "www.", "localhost"],
    *["example.com", ".com", ".io", "xn--", "xn--a.", ".", "..", "/", "\\", "?", "#", "&", "=", "%", ":80", "1.2.3.4"],
    *["<", ">", "<a href=x>", "</a>", "</p>", "<!--", "]]>", '"', "'", "&lt;", "&#x3c;", "(", ")", "[", "]", "{", "}"],
    *[" ", "  ", "\t", "\xa0", ",", ";", "!", "-", "|", "℀", "．", "＠", "{{ x }}", "{% x %}"],
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=4), max_size=60).map(lambda parts: "".join(parts)[:280])


@pytest.mark.parametrize(("text", "expected"), LINKED)
def test_addresses_and_names_become_links(text, expected):
    shown = Shown(text)
    assert [tuple(link) for link in shown.links] == expected
    assert shown.text == text


@pytest.mark.parametrize("text", PLAIN_TEXTS)
def test_everything_else_stays_text(text):
    shown = Shown(text)
    assert shown.links == []
    assert shown.text == text


def test_the_html_of_a_link_has_no_needless_attributes():
    assert Shown("Hi @Alice: a.com/?b&c <3").html == (
        'Hi <a href="/@Alice/">@Alice</a>: '
        '<a href="http://a.com/?b&amp;c" rel="nofollow ugc noopener" dir="ltr">a.com/?b&amp;c</a> &lt;3'
    )


@pytest.mark.parametrize(
    ("address", "rest"),
    [
        ("https://example.com/a/b/c/d/e/", ""),
        ("https://example.com/a/b/c/d/e/f", "f"),
        ("example.com/?u=https://example.org/", ".org/"),
        ("https://a.very.long.host.name.example.com/a", "/a"),
        ("https://a.very.long.host.name.example.com", ""),
        ("https://a.very.long.host.name.example.com?a", "?a"),
    ],
)
def test_of_a_long_address_the_host_and_a_beginning_are_shown(address, rest):
    shown = Shown(f"see {address} now")
    assert "".join(shown.rests) == rest
    assert shown.text == f"see {address} now"  # as a visitor copies it
    assert shown.links == [[address, address if address.startswith("https") else f"http://{address}"]]


@given(TEXTS)
def test_any_text_reads_as_typed_and_its_links_lead_where_they_say(text):
    shown = Shown(text)
    assert shown.text == text
    assert [tag for tag, _ in shown.tags] == ["a", "/a"] * (len(shown.tags) // 2)
    for (_, attributes), (label, target) in zip(shown.tags[::2], shown.links, strict=True):
        if name := PROFILE.fullmatch(target):
            assert set(attributes) == {"href"}
            assert label == f"@{name[1]}"
            assert resolve(target).url_name == "profile"
        elif name := TAG.fullmatch(target):
            assert set(attributes) == {"href"}
            assert folded(label[1:]) == unquote(name[1])
            assert resolve(unquote(target)).url_name == "tag"
        else:
            assert attributes == {"href": target, "rel": LINK_RELATION, "dir": "ltr"}
            assert target in {label, f"http://{label}"}
            assert urlsplit(target).scheme in {"http", "https"}
            assert "@" not in urlsplit(target).netloc


@given(TEXTS)
def test_the_segments_joined_are_the_text(text):
    segments = links.segments(text)
    assert "".join(segment.text for segment in segments) == text
    assert all(segment.text for segment in segments)
    assert not any(segment.address and segment.name for segment in segments)


# ---- what is searched


@given(TEXTS)
def test_a_text_that_is_not_searched_has_no_links(text):
    if not links.may_have_links(text):
        assert not any(segment.address or segment.name for segment in links.segments(text))


@pytest.mark.parametrize("text", ["Two things: tea & toast", "km/h, and/or: x < y", "Wait. What?", "A smile: ;-/"])
def test_punctuation_alone_is_no_reason_to_search(text):
    assert not links.may_have_links(text)


def test_of_a_long_text_in_a_foreign_database_the_first_words_are_searched():
    unit = "@alice and bob read https://example.com "
    shown = Shown(unit * 100)
    assert len(shown.links) == LONGEST_POST // len(unit) * 2
    assert shown.text == unit * 100
    cut = "x" * (LONGEST_POST - 12) + " example.com.evil.example.com"
    assert Shown(cut).links == []  # half of an address would lead elsewhere
    assert Shown(("x" * LONGEST_POST + " example.com") * 9).links == []


def test_the_first_links_of_a_text_are_shown():
    text = " ".join(f"@a{number}" for number in range(60))
    assert [label for label, _ in Shown(text).links] == [f"@a{number}" for number in range(links.MOST_LINKS)]
    hosts = [f"h{number}.a.de" for number in range(30)]
    shown = Shown(" ".join(hosts))
    assert [label for label, _ in shown.links] == hosts[: MOST_LABELS // 3]
    assert shown.text == " ".join(hosts)


# ---- on pages


def test_every_page_shows_the_links_and_the_store_keeps_the_text_as_typed(browser, raw, store, alice, bob):
    text = "Hello @Bob, see https://redis.io/?a=1&b=2 & <b>"
    publish(raw, store, alice, text)
    name = '<a href="/@Bob/">@Bob</a>'
    address = '<a href="https://redis.io/?a=1&amp;b=2" rel="nofollow ugc noopener" dir="ltr">https://redis.io/?a=1&amp;b=2</a>'
    expected = f'<p class="body" dir="auto">Hello {name}, see {address} &amp; &lt;b&gt;</p>'
    for client, pages in ((browser(alice), ["/", "/timeline/", "/@Alice/"]), (browser(), ["/", "/@alice/1/"])):
        for page in pages:
            assert expected in client.get(page).content.decode(), page
    assert raw.hget("post:1", "body") == text
    assert browser().get("/@Bob/").status_code == 200


def test_in_a_post_whose_names_were_not_looked_up_an_unknown_name_is_a_link_to_a_404_page(browser, raw, store, alice):
    publish(raw, store, alice, "is @nobody there?")
    raw.hdel("post:1", "mentions")  # as in a post of an older version
    assert '<a href="/@nobody/">@nobody</a>' in browser().get("/@Alice/").content.decode()
    assert browser().get("/@nobody/").status_code == 404
