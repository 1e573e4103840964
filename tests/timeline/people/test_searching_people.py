"""The search /people/?q=: it finds users by the words of their username and display name."""

import html
import re
import unicodedata

import pytest
from hypothesis import HealthCheck, example, given, settings as hypothesis_settings, strategies as st

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from accounts.users.names import endings, entries, folded
from tests.support.http.hostile_values import MARKER
from tests.support.http.page_text import names, text_of
from tests.support.people import register
from tests.support.stored_keys import empty
from tests.support.stores.seam import examples
from timeline.people.directory import (
    EXACT_ENTRIES,
    LONGEST_QUERY,
    PREFIX_ENTRIES,
    USERS_LOOKED_UP,
    WORD_ENTRIES,
    WORDS_ASKED,
    People,
    after_prefix,
    search_query,
)
from timeline.people.lists import PEOPLE_A_PAGE


def add_user(raw, uid, username, name="", indexed=True):
    raw.hset(f"user:{uid}", mapping={"username": username, "name": name})
    raw.hset("users", username.lower(), uid)
    if indexed:
        raw.zadd("users_by_name", dict.fromkeys(entries(User(uid, username, name)), 0))


def found(store, text):
    """The uids of the search results."""
    return [person.user.uid for person in People(store).search(Viewer(store, ""), search_query(text)).people]


# ---- results


@pytest.mark.parametrize(
    "text",
    [
        "ali",
        "ALI",
        "Alice",
        "@alice",
        "  @Ali ",
        "a",
        "alice l",
        "Alice Liddell",
        "liddell",
        "lid",
        "LIDDELL a",
        "l ali",
        # A name that is copied from a title, or from text in both directions, has characters that no one sees.
        *("alice  l", "\u2068Alice Liddell\u2069", "\u200fali", "@\u200ealice", "ali\0", "al\u00adice"),
    ],
)
def test_a_search_finds_the_words_of_either_name_in_any_letter_case(store, raw, text):
    add_user(raw, 1, "Alice", "Alice Liddell")
    add_user(raw, 2, "bob")
    assert found(store, text) == [1]


@pytest.mark.parametrize(
    "text",
    [
        "iddell",
        "lice",
        "liddells",
        "alice m",
        "alice alicex",
        "alicex",
        "alice_l",
        "1",
        ":1",
        "alice:",
        "alice:1",
        "@@alice",
    ],
)
def test_a_search_finds_nothing_but_the_beginnings_of_words(store, raw, text):
    add_user(raw, 1, "Alice", "Alice Liddell")
    assert found(store, text) == []


@pytest.mark.parametrize(
    ("name", "queries"),
    [
        ("Νικοστρατος", ["ΝΙΚΟΣ", "νικοσ", "νικος", "ΝΙΚΟΣΤΡΑΤΟΣ"]),  # a sigma at the end of a word is another letter
        ("ΝΙΚΟΣ", ["νικος", "νικοσ"]),
        ("Straße", ["STRASSE", "strass", "stras", "STRAẞE", "straß"]),
        ("İpek", ["ipek", "İPEK", "i"]),
        ("Zoë", ["zoe\u0308", "ZOË", "zoë", "zoe"]),
        ("José García", ["garcia", "GARCÍA", "jose garc", "josé garcia"]),
        ("Garcia", ["garcía"]),
        ("Nguyễn Đức Łukasz", ["nguyen", "duc", "lukasz", "łuk"]),
        ("Алёна", ["алена", "АЛЁ"]),
        ("O’Brien", ["o'brien", "o’b"]),
        ("Ϊ́ρις", ["\u0390ρισ", "ΐ", "Ϊ́"]),
        ("한국", ["하", "한", "한구"]),  # an unfinished syllable
        ("𝓐𝓷𝓷 ＷＡＬＫＥＲ ﾀﾅｶ", ["ann", "walker", "タナ", "𝓐𝓷", "ann walk"]),  # other shapes of the same letters
        ("Ann 🎉🎉", ["ann 🎉"]),
    ],
)
def test_a_search_matches_letters_as_unicode_does(store, raw, name, queries):
    add_user(raw, 1, "x", name)
    assert [found(store, text) for text in queries] == [[1]] * len(queries)


