"""A user sees and ends sessions, and comes back with a recovery code or a link after forgetting the password."""

import io
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from playwright.sync_api import expect

from tests.browser.support import steps
from tests.browser.support.accessibility import fits
from tests.support.people import NEW_PASSWORD

SCRIPTS = pytest.mark.parametrize(
    "scripts", [pytest.param(True, marks=pytest.mark.gate), False], ids=["scripts", "no scripts"]
)


def is_logged_out(page):
    page.goto("/")
    expect(page.get_by_role("main").get_by_role("link", name="Log in", exact=True)).to_be_visible()


def is_logged_in(page):
    page.goto("/")
    expect(steps.account_menu(page).get_by_role("button", name="Log out", exact=True)).to_be_visible()


def fill_in_new_password(page):
    page.get_by_label("New password", exact=True).fill(NEW_PASSWORD)
    page.get_by_label("Repeat new password").fill(NEW_PASSWORD)
    page.get_by_role("button", name="Set new password").click()
    steps.said(page, "Your password was changed. Log in with it.")


@SCRIPTS
def test_each_device_is_logged_out_alone_or_all_together(window, name, scripts):
    ida = name("Ida")
    phone, desk, old = (window(java_script_enabled=scripts) for _ in range(3))
    steps.sign_up(desk, ida)
    for page in (phone, old):
        steps.log_in(page, ida)
        steps.said(page, f"Welcome back, {ida}.")
    steps.log_out(phone)
    steps.said(phone, "You are logged out.")
    is_logged_in(desk)
    desk.goto("/settings/")
    desk.get_by_role("link", name="Your devices").click()
    expect(desk.get_by_text("This device")).to_have_count(1)
    fits(desk, scripts)
    desk.get_by_role("main").get_by_role("button", name="Log out Chrome on Linux").click()
    steps.said(desk, "The device is logged out.")
    is_logged_out(old)
    steps.log_in(old, ida)
    steps.account_menu(desk).get_by_role("link", name="Log out everywhere").click()
    fits(desk, scripts)
    is_logged_in(old)
    desk.get_by_role("main").get_by_role("button", name="Log out everywhere").click()
    steps.said(desk, "You are logged out on all your devices.")
    is_logged_out(old)


@SCRIPTS
def test_a_forgotten_password_is_replaced_with_a_code_from_the_registration(window, console, name, scripts):
    console.expects(422, "/recover/")
    jon, page = name("Jon"), window(java_script_enabled=scripts)
    page.goto("/register/")
    steps.fill_in_registration(page, jon)
    steps.said(page, f"Welcome, {jon}!")
    fits(page, scripts)
    page.get_by_label("Display name").fill("Jonathan")
    page.get_by_label("What's new?").fill("My first words")
    page.get_by_role("button", name="Save and continue").click()
    page.get_by_role("button", name="Show new codes").click()
    expect(page.get_by_role("heading", name="Your recovery codes")).to_be_visible()
    codes = page.get_by_role("main").get_by_role("listitem").all_inner_texts()
    assert len(codes) == 10
    fits(page, scripts)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.path().read_text().splitlines()[3:] == codes
    if scripts:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.get_by_role("button", name="Copy").click()
        expect(page.get_by_role("button", name="Copied.")).to_be_visible()
        assert page.evaluate("() => navigator.clipboard.readText()").splitlines() == codes
    else:
        expect(page.get_by_role("button", name="Copy")).to_have_count(0)
        expect(page.get_by_role("button", name="Print")).to_have_count(0)
    page.get_by_role("link", name="I have kept them").click()
    steps.log_out(page)
    page.goto("/login/")
    page.get_by_role("link", name="Forgot your password?").click()
    fits(page, scripts)
    for code in ("nothing", codes[4]):
        page.get_by_role("main").get_by_label("Username").fill(jon)
        page.get_by_label("Recovery code").fill(code)
        page.get_by_label("New password", exact=True).fill(NEW_PASSWORD)
        page.get_by_label("Repeat new password").fill(NEW_PASSWORD)
        page.get_by_role("button", name="Set new password").click()
        if code == "nothing":
            expect(page.get_by_role("alert")).to_contain_text("Wrong username or recovery code")
    steps.said(page, "Your password was changed. Log in with it.")
    steps.fill_in_login(page, jon, NEW_PASSWORD)
    steps.said(page, f"Welcome back, {jon}.")


@SCRIPTS
def test_a_link_of_the_operator_works_once(window, console, alice, scripts):
    out = io.StringIO()
    call_command("resetlink", alice.user.username, stdout=out, verbosity=0)
    address, page = urlsplit(out.getvalue().strip()).path, window(java_script_enabled=scripts)
    page.goto(address)
    fits(page, scripts)
    fill_in_new_password(page)
    steps.fill_in_login(page, alice.user.username, NEW_PASSWORD)
    steps.said(page, f"Welcome back, {alice.user.username}.")
    console.expects(410, address)
    page.goto(address)
    expect(page.get_by_role("heading", name="This link no longer works")).to_be_visible()
    fits(page, scripts)


def test_an_address_of_numbers_says_that_it_has_no_passkeys(window):
    page = window(at="/login/")
    alerts = page.get_by_role("main").get_by_role("alert")
    page.get_by_role("button", name="Use a passkey").click()
    expect(alerts.filter(has_text="They need a name, such as localhost")).to_be_visible()
    expect(alerts.filter(has_text="Try again")).to_be_hidden()
