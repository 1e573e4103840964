"""`skeletons` knows what each username looks like; `doctor --fix`, `upgrade` and `adopt` build what is missing."""

import pytest
from django.core.management import call_command

from accounts.joining.names import check_name
from accounts.joining.refusals import NameRefused
from accounts.users.checks.name_index_checks import SkeletonChecks
from tests.support.maintenance.doctor_report import doctor
from tests.support.maintenance.findings import findings_of
from tests.support.maintenance.official_database import OfficialDatabase
from tests.support.people import register
from tests.support.removed_accounts import delete_account

LACKING = "names that skeletons lacks"
STALE = "stale entries in skeletons"


def lacking(store):
    return [finding.what for finding in findings_of(store, SkeletonChecks(store).inconsistencies())]


def is_refused(store, name):
    try:
        check_name(store, name)
    except NameRefused:
        return True
    return False


@pytest.fixture
def old_site(raw, store, alice, bob, carol):
    """As an older version of the site has left it."""
    raw.delete("skeletons", "schema")
    return raw


def test_a_name_that_looks_like_an_old_account_is_refused_after_an_upgrade(old_site, store):
    assert not is_refused(store, "a1ice")
    call_command("upgrade", verbosity=0)
    assert is_refused(store, "a1ice")
    assert is_refused(store, "car0l")
    assert old_site.hgetall("skeletons") == {"alice": "1", "bob": "2", "carol": "3"}


def test_a_name_that_looks_like_an_account_of_an_official_database_is_refused_after_adopting(raw, store):
    OfficialDatabase(raw).register("Dora", "secret of dora")
    call_command("adopt", verbosity=0)
    assert is_refused(store, "d0ra")
    assert raw.hgetall("skeletons") == {"dora": "1"}


def test_doctor_finds_and_repairs_what_is_missing(old_site, capsys):
    old_site.hset("skeletons", "bob", "2")
    assert doctor(capsys)[1] == {LACKING: 2}
    assert doctor(capsys, "--fix")[1] == {LACKING: 2}
    assert old_site.hgetall("skeletons") == {"alice": "1", "bob": "2", "carol": "3"}
    assert doctor(capsys) == (0, {}, {})


def test_of_old_accounts_that_look_alike_the_first_has_the_entry_and_all_stay(raw, store, capsys):
    for name in ("Paul", "paul_", "pau1"):
        register(store, name)
    raw.delete("skeletons")
    assert doctor(capsys, "--fix")[1] == {LACKING: 1}
    assert raw.hgetall("skeletons") == {"paul": "1"}
    assert doctor(capsys) == (0, {}, {})
    assert raw.hlen("users") == 3


@pytest.mark.parametrize("holder", ["2", "99", "x", ""])
def test_an_entry_that_leads_to_another_name_is_led_to_the_right_one(raw, alice, bob, capsys, holder):
    raw.hset("skeletons", "alice", holder)
    assert doctor(capsys, "--fix")[1] == {LACKING: 1}
    assert raw.hgetall("skeletons") == {"alice": "1", "bob": "2"}


def test_an_entry_that_no_username_has_goes(raw, alice, capsys):
    raw.hset("skeletons", mapping={"ghost": "1", "other": "99", "_": "98"})
    assert doctor(capsys)[1:] == ({}, {STALE: 3})
    call_command("cleanup", verbosity=0)
    assert raw.hgetall("skeletons") == {"alice": "1"}


def test_the_look_of_a_deleted_account_stays_taken(raw, store, alice, capsys):
    delete_account(store, alice)
    raw.delete("skeletons")
    assert doctor(capsys, "--fix")[1] == {LACKING: 1}
    assert is_refused(store, "a1ice")


def test_a_registration_under_way_is_no_finding(raw, store, alice):
    raw.delete("skeletons")
    raw.zadd("outbox", {"user:1:abc": 4_000_000_000})
    assert lacking(store) == []


def test_many_names_are_one_repair(raw, store, round_trips):
    for number in range(60):
        register(store, f"user_{number}x")
    raw.delete("skeletons")
    recorded = round_trips(lambda: lacking(store))
    assert len(recorded.round_trips) <= 8
    assert len(lacking(store)) == 1
