"""An address ends before the quotation mark, the bracket or the full stop of the sentence around it, in any script."""

import unicodedata

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from retwis_site.store.local_cache import Memory
from tests.support.stored_keys import publish
from tests.support.texts.characters import EVERY, of_categories
from timeline.posts.links import addresses

# Quotation marks in other categories: from keyboards, for vertical lines, of ornaments.
MARKS = [*of_categories("Pi", "Pf", "Ps", "Pe"), *'"＂＇❛❜❝❞❟❠🙶🙷🙸']
OPENING = of_categories("Ps")
CLOSING = of_categories("Pe")
QUOTES = [
    "„“",
    "„”",
    "‚‘",
    "‚’",
    "»«",
    "›‹",
    "«»",
    "‹›",
    "””",
    "’’",
    "“”",
    "‘’",
    "「」",
    "『』",
    "〝〟",
    "〝〞",
    "⹂”",
    "»»",
]
ADDRESSES = [
    "https://example.com/a",
    "https://example.com/?q=1",
    "https://example.com/#a",
    "example.com/a",
    "https://example.com",
]
AFTER = ["", " ", "。", ", ", "b", "日", "\n", "/x", "：b"]


def linked(text):
    return [text[one.start : one.end] for one in addresses(text)]


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_mark_is_part_of_an_address_that_it_closes(address):
    wrong = [
        f"U+{ord(mark):04X} {before!a} {after!a}"
        for mark in MARKS
        for before in (mark, "„", "(", " ")
        for after in ("", " ", "。", ", ")
        if linked(f"x {before}{address}{mark}{after}") != [address]
    ]
    assert wrong == []


@given(st.sampled_from(QUOTES), st.sampled_from(ADDRESSES[:4]), st.sampled_from(AFTER))
def test_a_quotation_ends_an_address_whatever_follows(quotes, address, after):
    opening, closing = quotes
    assert linked(f"x {opening}{address}{closing}{after}") == [address]
    assert linked(f"日本{opening}{address}{closing}{after}") in ([address], [])  # a host may have these letters


def pairs():
    """The brackets of Unicode, by their names; a few have names of their own."""
    by_name = {unicodedata.name(char): char for char in CLOSING}
    for opening in OPENING:
        name = unicodedata.name(opening)
        closing = by_name.get(name.replace("LEFT", "RIGHT"))
        if closing is not None and closing != opening:
            yield opening, closing


def test_brackets_with_their_partners_are_part_of_an_address():
    found = list(pairs())
    assert len(found) > 60
    assert {("(", ")"), ("「", "」"), ("⟨", "⟩"), ("﹙", "﹚")} <= set(found)
    wrong = []
    for opening, closing in found:
        for address in (f"https://example.com/a_{opening}b{closing}", f"https://example.com/{opening}a{closing}/b?c"):
            if linked(f"x {address}。") != [address] or linked(f"{opening}{address}{closing} x") != [address]:
                wrong.append(address)
    assert wrong == []


def test_an_apostrophe_inside_a_word_is_part_of_an_address():
    assert linked("https://fr.example/wiki/L’Équipe’s https://fr.example/l’") == [
        "https://fr.example/wiki/L’Équipe’s",
        "https://fr.example/l",
    ]
    assert linked("他说‘https://example.com/a’是") == ["https://example.com/a"]


def test_an_address_does_not_end_with_the_punctuation_of_any_script():
    ends = regex.findall(r"\p{Terminal_Punctuation}", "".join(EVERY))
    assert {"؟", "۔", "।", "။", "។", "።", "։", "。", "！"} <= set(ends)
    assert [end for end in ends if linked(f"https://example.com/a{end}{end}") != ["https://example.com/a"]] == []


@pytest.mark.parametrize("address", ["https://example.com/a", "example.com/?q=1", "https://example.com/(日本)"])
def test_a_full_stop_or_a_comma_of_another_script_ends_an_address_whatever_follows(address):
    others = [char for char in of_categories("P") if "\x7f" < char < "\U00010000"]
    ends = regex.findall(r"\p{Terminal_Punctuation}", "".join(others))
    assert {"，", "、", "。", "！", "؟", "،", "।"} <= set(ends)
    assert [end for end in ends if linked(f"看 {address}{end}谢谢") != [address]] == []
    assert linked(f"{address}、https://example.org/b，a.net") == [address, "https://example.org/b", "a.net"]


@pytest.mark.parametrize("text", ["»https://example.com/a«", "⟪https://example.com/a⟫।", "ー『https://example.com/a』"])
def test_pages_and_feeds_have_the_same_links(browser, raw, store, alice, text):
    publish(raw, store, alice, text)
    assert 'href="https://example.com/a"' in browser().get("/@alice/1/").content.decode()
    for feed in ("/@alice/atom/", "/@alice/rss/", "/timeline/atom/"):
        assert 'href="https://example.com/a"' in browser().get(feed).content.decode().replace("&quot;", '"'), feed


@pytest.mark.parametrize(("opening", "closing"), [("„", "“"), ("»", "«"), ("「", "」です"), ("‘", "’"), ("（", "）。")])
def test_the_words_of_staff_have_such_links_too(browser, raw, opening, closing):
    text = f"Read {opening}https://example.com/a{closing} <b>"
    raw.hset("site", mapping={"about": text, "rules": text, "privacy": text, "contact": text})
    Memory.clear_all()
    link = '<a href="https://example.com/a" rel="nofollow">https://example.com/a</a>'
    for address in ("/about/", "/rules/", "/privacy/"):
        assert f"Read {opening}{link}{closing} &lt;b&gt;" in browser().get(address).content.decode(), address
