"""Registering: the form, the keys that it writes, and names that are taken or that nobody may have."""

import re
from contextlib import contextmanager

import pytest
from django.contrib.auth.hashers import check_password, identify_hasher
from django.core.management import call_command
from django.core.management.base import CommandError

from accounts.apps.repository import Apps, own_token
from accounts.joining import joining
from accounts.signing_in.passwords import LeanArgon2PasswordHasher
from accounts.signing_in.sessions.repository import Sessions
from accounts.users.accounts import Registration
from retwis_site.store import keys
from retwis_site.store.kinds import KINDS
from tests.support.http.page_text import page_of
from tests.support.people import NEW_PASSWORD, PASSWORD, WEAK_PASSWORDS
from tests.support.stored_keys import name_entries
from tests.support.stores.seam import away

FORM = {"username": "Alice", "password1": PASSWORD, "password2": PASSWORD}
OTHER = {**FORM, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}


def test_registering_signs_in_at_once(browser):
    client = browser()
    response = client.post("/register/", FORM, follow=True)
    assert response.redirect_chain == [("/first-steps/", 302)]
    assert "Welcome, Alice!" in response.content.decode()
    assert 'action="/logout/"' in response.content.decode()


def test_registering_leaves_the_official_keys(client, raw):
    client.post("/register/", FORM)
    secret = client.cookies["auth"].value
    user = raw.hgetall("user:1")
    assert raw.get("next_user_id") == "1"
    assert raw.hgetall("users") == {"alice": "1"}
    assert set(user) == {"username", "password", "auth", f"session:{secret}"}
    assert user["username"] == "Alice"
    assert user["auth"] != secret
    assert len(user["auth"]) == 32
    assert re.fullmatch("[0-9a-f]{32}1", secret)
    assert raw.hgetall("auths") == {user["auth"]: "1", secret: "1"}
    assert raw.zrange("users_by_time", 0, -1) == ["Alice"]
    assert name_entries(raw) == {"alice:1": 0}
    assert raw.zcard("outbox") == 0


def test_the_cookie_lasts_a_year_and_no_script_can_read_it(browser):
    client = browser()
    client.post("/register/", FORM)
    cookie = client.cookies["auth"]
    assert cookie["max-age"] == 365 * 24 * 3600
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


def test_passwords_are_argon2_with_19_mib(settings, browser, raw):
    settings.PASSWORD_HASHERS = ["accounts.signing_in.passwords.LeanArgon2PasswordHasher"]
    browser().post("/register/", FORM)
    encoded = raw.hget("user:1", "password")
    assert encoded.startswith("argon2$argon2id$v=19$m=19456,t=2,p=1$")
    assert identify_hasher(encoded).algorithm == "argon2"
    assert check_password(PASSWORD, encoded)


@pytest.mark.parametrize("name", ["alice", "ALICE", "Alice"])
def test_a_name_is_taken_in_any_letter_case(browser, alice, raw, name):
    page = page_of(browser().post("/register/", {**OTHER, "username": name}), 422)
    assert "This username is taken" in page
    assert f'value="{name}"' in page
    assert raw.hgetall("users") == {"alice": "1"}


@pytest.fixture(params=["the list of users", "the session"])
def failing_after_the_commit(request, monkeypatch):
    """The server that has these keys is away, while the one that decides about the name answers."""
    of, method = {"the list of users": (Registration, "_list"), "the session": (Sessions, "open")}[request.param]

    @contextmanager
    def fails():
        with monkeypatch.context() as patched:
            patched.setattr(of, method, away)
            yield

    return fails


@pytest.mark.parametrize("mode", ["open", "invite"])
def test_a_form_that_is_sent_again_after_a_failure_of_the_store_signs_in(
    browser, store, raw, failing_after_the_commit, mode
):
    raw.hset("site", "registration", mode)
    form = FORM | ({"code": joining.Invitations(store).make().code} if mode == "invite" else {})
    client = browser()
    with failing_after_the_commit():
        assert client.post("/register/", form).status_code == 503
    answer = client.post("/register/", form)
    assert (answer.status_code, answer.headers.get("Location")) == (302, "/first-steps/")
    assert raw.hgetall("users") == {"alice": "1"}
    assert raw.hexists("user:1", f"session:{client.cookies['auth'].value}")


def test_an_application_that_is_sent_again_is_thanked_for(browser, raw, monkeypatch):
    """Not one with another password, nor one with another reason."""
    raw.hset("site", "registration", "approval")
    form = FORM | {"why": "I like\r\nbirds"}
    with monkeypatch.context() as patched:
        patched.setattr(joining.Applications, "list_waiting", away)
        assert browser().post("/register/", form).status_code == 503
    for other in (OTHER, {"why": "Me too"}):
        assert browser().post("/register/", form | other).status_code == 422
    answer = browser().post("/register/", form, follow=True)
    assert answer.redirect_chain == [("/login/", 302)]
    assert "Log in later to see whether you can join." in answer.content.decode()
    assert raw.hlen("applications") == 1


