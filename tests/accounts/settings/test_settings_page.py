"""`/settings/`: the form for the display name and the bio, and the links to the other settings."""

import re

import pytest
from django.utils.html import escape

from accounts.settings.views import EDITS
from tests.support.http.page_text import page_of
from tests.support.stored_keys import everything, name_entries

URL = "/settings/"
FORM = {"name": "Ann of Cleves", "bio": "Queen for half a year."}


def page(client, url=URL):
    return client.get(url).content.decode()


def field_values(text):
    """The values of the two fields."""
    name = re.search(r'<input type="text" name="name"(?: value="([^"]*)")?', text)[1] or ""
    return name, re.search(r'<textarea name="bio"[^>]*>\n(.*?)</textarea>', text, re.DOTALL)[1]


# ---- saving


def test_the_name_and_the_bio_are_saved_and_shown_again(member, raw):
    answer = member.post(URL, FORM)
    assert (answer.status_code, answer["Location"]) == (302, URL)
    text = page(member)
    assert "Saved." in text
    assert field_values(text) == (FORM["name"], FORM["bio"])
    assert raw.hmget("user:1", "name", "bio") == [FORM["name"], FORM["bio"]]
    assert name_entries(raw) == {"alice:1": 0, "ann of cleves:1": 0, "of cleves:1": 0, "cleves:1": 0}
    assert raw.zcard("outbox") == 0


def test_no_other_field_of_the_account_changes(browser, alice, raw):
    before = raw.hgetall("user:1")
    browser(alice).post(URL, {**FORM, "username": "eve", "password": "x", "auth": "x", "deleted": "1", "uid": "2"})
    assert raw.hgetall("user:1") == before | FORM


@pytest.mark.parametrize("typed", ["@bob", "＠bob", "﹫ @bob", "\u200d@bob", "\u202e@\u200cbob"])
def test_a_display_name_cannot_pass_for_another_persons_username(member, raw, typed):
    """In a notification no username stands beside it."""
    assert member.post(URL, {**FORM, "name": typed}).status_code == 302
    assert raw.hget("user:1", "name") == "bob"


@pytest.mark.parametrize("typed", ["@", "@ ＠", "@\u0301"])
def test_a_display_name_of_at_signs_is_none(member, raw, typed):
    assert member.post(URL, {**FORM, "name": typed}).status_code == 302
    assert not raw.hget("user:1", "name")


def test_the_name_and_the_bio_may_be_empty(member, raw):
    member.post(URL, FORM)
    assert member.post(URL, {"name": "", "bio": ""}).status_code == 302
    assert field_values(page(member)) == ("", "")
    assert raw.hmget("user:1", "name", "bio") == ["", ""]
    assert name_entries(raw) == {"alice:1": 0}


def test_what_was_written_for_another_account_is_shown_first_and_saved_when_it_is_sent_again(browser, alice, bob, raw):
    """Such as in a tab that was left open over a login, whose error page has sent all fields again."""
    form = {**dict(re.findall(r'type="hidden" name="(as)" value="(.*?)"', page(browser(alice)))), **FORM}
    before = raw.hgetall("user:2")
    bobs = browser(bob)
    text = page_of(bobs.post(URL, {**form, "label_1": "Web", "value_1": "https://alice.example/"}), 422)
    assert "filled in for another account. You are logged in as @bob." in text
    assert raw.hgetall("user:2") == before
    assert field_values(text) == (FORM["name"], FORM["bio"])
    assert 'value="https://alice.example/"' in text
    bobs.post(URL, {**form, "as": re.search(r'name="as" value="(\d+)"', text)[1]})
    assert raw.hget("user:2", "name") == FORM["name"]


