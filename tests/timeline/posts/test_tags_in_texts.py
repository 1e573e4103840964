"""Hashtags in texts: which part of a text is one, and when two are the same."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.protocols.thoroughness import tries_all
from timeline.posts.entities import LONGEST_POST
from timeline.posts.links import LONGEST_TAG, MOST_LINKS, folded, is_tag, may_have_links, segments, tags_in

TEXTS = st.lists(
    st.sampled_from(
        ["#", "＃", "﹟", "#a", "#Ab_1", "1", "_", "\u0301", "ि", "्", "\u200d", "\u200c", "می", "日", "İ", "ß"]
    )
    | st.sampled_from([" ", "/", "@bob", "&", ".", "https://a.de/", "\ufe0f", "²", "\u3164"])
    | st.text(max_size=3),
    max_size=30,
).map("".join)


def spellings(text):
    return [part.tag for part in segments(text) if part.tag]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#redis", ["redis"]),
        ("Learn #Redis, then (#django)! #end.", ["Redis", "django", "end"]),
        ("#2026goals #c3po #_x_ #a_b", ["2026goals", "c3po", "_x_", "a_b"]),
        ("#größe #Straße #naïve #e\u0301te\u0301", ["größe", "Straße", "naïve", "e\u0301te\u0301"]),
        ("#日本語 と #ニュース。＃東京", ["日本語", "ニュース", "東京"]),
        (
            "#हिन्दी #ภาษาไทย #한국어 #русский #עברית #العربية",
            ["हिन्दी", "ภาษาไทย", "한국어", "русский", "עברית", "العربية"],
        ),
        ("#می\u200cخواهم", ["می\u200cخواهم"]),  # Persian writes a joiner inside of words
        ("#क्\u200dष", ["क्\u200dष"]),
        ("👋#hello👋", ["hello"]),
        ("#a,#b;#c", ["a", "b", "c"]),
        ("#c++ #f# #don't", ["c", "f", "don"]),
        ("#" + "a" * LONGEST_TAG, ["a" * LONGEST_TAG]),
        ("﹟small", ["small"]),
    ],
)
def test_a_hash_sign_and_letters_of_any_script_are_a_tag(text, expected):
    assert spellings(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a#b é#b 日#b 1#b _#b e\u0301#b",
        "#1 #2026 #٣ #_ #__ #1_2",
        "# #. #😀 #- #\u0301 #\u200dx",
        "##a #＃a @#a /#a",
        "&#39; &#x27;",
        "https://example.com/#top example.com/#top http://a.de/x?y#z",
        "#" + "a" * (LONGEST_TAG + 1),
        "#" + "ﬄ" * 40,  # 120 letters when folded
        "#\ufe0f\u20e3 #\u3164",
    ],
)
def test_everything_else_stays_text(text):
    assert spellings(text) == []


def test_a_joiner_counts_only_where_words_need_it():
    assert spellings("#ab\u200dcd #می\u200c #می\u200cab") == ["ab", "می", "می"]


def test_the_tags_of_a_text_are_those_that_are_shown_as_links():
    text = " ".join(f"#t{number}" for number in range(60))
    assert list(tags_in(text)) == [f"t{number}" for number in range(MOST_LINKS)]
    assert tags_in("x" * LONGEST_POST + " #late") == {}


def test_the_first_spelling_in_a_text_counts():
    assert tags_in("#ReDiS and #redis, #Other") == {"redis": "ReDiS", "other": "Other"}


# ---- when two are the same


@pytest.mark.parametrize(
    "names",
    [
        ["Redis", "REDIS", "redis", "ｒｅｄｉｓ"],
        ["Straße", "STRASSE", "strasse"],
        ["İstanbul", "istanbul", "ISTANBUL"],
        ["ΣΊΣΥΦΟΣ", "σίσυφος", "σίσυφοσ"],
        ["été", "e\u0301te\u0301", "ÉTÉ"],
        ["می\u200cخواهم", "میخواهم"],
        ["ﬁsh", "fish"],
        ["ガ", "ｶﾞ", "カ\u3099"],
    ],
)
def test_spellings_of_one_tag(names):
    assert len({folded(name) for name in names}) == 1


def test_other_tags_are_others():
    assert len({folded(name) for name in ("a", "ä", "b", "ı", "日", "曰")}) == 6


@given(TEXTS)
def test_folding_a_folded_tag_changes_nothing(text):
    assert folded(folded(text)) == folded(text)


def test_every_letter_folds_to_a_tag():
    """In nightly runs every one, else every seventh."""
    step = 1 if tries_all() else 7
    letters = [char for char in map(chr, range(0, sys.maxunicode + 1, step)) if is_tag(char)]
    assert len(letters) > 100_000 / step
    for char in letters:
        assert is_tag(folded(char)), f"U+{ord(char):04X}"
        assert folded(folded(char)) == folded(char), f"U+{ord(char):04X}"


@given(TEXTS)
def test_a_tag_in_a_text_is_a_tag_alone_and_when_folded(text):
    for name in spellings(text):
        assert is_tag(name)
        assert is_tag(folded(name))
        assert spellings(f"#{name}") == [name]


@given(TEXTS)
def test_a_text_that_is_not_searched_has_no_tags(text):
    if not may_have_links(text):
        assert spellings(text) == []
