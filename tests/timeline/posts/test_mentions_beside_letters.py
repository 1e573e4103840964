"""Usernames are ASCII: a letter of another script ends a mention, and may stand before it."""

import re
import unicodedata
from pathlib import Path

import pytest
import regex
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from tests.support.protocols.thoroughness import tries_all
from tests.support.stored_keys import publish
from tests.support.texts.characters import of_categories
from timeline.posts.links import AT_SIGNS, names_in, segments

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


SCRIPTS = Path(settings.FILES_DIR) / "retwis_site/static"
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