@pytest.mark.parametrize(
    ("form", "complaint"),
    [({**FORM, "name": "x" * 51}, "1 character too many."), ({**FORM, "bio": "x" * 180}, "20 characters too many.")],
)
def test_a_text_that_is_too_long_comes_back_as_typed(browser, alice, raw, form, complaint):
    before = everything(raw)
    text = page_of(browser(alice).post(URL, form), 422)
    assert complaint in text
    assert field_values(text) == (form["name"], form["bio"])
    assert 'aria-invalid="true"' in text
    assert everything(raw) == before


def test_texts_of_the_full_length_are_saved(browser, alice, raw):
    longest = {"name": "\U0001f33b" * 50, "bio": "\u0646" * 160}
    assert browser(alice).post(URL, longest).status_code == 302
    assert raw.hmget("user:1", "name", "bio") == list(longest.values())


@pytest.mark.parametrize("text", ['"><script>x</script>', "&amp; </textarea><b>"])
def test_markup_is_shown_as_text(member, text):
    member.post(URL, {"name": text, "bio": text})
    assert text not in page(member)
    assert field_values(page(member)) == (escape(text), escape(text))


def test_too_many_changes_are_refused_and_the_form_keeps_its_text(browser, alice, store, raw):
    for _ in range(EDITS.times):
        EDITS.count(store, 1)
    assert f'value="{FORM["name"]}"' in page_of(browser(alice).post(URL, FORM), 429)
    assert raw.hmget("user:1", "name", "bio") == [None, None]


# ---- links to the page, and back


OTHER_SETTINGS = ["/settings/appearance/", "/settings/language/", "/settings/password/", "/settings/delete/"]


@pytest.mark.parametrize("url", OTHER_SETTINGS)
def test_the_page_links_to_the_other_settings_and_they_link_back(member, url):
    assert f'<a href="{url}">' in page(member)
    assert f'<p class="back"><a href="{URL}">' in page(member, url)


@pytest.mark.parametrize("url", ["/settings/appearance/", "/settings/language/", "/login/", "/nothing/"])
def test_pages_for_visitors_do_not_link_to_it(browser, url):
    assert f'href="{URL}"' not in page(browser(), url)


@pytest.mark.parametrize("url", ["/", "/timeline/", "/@Alice/", "/@bob/", "/settings/password/"])
def test_every_page_of_a_signed_in_user_links_to_it(browser, alice, bob, url):
    assert f'<a href="{URL}">Settings</a>' in page(browser(alice), url)


def test_the_viewers_own_profile_links_to_it(browser, alice, bob):
    assert f'<a class="button quiet wide" href="{URL}">Edit your profile</a>' in page(browser(alice), "/@Alice/")
    assert "Edit your profile" not in page(browser(alice), "/@bob/")


def test_the_link_to_the_present_page_is_marked(browser, alice):
    assert f'<a href="{URL}" aria-current="page">Settings</a>' in page(browser(alice))


def test_the_username_is_shown_and_cannot_be_changed(browser, alice):
    text = page(browser(alice))
    assert "Your username is <bdi>@Alice</bdi>. It cannot be changed." in text
    assert 'name="username"' not in text


# ---- round trips


def test_the_page_and_the_form_cost_few_round_trips(member, round_trips):
    page(member)
    assert len(round_trips(lambda: page(member)).round_trips) == 1
    assert len(round_trips(lambda: member.post(URL, FORM)).round_trips) == 8  # the viewer, the limit, and six
    assert len(round_trips(lambda: member.post(URL, {**FORM, "bio": "other"})).round_trips) == 3
    assert len(round_trips(lambda: member.post(URL, {**FORM, "bio": "x" * 161})).round_trips) == 1


@pytest.mark.parametrize("address", ["/likes/", "/bookmarks/", "/tags/"])
def test_the_account_menu_leads_to_the_viewers_lists(member, address):
    assert f'<li><a href="{address}">' in member.get("/").content.decode()
    assert f'<li><a href="{address}" aria-current="page">' in member.get(address).content.decode()


def test_password_managers_find_the_form_for_a_new_password(client):
    assert client.get("/.well-known/change-password").url == "/settings/password/"
