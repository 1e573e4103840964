"""`adopt` turns an official database into one of this site, in place. It builds the skeletons of the usernames, as
`doctor --fix` and `upgrade` do."""

import re
from io import StringIO

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.hashers import make_password
from django.core.management import CommandError, call_command

from accounts.joining.joining import NameRefused, check_name
from accounts.signing_in.sessions.repository import Sessions
from accounts.users import adoption
from accounts.users.adoption import AccountAdoption
from accounts.users.checks import SkeletonChecks
from retwis_site.exceptions import StoreRefused
from retwis_site.store.schema import is_hash
from tests.support.command_output import doctor, findings_of, report_of, said
from tests.support.http.page_text import post_ids
from tests.support.maintenance.official_database import (
    AMELIA,
    BEGAN,
    BOB,
    CAROL,
    CLEAR,
    SHOUTING,
    OfficialDatabase,
    make_official_database,
)
from tests.support.people import PASSWORD, register
from tests.support.removed_accounts import delete_account
from tests.support.stored_keys import everything, expected_name_entries, follower_counts, name_entries, ranking
from tests.support.stores.seam import each_moment, killed_before_write, stride


@pytest.fixture
def php(raw):
    return make_official_database(raw)


def adopt():
    call_command("adopt", verbosity=0)


def without_hashes(stored):
    """All keys; a new hash stands for each password, since salts differ."""
    users = {key: value for key, value in stored.items() if key.startswith("user:")}
    return stored | {
        key: fields | {"password": "hash" if is_hash(fields["password"]) else fields["password"]}
        for key, fields in users.items()
    }


def test_afterwards_doctor_and_cleanup_find_nothing(php, capsys):
    adopt()
    assert "No errors." in said(capsys, "doctor")
    assert said(capsys, "cleanup").endswith("Nothing to clean up.\n")


@pytest.mark.parametrize(("uid", "name"), [(AMELIA, "amelia"), (BOB, "bob"), (CAROL, "Carol of the Wells")])
def test_people_keep_their_passwords(php, raw, uid, name):
    adopt()
    assert raw.hget(f"user:{uid}", "password").startswith("argon2trimmed$")
    assert authenticate(None, username=name, password=CLEAR[uid]).user.uid == uid
    assert authenticate(None, username=name, password="wrong") is None


@pytest.mark.parametrize(
    "password", ["bcrypt", "md5", "argon2$", "md5$salt$hash", "!guess", "argon2$argon2id$v=19$a$b$c"]
)
def test_a_password_that_begins_as_a_hash_does_is_hashed_too(raw, password):
    php = OfficialDatabase(raw)
    php.register("Dora", password)
    adopt()
    assert is_hash(raw.hget("user:1", "password"))
    assert authenticate(None, username="dora", password=password).user.uid == 1


def test_a_password_fits_with_blanks_around_it_as_with_the_php_until_another_one_is_set(raw, store):
    """The PHP trims a password whenever it is typed, so a password manager may have it with a blank."""
    OfficialDatabase(raw).register("Dora", "old secret of dora")
    adopt()
    typed = ["old secret of dora", "old secret of dora ", "\t old secret of dora\r\n"]
    assert [authenticate(None, username="dora", password=text).user.uid for text in typed] == [1, 1, 1]
    assert authenticate(None, username="dora", password="old secret  of dora") is None
    Sessions(store).change_password(1, make_password("new secret of dora "))
    assert authenticate(None, username="dora", password="new secret of dora ").user.uid == 1
    assert authenticate(None, username="dora", password="new secret of dora") is None


def test_a_password_in_latin_1_is_kept_and_nobody_can_guess_it(raw):
    php = OfficialDatabase(raw)
    php.register("Dora", "café au lait".encode("latin-1"))
    adopt()
    assert authenticate(None, username="dora", password="café au lait").user.uid == 1
    assert authenticate(None, username="dora", password="caf\N{REPLACEMENT CHARACTER} au lait") is None


def test_who_was_signed_in_stays_signed_in(php, browser, settings):
    adopt()
    client = browser()
    client.cookies[settings.AUTH_COOKIE] = php.secret(AMELIA)
    assert "@Amelia" in client.get("/").content.decode()


