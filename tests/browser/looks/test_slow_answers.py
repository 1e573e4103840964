"""A line at the top of the window says that an answer is slow. A quick answer shows none."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.support.steps import composer, post
from tests.support.stored_keys import publish

SLOW = re.compile(r"\bslow\b")
# Playwright asks nothing of a page that is being left, so the page tells it.
TELLS = """
() => {
  const root = document.documentElement;
  new MutationObserver(() => console.log(root.className)).observe(root, { attributes: true });
}
"""


@pytest.fixture
def held(window, alice):
    """A window, and a list of the requests that wait for their answers."""
    page, waiting = window(alice), []
    yield page, waiting
    for route in waiting:
        route.continue_()


def test_a_form_that_is_slow_says_so_until_the_answer_is_there(held):
    page, waiting = held
    page.route("**/post/", lambda route: waiting.append(route))
    page.goto("/")
    page.evaluate(TELLS)
    composer(page).fill("A slow one")
    with page.expect_console_message(lambda message: message.text == "slow"):
        page.get_by_role("button", name="Post", exact=True).click(no_wait_after=True)
    waiting.pop().continue_()
    expect(post(page, "A slow one")).to_be_visible()
    expect(page.locator("html")).not_to_have_class(SLOW)


def test_posts_that_are_loaded_in_place_say_so_too(held, raw, store, alice):
    page, waiting = held
    for number in range(25):
        publish(raw, store, alice, f"Number {number}.")
    page.goto("/")
    page.route("**/?before=*", lambda route: waiting.append(route))
    page.get_by_role("link", name="Older posts").click()
    expect(page.locator("html")).to_have_class(SLOW)
    waiting.pop().continue_()
    expect(page.get_by_role("article")).to_have_count(25)
    expect(page.locator("html")).not_to_have_class(SLOW)


@pytest.mark.parametrize(("link", "path"), [("Reply", "**/compose/**"), ("More", "**/more/")])
def test_what_opens_in_place_says_so_too(held, raw, store, alice, link, path):
    page, waiting = held
    publish(raw, store, alice, "A slow answer.")
    page.goto("/")
    page.route(path, lambda route: waiting.append(route))
    post(page, "A slow answer.").get_by_role("link", name=link).click()
    expect(page.locator("html")).to_have_class(SLOW)
    waiting.pop().continue_()
    expect(page.locator("html")).not_to_have_class(SLOW)


def test_an_action_in_place_says_so_until_the_answer_is_there(held, raw, store, alice):
    page, waiting = held
    publish(raw, store, alice, "A slow like.")
    page.goto("/")
    page.route("**/like/", lambda route: waiting.append(route))
    like = post(page, "A slow like.").get_by_role("button", name="Like")
    like.click()
    expect(page.locator("html")).to_have_class(SLOW)
    waiting.pop().continue_()
    expect(like).to_have_attribute("aria-pressed", "true")
    expect(page.locator("html")).not_to_have_class(SLOW)
