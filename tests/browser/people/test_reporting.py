"""A user reports a post, a moderator decides, and both sides are told."""

import secrets

import pytest
from playwright.sync_api import expect

from accounts.community.roles import Roles
from accounts.users.entities import Role
from tests.browser.support.accessibility import findings
from tests.browser.support.steps import more, post, said
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts

AD = "Cheap watches, only today"
WHY = "Advertising is against the rules"


@pytest.fixture(params=["light", pytest.param("dark", marks=pytest.mark.gate), "no scripts"])
def person(request, window):
    """Opens a window in one of the themes. axe looks at it at the end of the test's steps; it needs scripts."""

    def open_window(login):
        if request.param == "no scripts":
            return window(login, java_script_enabled=False), lambda: None
        page = window(login, color_scheme=request.param, reduced_motion="reduce")

        def fits():
            assert findings(page) == []

        return page, fits

    return open_window


@pytest.fixture
def moderator(store, carol):
    Roles(store).give(carol.user.uid, Role.MODERATOR)
    return carol


def report_the_ad(page, author, fits):
    page.goto(f"/@{author}/")
    ad = post(page, AD)
    more(ad).click()
    page.get_by_role("link", name="Report", exact=True).click()
    expect(page.get_by_role("heading", name=f"Report a post by @{author}")).to_be_visible()
    fits()
    page.get_by_role("radio", name="It is spam or fraud").check()
    page.get_by_label("What should the moderators know?").fill("The third today")
    page.get_by_role("button", name="Send the report").click()
    said(page, "Thank you. You will be told what the moderators decide.")
    fits()


def decide(page, author, action, fits):
    page.goto("/moderation/")
    fits()
    page.get_by_role("link", name=f"A post by @{author}").click()
    expect(page.get_by_text("The third today")).to_be_visible()
    page.get_by_label("Delete the post").set_checked(action == "Delete the post")
    page.get_by_label("What happens to the person?").select_option("Nothing" if action == "Delete the post" else action)
    page.get_by_label("Reason").fill(WHY)
    fits()
    page.get_by_role("button", name="Decide").click()
    said(page, "Decided.")
    expect(page.get_by_role("link", name=f"A post by @{author}")).to_have_count(0)


def test_a_reported_post_is_deleted_and_both_sides_are_told(person, store, alice, bob, moderator):
    author = bob.user.username
    Posts(store).publish(bob.user.uid, NewPost(AD), secrets.token_hex(8))
    (reporter, reporter_fits), (staff, staff_fits), (reported, reported_fits) = map(person, (alice, moderator, bob))
    report_the_ad(reporter, author, reporter_fits)
    decide(staff, author, "Delete the post", staff_fits)
    reporter.goto("/notifications/")
    expect(reporter.get_by_text(f"You have reported @{author}.")).to_be_visible()
    expect(reporter.get_by_text("The moderators have acted")).to_be_visible()
    reporter_fits()
    reported.goto("/notifications/")
    expect(reported.get_by_text(AD)).to_be_visible()
    expect(reported.get_by_text(WHY)).to_be_visible()
    expect(reported.get_by_text(alice.user.username)).to_have_count(0)
    reported_fits()
    reported.goto(f"/@{author}/")
    expect(post(reported, AD)).to_have_count(0)


def test_a_frozen_person_reads_why_and_appeals(person, store, alice, bob, moderator):
    author = bob.user.username
    Posts(store).publish(bob.user.uid, NewPost(AD), secrets.token_hex(8))
    (reporter, reporter_fits), (staff, staff_fits), (reported, reported_fits) = map(person, (alice, moderator, bob))
    report_the_ad(reporter, author, reporter_fits)
    decide(staff, author, "Freeze: they can only read", staff_fits)
    reported.goto("/")
    reported.get_by_role("link", name="What you can do").click()
    expect(reported.get_by_role("heading", name="Your account is frozen")).to_be_visible()
    expect(reported.get_by_role("main").get_by_text(WHY)).to_be_visible()
    reported_fits()
    reported.get_by_role("main").get_by_role("textbox").fill("It was a joke")
    reported.get_by_role("button", name="Send the appeal").click()
    expect(reported.get_by_text("A moderator will decide.")).to_be_visible()
    staff.goto("/moderation/")
    staff.get_by_role("link", name=f"@{author}").click()
    expect(staff.get_by_text("It was a joke")).to_be_visible()
    staff.get_by_label("Reason").first.fill("A joke indeed")
    staff_fits()
    staff.get_by_role("button", name="Grant the appeal").click()
    said(staff, "Done.")
    reported.goto("/appeal/")
    expect(reported.get_by_text("There are no restrictions on your account.")).to_be_visible()
    reported_fits()
