"""axe finds no fault on any page, in either theme, at three widths. Nothing scrolls sideways at 320 pixels, which is a
window of 1280 pixels zoomed to 400 %."""

import itertools

import pytest
from playwright.sync_api import expect

from tests.browser.support.accessibility import findings, ran
from tests.browser.support.page_kinds import PAGES
from tests.browser.support.served import serving
from tests.browser.support.steps import nothing_scrolls_sideways
from tests.browser.support.world import opened_world
from tests.support.stores.store_faults import a_server

THEMES = ("light", "dark")
WIDTHS = (1280, 800, 360)
NARROWEST = 320


@pytest.fixture(scope="module")
def world(chromium, site, real_server):
    with opened_world(chromium, site, real_server) as world:
        yield world


@pytest.mark.parametrize("go", PAGES.values(), ids=PAGES)
def test_axe_finds_nothing_and_nothing_scrolls_sideways(world, go):
    page = go(world)
    assert look_at(page) == []
    world.console.settle(page.context)
    assert world.console.complaints() == []


def look_at(page):
    """The findings of axe in both themes at each width. Asserts that nothing scrolls sideways at the narrowest."""
    found = []
    for theme, width in itertools.product(THEMES, WIDTHS):
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size({"width": width, "height": 800})
        # As tall as the page: axe cannot scroll away from under the fixed bar.
        height = page.evaluate("() => document.documentElement.scrollHeight")
        page.set_viewport_size({"width": width, "height": height})
        found += [f"{theme}, {width} px: {finding}" for finding in findings(page)]
    page.set_viewport_size({"width": NARROWEST, "height": 256})
    nothing_scrolls_sideways(page)
    return found


def test_axe_finds_nothing_on_a_site_without_posts(chromium, tmp_path):
    with a_server() as server:
        server.start()
        with serving(tmp_path, server.url) as site:
            page = chromium.new_page(base_url=site.browser.origin, reduced_motion="reduce")
            try:
                for address in ("/", "/timeline/"):
                    page.goto(address)
                    expect(page.get_by_role("heading", name="No posts yet.")).to_be_visible()
                    assert look_at(page) == []
            finally:
                page.close()


# ---- the check itself


def test_the_check_finds_faults(world):
    page = world.visitor
    page.goto("/")
    page.evaluate(
        """() => {
          document.documentElement.removeAttribute("lang");
          const said = document.createElement("p");
          said.textContent = "hard to read";
          said.id = "pale";
          document.querySelector("main").append(said);
          said.style.cssText = "color: #999; background: #aaa";
          const tight = document.createElement("div");
          said.after(tight);
          for (const name of ["one", "two"]) {
            const small = document.createElement("button");
            small.textContent = name;
            small.style.cssText = "width: 12px; height: 12px; padding: 0; margin: 0; border: 0; font-size: 6px";
            tight.append(small);
          }
        }"""
    )
    found = {line.partition(":")[0] for line in findings(page)}
    assert found >= {"html-has-lang", "color-contrast", "target-size"}


def test_the_check_notices_a_page_that_is_too_wide(world):
    page = world.visitor
    page.set_viewport_size({"width": NARROWEST, "height": 256})
    page.goto("/login/")
    nothing_scrolls_sideways(page)
    page.evaluate("() => { document.querySelector('h1').style.width = '321px'; }")
    with pytest.raises(AssertionError, match="wide in a window of 320"):
        nothing_scrolls_sideways(page)


def test_axe_checks_every_rule_of_wcag_2_2(world):
    page = world.member
    page.goto("/")
    answer = ran(page)
    asked = {rule["id"] for kind in ("passes", "violations", "incomplete", "inapplicable") for rule in answer[kind]}
    assert asked >= {"target-size", "color-contrast", "label", "landmark-one-main", "region", "page-has-heading-one"}
