"""The watch: what it sees, and which commands it lets pass as naming one key."""

import threading

import pytest

from retwis_site.watch import keys_of, watching, watching_process


def test_it_sees_every_trip_and_the_commands_in_it(store):
    with watching() as watch:
        store.get("a")
        pipe = store.pipeline()
        pipe.get("b")
        pipe.hget("c", "d")
        pipe.execute()
        pipe.execute()  # nothing queued, nothing sent
    assert [trip.commands for trip in watch.trips] == [(("GET", "a"),), (("GET", "b"), ("HGET", "c", "d"))]
    assert watch.commands == [("GET", "a"), ("GET", "b"), ("HGET", "c", "d")]


def test_it_sees_its_own_thread_only_and_the_process_watch_all(store):
    with watching_process() as everything, watching() as mine:
        thread = threading.Thread(target=store.get, args=("theirs",))
        thread.start()
        thread.join()
        store.get("mine")
    assert mine.commands == [("GET", "mine")]
    assert everything.commands == [("GET", "theirs"), ("GET", "mine")]


def test_watches_nest_and_end(store):
    with watching() as outer:
        store.get("a")
        with watching() as inner:
            store.get("b")
        store.get("c")
    store.get("d")
    assert [c[1] for c in outer.commands] == ["a", "b", "c"]
    assert [c[1] for c in inner.commands] == ["b"]


def test_one_command_names_one_key():
    assert keys_of(("HMGET", "users", "a", "b")) == ("users",)
    assert keys_of(("ZADD", "outbox", "NX", 1, "x")) == ("outbox",)
    assert keys_of(("UNLINK", "a", "b")) == ("a", "b")
    assert keys_of(("SCAN", 0, "MATCH", "*")) == ()


@pytest.mark.parametrize("name", ["MULTI", "EVAL", "RENAME", "SINTERSTORE", "ZUNION", "LMOVE", "RPOPLPUSH", "FLUSHDB"])
def test_commands_for_several_keys_are_refused(name):
    with pytest.raises(ValueError, match="one command, one key"):
        keys_of((name, "a", "b"))
