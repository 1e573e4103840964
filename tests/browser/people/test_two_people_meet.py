"""Two people meet: alice writes to bob, shares what he writes, and has enough of him; with and without the script."""

import re
import time

import pytest
from playwright.sync_api import expect

from retwis_site.store import keys
from tests.browser.support.steps import more, post, said, stayed, stays
from tests.support.stored_keys import publish


@pytest.fixture
def bobs(store, raw, alice, bob):
    """A post by bob."""
    return publish(raw, store, bob, "Hello from bob")


@pytest.mark.gate
def test_a_repost_or_a_quote_in_place(window, raw, alice, bob, bobs):
    page = window(alice, at=f"/@{bob.user.username}/")
    stays(page)
    card = post(page, "Hello from bob")
    card.get_by_role("link", name="Repost").focus()
    page.keyboard.press("Enter")
    expect(card.get_by_role("button", name="Repost")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(card.get_by_role("link", name="Quote")).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(card.get_by_role("link", name="Reposted 1")).to_be_focused()
    expect(card.get_by_role("link", name="Quote")).to_have_count(0)
    assert raw.zscore(f"reposts:{alice.user.uid}", bobs) is not None
    page.keyboard.press("Enter")
    card.get_by_role("button", name="Undo repost").click()
    expect(card.get_by_role("link", name="Repost", exact=True)).to_be_visible()
    assert not raw.exists(f"reposts:{alice.user.uid}")
    stayed(page)
    card.get_by_role("link", name="Repost", exact=True).click()
    card.get_by_role("link", name="Quote").click()
    expect(page).to_have_url(f"/compose/?quote={bobs}")


def test_without_the_script_the_same_choice_is_a_page(window, raw, alice, bob, bobs):
    page = window(alice, at=f"/@{bob.user.username}/", java_script_enabled=False)
    post(page, "Hello from bob").get_by_role("link", name="Repost").click()
    expect(page.get_by_role("main").get_by_role("link", name="Quote")).to_be_visible()
    page.get_by_role("main").get_by_role("button", name="Repost").click()
    expect(page).to_have_url(re.compile(rf"/@{bob.user.username}/#post-{bobs}$"))
    expect(post(page, "Hello from bob").get_by_role("link", name="Reposted 1")).to_be_visible()
    more(post(page, "Hello from bob")).click()
    expect(page.get_by_label("Address")).to_have_value(re.compile(rf"^http://.*/@{bob.user.username}/{bobs}/$"))
    expect(page.get_by_role("button", name="Copy link")).to_have_count(0)


def test_the_link_is_copied_and_shared(window, alice, bob, bobs):
    page = window(alice)
    page.add_init_script("navigator.share = async ({url}) => { window.shared = url; };")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"/@{bob.user.username}/")
    card = post(page, "Hello from bob")
    more(card).click()
    card.get_by_role("button", name="Copy link").click()
    expect(card.get_by_role("button", name="Link copied.")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="Link copied.")).to_have_count(1)
    address = page.evaluate("navigator.clipboard.readText()")
    assert address.endswith(f"/@{bob.user.username}/{bobs}/")
    expect(page.get_by_label("Address")).to_be_hidden()
    card.get_by_role("button", name="Share").click()
    assert page.evaluate("window.shared") == address


