"""A user reports a post, a moderator decides, and both sides are told. What waits stands in the navigation, spam is
deleted where it is seen, one form decides about a person, and a note stays for the others."""

import secrets

import pytest
from playwright.sync_api import expect

from accounts.community.acts import Roles
from accounts.community.sanctions import Sanctions
from accounts.media.repository import Pictures
from accounts.users.entities import Role, State
from tests.browser.support.accessibility import findings
from tests.browser.support.steps import more, nothing_scrolls_sideways, post, said
from tests.browser.support.windows import PHONE
from tests.support.pictures import decoded_picture
from timeline.moderation.reports import NewReport, Reports
from timeline.posts.entities import Media, NewPost, Picture
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


@pytest.fixture
def reported_ad(person, store, alice, bob, moderator):
    """The windows of alice, who has reported an ad of bob's; of the moderator; and of bob."""
    Posts(store).publish(bob.user.uid, NewPost(AD), secrets.token_hex(8))
    windows = [person(login) for login in (alice, moderator, bob)]
    page, fits = windows[0]
    report_the_ad(page, bob.user.username, fits)
    return windows


def decide(page, author, action, fits):
    page.goto("/moderation/")
    fits()
    page.get_by_role("link", name=f"A post by @{author}").click()
    expect(page.get_by_text("The third today")).to_be_visible()
    page.get_by_label("Delete the post").set_checked(action == "Delete the post")
    page.get_by_label("What happens to the person?").select_option("Nothing" if action == "Delete the post" else action)
    page.get_by_label("Reason").fill(WHY)
    fits()
    page.get_by_role("button", name="Decide", exact=True).click()
    said(page, "Decided.")
    expect(page.get_by_role("link", name=f"A post by @{author}")).to_have_count(0)


def test_a_reported_post_is_deleted_and_both_sides_are_told(reported_ad, alice, bob):
    author = bob.user.username
    (reporter, reporter_fits), (staff, staff_fits), (reported, reported_fits) = reported_ad
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


def test_a_frozen_person_reads_why_and_appeals(reported_ad, bob):
    author = bob.user.username
    _, (staff, staff_fits), (reported, reported_fits) = reported_ad
    decide(staff, author, "Freeze: they can only read", staff_fits)
    reported.goto("/")
    reported.get_by_role("link", name="Details and appeal").click()
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
    reported.goto("/notifications/")
    expect(reported.get_by_text("Your appeal was granted.")).to_be_visible()
    expect(reported.get_by_text("A joke indeed")).to_be_visible()
    reported_fits()
    reported.goto("/appeal/")
    expect(reported.get_by_text("There are no restrictions on your account.")).to_be_visible()
    reported_fits()


def test_on_a_phone_a_long_reason_leaves_room_for_the_pages(window, store, alice):
    uid, reason = alice.user.uid, "You have written the same advertisement below many posts. " * 8
    Sanctions(store).impose(uid, State.FROZEN, reason)
    Sanctions(store).appeal(uid, "They had asked me for it. " * 20)
    page = window(alice, "/", viewport=PHONE)
    assert page.get_by_role("complementary", name="About your account").bounding_box()["height"] < PHONE["height"] / 2
    page.get_by_role("link", name="Details and appeal").click()
    expect(page.get_by_text(reason.strip())).to_have_count(1)
    quote = page.get_by_role("main").get_by_role("blockquote").bounding_box()
    assert quote["width"] > PHONE["width"] * 0.75
    nothing_scrolls_sideways(page)


