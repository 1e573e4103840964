"""The checks that the fuzz tests apply to every answer find what they must find."""

from html import escape

import pytest

from tests.support.http.answers import Page, foreign
from tests.support.http.hostile_values import MARKER


@pytest.mark.parametrize("place", ["<p>{}</p>", '<input value="{}">', "<a title='{}'>x</a>", "<!-- {} -->", "<b {}>"])
def test_an_unescaped_echo_is_found(place):
    assert foreign(place.format(MARKER))
    assert not foreign("<p>{}</p><a title='{}'>x</a>".format(*[escape(MARKER)] * 2))


@pytest.mark.parametrize(
    "away", ["//evil.example", "/\\evil.example", "/\t/evil.example", "https://evil.example", "x:y"]
)
def test_an_address_of_another_site_is_found(away):
    assert foreign(f'<a href="{away}">x</a>')
    assert not foreign('<a href="/timeline/">x</a>')


@pytest.mark.parametrize(
    ("link", "is_foreign"),
    [
        ('<a href="https://a.example/" rel="nofollow ugc noopener" dir="ltr">x</a>', False),
        ('<a href="HTTP://A.example/" rel="nofollow ugc noopener" dir="ltr">x</a>', False),
        ('<a href="https://a.example/">x</a>', True),
        ('<a href="https://a.example/" rel="nofollow">x</a>', True),
        ('<a href="https://a.example/" rel="nofollow ugc noopener" dir="ltr" target="_blank">x</a>', True),
        ('<a href="javascript:x" rel="nofollow ugc noopener" dir="ltr">x</a>', True),
        ('<a href="//a.example/" rel="nofollow ugc noopener" dir="ltr">x</a>', True),
        ('<img src="https://a.example/" rel="nofollow ugc noopener" dir="ltr">', True),
    ],
)
def test_only_the_text_of_a_post_may_link_to_other_sites(link, is_foreign):
    assert bool(foreign(f'<p class="body" dir="auto">one {link} two</p>')) is is_foreign
    assert foreign(f'<p class="body" dir="auto">one</p>{link}')
    assert foreign(f'<p class="other">one {link}</p>')


def test_the_text_of_a_post_includes_the_text_of_its_links():
    text = '<p class="body" dir="auto">one <a href="/@b/">two</a> <a href="/x/">three</a>, four</p> five'
    assert Page(text).texts("p.body") == ["one two three, four"]


@pytest.mark.parametrize(
    ("address", "is_foreign"),
    [("http://testserver/@a/1/", False), ("https://testserver/@a/1/", False), ("https://evil.example/@a/1/", True)],
)
def test_the_canonical_address_must_be_on_this_site(address, is_foreign):
    assert bool(foreign(f'<link rel="canonical" href="{address}">')) is is_foreign
