"""Changing the password on the site, and which passwords are refused."""

import pytest
from django.contrib.auth.hashers import check_password

from tests.support.http.page_text import page_of
from tests.support.people import NEW_PASSWORD, PASSWORD, log_in

URL = "/settings/password/"
FORM = {"password": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}


def signed_in(client):
    return 'action="/logout/"' in client.get("/timeline/").content.decode()


def test_a_password_change_ends_every_other_session(browser, store, alice, raw):
    here, desktop, phone = browser(log_in(store)), browser(log_in(store)), browser(alice)
    assert "Your password was changed" in here.post(URL, FORM, follow=True).content.decode()
    assert check_password(NEW_PASSWORD, raw.hget("user:1", "password"))
    official, mine = raw.hget("user:1", "auth"), here.cookies["auth"].value
    assert official != alice.secret
    assert raw.hgetall("auths") == {official: "1", mine: "1"}
    assert [name for name in raw.hkeys("user:1") if name.startswith("session:")] == [f"session:{mine}"]
    assert signed_in(here)
    assert not signed_in(desktop)
    assert not signed_in(phone)
    assert raw.zcard("outbox") == 0


def test_the_present_password_is_required(browser, alice, raw):
    before = raw.hgetall("user:1")
    assert "Wrong password." in page_of(browser(alice).post(URL, {**FORM, "password": "wrong"}), 422)
    assert raw.hgetall("user:1") == before


def test_two_different_new_passwords_change_nothing(browser, alice, raw):
    page = page_of(browser(alice).post(URL, {**FORM, "password2": NEW_PASSWORD + "!"}), 422)
    assert "The passwords do not match." in page
    assert check_password(PASSWORD, raw.hget("user:1", "password"))


# ---- A password that anybody would try first is refused: the username, and the name of the site.


REFUSED = "Your username and the name of the site are no passwords."


@pytest.mark.parametrize("password", ["somebody_new", "SOMEBODY_new", "strassenfest nord"])
def test_nobody_registers_with_it(browser, raw, monkeypatch, password):
    monkeypatch.setattr("accounts.signing_in.passwords.site_name", lambda: "Straßenfest Nord")
    answer = browser().post("/register/", {"username": "Somebody_New", "password1": password, "password2": password})
    assert answer.status_code == 422
    assert REFUSED in answer.content.decode()
    assert raw.keys("user:*") == []
