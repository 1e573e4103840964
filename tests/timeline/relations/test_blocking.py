"""A block ends the follows both ways and removes the notices; while it stands, no follow between the two does. The
addresses that block and mute a person."""

import re
import time
from math import inf
from unittest.mock import Mock

import pytest

from retwis_site.exceptions import LeaseEnded
from retwis_site.store.client import answer
from tests.support.http.page_text import text_of
from tests.support.stored_keys import everything, noted, publish, ranking
from timeline.relations.edges import Edges
from timeline.relations.relations import NO_BLOCKS, BlockedPeople, Blocks, Follows, Likes, Mutes, ask_blocks

ALICE, BOB, CAROL = 1, 2, 3

pytestmark = pytest.mark.usefixtures("alice", "bob", "carol")


def blocks_between(store, me, them):
    return answer(store, ask_blocks, me, them)


def test_a_block_is_written_on_both_sides_with_its_date(store, raw):
    before = everything(raw)
    BlockedPeople(store).block(ALICE, BOB)
    since = raw.zscore("blocked:1", BOB)
    assert since <= time.time() < since + 60
    assert raw.zscore("blocked_by:2", ALICE) == since
    assert blocks_between(store, ALICE, BOB) == Blocks(mine=True, theirs=False)
    assert blocks_between(store, BOB, ALICE) == Blocks(mine=False, theirs=True)
    assert blocks_between(store, None, ALICE) == blocks_between(store, ALICE, ALICE) == NO_BLOCKS
    BlockedPeople(store).unblock(ALICE, BOB)
    assert everything(raw) == before


def test_a_block_ends_the_follows_both_ways(store, raw):
    Follows(store).follow(ALICE, BOB)
    Follows(store).follow(BOB, ALICE)
    Follows(store).follow(CAROL, ALICE)
    BlockedPeople(store).block(ALICE, BOB)
    assert raw.keys("following:*") == ["following:3"]
    assert ranking(raw) == {"1": 1}
    assert noted(raw) == []


def test_a_block_removes_the_notices_of_the_other_and_leaves_those_of_others(store, raw, alice):
    pid = publish(raw, store, alice, "Hello")
    for uid in (BOB, CAROL):
        Likes(store).like(uid, pid, ALICE)
    Follows(store).follow(ALICE, BOB)
    BlockedPeople(store).block(ALICE, BOB)
    assert raw.zrange("notices:1", 0, -1) == [f"like:{pid}:{CAROL}"]
    assert raw.zrange("notices:2", 0, -1) == []


@pytest.mark.parametrize(("me", "them"), [(ALICE, BOB), (BOB, ALICE)])
def test_neither_can_follow_the_other(store, raw, me, them):
    BlockedPeople(store).block(ALICE, BOB)
    before = everything(raw)
    Follows(store).follow(me, them)
    assert everything(raw) == before


def test_the_follows_do_not_come_back(store, raw):
    Follows(store).follow(ALICE, BOB)
    BlockedPeople(store).block(ALICE, BOB)
    BlockedPeople(store).unblock(ALICE, BOB)
    assert raw.keys("following:*") == raw.keys("blocked*") == []
    Follows(store).follow(BOB, ALICE)
    assert raw.zscore("followers:1", BOB)


def test_the_round_trips_are_few_and_fixed(store, raw, alice, round_trips):
    pid = publish(raw, store, alice, "Hello")
    Likes(store).like(BOB, pid, ALICE)
    Follows(store).follow(ALICE, BOB)
    assert len(round_trips(lambda: BlockedPeople(store).block(ALICE, BOB)).round_trips) == 15
    assert len(round_trips(lambda: BlockedPeople(store).unblock(ALICE, BOB)).round_trips) == 10
    assert len(round_trips(lambda: BlockedPeople(store).block(ALICE, BOB)).round_trips) == 12


