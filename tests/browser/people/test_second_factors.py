"""Passkeys in Chromium, with its virtual authenticator; and a code where there are no scripts."""

import re

import pyotp
import pytest
from playwright.sync_api import expect

from tests.browser.support.accessibility import fits
from tests.browser.support.console import Console
from tests.browser.support.steps import fill_in_login, log_out, said, sign_up, stays
from tests.support.people import PASSWORD
from tests.support.processes.processes import wait_until

pytestmark = pytest.mark.gate


@pytest.fixture
def origin(site):
    """`localhost` is the host: an address of numbers has no passkeys."""
    return site.browser.origin.replace("127.0.0.1", "localhost")


@pytest.fixture
def console(origin):
    return Console(origin)


class Person:
    """The browser of this page has an authenticator."""

    def __init__(self, page, **options):
        self._cdp = page.context.new_cdp_session(page)
        self._cdp.send("WebAuthn.enable")
        known = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
        given = {"options": {**known, "isUserVerified": True} | options}
        self._key = self._cdp.send("WebAuthn.addVirtualAuthenticator", given)

    def says(self, yes):
        self._cdp.send("WebAuthn.setAutomaticPresenceSimulation", {**self._key, "enabled": yes})

    def passkeys(self):
        """How many the authenticator keeps."""
        return len(self._cdp.send("WebAuthn.getCredentials", self._key)["credentials"])


def ask_for_passkey(page):
    page.goto("/settings/security/")
    page.get_by_role("link", name="Add a passkey").click()
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Name", exact=True).fill("My laptop")
    fits(page, scripts=True)
    page.get_by_role("button", name="Create the passkey").click()


def add_passkey(page):
    ask_for_passkey(page)
    said(page, "Your passkey was added.")


def before_a_login(page, name, **options):
    """A person with a passkey, whose browser is logged out and at the login. They do nothing until they say yes."""
    person = Person(page, **options)
    sign_up(page, name)
    add_passkey(page)
    log_out(page)
    person.says(False)
    page.goto("/login/")
    return person


def test_a_passkey_logs_in_after_the_password_and_alone(window, origin, name):
    ida, page = name("Ida"), window(base_url=origin)
    person = before_a_login(page, ida)
    expect(page.get_by_role("button", name="Use a passkey")).to_be_visible()
    fits(page, scripts=True)
    fill_in_login(page, ida)
    fits(page, scripts=True)
    person.says(True)
    page.get_by_role("button", name="Use a passkey").click()
    said(page, f"Welcome back, {ida}.")
    page.goto("/settings/sessions/")
    expect(page.get_by_text("with a password and a passkey")).to_be_visible()
    log_out(page)
    page.goto("/login/?next=/settings/security/")  # the list of the name's field offers the passkey, and it is taken
    said(page, f"Welcome back, {ida}.")
    fits(page, scripts=True)
    page.context.clear_cookies(name="confirmed")  # as ten minutes later
    person.says(False)
    page.get_by_role("button", name="Remove the passkey My laptop").click()
    expect(page.get_by_role("heading", name="Confirm that it is you")).to_be_visible()
    fits(page, scripts=True)
    person.says(True)
    page.get_by_role("button", name="Use a passkey").click()
    said(page, "Confirmed. You are not asked again for ten minutes.")
    assert person.passkeys() == 1
    page.get_by_role("button", name="Remove the passkey My laptop").click()
    said(page, "The passkey was removed.")
    wait_until(lambda: person.passkeys() == 0, "the browser offers it no longer")


OLDER_KEY = {"protocol": "u2f", "transport": "usb", "hasResidentKey": False, "hasUserVerification": False}


def test_an_older_security_key_is_a_second_factor(window, origin, name):
    ida, page = name("Ida"), window(base_url=origin)
    person = before_a_login(page, ida, **OLDER_KEY, isUserVerified=False)
    fill_in_login(page, ida)
    expect(page.get_by_text(f"The password of @{ida} was right.")).to_be_visible()
    person.says(True)
    page.get_by_role("button", name="Use a passkey").click()
    said(page, f"Welcome back, {ida}.")


def alert(page, text):
    return page.get_by_role("main").get_by_role("alert").filter(has_text=text)


def test_a_device_that_has_a_passkey_of_the_account_is_not_asked_to_try_again(window, origin, name):
    page = window(base_url=origin)
    Person(page)
    sign_up(page, name("Lea"))
    add_passkey(page)
    ask_for_passkey(page)
    expect(alert(page, "This device already has a passkey for your account.")).to_be_visible()
    expect(alert(page, "Try again")).to_be_hidden()


COUNTS = """
() => {
  const { get } = navigator.credentials;
  window.asked = 0; // by the button, not for the list of the name's field
  navigator.credentials.get = (how) => {
    window.asked += !how.mediation;
    return get.call(navigator.credentials, how);
  };
}
"""


def test_a_double_click_asks_for_a_passkey_once(window, origin, name):
    page = window(base_url=origin)
    before_a_login(page, name("Kim"))
    page.evaluate(COUNTS)
    page.get_by_role("button", name="Use a passkey").dblclick()
    page.wait_for_function("() => window.asked > 0")
    expect(page.get_by_role("alert").filter(has_text="The passkey was not used")).to_be_hidden()
    assert page.evaluate("() => window.asked") == 1


def test_the_login_page_that_the_browser_kept_asks_for_a_passkey_again(window, origin, console):
    """Browsers keep whole pages for Back; the one of these tests does not, so its event is sent by hand. A wrong
    password is not sent again: browsers would ask about that first."""
    page = window(base_url=origin, at="/login/")
    console.expects(422, "/login/")
    fill_in_login(page, "nobody", "not the password")
    expect(page.get_by_role("main").get_by_role("alert").first).to_be_visible()
    stays(page)
    with page.expect_request("**/login/") as asked:
        page.evaluate("() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    assert asked.value.method == "GET"
    page.wait_for_function("() => window.stayed === undefined")
    expect(page.get_by_role("button", name="Use a passkey")).to_be_visible()


def test_without_scripts_an_app_does_the_same_and_the_page_says_what_does_not(window, origin, name):
    jon, page = name("Jon"), window(java_script_enabled=False, base_url=origin)
    sign_up(page, jon)
    page.goto("/settings/security/")
    fits(page, scripts=False)
    page.get_by_role("link", name="Set up an app").click()
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    fits(page, scripts=False)
    app = pyotp.TOTP(re.sub(r"\s", "", page.get_by_role("main").locator("code").inner_text()))
    page.get_by_label("Code", exact=True).fill(app.now())
    page.get_by_role("button", name="Finish").click()
    said(page, "Your authenticator app is set up.")
    page.get_by_role("button", name="Show new codes").click()
    code = page.get_by_role("main").get_by_role("listitem").first.inner_text()
    log_out(page)
    page.goto("/login/")
    expect(page.get_by_text("Passkeys need JavaScript")).to_be_visible()
    expect(page.get_by_role("button", name="Use a passkey")).to_have_count(0)
    fill_in_login(page, jon)
    fits(page, scripts=False)
    page.get_by_label("Code", exact=True).fill(code)
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    said(page, f"Welcome back, {jon}.")
