"""The page of the words that a user mutes."""

import time
from math import inf

import pytest

from tests.support.http.page_text import text_of
from timeline.relations.muted_words import MOST_MUTED

ADDRESS = "/settings/words/"
FORM = {"words": "the Finale", "where": "home", "how": "hide", "days": ""}

pytestmark = pytest.mark.usefixtures("alice")


def test_words_are_muted_shown_and_unmuted(browser, alice, raw):
    client = browser(alice)
    assert client.post(ADDRESS, FORM)["Location"] == ADDRESS
    assert raw.zrange("muted_words:1", 0, -1, withscores=True) == [("home hide the Finale", inf)]
    page = client.get(ADDRESS)
    assert "the Finale Left out on your home page" in text_of(page)
    assert 'value="home hide the Finale"' in page.content.decode()
    client.post(ADDRESS, {"unmute": "home hide the Finale"})
    assert not raw.exists("muted_words:1")
    assert "No longer muted: the Finale" in text_of(client.get(ADDRESS))


@pytest.mark.parametrize("days", [1, 7, 30])
def test_they_are_muted_for_some_days(browser, alice, raw, days):
    client = browser(alice)
    client.post(ADDRESS, FORM | {"where": "everywhere", "how": "fold", "days": str(days)})
    assert raw.zscore("muted_words:1", "everywhere fold the Finale") == pytest.approx(
        time.time() + days * 86400, abs=60
    )
    shown = text_of(client.get(ADDRESS))
    assert "Folded everywhere · until" in shown


@pytest.mark.parametrize(
    ("typed", "stored"), [("  two \n words ", "two words"), ("http://x.example", "http //x.example"), ("Ж", "Ж")]
)
def test_they_are_kept_in_one_line_without_colons(browser, alice, raw, typed, stored):
    browser(alice).post(ADDRESS, FORM | {"words": typed})
    assert raw.zrange("muted_words:1", 0, -1) == [f"home hide {stored}"]


@pytest.mark.parametrize(
    "wrong", [{"words": ""}, {"words": "?!"}, {"words": "x" * 101}, {"where": "there"}, {"how": ""}, {"days": "2"}]
)
def test_a_wrong_form_comes_back_with_what_was_typed(browser, alice, raw, wrong):
    response = browser(alice).post(ADDRESS, FORM | wrong)
    assert response.status_code == 422
    assert f'value="{(FORM | wrong)["words"]}"' in response.content.decode() or not (FORM | wrong)["words"]
    assert not raw.exists("muted_words:1")


def test_the_same_words_are_muted_once(browser, alice, raw):
    client = browser(alice)
    client.post(ADDRESS, FORM)
    client.post(ADDRESS, FORM | {"words": "THE finale", "where": "everywhere"})
    assert raw.zrange("muted_words:1", 0, -1) == ["everywhere hide THE finale"]


def test_no_more_than_a_hundred_are_muted(browser, alice, raw):
    raw.zadd("muted_words:1", {f"home hide word{number}": inf for number in range(MOST_MUTED)})
    client = browser(alice)
    response = client.post(ADDRESS, FORM)
    assert response.status_code == 422
    assert "You can mute up to 100 words and phrases." in text_of(response)
    assert client.post(ADDRESS, {"unmute": "home hide word7"}).status_code == 302
    assert client.post(ADDRESS, FORM).status_code == 302


def test_what_names_no_words_is_unmuted_without_an_error(browser, alice, raw):
    assert browser(alice).post(ADDRESS, {"unmute": "nonsense"}).status_code == 302


def test_a_visitor_is_led_to_the_login(browser):
    assert browser().get(ADDRESS)["Location"].startswith("/login/")
