"""A login with a password and a second factor: what it takes, and what it never gives without both."""

import html
import json
import re

import pytest
from django.conf import settings
from django.core import signing

from accounts.community.sanctions import Sanctions
from accounts.recovery.codes import RecoveryCodes, field_of
from accounts.signing_in import factors
from accounts.signing_in.factors import remove_factors
from accounts.signing_in.sessions.repository import Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users.accounts import AccountDeletion
from accounts.users.entities import State
from tests.support.http.page_text import page_of
from tests.support.people import NEW_PASSWORD, PASSWORD, give_old_password, log_in
from tests.support.second_factors import Authenticator
from tests.support.stores.seam import before_round_trip

LOGIN, SECOND = "/login/", "/login/second/"


def sessions(raw, uid=1):
    return [value for name, value in raw.hgetall(f"user:{uid}").items() if name.startswith("session:")]


def is_signed_in(client):
    return client.get("/settings/").status_code == 200


@pytest.fixture
def waiting(browser, alices_app):
    """A browser in which alice's password was right, and nothing else was shown."""
    client = browser()
    answer = client.post(LOGIN, {"username": "alice", "password": PASSWORD, "next": "/people/"})
    assert answer["Location"] == f"{SECOND}?next=%2Fpeople%2F"
    return client


def options_in(page):
    return json.loads(html.unescape(re.search(r'data-options="([^"]+)"', page)[1]))


def test_the_password_alone_gives_no_session(raw, waiting):
    assert sessions(raw) == []
    assert settings.AUTH_COOKIE not in waiting.cookies
    assert not is_signed_in(waiting)
    cookie = waiting.cookies[factors.PENDING_COOKIE]
    assert cookie["httponly"]
    assert cookie["max-age"] == 300
    page = waiting.get(SECOND)
    assert "no-store" in page["Cache-Control"]
    assert 'autocomplete="one-time-code"' in page.content.decode()


def test_its_code_opens_one(raw, waiting, alices_app):
    answer = waiting.post(SECOND, {"code": alices_app.next_code(), "next": "/people/"})
    assert answer["Location"] == "/people/"
    assert [value.endswith("/password+code") for value in sessions(raw)] == [True]
    assert is_signed_in(waiting)
    assert waiting.cookies[factors.PENDING_COOKIE].value == ""
    assert "with a password and a code" in waiting.get("/settings/sessions/").content.decode()


@pytest.mark.parametrize(("steps", "opens"), [(-2, False), (-1, True), (1, True), (2, False)])
def test_a_phone_may_be_one_step_early_or_late(waiting, alices_app, steps, opens):
    alices_app.clock.sleep(300)  # its first code was taken long ago
    assert (waiting.post(SECOND, {"code": alices_app.code(steps)}).status_code == 302) == opens


def test_a_code_serves_once_and_so_does_every_earlier_one(browser, raw, waiting, alices_app):
    early, code = alices_app.next_code(), alices_app.next_code()
    assert waiting.post(SECOND, {"code": f" {code[:3]} {code[3:]} "}).status_code == 302
    again = browser()
    again.post(LOGIN, {"username": "alice", "password": PASSWORD})
    for used in (code, early):
        assert "Wrong code" in page_of(again.post(SECOND, {"code": used}), 422)
    assert len(sessions(raw)) == 1
    digits = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
    assert again.post(SECOND, {"code": alices_app.next_code().translate(digits)}).status_code == 302


def test_a_recovery_code_serves_too_once(browser, store, raw, waiting):
    codes = RecoveryCodes(store).make(1)
    assert waiting.post(SECOND, {"code": codes[0].upper()}).status_code == 302
    assert not raw.hexists("user:1", field_of(1, codes[0]))
    assert sessions(raw)[0].endswith("/password+recovery")
    again = browser()
    again.post(LOGIN, {"username": "alice", "password": PASSWORD})
    assert again.post(SECOND, {"code": codes[0]}).status_code == 422


def test_a_passkey_serves_too(browser, client, raw, passkey):
    client.post(LOGIN, {"username": "alice", "password": PASSWORD})
    options = options_in(client.get(SECOND).content.decode())
    named = [one["id"] for one in options["allowCredentials"]]  # a key that keeps no names finds its passkey by them
    answer = passkey.get(options)
    assert named == [json.loads(answer)["id"]]
    assert client.post(SECOND, {"passkey": answer}).status_code == 302
    assert sessions(raw)[0].endswith("/password+passkey")
    again = browser()
    again.post(LOGIN, {"username": "alice", "password": PASSWORD})
    assert again.post(SECOND, {"passkey": answer}).status_code == 422  # the challenge was answered
    stranger = Authenticator()
    assert (
        again.post(SECOND, {"passkey": stranger.get(options_in(again.get(SECOND).content.decode()))}).status_code == 422
    )
    assert len(sessions(raw)) == 1


@pytest.mark.parametrize("code", ["", "[]", "123456", "12345", "x" * 5000, "0000-0000-0000-0000", "\0"])
def test_everything_else_opens_nothing(raw, waiting, code):
    assert waiting.post(SECOND, {"code": code}).status_code == 422
    assert waiting.post(SECOND, {"passkey": code or "{}"}).status_code == 422
    assert sessions(raw) == []


ENDS = {
    "a new password": lambda store, alice: Sessions(store).change_password(1, "another hash"),
    "a log out everywhere": lambda store, alice: Sessions(store).end_all(1),
    "a removed factor": lambda store, alice: remove_factors(store, 1),
    "a deleted account": lambda store, alice: AccountDeletion(store).delete(alice.user, alice.secret),
}


