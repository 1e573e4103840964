"""Readers as generators: each yields for a round trip."""

from retwis_site.store.replies import begun, rest, trip


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

    def both(pipe):
        other = begun(read_twice(pipe))
        [posts] = yield from trip(pipe.get("next_post_id"))
        return posts, (yield from other)

    pipe = store.pipeline()
    before = len(sent.round_trips)
    reading = begun(both(pipe))
    pipe.execute()
    assert rest(pipe, reading) == (None, ("2", None, None))
    assert len(sent.round_trips) == before + 2
