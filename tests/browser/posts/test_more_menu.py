"""The page behind "More" opens as a menu in place. Without scripts, or when that fails, it is a page. It has the
deletion, which is confirmed."""

import pytest
from playwright.sync_api import expect

from tests.browser.support import steps
from tests.browser.support.accessibility import findings
from tests.browser.support.keyboard import focus_is_seen
from tests.browser.support.touch import cut_off, small_targets
from tests.browser.support.windows import PHONE, WIDE
from tests.support.stored_keys import publish

FIRST = "Link to this post"


@pytest.fixture
def home(window, store, raw, alice, bob):
    """Opens everyone's posts, which have one by bob, in a window of alice."""

    def open_home(**options):
        publish(raw, store, bob, "Hello from bob")
        return window(alice, at="/timeline/", **options)

    return open_home


def card(page):
    return steps.post(page, "Hello from bob").first


def item(page, name=FIRST):
    return card(page).get_by_role("link", name=name)


@pytest.mark.gate
def test_by_keyboard_the_focus_goes_into_the_menu_and_back(home):
    page = home()
    page.evaluate("delete Element.prototype.checkVisibility")  # Safari before 17.4 has none
    steps.stays(page)
    steps.more(card(page)).focus()
    page.keyboard.press("Enter")
    expect(item(page)).to_be_focused()
    focus_is_seen(page)
    expect(steps.more(card(page))).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowDown")
    expect(card(page).get_by_role("button", name="Copy link")).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(item(page, "Report")).to_be_focused()
    for _ in range(4):  # not over the times for which one can mute: their part is closed
        page.keyboard.press("ArrowUp")
    expect(card(page).get_by_role("button", name="Mute this thread")).to_be_focused()
    page.keyboard.press("Escape")
    expect(item(page)).to_have_count(0)
    expect(steps.more(card(page))).to_be_focused()
    assert steps.more(card(page)).get_attribute("aria-expanded") is None
    steps.stayed(page)


@pytest.mark.parametrize("elsewhere", ["the page", "the link", "another menu"])
def test_a_click_elsewhere_closes_it(home, elsewhere):
    page = home()
    steps.more(card(page)).click()
    expect(item(page)).to_be_visible()
    if elsewhere == "the page":
        page.get_by_role("heading", name="Everyone").click()
    elif elsewhere == "the link":
        steps.more(card(page)).click()
    else:
        page.get_by_role("banner").locator("summary").click()
    expect(item(page)).to_have_count(0)


def test_a_click_between_its_entries_leaves_it_open(home):
    """Such a click gives the focus to the card, when a key had given it to that before."""
    page = home()
    page.keyboard.press("j")
    steps.more(page.locator("article:focus")).click()
    expect(page.get_by_role("link", name=FIRST)).to_be_focused()
    page.locator("article .choosing").click(position={"x": 60, "y": 3})
    expect(page.locator("article:focus")).to_have_count(1)
    expect(page.get_by_role("link", name=FIRST)).to_be_visible()


@pytest.mark.parametrize("key", ["Tab", "Shift+Tab"])
def test_who_tabs_on_from_it_finds_it_closed(home, key):
    """It would lie over what has the focus then."""
    page = home()
    steps.more(card(page)).focus()
    page.keyboard.press("Enter")
    expect(item(page)).to_be_focused()
    link = steps.more(card(page))
    for _ in range(15):
        page.keyboard.press(key)
        focus_is_seen(page)
        inside = link.evaluate("it => it === document.activeElement || !!document.activeElement.closest('.choosing')")
        assert (link.get_attribute("aria-expanded") == "true") is inside
    assert not inside


@pytest.mark.parametrize("elsewhere", ["the composer", "another menu"])
def test_a_menu_that_comes_late_does_not_take_the_focus(home, elsewhere):
    page = home()
    waiting = steps.held(page, "**/more/")
    with page.expect_request("**/more/"):
        steps.more(card(page)).click()
    there = steps.composer(page) if elsewhere == "the composer" else page.get_by_role("banner").locator("summary")
    there.click()
    steps.let_slow_answers_come(page, waiting)
    expect(there).to_be_focused()
    expect(item(page)).to_have_count(0)


