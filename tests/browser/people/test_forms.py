"""A form with errors comes back with everything that was typed."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.support import steps
from tests.support.people import PASSWORD


def is_wrong(field, why):
    """A field says what is wrong with it, to screen readers too."""
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description(re.compile(re.escape(why)))


@pytest.mark.gate
def test_a_registration_with_errors_keeps_the_name_and_says_what_is_wrong(window, console, name, raw):
    console.expects(422, "/register/")
    page, erin = window(), name("Erin")
    page.goto("/register/")
    steps.fill_in_registration(page, erin, again="something else")
    again = page.get_by_label("Repeat password")
    is_wrong(again, "The passwords do not match.")
    expect(page.get_by_role("main").get_by_label("Username")).to_have_value(erin)
    expect(again).to_have_value("")
    steps.fill_in_registration(page, erin)
    steps.said(page, f"Welcome, {erin}!")
    assert raw.hexists("users", erin.lower())


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_long_form_with_an_error_comes_back_at_the_wrong_field(window, console, alice, scripts):
    console.expects(422, "/settings/")
    page = window(alice, at="/settings/", java_script_enabled=scripts)
    page.get_by_label("Label 4").fill("Web")
    page.get_by_role("main").get_by_role("button", name="Save").click()
    field = page.get_by_label("Text or link 4")
    is_wrong(field, "Fill in both")
    expect(field).to_be_focused()
    expect(field).to_be_in_viewport()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_wrong_password_keeps_the_name_is_announced_and_can_be_typed_again(window, console, alice, scripts):
    console.expects(422, "/login/")
    page = window(at="/login/", java_script_enabled=scripts)
    steps.fill_in_login(page, alice.user.username, "wrong horse battery")
    expect(page.get_by_role("alert")).to_have_text("Wrong username or password.")
    expect(page.get_by_role("main").get_by_label("Username")).to_have_value(alice.user.username)
    expect(page.get_by_role("main").get_by_label("Password")).to_have_value("")
    expect(page.get_by_role("main").get_by_label("Password")).to_be_focused()
    steps.fill_in_login(page, alice.user.username)
    steps.said(page, f"Welcome back, {alice.user.username}.")


@pytest.mark.gate
def test_a_post_that_is_too_long_comes_back_whole(window, console, alice, raw):
    console.expects(422, "/post/")
    page, text = window(alice, java_script_enabled=False), "x" * 281
    page.goto("/")
    steps.write(page, text)
    is_wrong(steps.composer(page), "1 character too many.")
    expect(steps.composer(page)).to_have_value(text)
    assert raw.zcard(f"updates:{alice.user.uid}") == 0
    steps.posted(page, text[1:])
    expect(steps.post(page, text[1:])).to_have_count(1)


def test_the_back_button_keeps_the_typed_text(page):
    steps.composer(page).fill("Half a thought")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Everyone").click()
    expect(page.get_by_role("heading", name="Everyone")).to_be_visible()
    page.go_back()
    expect(steps.composer(page)).to_have_value("Half a thought")
    steps.posted(page, "Half a thought, and the other half")


def test_what_is_made_of_a_text_that_waited_is_what_stays(window, name, raw):
    page, frank = window(), name("Frank")
    steps.sign_up(page, frank)
    steps.composer(page).fill("Written while signed in")
    raw.hset(f"user:{raw.hget('users', frank.lower())}", "generation", "from another device")
    page.get_by_role("button", name="Post", exact=True).click()
    steps.fill_in_login(page, frank)
    expect(steps.composer(page)).to_have_value("Written while signed in")
    for better in ("Written with more care", ""):
        steps.composer(page).fill(better)
        for way in ("Everyone", "Home"):
            page.get_by_role("navigation", name="Main").get_by_role("link", name=way).click()
        expect(steps.composer(page)).to_have_value(better)


def test_whoever_changes_the_password_logs_in_with_the_new_one(window, console, alice):
    console.expects(422, "/settings/password/")
    page = window(alice, at="/settings/password/")
    main = page.get_by_role("main")

    def fill_in(present):
        main.get_by_label("Current password").fill(present)
        main.get_by_label("New password", exact=True).fill("battery staple horse")
        main.get_by_label("Repeat new password").fill("battery staple horse")
        main.get_by_role("button", name="Change password").click()

    fill_in("a wrong one")
    is_wrong(main.get_by_label("Current password"), "Wrong password.")
    fill_in(PASSWORD)
    steps.said(page, "Your password was changed")
    steps.log_out(page)
    page.goto("/login/")
    steps.fill_in_login(page, alice.user.username, "battery staple horse")
    steps.said(page, f"Welcome back, {alice.user.username}.")


TWO_CLICKS = """
(button) => {
  const stopped = [];
  addEventListener("submit", (event) => stopped.push(event.defaultPrevented));
  button.click();
  button.click();
  return stopped;
}
"""


def test_the_second_click_of_a_double_click_sends_no_form(window, alice, raw):
    page = window(alice, at="/settings/invites/")
    button = page.get_by_role("button", name="Create an invitation")
    assert button.evaluate(TWO_CLICKS) == [False, True]
    steps.said(page, "The invitation was created.")
    assert raw.hlen(f"invites:{alice.user.uid}") == 1
    button.click()  # and later it is another click
    expect(page.get_by_role("textbox", name="Address of the invitation")).to_have_count(2)


PRESSED = """
(button) => {
  let now = 0;
  const stopped = [];
  Object.defineProperty(Event.prototype, "timeStamp", { get: () => now });
  addEventListener("submit", (event) => stopped.push(event.defaultPrevented));
  for (now of [1_000, 6_000, 12_000]) button.click();
  button.form.dispatchEvent(new Event("input", { bubbles: true }));
  button.click();
  const other = button.cloneNode(true);
  button.form.append(other);
  other.click();
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
  other.click();
  dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
  other.click();
  other.click();
  return stopped;
}
"""


def test_on_a_slow_line_a_form_goes_out_again_only_after_ten_seconds_or_when_it_is_another_one(window, alice):
    """With another text, by another button, after Escape, or on a page that the browser has kept."""
    page = window(alice, at="/settings/invites/")
    stopped = page.get_by_role("button", name="Create an invitation").evaluate(PRESSED)
    assert stopped == [False, True, False, False, False, False, False, True]
    steps.said(page, "The invitation was created.")


def test_a_search_goes_out_again_while_the_first_is_not_answered(window):
    page = window(at="/search/")
    assert page.get_by_role("main").get_by_role("button", name="Search").evaluate(TWO_CLICKS) == [False, False]
    expect(page).to_have_url("/search/?q=")
