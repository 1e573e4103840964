"""While a post is typed, `@` and `#` are completed with people and tags."""

import pytest
from playwright.sync_api import expect

from tests.browser.support.accessibility import findings
from tests.browser.support.steps import composer
from tests.browser.support.windows import PHONE
from tests.support.people import register
from tests.support.stored_posts import write_tag


def suggestions(page):
    return page.get_by_role("listbox", name="Suggestions")


def options(page):
    return suggestions(page).get_by_role("option")


def offered(page, tag):
    """It is typed, and both tags are in the list."""
    composer(page).press_sequentially(f"#{tag}")
    expect(options(page)).to_have_count(2)


@pytest.fixture
def tag(raw, name):
    """A prefix of its own, with two tags: the second is used more."""
    prefix = name("Topic")
    write_tag(raw, f"{prefix}_one", [1])
    write_tag(raw, f"{prefix}_two", [1, 2])
    return prefix


@pytest.mark.gate
def test_arrow_keys_choose_and_enter_takes(page, tag):
    composer(page).press_sequentially(f"About #{tag.lower()}")
    expect(options(page)).to_have_count(2)
    assert composer(page).get_attribute("aria-activedescendant") is None
    composer(page).press("ArrowDown")
    expect(options(page).first).to_have_attribute("aria-selected", "true")
    assert composer(page).get_attribute("aria-activedescendant") == "completion-1"
    composer(page).press("ArrowDown")
    composer(page).press("Enter")
    expect(composer(page)).to_have_value(f"About #{tag}_one ")
    expect(suggestions(page)).to_have_count(0)
    expect(composer(page)).to_be_focused()


def test_tab_takes_the_chosen_line_and_otherwise_leaves_the_field(page, tag):
    offered(page, tag)
    composer(page).press("ArrowUp")
    composer(page).press("Tab")
    expect(composer(page)).to_have_value(f"#{tag}_one ")
    offered(page, tag)
    composer(page).press("Tab")
    expect(composer(page)).not_to_be_focused()
    expect(suggestions(page)).to_have_count(0)


def test_enter_without_a_choice_is_a_line_break_and_escape_keeps_the_text_both_close_the_list(page, tag):
    for key, text in (("Enter", f"#{tag}\n"), ("Escape", f"#{tag}\n#{tag}")):
        offered(page, tag)
        composer(page).press(key)
        expect(composer(page)).to_have_value(text)
        expect(suggestions(page)).to_have_count(0)


def test_a_name_is_completed_in_the_middle_of_a_text(page, bob):
    name = bob.user.username
    composer(page).fill("Hello  there")
    for _ in range(6):
        composer(page).press("ArrowLeft")
    composer(page).press_sequentially(f"@{name[:-1]}")
    expect(suggestions(page).get_by_role("option", name=f"@{name}")).to_be_visible()
    suggestions(page).get_by_role("option", name=f"@{name}").click()
    expect(composer(page)).to_have_value(f"Hello @{name} there")


@pytest.mark.parametrize("sign", ["@", "#"])
def test_what_is_typed_to_its_end_is_not_offered(page, raw, store, name, sign):
    whole = f"{name('Typed')}_end"
    write_tag(raw, whole, [1])
    register(store, whole)
    composer(page).press_sequentially(f"{sign}{whole[:-1]}")
    expect(options(page)).to_have_count(1)
    composer(page).press(whole[-1])
    expect(suggestions(page)).to_have_count(0)


@pytest.mark.parametrize("language", ["en", "de", "ar"])
def test_on_a_wide_screen_the_list_leaves_the_buttons_free(window, alice, tag, language):
    page = window(alice, at="/", locale=language)
    text = page.locator("textarea[name=body]")
    text.press_sequentially(f"#{tag}")
    expect(page.get_by_role("option")).to_have_count(2)
    page.locator(".composer .actions button").last.click()
    expect(page.locator(".message.posted")).to_be_visible()
    expect(page.get_by_role("article").first).to_contain_text(f"#{tag}")
    assert "_two" not in page.get_by_role("article").first.inner_text()


@pytest.mark.parametrize("language", ["en", "de", "ar"])
def test_on_a_phone_the_list_leaves_the_button_free_that_posts(window, alice, raw, store, tag, name, language):
    """A long name takes two lines. Three tags: so many lines reach below the button."""
    write_tag(raw, f"{tag}_three", [1])
    long = register(store, name("w" * 20)).user.username
    page = window(alice, at="/", viewport=PHONE, has_touch=True, locale=language)
    text = page.locator("textarea[name=body]")
    text.press_sequentially(f"@{long[:-1]}")
    expect(page.get_by_role("option").first).to_be_visible()
    wide, seen = page.get_by_role("listbox").evaluate("list => [list.scrollWidth, list.clientWidth]")
    assert wide <= seen
    text.fill("")
    text.press_sequentially(f"#{tag}")
    expect(page.get_by_role("option")).to_have_count(3)
    page.locator(".composer .actions button").last.tap()
    expect(page.locator(".message.posted")).to_be_visible()
    assert "_two" not in page.get_by_role("article").first.inner_text()


def test_a_mail_address_is_not_completed(page, alice):
    composer(page).press_sequentially(f"me@{alice.user.username[:3]}")
    page.wait_for_load_state("networkidle")
    expect(suggestions(page)).to_have_count(0)


@pytest.mark.parametrize("language", ["en", "ar"])
def test_on_a_phone_the_list_stands_below_the_text_and_nothing_scrolls_sideways(window, alice, tag, language):
    page = window(alice, at="/", viewport=PHONE, has_touch=True, locale=language)
    text = page.locator("textarea[name=body]")
    text.press_sequentially(f"#{tag}")
    shown = page.get_by_role("option")
    expect(shown).to_have_count(2)
    assert shown.first.bounding_box()["height"] >= 44
    assert shown.first.bounding_box()["y"] >= text.bounding_box()["y"] + text.bounding_box()["height"]
    width, seen = page.evaluate("() => [document.scrollingElement.scrollWidth, innerWidth]")
    assert width <= seen
    # axe cannot tell colours where the list and the bar lie over the page. Contrasts that it can tell must do.
    assert [found for found in findings(page) if "could not be determined" not in found] == []
    shown.first.tap()
    expect(text).to_have_value(f"#{tag}_two ")


def test_the_list_stays_while_more_is_typed(page, tag):
    composer(page).press_sequentially(f"#{tag[:-1]}")
    expect(suggestions(page)).to_be_visible()
    with page.expect_response(lambda answer: answer.url.endswith(f"/complete/?q=%23{tag}")) as asked:
        composer(page).press(tag[-1])
    asked.value.finished()
    expect(options(page)).to_have_count(2)


def test_enter_chooses_nothing_that_was_marked_before_more_was_typed(page, tag):
    offered(page, tag)
    page.keyboard.press("ArrowDown")
    page.route("**/complete/**", lambda route: None)  # never answered
    page.keyboard.type("x")
    page.keyboard.press("Enter")
    expect(composer(page)).to_have_value(f"#{tag}x\n")


def test_the_keyboard_of_a_phone_composes_a_word_and_the_list_completes_it(window, alice, tag):
    page = window(alice, at="/", viewport=PHONE, has_touch=True)
    composer(page).press_sequentially("About #")
    keyboard = page.context.new_cdp_session(page)
    for end in range(1, len(tag) + 1):
        keyboard.send("Input.imeSetComposition", {"text": tag[:end], "selectionStart": end, "selectionEnd": end})
    expect(options(page)).to_have_count(2)
    options(page).first.tap()
    expect(composer(page)).to_have_value(f"About #{tag}_two ")
