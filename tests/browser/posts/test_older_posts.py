"""Older posts load in place down to the end; without scripts, by plain links."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.support.keyboard import focus_is_seen, press_tab_until
from tests.browser.support.steps import held, let_slow_answers_come, stayed, stays
from tests.support.stored_keys import publish

POSTS = 45  # two pages and a bit


@pytest.fixture
def history(store, raw, alice):
    for number in range(POSTS):
        publish(raw, store, alice, f"Number {number}.")


def older(page):
    return page.get_by_role("link", name="Older posts")


def posts(page):
    return page.get_by_role("article")


@pytest.mark.parametrize("path", ["/", pytest.param("/@{name}/", marks=pytest.mark.gate)])
def test_without_scripts_plain_links_lead_to_the_beginning_and_back(window, alice, history, path):
    page = window(alice, at=path.format(name=alice.user.username), java_script_enabled=False)
    expect(posts(page)).to_have_count(20)
    for left in (20, 5):
        older(page).click()
        expect(posts(page)).to_have_count(left)
    expect(posts(page).last).to_contain_text("Number 0.")
    expect(older(page)).to_have_count(0)
    page.go_back()
    expect(posts(page).first).to_contain_text("Number 24.")


@pytest.mark.parametrize("path", [pytest.param("/", marks=pytest.mark.gate), "/@{name}/"])
def test_older_posts_come_in_place_each_once_to_the_end(window, alice, history, path):
    page = window(alice, at=path.format(name=alice.user.username))
    stays(page)
    for so_far in (40, POSTS):
        older(page).click()
        expect(posts(page)).to_have_count(so_far)
    stayed(page)
    texts = posts(page).locator("[dir=auto]").all_inner_texts()
    assert texts == [f"Number {number}." for number in reversed(range(POSTS))]
    expect(older(page)).to_have_count(0)
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map((it) => it.id)")
    assert len(ids) == len(set(ids))


def test_a_page_keeps_its_title(window, history):
    page = window(at="/")
    title = page.title()
    older(page).click()
    page.wait_for_function("() => document.querySelectorAll('.posts').length === 2")
    assert page.title() == title


def test_a_new_tab_opens_where_one_is_asked_for(history, page):
    with page.context.expect_page() as opened:
        older(page).click(modifiers=["Control"])
    expect(posts(opened.value).first).to_contain_text("Number 24.")
    expect(posts(page)).to_have_count(20)


def test_who_presses_twice_gets_each_post_once(history, page):
    older(page).dblclick()
    expect(posts(page)).to_have_count(40)


TELLS = """
() => {
  const root = document.documentElement, messages = document.getElementById("messages");
  new MutationObserver(() => console.log(`slow: ${root.className}`)).observe(root, { attributes: true });
  new MutationObserver(() => console.log(`told: ${messages.textContent}`)).observe(messages, { childList: true });
}
"""


@pytest.mark.parametrize("pressed", ["Older posts", "Like"])
def test_who_goes_elsewhere_while_an_answer_is_slow_arrives_there_and_hears_of_no_failure(
    history, page, console, pressed
):
    """Firefox ends what a page asks as soon as it is left; here the answer fails."""
    said = []
    page.evaluate(TELLS)
    page.on("console", lambda message: said.append(message.text))
    slow, elsewhere = held(page, re.compile("before=|/like/")), held(page, "**/explore/")
    with page.expect_console_message(lambda message: message.text == "slow: slow"):
        page.get_by_text(pressed, exact=True).first.click()
    with page.expect_request("**/explore/"):
        page.get_by_role("link", name="Explore").first.click(no_wait_after=True)
    [asked] = slow
    console.expects(503, urlsplit(asked.request.url).path)
    with page.expect_console_message(lambda message: message.text == "slow: "):
        asked.fulfill(status=503)
    elsewhere.pop().continue_()
    expect(page).to_have_url("/explore/")
    assert not any(text.startswith("told:") for text in said)


def test_by_keyboard_the_focus_goes_on_at_the_first_of_the_older_posts(history, page):
    press_tab_until(page, older(page))
    page.keyboard.press("Enter")
    expect(posts(page)).to_have_count(40)
    page.wait_for_function("() => document.activeElement !== document.body")
    focus_is_seen(page)
    page.keyboard.press("Tab")
    reached = posts(page).nth(20)
    assert reached.evaluate("it => it.contains(document.activeElement)")


# ---- Back


@pytest.mark.parametrize("path", ["/", "/@{name}/"])
def test_back_returns_to_the_same_place_among_posts_loaded_in_place(window, alice, history, path):
    page = window(alice, at=path.format(name=alice.user.username))
    for so_far in (40, POSTS):
        older(page).click()
        expect(posts(page)).to_have_count(so_far)
    place = page.get_by_role("article").filter(has_text="Number 7.")
    place.scroll_into_view_if_needed()
    before = place.bounding_box()["y"]
    place.locator("time").click()
    expect(page).to_have_url(re.compile(r"/@\w+/\d+/$"))
    page.go_back()
    expect(posts(page)).to_have_count(POSTS)
    expect(place).to_be_in_viewport()
    page.wait_for_function(
        "([id, y]) => Math.abs(document.getElementById(id).getBoundingClientRect().y - y) < 3",
        arg=[place.get_attribute("id"), before],
    )


def test_back_leads_nowhere_else_when_the_older_posts_do_not_come(history, page, console):
    console.expects(503, "/")
    older(page).click()
    expect(posts(page)).to_have_count(40)
    posts(page).nth(30).locator("time").click()
    waiting = held(page, "**/?before=*")
    went = []
    page.on("framenavigated", lambda _: went.append(page.url))
    page.go_back()
    let_slow_answers_come(page, waiting, lambda route: route.fulfill(status=503))
    expect(posts(page)).to_have_count(20)
    page.reload()
    assert {urlsplit(url).query for url in went} == {""}


def test_back_among_the_first_posts_loads_no_others(history, page):
    posts(page).nth(3).locator("time").click()
    page.go_back()
    expect(posts(page)).to_have_count(20)
