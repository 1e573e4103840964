"""The recorder: what it records, and which commands count as commands for one key."""

import threading

import pytest

from retwis_site.store.connection.recorder import Recording, keys_of
from tests.support.recording import recording_process


def test_it_records_every_round_trip_and_its_commands(store):
    with Recording() as recorded:
        store.get("lease:a")
        pipe = store.pipeline()
        pipe.get("lease:b")
        pipe.hget("users", "d")
        pipe.execute()
        pipe.execute()  # an empty queue is not sent
    assert [round_trip.commands for round_trip in recorded.round_trips] == [
        (("GET", "lease:a"),),
        (("GET", "lease:b"), ("HGET", "users", "d")),
    ]
    assert recorded.commands == [("GET", "lease:a"), ("GET", "lease:b"), ("HGET", "users", "d")]


def test_a_recording_has_its_own_thread_and_a_process_recording_has_all_threads(store):
    with recording_process() as everything, Recording() as mine:
        thread = threading.Thread(target=store.get, args=("lease:theirs",))
        thread.start()
        thread.join()
        store.get("lease:mine")
    assert mine.commands == [("GET", "lease:mine")]
    assert everything.commands == [("GET", "lease:theirs"), ("GET", "lease:mine")]


def test_recordings_can_be_nested(store):
    with Recording() as outer:
        store.get("lease:a")
        with Recording() as inner:
            store.get("lease:b")
        store.get("lease:c")
    store.get("lease:d")
    assert [key for _, key in outer.commands] == ["lease:a", "lease:b", "lease:c"]
    assert [key for _, key in inner.commands] == ["lease:b"]


def test_keys_of_returns_the_keys_of_a_command():
    assert keys_of(("HMGET", "users", "a", "b")) == ("users",)
    assert keys_of(("ZADD", "outbox", "NX", 1, "x")) == ("outbox",)
    assert keys_of(("UNLINK", "a", "b")) == ("a", "b")
    assert keys_of(("SCAN", 0, "MATCH", "*")) == ()


@pytest.mark.parametrize("name", ["MULTI", "EVAL", "RENAME", "SINTERSTORE", "ZUNION", "LMOVE", "RPOPLPUSH", "FLUSHDB"])
def test_commands_for_several_keys_are_an_error(name):
    with pytest.raises(ValueError, match="one command, one key"):
        keys_of((name, "a", "b"))
