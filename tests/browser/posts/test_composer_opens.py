"""The composer is one line until it is used."""

from playwright.sync_api import expect

from tests.browser.support.steps import composer, post
from tests.support.stored_keys import publish


def height(page):
    return composer(page).evaluate("box => box.closest('form').offsetHeight")


def test_it_grows_when_it_is_used_and_stays_open_with_a_text(window, alice):
    page = window(alice)
    page.goto("/")
    before = height(page)
    composer(page).focus()
    assert height(page) > before
    composer(page).fill("Not finished")
    page.get_by_role("link", name="Home").first.focus()
    assert height(page) > before


def test_a_click_on_a_post_below_an_empty_composer_is_not_lost(window, store, raw, alice, bob):
    """When the composer closes, the posts move up. They must not move away under the pointer."""
    publish(raw, store, bob, "Click me")
    page = window(alice)
    page.goto("/timeline/")
    composer(page).focus()
    link = post(page, "Click me").get_by_role("link", name=bob.user.username).first
    box = link.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.wait_for_function("() => document.activeElement.tagName !== 'TEXTAREA'")
    page.mouse.up()
    expect(page).to_have_url(f"/@{bob.user.username}/")
