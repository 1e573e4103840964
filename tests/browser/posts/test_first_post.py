"""From the welcome page to the first post: wide, on a phone, dark, and without scripts."""

import pytest
from playwright.sync_api import expect

from tests.browser.support.steps import (
    AGE,
    composer,
    fill_in_registration,
    nothing_scrolls_sideways,
    post,
    posted,
    said,
)
from tests.browser.support.windows import PHONE

WAYS = [
    pytest.param({}, id="wide", marks=pytest.mark.gate),
    pytest.param({"viewport": PHONE, "has_touch": True, "is_mobile": True, "device_scale_factor": 3}, id="phone"),
    pytest.param({"color_scheme": "dark"}, id="dark"),
    pytest.param({"java_script_enabled": False}, id="without scripts"),
    pytest.param({"viewport": PHONE, "java_script_enabled": False}, id="phone without scripts", marks=pytest.mark.gate),
]


@pytest.mark.parametrize("way", WAYS)
def test_from_the_welcome_page_to_the_first_post(window, name, raw, way):
    dora = name("Dora")
    page = window(at="/", **way)
    page.get_by_role("main").get_by_role("link", name="Register", exact=True).click()
    fill_in_registration(page, dora)
    said(page, f"Welcome, {dora}!")
    page.get_by_role("link", name="Skip", exact=True).click()
    empty = page.get_by_role("heading", name="Nothing here yet").locator("xpath=..").bounding_box()
    form = composer(page).locator("xpath=ancestor::form").bounding_box()
    assert empty["y"] >= form["y"] + form["height"] + 8
    posted(page, "The first word is mine, 여러분 <b>&amp;</b>")
    nothing_scrolls_sideways(page)
    first = post(page, "The first word is mine, 여러분 <b>&amp;</b>")
    expect(first).to_have_count(1)
    expect(first.get_by_role("link", name=dora)).to_have_attribute("href", f"/@{dora}/")
    uid = raw.hget("users", dora.lower())
    [pid] = raw.zrange(f"updates:{uid}", 0, -1)
    assert raw.hget(f"post:{pid}", "body") == "The first word is mine, 여러분 <b>&amp;</b>"
    first.get_by_role("link", name=AGE).click()
    expect(page).to_have_url(f"/@{dora}/{pid}/")
    expect(post(page, "The first word is mine")).to_have_count(1)
    nothing_scrolls_sideways(page)


def test_what_was_said_once_is_not_said_again_after_a_reload(page):
    posted(page, "Said once")
    page.reload()
    expect(post(page, "Said once")).to_have_count(1)
    expect(page.get_by_text("Posted.", exact=True)).to_have_count(0)
