"""On a phone the main links are a bar at the bottom. Wider screens have two columns, or three."""

import itertools

import pytest
from playwright.sync_api import expect

from accounts.community.acts import Roles
from accounts.users.entities import Role
from tests.browser.support.windows import PHONE, TABLET, WIDE
from tests.support.protocols.reports import report
from tests.support.stored_keys import publish

THUMB = 48  # pixels high at least


@pytest.fixture
def page(window, store, raw, alice):
    for number in range(20):
        publish(raw, store, alice, f"Number {number}.")
    return window(alice, at="/", viewport=PHONE, has_touch=True, is_mobile=True)


def links(page):
    return page.get_by_role("navigation", name="Main").get_by_role("link")


def lies_at_the_bottom(page):
    boxes = [link.bounding_box() for link in links(page).all()]
    assert len(boxes) >= 3
    bottom = page.viewport_size["height"]
    return all(bottom - 100 <= box["y"] and box["y"] + box["height"] <= bottom + 1 for box in boxes)  # a border


def test_the_bar_stays_at_the_bottom_while_the_page_is_scrolled_and_hides_nothing_of_its_end(page):
    assert lies_at_the_bottom(page)
    page.get_by_role("article").last.scroll_into_view_if_needed()
    assert lies_at_the_bottom(page)
    assert all(link.bounding_box()["height"] >= THUMB for link in links(page).all())
    page.evaluate("() => window.scrollTo(0, document.documentElement.scrollHeight)")
    end = page.get_by_role("contentinfo").get_by_role("link").last
    box, bar = end.bounding_box(), links(page).first.bounding_box()
    assert box["y"] + box["height"] <= bar["y"]


def test_a_tap_goes_there_and_the_bar_says_where_one_is(page):
    links(page).filter(has_text="Everyone").tap()
    expect(page).to_have_url("/timeline/")
    expect(links(page).filter(has_text="Everyone")).to_have_attribute("aria-current", "page")
    assert lies_at_the_bottom(page)
    links(page).filter(has_text="Home").tap()
    expect(page).to_have_url("/")


@pytest.mark.parametrize("way", ["Search", "Everyone", "Explore"])
def test_a_heading_keeps_its_distance_from_what_is_above_it(page, way):
    links(page).filter(has_text=way).tap()
    heading = page.get_by_role("heading", name=way, level=1)
    expect(heading).to_be_visible()
    banner = page.get_by_role("banner").bounding_box()
    assert heading.bounding_box()["y"] >= banner["y"] + banner["height"] + 8


@pytest.mark.parametrize("size", [WIDE, TABLET], ids=["wide", "tablet"])
def test_on_a_wider_screen_the_links_are_a_column_beside_the_posts(page, size):
    page.set_viewport_size(size)
    posts = page.get_by_role("article").first.bounding_box()
    boxes = [link.bounding_box() for link in links(page).all()]
    assert all(box["x"] + box["width"] <= posts["x"] for box in boxes)
    assert len({box["x"] for box in boxes}) == 1


def test_a_phone_that_lies_on_its_side_shows_the_button_for_a_post(page):
    page.set_viewport_size({"width": 740, "height": 300})
    expect(links(page).filter(has_text="Post")).to_be_in_viewport(ratio=1)
    page.keyboard.press("Tab")
    focused = []
    for _ in range(5):
        page.keyboard.press("Tab")
        focused.append(page.evaluate("() => document.activeElement.textContent.trim()"))
    assert focused[1:4] == ["Home", "Search", "Post"]  # as they are seen


def test_a_wide_screen_has_a_third_column(page):
    page.set_viewport_size(WIDE)
    posts, aside = page.get_by_role("article").first, page.get_by_role("complementary")
    assert aside.bounding_box()["x"] >= posts.bounding_box()["x"] + posts.bounding_box()["width"]
    page.set_viewport_size(TABLET)
    assert aside.bounding_box()["y"] > posts.bounding_box()["y"] + posts.bounding_box()["height"]


def test_explore_is_in_the_bar_and_a_finger_finds_each_link_in_320_pixels(page):
    page.set_viewport_size({"width": 320, "height": 600})
    expect(links(page).filter(has_text="Explore")).to_be_visible()
    boxes = [link.bounding_box() for link in links(page).all()]
    assert all(box["width"] >= 44 and box["x"] >= 0 and box["x"] + box["width"] <= 320 for box in boxes)


# Each word of the bar, and each icon with a word, as the pixels from left to right that it covers.
WORDS = """
() => [...document.querySelectorAll("header nav li a")].map((link) => {
  const range = document.createRange(), number = link.querySelector(".number");
  range.selectNodeContents(link.querySelector("span"));
  const word = range.getBoundingClientRect(), { left, width } = link.getBoundingClientRect();
  return {
    word: [word.left, word.right],
    icon: [left + width / 2 - 12, left + width / 2 + 12],
    number: number ? number.getBoundingClientRect().right : 0,
  };
}).sort((one, other) => one.icon[0] - other.icon[0])
"""
APART = 3  # pixels between two words: a space of such small letters


@pytest.mark.parametrize("language", ["en", "de"])
def test_in_the_bar_of_staff_no_word_touches_another_and_no_number_lies_over_the_next_icon(
    page, store, alice, bob, language
):
    Roles(store).give(alice.user.uid, Role.MODERATOR)
    report(store, alice.user.uid, bob.user.uid)
    page.context.set_extra_http_headers({"Accept-Language": language})
    page.reload()
    # The fewest and the most that a number shows.
    for waiting in ("1", "99+"):
        page.evaluate("(it) => { document.querySelector('.to-moderation .number').firstChild.data = it; }", waiting)
        bar = page.evaluate(WORDS)
        assert len(bar) == 7
        for one, following in itertools.pairwise(bar):
            assert following["word"][0] - one["word"][1] >= APART, bar
            assert one["number"] <= following["icon"][0], bar
        assert bar[0]["word"][0] >= APART / 2
        assert bar[-1]["word"][1] <= PHONE["width"] - APART / 2


@pytest.mark.parametrize("width", [360, 320])
def test_staff_sees_on_a_phone_how_much_waits(page, store, alice, bob, width):
    Roles(store).give(alice.user.uid, Role.MODERATOR)
    report(store, alice.user.uid, bob.user.uid)
    page.set_viewport_size({"width": width, "height": 600})
    page.reload()
    number = links(page).filter(has_text="Moderation").locator(".number")
    box = number.bounding_box()
    assert min(box["width"], box["height"]) >= 16
    assert number.evaluate("it => getComputedStyle(it).clipPath") == "none"
