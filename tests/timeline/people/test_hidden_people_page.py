"""The pages of the people whom a user blocks and mutes, and of the words that a user mutes, with the undo of each."""

import re
import time
from math import inf

import pytest

from retwis_site.rendering.dates import moment
from tests.support.http.page_text import text_of
from tests.support.removed_accounts import delete_and_remove
from timeline.people import directory
from timeline.relations.muted_words import MOST_MUTED
from timeline.relations.relations import BlockedPeople, Mutes

ADDRESS = "/settings/blocks/"
ALICE, BOB, CAROL = 1, 2, 3
FORM = re.compile(
    r'<form method="post" action="([^"]+)">.*?<button class="button quiet"(?: name="what" value="(\w+)")?', re.DOTALL
)

pytestmark = pytest.mark.usefixtures("alice", "bob", "carol")


def forms(client):
    """The address and the `what` of each button."""
    page = client.get(ADDRESS).content.decode()
    return FORM.findall(page[page.index("<main") :])


def test_each_kind_has_its_people_and_its_undo(member, store):
    BlockedPeople(store).block(ALICE, CAROL)
    Mutes(store).mute(ALICE, BOB, time.time() // 1 + 86400)
    Mutes(store).mute_reposts(ALICE, BOB)
    assert forms(member) == [("/@carol/unblock/", ""), ("/@bob/unmute/", "all"), ("/@bob/unmute/", "reposts")]
    assert text_of(member.get(ADDRESS)).count("until ") == 1


def test_a_mute_for_an_hour_ends_then_and_the_page_says_when(member, raw):
    member.post("/@bob/mute/", {"what": "all", "hours": "1"})
    ends = raw.zscore("muted:1", BOB)
    assert ends == pytest.approx(time.time() + 3600, abs=60)
    assert f"until {moment(int(ends), 'en')[1]}" in text_of(member.get(ADDRESS))
    assert member.post("/@carol/mute/", {"what": "all", "hours": "2"}).status_code == 422
    assert raw.zscore("muted:1", CAROL) is None


def test_an_undo_leads_back_to_the_page(member, store, raw):
    BlockedPeople(store).block(ALICE, CAROL)
    Mutes(store).mute(ALICE, BOB)
    for address, what in forms(member):
        response = member.post(address, {"what": what}, headers={"referer": f"http://testserver{ADDRESS}"})
        assert (response.status_code, response["Location"]) == (302, ADDRESS)
    assert not raw.exists("blocked:1", "muted:1")
    assert "You have not blocked or muted anyone." in text_of(member.get(ADDRESS))


def test_mutes_that_have_ended_and_deleted_accounts_are_left_out(browser, alice, carol, store):
    Mutes(store).mute(ALICE, BOB, 1)
    BlockedPeople(store).block(ALICE, CAROL)
    delete_and_remove(store, carol)
    assert forms(browser(alice)) == []


def test_a_list_that_is_cut_says_so(member, raw, monkeypatch):
    monkeypatch.setattr(directory, "MOST", 2)
    raw.zadd("muted:1", {str(BOB): inf})
    assert "not listed" not in text_of(member.get(ADDRESS))
    raw.hset("user:4", "username", "dan")
    raw.zadd("muted:1", {str(CAROL): inf, "4": inf})
    assert len(forms(member)) == 2
    text = "Each list ends after 2 people. To unblock or unmute someone who is not listed, open their profile."
    assert text in text_of(member.get(ADDRESS))


def test_deleted_accounts_and_ended_mutes_do_not_hide_or_pretend_that_a_list_is_cut(member, raw, monkeypatch):
    monkeypatch.setattr(directory, "MOST", 2)
    raw.zadd("blocked:1", {"4": 1, str(BOB): 2, str(CAROL): 3})
    raw.hset(f"user:{CAROL}", "deleted", "1")
    assert forms(member) == [("/@bob/unblock/", "")]  # the third one is not listed
    assert "Each list ends after 2 people." in text_of(member.get(ADDRESS))
    raw.delete("blocked:1")
    raw.zadd("muted:1", {"4": 1, str(BOB): inf})  # a mute that has ended comes after all that stand
    assert "not listed" not in text_of(member.get(ADDRESS))


def test_a_bad_entry_is_skipped(browser, alice, raw):
    raw.zadd("blocked:1", {"x": 1, str(BOB): 2})
    assert forms(browser(alice)) == [("/@bob/unblock/", "")]


def test_others_see_nothing_of_it(browser, bob, store):
    BlockedPeople(store).block(ALICE, BOB)
    assert forms(browser(bob)) == []


def test_the_page_takes_two_round_trips(member, store, round_trips):
    member.get("/settings/")  # the uid of the session is cached then
    Mutes(store).mute(ALICE, BOB)
    BlockedPeople(store).block(ALICE, CAROL)
    assert len(round_trips(lambda: member.get(ADDRESS)).round_trips) == 2


# ---- The page of the words that a user mutes.


WORDS = "/settings/words/"
NEW_WORDS = {"words": "the Finale", "where": "home", "how": "hide", "days": ""}


def test_words_are_muted_shown_and_unmuted(member, raw):
    assert member.post(WORDS, NEW_WORDS)["Location"] == WORDS
    assert raw.zrange("muted_words:1", 0, -1, withscores=True) == [("home hide the Finale", inf)]
    page = member.get(WORDS)
    assert "the Finale Hidden on your home page" in text_of(page)
    assert 'value="home hide the Finale"' in page.content.decode()
    member.post(WORDS, {"unmute": "home hide the Finale"})
    assert not raw.exists("muted_words:1")
    assert "No longer muted: the Finale" in text_of(member.get(WORDS))


@pytest.mark.parametrize("days", [1, 7, 30])
def test_they_are_muted_for_some_days(member, raw, days):
    member.post(WORDS, NEW_WORDS | {"where": "everywhere", "how": "fold", "days": str(days)})
    assert raw.zscore("muted_words:1", "everywhere fold the Finale") == pytest.approx(
        time.time() + days * 86400, abs=60
    )
    assert "Collapsed everywhere · until" in text_of(member.get(WORDS))


@pytest.mark.parametrize(
    ("typed", "stored"), [("  two \n words ", "two words"), ("http://x.example", "http //x.example"), ("Ж", "Ж")]
)
def test_they_are_kept_in_one_line_without_colons(browser, alice, raw, typed, stored):
    browser(alice).post(WORDS, NEW_WORDS | {"words": typed})
    assert raw.zrange("muted_words:1", 0, -1) == [f"home hide {stored}"]


@pytest.mark.parametrize(
    "wrong", [{"words": ""}, {"words": "?!"}, {"words": "x" * 101}, {"where": "there"}, {"how": ""}, {"days": "2"}]
)
def test_a_wrong_form_comes_back_with_what_was_typed(browser, alice, raw, wrong):
    response = browser(alice).post(WORDS, NEW_WORDS | wrong)
    assert response.status_code == 422
    assert f'value="{(NEW_WORDS | wrong)["words"]}"' in response.content.decode() or not (NEW_WORDS | wrong)["words"]
    assert not raw.exists("muted_words:1")


def test_the_same_words_are_muted_once(member, raw):
    member.post(WORDS, NEW_WORDS)
    member.post(WORDS, NEW_WORDS | {"words": "THE finale", "where": "everywhere"})
    assert raw.zrange("muted_words:1", 0, -1) == ["everywhere hide THE finale"]


def test_no_more_than_a_hundred_are_muted(member, raw):
    raw.zadd("muted_words:1", {f"home hide word{number}": inf for number in range(MOST_MUTED)})
    response = member.post(WORDS, NEW_WORDS)
    assert response.status_code == 422
    assert "You can mute up to 100 words and phrases." in text_of(response)
    assert member.post(WORDS, {"unmute": "home hide word7"}).status_code == 302
    assert member.post(WORDS, NEW_WORDS).status_code == 302


def test_what_names_no_words_is_unmuted_without_an_error(browser, alice, raw):
    assert browser(alice).post(WORDS, {"unmute": "nonsense"}).status_code == 302
