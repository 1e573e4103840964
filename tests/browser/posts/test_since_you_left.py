"""After an absence, home says how many posts are new and marks where the user stopped reading."""

import pytest
from playwright.sync_api import expect

from tests.browser.support.steps import post
from tests.support.stored_keys import publish
from timeline.relations.relations import Follows


@pytest.fixture
def back(window, store, raw, alice, bob):
    """`back(3)`: alice's home page, as she comes back to it after bob has written three posts. Scripts or none: the
    page is the same."""

    def come_back(number, scripts=False):
        Follows(store).follow(alice.user.uid, bob.user.uid)
        publish(raw, store, bob, "Read long ago")
        before = window(alice, at="/")
        expect(post(before, "Read long ago")).to_have_count(1)
        before.context.close()
        for count in range(number):
            publish(raw, store, bob, f"New number {count}.")
        return window(alice, at="/", java_script_enabled=scripts)

    return come_back


def top(locator):
    return locator.bounding_box()["y"]


@pytest.mark.gate
def test_what_is_new_is_counted_and_divided_from_what_was_read_also_after_a_reload(back):
    page = back(3)
    for _ in range(2):
        expect(page.locator(".since")).to_contain_text("3 new posts since your last visit")
        divider = page.locator("p.stopped")
        expect(divider).to_have_count(1)
        assert top(post(page, "New number 0.")) < top(divider) < top(post(page, "Read long ago"))
        page.reload()


def test_a_link_leads_to_where_one_stopped(back):
    page = back(12)
    page.locator(".since").get_by_role("link").click()
    expect(page.locator("p.stopped")).to_be_in_viewport()
    expect(post(page, "Read long ago")).to_be_in_viewport()


def test_where_one_stopped_is_found_although_it_is_pages_away(back):
    page = back(45)
    expect(page.locator(".since")).to_contain_text("45 new posts since your last visit")
    expect(post(page, "Read long ago")).to_have_count(0)
    page.locator(".since").get_by_role("link").click()
    expect(post(page, "Read long ago")).to_be_in_viewport()


def test_between_two_pages_it_is_found_in_place_too(back):
    page = back(20, scripts=True)
    page.get_by_role("link", name="Older posts").click()
    here = page.get_by_text("This is where you stopped reading.")
    expect(here).to_be_visible()
    assert top(post(page, "New number 0.")) < top(here) < top(post(page, "Read long ago"))


def test_whoever_has_read_everything_is_told_so(back):
    page = back(0)
    expect(page.get_by_text("You're all caught up")).to_be_visible()
    expect(page.locator("p.stopped")).to_have_count(0)