def test_of_two_names_in_other_letters_the_first_registration_keeps_it(php, raw, browser):
    adopt()
    assert raw.hmget("users", "amelia", "Amelia", "AMELIA", "amelia_4") == ["1", "1", None, "4"]
    assert raw.hget("user:1", "username") == "Amelia"
    assert raw.hget("user:4", "username") == "AMELIA_4"
    assert raw.zscore("users_by_time", "AMELIA_4") == BEGAN + 240
    assert raw.zscore("users_by_time", "AMELIA") is None
    assert authenticate(None, username="AMELIA_4", password=CLEAR[SHOUTING]).user.uid == SHOUTING
    taken = {"username": "aMELIA", "password1": PASSWORD, "password2": PASSWORD}
    assert browser().post("/register/", taken).status_code == 422


def test_a_lower_case_name_gives_way_to_an_older_account(raw):
    php = OfficialDatabase(raw)
    for name in ("Dora", "dora", "DORA_2", "dORA"):
        php.register(name, "secret of dora")
    adopt()
    names = {uid: raw.hget(f"user:{uid}", "username") for uid in (1, 2, 3, 4)}
    assert names[1] == "Dora"
    assert names[3] == "DORA_2"
    assert re.fullmatch("dora_[0-9a-f]{12}", names[2])
    assert names[4] == "dORA_4"
    assert {raw.hget("users", name.lower()) for name in names.values()} == {"1", "2", "3", "4"}
    assert name_entries(raw) == expected_name_entries(raw)


def test_profiles_timelines_and_the_ranking_are_there(php, raw, client, settings):
    adopt()
    own = [pid for pid in range(30, 0, -1) if raw.hget(f"post:{pid}", "user_id") == str(BOB)]
    assert raw.zrevrange("updates:2", 0, -1, withscores=True) == [(str(pid), pid) for pid in own]
    assert ranking(raw) == follower_counts(raw) == {"1": 2, "2": 1}
    client.cookies[settings.AUTH_COOKIE] = php.secret(AMELIA)
    assert post_ids(client.get("/"))[-1] == 1  # the hole is filled
    assert len(post_ids(client.get("/timeline/?before=21"))) == 20


def test_what_the_php_wrote_keeps_its_place(php, raw):
    before = everything(raw)
    adopt()
    after = everything(raw)
    for key in ("next_user_id", "next_post_id", "auths", "timeline", "posts:2", "followers:1", "following:1", "post:7"):
        assert after[key] == before[key]
    lower = {"amelia": "1", "carol of the wells": "3", "amelia_4": "4"}
    assert after["users"] == {name: uid for name, uid in before["users"].items() if name != "AMELIA"} | lower
    assert after["user:2"]["auth"] == before["user:2"]["auth"]
    new = {"schema", "skeletons", "users_by_name", "users_by_followers", "updates:1", "updates:2", "updates:3"}
    added = set(after) - set(before)
    of_index = {key for key in added if key.startswith(("postings:", "posting_bits:"))}
    assert added - of_index == new < added  # and the posts can be searched


def test_a_dry_run_says_what_would_happen_and_changes_nothing(php, raw, capsys):
    before = everything(raw)
    printed = said(capsys, "adopt", dry_run=True)
    assert "'AMELIA' (user 4) becomes 'AMELIA_4': 'Amelia' (user 1) registered first" in printed
    assert "readable passwords: 4" in printed
    assert "posts that no updates: lists: 30" in printed
    assert all(word not in printed for word in CLEAR.values())
    assert everything(raw) == before


def test_every_new_name_is_told(raw, capsys):
    php = OfficialDatabase(raw)
    for number in range(25):
        php.register(f"dora{number}", "secret of dora")
        php.register(f"DORA{number}", "secret of dora")
    printed = said(capsys, "adopt", dry_run=True)
    assert all(f"(user {uid}) becomes 'DORA{number}_{uid}'" in printed for number, uid in enumerate(range(2, 51, 2)))


