"""The addresses that block and mute a person."""

import time
from math import inf

import pytest

from tests.support.http.page_text import text_of
from timeline.relations.block import BlockedPeople

ALICE, BOB = 1, 2

pytestmark = pytest.mark.usefixtures("alice", "bob")


def test_a_person_is_blocked_and_unblocked(browser, alice, raw):
    client = browser(alice)
    response = client.post("/@bob/block/", follow=True)
    assert response.redirect_chain == [("/@bob/", 302)]
    assert raw.zrange("blocked:1", 0, -1) == ["2"]
    client.post("/@bob/unblock/")
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
def test_a_person_or_their_reposts_are_muted_for_ever_or_for_days(browser, alice, raw, fields, key, days):
    client = browser(alice)
    assert client.post("/@bob/mute/", fields).status_code == 302
    until = raw.zscore(key, BOB)
    assert until == inf if days is None else abs(until - time.time() - days * 86400) < 60
    assert client.post("/@bob/unmute/", fields).status_code == 302
    assert not raw.exists(key)


@pytest.mark.parametrize("fields", [{}, {"what": "x"}, {"what": "all", "days": "2"}, {"what": "all", "days": "-1"}])
def test_a_mute_of_something_else_is_refused(browser, alice, raw, fields):
    assert browser(alice).post("/@bob/mute/", fields).status_code == 422
    assert raw.keys("muted*") == []


@pytest.mark.parametrize(("action", "fields"), [("block", {}), ("mute", {"what": "all"})])
def test_nobody_blocks_or_mutes_themselves(browser, alice, raw, action, fields):
    response = browser(alice).post(f"/@Alice/{action}/", fields, follow=True)
    assert f"You cannot {action} yourself." in text_of(response)
    assert raw.keys("blocked*") == raw.keys("muted*") == []


@pytest.mark.parametrize(
    ("who", "whom", "said"),
    [(ALICE, BOB, "You block bob. Unblock them first."), (BOB, ALICE, "You cannot follow bob.")],
)
def test_a_follow_beside_a_block_is_refused(browser, store, alice, raw, who, whom, said):
    BlockedPeople(store).block(who, whom)
    client = browser(alice)
    client.post("/@bob/follow/")
    assert said in text_of(client.get("/"))
    assert not raw.exists("following:1")


@pytest.mark.parametrize("action", ["block", "unblock", "mute", "unmute"])
def test_a_visitor_logs_in_first_and_an_unknown_person_is_not_found(browser, alice, action):
    assert browser().post(f"/@bob/{action}/")["Location"].startswith("/login/")
    assert browser(alice).post(f"/@nobody/{action}/").status_code == 404
    assert browser(alice).get(f"/@bob/{action}/").status_code == 405
