"""A printed page has what people wrote, and nothing to press."""

from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from tests.browser.support.steps import more, post, posted
from tests.browser.support.windows import WIDE
from tests.support.stored_keys import publish

A4 = {"width": 718, "height": 1047}  # in pixels of CSS, less the usual margins


@pytest.mark.parametrize("size", [A4, WIDE], ids=["A4", "wide"])
def test_a_thread_is_at_the_top_of_the_first_sheet_without_buttons(page, alice, size):
    posted(page, "For the notice board")
    post(page, "For the notice board").get_by_role("link", name="now").click()
    alone = post(page, "For the notice board")
    expect(more(alone)).to_be_visible()
    page.set_viewport_size(size)
    page.emulate_media(media="print")
    expect(alone).to_be_visible()
    assert alone.bounding_box()["y"] < size["height"] / 4
    expect(more(alone)).to_be_hidden()
    expect(page.get_by_role("link", name="Your bookmarks")).to_be_hidden()
    expect(page.get_by_role("search")).to_be_hidden()


def test_wide_buttons_are_not_printed_either(window, raw, store, alice):
    pid = publish(raw, store, alice, "For the notice board")
    page = window(at=f"/@{alice.user.username}/{pid}/")
    log_in = page.get_by_role("link", name="Log in to reply")
    expect(log_in).to_be_visible()
    page.emulate_media(media="print")
    expect(log_in).to_be_hidden()
    expect(post(page, "For the notice board")).to_be_visible()


def test_a_short_thread_is_one_sheet(page):
    posted(page, "One sheet")
    post(page, "One sheet").get_by_role("link", name="now").click()
    expect(page.get_by_role("heading", name="Post by")).to_have_count(1)
    assert page.pdf(format="A4").count(b"/Type /Page\n") == 1


@pytest.mark.parametrize("size", [A4, WIDE], ids=["A4", "wide"])
def test_paper_says_which_site_it_is_from_and_when_each_post_was_written(page, alice, size):
    posted(page, "For the notice board")
    page.set_viewport_size(size)
    page.emulate_media(media="print")
    brand = page.get_by_role("link", name="Retwis", exact=True)
    assert float(brand.evaluate("link => parseFloat(getComputedStyle(link).fontSize)")) > 12
    age = post(page, "For the notice board").locator("time")
    printed = age.evaluate("time => getComputedStyle(time, '::after').content")
    assert "UTC" in printed
    assert str(datetime.now(UTC).year) in printed
