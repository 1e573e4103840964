"""An open page announces new posts and shows them in place, without a reload."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.support.arrivals import A_WHILE, told, wait_a_while
from tests.browser.support.keyboard import focus_is_seen, press_tab_until
from tests.browser.support.served import outage
from tests.browser.support.steps import composer, held, post, posted, stayed, stays
from tests.support.stored_keys import publish
from timeline.relations.relations import Follows


@pytest.fixture
def home(window, store, raw, alice, bob):
    """alice's home page, whose clock a test may put forward; she follows bob, who has written before."""
    Follows(store).follow(alice.user.uid, bob.user.uid)
    publish(raw, store, bob, "Was there before")
    page = window(alice)
    page.clock.install()
    page.goto("/")
    expect(post(page, "Was there before")).to_have_count(1)
    stays(page)
    return page


@pytest.mark.gate
def test_a_post_arrives_in_a_second_window_without_a_reload_and_screen_readers_are_told(home, window, bob):
    theirs = window(bob, at="/")
    posted(theirs, "Just now, from another window")
    expect(post(home, "Just now, from another window")).to_have_count(0)
    wait_a_while(home)
    expect(told(home, 1)).to_be_visible()
    expect(home.get_by_role("status").filter(has_text="1 new post")).to_be_visible()
    posted(theirs, "And one more")
    wait_a_while(home)
    expect(told(home, 2)).to_be_visible()
    told(home, 2).click()
    expect(post(home, "Just now, from another window")).to_have_count(1)
    expect(post(home, "And one more")).to_have_count(1)
    expect(post(home, "Was there before")).to_have_count(1)
    expect(told(home, 2)).to_have_count(0)
    stayed(home)


def test_when_nothing_has_come_nothing_is_said_and_nothing_is_sent(home):
    with home.expect_response(re.compile(r"/new/\?after=\d+")) as asked:
        home.clock.fast_forward(A_WHILE)
    assert asked.value.status == 204
    expect(told(home, r"\d+")).to_have_count(0)
    stayed(home)


def test_a_line_that_carries_no_answer_is_asked_once(home, store, raw, bob):
    waiting = held(home, "**/new/?*")
    with home.expect_request("**/new/?*"):
        home.clock.run_for(A_WHILE)
    home.clock.run_for(A_WHILE)
    publish(raw, store, bob, "At last")
    waiting.pop().continue_()
    expect(told(home, 1)).to_be_visible()
    assert waiting == []


def test_what_is_being_typed_stays_and_so_does_the_focus(home, store, raw, bob):
    composer(home).fill("Half a thought")
    composer(home).focus()
    publish(raw, store, bob, "Just now")
    wait_a_while(home)
    expect(told(home, 1)).to_be_visible()
    expect(composer(home)).to_be_focused()
    expect(composer(home)).to_have_value("Half a thought")
    told(home, 1).click()
    expect(post(home, "Just now")).to_have_count(1)
    expect(composer(home)).to_have_value("Half a thought")
    stayed(home)


def test_by_keyboard_the_focus_goes_on_at_the_newest_post(home, store, raw, bob):
    publish(raw, store, bob, "Just now")
    wait_a_while(home)
    expect(told(home, 1)).to_be_visible()
    press_tab_until(home, told(home, 1))
    home.keyboard.press("Enter")
    expect(post(home, "Just now")).to_have_count(1)
    home.wait_for_function("() => document.activeElement !== document.body")
    assert home.evaluate("() => document.querySelector('main').contains(document.activeElement)")
    focus_is_seen(home)


def test_the_page_goes_on_asking_after_the_new_ones_were_shown(home, store, raw, bob):
    for text in ("The first", "The second"):
        publish(raw, store, bob, text)
        wait_a_while(home)
        told(home, 1).click()
        expect(post(home, text)).to_have_count(1)
    stayed(home)


def test_an_outage_leaves_the_open_page_as_it_is(home, site, real_server, console, store, raw, bob):
    console.expects_an_outage()
    with outage(site, real_server):
        wait_a_while(home)
        expect(post(home, "Was there before")).to_have_count(1)
        expect(composer(home)).to_be_visible()
    publish(raw, store, bob, "After it")
    wait_a_while(home)
    expect(told(home, 1)).to_be_visible()
    stayed(home)


# As in Safari: what comes into a page above its view moves what is in view.
WITHOUT_ANCHORING = """
() => {
  document.documentElement.style.overflowAnchor = "none";
  CSS.supports = () => false;
}
"""


def test_what_is_read_does_not_move_when_posts_arrive_or_a_message_comes(window, store, raw, alice, bob, console):
    Follows(store).follow(alice.user.uid, bob.user.uid)
    for number in range(20):
        publish(raw, store, bob, f"Number {number} of twenty")
    page = window(alice)
    page.clock.install()
    page.goto("/")
    page.evaluate(WITHOUT_ANCHORING)
    read = post(page, "Number 5 of twenty")
    read.evaluate("card => card.scrollIntoView({ block: 'center' })")
    place = pytest.approx(read.bounding_box()["y"], abs=1)
    publish(raw, store, bob, "Just now")
    wait_a_while(page)
    expect(told(page, 1)).to_be_visible()
    assert read.bounding_box()["y"] == place
    console.expects_no_connection()
    page.context.set_offline(True)
    read.get_by_role("button", name="Like").click()
    expect(page.get_by_text("The site could not be reached.")).to_be_visible()
    assert read.bounding_box()["y"] == place


def test_the_text_that_is_typed_above_new_posts_does_not_move_when_they_are_announced(home, raw, store, bob):
    home.set_viewport_size({"width": 1280, "height": 400})
    for number in range(9):
        publish(raw, store, bob, f"Number {number}")
    home.reload()
    home.evaluate(WITHOUT_ANCHORING)
    composer(home).fill("Half")
    home.evaluate("scrollTo(0, 20)")
    place = pytest.approx(composer(home).bounding_box()["y"], abs=1)
    publish(raw, store, bob, "Just now")
    wait_a_while(home)
    expect(told(home, 1)).to_be_visible()
    assert composer(home).bounding_box()["y"] == place
