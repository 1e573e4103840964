"""`/settings/`: what one is called and says about oneself, and the ways to all else that can be chosen."""

import re

import pytest
from django.utils.html import escape

from accounts.settings.limits import EDITS
from retwis_site.store.rate_limits import RateLimits
from tests.support.people import PASSWORD
from tests.support.stored_keys import everything, filed

URL = "/settings/"
FORM = {"name": "Ann of Cleves", "bio": "Queen for half a year."}


def page(client, url=URL):
    return client.get(url).content.decode()


def shown(text):
    """What stands in the two fields."""
    name = re.search(r'<input type="text" name="name"(?: value="([^"]*)")?', text)[1] or ""
    return name, re.search(r'<textarea name="bio"[^>]*>\n(.*?)</textarea>', text, re.DOTALL)[1]


# ---- saving


def test_what_is_typed_is_kept_and_shown_again(browser, alice, raw):
    client = browser(alice)
    answer = client.post(URL, FORM)
    assert (answer.status_code, answer["Location"]) == (302, URL)
    text = page(client)
    assert "Saved." in text
    assert shown(text) == (FORM["name"], FORM["bio"])
    assert raw.hmget("user:1", "name", "bio") == [FORM["name"], FORM["bio"]]
    assert filed(raw) == {"alice:1": 0, "ann of cleves:1": 0}
    assert raw.zcard("outbox") == 0


def test_nothing_else_of_the_account_changes(browser, alice, raw):
    before = raw.hgetall("user:1")
    browser(alice).post(URL, {**FORM, "username": "eve", "password": "x", "auth": "x", "deleted": "1", "uid": "2"})
    assert raw.hgetall("user:1") == before | FORM


def test_both_may_be_empty(browser, alice, raw):
    client = browser(alice)
    client.post(URL, FORM)
    assert client.post(URL, {"name": "", "bio": ""}).status_code == 302
    assert shown(page(client)) == ("", "")
    assert raw.hmget("user:1", "name", "bio") == ["", ""]
    assert filed(raw) == {"alice:1": 0}


def test_somebody_elses_is_theirs(browser, alice, bob, raw):
    browser(alice).post(URL, FORM)
    assert shown(page(browser(bob))) == ("", "")
    assert raw.hmget("user:2", "name", "bio") == [None, None]


def test_the_bio_alone_is_changed_without_touching_the_name(browser, alice, raw):
    client = browser(alice)
    client.post(URL, FORM)
    before = filed(raw)
    client.post(URL, {**FORM, "bio": "Queen no more."})
    assert raw.hmget("user:1", "name", "bio") == [FORM["name"], "Queen no more."]
    assert filed(raw) == before


@pytest.mark.parametrize(
    ("form", "complaint"),
    [
        ({**FORM, "name": "x" * 51}, "1 character too many."),
        ({**FORM, "bio": "x" * 180}, "20 characters too many."),
    ],
)
def test_what_is_too_long_comes_back_as_it_was_typed(browser, alice, raw, form, complaint):
    before = everything(raw)
    answer = browser(alice).post(URL, form)
    text = answer.content.decode()
    assert answer.status_code == 422
    assert complaint in text
    assert shown(text) == (form["name"], form["bio"])
    assert 'aria-invalid="true"' in text
    assert everything(raw) == before


def test_the_longest_are_taken(browser, alice, raw):
    longest = {"name": "\U0001f33b" * 50, "bio": "\u0646" * 160}
    assert browser(alice).post(URL, longest).status_code == 302
    assert raw.hmget("user:1", "name", "bio") == list(longest.values())


@pytest.mark.parametrize("text", ['"><script>x</script>', "&amp; </textarea><b>"])
def test_whatever_is_typed_is_text(browser, alice, text):
    client = browser(alice)
    client.post(URL, {"name": text, "bio": text})
    assert text not in page(client)
    assert shown(page(client)) == (escape(text), escape(text))


def test_without_a_token_nothing_is_saved(browser, alice, raw):
    answer = browser(alice, csrf=True).post(URL, FORM)
    assert answer.status_code == 403
    assert FORM["bio"] in answer.content.decode()
    assert raw.hmget("user:1", "name", "bio") == [None, None]