def test_a_block_whose_follows_take_too_long_keeps_its_job(store, raw, monkeypatch):
    monkeypatch.setattr(Edges, "reconcile", Mock(side_effect=LeaseEnded))
    BlockedPeople(store).block(ALICE, BOB)
    assert len(noted(raw)) == 1


# ---- The addresses that block and mute a person.


def test_a_person_is_blocked_and_unblocked(member, raw):
    assert member.post("/@bob/block/", follow=True).redirect_chain == [("/@bob/", 302)]
    assert raw.zrange("blocked:1", 0, -1) == ["2"]
    member.post("/@bob/unblock/")
    assert not raw.exists("blocked:1")


@pytest.mark.parametrize(
    ("fields", "key", "days"),
    [
        ({"what": "all", "days": ""}, "muted:1", None),
        ({"what": "all"}, "muted:1", None),
        ({"what": "all", "days": "7"}, "muted:1", 7),
        ({"what": "reposts", "days": "30"}, "muted_reposts:1", 30),
    ],
)
def test_a_person_or_their_reposts_are_muted_for_ever_or_for_days(member, raw, fields, key, days):
    assert member.post("/@bob/mute/", fields).status_code == 302
    until = raw.zscore(key, BOB)
    assert until == inf if days is None else abs(until - time.time() - days * 86400) < 60
    assert member.post("/@bob/unmute/", fields).status_code == 302
    assert not raw.exists(key)


@pytest.mark.parametrize("fields", [{}, {"what": "x"}, {"what": "all", "days": "2"}, {"what": "all", "days": "-1"}])
def test_a_mute_of_something_else_is_refused(browser, alice, raw, fields):
    assert browser(alice).post("/@bob/mute/", fields).status_code == 422
    assert raw.keys("muted*") == []


@pytest.mark.parametrize(("action", "fields"), [("block", {}), ("mute", {"what": "all"}), ("follow", {})])
def test_nobody_blocks_mutes_or_follows_themselves(browser, alice, raw, action, fields):
    response = browser(alice).post(f"/@alice/{action}/", fields, follow=True)
    assert f"You cannot {action} yourself." in text_of(response)
    assert raw.keys("blocked*") == raw.keys("muted*") == raw.keys("following*") == []


@pytest.mark.parametrize(
    ("who", "whom", "said"),
    [(ALICE, BOB, "You block bob. Unblock them first."), (BOB, ALICE, "You cannot follow bob.")],
)
def test_a_follow_beside_a_block_is_refused(store, member, raw, who, whom, said):
    BlockedPeople(store).block(who, whom)
    member.post("/@bob/follow/")
    assert said in text_of(member.get("/"))
    assert not raw.exists("following:1")


def buttons(client, address):
    """Where the buttons lead that stand where Follow would."""
    return re.findall(r'<form class="follow"[^>]* action="(/@bob/\w+/)"', client.get(address).content.decode())


def test_unblock_and_unmute_stand_where_follow_was(store, member, bob):
    assert buttons(member, "/@bob/") == ["/@bob/follow/"]
    Mutes(store).mute(1, 2)
    assert buttons(member, "/@bob/") == ["/@bob/unmute/"]
    Follows(store).follow(1, 2)
    assert buttons(member, "/@bob/") == buttons(member, "/@alice/following/") == ["/@bob/unmute/", "/@bob/unfollow/"]
    BlockedPeople(store).block(1, 2)
    assert buttons(member, "/@bob/") == ["/@bob/unblock/"]
    member.post("/@bob/unblock/", headers={"referer": "http://testserver/@bob/"})
    member.post("/@bob/unmute/", {"what": "all"}, headers={"referer": "http://testserver/@bob/"})
    assert buttons(member, "/@bob/") == ["/@bob/follow/"]


@pytest.mark.parametrize("action", ["block", "unblock", "mute", "unmute", "follow"])
def test_an_unknown_person_is_not_found(browser, alice, action):
    assert browser(alice).post(f"/@nobody/{action}/").status_code == 404
