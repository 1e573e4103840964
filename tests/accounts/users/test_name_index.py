"""`users_by_name`: every user is found by the username and the display name; `doctor` and `cleanup` repair it."""

import unicodedata

import pytest
from django.core.management import call_command
from hypothesis import given, strategies as st

from accounts.users.accounts import Registration
from accounts.users.checks import NameIndexChecks
from accounts.users.entities import User
from accounts.users.names import LONGEST_DISPLAY_NAME, MOST_WORDS, NameIndex, endings, entries, folded, parse
from accounts.users.repository import Users
from retwis_site.jobs.worker import drain
from retwis_site.store.ids import LARGEST_ID
from tests.support.command_output import findings_of, said
from tests.support.people import register
from tests.support.stored_keys import add_overdue_job, everything, expected_name_entries, name_entries

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def lacking(store):
    found = findings_of(store, NameIndexChecks(store).inconsistencies(), "names that users_by_name lacks")
    return [finding.what for finding in found]


def stale_entries(store):
    return [finding.what for finding in findings_of(store, NameIndexChecks(store).orphans())]


# ---- entries


@given(name=NAMES, uid=st.integers(1, LARGEST_ID))
def test_each_entry_has_a_folded_ending_and_the_uid_and_the_whole_name_comes_first(name, uid):
    found = [parse(entry) for entry in entries(User(uid, name))]
    assert found == [(ending, uid) for ending in endings(name)]
    assert found[0] == (folded(name), uid)


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("Ux Walker", ["walker"]),
        ("Zoë van der Berg", ["van der berg", "der berg", "berg"]),
        ("O'Brien-Smith", ["brien-smith", "smith"]),
        ("ux_walker", ["walker"]),
        ("UxWalker", ["walker"]),
        ("99walker", ["walker"]),
        ("agent_47", ["47"]),
        ("ann1987", []),
        ("-Ann-", ["ann-"]),
        ("★Ann", ["ann"]),
        ("Ann 🎉🎉", ["🎉🎉"]),
        ("👩\u200d💻 Dev", ["dev"]),
        ("❤️Ann", ["ann"]),
        ("علي رضا", ["رضا"]),
        ("می\u200cخواهم", []),  # the joiner stands inside a word
        ("नरेन्द्र मोदी", ["मोदी"]),  # a sign that joins letters does not end a word
        ("日本太郎", ["本太郎", "太郎", "郎"]),
        ("김철수", ["철수", "수"]),
        ("สมชาย ใจดี", ["ใจดี", "มชาย ใจดี", "ชาย ใจดี", "าย ใจดี", "ย ใจดี", "จดี", "ดี"]),
    ],
)
def test_a_name_is_found_by_its_endings_from_each_of_its_words_on(name, others):
    assert [unicodedata.normalize("NFC", ending) for ending in endings(name)[1:]] == others


def test_only_the_first_words_have_entries_and_only_with_the_length_of_a_name():
    assert len(endings("a b c d e f g h i j")) == MOST_WORDS
    assert {*map(len, endings("-a" * 5000)[1:])} == {LONGEST_DISPLAY_NAME}


@given(name=NAMES)
def test_any_name_has_few_endings_and_each_is_one(name):
    assert 1 <= len(endings(name)) <= MOST_WORDS + 1
    assert all(ending in folded(name) or folded(ending) == ending for ending in endings(name))


@pytest.mark.parametrize(
    "text",
    ["", "alice", "alice:", "alice:0", "alice:01", "alice:x", "alice: 1", "alice:١", ":-1", f"alice:{'9' * 5000}"],
)
def test_a_text_that_is_no_entry_is_not_parsed(text):
    assert parse(text) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ann", "ANN"),
        ("Zo\u00eb", "ZOE\u0308"),
        ("Ünal", "ünal"),
        ("ΣΟΦΟΣ", "σοφος"),
        ("Groß", "GROSS"),
        ("Zoë", "zoe"),
    ],
)
def test_names_that_differ_in_letter_case_composition_or_accents_have_one_folded_form(one, other):
    assert folded(one) == folded(other)


def test_a_user_has_the_entries_of_the_username_and_of_a_different_display_name():
    assert entries(User(7, "Ann", "Ann of Cleves")) == ["ann:7", "ann of cleves:7", "of cleves:7", "cleves:7"]
    for name in ("", "Ann", "ANN"):
        assert entries(User(7, "Ann", name)) == ["ann:7"]


# ---- writing


def test_the_entry_costs_a_registration_no_round_trip(store, round_trips):
    assert len(round_trips(lambda: Registration(store).register("dora", "hash")).round_trips) == 8