def test_who_changes_it_all_the_time_waits_and_keeps_what_was_typed(browser, alice, store, raw):
    for _ in range(EDITS.times):
        RateLimits(store).count(EDITS, "1")
    answer = browser(alice).post(URL, FORM)
    assert answer.status_code == 429
    assert f'value="{FORM["name"]}"' in answer.content.decode()
    assert raw.hmget("user:1", "name", "bio") == [None, None]


# ---- who is not signed in


def test_it_is_for_users_and_is_never_stored(browser, alice):
    assert browser().get(URL)["Location"] == "/login/?next=%2Fsettings%2F"
    assert "no-store" in browser(alice).get(URL)["Cache-Control"]
    assert "no-store" in browser(alice).post(URL, FORM)["Cache-Control"]


def test_who_was_logged_out_elsewhere_is_told_so_and_can_send_it_again(browser, alice, raw):
    client, phone = browser(alice), browser(alice)
    phone.post("/logout/")
    answer = client.post(URL, FORM)
    text = answer.content.decode()
    assert answer.status_code == 403
    assert "You are logged out" in text
    assert "Nothing was saved." in text
    assert f'value="{FORM["name"]}"' in text
    assert f"{FORM['bio']}</textarea>" in text
    assert f'action="{URL}"' in text
    assert raw.hmget("user:1", "name", "bio") == [None, None]
    client.post("/login/", {"username": "alice", "password": PASSWORD})
    assert client.post(URL, FORM).status_code == 302
    assert raw.hget("user:1", "name") == FORM["name"]


def test_nothing_is_shown_of_what_a_visitor_sends_from_another_site(browser, alice):
    answer = browser().post(URL, FORM, headers={"origin": "https://evil.example"})
    assert answer.status_code == 403
    assert f'action="{URL}"' not in answer.content.decode()


# ---- there and back


CHOSEN = ["/settings/appearance/", "/settings/language/", "/settings/password/", "/settings/delete/"]


@pytest.mark.parametrize("url", CHOSEN)
def test_it_leads_to_all_that_can_be_chosen_and_there_is_a_way_back(browser, alice, url):
    client = browser(alice)
    assert f'<a href="{url}">' in page(client)
    assert f'<p class="back"><a href="{URL}">' in page(client, url)


@pytest.mark.parametrize("url", ["/settings/appearance/", "/settings/language/", "/login/", "/nothing/"])
def test_visitors_are_not_led_to_it(browser, url):
    assert f'href="{URL}"' not in page(browser(), url)


@pytest.mark.parametrize("url", ["/", "/timeline/", "/@Alice/", "/@bob/", "/settings/password/"])
def test_every_page_of_a_user_leads_to_it(browser, alice, bob, url):
    assert f'<a href="{URL}">Settings</a>' in page(browser(alice), url)


def test_ones_own_profile_leads_to_it(browser, alice, bob):
    assert f'<a href="{URL}">Edit your profile</a>' in page(browser(alice), "/@Alice/")
    assert "Edit your profile" not in page(browser(alice), "/@bob/")


def test_the_way_to_where_one_is_is_marked(browser, alice):
    assert f'<a href="{URL}" aria-current="page">Settings</a>' in page(browser(alice))


def test_the_username_is_said_and_cannot_be_typed(browser, alice):
    text = page(browser(alice))
    assert "Your username is <bdi>@Alice</bdi>. It cannot be changed." in text
    assert 'name="username"' not in text


# ---- what it costs


def test_it_costs_few_round_trips(browser, alice, round_trips):
    client = browser(alice)
    page(client)
    assert len(round_trips(lambda: page(client)).round_trips) == 1
    assert len(round_trips(lambda: client.post(URL, FORM)).round_trips) == 8  # who it is, the limit, and six
    assert len(round_trips(lambda: client.post(URL, {**FORM, "bio": "other"})).round_trips) == 3
    assert len(round_trips(lambda: client.post(URL, {**FORM, "bio": "x" * 161})).round_trips) == 1
