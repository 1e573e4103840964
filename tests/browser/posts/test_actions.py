"""Liking, reposting and bookmarking on the card: the page stays, the focus stays, and a second click takes it back."""

import pytest
from playwright.sync_api import expect

from tests.browser.support.steps import held, nothing_scrolls_sideways, post, posted, stayed, stays, write
from tests.browser.support.windows import PHONE, ZOOMED
from tests.support.stored_keys import publish


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
    page = window(alice, at="/", java_script_enabled=False)
    write(page, "Worth it")
    post(page, "Worth it").get_by_role("button", name="Like").click()
    expect(post(page, "Worth it").get_by_role("button", name="Like 1")).to_have_attribute("aria-pressed", "true")
    assert "#post-" in page.url
    assert raw.zcard(f"likes:{alice.user.uid}") == 1


def test_actions_at_once_on_a_slow_line_all_show(alice, raw, page):
    posted(page, "Worth all")
    waiting = held(page, "**/like/")
    card = post(page, "Worth all")
    card.get_by_role("button", name="Like").click()
    card.get_by_role("link", name="Repost").click()
    card.get_by_role("button", name="Repost").click()  # in a menu
    card.get_by_role("button", name="Bookmark").click()
    waiting.pop().continue_()
    for action in ("Like", "Bookmark"):
        button = card.get_by_role("button", name=action)
        expect(button).to_have_attribute("aria-pressed", "true")
    expect(card.get_by_role("link", name="Reposted 1")).to_be_visible()
    expect(button).to_be_focused()
    for key in ("likes", "reposts", "bookmarks"):
        assert raw.zcard(f"{key}:{alice.user.uid}") == 1


@pytest.fixture
def held_like(page):
    """A post with a like that is not answered yet; and what lets the answer go."""
    posted(page, "Worth it")
    waiting = held(page, "**/like/")
    card = post(page, "Worth it")
    like = card.get_by_role("button", name="Like")
    like.click()

    def go():
        waiting.pop().continue_()
        expect(like).to_have_attribute("aria-pressed", "true")

    return card, go


def test_an_answer_scrolls_nobody_back(page, held_like):
    card, go = held_like
    like = card.get_by_role("button", name="Like")
    page.set_viewport_size({"width": 1280, "height": 150})
    page.evaluate("() => scrollTo(0, 0)")
    expect(like).not_to_be_in_viewport()
    go()
    expect(like).to_be_focused()
    assert page.evaluate("() => scrollY") == 0


def test_an_answer_leaves_a_menu_that_was_opened_meanwhile(page, held_like):
    card, go = held_like
    card.get_by_role("link", name="Repost").press("Enter")
    expect(card.get_by_role("button", name="Repost")).to_be_focused()
    page.keyboard.press("ArrowDown")
    go()
    expect(card.get_by_role("link", name="Quote")).to_be_focused()


def test_a_menu_that_is_asked_for_before_an_answer_opens_after_it(page, held_like):
    card, go = held_like
    menus = held(page, "**/repost-or-quote/")
    with page.expect_request("**/repost-or-quote/"):
        card.get_by_role("link", name="Repost").click()
    go()
    menus.pop().continue_()
    expect(card.get_by_role("button", name="Repost")).to_be_focused()


@pytest.mark.parametrize("viewport", [PHONE, ZOOMED], ids=lambda viewport: str(viewport["width"]))
def test_numbers_stay_on_one_line_on_a_phone(window, store, raw, alice, viewport):
    pid = publish(raw, store, alice, "Read by many")
    raw.hset(f"post:{pid}", mapping={"replies": 174, "reposts": 1740, "likes": 17402})
    page = window(alice, at="/", viewport=viewport)
    card = post(page, "Read by many")
    acts = [card.get_by_role("link", name="Reply 174"), card.get_by_role("link", name="Repost 1740")]
    acts += [card.get_by_role("button", name="Like 17402"), card.get_by_role("button", name="Bookmark")]
    assert len({one.bounding_box()["height"] for one in acts}) == 1
    nothing_scrolls_sideways(page)


FINGER = 44  # pixels wide at least
# How far each action, with its number, reaches beyond the beginning of the next one in its line.
OVERLAPS = """
(acts) => {
  const parts = [...acts.children].map((one) => {
    const text = document.createRange();
    text.selectNodeContents(one);
    return [one.getBoundingClientRect(), text.getBoundingClientRect()];
  });
  return parts.slice(1).map(([next], at) => (next.top === parts[at][0].top ? parts[at][1].right - next.left : 0));
}
"""


@pytest.mark.parametrize("width", [360, 320])
def test_no_number_lies_over_the_next_action(window, store, raw, alice, width):
    pid = publish(raw, store, alice, "Read by all")
    page = window(alice, viewport={"width": width, "height": 740})
    for number in (1, 1234, 12345, 1234567):
        raw.hset(f"post:{pid}", mapping=dict.fromkeys(("replies", "reposts", "likes"), number))
        page.goto("/")
        card = post(page, "Read by all")
        expect(card.get_by_role("button", name=f"Like {number}")).to_be_visible()
        assert max(card.locator(".acts").evaluate(OVERLAPS)) <= 0
        assert card.get_by_role("button", name="Bookmark").bounding_box()["width"] >= FINGER
        nothing_scrolls_sideways(page)