def test_a_change_removes_the_old_name_and_keeps_the_username(store, alice, raw):
    for name, expected in [
        ("Ann", {"alice:1", "ann:1"}),
        ("Bea: the 1st:2", {"alice:1", "bea: the 1st:2:1", "the 1st:2:1", "1st:2:1", "st:2:1", "2:1"}),
        ("ALICE", {"alice:1"}),
        ("Zoe\u0308", {"alice:1", "zoe:1"}),
        ("", {"alice:1"}),
    ]:
        NameIndex(store).edit(Users(store).people([1])[1], name, "")
        assert name_entries(raw) == dict.fromkeys(expected, 0)


def test_two_users_with_one_display_name_are_both_found(store, alice, bob, raw):
    for login in (alice, bob):
        NameIndex(store).edit(login.user, "Sam", "")
    assert raw.zrangebylex("users_by_name", "[sam:", "(sam;") == ["sam:1", "sam:2"]


def test_a_job_names_the_entry_that_may_be_stale(store, alice, raw):
    raw.zadd("users_by_name", {"ann: & co:1": 0})
    raw.hset("user:1", "name", "Bea")
    add_overdue_job(raw, "name:1:Ann%3A%20%26%20Co:abc")
    drain(store, "worker")
    assert name_entries(raw) == {"alice:1": 0, "bea:1": 0}


@pytest.mark.parametrize("job", ["name:1", "name:x:Ann:abc", "name:1:Ann:abc:d"])
def test_a_malformed_job_changes_nothing(store, alice, raw, job):
    before = name_entries(raw)
    add_overdue_job(raw, job)
    assert drain(store, "worker") == 0
    assert name_entries(raw) == before


def test_a_job_about_an_unknown_user_is_removed(store, raw):
    add_overdue_job(raw, "name:9:Ann:abc")
    assert drain(store, "worker") == 1
    assert everything(raw) == {}


# ---- doctor and cleanup


@pytest.mark.parametrize(
    "stale",
    ["ann:1", "Alice:1", "alice:2", "alice:99", "alice", "alice:01", ":1", "", "\x00:1", "ghost:9007199254740993"],
)
def test_an_entry_without_a_user_of_that_name_is_an_orphan(store, alice, bob, raw, stale, capsys):
    raw.zadd("users_by_name", {stale: 0})
    assert stale_entries(store) == [f"{stale!r} leads to no user with that name"]
    assert lacking(store) == []
    call_command("cleanup", verbosity=0)
    assert name_entries(raw) == {"alice:1": 0, "bob:2": 0}


def test_entries_of_a_deleted_account_are_orphans_and_none_is_lacking(store, alice, bob, raw):
    raw.hset("user:1", "deleted", 5)
    assert lacking(store) == []
    assert stale_entries(store) == ["'alice:1' leads to no user with that name"]
    call_command("cleanup", verbosity=0)
    assert name_entries(raw) == {"bob:2": 0}
    assert lacking(store) == []


def test_an_entry_that_became_right_during_cleanup_stays(store, alice, raw):
    raw.zadd("users_by_name", {"ann:1": 0})
    [stale] = findings_of(store, NameIndexChecks(store).orphans())
    raw.hset("user:1", "name", "Ann")
    stale.repair()
    assert name_entries(raw) == expected_name_entries(raw) == {"alice:1": 0, "ann:1": 0}


def test_a_missing_index_is_one_finding_and_is_rebuilt(store, raw):
    for number in range(1, 31):
        NameIndex(store).edit(register(store, f"user_{number}").user, f"Name {number}", "")
    raw.hset("user:7", "deleted", 5)
    raw.delete("users_by_name")
    assert lacking(store) == ["there is no users_by_name, as in a foreign database"]
    call_command("doctor", "--fix", verbosity=0)
    assert name_entries(raw) == expected_name_entries(raw)
    assert len(name_entries(raw)) == 87


def test_many_lacking_entries_are_counted_and_only_the_first_are_listed(store, raw, capsys):
    for number in range(1, 51):
        register(store, f"user_{number}")
    raw.zremrangebyrank("users_by_name", 0, 39)
    with pytest.raises(SystemExit):
        call_command("doctor")
    output = capsys.readouterr().out
    assert "error: names that users_by_name lacks: 40\n" in output
    assert "... and 20 more" in output
    assert "errors: 40, all fixed." in said(capsys, "doctor", "--fix")
    assert name_entries(raw) == expected_name_entries(raw)
