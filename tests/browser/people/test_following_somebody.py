"""Log in, follow a user, and read their posts."""

import pytest
from playwright.sync_api import expect

from tests.browser.support.steps import follow_button, go_to_profile, log_in, post, posted, said, unfollow_button, write
from tests.browser.support.windows import PHONE


@pytest.mark.parametrize("scripts", [True, pytest.param(False, marks=pytest.mark.gate)], ids=["scripts", "no scripts"])
def test_log_in_follow_somebody_and_see_their_posts(window, alice, bob, raw, scripts):
    me, them = alice.user, bob.user
    bobs = window(bob, at="/")
    write(bobs, "Before anybody followed me")
    page = window(java_script_enabled=scripts)
    log_in(page, me.username)
    said(page, f"Welcome back, {me.username}.")
    go_to_profile(page, them.username)
    follow_button(page, them.username).click()
    said(page, f"You now follow {them.username}.")
    expect(unfollow_button(page, them.username)).to_be_visible()
    assert raw.zrange(f"following:{me.uid}", 0, -1) == [str(them.uid)]
    assert raw.zrange(f"followers:{them.uid}", 0, -1) == [str(me.uid)]
    posted(bobs, "Now somebody does")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Home").click()
    expect(post(page, "Now somebody does")).to_have_count(1)
    expect(post(page, "Before anybody followed me")).to_have_count(1)


def test_a_visitor_who_wants_to_follow_logs_in_and_is_back_at_the_profile(window, alice, bob):
    page = window(at=f"/@{bob.user.username}/", viewport=PHONE)
    page.get_by_role("link", name="Log in to follow").click()
    page.get_by_role("main").get_by_label("Username").fill(alice.user.username)
    page.get_by_role("main").get_by_label("Password").fill("correct horse battery")
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    expect(page).to_have_url(f"/@{bob.user.username}/")
    expect(follow_button(page, bob.user.username)).to_be_visible()