@pytest.mark.gate
@pytest.mark.parametrize("scripts", [True, False], ids=["in place", "without scripts"])
def test_the_first_follow_fills_an_empty_home(window, store, alice, bob, bobs, scripts):
    store.zadd(keys.users_by_followers(), {str(bob.user.uid): 10_000})  # so bob is suggested, whoever else is there
    page = window(alice, at="/", java_script_enabled=scripts)
    expect(page.get_by_role("heading", name="Nothing here yet")).to_be_visible()
    if scripts:
        stays(page)
    page.get_by_role("main").get_by_role("button", name=f"Follow {bob.user.username}").click()
    expect(post(page, "Hello from bob")).to_be_visible()
    expect(page.get_by_role("heading", name="Nothing here yet")).to_have_count(0)
    expect(page.get_by_role("complementary", name="You").get_by_role("link", name="1 following")).to_be_visible()
    said(page, f"You now follow {bob.user.username}.")
    expect(page).to_have_url("/")
    if scripts:
        expect(post(page, "Hello from bob")).to_be_focused()
        stayed(page)


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_alice_writes_to_bob_who_is_told_how_it_concerns_him(window, alice, bob, bobs, scripts):
    page = window(alice, at=f"/@{bob.user.username}/", java_script_enabled=scripts)
    text = page.get_by_role("textbox", name=f"Write to @{bob.user.username}")
    expect(text).to_have_value(f"@{bob.user.username} ")
    expect(page.get_by_role("button", name="Discard")).to_be_hidden()
    text.focus()
    if not scripts:
        page.keyboard.press("End")
    page.keyboard.type("how are you?")
    expect(text).to_have_value(f"@{bob.user.username} how are you?")
    page.get_by_role("main").get_by_role("button", name="Post", exact=True).click()
    said(page, "Posted.")
    page.goto(f"/@{bob.user.username}/{bobs}/")
    page.get_by_role("textbox", name="Your reply").fill("Hello to you")
    page.get_by_role("main").get_by_role("button", name="Reply").click()
    said(page, "Posted.")
    page.goto("/likes/")
    expect(page.get_by_role("main").get_by_role("textbox")).to_have_count(0)
    expect(page.get_by_role("navigation", name="Main").get_by_role("link", name="Post")).to_be_visible()
    his = window(bob, at="/notifications/", java_script_enabled=scripts)
    name = alice.user.username
    expect(his.get_by_role("paragraph").filter(has_text=f"{name} mentioned you")).to_be_visible()
    expect(his.get_by_role("paragraph").filter(has_text=f"{name} replied to you")).to_be_visible()
    assert his.locator(".by-post.new").count() == 2
    his.reload()
    assert his.locator(".by-post.new").count() == 0


def test_a_text_for_bob_is_no_draft_for_everyone(window, alice, bob):
    page = window(alice, at=f"/@{bob.user.username}/")
    text = page.get_by_role("textbox", name="Write to")
    text.focus()
    page.keyboard.type("not yet")
    page.goto("/")
    expect(page.get_by_role("textbox", name="What's new?")).to_have_value("")
    page.goto(f"/@{bob.user.username}/")
    expect(text).to_have_value(f"@{bob.user.username} not yet")
    page.get_by_role("button", name="Discard").click()
    said(page, "Discarded.")
    expect(text).to_have_value(f"@{bob.user.username} ")


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_alice_has_enough_of_bob_for_a_week_and_then_for_good(window, raw, alice, bob, scripts):
    name = bob.user.username
    page = window(alice, at=f"/@{name}/", java_script_enabled=scripts)
    page.get_by_role("link", name=f"More about {name}").click()
    page.get_by_role("main").get_by_text(f"Mute {name}").click()
    page.get_by_role("main").get_by_role("button", name="For a week").click()
    said(page, f"You no longer see posts by {name}.")
    expect(page).to_have_url(f"/@{name}/")
    assert raw.zscore(f"muted:{alice.user.uid}", bob.user.uid) == pytest.approx(time.time() + 7 * 86400, abs=300)
    expect(page.get_by_role("button", name=f"Follow {name}")).to_have_count(0)
    page.get_by_role("button", name=f"Unmute {name}").click()
    expect(page.get_by_role("button", name=f"Follow {name}")).to_be_visible()
    page.get_by_role("link", name=f"More about {name}").click()
    page.get_by_role("main").get_by_text(f"Block {name}").click()
    page.get_by_role("button", name="Yes, block this person").click()
    expect(page.get_by_role("textbox", name="Write to")).to_have_count(0)
    page.get_by_role("button", name=f"Unblock {name}").click()
    expect(page.get_by_role("button", name=f"Follow {name}")).to_be_visible()
    assert not raw.exists(f"muted:{alice.user.uid}", f"blocked:{alice.user.uid}")
