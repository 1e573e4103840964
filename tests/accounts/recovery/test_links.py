"""Links for a new password: `manage.py resetlink` makes one, and it works once."""

import re

import pytest
from django.core.management import CommandError, call_command

from accounts.community.roles import Roles
from accounts.community.sanctions import Sanctions
from accounts.recovery.codes import LIVES, ResetLinks
from accounts.signing_in.sessions.repository import Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users.deletion import AccountDeletion
from accounts.users.entities import Role, State
from tests.support.command_output import said
from tests.support.people import NEW_PASSWORD, log_in
from tests.support.stores.seam import before_round_trip

FORM = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}


@pytest.fixture
def token(store, alice):
    return ResetLinks(store).make(1)


@pytest.fixture
def url(token):
    return f"/reset/{token}/"


def ended(answer):
    return answer.status_code == 410 and "This link no longer works" in answer.content.decode()


def test_only_the_hash_of_a_token_is_kept_and_for_a_day(raw, token):
    [key] = raw.keys("reset:*")
    assert token not in key
    assert raw.get(key) == "1::"
    assert LIVES - 60 < raw.ttl(key) <= LIVES == 24 * 3600
    assert len(token) == 43


def test_a_link_sets_a_password_and_ends_all_sessions(browser, store, raw, alice, url):
    login = log_in(store)
    client = browser()
    page = client.get(url).content.decode()
    assert "@Alice" in page
    assert "no-store" in client.get(url)["Cache-Control"]
    answer = client.post(url, FORM, follow=True)
    assert answer.redirect_chain == [("/login/", 302)]
    assert not any(Viewer(store, one.secret).user.is_authenticated for one in (login, alice))
    assert log_in(store) is None
    assert log_in(store, password=NEW_PASSWORD) is not None
    assert raw.keys("reset:*") == []


def test_a_used_link_says_so(browser, store, url):
    browser().post(url, FORM)
    assert ended(browser().get(url))
    assert ended(browser().post(url, {"password1": "something else", "password2": "something else"}))
    assert log_in(store, password=NEW_PASSWORD) is not None


def test_an_expired_link_says_so(browser, raw, url):
    raw.delete(*raw.keys("reset:*"))
    assert ended(browser().get(url))


@pytest.mark.parametrize("token", ["x", "0" * 43, "x" * 3000, "ä", "a b", "..", "%00", "1:"])
def test_any_other_token_is_answered_alike(browser, store, alice, token):
    assert ended(browser().get(f"/reset/{token}/"))
    assert ended(browser().post(f"/reset/{token}/", FORM))


@pytest.mark.parametrize("value", ["", "x", "0::", "99::", "1:other:", "1::other", "1:", "1", "1::"])
def test_a_value_of_another_kind_opens_nothing_but_for_the_user_that_it_names(browser, raw, url, value):
    [key] = raw.keys("reset:*")
    raw.set(key, value)
    assert ended(browser().get(url)) == (value != "1::")


def test_a_password_change_ends_the_links_that_were_made_before(browser, store, url):
    Sessions(store).change_password(1, "another hash")
    assert ended(browser().get(url))
    assert browser().get(f"/reset/{ResetLinks(store).make(1)}/").status_code == 200


def test_a_link_of_a_deleted_account_says_that_it_no_longer_works(browser, store, alice, url):
    AccountDeletion(store).delete(alice.user, alice.secret)
    assert ended(browser().get(url))


def test_a_link_for_a_member_opens_no_account_of_staff(browser, store, raw, url):
    """Else a moderator could keep one, and wait until the member becomes an admin."""
    Roles(store).give(1, Role.ADMIN)
    assert ended(browser().get(url))
    assert ended(browser().post(url, FORM))
    assert not ended(browser().get(f"/reset/{ResetLinks(store).make(1)}/"))


def test_of_two_requests_at_once_one_sets_the_password(store, token):
    claimed = []
    with before_round_trip(2, lambda: claimed.append(ResetLinks(store).claim(token))):
        claimed.append(ResetLinks(store).claim(token))
    assert [user and user.uid for user in claimed] == [1, None]


@pytest.mark.parametrize("password", ["short", "password123", "Alice", "reTWIS"])
def test_a_bad_password_takes_no_link(browser, raw, url, password):
    answer = browser().post(url, {"password1": password, "password2": password})
    assert answer.status_code == 422
    assert raw.keys("reset:*") != []


def test_setting_a_password_with_links_is_limited(browser, settings, url):
    settings.THROTTLE = True
    for _ in range(60):
        browser().post(url, {})
    assert browser().post(url, FORM).status_code == 429


def test_the_command_prints_an_address_that_works(browser, store, alice, capsys, settings):
    settings.SITE_ADDRESS = "https://retwis.example"
    out = said(capsys, "resetlink", "ALICE")
    [path] = re.findall(r"^https://retwis\.example(/reset/[\w-]{43}/)$", out, re.MULTILINE)
    assert browser().post(path, FORM).status_code == 302


def test_the_link_of_a_suspended_account_says_why_and_lets_the_person_appeal(browser, store, raw, url):
    Sanctions(store).impose(1, State.SUSPENDED, "Too many advertisements")
    client = browser()
    for answer in (client.get(url), client.post(url, FORM)):
        assert answer.status_code == 403
        assert "Too many advertisements" in answer.content.decode()
        assert "no-store" in answer["Cache-Control"]
    [token] = re.findall(r'name="token" value="([^"]+)"', client.get(url).content.decode())
    client.post("/appeal/", {"token": token, "text": "It was not me."})
    assert raw.zcard("appeals") == 1
    Sanctions(store).lift(1)
    assert client.post(url, FORM).status_code == 302


def test_the_command_names_what_is_wrong(store, alice):
    with pytest.raises(CommandError, match="no user 'nobody'"):
        call_command("resetlink", "nobody")
    AccountDeletion(store).delete(alice.user, alice.secret)
    with pytest.raises(CommandError, match="is deleted"):
        call_command("resetlink", "alice")
