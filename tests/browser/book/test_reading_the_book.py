"""A visitor reads the book: from the footer to the contents, a chapter, the answer of its exercise, the next one."""

import pytest
from playwright.sync_api import expect

from tests.browser.support.steps import nothing_scrolls_sideways
from tests.browser.support.windows import PHONE


def heading(page, text):
    return page.get_by_role("heading", name=text, exact=True, level=1)


@pytest.mark.parametrize("scripts", [pytest.param(True, marks=pytest.mark.gate), False], ids=["scripts", "no scripts"])
def test_a_visitor_reads_two_chapters(window, scripts):
    page = window(at="/people/", java_script_enabled=scripts)
    page.get_by_role("contentinfo").get_by_role("link", name="Book").click()
    page.get_by_role("link", name="Keys and hashes").first.click()
    expect(heading(page, "Keys and hashes")).to_be_visible()
    answer = page.get_by_text("The birthday is a field of the user's hash.")
    expect(answer).to_be_hidden()
    page.get_by_text("Answer", exact=True).click()
    expect(answer).to_be_visible()
    chapters = page.get_by_role("navigation", name="Chapters")
    chapters.get_by_role("link", name="Unique names").click()
    expect(heading(page, "Unique names")).to_be_visible()
    chapters.get_by_role("link", name="Keys and hashes").click()
    expect(heading(page, "Keys and hashes")).to_be_visible()
    chapters.get_by_role("link", name="Contents").click()
    expect(page.get_by_role("heading", name="How to read it")).to_be_visible()


def test_a_picture_is_shown_and_leads_to_itself(window):
    page = window(at="/book/fan-out/")
    picture = page.get_by_role("link", name="Alice's post is pushed to the home of Bob")
    assert picture.get_by_role("img").evaluate("picture => picture.complete && picture.naturalWidth") == 720
    picture.click()
    page.wait_for_url("**/book/fan-out.svg")


def test_a_phone_shows_every_chapter_without_scrolling_sideways(window):
    page = window(at="/book/", viewport=PHONE)
    links = page.locator(".book ol a")
    addresses = [links.nth(number).get_attribute("href") for number in range(links.count())]
    assert len(addresses) >= 12
    for address in addresses:
        page.goto(address)
        nothing_scrolls_sideways(page)
