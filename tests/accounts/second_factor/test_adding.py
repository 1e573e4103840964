"""The page of one's factors: an app and passkeys are added after the password, count after they were shown, and go."""

import html
import json
import logging
import re

import pytest
from webauthn.helpers import bytes_to_base64url

from accounts.recovery.codes import RecoveryCodes
from accounts.second_factor.repository import MOST_PASSKEYS, AlreadyThere, SecondFactors
from accounts.signing_in.factors import CONFIRMED_COOKIE, remove_factors, use_of
from tests.support.http.page_text import page_of
from tests.support.people import PASSWORD, log_in
from tests.support.second_factors import Authenticator
from tests.support.stores.seam import killed_before_round_trip

PAGE, CODES = "/settings/security/", "/settings/recovery/"
ADD_APP, REMOVE_APP = f"{PAGE}totp/add/", f"{PAGE}totp/remove/"
ADD_KEY, REMOVE_KEY = f"{PAGE}passkeys/add/", f"{PAGE}passkeys/remove/"


@pytest.fixture
def client(browser, store, alice):
    return browser(log_in(store))


def begin(client):
    """The key that the page shows after the password, and the signed one in its form."""
    page = client.post(ADD_APP, {"password": PASSWORD}).content.decode()
    shown = re.search(r'<code dir="ltr">([A-Z2-7 ]+)</code>', page)[1].replace(" ", "")
    return shown, re.search(r'name="key" value="([^"]+)"', page)[1]


def options_in(answer):
    return json.loads(html.unescape(re.search(r'data-options="([^"]+)"', answer.content.decode())[1]))


# ---- an app