@pytest.mark.parametrize("what", ENDS)
def test_the_state_ends_with(store, raw, alice, waiting, alices_app, what):
    ENDS[what](store, alice)
    for answer in (waiting.get(SECOND), waiting.post(SECOND, {"code": alices_app.next_code()})):
        assert answer["Location"].startswith(LOGIN)
    assert sessions(raw) == []


def test_a_password_change_between_the_check_and_the_session_leaves_a_session_that_has_ended(
    store, waiting, alices_app
):
    code = alices_app.next_code()
    with before_round_trip(4, lambda: Sessions(store).change_password(1, "another hash")) as happened:
        waiting.post(SECOND, {"code": code})
    assert happened
    assert not is_signed_in(waiting)


@pytest.mark.parametrize("cookie", ["", "x", "WzEsIiIsIiIsIiJd:1tX:x", None])
def test_a_forged_or_old_state_leads_to_the_login(browser, raw, waiting, alices_app, monkeypatch, cookie):
    if cookie is None:
        monkeypatch.setattr(factors, "PENDING_LIVES", -1)
    else:
        waiting.cookies[factors.PENDING_COOKIE] = cookie
    assert waiting.post(SECOND, {"code": alices_app.next_code()})["Location"].startswith(LOGIN)
    assert sessions(raw) == []


def test_who_comes_back_to_it_after_the_login_is_not_told_to_log_in_again(raw, waiting, alices_app):
    waiting.post(SECOND, {"code": alices_app.next_code(), "next": "/people/"})
    late = {"code": "000000", "next": "/people/"}
    for answer in (waiting.get(f"{SECOND}?next=/people/"), waiting.post(SECOND, late)):
        assert answer["Location"] == "/people/"
        assert "Log in again" not in page_of(waiting.get("/people/"))
    assert len(sessions(raw)) == 1


def test_the_state_is_no_session_and_tells_nothing_of_the_password(raw, waiting):
    cookie = waiting.cookies[factors.PENDING_COOKIE].value
    uid, _generation, digest, _language = signing.loads(cookie, salt=factors._PENDING)
    assert uid == 1
    assert digest not in str(raw.hgetall("user:1"))
    assert not Viewer(None, "").user.is_authenticated
    waiting.cookies[settings.AUTH_COOKIE] = cookie
    assert not is_signed_in(waiting)


def test_wrong_codes_are_limited_for_the_account_whatever_the_address(browser, settings, waiting, alices_app):
    settings.THROTTLE = True
    for number in range(10):
        assert waiting.post(SECOND, {"code": "000000"}, REMOTE_ADDR=f"192.0.2.{number}").status_code == 422
    assert waiting.post(SECOND, {"code": alices_app.next_code()}, REMOTE_ADDR="192.0.2.99").status_code == 429


def test_until_the_password_is_right_the_answer_and_the_work_do_not_tell_of_a_second_factor(
    browser, round_trips, alices_app, bob
):
    answers, costs = [], []
    browser().get("/timeline/")  # the site's own words are cached then
    for name in ("alice", "bob"):
        form = {"username": name, "password": "wrong"}
        recorded = round_trips(lambda: answers.append(browser().post(LOGIN, form)))  # noqa: B023
        costs.append([len(trip.commands) for trip in recorded.round_trips])
    pages = [re.sub(r'value="\w{64}"|value="(alice|bob)"', "", answer.content.decode()) for answer in answers]
    assert [answer.status_code for answer in answers] == [422, 422]
    assert pages[0] == pages[1]
    assert costs[0] == costs[1]


def test_a_hash_of_another_retwis_is_replaced_before_the_second_step(client, raw, alices_app):
    give_old_password(raw, 1)
    client.post(LOGIN, {"username": "alice", "password": PASSWORD})
    assert client.post(SECOND, {"code": alices_app.next_code()}).status_code == 302
    assert is_signed_in(client)


def test_a_suspended_person_reads_why_and_gets_no_session(store, raw, waiting, alices_app):
    Sanctions(store).impose(1, State.SUSPENDED, "Too many advertisements")
    assert "Too many advertisements" in waiting.get(SECOND).content.decode()
    assert waiting.post(SECOND, {"code": alices_app.next_code()}).status_code == 403
    assert sessions(raw) == []


def test_no_code_of_the_site_opens_a_session_for_a_password_alone(store, alices_app):
    with pytest.raises(ValueError, match="second factor"):
        log_in(store)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("totp", "not base32!"),
        ("totp", "1:not base32!"),
        ("passkey:b1", "[" * 9999),
        ("passkey:a", '{"name": "Phone", "key": "b2-_", "since": 1}'),  # no id has one letter
    ],
)
def test_a_damaged_factor_opens_nothing(browser, raw, waiting, alices_app, field, value):
    raw.delete("credentials:1")
    raw.hset("credentials:1", field, value)
    assert waiting.get(SECOND).status_code == 200
    assert waiting.post(SECOND, {"code": alices_app.next_code()}).status_code == 422
    assert sessions(raw) == []


def test_a_forgotten_password_is_replaced_by_a_code_and_the_second_factor_stays(browser, store, alices_app):
    codes, client = RecoveryCodes(store).make(1), browser()
    form = {"username": "alice", "code": codes[0], "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    client.post("/recover/", form)
    assert client.post(LOGIN, {"username": "alice", "password": NEW_PASSWORD})["Location"].startswith(SECOND)
    assert client.post(SECOND, {"code": codes[1]}).status_code == 302
