"""A post keeps whom it mentions, and stands in the listings of its tags. Usernames are ASCII: a letter of another
script ends a mention, and may stand before it. Which part of a text is a hashtag, and when two are the same."""

import re
import sys
import unicodedata

import pytest
import regex
from django.conf import settings
from hypothesis import given, strategies as st

from tests.support.stored_keys import publish
from tests.support.stores.seam import tries_all
from tests.support.texts.characters import of_categories
from timeline.posts.entities import LONGEST_POST
from timeline.posts.links import (
    AT_SIGNS,
    LONGEST_TAG,
    MOST_LINKS,
    folded,
    is_tag,
    may_have_links,
    names_in,
    segments,
    tags_in,
)
from timeline.posts.repository import Posts


def tags(raw):
    """The posts of each tag, with their scores."""
    return {key.removeprefix("tag:"): dict(raw.zrange(key, 0, -1, withscores=True)) for key in raw.keys("tag:*")}


def test_a_name_with_the_host_of_this_site_is_a_mention_in_each_form(browser, alice, bob, raw):
    mine = browser(alice)
    for token, url in (("a", "/post/"), ("b", "/first-steps/")):
        mine.post(url, {"body": "@bob@TestServer, see https://a.example/@bob@testserver", "token": token})
    mine.post("/@alice/2/edit/", {"body": "Hello @bob@testserver"})
    assert [raw.hget(f"post:{pid}", "body") for pid in (1, 2)] == [
        "@bob, see https://a.example/@bob@testserver",
        "Hello @bob",
    ]
    assert [raw.hget(f"post:{pid}", "mentions") for pid in (1, 2)] == ["2", "2"]
    assert sorted(raw.zrange("notices:2", 0, -1)) == ["mention:1:1", "mention:2:1"]


# ---- tags


def test_a_post_stands_in_the_listing_of_each_of_its_tags(raw, store, alice):
    publish(raw, store, alice, "#Redis and #Django, #redis")
    publish(raw, store, alice, "More #REDIS")
    assert tags(raw) == {"redis": {"1": 1, "2": 2}, "django": {"1": 1}}


def test_the_first_spelling_stays(raw, store, alice):
    publish(raw, store, alice, "#ReDiS")
    publish(raw, store, alice, "#REDIS #Été")
    assert raw.hgetall("tags") == {"redis": "ReDiS", "été": "Été"}
    assert raw.zrange("tags_by_name", 0, -1, withscores=True) == [("e\u0301te\u0301", 0), ("redis", 0)]


def test_a_deletion_removes_the_post_and_keeps_the_spelling(raw, store, alice):
    publish(raw, store, alice, "#Redis")
    publish(raw, store, alice, "#Redis #django")
    Posts(store).delete(1, 2)
    assert tags(raw) == {"redis": {"1": 1}}
    assert raw.hgetall("tags") == {"redis": "Redis", "django": "django"}
    assert raw.keys("outbox*") == []


@pytest.mark.parametrize(
    ("text", "more"),
    [("#a #b #c", 0), ("@bob @nobody @alice", 1 + 3)],
    ids=["tags take none more", "a name takes one, and a notice three"],
)
def test_the_round_trips_of_tags_and_names(raw, store, alice, bob, round_trips, text, more):
    publish(raw, store, alice, "first")
    plain = round_trips(lambda: publish(raw, store, alice, "none"))
    marked = round_trips(lambda: publish(raw, store, alice, text))
    assert len(marked.round_trips) == len(plain.round_trips) + more


# ---- mentions


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("@bob, @CAROL and @nobody: @Bob!", "2 3"),
        *((text, "") for text in ("@nobody", "@later is not here yet")),
        *((text, None) for text in ("no one", "me@example.com", "https://example.com/@bob", "@ #")),
    ],
)
def test_names_are_looked_up_when_a_post_is_published(raw, store, alice, bob, carol, text, mentions):
    """A text without a name has no field."""
    publish(raw, store, alice, text)
    assert raw.hget("post:1", "mentions") == mentions


def test_a_text_mentions_at_most_so_many_people_as_it_shows_links(raw, store, alice):
    raw.hset("users", mapping={f"u{number}": number for number in range(100, 140)})
    publish(raw, store, alice, " ".join(f"@u{number}" for number in range(100, 140)))
    assert raw.hget("post:1", "mentions").split() == [str(number) for number in range(100, 100 + MOST_LINKS)]


# ---- an edit


def test_an_edit_moves_the_post_to_the_tags_of_the_new_text(raw, store, alice):
    publish(raw, store, alice, "#Redis #Django")
    assert Posts(store).edit(1, 1, "#Django #Celery")
    assert tags(raw) == {"django": {"1": 1}, "celery": {"1": 1}}
    assert raw.hgetall("tags") == {"redis": "Redis", "django": "Django", "celery": "Celery"}


def test_an_edit_looks_names_up_again(raw, store, alice, bob, carol):
    publish(raw, store, alice, "Hello @bob")
    Posts(store).edit(1, 1, "Hello @carol and @bob")
    assert raw.hget("post:1", "mentions") == "3 2"
    Posts(store).edit(1, 1, "Hello all")
    assert raw.hget("post:1", "mentions") is None


LETTERS = [char for char in of_categories("L") if not char.isascii()]
LATIN = regex.findall(r"\p{Latin}", "".join(LETTERS))
OTHERS = sorted(set(LETTERS) - set(LATIN))
MARKS = of_categories("M")


