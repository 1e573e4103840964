"""A session ends or changes in another window: an open page never mixes the posts of two users."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.support.arrivals import told, wait_a_while
from tests.browser.support.steps import composer, fill_in_login, held, log_out, log_out_elsewhere, post, said
from tests.browser.support.windows import sign_in
from tests.support.pictures import picture_file
from tests.support.stored_keys import publish
from timeline.relations.relations import Follows


@pytest.fixture
def home(window, store, raw, alice, bob, carol):
    """alice's, with more than a page of posts; bob's and carol's are in no home of hers."""
    for number in range(25):
        publish(raw, store, alice, f"Mine, number {number}.")
    publish(raw, store, carol, "Of a stranger")
    page = window(alice)
    page.clock.install()
    page.goto("/")
    expect(post(page, "Mine, number 24.")).to_have_count(1)
    composer(page).fill("Half a thought")
    return page


@pytest.mark.gate
def test_older_posts_of_nobody_are_not_everybodys(home, raw, alice):
    log_out_elsewhere(raw, alice)
    home.get_by_role("link", name="Older posts").click()
    expect(home.get_by_role("heading", name="Short posts from people you choose.")).to_be_visible()
    expect(composer(home)).to_have_count(0)


def test_older_posts_of_another_are_not_mixed_in(home, alice, bob, site):
    sign_in(home.context, bob, site.browser.origin)
    home.get_by_role("link", name="Older posts").click()
    expect(home).to_have_url(re.compile(r"/\?before="))
    expect(post(home, "Mine, number")).to_have_count(0)
    expect(composer(home)).to_have_value("")


def test_what_has_come_for_nobody_leaves_no_empty_page(home, store, raw, alice, bob):
    Follows(store).follow(alice.user.uid, bob.user.uid)
    home.goto("/")
    publish(raw, store, bob, "Just now")
    wait_a_while(home)
    expect(told(home, 1)).to_be_visible()
    log_out_elsewhere(raw, alice)
    told(home, 1).click()
    expect(home.get_by_role("heading", name="Short posts from people you choose.")).to_be_visible()


@pytest.mark.gate
def test_another_tab_that_is_come_back_to_is_no_longer_of_the_session_that_was_logged_out(window, alice):
    left = window(alice, at="/bookmarks/")
    page = left.context.new_page()
    page.goto("/timeline/")
    log_out(page)
    said(page, "You are logged out.")
    come_back(left)
    left.wait_for_url("/login/?next=%2Fbookmarks%2F")


def test_a_tab_loads_itself_anew_for_who_is_logged_in_now(home, site, bob):
    sign_in(home.context, bob, site.browser.origin)
    wait_a_while(home)
    expect(home.get_by_role("banner").get_by_role("group")).to_contain_text(bob.user.username)
    expect(post(home, "Mine, number")).to_have_count(0)


@pytest.mark.parametrize("address", ["/settings/", "/compose/"])
def test_a_form_with_a_text_that_no_draft_keeps_stays_and_a_draft_comes_back(window, raw, alice, address):
    page = window(alice, at=address)
    text = page.get_by_role("main").get_by_role("textbox").first
    text.fill("Half a text")
    log_out_elsewhere(raw, alice)
    if address == "/settings/":
        it_stays(page)
        expect(text).to_have_value("Half a text")
        return
    come_back(page)
    page.wait_for_url("/login/?next=%2Fcompose%2F")
    fill_in_login(page, alice.user.username)
    expect(composer(page)).to_have_value("Half a text")


def test_a_picture_that_no_draft_keeps_stays(window, raw, alice):
    page = window(alice, at="/compose/")
    page.get_by_role("link", name="Pictures").or_(page.locator("summary", has_text="Pictures")).click()
    picture = {"name": "red.png", "mimeType": "image/png", "buffer": picture_file("red")}
    page.get_by_label("Up to four pictures").set_input_files(picture)
    expect(page.get_by_role("button", name="Remove")).to_have_count(1)
    log_out_elsewhere(raw, alice)
    it_stays(page)
    expect(page.get_by_role("button", name="Remove")).to_have_count(1)


def test_what_is_chosen_in_a_form_stays(window, raw, alice):
    page = window(alice, at="/first-steps/")
    page.get_by_role("radio", name="Brown").check(force=True)
    log_out_elsewhere(raw, alice)
    it_stays(page)
    expect(page.get_by_role("radio", name="Brown")).to_be_checked()


def test_a_form_with_boxes_that_nobody_has_touched_does_not_stay(window, raw, alice):
    page = window(alice, at="/settings/notifications/")
    expect(page.get_by_role("main").get_by_role("checkbox").first).to_be_attached()
    log_out_elsewhere(raw, alice)
    come_back(page)
    page.wait_for_url("/login/?next=%2Fsettings%2Fnotifications%2F")


def test_a_post_is_sent_though_the_page_hears_meanwhile_that_its_session_has_ended(window, raw, alice):
    page = window(alice, at="/")
    composer(page).fill("Half a thought")
    log_out_elsewhere(raw, alice)
    on_their_way = held(page, "**/post/")
    with page.expect_response(lambda answer: answer.status == 205) as told:
        page.evaluate(SEND_AND_COME_BACK)
    told.value.finished()
    on_their_way.pop().continue_()
    page.wait_for_url("/login/?next=%2F")
    fill_in_login(page, alice.user.username)
    expect(composer(page)).to_have_value("Half a thought")


# In one go: Playwright asks nothing of a page that is being left.
SEND_AND_COME_BACK = """() => {
  document.querySelector(".composer").requestSubmit();
  setTimeout(() => document.dispatchEvent(new Event("visibilitychange")), 500);
}"""


def test_a_template_of_a_site_that_does_not_say_whose_page_it_is_is_not_loaded_anew_for_ever(window, alice):
    page = window(alice, at="/timeline/")
    page.evaluate("() => document.querySelector('a.me').classList.remove('me')")
    with page.expect_response(re.compile(r"\?known=")) as told:
        come_back(page)
    assert told.value.status == 204


def come_back(page):
    """To a tab, as the browser tells it."""
    page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")


def it_stays(page):
    """It asks again after it was told that its session has ended: another page would not ask."""
    for _ in range(2):
        with page.expect_response(lambda answer: answer.status == 205) as told:
            come_back(page)
        told.value.finished()
