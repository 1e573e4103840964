"""Three people take the tour: a new member, a member and a moderator see most of the site once, one after the other.

`PICTURES=folder` saves a picture of each station, in three widths and both themes. With them it takes 42 seconds, so
`.ci/run` leaves it out."""

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from accounts.community.acts import Roles
from accounts.joining.joining import Invitations
from accounts.users.entities import Role
from retwis_site.store import keys
from tests.browser.support.accessibility import findings
from tests.browser.support.steps import fill_in_registration, more, nothing_scrolls_sideways, post, said
from tests.browser.support.windows import PHONE, WIDE
from tests.support.stored_keys import publish

HEIGHTS = {1280: 800, 768: 1000, 360: 740}  # of the window, by its width
SMALLEST = 4_000  # bytes: an empty page is smaller
BREAD = "Bread on the table, rain on the window."
FIRST = "My first words here"
WHY = "Advertising is against the rules"
THANKS = "Well seen, thank you."
NOTE = "Says that a friend did it"


@pytest.fixture
def picture(tmp_path):
    """`picture(page, name)` looks at a station and takes its pictures. The window is as before afterwards."""
    folder = Path(os.environ.get("PICTURES") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)

    def take(page, name):
        before = page.viewport_size
        for width, height in HEIGHTS.items():
            page.set_viewport_size({"width": width, "height": height})
            for theme in ("light", "dark"):
                page.emulate_media(color_scheme=theme)
                path = folder / f"{name}-{width}-{theme}.png"
                page.screenshot(path=path, full_page=True, animations="disabled")
                assert path.stat().st_size > SMALLEST, f"{path.name} shows nothing"
            nothing_scrolls_sideways(page)
            page.emulate_media(color_scheme="light")
            if width == WIDE["width"]:
                assert findings(page) == [], name
        page.set_viewport_size(before)

    return take


@pytest.fixture
def people(window, store, raw, bob, carol):
    """Windows of dora, who has no account yet, of bob, who has a fan and a post, and of carol, who moderates."""
    store.zadd(keys.users_by_followers(), {str(bob.user.uid): 10_000})  # so bob is suggested, whoever else is there
    publish(raw, store, bob, BREAD)
    Roles(store).give(carol.user.uid, Role.MODERATOR)
    # Without motion: axe must not see a colour in the middle of a transition.
    return [window(login, reduced_motion="reduce") for login in (None, bob, carol)]


def main_links(page):
    return page.get_by_role("navigation", name="Main").get_by_role("link")


def dora_registers(page, invitation, dora, bob, console, picture):
    console.expects(422, "/register/")
    page.goto(f"/invited/{invitation}/")
    expect(page.get_by_text(f"@{bob} invites you to")).to_be_visible()
    picture(page, "01-invitation")
    fill_in_registration(page, "no such name!", "short", "other")
    main = page.get_by_role("main")
    expect(main.get_by_label("Username")).to_have_attribute("aria-invalid", "true")
    expect(main.get_by_label("Password", exact=True)).to_have_attribute("aria-invalid", "true")
    expect(main.get_by_text("The passwords do not match.")).to_be_visible()
    expect(page.get_by_text(f"@{bob} invites you to")).to_be_visible()
    picture(page, "02-all-errors-at-once")
    fill_in_registration(page, dora)
    said(page, f"Welcome, {dora}!")


def dora_takes_the_first_steps(page, bob, picture):
    page.get_by_label("Display name").fill("Dora")
    page.get_by_role("checkbox", name=re.compile(bob)).check()
    page.get_by_label("What's new?").fill(FIRST)
    picture(page, "03-first-steps")
    page.get_by_role("button", name="Save and continue").click()
    page.get_by_role("button", name="Show new codes").click()
    expect(page.get_by_role("heading", name="Your recovery codes")).to_be_visible()
    for way in ("Copy", "Download", "Print"):
        expect(page.get_by_role("button", name=way, exact=True)).to_be_visible()
    picture(page, "04-recovery-codes")
    page.get_by_role("link", name="I have kept them").click()
    expect(post(page, BREAD)).to_be_visible()
    expect(post(page, FIRST)).to_be_visible()
    picture(page, "05-home-after-the-first-follow")


