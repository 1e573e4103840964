"""Hashes of other Retwises: the first login with one replaces it."""

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.hashers import make_password
from django.core.management import call_command

from accounts.signing_in import passwords
from accounts.signing_in.sessions.repository import Sessions
from tests.support import people
from tests.support.command_output import said
from tests.support.people import NEW_PASSWORD, PASSWORD, give_old_password
from tests.support.stored_keys import noted
from tests.support.stores.seam import before_round_trip


@pytest.fixture
def old(raw, alice):
    """alice's old hash."""
    return give_old_password(raw, 1)


def log_in(password=PASSWORD):
    return authenticate(None, username="alice", password=password)


def test_the_first_login_replaces_the_old_hash(raw, alice, old, browser):
    response = browser().post("/login/", {"username": "Alice", "password": PASSWORD})
    assert response.status_code == 302
    assert raw.hget("auths", response.cookies["auth"].value) == "1"
    assert raw.hget("user:1", "password").startswith("argon2$")
    assert not raw.hexists("user:1", "old_password")
    assert log_in().user == alice.user
    assert noted(raw) == []


def test_a_wrong_password_changes_nothing(raw, old):
    before = raw.hgetall("user:1")
    assert log_in("wrong") is None
    assert raw.hgetall("user:1") == before


def test_a_first_login_costs_four_round_trips_more(raw, alice, old, round_trips):
    first, later = round_trips(log_in), round_trips(log_in)
    assert len(first.round_trips) == len(later.round_trips) + 4


@pytest.mark.parametrize("given", ["wrong", PASSWORD])
def test_an_old_hash_costs_as_much_as_an_unknown_name(old, monkeypatch, given):
    """To compare an MD5 takes no time, so one argon2 is made."""
    made = []
    real = passwords.make_password
    monkeypatch.setattr(passwords, "make_password", lambda password: made.append(password) or real(password))
    log_in(given)
    assert made == [given]


@pytest.mark.parametrize("field", ["password", "old_password"])
@pytest.mark.parametrize(
    "damaged", ["md5", "md5$abc", "bcrypt", "bcrypt$$2y$99$x", "argon2$", "argon2$argon2id$v=19$m=19456,t=2,p=1$a$b"]
)
def test_a_damaged_hash_is_a_wrong_password(raw, alice, browser, caplog, field, damaged):
    raw.hdel("user:1", "password")
    raw.hset("user:1", field, damaged)
    response = browser().post("/login/", {"username": "alice", "password": PASSWORD})
    assert response.status_code == 422
    assert "Wrong username or password" in response.content.decode()
    assert "the stored password of user 1 is damaged" in caplog.text
    assert damaged not in caplog.text


def test_a_password_wins_over_an_old_one(raw, alice):
    raw.hset("user:1", "old_password", make_password("another"))
    assert log_in("another") is None
    assert log_in() is not None


def test_a_person_with_an_old_hash_can_change_the_password_on_the_site(raw, alice, old, browser):
    form = {"password": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    assert browser(alice).post("/settings/password/", form).status_code == 302
    assert not raw.hexists("user:1", "old_password")
    assert log_in(NEW_PASSWORD) is not None


def test_the_command_changepassword_replaces_it(raw, old, typed):
    typed(NEW_PASSWORD)
    call_command("changepassword", "alice", verbosity=0)
    assert not raw.hexists("user:1", "old_password")
    assert log_in(NEW_PASSWORD) is not None


def test_logging_out_keeps_it(raw, store, alice, old):
    Sessions(store).end_all(1)
    assert raw.hget("user:1", "old_password") == old
    assert log_in() is not None


@pytest.mark.parametrize("moment", range(8))
def test_a_change_at_any_moment_of_a_login_is_never_undone(raw, store, alice, old, moment):
    with before_round_trip(moment, lambda: Sessions(store).change_password(1, make_password(NEW_PASSWORD))):
        people.log_in(store)
    assert log_in() is None
    assert log_in(NEW_PASSWORD) is not None
    assert not raw.hexists("user:1", "old_password")


def test_cleanup_removes_an_old_hash_that_was_replaced(raw, alice, bob, old, capsys):
    give_old_password(raw, 2)
    raw.hset("user:1", "password", make_password(PASSWORD))
    assert "old passwords that were replaced: 1" in said(capsys, "cleanup", "--dry-run")
    call_command("cleanup", verbosity=0)
    assert not raw.hexists("user:1", "old_password")
    assert raw.hexists("user:2", "old_password")


def test_doctor_finds_nothing_wrong_with_an_old_hash(raw, alice, old, capsys):
    assert "No errors" in said(capsys, "doctor")
