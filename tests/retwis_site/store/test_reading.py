"""Readers as generators, and questions that travel alone: each is a round trip, and none when there is nothing to
ask."""

from retwis_site.store.chunks import remove_members
from retwis_site.store.client import Result, answer, answers, begun, both, rest, trip
from retwis_site.store.connection.recorder import Recording


def read_twice(pipe):
    [counter] = yield from trip(pipe.get("next_user_id"))
    name, missing = yield from trip(pipe.hget(f"user:{counter}", "username"), pipe.get("health"))
    return counter, name, missing


def test_a_reader_asks_again_with_what_it_has_read(store, raw, sent):
    raw.set("next_user_id", 2)
    raw.hset("user:2", "username", "bob")
    pipe = store.pipeline()
    before = len(sent.round_trips)
    reading = begun(read_twice(pipe))
    pipe.execute()
    assert rest(pipe, reading) == ("2", "bob", None)
    assert len(sent.round_trips) == before + 2


def test_a_reader_shares_the_round_trip_of_another(store, raw, sent):
    raw.set("next_user_id", 2)

    def reader(pipe):
        other = begun(read_twice(pipe))
        [posts] = yield from trip(pipe.get("next_post_id"))
        return posts, (yield from other)

    pipe = store.pipeline()
    before = len(sent.round_trips)
    reading = begun(reader(pipe))
    pipe.execute()
    assert rest(pipe, reading) == (None, ("2", None, None))
    assert len(sent.round_trips) == before + 2


def test_two_readers_share_all_their_round_trips(store, raw, sent):
    raw.set("next_user_id", 2)
    raw.hset("user:2", "username", "bob")
    before = len(sent.round_trips)
    pipe = store.pipeline()
    assert rest(pipe, both(read_twice(pipe), read_twice(pipe))) == (("2", "bob", None), ("2", "bob", None))
    assert len(sent.round_trips) == before + 2
    assert rest(pipe, both(trip(pipe.get("health")), read_twice(pipe))) == ((None,), ("2", "bob", None))
    assert len(sent.round_trips) == before + 4


def test_a_question_is_one_round_trip(raw, store):
    raw.hset("users", "alice", "1")
    with Recording() as sent:
        assert answer(store, lambda pipe, name: pipe.hget("users", name), "alice") == "1"
    assert len(sent.round_trips) == 1


def test_the_same_of_many_things_is_one_round_trip(raw, store):
    raw.hset("users", mapping={"alice": "1", "bob": "2"})
    with Recording() as sent:
        found = answers(store, lambda pipe, name: pipe.hget("users", name), ["bob", "carol", "alice"])
    assert found == {"bob": "2", "carol": None, "alice": "1"}
    assert len(sent.round_trips) == 1


def test_without_anything_to_ask_nothing_is_sent(raw, store):
    with Recording() as sent:
        assert answer(store, lambda pipe: Result(lambda: "known")) == "known"
        assert answers(store, lambda pipe, name: pipe.hget("users", name), []) == {}
        remove_members(store, "likes:1", [])
    assert sent.commands == []


def test_members_are_removed_together(raw, store):
    raw.zadd("likes:1", {"5": 5, "6": 6, "7": 7})
    with Recording() as sent:
        remove_members(store, "likes:1", ["5", "7"])
    assert raw.zrange("likes:1", 0, -1) == ["6"]
    assert len(sent.round_trips) == 1