@pytest.mark.parametrize(
    ("username", "name", "queries"),
    [
        ("ux_walker", "", ["walker", "ux", "ux_w", "walker ux"]),
        ("UxWalker", "", ["walker", "uxw", "ux walker"]),
        ("x", "Maria del Carmen", ["carmen", "del car", "carmen maria", "x carmen", "mar del carm"]),
        ("x", "Jean-Luc O'Brien", ["luc", "brien jean", "o'brien", "jean-luc"]),
        ("x", "日本 太郎", ["太郎", "郎", "本", "太郎 日本"]),
        ("x", "김철수", ["철수", "철", "김"]),
        ("x", "สมชาย ใจดี", ["ใจดี", "ชาย"]),
        ("x", "★ Ann ★", ["ann", "★ ann"]),
        ("x", "Ann Walker (she/her)", ["Walker, Ann", "ann (she", "(she/her) ann", "walker - ann", "“Walker” ann"]),
    ],
)
def test_a_search_finds_any_word_of_a_name_in_any_order(store, raw, username, name, queries):
    add_user(raw, 1, username, name)
    add_user(raw, 2, "bob", "Carla Bo")
    assert [found(store, text) for text in queries] == [[1]] * len(queries)


def test_of_two_words_the_rare_one_finds_a_user_behind_many_with_the_frequent_one(store, raw):
    for uid in range(1, WORD_ENTRIES + 50):
        add_user(raw, uid, f"u{uid}", f"Ann Jones {uid:03}")
    add_user(raw, 900, "x", "Walker, Ann Zoe")
    assert found(store, "ann walker") == found(store, "walker ann") == [900]
    assert not People(store).search(Viewer(store, ""), "ann walker").more


def test_two_frequent_words_say_that_there_may_be_more(store, raw):
    for uid in range(1, WORD_ENTRIES + 50):
        add_user(raw, uid, f"u{uid}", f"Ann Lee {uid:03}")
    result = People(store).search(Viewer(store, ""), "lee ann")
    assert len(result.people) == PEOPLE_A_PAGE
    assert result.more


def test_the_username_comes_first_then_exact_names_then_the_others_in_order(store, raw):
    add_user(raw, 1, "annabel")
    add_user(raw, 2, "zoe", "Ann")
    add_user(raw, 3, "Ann")
    add_user(raw, 4, "ann_lee")
    add_user(raw, 5, "x", "Ann 2")
    add_user(raw, 6, "y", "Mary Ann")
    assert found(store, "ann") == [3, 2, 6, 5, 4, 1]


def test_an_exact_name_is_found_among_many_longer_ones(store, raw):
    for uid in range(1, 200):
        add_user(raw, uid, f"ann{uid:03}")  # these entries sort before `ann:900`: a digit comes before a colon
    add_user(raw, 900, "zoe", "Ann")
    assert found(store, "ann")[0] == 900


def test_an_exact_username_is_found_without_an_entry(store, raw):
    add_user(raw, 1, "Alice", indexed=False)
    add_user(raw, 2, "Alicia", indexed=False)
    assert found(store, "alice") == [1]
    assert found(store, "ALICE") == [1]
    assert found(store, "ali") == []
    raw.hset("users", "BoB", 3)
    raw.hset("user:3", "username", "BoB")
    assert found(store, "BoB") == [3]  # a name that is not in lower case, as on an official site


def test_each_user_is_found_once(store, raw):
    add_user(raw, 1, "ann", "Ann Ann")
    assert found(store, "a") == [1]
    raw.zadd("users_by_name", {"ann a:1": 0, "ann ann:01": 0})
    assert found(store, "ann a") == [1]


def test_an_entry_counts_only_while_the_user_has_that_name(store, raw):
    add_user(raw, 1, "alice", "Queen")
    raw.hset("user:1", "name", "Pawn")
    assert found(store, "queen") == []
    assert found(store, "alice") == [1]
    raw.zadd("users_by_name", {"queen:2": 0, "queen:x": 0, "queen:": 0, "queen": 0, ":5": 0})
    assert found(store, "queen") == []


