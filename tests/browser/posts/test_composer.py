"""The composer opens when it is used, counts characters, posts on Ctrl-Enter, and keeps an unposted text."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.support.keyboard import focus_is_seen
from tests.browser.support.steps import composer, held, log_out, post, posted, said, send, sign_up
from tests.browser.support.windows import PHONE, ZOOMED
from tests.support.people import PASSWORD
from tests.support.stored_keys import publish


def counter(page):
    return page.get_by_role("main").locator("output")


def test_the_counter_tells_how_much_room_is_left(page):
    expect(counter(page)).to_have_text("280")
    composer(page).press_sequentially("Hello")
    expect(counter(page)).to_have_text("275")
    composer(page).fill("x" * 281)
    expect(counter(page)).to_have_text(re.compile("[-−]1"))


def test_it_counts_characters_as_the_site_does(page):
    composer(page).fill("👋" * 280)
    expect(counter(page)).to_have_text("0")
    send(page)


def test_screen_readers_hear_when_it_is_too_long(page):
    composer(page).fill("x" * 280)
    composer(page).press("End")
    composer(page).press_sequentially("x")
    expect(page.get_by_role("status").filter(has_text=re.compile("too long", re.IGNORECASE))).to_have_count(1)


def test_they_hear_it_of_what_is_pasted_too(page):
    composer(page).fill("x" * 270)
    expect(page.get_by_role("status").filter(has_text="Characters left: 10")).to_have_count(1)
    composer(page).fill("x" * 300)
    expect(page.get_by_role("status").filter(has_text=re.compile("too long", re.IGNORECASE))).to_have_count(1)


@pytest.mark.parametrize("key", ["Control+Enter", "Meta+Enter"])
def test_ctrl_enter_posts(page, alice, raw, key):
    composer(page).fill("Without leaving the keys")
    composer(page).press(key)
    said(page, "Posted.")
    expect(post(page, "Without leaving the keys")).to_have_count(1)
    assert raw.zcard(f"updates:{alice.user.uid}") == 1


COMPOSED = """
(field) => {
  const options = { key: "Enter", ctrlKey: true, isComposing: true, bubbles: true, cancelable: true };
  field.dispatchEvent(new KeyboardEvent("keydown", options));
}
"""


def test_ctrl_enter_that_ends_a_composition_does_not_post_half_of_it(page, alice, raw):
    composer(page).press_sequentially("Half ")
    keyboard = page.context.new_cdp_session(page)
    keyboard.send("Input.imeSetComposition", {"text": "にほ", "selectionStart": 2, "selectionEnd": 2})
    composer(page).evaluate(COMPOSED)
    keyboard.send("Input.insertText", {"text": "日本"})
    composer(page).press("Control+Enter")
    said(page, "Posted.")
    assert raw.zcard(f"updates:{alice.user.uid}") == 1
    expect(post(page, "Half 日本")).to_have_count(1)


def test_ctrl_enter_twice_posts_once(page, alice, raw):
    composer(page).fill("Impatient")
    page.keyboard.down("Control")
    composer(page).focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.keyboard.up("Control")
    said(page, "Posted.")
    expect(post(page, "Impatient")).to_have_count(1)
    assert raw.zcard(f"updates:{alice.user.uid}") == 1


def test_a_text_is_still_there_after_a_reload_and_after_a_walk(page):
    composer(page).fill("To be finished")
    page.reload()
    expect(composer(page)).to_have_value("To be finished")
    expect(counter(page)).to_have_text("266")
    main = page.get_by_role("navigation", name="Main")
    main.get_by_role("link", name="Everyone").click()
    expect(page.get_by_role("heading", name="Everyone")).to_be_visible()
    main.get_by_role("link", name="Home").click()
    expect(composer(page)).to_have_value("To be finished")


def test_what_was_posted_does_not_come_back(page):
    posted(page, "Posted for good")
    expect(composer(page)).to_have_value("")
    page.reload()
    expect(composer(page)).to_have_value("")


def test_back_does_not_bring_back_what_was_posted(window, store, raw, alice, bob):
    pid = publish(raw, store, bob, "To be answered")
    page = window(alice, at=f"/@{bob.user.username}/{pid}/")
    reply = page.get_by_role("textbox", name="Your reply")
    reply.fill("Once")
    reply.press("Control+Enter")
    said(page, "Posted.")
    page.go_back()
    expect(page).to_have_url(f"/@{bob.user.username}/{pid}/")
    expect(reply).to_have_value("")
    expect(counter(page)).to_have_text("280")


def test_a_page_that_the_browser_kept_does_not_have_it_either(page):
    """Browsers keep whole pages for Back; the one of these tests does not, so its event is sent by hand."""
    composer(page).fill("Once")
    page.evaluate("() => sessionStorage.clear()")  # as the page after it does when it was posted
    page.evaluate("() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    expect(composer(page)).to_have_value("")


@pytest.mark.parametrize(("how", "left"), [("", ""), ("text.focus();", "Half")], ids=["put back", "typed"])
def test_what_the_browser_puts_back_before_the_script_comes_is_no_draft_and_what_is_typed_is_one(page, how, left):
    """Firefox puts it there after Back and a reload; it may be posted by now. Chromium does not, so the test does."""
    scripts = held(page, "**/members*.js")
    with page.expect_request("**/members*.js"):
        page.reload(wait_until="commit")
    composer(page).evaluate(f"text => {{ {how} text.value = 'Half'; }}")
    scripts.pop().continue_()
    page.wait_for_load_state()
    expect(composer(page)).to_have_value(left)
    page.unroute("**/members*.js")
    page.reload()
    expect(composer(page)).to_have_value(left)


@pytest.mark.gate
def test_nobody_finds_the_text_of_who_used_the_browser_before(page, name):
    composer(page).fill("Nobody else's business")
    log_out(page)
    said(page, "You are logged out")
    sign_up(page, name("Grace"))
    expect(composer(page)).to_have_value("")


def log_out_everywhere(page):
    page.goto("/settings/sessions/everywhere/")
    page.get_by_role("main").get_by_role("button", name="Log out everywhere").click()


def delete_the_account(page):
    page.goto("/settings/delete/")
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_role("button", name="Delete my account permanently").click()


@pytest.mark.parametrize("leave", [log_out, log_out_everywhere, delete_the_account])
def test_nothing_that_was_typed_stays_in_the_browser(page, leave):
    composer(page).fill("Nobody else's business")
    leave(page)
    expect(page.get_by_role("heading", name="Short posts from people you choose.")).to_be_visible()
    page.wait_for_load_state()
    assert "business" not in page.evaluate("() => JSON.stringify(sessionStorage)")


# ---- it is one line until it is used


def height(page):
    return composer(page).evaluate("box => box.closest('form').offsetHeight")


def test_it_grows_when_it_is_used_and_stays_open_with_a_text(page):
    before = height(page)
    composer(page).focus()
    assert height(page) > before
    composer(page).fill("Not finished")
    page.get_by_role("link", name="Home").first.focus()
    assert height(page) > before


@pytest.mark.parametrize("width", [390, 412])
def test_on_a_phone_the_buttons_beside_a_text_stand_in_one_row(page, width):
    page.set_viewport_size({**PHONE, "width": width})
    composer(page).fill("Half a text")
    buttons = [page.get_by_role("main").get_by_role("button", name=name, exact=True) for name in ("Discard", "Post")]
    discard, post = [button.bounding_box() for button in buttons]
    assert discard["y"] == post["y"]


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