def test_killed_anywhere_it_has_told_who_has_another_name(raw, capsys):
    php = OfficialDatabase(raw)
    for name in ("Dora", "dora", "DORA_2", "dORA"):
        php.register(name, "secret of dora")
    planned = [line for line in said(capsys, "adopt", dry_run=True).splitlines() if "becomes" in line]
    for step in each_moment():
        killed_before_write(step, lambda: call_command("adopt", stderr=StringIO()))
        told = capsys.readouterr().out
        for uid, old in ((2, "dora"), (4, "dORA")):
            name = raw.hget(f"user:{uid}", "username")
            assert name == old or f"'{old}' (user {uid}) becomes '{name}'" in told, step
            assert name == old or any(f"becomes '{name}'" in line for line in planned), step
        raw.flushall()
        for counted, name in enumerate(("Dora", "dora", "DORA_2", "dORA"), 1):
            assert php.register(name, "secret of dora") == counted
    assert step > 5


def test_new_names_are_told_also_when_the_store_refused_to_look_for_them_before(raw, capsys, monkeypatch):
    php = OfficialDatabase(raw)
    for name in ("Dora", "dora"):
        php.register(name, "secret of dora")
    found, looks = AccountAdoption.clashing, []

    def refused_once(self):
        looks.append(self)
        if len(looks) == 1:
            raise StoreRefused("the store refused HSCAN")
        yield from found(self)

    monkeypatch.setattr(AccountAdoption, "clashing", refused_once)
    call_command("adopt", stderr=StringIO())
    assert capsys.readouterr().out.count("(user 2) becomes 'dora_2'") == 1


def test_killed_anywhere_and_run_again_it_ends_the_same(raw):
    make_official_database(raw)
    adopt()
    whole = without_hashes(everything(raw))
    for step in each_moment(0, stride()):
        raw.flushall()
        make_official_database(raw)
        if not killed_before_write(step, adopt):
            break
        if raw.get("schema") == "1":  # only the search does not know all posts yet
            raw.delete("lease:reindex")  # a minute later
            call_command("reindex", verbosity=0)
        else:
            assert raw.get("schema") in {None, "adopting"}
            adopt()
        assert without_hashes(everything(raw)) == whole, step
    assert step > 5


def test_a_password_that_is_set_after_another_run_has_ended_stays(php, raw, store, monkeypatch):
    """An operator took the first run for dead. It hashes what it has read before the second one began."""
    hash_one, waits = adoption.hash_of_official, [True]

    def slowly(password):
        if waits:
            waits.clear()
            adopt()
            Sessions(store).change_password(BOB, make_password(PASSWORD))
        return hash_one(password)

    monkeypatch.setattr(adoption, "hash_of_official", slowly)
    adopt()
    assert authenticate(None, username="bob", password=PASSWORD).user.uid == BOB
    assert authenticate(None, username="amelia", password=CLEAR[AMELIA]).user.uid == AMELIA


@pytest.mark.parametrize("mark", [None, "1"])
def test_a_store_of_this_site_is_not_adopted(alice, raw, mark):
    if mark:
        raw.set("schema", mark)
    before = everything(raw)
    with pytest.raises(CommandError, match=r"upgrade|nothing to adopt"):
        adopt()
    assert everything(raw) == before


def test_who_registers_with_the_php_after_adopting_is_adopted_by_a_second_run(php, raw, capsys):
    adopt()
    dave, twin = php.register("Dave", "open sesame"), php.register("AMELIA", "another one")
    advised = {one["id"] for one in report_of(capsys)[1]["advice"]}
    assert {"retwis.W011", "retwis.W012"} <= advised
    adopt()
    assert raw.get("schema") == "1"
    assert authenticate(None, username="dave", password="open sesame").user.uid == dave
    assert authenticate(None, username=f"amelia_{twin}", password="another one").user.uid == twin
    assert "No errors." in said(capsys, "doctor")
    with pytest.raises(CommandError, match="nothing to adopt"):
        adopt()


def test_an_empty_store_is_not_adopted(raw):
    with pytest.raises(CommandError, match="has no users"):
        adopt()
    assert raw.dbsize() == 0


# ---- `skeletons` knows what each username looks like; `doctor --fix`, `upgrade` and `adopt` build what is missing.


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