def test_a_new_user_is_found(browser, store, alice):
    dora = register(store, "Dora")
    assert names(browser().get("/people/?q=dor")) == ["Dora"]
    assert found(store, "dora") == [dora.user.uid]


# ---- number of results, and cost


def test_twenty_results_are_shown_and_the_page_says_that_there_are_more(browser, store, raw):
    for uid in range(1, 22):
        add_user(raw, uid, f"ann{uid:03}")
    page = browser().get("/people/?q=ann")
    assert names(page) == [f"ann{uid:03}" for uid in range(1, 21)]
    assert "Showing the first 20 people. Type more to narrow the search." in text_of(page)
    page = browser().get("/people/?q=ann02")
    assert names(page) == ["ann020", "ann021"]
    assert "2 people found" in text_of(page)


@pytest.mark.parametrize(("text", "status"), [("ann", "1 person found"), ("zoe", "No one found")])
def test_the_number_of_results_is_a_status(browser, raw, text, status):
    add_user(raw, 1, "ann")
    page = browser().get(f"/people/?q={text}").content.decode()
    assert f'<p class="note" id="found" role="status">{status}</p>' in page


def test_an_empty_query_shows_the_newest_users(browser, alice, bob):
    for query in ("q=", "q=%20", "q=@", "q=%20@%20"):
        page = browser().get(f"/people/?{query}")
        assert set(names(page)) == {"Alice", "bob"}
        assert '<p class="note" id="found" role="status"></p>' in page.content.decode()


def test_a_longer_query_finds_a_user_behind_stale_entries(store, raw):
    raw.zadd("users_by_name", {f"ann{number:03}:{5000 + number}": 0 for number in range(USERS_LOOKED_UP)})
    add_user(raw, 1, "annz")
    result = People(store).search(Viewer(store, ""), "ann")
    assert result.people == []
    assert result.more
    assert found(store, "annz") == [1]


@pytest.mark.parametrize("number", [1, 25, 400])
def test_a_search_takes_two_round_trips_and_reads_a_limited_number_of_entries(store, raw, round_trips, number):
    for uid in range(1, number + 1):
        add_user(raw, uid, f"ann{uid:03}", f"Ann {uid:03}")
    recorded = round_trips(lambda: People(store).search(Viewer(store, ""), "ann"))
    assert len(recorded.round_trips) == 2
    assert sum(command[0] == "HMGET" and command[1] != "users" for command in recorded.commands) <= USERS_LOOKED_UP
    limits = [command[-1] for command in recorded.commands if command[0] == "ZRANGEBYLEX"]
    assert limits == [EXACT_ENTRIES, PREFIX_ENTRIES]


def test_a_query_of_many_words_costs_a_limited_number_of_commands(store, raw, round_trips):
    add_user(raw, 1, "x", "a b c d e f")
    recorded = round_trips(lambda: People(store).search(Viewer(store, ""), "f e d c b a"))
    limits = [command[-1] for command in recorded.commands if command[0] == "ZRANGEBYLEX"]
    assert limits == [EXACT_ENTRIES, PREFIX_ENTRIES, *[WORD_ENTRIES] * WORDS_ASKED]
    assert len(recorded.round_trips) == 2
    assert found(store, "f e d c b a") == [1]
    assert found(store, "f e d c b a x y") == []


# ---- the query


@pytest.mark.parametrize("text", [MARKER, '"><script>', "{{ 7 }}", "a&amp;b", "\u202eevil", "\0", "\ud800"])
def test_the_query_is_shown_again_as_text(browser, alice, text):
    page = browser().get("/people/", {"q": text.encode(errors="replace").decode()})
    assert page.status_code == 200
    [value] = re.findall(r'name="q" value="([^"]*)"', page.content.decode())
    assert html.unescape(value) == search_query(text.encode(errors="replace").decode())


