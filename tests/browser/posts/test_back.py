"""Browsers keep a whole page for Back, as it was left. It shows what the user has done on other pages since."""

import re
import shutil

import pytest
from playwright.sync_api import expect

from tests.browser.support.steps import composer, follow_button, log_out, log_out_elsewhere, post, said
from tests.browser.support.windows import FLAGS, WITHIN, sign_in
from tests.support.stored_keys import publish


@pytest.fixture(scope="module")
def keeping(chromium):
    """A browser that keeps pages for Back; that of the other stories does not, and headless-shell never does."""
    whole, off = shutil.which("chromium"), ["--disable-back-forward-cache"]
    if whole is None:
        pytest.skip("chromium-headless-shell keeps no pages")
    browser = chromium.browser_type.launch(executable_path=whole, args=FLAGS, ignore_default_args=off)
    yield browser
    browser.close()


@pytest.fixture
def page(keeping, site, console, alice):
    context = keeping.new_context(base_url=site.browser.origin)
    context.set_default_timeout(WITHIN)
    console.watch(context)
    sign_in(context, alice, site.browser.origin)
    yield context.new_page()
    console.settle(context)
    context.close()
    assert console.complaints() == []


def leave(page):
    """Note in the page that it is left, as only a page that was kept still knows."""
    page.evaluate("() => { window.wasLeft = true; }")


def go_back(page, address):
    """Back to a page that the browser has kept, which loads nothing."""
    page.evaluate("() => { setTimeout(() => history.back()); }")
    page.wait_for_url(address, wait_until="commit")
    page.wait_for_function("() => window.wasLeft")


def test_a_like_and_a_follow_on_other_pages_are_shown(page, store, raw, bob, carol):
    pid = publish(raw, store, bob, "To be liked")
    page.goto("/timeline/")
    leave(page)
    post(page, "To be liked").locator("time").click()
    page.wait_for_url(f"/@{bob.user.username}/{pid}/")
    page.get_by_role("button", name="Like", exact=True).click()
    expect(page.get_by_role("button", name="Like 1")).to_have_attribute("aria-pressed", "true")
    go_back(page, "/timeline/")
    expect(post(page, "To be liked").get_by_role("button", name="Like 1")).to_have_attribute("aria-pressed", "true")
    page.goto(f"/people/?q={carol.user.username}")
    leave(page)
    page.get_by_role("main").get_by_role("link", name=carol.user.username).first.click()
    page.wait_for_url(f"/@{carol.user.username}/")
    follow_button(page, carol.user.username).click()
    said(page, f"You now follow {carol.user.username}.")
    go_back(page, f"/people/?q={carol.user.username}")
    expect(page.get_by_role("button", name=re.compile(f"Unfollow {carol.user.username}"))).to_be_visible()


def test_a_menu_is_closed_and_what_is_typed_stays(page, store, raw, bob):
    publish(raw, store, bob, "To be opened")
    page.goto("/timeline/")
    page.goto("/")
    page.goto(f"/@{bob.user.username}/")
    text = page.get_by_role("textbox", name="Write to")
    text.fill("Half a text")
    post(page, "To be opened").get_by_role("link", name="More", exact=True).click()
    leave(page)
    page.get_by_role("link", name="Link to this post").click()
    page.wait_for_url("**/@*/*/")
    go_back(page, f"/@{bob.user.username}/")
    expect(page.get_by_role("link", name="Link to this post")).to_have_count(0)
    expect(text).to_have_value("Half a text")


def test_a_post_that_was_edited_is_edited_on_from_its_new_text(page, store, raw, alice):
    pid = publish(raw, store, alice, "The first text")
    address = f"/@{alice.user.username}/{pid}/edit/"
    page.goto(address)
    text = page.get_by_role("textbox", name="Your post")
    text.fill("The second text")
    page.get_by_role("button", name="Save").click()
    said(page, "Saved.")
    page.evaluate("() => { setTimeout(() => history.back()); }")
    page.wait_for_url(address, wait_until="commit")
    expect(text).to_have_value("The second text")


