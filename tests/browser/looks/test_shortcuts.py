"""Keys for what one does most: the next post, a like, a reply, a new post, the search. They can be turned off."""

from playwright.sync_api import expect

from tests.browser.support.steps import composer, held, let_slow_answers_come, post
from tests.support.stored_keys import publish


def test_from_post_to_post_by_keys_and_never_while_one_types(window, store, raw, alice):
    for text in ("The oldest", "The middle", "The newest"):
        publish(raw, store, alice, text)
    page = window(alice)
    page.add_init_script("delete Element.prototype.checkVisibility")  # Safari before 17.4 has none
    page.goto(f"/@{alice.user.username}/")
    page.keyboard.press("j")
    expect(post(page, "The newest")).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(post(page, "The middle")).to_be_focused()
    page.keyboard.press("Control+l")
    page.keyboard.press("l")
    expect(post(page, "The middle").get_by_role("button", name="Like")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("r")
    reply = page.get_by_role("textbox", name="Your reply")
    expect(reply).to_be_focused()
    page.keyboard.type("jkl/?n")
    expect(reply).to_have_value("jkl/?n")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.goto("/")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("n")
    expect(composer(page)).to_be_focused()


def test_a_page_for_a_post_begins_in_its_text_so_that_nothing_typed_there_is_a_key(window, store, raw, alice, bob):
    publish(raw, store, bob, "Listen")
    page = window(alice, at="/people/")
    page.keyboard.press("n")
    text = page.get_by_role("main").get_by_role("textbox")
    expect(text).to_be_focused()
    page.keyboard.type("nl")
    expect(text).to_have_value("nl")
    page.goto(f"/@{bob.user.username}/")
    post(page, "Listen").get_by_role("link", name="Repost").click()
    page.get_by_role("link", name="Quote").click()
    expect(page.get_by_role("textbox", name="Your quote")).to_be_focused()
    page.keyboard.type("Well")
    expect(page.get_by_role("textbox", name="Your quote")).to_have_value("Well")
    assert not raw.exists(f"likes:{alice.user.uid}")


def test_on_a_slow_line_the_list_opens_once_and_takes_the_focus_from_nobody(window, alice):
    page = window(alice, at="/")
    waiting = held(page, "**/settings/appearance/")

    with page.expect_request("**/settings/appearance/"):
        page.keyboard.press("?")
    composer(page).click()
    let_slow_answers_come(page, waiting)
    expect(composer(page)).to_be_focused()
    composer(page).blur()
    for _ in range(2):
        with page.expect_request("**/settings/appearance/"):
            page.keyboard.press("?")
    let_slow_answers_come(page, waiting)
    expect(page.get_by_role("dialog")).to_have_count(1)


def test_the_list_of_keys_is_a_dialog_and_a_part_of_the_page_that_turns_them_off(window, alice):
    page = window(alice, at="/")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog.get_by_text("Next post")).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.goto("/settings/appearance/")
    expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_visible()
    page.get_by_role("radio", name="Off").check()
    page.get_by_role("main").get_by_role("button", name="Save").click()
    page.goto("/")
    page.keyboard.press("?")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).not_to_be_focused()
    expect(dialog).to_have_count(0)
