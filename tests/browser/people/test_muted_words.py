"""Somebody mutes a phrase, reads on, opens a folded post, and unmutes the phrase."""

import pytest
from playwright.sync_api import expect

from tests.browser.support.accessibility import findings
from tests.browser.support.steps import post, said
from tests.support.stored_keys import publish
from timeline.relations.relations import Follows


@pytest.mark.parametrize("scripts", [pytest.param(True, marks=pytest.mark.gate), False], ids=["scripts", "no scripts"])
def test_somebody_mutes_a_phrase_and_unmutes_it(window, alice, bob, store, raw, scripts):
    Follows(store).follow(alice.user.uid, bob.user.uid)
    publish(raw, store, bob, "Good evening")
    publish(raw, store, bob, "The finale was grand")
    publish(raw, store, bob, "Good morning")
    page = window(alice, at="/settings/words/", java_script_enabled=scripts)
    page.get_by_label("Word or phrase").fill("the FINALE")
    page.get_by_label("How", exact=True).select_option(label="Collapse these posts to one line")
    page.get_by_role("main").get_by_role("button", name="Mute", exact=True).click()
    said(page, "Muted: the FINALE")
    page.goto("/")
    expect(page.get_by_text("Good morning")).to_be_visible()
    expect(page.get_by_text("The finale was grand")).to_be_hidden()
    if scripts:
        page.keyboard.press("j")
        page.keyboard.press("j")
        expect(post(page, "Good evening")).to_be_focused()
    page.get_by_text("Muted: the FINALE").click()
    expect(page.get_by_text("The finale was grand")).to_be_visible()
    if scripts:
        assert findings(page) == []
    page.goto("/settings/words/")
    page.get_by_role("button", name="Unmute the FINALE").click()
    said(page, "No longer muted: the FINALE")
    page.goto("/")
    expect(page.get_by_text("The finale was grand")).to_be_visible()