def test_a_form_that_is_sent_again_signs_in_nobody_else(browser, raw):
    """Neither with another password, nor into an account that is older, in use, has a second factor, or was deleted."""
    browser().post("/register/", FORM)
    sessions = [name for name in raw.hkeys("user:1") if name.startswith("session:")]
    assert browser().post("/register/", OTHER).status_code == 422
    for key, field, value in (
        ("user:1", "seen", "1"),
        ("credentials:1", "totp", f"1:{'A' * 32}"),
        ("user:1", "deleted", "1"),
    ):
        raw.hset(key, field, value)
        assert browser().post("/register/", FORM).status_code == 422
        raw.hdel(key, field)
    raw.zincrby("users_by_time", -joining.SENT_AGAIN_WITHIN - 1, "Alice")
    assert browser().post("/register/", FORM).status_code == 422
    assert [name for name in raw.hkeys("user:1") if name.startswith("session:")] == sessions


@pytest.mark.parametrize("name", ["", "a b", "a-b", "ä", "a" * 31, "<b>", "a\n", "a\0", "\u202ea", "../x"])
def test_a_name_with_other_characters_is_refused(browser, raw, name):
    response = browser().post("/register/", {**FORM, "username": name})
    if name == "a\n":  # white space around a name is not part of it
        assert response.status_code == 302
        return
    assert response.status_code == 422
    assert raw.dbsize() == 0


def test_the_rule_for_usernames_stands_once_also_where_one_breaks_it(browser):
    form = {"password1": "green tea please", "password2": "green tea please"}
    for name in ("a b", ""):
        page = browser().post("/register/", {**form, "username": name}).content.decode()
        assert page.count("digits and underscores.") == 1


@pytest.mark.parametrize(("password", "complaint"), WEAK_PASSWORDS)
def test_weak_passwords_are_refused_beside_their_field(browser, raw, password, complaint):
    page = page_of(browser().post("/register/", {**FORM, "password1": password, "password2": password}), 422)
    assert complaint in page
    assert raw.dbsize() == 0


def test_all_errors_are_shown_at_once_also_those_that_only_the_store_knows(browser, store, alice, raw):
    before = raw.hgetall("users")
    joining.BlockedNames(store).add("spam*")
    for name, complaint in (("ALICE", "This username is taken"), ("spammer", "This name cannot be used here.")):
        response = browser().post("/register/", {"username": name, "password1": "short1!", "password2": "shorter"})
        assert response.status_code == 422
        page = response.content.decode()
        for error in (complaint, "This password is too short.", "The passwords do not match"):
            assert error in page
    assert raw.hgetall("users") == before


def test_a_name_that_is_refused_costs_no_hash(browser, store, alice, raw, monkeypatch):
    """Such a form counts for no limit, so an address could have passwords hashed for ever."""
    raw.hset("user:1", "seen", "1")  # an account that nobody has used yet may be that of a form that is sent again

    def never(self, password, salt):
        raise AssertionError("hashed")

    monkeypatch.setattr(LeanArgon2PasswordHasher, "encode", never)
    for name in ("ALICE", "a1ice", "admin"):
        assert browser().post("/register/", FORM | {"username": name}).status_code == 422
        app, _ = Apps(store).register("Tusky", "", ["tusky://back"], ["write"])
        sent = {"username": name, "password": PASSWORD, "agreement": "true"}
        shown = {"Authorization": f"Bearer {own_token(app, ['write'])}"}
        assert browser().post("/api/v1/accounts", sent, headers=shown).status_code == 422


def test_two_different_passwords_are_refused_and_never_echoed(browser):
    page = page_of(browser().post("/register/", {**FORM, "password2": PASSWORD + "!"}), 422)
    assert "The passwords do not match" in page
    assert PASSWORD not in page
    assert 'value="Alice"' in page


def test_the_commands_go_out_in_the_order_of_the_protocol(store, sent):
    Registration(store).register("Alice", "hash")
    names = [str(command[0]) for command in sent.commands]
    others = [kind for kind in KINDS.values() if kind.of_users and kind is not keys.user]
    assert names == [
        *("HMGET", "GET", "ZCARD", "INCR", "ZADD", "HSETNX", "HLEN", "HGET", *["TTL"] * len(others), "SET"),
        *("HSET", "HSETNX", "HGET", "HSETNX"),
        *("HSET", "ZADD", "ZADD", "HGET", "ZREM"),
    ]


# ---- Names that nobody may register.


@pytest.mark.parametrize("name", ["Admin", "admi_n", "R00t", "settings", "login", "supp0rt"])
def test_words_of_the_site_and_what_looks_like_them_are_refused(store, raw, name):
    with pytest.raises(joining.NameRefused):
        joining.check_name(store, name)


@pytest.mark.parametrize(("taken", "new"), [("paul", "pauI"), ("lo0k", "look"), ("Max", "rnax"), ("ann", "a_nn_")])
def test_a_name_that_looks_like_an_existing_one_is_refused(store, raw, taken, new):
    joining.Joining(store).join("open", taken, "hash", "", "")
    with pytest.raises(joining.NameRefused):
        joining.Joining(store).join("open", new, "hash", "", "")


def test_a_blocked_word_is_refused_until_it_is_unblocked(store, raw):
    call_command("names", "--block", "Spam*", verbosity=0)
    assert list(raw.hgetall("blocked_names")) == ["spam*"]
    with pytest.raises(joining.NameRefused):
        joining.check_name(store, "sparn_king")
    joining.check_name(store, "king_spam")
    with pytest.raises(CommandError, match=r"'spma' is not blocked\. There are: spam\*"):
        call_command("names", "--unblock", "spma", verbosity=0)
    call_command("names", "--unblock", "Spam*", verbosity=0)
    assert joining.BlockedNames(store).all() == []
    joining.check_name(store, "spammer")
