"""The composer is one line until it is used."""

import pytest
from playwright.sync_api import expect

from tests.browser.support.keyboard import focus_is_seen
from tests.browser.support.steps import composer, post
from tests.browser.support.windows import ZOOMED
from tests.support.stored_keys import publish


def height(page):
    return composer(page).evaluate("box => box.closest('form').offsetHeight")


def test_it_grows_when_it_is_used_and_stays_open_with_a_text(page):
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
    # Transitions at a hundredth of their speed: a busy machine takes longer for a click than a person.
    page.context.new_cdp_session(page).send("Animation.setPlaybackRate", {"playbackRate": 0.01})
    page.goto("/timeline/")
    composer(page).focus()
    link = post(page, "Click me").get_by_role("link", name=bob.user.username).first
    box = link.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.wait_for_function("() => document.activeElement.tagName !== 'TEXTAREA'")
    page.mouse.up()
    expect(page).to_have_url(f"/@{bob.user.username}/")


# As in Safari: a press on a link takes the focus away. In older ones `display` has no transition.
AS_SAFARI = """
() => {
  addEventListener("mousedown", (event) => {
    event.preventDefault();
    document.activeElement.blur();
  });
  document.styleSheets[0].insertRule(".composer * { transition: none !important; }");
}
"""


def test_in_safari_pictures_can_be_added_to_an_empty_composer(page):
    page.evaluate(AS_SAFARI)
    composer(page).focus()
    page.get_by_role("link", name="Pictures").click(delay=50)
    expect(page.get_by_label("Up to four pictures")).to_be_focused()


@pytest.mark.parametrize("stops", [3, 5, 7])
def test_who_tabs_on_from_an_empty_composer_at_400_percent_sees_the_focus(window, store, raw, alice, stops):
    """The posts move up by more than half of the window, perhaps at a later stop than the first."""
    publish(raw, store, alice, "First stop")
    page = window(alice, at="/", viewport=ZOOMED)
    closed = height(page)
    composer(page).focus()
    for _ in range(stops):
        page.keyboard.press("Tab")
    page.wait_for_function("height => document.querySelector('.composer').offsetHeight === height", arg=closed)
    focus_is_seen(page)
