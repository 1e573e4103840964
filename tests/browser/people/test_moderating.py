"""A moderator at work: what waits stands in the navigation, spam is deleted where it is seen, one form decides about a
person, and a note stays for the others."""

import secrets

import pytest
from playwright.sync_api import expect

from accounts.community.roles import Roles
from accounts.users.entities import Role
from tests.browser.support.accessibility import findings
from tests.browser.support.steps import more, nothing_scrolls_sideways, post, said
from tests.browser.support.windows import PHONE
from timeline.moderation.reports import NewReport, Reports
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts

ADS = ("Cheap watches, only today", "Cheap followers, only today", "Cheap everything, only today")


@pytest.fixture
def site_with_reports(store, alice, bob, carol):
    """bob has written three ads; alice has reported the first one, and bob. carol is a moderator."""
    pids = [Posts(store).publish(bob.user.uid, NewPost(text), secrets.token_hex(8)).pid for text in ADS]
    for new in (NewReport(bob.user.uid, pids[0], "spam", body=ADS[0]), NewReport(bob.user.uid, None, "spam")):
        Reports(store).make(alice.user.uid, new)
    Roles(store).give(carol.user.uid, Role.MODERATOR)
    return bob.user.username


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
@pytest.mark.usefixtures("site_with_reports")
def test_a_moderator_acts_where_spam_is_seen_and_decides_about_a_person_at_once(window, alice, bob, carol, scripts):
    name = bob.user.username
    staff = window(carol, viewport=PHONE, java_script_enabled=scripts)

    def fits():
        if scripts:  # axe is one
            nothing_scrolls_sideways(staff)
            assert findings(staff) == []

    def room(called):
        return staff.get_by_role("navigation", name="Moderation").get_by_role("link", name=called)

    staff.goto(f"/@{name}/")
    more(post(staff, ADS[2])).click()
    staff.get_by_text("Delete this post", exact=True).click()
    staff.get_by_label("Reason").fill("Advertising")
    staff.get_by_label("Reason").press("Enter")
    fits()
    staff.get_by_role("button", name="Yes, delete this post").click()
    said(staff, "The post was deleted.")
    expect(staff).to_have_url(f"{staff.url.partition('/@')[0]}/@{name}/")
    expect(post(staff, ADS[2])).to_have_count(0)

    way = staff.get_by_role("navigation", name="Main").get_by_role("link", name="Moderation")
    expect(way).to_contain_text("open")
    way.click()
    expect(way).to_have_attribute("aria-current", "page")
    expect(room("Reports")).to_have_attribute("aria-current", "page")
    reported = staff.get_by_role("listitem").filter(has_text=name).filter(has_text=ADS[0])
    expect(reported).to_contain_text(f"Reported by @{alice.user.username}")
    fits()
    reported.get_by_role("link", name=f"Decide all 2 reports about @{name} together").click()
    expect(staff.get_by_role("checkbox", name="The person")).to_be_checked()
    staff.get_by_role("checkbox", name="Delete the posts").check()
    staff.get_by_label("What happens to the person?").select_option("Freeze: they can only read")
    staff.get_by_label("Duration").select_option("a week")
    staff.get_by_label("Reason").fill("Advertising")
    staff.get_by_label("Message to those who reported it").fill("Well seen, thank you.")
    fits()
    staff.get_by_role("button", name="Decide").click()
    said(staff, "Decided.")
    expect(staff.get_by_text(f"@{name}")).to_have_count(0)

    room("New members").click()
    expect(room("New members")).to_have_attribute("aria-current", "page")
    expect(staff.get_by_role("listitem").filter(has_text=name)).to_contain_text(ADS[1])
    fits()
    staff.get_by_role("link", name=f"@{name}").click()
    expect(staff.get_by_role("heading", name="Account frozen")).to_be_visible()
    staff.get_by_role("checkbox", name=ADS[1]).check()
    posts = staff.locator("form").filter(has=staff.get_by_role("button", name="Delete the chosen posts"))
    posts.get_by_label("Reason").fill("Advertising too")
    posts.get_by_role("button", name="Delete the chosen posts").click()
    said(staff, "Done.")
    expect(staff.get_by_role("checkbox")).to_have_count(0)
    staff.get_by_label("Note").fill("Says that a friend did it")
    staff.get_by_role("button", name="Add the note").click()
    said(staff, "Done.")
    expect(staff.get_by_text("Says that a friend did it")).to_be_visible()
    fits()

    reporter, author = window(alice), window(bob)
    reporter.goto("/notifications/")
    expect(reporter.get_by_text("Well seen, thank you.").first).to_be_visible()
    author.goto("/notifications/")
    expect(author.get_by_text("The moderators have deleted a post of yours.")).to_have_count(len(ADS))
    author.goto(f"/@{name}/")
    expect(author.get_by_text("Says that a friend did it")).to_have_count(0)
    expect(post(author, "only today")).to_have_count(0)
