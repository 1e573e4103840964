"""Every kind of page fits: axe finds no fault, nothing is cut off or scrolls sideways at 320 pixels (a window of 1280
pixels zoomed to 400 %), and a finger hits every link and button of a phone. English pages are looked at in both themes
at three widths, German and Arabic ones at each width in one of the themes. A walk sees each page in one look."""

import contextlib

import pytest
from playwright.sync_api import expect

from tests.browser.support.accessibility import findings, ran
from tests.browser.support.looks import EVERY_LOOK, LOOKS, NARROWEST, WALKS, look_at
from tests.browser.support.page_kinds import ADDRESSES, PAGES
from tests.browser.support.served import serving
from tests.browser.support.steps import nothing_scrolls_sideways
from tests.browser.support.touch import cut_off, finger, small_targets
from tests.browser.support.windows import PHONE
from tests.browser.support.world import opened_world
from tests.support.stores.store_faults import a_server


@pytest.fixture(scope="module")
def world(chromium, site, real_server):
    with opened_world(chromium, site, real_server) as world:
        yield world


@contextlib.contextmanager
def speaking(world, language):
    """All windows but the reader's have chosen the language, as long as the block."""
    windows = [page.context for page in (world.visitor, world.member, world.newcomer, world.admin, world.frozen)]
    for context in windows:
        context.add_cookies([{"name": "language", "value": language, "url": world.site.browser.origin}])
    try:
        yield
    finally:
        for context in windows:
            context.clear_cookies(name="language")


@pytest.mark.parametrize("go", PAGES.values(), ids=PAGES)
def test_every_kind_of_page_fits(world, go):
    page = go(world)
    assert look_at(page, EVERY_LOOK) == []
    world.console.settle(page.context)
    assert world.console.complaints() == []


@pytest.mark.parametrize("language", ["de", "ar"])
@pytest.mark.parametrize("go", ADDRESSES.values(), ids=ADDRESSES)
def test_every_address_fits_in_every_language(world, go, language):
    with speaking(world, language):
        page = go(world)
        expect(page.locator("html")).to_have_attribute("lang", language)
        assert look_at(page, LOOKS[language]) == []


@pytest.mark.gate
@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: "-".join(map(str, walk)))
def test_the_pages_of_a_walk_fit(world, walk, subtests):
    with speaking(world, walk.language):
        for name in walk.pages():
            with subtests.test(name):
                page = PAGES[name](world)
                expect(page.locator("html")).to_have_attribute("lang", walk.language)
                assert look_at(page, [(walk.theme, walk.width)]) == []
                world.console.settle(page.context)
    assert world.console.complaints() == []


def test_axe_finds_nothing_on_a_site_without_posts(chromium, tmp_path):
    with a_server() as server:
        server.start()
        with serving(tmp_path, server.url) as site:
            page = chromium.new_page(base_url=site.browser.origin, reduced_motion="reduce")
            try:
                for address in ("/", "/timeline/"):
                    page.goto(address)
                    expect(page.get_by_role("heading", name="No posts yet.")).to_be_visible()
                    assert look_at(page, EVERY_LOOK) == []
            finally:
                page.close()


# ---- the check itself


@pytest.mark.gate
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


def test_the_check_notices_what_is_cut_off_and_what_a_finger_misses(world):
    page = world.visitor
    page.set_viewport_size(PHONE)
    page.goto("/login/")
    with finger(page):
        assert small_targets(page) == cut_off(page) == []
        page.evaluate(
            """() => {
              const button = document.querySelector("main button"), heading = document.querySelector("h1");
              button.style.cssText = "width: 43px; overflow: hidden; white-space: nowrap";
              heading.style.cssText = "position: relative; left: -90px";
              document.querySelector("main label").style.width = "3ch";
            }"""
        )
        assert ["<button" in it for it in small_targets(page)] == [True]
        assert [it.partition("<")[2].partition(" ")[0].partition(">")[0] for it in cut_off(page)] == [
            "h1",
            "label",
            "button",
        ]


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
