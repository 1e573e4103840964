"""People join by an application or an invitation, read the rules, and read and dismiss an announcement."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from accounts.community.acts import Roles
from accounts.joining.joining import Joining
from accounts.users.entities import Role
from tests.browser.support.accessibility import fits
from tests.browser.support.steps import fill_in_login, fill_in_registration, log_in, said
from tests.browser.support.windows import PHONE

SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
WHY = "I know bob, and I like birds"


def change_site(page, **choices):
    """As an admin, in the form for the site."""
    page.goto("/moderation/site/")
    page.get_by_label("Who can join").select_option(choices.get("registration", "open"))
    page.get_by_role("textbox", name="Announcement").fill(choices.get("announcement", ""))
    page.get_by_role("textbox", name="Rules").fill(choices.get("rules", ""))
    page.get_by_role("button", name="Save").click()
    said(page, "Site settings saved.")


@pytest.fixture
def admin(window, store, carol):
    """A window of an admin. The site is as before when it closes."""
    Roles(store).give(carol.user.uid, Role.ADMIN)
    page = window(carol)
    yield page
    change_site(page)


def apply(page, name, scripts):
    page.goto("/register/")
    page.get_by_label("Why do you want to join?").fill(WHY)
    fits(page, scripts)
    fill_in_registration(page, name)
    said(page, "Thank you. Log in later to see whether you can join.")


def answer(page, name, button):
    page.goto("/moderation/joining/")
    form = page.get_by_role("main").locator("form").filter(has_text=f"@{name}")
    expect(form.get_by_text(WHY)).to_be_visible()
    if button == "Refuse":
        form.get_by_label("Reason for a refusal").fill("We know no bob")
        form.get_by_label("Reason for a refusal").press("Enter")
    else:
        form.get_by_role("button", name=button).click()


def test_the_buttons_of_an_application_stand_nearer_to_it_than_to_the_next(admin, store, name):
    for like in ("Ida", "Jo"):
        Joining(store).join("approval", name(like), "hash", WHY, "")
    admin.goto("/moderation/joining/")
    first, second = admin.get_by_role("main").locator("form").all()[:2]
    reason, button = [first.get_by_role(role).last.bounding_box() for role in ("textbox", "button")]
    heading = second.get_by_role("heading").bounding_box()
    above, below = button["y"] - (reason["y"] + reason["height"]), heading["y"] - (button["y"] + button["height"])
    assert below > 1.25 * above


@SCRIPTS
def test_an_applicant_waits_is_approved_and_logs_in(admin, window, console, name, scripts):
    console.expects(422, "/login/")
    ida, page = name("Ida"), window(java_script_enabled=scripts)
    change_site(admin, registration="approval")
    apply(page, ida, scripts)
    fill_in_login(page, ida)
    expect(page.get_by_text("The people who run this site have not answered yet.")).to_be_visible()
    answer(admin, ida, "Approve")
    said(admin, f"The account @{ida} was created.")
    fits(admin, scripts=True)
    log_in(page, ida)
    said(page, f"Welcome, {ida}!")
    admin.goto("/moderation/log/")
    expect(admin.get_by_role("main").get_by_text("Application approved").first).to_be_visible()
    expect(admin.get_by_role("main").get_by_text(f"@{ida}").first).to_be_visible()


@pytest.mark.gate
def test_a_refused_applicant_reads_the_reason(admin, window, console, name):
    console.expects(422, "/login/")
    ida, page = name("Ida"), window()
    change_site(admin, registration="approval")
    apply(page, ida, scripts=True)
    answer(admin, ida, "Refuse")
    said(admin, f"The application of @{ida} was refused.")
    fill_in_login(page, ida)
    expect(page.get_by_text("We know no bob")).to_be_visible()


@SCRIPTS
def test_an_invited_person_registers_on_a_site_that_needs_an_invitation(admin, window, console, name, alice, scripts):
    ida = name("Ida")
    host, guest, late = window(alice), window(java_script_enabled=scripts), window()
    change_site(admin, registration="invite")
    console.expects(403, "/register/")
    late.goto("/register/")
    expect(late.get_by_text("You need an invitation to join this site.")).to_be_visible()
    host.goto("/settings/invites/")
    host.get_by_role("button", name="Create an invitation").click()
    said(host, "The invitation was created.")
    fits(host, scripts=True)
    address = host.get_by_label("Address of the invitation").input_value()
    guest.goto(address)
    fits(guest, scripts)
    fill_in_registration(guest, ida)
    said(guest, f"Welcome, {ida}!")
    console.expects(403, urlsplit(address).path)
    late.goto(address)
    expect(late.get_by_text("This invitation has been used")).to_be_visible()
    admin.goto("/moderation/joining/")
    row = admin.get_by_role("listitem").filter(has_text=f"@{ida}")
    expect(row.get_by_role("link", name=f"@{alice.user.username}")).to_be_visible()


@SCRIPTS
def test_an_announcement_is_read_and_dismissed(admin, window, bob, scripts):
    page, visitor = window(bob, java_script_enabled=scripts), window()
    change_site(admin, announcement="The site rests on Sunday")
    page.goto("/")
    announcement = page.get_by_role("complementary", name="Announcement")
    expect(announcement).to_contain_text("The site rests on Sunday")
    fits(page, scripts)
    announcement.get_by_role("button", name="Dismiss").click()
    expect(announcement).to_have_count(0)
    page.goto("/explore/")
    expect(announcement).to_have_count(0)
    visitor.goto("/timeline/")
    expect(visitor.get_by_text("The site rests on Sunday")).to_be_visible()
    change_site(admin, announcement="The site is back")
    page.goto("/")
    expect(announcement).to_contain_text("The site is back")


def test_on_a_phone_an_announcement_touches_nothing_below_it(admin, window, bob):
    change_site(admin, announcement="The site rests on Sunday")
    page = window(bob, viewport=PHONE)
    for path in ("/", "/explore/", "/rules/"):
        page.goto(path)
        announcement = page.get_by_role("complementary", name="Announcement")
        box, text = announcement.bounding_box(), announcement.get_by_text("The site rests").bounding_box()
        assert announcement.get_by_role("button").bounding_box()["y"] >= text["y"] + text["height"] + 8, path
        assert page.get_by_role("main").bounding_box()["y"] >= box["y"] + box["height"] + 8, path


@pytest.mark.parametrize("language", ["en", "ar"])
def test_each_rule_has_its_number_within_the_panel_whichever_way_it_is_written(admin, window, language):
    change_site(admin, rules="Be kind\nكن لطيفًا")
    page = window(locale=language)
    for path in ("/rules/", "/"):
        page.goto(path)
        rules = page.get_by_role("listitem").filter(has_text=re.compile("^(Be kind|كن لطيفًا)$"))
        expect(rules).to_have_count(2)
        for rule in rules.all():
            expect(rule).to_have_css("list-style-type", "decimal")
            box, panel = rule.bounding_box(), rule.locator("xpath=ancestor::*[3]").bounding_box()
            before = box["x"] - panel["x"]
            assert min(before, panel["width"] - before - box["width"]) > 35, path  # the padding, and a number
