"""Follow and unfollow without leaving the page. The focus stays on the button. A visitor logs in first."""

import pytest
from playwright.sync_api import expect

from retwis_site.store import keys
from tests.browser.support import steps
from tests.browser.support.arrivals import A_WHILE, told
from tests.browser.support.keyboard import focus_is_seen, press_tab_until
from tests.browser.support.served import outage
from tests.browser.support.windows import PHONE, WIDE
from tests.support.stored_keys import publish
from timeline.relations.relations import Follows, Mutes


@pytest.fixture
def profile(window, alice, bob):
    """bob's, as alice sees it."""
    page = window(alice, at=f"/@{bob.user.username}/")
    steps.stays(page)
    return page


@pytest.fixture
def follow(profile, bob):
    return steps.follow_button(profile, bob.user.username)


@pytest.fixture
def unfollow(profile, bob):
    return steps.unfollow_button(profile, bob.user.username)


@pytest.mark.gate
def test_following_changes_the_button_and_the_count_in_place(profile, follow, unfollow, alice, bob, raw):
    follow.click()
    expect(unfollow).to_be_visible()
    steps.said(profile, f"You now follow {bob.user.username}.")
    expect(profile.get_by_role("link", name="1 follower")).to_be_visible()
    assert raw.zrange(f"following:{alice.user.uid}", 0, -1) == [str(bob.user.uid)]
    unfollow.click()
    expect(follow).to_be_visible()
    steps.said(profile, f"You no longer follow {bob.user.username}.")
    expect(profile.get_by_role("link", name="0 followers")).to_be_visible()
    assert raw.zcard(f"following:{alice.user.uid}") == 0
    steps.stayed(profile)


def test_who_clicks_twice_follows_once(profile, follow, unfollow, alice, bob, raw):
    follow.click()
    unfollow.click()  # a message stands there from now on, and moves nothing when it changes
    steps.said(profile, f"You no longer follow {bob.user.username}.")
    box = follow.bounding_box()
    profile.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(unfollow).to_be_visible()
    profile.mouse.down(click_count=2)
    profile.mouse.up(click_count=2)
    profile.reload()
    expect(unfollow).to_be_visible()
    assert raw.zrange(f"following:{alice.user.uid}", 0, -1) == [str(bob.user.uid)]


def test_the_focus_stays_on_the_button(profile, follow, unfollow):
    press_tab_until(profile, follow)
    profile.keyboard.press("Enter")
    expect(unfollow).to_be_focused()
    focus_is_seen(profile)
    profile.keyboard.press("Space")
    expect(follow).to_be_focused()
    focus_is_seen(profile)
    steps.stayed(profile)


def test_a_tag_that_is_followed_can_be_shown_on_home_at_once(window, store, raw, alice, bob):
    publish(raw, store, bob, "About #redis")
    page = window(alice, at="/tags/redis/")
    steps.stays(page)
    on_home = page.get_by_role("button", name="Show #redis on home")
    page.get_by_role("button", name="Follow #redis").press("Enter")
    expect(on_home).to_be_visible()
    unfollow = page.get_by_role("button", name="Unfollow #redis")
    expect(unfollow).to_be_focused()
    on_home.click()
    expect(page.get_by_role("button", name="Hide #redis from home")).to_be_focused()
    unfollow.click()
    expect(page.get_by_role("button", name="Hide #redis from home")).to_have_count(0)
    steps.stayed(page)


def test_a_newcomer_follows_one_after_the_other_and_posts_arrive(window, store, raw, alice, bob, carol):
    Follows(store).follow(bob.user.uid, carol.user.uid)
    Follows(store).follow(carol.user.uid, bob.user.uid)
    for them in (bob, carol):  # each follow counts anew, so the ranking comes after both
        raw.zadd("users_by_followers", {str(them.user.uid): 1000})
        publish(raw, store, them, f"By {them.user.username}")
    page = window(alice)
    page.clock.install()
    page.goto("/")
    steps.stays(page)
    steps.follow_button(page, bob.user.username).click()  # it fills the home, and others are suggested beside it
    expect(steps.post(page, f"By {bob.user.username}")).to_be_visible()
    steps.follow_button(page, carol.user.username).click()
    expect(steps.unfollow_button(page, carol.user.username)).to_be_visible()
    steps.said(page, f"You now follow {carol.user.username}.")
    page.clock.fast_forward(A_WHILE)
    told(page, r"\d+").click()
    for them in (bob, carol):
        expect(steps.post(page, f"By {them.user.username}")).to_have_count(1)
    assert raw.zcard(f"following:{alice.user.uid}") == 2
    steps.stayed(page)


