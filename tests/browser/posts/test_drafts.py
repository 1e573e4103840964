"""Texts that are not posted yet: each user finds their own, and can throw it away."""

import pytest
from playwright.sync_api import expect

from tests.browser.support.steps import composer, fill_in_login, log_out_elsewhere, post, said, send
from tests.browser.support.windows import sign_in
from tests.support.stored_keys import publish


def discard_button(page):
    return page.get_by_role("main").get_by_role("button", name="Discard")


def post_after_the_session(page, raw, author, text):
    """The author's session ends elsewhere while the text is typed. So it is kept until a login."""
    composer(page).fill(text)
    log_out_elsewhere(raw, author)
    page.get_by_role("button", name="Post", exact=True).click()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_text_of_one_user_is_not_in_the_composer_of_the_next(window, raw, alice, bob, scripts):
    page = window(alice, at="/", java_script_enabled=scripts)
    post_after_the_session(page, raw, alice, "A secret of alice")
    expect(page.get_by_text("Your post is kept. Log in to send it.")).to_be_visible()
    fill_in_login(page, bob.user.username)
    said(page, f"Welcome back, {bob.user.username}.")
    expect(composer(page)).to_have_value("")
    page.goto("/compose/")
    expect(composer(page)).to_have_value("")


@pytest.mark.parametrize("scripts", [pytest.param(True, marks=pytest.mark.gate), False])
def test_the_author_finds_it_after_the_login_and_posts_it(window, raw, alice, scripts):
    page = window(alice, at="/", java_script_enabled=scripts)
    post_after_the_session(page, raw, alice, "To be continued")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    fill_in_login(page, alice.user.username)
    expect(composer(page)).to_have_value("To be continued")
    send(page)
    expect(post(page, "To be continued")).to_have_count(1)
    expect(composer(page)).to_have_value("")
    assert raw.zcard(f"updates:{alice.user.uid}") == 1


def test_on_the_page_for_a_post_one_types_on_behind_a_kept_text(window, raw, alice):
    page = window(alice, at="/compose/")
    post_after_the_session(page, raw, alice, "To be")
    fill_in_login(page, alice.user.username)
    expect(composer(page)).to_have_value("To be")
    page.goto("/compose/")
    expect(composer(page)).to_be_focused()
    page.keyboard.type(" continued")
    expect(composer(page)).to_have_value("To be continued")


def test_a_kept_text_can_be_discarded_without_scripts(window, raw, alice):
    page = window(alice, at="/", java_script_enabled=False)
    post_after_the_session(page, raw, alice, "Better not")
    fill_in_login(page, alice.user.username)
    expect(composer(page)).to_have_value("Better not")
    discard_button(page).click()
    said(page, "Discarded.")
    expect(composer(page)).to_have_value("")
    expect(discard_button(page)).to_have_count(0)


def test_with_scripts_any_text_can_be_discarded(window, alice):
    page = window(alice, at="/timeline/")
    expect(discard_button(page)).to_have_count(0)
    composer(page).fill("Better not")
    discard_button(page).click()
    said(page, "Discarded.")
    expect(page).to_have_url("/timeline/")
    expect(composer(page)).to_have_value("")
    page.reload()
    expect(composer(page)).to_have_value("")


def test_each_form_keeps_its_own_text(window, store, raw, alice, bob):
    pid = publish(raw, store, bob, "To be answered")
    page = window(alice, at="/")
    composer(page).fill("For everyone")
    page.goto(f"/compose/?reply_to={pid}")
    reply = page.get_by_role("textbox", name="Your reply")
    expect(reply).to_have_value("")
    reply.fill("For bob")
    page.reload()
    expect(reply).to_have_value("For bob")
    reply.press("Control+Enter")
    said(page, "Posted.")
    page.goto("/")
    expect(composer(page)).to_have_value("For everyone")
    page.goto(f"/compose/?reply_to={pid}")
    expect(reply).to_have_value("")


def test_a_form_of_another_tab_asks_before_it_posts(alice, console, raw, bob, site, page):
    console.expects(409, "/post/")
    composer(page).fill("Whose is this?")
    sign_in(page.context, bob, site.browser.origin)
    composer(page).press("Control+Enter")
    names = f"This form was written as @{alice.user.username}. You are logged in as @{bob.user.username}."
    expect(page.get_by_role("main")).to_contain_text(names)
    page.get_by_role("button", name=f"Post as @{bob.user.username}").click()
    said(page, "Posted.")
    assert raw.zcard(f"updates:{alice.user.uid}") == 0
    assert raw.zcard(f"updates:{bob.user.uid}") == 1


def test_ctrl_enter_saves_an_edited_post(window, store, raw, alice):
    pid = publish(raw, store, alice, "The frist text")
    page = window(alice, at=f"/@{alice.user.username}/{pid}/edit/")
    page.get_by_role("textbox", name="Your post").fill("The first text\nin two lines")
    page.get_by_role("textbox", name="Your post").press("Control+Enter")
    said(page, "Saved.")
    expect(post(page, "The first text")).to_have_count(1)
    assert raw.hget(f"post:{pid}", "body") == "The first text\nin two lines"


def test_a_cancelled_edit_does_not_come_back(window, store, raw, alice):
    pid = publish(raw, store, alice, "As it was")
    page, address = window(alice), f"/@{alice.user.username}/{pid}/edit/"
    page.goto(address)
    text = page.get_by_role("main").get_by_role("textbox")
    text.fill("Half an edit")
    page.goto("/")
    page.goto(address)
    expect(text).to_have_value("Half an edit")
    page.get_by_role("link", name="Cancel").click()
    expect(post(page, "As it was")).to_be_visible()
    page.goto(address)
    expect(text).to_have_value("As it was")
