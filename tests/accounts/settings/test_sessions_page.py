"""The page of one's devices, and the page that logs out everywhere."""

import re

import pytest
from django.conf import settings

from accounts.signing_in.sessions.entities import Device
from accounts.signing_in.sessions.repository import Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User, Verified
from retwis_site.store import keys
from retwis_site.store.rate_limits import Limit
from tests.support.people import NEW_PASSWORD, PASSWORD, Login, log_in, signed_in
from tests.support.stores.seam import before_part, each_moment

URL = "/settings/sessions/"
EVERYWHERE = "/settings/sessions/everywhere/"


def page_of(client):
    return client.get(URL).content.decode()


def numbers(page):
    return re.findall(r'name="end" value="([0-9a-f]{16})"', page)


def test_it_lists_each_device_in_words_and_no_secret(browser, store, alice):
    here, phone = log_in(store), log_in(store)
    page = page_of(browser(here))
    assert page.count("Firefox on Linux") == 2 + 1  # and in the label of a button
    assert page.count("This device") == 1
    assert page.index("This device") < page.index('name="end"')
    assert len(numbers(page)) == 1
    for login in (here, phone, alice):
        assert login.secret not in page


@pytest.mark.parametrize("ends", ["end_all", "change_password"])
def test_who_ends_the_other_sessions_is_not_left_in_when_all_of_them_end_meanwhile(browser, store, alice, ends):
    """Somebody has stolen a session. Its owner has ended all of them, on another device or by a new password."""
    arguments = () if ends == "end_all" else ("another hash",)
    for step in each_moment():
        thief = browser(Login(alice.user, opened(store)))
        with before_part(step, lambda: getattr(Sessions(store), ends)(1, *arguments)):
            thief.post(URL, {"end": "others"})
        secret = thief.cookies[settings.AUTH_COOKIE].value
        assert Viewer(store, secret).user.is_authenticated == (not step.has_come), step
    assert step > 5


def test_the_form_of_a_password_overrules_none_that_its_owner_sets_meanwhile(browser, store, raw, alice, monkeypatch):
    """Somebody knows the old password. Its owner sets a new one with a recovery code, when the form has checked the old
    one perhaps: the owner was told that theirs counts, and has logged in with it."""
    monkeypatch.setattr(settings, "THROTTLE", False)
    form = {"password": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    known = raw.hget("user:1", "password")

    def recover():
        generation = Sessions(store).change_password(1, "of the owner")
        return Sessions(store).open(Verified(User(1, "Alice"), generation), Device())

    for step in each_moment():
        raw.hset("user:1", "password", known)
        thief = browser(Login(alice.user, opened(store)))
        with before_part(step, recover) as recovered:
            thief.post("/settings/password/", form)
        secret = thief.cookies[settings.AUTH_COOKIE].value
        assert Viewer(store, secret).user.is_authenticated == (not step.has_come), step
        if step.has_come:
            assert raw.hget("user:1", "password") == "of the owner", step
            assert Viewer(store, recovered[0]).user.is_authenticated, step
    assert step > 12


def opened(store):
    """A session of alice, whatever her password is."""
    generation = str(store.hget(keys.user(1), "generation") or "")
    return Sessions(store).open(Verified(User(1, "Alice"), generation), Device())


def test_a_device_of_which_nothing_is_known_has_a_name(browser, store, raw, alice):
    raw.hset("user:1", "session:other", "1700000000:::")
    assert "Unknown device" in page_of(browser(log_in(store)))


def test_no_device_was_used_before_its_login(browser, store, raw, alice):
    raw.hset("user:1", "session:other", "1700000000::Firefox:Linux")
    page = page_of(browser(log_in(store)))
    assert len(re.findall(r"<time[^>]*>14 November 2023, 22:13 UTC</time>", page)) == 2
    assert "22:00" not in page


def test_a_browser_with_the_official_secret_is_told_so(browser, store, alice):
    assert "before the site could tell devices apart" in page_of(browser(alice))
    assert "before the site could tell devices apart" not in page_of(browser(log_in(store)))


def test_one_device_is_logged_out(browser, store, alice):
    here, phone, desktop = log_in(store), log_in(store), log_in(store)
    client = browser(here)
    for number in numbers(page_of(client)):
        client.post(URL, {"end": number})
        break
    assert signed_in(store, here)
    assert sorted([signed_in(store, phone), signed_in(store, desktop)]) == [False, True]


def test_all_other_devices_are_logged_out(browser, store, raw, alice):
    here, phone = log_in(store), log_in(store)
    client = browser(here)
    answer = client.post(URL, {"end": "others"}, follow=True)
    assert "All your other devices are logged out." in answer.content.decode()
    assert not any(signed_in(store, login) for login in (phone, alice, here))
    secret = client.cookies["auth"].value
    assert [name for name in raw.hkeys("user:1") if name.startswith("session:")] == [f"session:{secret}"]


def test_the_new_session_is_as_old_as_the_one_before(browser, store, raw, alice):
    here = log_in(store)
    raw.hset("user:1", f"session:{here.secret}", "1700000000::Firefox:Linux")
    browser(here).post(URL, {"end": "others"})
    [value] = [value for name, value in raw.hgetall("user:1").items() if name.startswith("session:")]
    assert value.startswith("1700000000:")


def test_a_browser_without_a_session_of_its_own_logs_in_again(browser, store, raw, alice):
    """Its secret is older than sessions, and nobody knows how old."""
    answer = browser(alice).post(URL, {"end": "others"}, follow=True)
    assert "You are logged out on all your devices." in answer.content.decode()
    assert not any(name.startswith("session:") for name in raw.hkeys("user:1"))
    assert not signed_in(store, alice)


@pytest.mark.parametrize("number", ["", "0" * 16, "auth", "x" * 1000, "é"])
def test_a_number_of_no_session_ends_nothing(browser, store, alice, number):
    here, phone = log_in(store), log_in(store)
    assert browser(here).post(URL, {"end": number}).status_code == 302
    assert signed_in(store, here)
    assert signed_in(store, phone)


def test_the_session_of_another_user_cannot_be_ended(browser, store, alice, bob):
    hers = log_in(store)
    [number] = numbers(page_of(browser(log_in(store))))
    browser(log_in(store, "bob")).post(URL, {"end": number})
    assert signed_in(store, hers)


def test_logging_out_everywhere_asks_first(browser, store, raw, alice):
    here, phone = log_in(store), log_in(store)
    client = browser(here)
    assert "also on this one" in client.get(EVERYWHERE).content.decode()
    assert signed_in(store, here)
    answer = client.post(EVERYWHERE, follow=True)
    assert "You are logged out on all your devices." in answer.content.decode()
    assert not any(signed_in(store, login) for login in (here, phone, alice))
    assert client.cookies["auth"].value == ""
    assert raw.hgetall("auths") == {raw.hget("user:1", "auth"): "1"}


def test_the_page_costs_one_round_trip(browser, store, alice, round_trips):
    client = browser(log_in(store))
    client.get(URL)
    for _ in range(20):
        log_in(store)
    assert len(round_trips(lambda: client.get(URL)).round_trips) == 1


def test_ending_sessions_is_limited(browser, store, alice, monkeypatch):
    counted = []
    monkeypatch.setattr(Limit, "count", lambda limit, _store, who: counted.append((limit.name, who)))
    client = browser(log_in(store))
    client.post(URL, {"end": "x"})
    client.post(EVERYWHERE)
    assert counted == [("session", 1)] * 2
