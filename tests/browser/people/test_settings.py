"""Display name and bio are changed on the settings page."""

import pytest
from playwright.sync_api import expect

from tests.browser.support.steps import account_menu, said


def open_settings(page):
    """By way of one's own profile."""
    page.goto("/")
    account_menu(page).get_by_role("link", name="Your profile").click()
    page.get_by_role("link", name="Edit your profile").click()
    expect(page.get_by_role("heading", name="Settings", exact=True)).to_be_visible()


@pytest.mark.parametrize("scripts", [pytest.param(True, marks=pytest.mark.gate), False], ids=["scripts", "no scripts"])
def test_somebody_changes_their_name_and_bio_and_finds_them_again(window, alice, raw, scripts):
    page = window(alice, java_script_enabled=scripts)
    open_settings(page)
    page.get_by_label("Display name").fill("Ann of Cleves")
    page.get_by_label("About you").fill("Queen for\nhalf a year.")
    page.get_by_role("main").get_by_role("button", name="Save").click()
    said(page, "Saved.")
    page.reload()
    expect(page.get_by_label("Display name")).to_have_value("Ann of Cleves")
    expect(page.get_by_label("About you")).to_have_value("Queen for half a year.")
    assert raw.hget(f"user:{alice.user.uid}", "name") == "Ann of Cleves"


def test_the_counter_says_how_much_room_is_left(window, alice):
    page = window(alice)
    open_settings(page)
    bio = page.get_by_label("About you")
    counter = page.locator("output")
    expect(counter).to_have_text("160")
    bio.fill("x" * 150)
    expect(counter).to_have_text("10")
    expect(page.locator("#said")).to_have_text("Characters left: 10")
    bio.fill("x" * 161)
    expect(counter).to_have_text("-1")
    expect(page.locator("#said")).to_have_text("Too long for your profile")


def test_on_the_smallest_phone_a_fact_has_the_whole_width_for_its_label_and_for_its_text(window, alice):
    page = window(alice, at="/settings/", viewport={"width": 320, "height": 640})
    whole = page.get_by_label("Display name").bounding_box()["width"]
    for field in ("Label 1", "Text or link 1"):
        assert page.get_by_label(field).bounding_box()["width"] == whole