@pytest.mark.gate
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_moderator_deletes_one_picture_of_a_post(window, store, raw, bob, moderator, scripts):
    pictures = [decoded_picture(colour) for colour in ("olive", "navy")]
    for one in pictures:
        Pictures(store).add(bob.user.uid, one)
    media = Media(tuple(Picture(one.digest, one.width, one.height) for one in pictures))
    pid = Posts(store).publish(bob.user.uid, NewPost(AD, media=media), secrets.token_hex(8)).pid
    staff = window(moderator, java_script_enabled=scripts)
    staff.goto(f"/moderation/people/{bob.user.username}/{pid}/")
    staff.get_by_label("Reason").fill(WHY)
    staff.get_by_role("checkbox", name="Nobody may upload a deleted picture again").uncheck()
    staff.get_by_role("button", name="Delete this picture").first.click()
    said(staff, "The picture was deleted.")
    expect(staff.get_by_role("button", name="Delete this picture")).to_have_count(1)
    assert pictures[0].digest not in raw.hget(f"post:{pid}", "media")
    assert pictures[1].digest in raw.hget(f"post:{pid}", "media")


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
def test_a_moderator_acts_where_spam_is_seen_and_decides_about_a_person_at_once(
    window, console, alice, bob, carol, scripts
):
    name = bob.user.username
    console.expects(422, f"/moderation/people/{name}/")
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
    expect(staff.get_by_role("heading", name=f"@{name}", exact=True)).to_have_count(1)
    reported = staff.get_by_role("listitem").filter(has_text=name).filter(has_text=ADS[0])
    expect(reported.last).to_contain_text(f"Reported by @{alice.user.username}")
    fits()
    staff.get_by_role("link", name=f"Decide all 2 reports about @{name} together").click()
    expect(staff.get_by_role("checkbox", name=ADS[0])).to_be_checked()
    staff.get_by_role("checkbox", name="Delete the posts").check()
    staff.get_by_label("What happens to the person?").select_option("Freeze: they can only read")
    staff.get_by_label("Duration").select_option("a week")
    staff.get_by_label("Reason").fill("Advertising")
    staff.get_by_label("Message to those who reported it").fill("Well seen, thank you.")
    fits()
    staff.get_by_role("button", name="Decide", exact=True).click()
    said(staff, "Decided.")
    expect(staff.get_by_text(f"@{name}")).to_have_count(0)

    room("New members").click()
    expect(room("New members")).to_have_attribute("aria-current", "page")
    expect(staff.get_by_role("listitem").filter(has_text=name)).to_contain_text(ADS[1])
    fits()
    staff.get_by_role("link", name=f"@{name}").click()
    expect(staff.get_by_role("heading", name="Account frozen")).to_be_visible()
    posts = staff.locator("form").filter(has=staff.get_by_role("button", name="Delete the chosen posts"))
    posts.get_by_label("Reason").fill("Advertising too")
    posts.get_by_role("button", name="Delete the chosen posts").click()
    expect(staff.get_by_text("Choose at least one post.")).to_be_in_viewport()
    staff.get_by_role("checkbox", name=ADS[1]).check()
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


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
@pytest.mark.usefixtures("site_with_reports")
def test_with_the_keyboard_the_next_report_is_at_hand(window, bob, carol, scripts):
    """The next Tab goes to the report, not once more through all links above it."""
    staff = window(carol, at="/moderation/", java_script_enabled=scripts)
    staff.get_by_role("link", name=f"@{bob.user.username}", exact=True).click()
    staff.get_by_label("Reason").fill("Not an ad")
    staff.get_by_role("button", name="Decide and open the next report").press("Enter")
    said(staff, "Decided.")
    staff.keyboard.press("Tab")
    expect(staff.get_by_role("main").locator(".sheet").locator(":focus")).to_have_count(1)


def test_staff_copies_a_link_for_a_new_password(window, bob, moderator):
    page = window(moderator, at=f"/moderation/people/{bob.user.username}/")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    form = page.locator("form").filter(has=page.get_by_role("button", name="Create a password reset link"))
    form.get_by_label("Reason").fill("Met in person")
    form.get_by_role("button").click()
    address = page.get_by_label("Password reset link").input_value()
    assert "/reset/" in address
    page.get_by_role("button", name="Copy").click()
    said(page, "Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == address
    assert findings(page) == []
