"""Signing in and out, and changing the password: the check of `auths` against the user's hash, and the keys that each
writes."""

import time

import pytest
from django.contrib.auth.hashers import check_password, make_password

from tests.support.http.page_text import page_of
from tests.support.people import NEW_PASSWORD, PASSWORD, log_in, register


def signed_in(client) -> bool:
    return 'action="/logout/"' in client.get("/timeline/").content.decode()


@pytest.mark.parametrize("name", ["alice", "ALICE", "aLiCe", "@Alice", " @alice "])
def test_neither_letter_case_nor_the_sign_before_a_name_matters(client, alice, name):
    client.post("/login/", {"username": name, "password": PASSWORD})
    assert signed_in(client)


def test_an_adopted_name_that_begins_with_the_sign_is_not_taken_for_another_one(client, alice, raw):
    raw.hset("users", "@alice", "9")
    other = {**raw.hgetall("user:1"), "username": "@alice", "password": make_password(NEW_PASSWORD)}
    raw.hset("user:9", mapping=other)
    client.post("/login/", {"username": "@alice", "password": PASSWORD})
    assert not signed_in(client)
    client.post("/login/", {"username": "@alice", "password": NEW_PASSWORD})
    assert raw.hget("auths", client.cookies["auth"].value) == "9"


def test_a_wrong_password_and_an_unknown_name_get_the_same_answer(browser, alice):
    wrong = browser().post("/login/", {"username": "Alice", "password": "wrong"})
    unknown = browser().post("/login/", {"username": "Nobody", "password": "wrong"})
    assert wrong.status_code == unknown.status_code == 422
    message = "Wrong username or password."
    assert message in wrong.content.decode()
    assert message in unknown.content.decode()
    assert 'value="Alice"' in wrong.content.decode()
    assert "auth" not in wrong.cookies


def test_a_user_of_a_foreign_database_without_a_secret_can_log_in(client, alice, raw):
    raw.hdel("user:1", "auth")
    raw.delete("auths")
    client.post("/login/", {"username": "Alice", "password": PASSWORD})
    assert raw.hgetall("auths") == {client.cookies["auth"].value: "1"}
    assert signed_in(client)


def test_a_name_as_typed_in_an_official_database_is_found(client, alice, raw):
    raw.delete("users")
    raw.hset("users", "Alice", 1)
    client.post("/login/", {"username": "Alice", "password": PASSWORD})
    assert signed_in(client)


def test_a_stale_auths_entry_opens_nothing(client, alice, raw):
    raw.hset("auths", "stolen", 1)
    client.cookies["auth"] = "stolen"
    assert not signed_in(client)


def test_a_cached_uid_is_checked_again_on_every_request(alice, member, raw):
    assert signed_in(member)
    raw.hset("user:1", "auth", "another")
    assert not signed_in(member)
    raw.hset("user:1", "auth", alice.secret)
    assert signed_in(member)


def test_a_wrong_cached_uid_makes_the_request_ask_again(alice, member, bob, raw):
    assert signed_in(member)
    raw.hset("auths", alice.secret, 2)  # the secret is bob's from now on
    raw.hset("user:2", "auth", alice.secret)
    assert b"bob" in member.get("/").content


@pytest.mark.parametrize("cookie", ["", "x" * 5000, "ä", "a;b", "\\", "1", "None"])
def test_an_invalid_cookie_is_ignored_and_not_deleted(client, alice, cookie):
    client.cookies["auth"] = cookie
    response = client.get("/timeline/")
    assert response.status_code == 200
    assert "auth" not in response.cookies
    assert not signed_in(client)


def test_logging_out_as_a_visitor_is_harmless(browser, raw):
    assert browser().post("/logout/").status_code == 302
    assert raw.dbsize() == 0


@pytest.mark.parametrize(
    ("after", "lands"),
    [
        ("/@Alice/", "/@Alice/"),
        ("/timeline/?before=5", "/timeline/?before=5"),
        ("//evil.example", "/"),
        ("https://evil.example/", "/"),
        ("http:///evil.example", "/"),
        ("/\\evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("\t//evil.example", "/"),
        ("", "/"),
    ],
)
def test_next_leads_only_to_pages_of_this_site(browser, alice, after, lands):
    form = {"username": "Alice", "password": PASSWORD, "next": after}
    assert browser().post("/login/", form)["Location"] == lands


def test_pages_for_users_send_visitors_to_the_login_and_back(client, alice, bob):
    response = client.post("/@bob/follow/", headers={"referer": "http://testserver/@bob/"})
    assert response["Location"] == "/login/?next=%2F%40bob%2F"
    page = client.get(response["Location"]).content.decode()
    assert '<input type="hidden" name="next" value="/@bob/"' in page


def test_the_login_says_why_it_is_asked_for(client, alice):
    why = "You need to be logged in for that."
    page = client.get("/settings/", follow=True).content.decode()
    assert page.count(why) == 1
    for address in ("/login/", "/login/?next=/", "/register/?next=/settings/"):
        assert why not in client.get(address).content.decode()


def test_login_and_registration_lead_a_signed_in_user_home(member):
    assert member.get("/login/")["Location"] == "/"
    assert member.get("/register/")["Location"] == "/"


def test_the_time_of_a_registration_is_stored(store, raw):
    before = int(time.time())
    register(store, "dora")
    assert before <= raw.zscore("users_by_time", "dora") <= time.time()


# ---- changing the password


URL = "/settings/password/"
FORM = {"password": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}


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
def test_nobody_registers_with_it(browser, raw, password):
    raw.hset("site", "name", "Straßenfest Nord")
    answer = browser().post("/register/", {"username": "Somebody_New", "password1": password, "password2": password})
    assert answer.status_code == 422
    assert REFUSED in answer.content.decode()
    assert raw.keys("user:*") == []
