"""A login with a passkey alone: who it opens, and all that it refuses."""

import json

import cbor2
import pytest
from django.core import signing

from accounts.community.sanctions import Sanctions
from accounts.second_factor.passkeys import WrongAnswer
from accounts.users.accounts import AccountDeletion
from accounts.users.entities import State
from tests.support.clock import Clock
from tests.support.http.page_text import page_of
from tests.support.second_factors import Authenticator, shared_lists

URL = "/login/passkey/"


@pytest.fixture
def options(browser):
    return lambda: json.loads(browser().get(URL).content)


def sessions(raw):
    return [value for name, value in raw.hgetall("user:1").items() if name.startswith("session:")]


def test_it_opens_the_account_that_it_names(browser, raw, passkey, options):
    client, asked = browser(), options()
    assert (asked["userVerification"], asked["allowCredentials"]) == ("required", [])
    assert client.post(URL, {"passkey": passkey.get(asked), "next": "/people/"})["Location"] == "/people/"
    assert sessions(raw)[0].endswith("/passkey")
    assert "Welcome back, Alice." in client.get("/settings/sessions/").content.decode()
    assert "with a passkey" in client.get("/settings/sessions/").content.decode()
    assert client.get("/settings/password/").status_code == 200  # it counts as confirmed


def test_an_answer_serves_once_for_five_minutes(browser, raw, passkey, options, monkeypatch):
    answer = passkey.get(options())
    assert browser().post(URL, {"passkey": answer})["Location"] == "/"
    [key] = raw.keys("challenge:*")
    assert (raw.get(key), 290 < raw.ttl(key) <= 300) == ("1", True)
    raw.delete("factor_uses:1")
    assert browser().post(URL, {"passkey": answer})["Location"].startswith("/login/")
    clock = Clock()
    monkeypatch.setattr(signing, "time", clock)
    old = passkey.get(options())
    clock.sleep(301)
    assert browser().post(URL, {"passkey": old})["Location"].startswith("/login/")
    assert len(sessions(raw)) == 1


def test_a_copied_passkey_is_refused(browser, raw, passkey, options):
    asked = options()
    browser().post(URL, {"passkey": passkey.get(asked)})
    passkey.counter -= 1
    assert browser().post(URL, {"passkey": passkey.get(options())})["Location"].startswith("/login/")
    assert len(sessions(raw)) == 1


def test_a_passkey_that_has_counted_less_than_when_it_was_added_is_refused(browser, store, raw, alice, options):
    passkey = Authenticator()
    passkey.counter = 7
    passkey.add(store)
    passkey.counter = 5
    assert browser().post(URL, {"passkey": passkey.get(options())})["Location"].startswith("/login/")
    assert sessions(raw) == []


def test_a_passkey_that_does_not_count_serves_again_and_again(browser, store, raw, alice, options):
    passkey = Authenticator(counts=False)
    passkey.add(store)
    for _ in range(2):
        browser().post(URL, {"passkey": passkey.get(options())})
    assert len(sessions(raw)) == 2
    assert raw.keys("factor_uses:*") == []


WRONG = {
    "a finger or a PIN was not asked for": {"verifies": False},
    "another site has asked": {"site": "http://other.example"},
    "another page of the host has asked": {"site": "http://testserver:8000"},
    "another user is named": {"uid": 2},
    "nobody is named": {"uid": 99},
}


@pytest.mark.parametrize("why", WRONG)
def test_it_is_refused_when(browser, store, raw, alice, bob, options, why):
    passkey = Authenticator()
    passkey.add(store)
    for name, value in {"verifies": True, **WRONG[why]}.items():
        if name == "verifies":
            passkey._flags = 5 if value else 1
        else:
            setattr(passkey, f"_{name}", value)
    answer = browser().post(URL, {"passkey": passkey.get(options())}, follow=True)
    assert "This passkey did not work" in answer.content.decode()
    assert sessions(raw) == []
    assert raw.keys("challenge:*") == []