def test_an_app_counts_when_it_has_shown_a_code(client, store, raw, app):
    before = page_of(client.get(CODES))
    assert client.post(ADD_APP, {"password": "wrong"}).status_code == 422
    app.secret, key = begin(client)
    assert raw.hgetall("credentials:1") == {}
    assert app.secret[:4] in page_of(client.post(ADD_APP, {"key": key, "code": "000000"}), 422)  # the same one
    assert raw.hgetall("credentials:1") == {}
    code = app.code()
    answer = client.post(ADD_APP, {"key": key, "code": code})
    assert "You have no codes.</p>" in before
    assert answer["Location"] == CODES  # there are no codes yet
    page = page_of(client.get(CODES))
    assert "Your authenticator app is set up." in page
    assert "If you lose your phone, only the people who run this site can let you in." in page
    assert raw.hget("credentials:1", "totp") == f"{int(app.clock.now)}:{app.secret}"
    [(use, step)] = raw.zrange("factor_uses:1", 0, -1, withscores=True)
    assert (use, step) == (use_of("totp", app.secret), int(app.clock.now) // 30)
    assert not SecondFactors(store).take_code(1, SecondFactors(store).account(1)[1].totp, code)
    assert app.secret not in client.get(PAGE).content.decode()


def test_a_form_that_is_sent_twice_and_a_later_look_at_the_page_say_that_the_app_is_there(client, raw, app):
    """Of a form that is sent twice, a browser shows the second answer. A "Wrong code" there would be untrue."""
    app.secret, key = begin(client)
    sent = {"key": key, "code": app.code()}
    assert client.post(ADD_APP, sent)["Location"] == CODES
    stored = raw.hgetall("credentials:1")
    for answer in (client.post(ADD_APP, sent, follow=True), client.get(ADD_APP, follow=True)):
        assert answer.redirect_chain == [(PAGE, 302)]
        page = page_of(answer)
        assert "You have added this already." in page
        assert "Remove the app" in page
        assert "Make recovery codes" in page
    assert raw.hgetall("credentials:1") == stored


def test_the_code_of_a_form_that_was_taken_meanwhile_is_not_called_wrong(store, alice, app):
    """A double click: the second form comes without the cookie that the answer to the first one brings."""
    factors, code = SecondFactors(store), app.code()
    assert factors.add_totp(1, app.secret, code)
    with pytest.raises(AlreadyThere):
        factors.add_totp(1, app.secret, code)


def test_the_page_draws_a_qr_code_with_the_address_for_the_app(client):
    page = client.post(ADD_APP, {"password": PASSWORD})
    text = page.content.decode()
    shown = re.search(r'<code dir="ltr">([A-Z2-7 ]+)</code>', text)[1].replace(" ", "")
    assert html.unescape(re.search(r'href="(otpauth:[^"]+)"', text)[1]).startswith(
        f"otpauth://totp/Retwis:Alice?secret={shown}&issuer=Retwis"
    )
    assert re.search(r'<svg class="qr" viewBox="0 0 (\d+) \1" role="img" aria-label="[^"]+">', text)
    assert 'name="code"' in text
    assert "style=" not in text
    assert "no-store" in page["Cache-Control"]


def test_a_key_is_of_one_session_and_nobody_makes_one(browser, store, raw, client, app, monkeypatch):
    app.secret, key = begin(client)
    other = browser(log_in(store))
    for text in (key, "x", ""):
        assert other.post(ADD_APP, {"key": text, "code": app.code()})["Location"] == ADD_APP
    monkeypatch.setattr("accounts.second_factor.views.KEY_LIVES", -1)
    assert client.post(ADD_APP, {"key": key, "code": app.code()})["Location"] == ADD_APP
    assert raw.hgetall("credentials:1") == {}


@pytest.mark.parametrize("step", range(3))
def test_a_process_that_dies_while_an_app_is_added_leaves_it_or_none(store, raw, alice, app, step):
    code = app.code()
    assert killed_before_round_trip(step, lambda: SecondFactors(store).add_totp(1, app.secret, code))
    added = raw.hexists("credentials:1", "totp")
    assert added == (step == 2)
    assert SecondFactors(store).add_totp(1, app.secret, app.next_code()) if not added else True
    assert not SecondFactors(store).take_code(1, SecondFactors(store).account(1)[1].totp, code)


def test_it_is_removed_and_its_codes_open_nothing(client, store, raw, alices_app):
    client.post("/settings/confirm/", {"code": alices_app.next_code()})
    assert client.get(REMOVE_APP).status_code == 405
    assert "The authenticator app was removed." in page_of(client.post(REMOVE_APP, follow=True))
    assert raw.keys("credentials:*") == []
    alices_app.secret = "KRSXG5CTMVRXEZLUKRSXG5CTMVRXEZLU"  # of another app, in the same half minute
    assert SecondFactors(store).add_totp(1, alices_app.secret, alices_app.code())


# ---- passkeys


def test_a_passkey_is_created_after_the_password_with_a_name(client, raw):
    raw.hset("user:1", "name", 'Al"></form>')
    assert client.post(ADD_KEY, {"password": "wrong"}).status_code == 422
    options, passkey = options_in(client.post(ADD_KEY, {"password": PASSWORD})), Authenticator()
    assert options["user"] == {"id": bytes_to_base64url(b"1"), "name": "Alice", "displayName": 'Al"></form>'}
    assert (options["attestation"], options["authenticatorSelection"]["residentKey"]) == ("none", "preferred")
    assert client.post(ADD_KEY, {"passkey": passkey.create(options), "name": "  My phone "}).status_code == 302
    [(field, value)] = raw.hgetall("credentials:1").items()
    assert field.startswith("passkey:")
    assert json.loads(value)["name"] == "My phone"
    assert client.cookies[CONFIRMED_COOKIE].value
    page = client.get(PAGE).content.decode()
    assert "My phone" in page
    assert json.loads(value)["key"] not in page
    removed = client.post(REMOVE_KEY, {"passkey": field.removeprefix("passkey:")}, follow=True)
    assert "The passkey was removed." in page_of(removed)
    assert raw.keys("credentials:*") == []


def test_each_change_counts_for_the_limit_and_is_logged(client, raw, settings, caplog, app):
    settings.THROTTLE = True
    caplog.set_level(logging.INFO)
    options = options_in(client.post(ADD_KEY, {"password": PASSWORD}))
    client.post(ADD_KEY, {"passkey": Authenticator().create(options), "name": "Phone"})
    [field] = raw.hkeys("credentials:1")
    client.post(REMOVE_KEY, {"passkey": field.removeprefix("passkey:")})
    assert raw.zcard("throttle:security:1") == 3
    app.secret, key = begin(client)
    client.post(ADD_APP, {"key": key, "code": app.code()})
    client.post(REMOVE_APP)
    assert raw.zcard("throttle:security:1") == 6
    logged = [record.getMessage() for record in caplog.records if record.name == "retwis.accounts"]
    things = ("a passkey", "a passkey", "an authenticator app", "the authenticator app")
    done = zip(("added", "removed") * 2, things, strict=True)
    assert logged == [f"user 1 {did} {thing} from 127.0.0.1" for did, thing in done]


def test_without_a_name_it_has_that_of_the_browser(client, raw):
    options = options_in(client.post(ADD_KEY, {"password": PASSWORD}))
    client.post(
        ADD_KEY, {"passkey": Authenticator().create(options), "name": ""}, headers={"user-agent": "Firefox/1 Linux"}
    )
    assert '"name":"Firefox on Linux"' in str(raw.hvals("credentials:1"))


def test_several_passkeys_and_an_app_are_there_at_once(store, alice, alices_app):
    for name in ("Phone", "Desk"):
        Authenticator().add(store, name)
    factors = SecondFactors(store).account(1)[1]
    assert {one.name for one in factors.passkeys} == {"Phone", "Desk"}
    assert factors.totp is not None


DEEP = bytes_to_base64url(b"[" * 9999)


@pytest.mark.parametrize(
    "answer",
    [
        *("", "x", "[]", "{}", '{"response": {}}', "[" * 9999),
        *(json.dumps({"response": {"clientDataJSON": inner}}) for inner in ("e30", DEEP)),
    ],
)
def test_what_is_no_passkey_is_refused(client, raw, answer):
    assert client.post(ADD_KEY, {"passkey": answer, "name": "x"}).status_code in {302, 422}
    assert raw.keys("credentials:*") == []


@pytest.mark.parametrize("answer", ["", "x", "x" * 30_000, Authenticator().create({"challenge": "AA"})])
@pytest.mark.parametrize("name", ["", "a" * 51])
def test_a_form_with_errors_brings_no_challenge_without_the_password(client, answer, name):
    page = client.post(ADD_KEY, {"passkey": answer, "name": name}, follow=True).content.decode()
    assert "data-options" not in page
    assert 'name="password"' in page


def test_a_name_that_is_too_long_comes_back_with_another_challenge(client, raw):
    passkey, typed = Authenticator(), "a" * 51
    options = options_in(client.post(ADD_KEY, {"password": PASSWORD}))
    again = client.post(ADD_KEY, {"passkey": passkey.create(options), "name": typed})
    assert (again.status_code, raw.exists("credentials:1")) == (422, 0)
    assert "1 character too many." in again.content.decode()
    assert f'value="{typed}"' in again.content.decode()
    client.post(ADD_KEY, {"passkey": passkey.create(options_in(again)), "name": "Phone"})
    assert raw.hlen("credentials:1") == 1


def test_an_answer_to_another_session_or_purpose_is_refused(browser, store, raw, client):
    options = options_in(client.post(ADD_KEY, {"password": PASSWORD}))
    browser(log_in(store)).post(ADD_KEY, {"passkey": Authenticator().create(options), "name": "x"})
    for_login = json.loads(client.get("/login/passkey/").content)
    client.post(ADD_KEY, {"passkey": Authenticator().create(for_login), "name": "x"})
    assert raw.keys("credentials:*") == []


def test_the_number_of_passkeys_is_bounded(store, raw, alice):
    raw.hset("credentials:1", mapping={f"passkey:{number}": "{}" for number in range(MOST_PASSKEYS + 1)})
    with pytest.raises(Exception, match="too many"):
        Authenticator().add(store)


# ---- the page


def test_the_page_is_for_users_and_leads_to_all_of_it(browser, store, client):
    assert browser().get(PAGE)["Location"].startswith("/login/")
    assert "You log in with your password alone" in client.get(PAGE).content.decode()
    assert f'href="{PAGE}"' in client.get("/settings/").content.decode()
    RecoveryCodes(store).make(1)
    assert "You have 10 codes left" in client.get(PAGE).content.decode()


def test_all_factors_go_together_and_the_password_opens_the_account_again(store, raw, alice, alices_app, passkey):
    assert remove_factors(store, 1)
    assert raw.keys("credentials:*") == []
    assert not remove_factors(store, 1)
    assert log_in(store) is not None
