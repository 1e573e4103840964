"""What matters needs a fresh second factor, of those who have one, and is as before for all others."""

from urllib.parse import urlencode

import pytest
from django.conf import settings

from accounts.apps.repository import Apps
from accounts.signing_in import factors
from accounts.signing_in.factors import CONFIRMED_COOKIE
from tests.support.people import NEW_PASSWORD, PASSWORD, log_in

CONFIRM = "/settings/confirm/"
CHANGE = {"password": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
PAGES = [
    "/settings/password/",
    "/settings/delete/",
    "/settings/recovery/",
    "/settings/security/totp/add/",
    "/settings/security/passkeys/add/",
]


@pytest.fixture
def client(browser, alice, alices_app):
    """alice is signed in since long before she had an app."""
    return browser(alice)


@pytest.mark.parametrize("url", PAGES)
def test_a_page_asks_for_it_first_and_a_form_does_nothing_without(client, raw, url):
    before = raw.hgetall("user:1"), raw.hgetall("credentials:1")
    for answer in (client.get(url), client.post(url, CHANGE)):
        assert answer["Location"] == f"{CONFIRM}?next={url.replace('/', '%2F')}"
    assert (raw.hgetall("user:1"), raw.hgetall("credentials:1")) == before


@pytest.mark.parametrize(
    ("after", "what"),
    [
        ("/settings/password/", "Change your password"),
        ("/settings/delete/", "Delete your account"),
        ("/settings/recovery/", "Recovery codes"),
        ("/settings/security/totp/add/", "Login security"),
        ("/oauth/authorize?scope=read", "Allow an app"),
    ],
)
def test_the_page_that_asks_says_what_for(client, after, what):
    assert f"<strong>For: {what}</strong>" in client.get(CONFIRM, {"next": after}).content.decode()
    assert "<strong>For:" not in client.get(CONFIRM, {"next": "/settings/"}).content.decode()


def test_so_does_the_download_which_is_no_page_to_come_back_to(client):
    answer = client.get("/settings/download/", headers={"referer": "http://testserver/settings/"})
    assert answer["Location"] == f"{CONFIRM}?next=%2Fsettings%2F"


def test_an_app_is_allowed_something_after_it(client, store, raw, alices_app):
    app, _ = Apps(store).register("Tusky", "", ["https://tusky.app/"], ["read"])
    asked = {"client_id": app.id, "response_type": "code", "redirect_uri": "https://tusky.app/", "scope": "read"}
    address = f"/oauth/authorize?{urlencode(asked)}"
    for answer in (client.get(address), client.post(address, {"allow": "1"})):
        assert answer["Location"] == f"{CONFIRM}?{urlencode({'next': address})}"
    assert raw.keys("code:*") == []
    confirmed = client.post(CONFIRM, {"code": alices_app.next_code(), "next": address})
    assert confirmed["Location"] == address
    assert client.get(address).status_code == 200
    assert client.post(address, {"allow": "1"})["Location"].startswith("https://tusky.app/?code=")


def test_it_is_asked_once_in_ten_minutes(client, alices_app, monkeypatch):
    assert client.post(CONFIRM, {"code": "000000"}).status_code == 422
    answer = client.post(CONFIRM, {"code": alices_app.next_code(), "next": "/settings/password/"})
    assert answer["Location"] == "/settings/password/"
    cookie = client.cookies[CONFIRMED_COOKIE]
    assert (cookie["max-age"], cookie["httponly"]) == (600, True)
    for url in (*PAGES, "/settings/download/"):
        answer = client.get(url)
        if url == "/settings/security/totp/add/":
            assert answer["Location"] == "/settings/security/"  # the app is there already
        else:
            assert answer.status_code == 200
    monkeypatch.setattr(factors, "CONFIRMED_FOR", -1)
    assert client.get(PAGES[0]).status_code == 302


def test_it_counts_for_one_session_alone(browser, client, bob, alices_app):
    client.post(CONFIRM, {"code": alices_app.next_code()})
    other = browser(bob)
    for cookie in (client.cookies[CONFIRMED_COOKIE].value, "x", ""):
        other.cookies[CONFIRMED_COOKIE] = cookie
        assert not factors.is_confirmation(cookie, bob.secret)
    assert factors.is_confirmation(client.cookies[CONFIRMED_COOKIE].value, client.cookies[settings.AUTH_COOKIE].value)


def test_the_password_is_asked_for_as_before(client, alices_app):
    client.post(CONFIRM, {"code": alices_app.next_code()})
    assert client.post("/settings/password/", {**CHANGE, "password": "wrong"}).status_code == 422
    assert client.post("/settings/password/", CHANGE).status_code == 302
    # It has ended this session and begun another one, which has shown nothing yet.
    assert client.get("/settings/password/")["Location"].startswith(CONFIRM)


def test_a_login_with_it_counts_and_a_logout_forgets_it(browser, alices_app):
    client = browser()
    client.post("/login/", {"username": "alice", "password": PASSWORD})
    client.post("/login/second/", {"code": alices_app.next_code()})
    assert client.get("/settings/password/").status_code == 200
    client.post("/logout/")
    assert client.cookies[CONFIRMED_COOKIE].value == ""


def test_who_has_none_is_never_asked(browser, store, bob):
    client = browser(log_in(store, "bob"))
    for url in (*PAGES, "/settings/download/"):
        assert client.get(url).status_code == 200
    assert client.get(f"{CONFIRM}?next=/people/")["Location"] == "/people/"
    assert client.post("/settings/password/", CHANGE).status_code == 302


def test_asking_costs_no_further_round_trip(browser, store, alice, bob, alices_app, round_trips):
    client, of_bob = browser(alice), browser(bob)
    client.post(CONFIRM, {"code": alices_app.next_code()})
    for url in PAGES[:3]:
        costs = []
        for each in (client, of_bob):
            each.get(url)
            costs.append(len(round_trips(lambda: each.get(url)).round_trips))  # noqa: B023
        assert costs == [1, 1], url


def test_the_page_is_for_users_and_leads_nowhere_else(browser, client, alices_app):
    assert browser().get(CONFIRM)["Location"].startswith("/login/")
    answer = client.post(CONFIRM, {"code": alices_app.next_code(), "next": "https://other.example/"})
    assert answer["Location"] == "/"