def dora_writes_to_bob(page, bob, picture):
    page.goto(f"/@{bob}/")
    text = page.get_by_role("textbox", name=f"Write to @{bob}")
    expect(text).to_have_value(f"@{bob} ")
    text.focus()
    page.keyboard.type("how are you?")
    expect(text).to_have_value(f"@{bob} how are you?")
    picture(page, "06-composer-for-bob")
    page.get_by_role("main").get_by_role("button", name="Post", exact=True).click()
    said(page, "Posted.")
    page.goto(f"/@{bob}/")
    card = post(page, BREAD)
    card.get_by_role("link", name="Reply").click()
    page.get_by_role("textbox", name="Your reply").fill("Here it is the other way round")
    page.get_by_role("button", name="Reply", exact=True).click()
    said(page, "Posted.")
    for place in ("bookmarks", "likes", "explore"):
        page.goto(f"/{place}/")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_role("main").get_by_role("textbox")).to_have_count(0)
    picture(page, "07-explore")


def bob_reads_what_is_new(page, picture):
    page.goto("/notifications/")
    for deed in ("Dora mentioned you", "Dora replied to you"):
        expect(page.get_by_role("paragraph").filter(has_text=deed)).to_be_visible()
    picture(page, "08-notifications")


def bob_opens_the_menus(page, dora, picture):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"/@{dora}/")
    card = post(page, FIRST)
    card.get_by_role("link", name="Repost").click()
    expect(card.get_by_role("button", name="Repost")).to_be_visible()
    expect(card.get_by_role("link", name="Quote")).to_be_visible()
    picture(page, "09-repost-menu")
    page.keyboard.press("Escape")
    more(card).click()
    expect(card.get_by_role("button", name="Copy link")).to_be_visible()
    picture(page, "10-more-menu")
    card.get_by_role("button", name="Copy link").click()
    expect(card.get_by_role("button", name="Link copied.")).to_be_visible()
    assert f"/@{dora}/" in page.evaluate("navigator.clipboard.readText()")


def bob_has_enough_of_dora(page, hers, dora, bob, console, picture):
    page.goto(f"/@{dora}/")
    more(post(page, FIRST)).click()
    page.get_by_role("main").get_by_text(f"Mute {dora}").click()
    page.get_by_role("main").get_by_role("button", name="For a day").click()
    said(page, "You no longer see posts by")
    expect(page.get_by_role("button", name=f"Follow {dora}")).to_have_count(0)
    picture(page, "11-muted")
    page.get_by_role("button", name=f"Unmute {dora}").click()
    expect(page.get_by_role("button", name=f"Follow {dora}")).to_be_visible()
    page.get_by_role("link", name=f"More about {dora}").click()
    page.get_by_role("main").get_by_text(f"Block {dora}").click()
    page.get_by_role("button", name="Yes, block this person").click()
    expect(page.get_by_role("button", name=f"Unblock {dora}")).to_be_visible()
    console.expects(403, f"/@{bob}/")
    hers.goto(f"/@{bob}/")
    expect(hers.get_by_text("This person does not show you their profile and posts")).to_be_visible()
    expect(hers.get_by_role("main").get_by_role("link", name="Home")).to_be_visible()
    picture(hers, "12-blocked")
    page.get_by_role("button", name=f"Unblock {dora}").click()
    expect(page.get_by_role("button", name=f"Follow {dora}")).to_be_visible()