def test_posts_that_were_edited_and_deleted_on_other_pages_are_shown_so(page, console, store, raw, alice):
    edited = publish(raw, store, alice, "The first text")
    deleted = publish(raw, store, alice, "To be deleted")
    profile = f"/@{alice.user.username}/"
    console.expects(410, f"{profile}{deleted}/")
    page.goto(profile)
    leave(page)
    page.goto(f"{profile}{edited}/edit/")
    page.get_by_role("textbox", name="Your post").fill("The second text")
    page.get_by_role("button", name="Save").click()
    said(page, "Saved.")
    page.goto(f"{profile}{deleted}/")
    page.get_by_role("link", name="More", exact=True).click()
    page.locator("summary", has_text="Delete").click()
    page.get_by_role("button", name="Yes, delete this post").click()
    said(page, "Deleted.")
    page.evaluate("() => { setTimeout(() => history.back()); }")
    expect(page.get_by_role("heading", name="Deleted")).to_be_visible()
    page.evaluate("() => { setTimeout(() => history.go(-3)); }")
    page.wait_for_url(profile, wait_until="commit")
    page.wait_for_function("() => window.wasLeft")
    expect(post(page, "The second text")).to_be_visible()
    expect(post(page, "To be deleted")).to_have_count(0)


def test_a_page_that_was_kept_asks_once_for_what_is_new(page):
    """The browser tells it twice that it is shown: as a page, and as a tab."""
    page.goto("/people/")
    leave(page)
    page.goto("/bookmarks/")
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "?known=" in request.url else None)
    with page.expect_response(re.compile(r"\?known=")):
        go_back(page, "/people/")
    page.wait_for_load_state("networkidle")
    assert len(asked) == 1


def test_a_page_of_another_session_is_loaded_anew(page, site, store, raw, alice, bob):
    publish(raw, store, bob, "For alice")
    page.goto("/")
    expect(composer(page)).to_be_visible()
    page.goto("/timeline/")
    leave(page)
    post(page, "For alice").locator("time").click()
    page.get_by_role("button", name="Like", exact=True).click()
    expect(page.get_by_role("button", name="Like 1")).to_be_visible()
    sign_in(page.context, bob, site.browser.origin)
    page.evaluate("() => { setTimeout(() => history.back()); }")
    expect(page.get_by_role("banner").get_by_role("group")).to_contain_text(bob.user.username)


def show_private_pages(page):
    """Pages that only alice may see, the last of them with her menu alone."""
    for address in ("/bookmarks/", "/timeline/"):
        page.goto(address)
        leave(page)


def test_after_a_logout_no_page_of_the_session_is_shown(page, alice):
    show_private_pages(page)
    log_out(page)
    said(page, "You are logged out.")
    page.evaluate("() => { setTimeout(() => history.back()); }")
    page.wait_for_url("/timeline/")
    expect(page.get_by_role("link", name="Log in")).to_be_visible()
    page.evaluate("() => { setTimeout(() => history.back()); }")
    page.wait_for_url("/login/?next=%2Fbookmarks%2F")


def test_after_a_logout_no_page_of_the_session_is_shown_to_who_has_no_connection(page, console):
    show_private_pages(page)
    log_out(page)
    said(page, "You are logged out.")
    console.expects_no_connection()
    page.context.set_offline(True)
    page.evaluate("() => { setTimeout(() => history.back()); }")
    page.wait_for_url("/timeline/")
    expect(page.get_by_role("banner").get_by_role("group")).to_have_count(0)
    page.context.set_offline(False)


def test_when_a_session_was_ended_elsewhere_no_page_of_it_is_shown(page, raw, alice):
    show_private_pages(page)
    page.goto("/people/")
    log_out_elsewhere(raw, alice)
    page.evaluate("() => { setTimeout(() => history.back()); }")
    page.wait_for_url("/timeline/")
    expect(page.get_by_role("link", name="Log in")).to_be_visible()
