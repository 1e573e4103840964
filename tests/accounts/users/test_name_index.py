"""`users_by_name`: everybody is found by what they are called, and `doctor` and `cleanup` see to it."""

import pytest
from django.core.management import call_command
from hypothesis import given
from hypothesis import strategies as st

from accounts.users.checks.name_index_checks import NameIndexChecks
from accounts.users.entities import User
from accounts.users.name_index import NameIndex
from accounts.users.names import entries, entry, folded, parse
from accounts.users.repository import Users
from retwis_site.jobs.worker import drain
from tests.support.command_output import said
from tests.support.people import register
from tests.support.stored_keys import called, everything, filed, left_behind

ANY = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def found(search):
    return [finding.what for chunk in search() for finding in chunk]


# ---- entries


@given(name=ANY, uid=st.integers(1, 2**53))
def test_an_entry_tells_its_name_and_its_user(name, uid):
    assert parse(entry(name, uid)) == (folded(name), uid)


@pytest.mark.parametrize(
    "text",
    ["", "alice", "alice:", "alice:0", "alice:01", "alice:x", "alice: 1", "alice:١", ":-1", f"alice:{'9' * 5000}"],
)
def test_what_is_no_entry_tells_nothing(text):
    assert parse(text) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [("Ann", "ANN"), ("Zo\u00eb", "ZOE\u0308"), ("Ünal", "ünal"), ("ΣΟΦΟΣ", "σοφος"), ("Groß", "GROSS")],
)
def test_names_that_differ_in_letter_case_or_in_how_they_are_encoded_are_found_by_the_same_letters(one, other):
    assert folded(one) == folded(other)


def test_who_goes_by_two_names_is_found_by_both_and_who_goes_by_one_by_that():
    assert entries(User(7, "Ann", "Ann of Cleves")) == ["ann:7", "ann of cleves:7"]
    for name in ("", "Ann", "ANN"):
        assert entries(User(7, "Ann", name)) == ["ann:7"]


# ---- written


def test_whoever_registers_is_found(store, alice, bob, raw):
    assert filed(raw) == {"alice:1": 0, "bob:2": 0}


def test_it_costs_a_registration_no_round_trip(store, round_trips):
    assert len(round_trips(lambda: register(store, "dora")).round_trips) == 8


def test_who_did_not_get_the_name_is_not_found_by_it(store, alice, raw):
    raw.hset("user:2", mapping={"username": "ALICE", "password": "hash", "auth": "secret"})
    left_behind(raw, "user:2")
    drain(store, "worker")
    assert filed(raw) == {"alice:1": 0}


def test_the_old_name_finds_nobody_any_more_and_the_username_always_does(store, alice, raw):
    for name, expected in [
        ("Ann", {"alice:1", "ann:1"}),
        ("Bea: the 1st:2", {"alice:1", "bea: the 1st:2:1"}),
        ("ALICE", {"alice:1"}),
        ("Zoe\u0308", {"alice:1", "zoe\u0308:1"}),
        ("", {"alice:1"}),
    ]:
        NameIndex(store).edit(Users(store).people([1])[1], name, "")
        assert filed(raw) == dict.fromkeys(expected, 0)


def test_two_may_go_by_one_name_and_both_are_found(store, alice, bob, raw):
    for login in (alice, bob):
        NameIndex(store).edit(login.user, "Sam", "")
    assert raw.zrangebylex("users_by_name", "[sam:", "(sam;") == ["sam:1", "sam:2"]


def test_an_intent_names_what_may_be_out_of_date(store, alice, raw):
    raw.zadd("users_by_name", {"ann: & co:1": 0})
    raw.hset("user:1", "name", "Bea")
    left_behind(raw, "name:1:Ann%3A%20%26%20Co:abc")
    drain(store, "worker")
    assert filed(raw) == {"alice:1": 0, "bea:1": 0}


@pytest.mark.parametrize("job", ["name:1", "name:x:Ann:abc", "name:1:Ann:abc:d"])
def test_an_intent_that_is_none_harms_nobody(store, alice, raw, job):
    before = filed(raw)
    left_behind(raw, job)
    assert drain(store, "worker") == 0
    assert filed(raw) == before


def test_an_intent_about_nobody_is_done(store, raw):
    left_behind(raw, "name:9:Ann:abc")
    assert drain(store, "worker") == 1
    assert everything(raw) == {}


# ---- doctor and cleanup


@pytest.mark.parametrize(
    "stale",
    ["ann:1", "Alice:1", "alice:2", "alice:99", "alice", "alice:01", ":1", "", "\x00:1", "ghost:9007199254740993"],
)
def test_what_leads_to_nobody_of_that_name_is_debris(store, alice, bob, raw, stale, capsys):
    raw.zadd("users_by_name", {stale: 0})
    assert found(NameIndexChecks(store).stale) == [f"{stale!r} leads to no user with that name"]
    assert found(NameIndexChecks(store).lacking) == []
    call_command("cleanup", verbosity=0)
    assert filed(raw) == {"alice:1": 0, "bob:2": 0}


def test_what_leads_to_a_deleted_account_is_debris_and_nothing_of_theirs_is_lacking(store, alice, bob, raw):
    raw.hset("user:1", "deleted", 5)
    assert found(NameIndexChecks(store).lacking) == []
    assert found(NameIndexChecks(store).stale) == ["'alice:1' leads to no user with that name"]
    call_command("cleanup", verbosity=0)
    assert filed(raw) == {"bob:2": 0}
    assert found(NameIndexChecks(store).lacking) == []


def test_an_entry_that_became_right_while_cleanup_looked_stays(store, alice, raw):
    raw.zadd("users_by_name", {"ann:1": 0})
    [[stale]] = NameIndexChecks(store).stale()
    raw.hset("user:1", "name", "Ann")
    stale.repair()
    assert filed(raw) == called(raw) == {"alice:1": 0, "ann:1": 0}


def test_a_site_without_the_index_is_one_finding_and_gets_it_whole(store, raw):
    for number in range(1, 31):
        NameIndex(store).edit(register(store, f"user_{number}").user, f"Name {number}", "")
    raw.hset("user:7", "deleted", 5)
    raw.delete("users_by_name")
    assert found(NameIndexChecks(store).lacking) == ["there is no users_by_name, as in a foreign database"]
    call_command("doctor", "--fix", verbosity=0)
    assert filed(raw) == called(raw)
    assert len(filed(raw)) == 58


def test_an_index_that_has_only_who_came_since_is_counted_and_not_told_line_by_line(store, raw, capsys):
    for number in range(1, 51):
        register(store, f"user_{number}")
    raw.zremrangebyrank("users_by_name", 0, 39)
    with pytest.raises(SystemExit):
        call_command("doctor")
    told = capsys.readouterr().out
    assert "error: names that users_by_name lacks: 40\n" in told
    assert "... and 20 more" in told
    assert "40 errors, all fixed." in said(capsys, "doctor", "--fix")
    assert filed(raw) == called(raw)