def test_a_letter_of_any_other_script_may_stand_on_either_side():
    assert len({unicodedata.name(char, "?").split()[0] for char in OTHERS}) > 100
    wrong = [
        text
        for letter in OTHERS[:: 1 if tries_all() else 20]
        for text in (f"{letter}@ann", f"@ann{letter}", f"{letter}@ann{letter}", f"{letter}＠ann{letter}。")
        if names_in(text) != ["ann"]
    ]
    assert wrong == []


def test_beside_another_latin_letter_or_below_a_mark_it_is_another_name():
    assert {"é", "ß", "ł", "ａ"} <= set(LATIN)
    assert [
        letter for letter in LATIN if names_in(f"{letter}@ann") or names_in(f"@ann{letter} {letter}\u0301@ann")
    ] == []
    assert [mark for mark in MARKS if names_in(f"@ann{mark}")] == []


def test_a_mark_belongs_to_its_letter():
    assert [mark for mark in MARKS if names_in(f"e{mark}@ann")] == []
    assert [mark for mark in MARKS if names_in(f"か{mark}@ann") != ["ann"]] == []


@pytest.mark.parametrize(
    "text",
    [
        *(
            "josé@ann.example",
            "почта@ann.рф",
            "почта@ann-x.example",
            "用户@ann例.广告",
            "почта＠ann.example",
            "łukasz@ann",
        ),
        *(
            "https://例え.jp/@ann",
            "https://example.com/日本@ann",
            "日本/@ann",
            "日本@@ann",
            "@ann@日本",
            "ann＠bob",
            "@ann＠bob",
        ),
        *("@日本", "＠", "@ ann", "@ann.日本", "1@ann", "_@ann", "@" + "a" * 31),
    ],
)
def test_addresses_mail_addresses_and_names_of_other_sites_are_no_mentions(text):
    assert names_in(text) == []


@given(
    st.text(
        st.sampled_from([*"ab_1.-/@＠﹫ 。#", "é", "\u0301", "日", "か", "\u3099", "न", "\u0947", "א", "ж", "²", "٥"])
    )
)
def test_a_name_is_whole_and_stands_alone(text):
    start = 0
    for part in segments(text):
        end = start + len(part.text)
        if part.name:
            assert part.text[0] in AT_SIGNS
            assert part.text[1:] == part.name
            assert re.fullmatch("[A-Za-z0-9_]{1,30}", part.name)
            assert not re.search("[A-Za-z0-9_@＠﹫/]$", text[:start])
            assert not re.match("[A-Za-z0-9_@＠﹫]", text[end:])
        start = end


# ---- Everything that knows mentions agrees.


@pytest.mark.parametrize(
    "text", ["@bobさんへ", "ありがとう@bob", "＠bob さん", "привет@bobу", "नमस्ते﹫bobजी", "تحية@bobو"]
)
def test_the_person_is_linked_notified_and_found(browser, raw, store, alice, bob, text):
    publish(raw, store, alice, text)
    assert raw.hget("post:1", "mentions") == "2"
    assert [member.partition(":")[0] for member in raw.zrange("notices:2", 0, -1)] == ["mention"]
    for address in ("/@alice/1/", "/@alice/atom/"):
        assert "/@bob/" in browser().get(address).content.decode(), address
    assert "/@Alice/1/" in browser(bob).get("/notifications/?only=mentions").content.decode()


def test_an_edit_to_such_a_name_tells_the_person(browser, raw, store, alice, bob):
    publish(raw, store, alice, "hello")
    assert browser(alice).post("/@alice/1/edit/", {"body": "こんにちは＠bob"}).status_code == 302
    assert raw.zrange("notices:2", 0, -1) == ["mention:1:1"]


@pytest.mark.parametrize("sign", AT_SIGNS)
def test_a_name_is_completed_and_searched_after_each_at_sign(member, bob, sign):
    assert 'data-text="@bob"' in member.get("/complete/", {"q": f"{sign}bo"}).content.decode()
    assert "/@bob/" in member.get("/people/", {"q": f"{sign}bob"}).content.decode()
    assert member.get("/search/", {"q": f"from:{sign}bob"}).status_code == 200


SCRIPTS = settings.FILES_DIR / "retwis_site/static"
SCRIPT = (SCRIPTS / "members.js").read_text()
TOKEN = regex.compile(re.search("const TOKEN = /(.*)/u;", SCRIPT)[1])


@given(
    st.text(st.sampled_from([*"ab_1.-/@＠﹫ 。", "é", "\u0301", "日", "か", "\u3099", "न", "\u0947", "א", "ж"])),
    st.sampled_from(AT_SIGNS),
    st.sampled_from(["bob", "b"]),
)
def test_the_script_completes_where_a_mention_would_be(before, sign, name):
    token = TOKEN.search(f"{before}{sign}{name}")
    found = [part.name for part in segments(f"{before}{sign}{name}")][-1:]
    assert (token is not None and token[1] == f"{sign}{name}") == (found == [name]) or "/" in before


def test_no_script_has_a_lookbehind():
    """Safari before 16.4 reads nothing of a script with one."""
    assert [script.name for script in SCRIPTS.glob("*.js") if re.search(r"\(\?<[=!]", script.read_text())] == []


# ---- hashtags in texts


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
