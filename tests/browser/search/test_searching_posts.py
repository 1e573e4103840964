"""Somebody searches posts: by words, a phrase, without a word, and on to older ones."""

import secrets

import pytest
from playwright.sync_api import expect

from tests.browser.support.steps import nothing_scrolls_sideways, post
from tests.browser.support.windows import PHONE
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.search.index import Indexing


def publish(store, login, texts):
    pids = [Posts(store).publish(login.user.uid, NewPost(text), secrets.token_hex(8)).pid for text in texts]
    Indexing(store).index(pids)


def search(page, typed):
    page.get_by_role("searchbox", name="Search posts, people and tags").fill(typed)
    page.get_by_role("search").get_by_role("button", name="Search").click()


@pytest.mark.parametrize("scripts", [True, pytest.param(False, marks=pytest.mark.gate)], ids=["scripts", "no scripts"])
def test_words_phrases_and_exclusions_find_posts(window, console, store, alice, scripts):
    name = alice.user.username
    publish(store, alice, ["Green tea with lemon", "Black teas, green cups", "A lemon"])
    page = window(alice, at="/search/", java_script_enabled=scripts)
    expect(page.get_by_text("Posts with exactly this phrase")).to_be_visible()
    search(page, f"green tea from:{name}")
    expect(page.get_by_role("article")).to_have_count(2)
    expect(post(page, "Black teas").locator("mark")).to_have_text(["teas", "green"])
    expect(page.get_by_text("Posts with exactly this phrase")).to_be_hidden()
    search(page, f'"green tea" from:{name}')
    expect(page.get_by_role("article")).to_have_count(1)
    expect(post(page, "Green tea with lemon").locator("mark")).to_have_text("Green tea")
    search(page, f"tea -lemon from:{name}")
    expect(page.get_by_role("article")).to_have_count(1)
    expect(post(page, "Black teas")).to_be_visible()
    search(page, f"coffee from:{name}")
    expect(page.get_by_text("No posts found.")).to_be_visible()
    console.expects(400, "/search/")
    search(page, "before:today")
    expect(page.get_by_text("Write a date as year, month and day")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_search_goes_on_to_older_posts(window, store, alice, scripts):
    publish(store, alice, [f"jasmine {number}" for number in range(25)])
    page = window(alice, at="/search/?q=jasmine&in=mine", java_script_enabled=scripts, viewport=PHONE)
    nothing_scrolls_sideways(page)
    expect(page.get_by_role("article")).to_have_count(20)
    page.get_by_role("link", name="Older posts").click()
    expect(page.get_by_role("article")).to_have_count(25 if scripts else 5)
    expect(page.get_by_text("End of the results.")).to_be_visible()


def test_the_bar_of_a_phone_and_the_side_of_a_wide_page_lead_to_the_search(window, alice):
    phone = window(alice, at="/", viewport=PHONE)
    phone.get_by_role("navigation", name="Main").get_by_role("link", name="Search").click()
    expect(phone).to_have_url("/search/")
    wide = window(alice, at="/", viewport={"width": 1300, "height": 900})
    field = wide.get_by_role("searchbox", name="Search posts, people and tags")
    field.fill("jasmine")
    field.press("Enter")
    expect(wide).to_have_url("/search/?q=jasmine")
