"""When the store is down, the text of a post stays. It is posted once when the store is back."""

import pytest
from playwright.sync_api import expect

from tests.browser.support.served import outage
from tests.browser.support.steps import account_menu, composer, post, said, write
from tests.support.stores.store_faults import down, hanging

TEXT = 'Typed <meanwhile> & "kept", 여러분'


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
@pytest.mark.parametrize("befalls", [pytest.param(down, marks=pytest.mark.gate), hanging])
def test_a_text_outlives_an_outage_and_is_posted_once(window, site, real_server, console, alice, raw, befalls, scripts):
    console.expects_an_outage("/post/")
    page = window(alice, at="/", java_script_enabled=scripts)
    with outage(site, real_server, befalls):
        write(page, TEXT)
        expect(page.get_by_role("heading", name="Temporarily unavailable")).to_be_visible()
        expect(page.get_by_role("textbox", name="Your post")).to_have_value(TEXT)
        page.get_by_role("button", name="Send it again").click()
        expect(page.get_by_role("heading", name="Temporarily unavailable")).to_be_visible()
        expect(page.get_by_role("textbox", name="Your post")).to_have_value(TEXT)
    page.get_by_role("button", name="Send it again").click()
    said(page, "Posted.")
    expect(post(page, TEXT)).to_have_count(1)
    [pid] = raw.zrange(f"updates:{alice.user.uid}", 0, -1)
    assert raw.hget(f"post:{pid}", "body") == TEXT
    expect(composer(page)).to_have_value("")


def test_a_double_click_after_an_outage_posts_once(alice, site, real_server, console, raw, page):
    console.expects_an_outage("/post/")
    with outage(site, real_server):
        write(page, TEXT)
        expect(page.get_by_role("heading", name="Temporarily unavailable")).to_be_visible()
    page.get_by_role("button", name="Send it again").dblclick()
    expect(post(page, TEXT)).to_have_count(1)
    assert raw.zcard(f"updates:{alice.user.uid}") == 1


def test_a_page_that_could_not_be_read_is_there_after_trying_again(window, site, real_server, console, alice):
    console.expects_an_outage("/")
    page = window(alice)
    with outage(site, real_server):
        page.goto("/")
        expect(page.get_by_role("heading", name="Temporarily unavailable")).to_be_visible()
    page.get_by_role("link", name="Try again").click()
    expect(composer(page)).to_be_visible()
    expect(account_menu(page)).to_be_visible()
