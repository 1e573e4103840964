"""The search finds people by the beginning of a name while the user types; without scripts, by the button."""

import re

import pytest
from playwright.sync_api import expect

from accounts.users.names import NameIndex
from tests.browser.support.keyboard import focus_is_seen, press_tab_until
from tests.browser.support.served import outage
from tests.browser.support.steps import follow_button, nothing_scrolls_sideways, said, stayed, stays, unfollow_button

A_PAUSE = 400  # milliseconds without a key, after which the page asks: twice as long as need be
ANSWERED = re.compile(r"/people/\?q=")


def field(page):
    return page.get_by_role("searchbox", name="Search people")


def person(page, login):
    return page.get_by_role("main").get_by_role("link", name=login.user.username)


@pytest.fixture
def page(window, alice):
    page = window(alice, at="/people/")
    stays(page)
    return page


@pytest.mark.gate
def test_typing_finds_and_what_was_found_can_be_reached_and_followed(page, bob, carol):
    field(page).press_sequentially(bob.user.username)
    said(page, "1 person found")
    expect(person(page, bob)).to_be_visible()
    expect(person(page, carol)).to_have_count(0)
    expect(field(page)).to_be_focused()
    expect(field(page)).to_have_value(bob.user.username)
    button = follow_button(page, bob.user.username)
    press_tab_until(page, button)
    page.keyboard.press("Enter")
    said(page, f"You now follow {bob.user.username}.")
    expect(unfollow_button(page, bob.user.username)).to_be_focused()
    focus_is_seen(page)
    stayed(page)


def test_a_display_name_is_found_too(page, store, bob):
    number = bob.user.uid
    NameIndex(store).edit(bob.user, f"Übermut {number}", "")
    field(page).press_sequentially(f"@übermut {number}")
    expect(person(page, bob)).to_contain_text(f"Übermut {number} @{bob.user.username}")
    stayed(page)


def test_what_is_cleared_brings_everybody_back(page, bob):
    field(page).fill("nobody_has_such_a_name")
    said(page, "No one found")
    field(page).fill("")
    expect(page.get_by_role("navigation", name="Sort by")).to_be_visible()
    expect(person(page, bob)).to_be_visible()
    stayed(page)


def test_the_way_back_leads_to_what_was_found(page, bob):
    field(page).press_sequentially(bob.user.username)
    expect(page).to_have_url(f"/people/?q={bob.user.username}")
    person(page, bob).click()
    expect(page).to_have_url(f"/@{bob.user.username}/")
    page.go_back()
    expect(page).to_have_url(f"/people/?q={bob.user.username}")
    expect(field(page)).to_have_value(bob.user.username)
    said(page, "1 person found")
    page.go_back()  # not through every letter
    assert "/people/" not in page.url


def test_an_old_answer_never_replaces_a_newer_one(page, alice, bob):
    """While one is awaited, what is typed waits; and of what waits, the last is asked."""
    asked, held = [], []

    def hold(route):
        asked.append(route.request.url.partition("q=")[2])
        if held or asked[-1] != "c":
            route.continue_()
        else:
            held.append(route)

    page.route(ANSWERED, hold)
    page.clock.install()
    with page.expect_request(ANSWERED):
        field(page).fill("c")
        page.clock.fast_forward(A_PAUSE)
    for text in ("nobody_has_such_a_name", bob.user.username):
        field(page).fill(text)
        page.clock.fast_forward(A_PAUSE)
    expect(person(page, alice)).to_be_visible()  # nothing has changed yet
    held[0].continue_()
    said(page, "1 person found")
    expect(person(page, bob)).to_be_visible()
    expect(person(page, alice)).to_have_count(0)
    assert asked == ["c", bob.user.username]


def test_when_the_site_does_not_answer_the_page_says_so(page, site, real_server, console, bob):
    console.expects_an_outage("/people/")
    with outage(site, real_server):
        field(page).press_sequentially(bob.user.username)
        expect(page.get_by_text("The site cannot reach its data")).to_be_visible()
        expect(field(page)).to_be_focused()
    field(page).press("Backspace")
    expect(person(page, bob)).to_be_visible()
    expect(page.get_by_text("The site cannot reach its data")).to_have_count(0)
    stayed(page)


def test_the_way_back_from_a_place_on_the_page_loads_it_whole(page, bob, carol):
    field(page).press_sequentially(bob.user.username)
    expect(page).to_have_url(re.compile(bob.user.username))
    page.get_by_role("link", name="Skip to content").press("Enter")
    expect(page).to_have_url(re.compile("#main"))
    page.go_back()
    expect(person(page, bob)).to_be_visible()
    field(page).fill(carol.user.username)
    said(page, "1 person found")
    expect(person(page, carol)).to_be_visible()


def test_without_a_script_the_button_does_it(window, bob):
    page = window(at="/people/", java_script_enabled=False, viewport={"width": 320, "height": 640})
    field(page).fill(bob.user.username.upper())
    page.get_by_role("button", name="Search").click()
    expect(page).to_have_url(f"/people/?q={bob.user.username.upper()}")
    expect(page.get_by_text("1 person found")).to_be_visible()
    expect(field(page)).to_have_value(bob.user.username.upper())
    expect(person(page, bob)).to_be_visible()


@pytest.mark.parametrize("signed_in", [True, False])
@pytest.mark.parametrize("width", [320, 360])
def test_on_a_narrow_screen_all_ways_are_there_and_nothing_is_cut(window, alice, signed_in, width):
    page = window(alice if signed_in else None, at="/search/", viewport={"width": width, "height": 640})
    nothing_scrolls_sideways(page)
    links = page.get_by_role("navigation", name="Main").get_by_role("link")
    assert links.count() == 6
    sizes = links.evaluate_all(
        "links => links.map((link) => link.getBoundingClientRect()).map((it) => [it.width, it.height])"
    )
    assert len({height for _, height in sizes}) == 1
    assert min(map(min, sizes)) >= 44
    for name in ("Home", "Everyone", "Search"):
        link = page.get_by_role("navigation", name="Main").get_by_role("link", name=name, exact=True)
        assert link.evaluate("link => link.scrollWidth <= link.clientWidth")
        if width > 320:  # narrower, the words are there for screen readers alone
            assert link.locator("span").evaluate("word => word.scrollWidth <= word.clientWidth"), f"{name} is cut"
    expect(links.filter(has_text="Search")).to_have_attribute("aria-current", "page")
