"""A line at the top of the window says that an answer is slow. A quick answer shows none."""

import pytest
from playwright.sync_api import expect

from tests.browser.support.steps import SLOW, composer, held, let_slow_answers_come, post
from tests.support.stored_keys import publish

# Playwright asks nothing of a page that is being left, so the page tells it.
TELLS = """
() => {
  const root = document.documentElement;
  new MutationObserver(() => console.log(root.className)).observe(root, { attributes: true });
}
"""


def test_a_form_that_is_slow_says_so_until_the_answer_is_there(page):
    waiting = held(page, "**/post/")
    page.evaluate(TELLS)
    composer(page).fill("A slow one")
    with page.expect_console_message(lambda message: message.text == "slow"):
        page.get_by_role("button", name="Post", exact=True).click(no_wait_after=True)
    waiting.pop().continue_()
    expect(post(page, "A slow one")).to_be_visible()
    expect(page.locator("html")).not_to_have_class(SLOW)


def test_posts_that_are_loaded_in_place_say_so_too(page, raw, store, alice):
    for number in range(25):
        publish(raw, store, alice, f"Number {number}.")
    page.reload()
    waiting = held(page, "**/?before=*")
    page.get_by_role("link", name="Older posts").click()
    let_slow_answers_come(page, waiting)
    expect(page.get_by_role("article")).to_have_count(25)


@pytest.mark.parametrize(
    ("role", "label", "path"),
    [("link", "Reply", "**/compose/**"), ("link", "More", "**/more/"), ("button", "Like", "**/like/")],
)
def test_what_opens_or_changes_in_place_says_so_too(page, raw, store, alice, role, label, path):
    publish(raw, store, alice, "A slow answer.")
    page.reload()
    waiting = held(page, path)
    post(page, "A slow answer.").get_by_role(role, name=label).click()
    let_slow_answers_come(page, waiting)


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_the_line_is_seen_where_the_system_forces_its_colours(window, alice, color_scheme):
    page = window(alice, at="/", forced_colors="active", color_scheme=color_scheme)
    waiting = held(page, "**/settings/appearance/")
    page.keyboard.press("?")
    expect(page.locator("html")).to_have_class(SLOW)
    line = "() => getComputedStyle(document.documentElement, '::before').backgroundColor"
    assert page.evaluate(line) != page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    waiting.pop().continue_()
