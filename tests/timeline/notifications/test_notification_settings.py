"""Each kind of notice can be turned off."""

import pytest

from tests.support.stored_keys import publish
from timeline.notices.entities import CAN_BE_QUIET, Kind
from timeline.relations.follow import Follows
from timeline.relations.like import Likes

ADDRESS = "/settings/notifications/"


def test_all_kinds_are_on_at_first(browser, alice):
    html = browser(alice).get(ADDRESS).content.decode()
    assert html.count("checked") == len(CAN_BE_QUIET)


def test_a_kind_that_is_turned_off_stays_off_and_causes_nothing(browser, store, raw, alice, bob):
    pid = publish(raw, store, alice, "Hello")
    client = browser(alice)
    wanted = {kind: "on" for kind in CAN_BE_QUIET if kind is not Kind.LIKE}
    response = client.post(ADDRESS, wanted)
    assert (response.status_code, response["Location"]) == (302, ADDRESS)
    assert raw.hget("user:1", "quiet") == "like"
    html = client.get(ADDRESS).content.decode()
    assert html.count("checked") == len(CAN_BE_QUIET) - 1
    Likes(store).like(2, pid, 1)
    Follows(store).follow(2, 1)
    assert raw.zrange("notices:1", 0, -1) == ["follow:1:2"]
    client.post(ADDRESS, dict.fromkeys(Kind, "on"))
    assert raw.hget("user:1", "quiet") == ""


@pytest.mark.parametrize("sent", [{}, {"kinds": "all"}])
def test_all_kinds_can_be_off(browser, raw, alice, sent):
    browser(alice).post(ADDRESS, sent)
    assert raw.hget("user:1", "quiet").split() == list(CAN_BE_QUIET)


def test_changes_are_limited(browser, alice, monkeypatch):
    client = browser(alice)
    assert [client.post(ADDRESS).status_code for _ in range(61)][-2:] == [302, 429]


def test_visitors_are_sent_to_the_login(browser):
    assert browser().get(ADDRESS)["Location"] == "/login/?next=%2Fsettings%2Fnotifications%2F"