def test_an_action_in_the_menu_leads_back_to_the_same_page(home, alice, bob, raw):
    page = home()
    steps.more(card(page)).click()
    card(page).get_by_text(f"Mute {bob.user.username}").click()
    card(page).get_by_role("button", name="For a day").click()
    steps.said(page, "You no longer see posts by")
    assert page.url.endswith("/timeline/")
    assert raw.zscore(f"muted:{alice.user.uid}", str(bob.user.uid)) is not None


@pytest.mark.gate
def test_without_scripts_it_is_a_page_that_leads_back(home, alice, bob, raw):
    page = home(java_script_enabled=False)
    steps.more(card(page)).click()
    assert page.url.endswith("/more/")
    page.get_by_label("Address").press("Enter")
    page.get_by_role("main").get_by_role("link", name="Back").click()
    assert page.url.endswith("/timeline/")
    steps.more(card(page)).click()
    page.get_by_role("main").get_by_text(f"Mute {bob.user.username}").click()
    page.get_by_role("main").get_by_role("button", name="Until I unmute").click()
    steps.said(page, "You no longer see posts by")
    assert page.url.endswith("/timeline/")
    assert raw.zscore(f"muted:{alice.user.uid}", str(bob.user.uid)) is not None
    assert not raw.exists(f"muted_threads:{alice.user.uid}")  # what the first button does


def test_when_the_menu_cannot_be_loaded_the_link_is_followed(home, console):
    page = home()
    address = steps.more(card(page)).get_attribute("href")
    console.expects(500, address)
    page.route(
        "**/more/",
        lambda route: route.fulfill(status=500) if route.request.resource_type == "fetch" else route.continue_(),
    )
    steps.more(card(page)).click()
    page.wait_for_url(f"**{address}")
    expect(page.get_by_role("main").get_by_role("link", name=FIRST)).to_be_visible()


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_the_open_menu_is_legible_and_large_enough(home, viewport, color_scheme):
    page = home(viewport=viewport, color_scheme=color_scheme, has_touch=viewport is PHONE)
    steps.more(card(page)).click()
    expect(item(page)).to_be_visible()
    assert findings(page) == []
    steps.nothing_scrolls_sideways(page)
    assert cut_off(page) == []
    if viewport is PHONE:
        assert [found for found in small_targets(page) if "more" in found] == []


def test_the_picture_leads_to_its_author(home, bob):
    page = home()
    box = card(page).locator(".avatar").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page).to_have_url(f"/@{bob.user.username}/")


# ---- a post is deleted after a confirmation, and stays deleted


@pytest.mark.parametrize("scripts", [True, pytest.param(False, marks=pytest.mark.gate)], ids=["scripts", "no scripts"])
def test_one_click_does_not_delete_and_the_second_does(window, console, alice, raw, scripts):
    page = window(alice, at="/", java_script_enabled=scripts)
    steps.write(page, "Not for long")
    its = steps.post(page, "Not for long")
    address = its.get_by_role("link", name=steps.AGE).get_attribute("href")
    steps.more(its).click()
    menu = its if scripts else page.get_by_role("main")
    menu.get_by_text("Delete", exact=True).click()
    confirmation = menu.get_by_role("button", name="Yes, delete this post")
    expect(confirmation).to_be_visible()
    assert raw.zcard(f"updates:{alice.user.uid}") == 1
    confirmation.click()
    steps.said(page, "Deleted.")
    expect(its).to_have_count(0)
    assert raw.zcard(f"updates:{alice.user.uid}") == 0
    console.expects(410, address)
    page.goto(address)
    expect(page.get_by_role("heading", name="Deleted")).to_be_visible()
