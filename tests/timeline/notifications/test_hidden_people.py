"""People who were muted or blocked after they had caused notices, and muted words: neither counted nor shown."""

import re

import pytest

from tests.support.people import LONG_AGO, register
from tests.support.stored_keys import publish
from timeline.relations.relations import BlockedPeople, Mutes

pytestmark = pytest.mark.usefixtures("pid")

ALICE, BOB, CAROL = 1, 2, 3
HIDE = {
    "bob mutes alice": lambda store: Mutes(store).mute(BOB, ALICE),
    "bob blocks alice": lambda store: BlockedPeople(store).block(BOB, ALICE),
    "alice blocks bob": lambda store: BlockedPeople(store).block(ALICE, BOB),
}


@pytest.mark.parametrize("hide", HIDE)
def test_they_are_not_counted_any_more(browser, store, raw, bob, pid, hide):
    client = browser(bob)
    raw.zadd("notices:2", {f"like:{pid}:1": LONG_AGO, "follow:2:1": LONG_AGO, f"like:{pid}:3": LONG_AGO})
    assert 'data-count="3"' in client.get("/people/").content.decode()
    HIDE[hide](store)
    assert raw.zrange("notices:2", 0, -1) == [f"like:{pid}:3"]
    assert 'data-count="1"' in client.get("/people/").content.decode()


def test_a_post_with_muted_words_is_neither_counted_nor_shown(browser, store, raw, alice, bob):
    raw.zadd("muted_words:2", {"everywhere hide walrus": "+inf"})
    client = browser(bob)
    publish(raw, store, alice, "A Walrus for @bob")
    publish(raw, store, alice, "A seal for @bob")
    assert raw.zrange("notices:2", 0, -1) == ["mention:3:1"]
    assert 'data-count="1"' in client.get("/people/").content.decode()
    html = client.get("/notifications/").content.decode()
    assert "A seal" in html
    assert "Walrus" not in html


def test_words_that_are_muted_later_count_until_the_page_is_read(browser, store, raw, alice, bob):
    publish(raw, store, alice, "A walrus for @bob")
    raw.zadd("muted_words:2", {"everywhere hide walrus": "+inf"})
    client = browser(bob)
    assert 'data-count="1"' in client.get("/people/").content.decode()
    assert "walrus" not in client.get("/notifications/").content.decode()
    assert 'data-count=""' in client.get("/people/").content.decode()


def test_a_mute_of_reposts_alone_removes_no_notice(store, raw, pid):
    raw.zadd("notices:2", {f"repost:{pid}:1": LONG_AGO})
    Mutes(store).mute_reposts(BOB, ALICE)
    assert raw.zcard("notices:2") == 1


def test_a_mute_takes_two_more_round_trips_however_many_notices_there_are(store, raw, pid, round_trips):
    raw.zadd("notices:2", {f"like:{pid}:{uid}": LONG_AGO for uid in range(1, 1000)})
    assert len(round_trips(lambda: Mutes(store).mute(BOB, ALICE)).round_trips) == 6
    assert len(round_trips(lambda: Mutes(store).unmute(BOB, ALICE)).round_trips) == 4


def test_a_group_stays_when_its_newest_people_are_all_hidden(browser, store, raw, bob, pid):
    """As after a copy of notices and mutes from another site."""
    hidden = [register(store, f"person{number}").user.uid for number in range(8)]
    raw.zadd("notices:2", {f"like:{pid}:{uid}": LONG_AGO + uid for uid in (CAROL, *hidden)})
    raw.zadd("muted:2", dict.fromkeys(hidden, "+inf"))
    html = browser(bob).get("/notifications/").content.decode()
    assert "carol liked your post" in " ".join(re.sub("<[^>]*>", " ", html).split())
    assert "person" not in html
