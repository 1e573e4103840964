"""A post is deleted after a confirmation, and stays deleted."""

import pytest
from playwright.sync_api import expect

from tests.browser.support.steps import AGE, more, post, said, write


@pytest.mark.parametrize("scripts", [True, pytest.param(False, marks=pytest.mark.gate)], ids=["scripts", "no scripts"])
def test_one_click_does_not_delete_and_the_second_does(window, console, alice, raw, scripts):
    page = window(alice, at="/", java_script_enabled=scripts)
    write(page, "Not for long")
    its = post(page, "Not for long")
    address = its.get_by_role("link", name=AGE).get_attribute("href")
    more(its).click()
    menu = its if scripts else page.get_by_role("main")
    menu.get_by_text("Delete", exact=True).click()
    confirmation = menu.get_by_role("button", name="Yes, delete this post")
    expect(confirmation).to_be_visible()
    assert raw.zcard(f"updates:{alice.user.uid}") == 1
    confirmation.click()
    said(page, "Deleted.")
    expect(its).to_have_count(0)
    assert raw.zcard(f"updates:{alice.user.uid}") == 0
    console.expects(410, address)
    page.goto(address)
    expect(page.get_by_role("heading", name="Deleted")).to_be_visible()
