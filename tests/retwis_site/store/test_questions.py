"""Questions that travel alone: each is one round trip, and none when there is nothing to ask."""

from retwis_site.store.chunks import answer, answers, remove_members
from retwis_site.store.connection.recorder import recording
from retwis_site.store.replies import Result


def test_a_question_is_one_round_trip(raw, store):
    raw.hset("users", "alice", "1")
    with recording() as sent:
        assert answer(store, lambda pipe, name: pipe.hget("users", name), "alice") == "1"
    assert len(sent.round_trips) == 1


def test_the_same_of_many_things_is_one_round_trip(raw, store):
    raw.hset("users", mapping={"alice": "1", "bob": "2"})
    with recording() as sent:
        found = answers(store, lambda pipe, name: pipe.hget("users", name), ["bob", "carol", "alice"])
    assert found == {"bob": "2", "carol": None, "alice": "1"}
    assert len(sent.round_trips) == 1


def test_without_anything_to_ask_nothing_is_sent(raw, store):
    with recording() as sent:
        assert answer(store, lambda pipe: Result(lambda: "known")) == "known"
        assert answers(store, lambda pipe, name: pipe.hget("users", name), []) == {}
        remove_members(store, "likes:1", [])
    assert sent.commands == []


def test_members_are_removed_together(raw, store):
    raw.zadd("likes:1", {"5": 5, "6": 6, "7": 7})
    with recording() as sent:
        remove_members(store, "likes:1", ["5", "7"])
    assert raw.zrange("likes:1", 0, -1) == ["6"]
    assert len(sent.round_trips) == 1