def test_a_passkey_that_nobody_has_added_opens_nothing(browser, raw, passkey, options):
    assert browser().post(URL, {"passkey": Authenticator().get(options())})["Location"].startswith("/login/")
    assert sessions(raw) == []


@pytest.mark.parametrize(
    "answer", ["", "x", "null", "[]", '{"response": null}', '{"response": {"userHandle": "MQ"}}', "[" * 30000]
)
def test_what_is_no_answer_opens_nothing(browser, raw, passkey, answer):
    assert browser().post(URL, {"passkey": answer})["Location"].startswith("/login/")
    assert sessions(raw) == []


@pytest.mark.parametrize("way", ["added", "shown"])
def test_values_that_are_shared_are_not_written_out(client, store, raw, alice, monkeypatch, options, way):
    """700 bytes stopped all pages of a process for ten seconds, and a list more for twice as long."""
    real, written = cbor2.dumps, [0]
    passkey = Authenticator()
    if way == "shown":
        passkey.add(store)
    passkey.extensions = shared_lists(14)
    monkeypatch.setattr(cbor2, "dumps", lambda value: written.append(len(real(value))) or real(value))
    if way == "shown":
        client.post(URL, {"passkey": passkey.get(options())})
    else:
        with pytest.raises(WrongAnswer):
            passkey.add(store)
    assert max(written) < 1000
    assert sessions(raw) == []


def test_a_regular_expression_is_not_compiled(store, raw, alice):
    """12 KB stopped all pages of a process for eight seconds."""
    passkey = Authenticator()
    passkey.extensions = cbor2.dumps({"a": cbor2.CBORTag(35, "[a-z]+")})
    with pytest.raises(WrongAnswer):
        passkey.add(store)


def test_an_extension_that_nobody_has_asked_for_changes_nothing(browser, store, raw, alice, options):
    passkey = Authenticator()
    passkey.extensions = cbor2.dumps({"credProtect": 2})
    passkey.add(store)
    browser().post(URL, {"passkey": passkey.get(options())})
    assert len(sessions(raw)) == 1


def test_a_challenge_for_the_second_step_or_of_nobody_opens_nothing(browser, raw, passkey, options):
    asked = options()
    for challenge in ("AAAA", asked["challenge"][:-4] + "AAAA"):
        browser().post(URL, {"passkey": passkey.get({**asked, "challenge": challenge})})
    assert sessions(raw) == []


def test_deleted_and_suspended_accounts_are_not_opened(browser, store, raw, alice, passkey, options):
    Sanctions(store).impose(1, State.SUSPENDED, "Too many advertisements")
    assert "Too many advertisements" in page_of(browser().post(URL, {"passkey": passkey.get(options())}), 403)
    AccountDeletion(store).delete(alice.user, alice.secret)
    assert browser().post(URL, {"passkey": passkey.get(options())})["Location"].startswith("/login/")
    assert sessions(raw) == []


def test_what_the_browser_is_asked_costs_the_store_nothing_and_the_login_page_offers_it(browser, raw, round_trips):
    assert round_trips(lambda: browser().get(URL)).round_trips == []
    page = browser().get("/login/").content.decode()
    assert 'autocomplete="username webauthn"' in page
    assert f'class="passkey" method="post" action="{URL}"' in page
    assert "no-store" in browser().get(URL)["Cache-Control"]


def test_logins_are_limited_for_an_address(browser, settings, passkey, options):
    settings.THROTTLE = True
    settings.THROTTLES = {"factors": 3}
    for _ in range(3):
        browser().post(URL, {"passkey": "x"})
    assert browser().post(URL, {"passkey": passkey.get(options())}).status_code == 429
    assert browser().post(URL, {"passkey": passkey.get(options())}, REMOTE_ADDR="192.0.2.7").status_code == 302