def bob_uses_keys_a_phone_and_a_wrong_address(page, dora, console, picture):
    page.goto(f"/@{dora}/")
    expect(page.locator("link[rel=manifest]")).to_have_count(1)
    page.keyboard.press("j")
    first = page.get_by_role("article").first
    expect(first).to_be_focused()
    page.keyboard.press("l")
    expect(first.get_by_role("button", name="Like")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    picture(page, "13-keys")
    page.keyboard.press("Escape")
    page.set_viewport_size(PHONE)
    page.get_by_role("link", name="Explore").locator("visible=true").first.click()
    expect(page).to_have_url("/explore/")
    page.set_viewport_size(WIDE)
    console.expects(404, "/@nobody_at_all/")
    page.goto("/@nobody_at_all/")
    expect(main_links(page).filter(has_text="Notifications")).to_be_visible()
    picture(page, "14-not-found")


def bob_reports_and_carol_decides(his, staff, dora, bob, picture):
    his.goto(f"/@{dora}/")
    more(post(his, FIRST)).click()
    his.get_by_role("link", name="Report", exact=True).click()
    his.get_by_role("radio", name="It is spam or fraud").check()
    picture(his, "15-report")
    his.get_by_role("button", name="Send the report").click()
    said(his, "Thank you. You will be told what the moderators decide.")
    staff.goto("/")
    way = main_links(staff).filter(has_text="Moderation")
    expect(way).to_contain_text(re.compile(r"\d"))
    way.click()
    reported = staff.get_by_role("listitem").filter(has_text=dora).filter(has_text=FIRST)
    expect(reported).to_contain_text(f"Reported by @{bob}")
    picture(staff, "16-queue")
    reported.get_by_role("link", name=f"A post by @{dora}").click()
    staff.get_by_role("checkbox", name="Delete the post").check()
    staff.get_by_label("What happens to the person?").select_option("Freeze: they can only read")
    staff.get_by_label("Duration").select_option("a week")
    staff.get_by_label("Reason").fill(WHY)
    staff.get_by_label("Message to those who reported it").fill(THANKS)
    picture(staff, "17-decision")
    staff.get_by_role("button", name="Decide", exact=True).click()
    said(staff, "Decided.")


def all_three_see_what_was_decided(hers, his, staff, dora, picture):
    hers.goto("/")
    banner = hers.get_by_role("complementary", name="About your account")
    expect(banner).to_contain_text("It ends on")
    expect(banner).to_contain_text(WHY)
    expect(hers.get_by_role("main").get_by_role("textbox")).to_have_count(0)
    expect(post(hers, FIRST)).to_have_count(0)
    picture(hers, "18-frozen")
    his.goto("/notifications/")
    expect(his.get_by_text(THANKS)).to_be_visible()
    picture(his, "19-message-of-the-moderators")
    staff.goto(f"/moderation/people/{dora}/")
    staff.get_by_label("Note").fill(NOTE)
    staff.get_by_role("button", name="Add the note").click()
    said(staff, "Done.")
    expect(staff.get_by_text(NOTE)).to_be_visible()
    picture(staff, "20-staff-note")
    staff.get_by_role("navigation", name="Moderation").get_by_role("link", name="New members").click()
    expect(staff.get_by_role("listitem").filter(has_text=dora)).to_be_visible()
    picture(staff, "21-new-members")


def test_three_people_take_the_tour(people, store, name, bob, console, picture):
    hers, his, staff = people
    dora, bobs = name("dora"), bob.user.username
    dora_registers(hers, Invitations(store).make(bob.user.uid).code, dora, bobs, console, picture)
    dora_takes_the_first_steps(hers, bobs, picture)
    dora_writes_to_bob(hers, bobs, picture)
    bob_reads_what_is_new(his, picture)
    bob_opens_the_menus(his, dora, picture)
    bob_has_enough_of_dora(his, hers, dora, bobs, console, picture)
    bob_uses_keys_a_phone_and_a_wrong_address(his, dora, console, picture)
    bob_reports_and_carol_decides(his, staff, dora, bobs, picture)
    all_three_see_what_was_decided(hers, his, staff, dora, picture)
