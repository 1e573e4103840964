"""Display names and bios: how the text is cleaned, which commands a change sends, and when it is seen."""

import unicodedata

import pytest
import regex
from hypothesis import given, strategies as st

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from accounts.users.names import NameIndex, in_one_line
from accounts.users.repository import Users
from retwis_site.store.client import connect
from tests.support.stored_keys import expected_name_entries, name_entries
from tests.support.stored_posts import write_posts
from tests.support.texts.unseen import SEEN_FORMATS
from timeline.timelines.everyone import EveryoneTimeline
from timeline.timelines.home import Homes

UNUSUAL = st.characters(categories=["Cc", "Cf", "Zs", "Zl", "Zp", "Mn", "Lo"])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | UNUSUAL)
ENGLAND = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
KEPT = {"\u200c", "\u200d", *SEEN_FORMATS, *ENGLAND}


# ---- cleaning


@given(TEXTS)
def test_a_cleaned_text_is_one_line_without_invisible_characters(text):
    line = in_one_line(text)
    assert line == " ".join(line.split(" ")).strip()
    assert not any(char.isspace() and char != " " for char in line)
    assert all(unicodedata.category(char) not in {"Cc", "Cf", "Zl", "Zp"} for char in set(line) - KEPT)
    assert not line or regex.search(r"[\p{L}\p{N}\p{P}\p{S}\p{ExtPict}]", line)  # `unicodedata` is older


@given(TEXTS)
def test_a_clean_text_stays_as_it_is(text):
    assert in_one_line(in_one_line(text)) == in_one_line(text)


@given(st.lists(st.text(st.characters(categories=["L", "N", "P"], max_codepoint=0x24F), min_size=1)))
def test_words_keep_one_space_between_them(words):
    clean = [unicodedata.normalize("NFC", word) for word in words]
    for space in (" ", "\n", "\r\n", "  \t ", "\u2028", "\u00a0", "\u202e \u2066"):
        assert in_one_line(space.join(["", *words, ""])) == " ".join(clean)


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("  Ann\r\n of   Cleves ", "Ann of Cleves"),
        ("Ann\x00\x07\x1b[31m", "Ann[31m"),
        ("\u202eecilA\u202c", "ecilA"),
        ("\u2067Ann\u2069\u200e\u200f\u061c", "Ann"),
        ("A\u200bn\ufeffn\u00ad", "Ann"),
        ("Zoe\u0308", "Zo\u00eb"),
        ("Zoe\u200f\u0308", "Zo\u00eb"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f468\u200d\U0001f469\u200d\U0001f467"),
        (f"Ann {ENGLAND} {ENGLAND[:-1]} {ENGLAND[1:]}", f"Ann {ENGLAND} 🏴"),  # letters that make no flag go
        ("\u06dd\u0661\u06dd", "\u06dd\u0661\u06dd"),  # the ends of verses
        ("<b>&", "<b>&"),
        ("\u200d\u200c", ""),
        ("\u3164", ""),
        ("\u2800 \u115f", ""),
        ("\u0301", ""),
        ("", ""),
    ],
)
def test_a_text_is_cleaned_before_it_is_stored(browser, alice, raw, typed, kept):
    assert in_one_line(typed) == kept
    browser(alice).post("/settings/", {"name": typed, "bio": typed})
    assert [field or "" for field in raw.hmget("user:1", "name", "bio")] == [kept, kept]
    assert name_entries(raw) == expected_name_entries(raw)


# ---- changes


def commands_of(round_trips, work):
    return [
        [(command[0], command[1]) for command in round_trip.commands] for round_trip in round_trips(work).round_trips
    ]


def test_a_change_sends_its_commands_in_the_order_of_the_protocol(store, alice, round_trips):
    asked, written = [("HMGET", "user:1")], [("ZADD", "users_by_name")]
    finish = [[("ZREM", "outbox")]]
    commit = [[("ZADD", "outbox")], [("HGET", "user:1"), ("HSET", "user:1")]]
    assert commands_of(round_trips, lambda: NameIndex(store).edit(alice.user, "Ann", "")) == [
        *commit, asked, written, asked, *finish,
    ]  # fmt: skip
    assert commands_of(round_trips, lambda: NameIndex(store).edit(User(1, "Alice", "Ann"), "Bea", "")) == [
        *commit, asked, [*written, ("ZREM", "users_by_name")], asked, *finish,
    ]  # fmt: skip
    bio_alone = commands_of(round_trips, lambda: NameIndex(store).edit(User(1, "Alice", "Bea"), "Bea", "new"))
    assert bio_alone == [[("HSET", "user:1"), ("HGET", "user:1")]]


def test_after_two_changes_at_once_the_index_has_the_last_name_alone(store, alice, raw):
    """Both read the account before either wrote."""
    for name in ("Ann", "Bea"):
        NameIndex(store).edit(alice.user, name, name)
    assert raw.hmget("user:1", "name", "bio") == ["Bea", "Bea"]
    assert name_entries(raw) == {"alice:1": 0, "bea:1": 0}


def test_a_new_bio_keeps_the_name_that_another_device_has_changed(store, alice, raw):
    NameIndex(store).edit(alice.user, "Ann", "")
    NameIndex(store).edit(alice.user, "", "new")
    assert raw.hmget("user:1", "name", "bio") == ["Ann", "new"]
    assert name_entries(raw) == expected_name_entries(raw)


def test_a_new_name_is_cached_at_once(store, alice):
    Users(store).people([1])
    NameIndex(store).edit(alice.user, "Ann", "")
    assert Users(store).people([1]) == {1: User(1, "Alice", "Ann")}


@pytest.mark.parametrize("url", ["/", "/timeline/"])
def test_posts_show_each_new_name_of_their_author_at_once(alice, member, raw, url):
    """Posts and users are cached for some seconds. The process that changes a name uses the new one at once."""
    write_posts(raw, 1, [1, 2])
    for name in ("Ann of Cleves", "Bea", ""):
        member.get(url)
        member.post("/settings/", {"name": name, "bio": ""})
        timeline = {
            "/": lambda: Homes(connect()).page(Viewer(connect(), alice.secret), None),
            "/timeline/": lambda: EveryoneTimeline(connect()).page(Viewer(connect(), ""), None, 50),
        }[url]()
        assert {post.author for post in timeline.page.posts} == {User(1, "Alice", name)}