def test_on_a_phone_a_newcomer_follows_one_after_the_other_and_then_sees_their_posts(
    window, store, raw, alice, bob, carol
):
    for them in (bob, carol):
        raw.zadd("users_by_followers", {str(them.user.uid): 1000})
        publish(raw, store, them, f"By {them.user.username}")
    page = window(alice, at="/", viewport=PHONE, has_touch=True, is_mobile=True)
    steps.stays(page)
    others = steps.follow_button(page, carol.user.username)
    there = others.bounding_box()
    steps.follow_button(page, bob.user.username).tap()
    expect(told(page, "1")).to_be_visible()
    assert others.bounding_box() == there  # it stays under the finger
    others.tap()
    told(page, "2").tap()
    for them in (bob, carol):
        expect(steps.post(page, f"By {them.user.username}")).to_have_count(1)
    assert raw.zcard(f"following:{alice.user.uid}") == 2
    steps.stayed(page)


def test_in_an_outage_the_page_says_so_and_the_button_can_be_pressed_again(
    profile, follow, unfollow, site, real_server, console, alice, bob, raw
):
    console.expects_an_outage(f"/@{bob.user.username}/follow/")
    with outage(site, real_server):
        press_tab_until(profile, follow)
        profile.keyboard.press("Enter")
        expect(profile.get_by_text("The site cannot reach its data")).to_be_visible()
        expect(follow).to_be_focused()
    profile.keyboard.press("Enter")
    expect(unfollow).to_be_visible()
    assert raw.zrange(f"following:{alice.user.uid}", 0, -1) == [str(bob.user.uid)]
    steps.stayed(profile)


# ---- by way of a login


@pytest.mark.parametrize("scripts", [True, pytest.param(False, marks=pytest.mark.gate)], ids=["scripts", "no scripts"])
def test_log_in_follow_somebody_and_see_their_posts(window, alice, bob, raw, scripts):
    me, them = alice.user, bob.user
    bobs = window(bob, at="/")
    steps.write(bobs, "Before anybody followed me")
    page = window(java_script_enabled=scripts)
    steps.log_in(page, me.username)
    steps.said(page, f"Welcome back, {me.username}.")
    steps.go_to_profile(page, them.username)
    steps.follow_button(page, them.username).click()
    steps.said(page, f"You now follow {them.username}.")
    expect(steps.unfollow_button(page, them.username)).to_be_visible()
    assert raw.zrange(f"following:{me.uid}", 0, -1) == [str(them.uid)]
    assert raw.zrange(f"followers:{them.uid}", 0, -1) == [str(me.uid)]
    steps.posted(bobs, "Now somebody does")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Home").click()
    expect(steps.post(page, "Now somebody does")).to_have_count(1)
    expect(steps.post(page, "Before anybody followed me")).to_have_count(1)


def test_a_visitor_who_wants_to_follow_logs_in_and_is_back_at_the_profile(window, alice, bob):
    page = window(at=f"/@{bob.user.username}/", viewport=PHONE)
    page.get_by_role("link", name="Log in to follow").click()
    steps.fill_in_login(page, alice.user.username)
    expect(page).to_have_url(f"/@{bob.user.username}/")
    expect(steps.follow_button(page, bob.user.username)).to_be_visible()


@pytest.mark.parametrize(("size", "lines"), [(WIDE, 1), (PHONE, 2)], ids=["wide", "phone"])
def test_the_three_buttons_about_a_muted_person_whom_one_follows_fill_their_lines(
    window, store, alice, bob, size, lines
):
    Follows(store).follow(alice.user.uid, bob.user.uid)
    Mutes(store).mute(alice.user.uid, bob.user.uid)
    name = bob.user.username
    page = window(alice, at=f"/@{name}/", viewport=size)
    buttons = [page.get_by_role("button", name=f"{act} {name}") for act in ("Unmute", "Following. Unfollow")]
    boxes = [it.bounding_box() for it in (*buttons, page.get_by_role("link", name=f"More about {name}"))]
    ends = {}
    for box in boxes:
        left, right = ends.get(box["y"], (box["x"], 0))
        ends[box["y"]] = min(left, box["x"]), max(right, box["x"] + box["width"])
    assert len(ends) == lines
    assert len({(round(left), round(right)) for left, right in ends.values()}) == 1


def test_the_people_to_follow_beside_explore_stand_no_further_apart_than_the_rest(window, store, alice, bob):
    store.zadd(keys.users_by_followers(), {str(bob.user.uid): 10_000})  # the most of all: bob is suggested
    page = window(alice, at="/explore/")
    search, footer = (page.get_by_role(role).last.bounding_box() for role in ("search", "contentinfo"))
    people = page.get_by_role("complementary", name="People").locator(".suggestions").bounding_box()
    gap = page.locator(".beside").evaluate("it => parseFloat(getComputedStyle(it).rowGap)")
    assert people["y"] - search["y"] - search["height"] == pytest.approx(gap, abs=1)
    assert footer["y"] - people["y"] - people["height"] == pytest.approx(gap, abs=1)
