"""With text twice as large, as people set it in their browsers, nothing is cut off and nothing scrolls sideways."""

import pytest
from playwright.sync_api import expect

from tests.browser.support.steps import nothing_scrolls_sideways
from tests.browser.support.windows import FLAGS, find_chromium, sign_in
from tests.support.people import register

TWICE = "--blink-settings=defaultFontSize=32"


@pytest.fixture(scope="module")
def large(chromium):
    browser = chromium.browser_type.launch(executable_path=find_chromium(), args=[*FLAGS, TWICE])
    yield browser
    browser.close()


@pytest.mark.parametrize("size", [(1280, 800), (360, 740), (320, 640)], ids=str)
def test_nothing_scrolls_sideways_and_every_way_is_within_reach(large, site, store, name, size):
    me = register(store, name("Wolfeschlegelsteinhausenbe"))
    width, height = size
    context = large.new_context(base_url=site.browser.origin, viewport={"width": width, "height": height})
    try:
        page = context.new_page()
        for address in ("/", "/login/", "/register/", "/settings/appearance/"):
            page.goto(address)
            nothing_scrolls_sideways(page)
        sign_in(context, me, site.browser.origin)
        for address in ("/", "/timeline/", f"/@{me.user.username}/", "/settings/appearance/", "/settings/password/"):
            page.goto(address)
            nothing_scrolls_sideways(page)
            for link in page.get_by_role("navigation", name="Main").get_by_role("link").all():
                expect(link).to_be_in_viewport(ratio=1)
        assert page.evaluate("() => getComputedStyle(document.body).fontSize") == "32px"
    finally:
        context.close()


def test_in_the_smallest_window_words_and_fields_have_room(large, site, store, name):
    me = register(store, name("Wolfe"))
    context = large.new_context(base_url=site.browser.origin, viewport={"width": 320, "height": 640}, locale="de-DE")
    try:
        sign_in(context, me, site.browser.origin)
        page = context.new_page()
        page.goto(f"/@{me.user.username}/")
        called = page.get_by_role("heading", level=1).bounding_box()
        assert called["width"] >= 160, "A name stands beside the picture, one letter a line"
        for address in ("/search/", "/people/"):
            page.goto(address)
            assert page.get_by_role("main").get_by_role("searchbox").bounding_box()["width"] >= 160, address
        page.goto("/timeline/")
        closed = page.get_by_role("main").get_by_role("textbox").first
        assert closed.evaluate("it => it.scrollHeight <= it.clientHeight"), "Its words are cut"
    finally:
        context.close()