@pytest.mark.parametrize("text", ["walker", MARKER, '"><script>', "{{ 7 }}", "a&amp;b"])
def test_a_search_without_results_names_what_was_searched(browser, text):
    page = browser().get("/people/", {"q": text}).content.decode()
    [heading] = re.findall(r"<h2>(No one found .*?)</h2>", page)
    assert re.fullmatch(r'No one found for "<bdi>[^<>"]*</bdi>"', heading)
    assert html.unescape(re.sub("</?bdi>", "", heading)) == f'No one found for "{search_query(text)}"'


def test_a_query_is_cut_to_the_length_of_a_name(browser, store, raw):
    add_user(raw, 1, "x", "y" * LONGEST_QUERY)
    assert found(store, "y" * 5000) == [1]
    page = browser().get(f"/people/?q={'y' * 5000}").content.decode()
    assert f'value="{"y" * LONGEST_QUERY}" maxlength="{LONGEST_QUERY}"' in page


# ---- compared with a scan of all names

odd_characters = "abAB:1 _-éÉe\u0301İßσΣς\xff\u00fe日本\ud7ff\ue000\uffff\U00010000\U0010ffff"
characters = st.one_of(st.sampled_from(odd_characters), st.characters(codec="utf-8"))
texts = st.text(characters, min_size=1, max_size=5)
users = st.lists(st.tuples(texts, st.one_of(st.just(""), texts)), max_size=8)  # username, display name


def matches(found_by, query):
    words = query.split()
    if len(words) > 1:  # without the punctuation around each
        signs = "".join(char for char in query if unicodedata.category(char)[0] == "P")
        words = [bare for word in words if (bare := word.strip(signs))]
    parts = [[query], *([words] if words else [])]
    return any(all(any(ending.startswith(word) for ending in found_by) for word in words) for words in parts)


@hypothesis_settings(deadline=None, max_examples=examples(300), suppress_health_check=list(HealthCheck))
@given(names_of_users=users, text=texts)
@example(names_of_users=[("a\U0010ffff", "")], text="a")
@example(names_of_users=[("a\U0010ffffb", "\U0010ffff")], text="a\U0010ffff")
@example(names_of_users=[("a\U0010ffffb", "\U0010ffff\U0010ffff")], text="\U0010ffff")
@example(names_of_users=[("\ud7ffx", "\ue000")], text="\ud7ff")
@example(names_of_users=[("jц", "j\xffц")], text="j")
@example(names_of_users=[("a:2", ""), ("a", "")], text="a:")
def test_a_search_finds_the_same_users_as_a_scan_of_all_names(store, raw, names_of_users, text):
    empty(raw)
    for uid, (username, name) in enumerate(names_of_users, 1):
        raw.hset(f"user:{uid}", mapping={"username": username, "name": name})
        raw.zadd("users_by_name", dict.fromkeys(entries(User(uid, username, name)), 0))
    query = search_query(text)
    if not query:
        return
    expected = {
        uid
        for uid, names_of_user in enumerate(names_of_users, 1)
        if matches([ending for name in names_of_user for ending in endings(name)], folded(query))
    }
    result = People(store).search(Viewer(store, ""), query)
    assert {person.user.uid for person in result.people} == expected
    assert not result.more
    assert len(result.people) == len(expected) <= PEOPLE_A_PAGE


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=4), st.text(st.characters(codec="utf-8"), max_size=4))
@example("a", "\U0010ffff" * 4)
@example("\U0010ffff", "\U0010ffff")
@example("\ud7ff", "\U0010ffff")
def test_a_range_holds_all_texts_with_the_prefix_and_no_others(prefix, rest):
    end = after_prefix(prefix)
    whole = (prefix + rest).encode()
    if end == "+":
        assert set(prefix) == {"\U0010ffff"}
        return
    assert end[0] == "("
    assert prefix.encode() <= whole < end[1:].encode()
    assert not end[1:].startswith(prefix)


@hypothesis_settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.text(max_size=60))
def test_any_text_can_be_searched(store, text):
    if search_query(text):
        assert People(store).search(Viewer(store, ""), search_query(text)).people == []
