"""The page of the people whom a user blocks and mutes, with the undo of each."""

import re
import time

import pytest

from tests.support.http.page_text import text_of
from tests.support.removed_accounts import delete_and_remove
from timeline.relations.block import BlockedPeople
from timeline.relations.mute import Mutes

ADDRESS = "/settings/blocks/"
ALICE, BOB, CAROL = 1, 2, 3
FORM = re.compile(
    r'<form method="post" action="([^"]+)">.*?<button class="button quiet"(?: name="what" value="(\w+)")?', re.DOTALL
)

pytestmark = pytest.mark.usefixtures("alice", "bob", "carol")


def forms(client):
    """The address and the `what` of each button."""
    page = client.get(ADDRESS).content.decode()
    return FORM.findall(page[page.index("<main") :])


def test_each_kind_has_its_people_and_its_undo(browser, alice, store):
    BlockedPeople(store).block(ALICE, CAROL)
    Mutes(store).mute(ALICE, BOB, time.time() // 1 + 86400)
    Mutes(store).mute_reposts(ALICE, BOB)
    client = browser(alice)
    assert forms(client) == [("/@carol/unblock/", ""), ("/@bob/unmute/", "all"), ("/@bob/unmute/", "reposts")]
    assert text_of(client.get(ADDRESS)).count("until ") == 1


def test_an_undo_leads_back_to_the_page(browser, alice, store, raw):
    BlockedPeople(store).block(ALICE, CAROL)
    Mutes(store).mute(ALICE, BOB)
    client = browser(alice)
    for address, what in forms(client):
        response = client.post(address, {"what": what}, headers={"referer": f"http://testserver{ADDRESS}"})
        assert (response.status_code, response["Location"]) == (302, ADDRESS)
    assert not raw.exists("blocked:1", "muted:1")
    assert "You block and mute no one." in text_of(client.get(ADDRESS))


def test_mutes_that_have_ended_and_deleted_accounts_are_left_out(browser, alice, carol, store):
    Mutes(store).mute(ALICE, BOB, 1)
    BlockedPeople(store).block(ALICE, CAROL)
    delete_and_remove(store, carol)
    assert forms(browser(alice)) == []


def test_a_bad_entry_is_skipped(browser, alice, raw):
    raw.zadd("blocked:1", {"x": 1, str(BOB): 2})
    assert forms(browser(alice)) == [("/@bob/unblock/", "")]


def test_others_see_nothing_of_it_and_visitors_log_in(browser, bob, store):
    BlockedPeople(store).block(ALICE, BOB)
    assert forms(browser(bob)) == []
    assert browser().get(ADDRESS)["Location"] == "/login/?next=%2Fsettings%2Fblocks%2F"


def test_the_page_takes_two_round_trips(browser, alice, store, round_trips):
    client = browser(alice)
    client.get("/settings/")  # the uid of the session is cached then
    Mutes(store).mute(ALICE, BOB)
    BlockedPeople(store).block(ALICE, CAROL)
    assert len(round_trips(lambda: client.get(ADDRESS)).round_trips) == 2
