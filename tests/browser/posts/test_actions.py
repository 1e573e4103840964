"""Liking, reposting and bookmarking on the card: the page stays, the focus stays, and a second click takes it back."""

import pytest
from playwright.sync_api import expect

from tests.browser.support.steps import post, posted, stayed, stays, write


@pytest.mark.parametrize("action", [pytest.param("Like", marks=pytest.mark.gate), "Bookmark"])
def test_an_action_in_place_keeps_the_focus(alice, raw, action, page):
    posted(page, "Worth it")
    stays(page)
    button = post(page, "Worth it").get_by_role("button", name=action)
    expect(button).to_have_attribute("aria-pressed", "false")
    button.focus()
    button.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(button).to_be_focused()
    button.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "false")
    stayed(page)
    assert raw.zcard(f"{action.lower()}s:{alice.user.uid}") == 0


@pytest.mark.gate
def test_without_scripts_the_page_comes_back_at_the_post(window, alice, raw):
    page = window(alice, java_script_enabled=False)
    page.goto("/")
    write(page, "Worth it")
    post(page, "Worth it").get_by_role("button", name="Like").click()
    expect(post(page, "Worth it").get_by_role("button", name="Like 1")).to_have_attribute("aria-pressed", "true")
    assert "#post-" in page.url
    assert raw.zcard(f"likes:{alice.user.uid}") == 1


def test_two_actions_at_once_on_a_slow_line_both_show(alice, raw, page):
    posted(page, "Worth both")
    waiting = []
    page.route("**/like/", lambda route: waiting.append(route))
    for action in ("Like", "Bookmark"):
        post(page, "Worth both").get_by_role("button", name=action).click()
    waiting.pop().continue_()
    for action in ("Like", "Bookmark"):
        button = post(page, "Worth both").get_by_role("button", name=action)
        expect(button).to_have_attribute("aria-pressed", "true")
    expect(button).to_be_focused()
    assert raw.zcard(f"likes:{alice.user.uid}") == raw.zcard(f"bookmarks:{alice.user.uid}") == 1
