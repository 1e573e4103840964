"""The whole site works with the keyboard, and every focused element is visible, also under fixed bars."""

import re
from io import BytesIO

import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.browser.support.keyboard import every_stop, focus_is_seen, press_tab_until
from tests.browser.support.steps import composer, follow_button, more, post, said, send
from tests.browser.support.windows import PHONE, TABLET, WIDE, ZOOMED
from tests.support.people import PASSWORD
from tests.support.stored_keys import publish


def main_link(page, name):
    return page.get_by_role("navigation", name="Main").get_by_role("link", name=name)


def test_the_first_stop_skips_to_the_content(page):
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to content")
    expect(skip).to_be_focused()
    focus_is_seen(page)
    page.keyboard.press("Enter")
    expect(page).to_have_url("/#main")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.querySelector('main').contains(document.activeElement)")
    focus_is_seen(page)


@pytest.mark.parametrize(("size", "axis"), [(WIDE, "y"), (TABLET, "y"), (PHONE, "x")], ids=["wide", "tablet", "phone"])
def test_tab_follows_the_order_in_which_the_links_of_the_navigation_stand(window, alice, size, axis):
    page = window(alice, at="/", viewport=size)
    links = page.get_by_role("navigation", name="Main").get_by_role("link")
    press_tab_until(page, links.first)
    places = [links.first.bounding_box()[axis]]
    for _ in range(1, links.count()):
        page.keyboard.press("Tab")
        places.append(page.locator("nav a:focus").bounding_box()[axis])
    assert places == sorted({*places})


@pytest.mark.parametrize("scripts", [pytest.param(True, marks=pytest.mark.gate), False], ids=["scripts", "no scripts"])
def test_log_in_post_follow_and_delete_by_keyboard(window, alice, bob, raw, scripts):
    me, them = alice.user, bob.user
    page = window(at="/", java_script_enabled=scripts)
    press_tab_until(page, page.get_by_role("main").get_by_role("link", name="Log in", exact=True))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    press_tab_until(page, page.get_by_role("main").get_by_label("Username"))
    page.keyboard.type(me.username)
    press_tab_until(page, page.get_by_role("main").get_by_label("Password"))
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    said(page, f"Welcome back, {me.username}.")

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page).to_have_url("/#main")
    press_tab_until(page, composer(page))
    page.keyboard.type("Without a mouse")
    press_tab_until(page, page.get_by_role("button", name="Post", exact=True))
    page.keyboard.press("Enter")
    said(page, "Posted.")
    assert raw.zcard(f"updates:{me.uid}") == 1

    press_tab_until(page, main_link(page, "Everyone"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Everyone")).to_be_visible()
    press_tab_until(page, page.get_by_role("complementary").get_by_role("link", name=f"@{them.username}", exact=True))
    page.keyboard.press("Enter")
    follow = follow_button(page, them.username)
    expect(follow).to_be_visible()
    press_tab_until(page, follow)
    page.keyboard.press("Space")
    said(page, f"You now follow {them.username}.")
    assert raw.zrange(f"following:{me.uid}", 0, -1) == [str(them.uid)]

    page.goto("/")
    mine = post(page, "Without a mouse")
    press_tab_until(page, more(mine))
    page.keyboard.press("Enter")
    menu = mine if scripts else page.get_by_role("main")
    expect(menu.get_by_role("link", name="Link to this post")).to_be_visible()
    press_tab_until(page, menu.get_by_text("Delete", exact=True))
    page.keyboard.press("Enter")
    press_tab_until(page, page.get_by_role("button", name="Yes, delete this post"))
    page.keyboard.press("Enter")
    said(page, "Deleted.")
    assert raw.zcard(f"updates:{me.uid}") == 0


@pytest.mark.parametrize("viewport", [WIDE, PHONE, ZOOMED], ids=["wide", "phone", "400 percent"])
@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_the_focus_is_seen_at_every_stop_of_the_home_page(window, store, raw, alice, viewport, color_scheme):
    for number in range(22):
        publish(raw, store, alice, f"Post number {number}")
    page = window(alice, at="/", viewport=viewport, color_scheme=color_scheme, reduced_motion="reduce")
    posts = page.get_by_role("article").count()
    assert posts == 20
    assert every_stop(page) > 2 * posts


def test_the_outline_of_a_link_is_whole_where_it_reaches_over_the_edge_of_its_text(window, store, raw, alice, bob):
    """Also in browsers without `overflow-clip-margin`, such as Safari."""
    publish(raw, store, bob, f"@{alice.user.username} begins the text")
    page = window(alice)

    def without_it(route):
        answer = route.fetch()
        route.fulfill(response=answer, body=re.sub(r"overflow-clip-margin: [^;]+;", "", answer.text()))

    page.route("**/*.css", without_it)
    page.goto(f"/@{bob.user.username}/")
    link = post(page, "begins the text").get_by_role("link", name=f"@{alice.user.username}", exact=True)
    link.focus()
    box = link.bounding_box()
    edge = page.screenshot(clip={"x": box["x"] - 4, "y": box["y"] + box["height"] / 2, "width": 1, "height": 1})
    colour = Image.open(BytesIO(edge)).convert("RGB").getpixel((0, 0))
    assert link.evaluate("it => getComputedStyle(it).outlineColor") == f"rgb{colour}"


def test_whoever_presses_enter_in_the_text_does_not_post_half_of_it(alice, raw, page):
    composer(page).focus()
    page.keyboard.type("One line")
    page.keyboard.press("Enter")
    page.keyboard.type("and another")
    expect(composer(page)).to_have_value("One line\nand another")
    send(page)
    expect(post(page, "One line and another")).to_have_count(1)
    assert raw.zcard(f"updates:{alice.user.uid}") == 1
