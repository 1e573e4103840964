"""What was sent to Redis, as the inspector shows it."""

import re

import pytest
from django.conf import settings

from retwis_site.store.commands import FACTS
from retwis_site.store.connection import recorder
from retwis_site.store.connection.recorder import Recording, watching
from retwis_site.telemetry.redaction import HIDDEN, shown_command, shown_round_trips
from timeline.relations import relations


class Repository:
    def __init__(self, store):
        self._store = store

    def ask(self, pipe):
        return pipe.hget("user:1", "name"), [pipe.zcard(key) for key in ("likes:1", "likes:2")]

    def read(self):
        return self._store.get("health")


def shown(watch):
    return [[str(command) for command in step.commands] for step in shown_round_trips(watch)]


def test_a_watch_has_each_round_trip_with_its_commands_its_time_and_the_method_that_asked(store):
    with watching() as watch:
        pipe = store.pipeline()
        Repository(store).ask(pipe)
        pipe.execute()
        Repository(store).read()
    assert shown(watch) == [["HGET user:1 name", "ZCARD likes:1", "ZCARD likes:2"], ["GET health"]]
    [together, alone] = shown_round_trips(watch)
    assert min(together.seconds, alone.seconds) > 0
    assert {command.asker for command in together.commands} == {"Repository.ask"}
    assert {command.asker for command in alone.commands} == {"Repository.read"}


def test_the_code_of_the_store_asks_for_others(store):
    def function():
        return list(store.zset_members("likes:1", 10))

    with watching() as watch:
        function()
    assert [command.asker for step in shown_round_trips(watch) for command in step.commands] == [
        "test_steps.test_the_code_of_the_store_asks_for_others"
    ]


def test_a_push_into_many_lists_is_many_commands(store):
    with watching() as watch:
        pipe = store.pipeline()
        lengths = pipe.lpushx_each(["posts:1", "posts:2"], "7")
        pipe.execute()
    assert lengths.value == [0, 0]
    assert shown(watch) == [["LPUSHX posts:1 7", "LPUSHX posts:2 7"]]


def test_who_asks_a_question_is_who_has_asked_for_its_commands(store):
    with watching() as watch:
        pipe = store.pipeline()
        relations.ask_follow_counts(pipe, 1)
        pipe.hgetall_each(["user:1", "user:2"])
        pipe.execute()
    assert [command.asker for command in watch.commands] == ["relations.ask_follow_counts"] * 4 + [
        "test_steps.test_who_asks_a_question_is_who_has_asked_for_its_commands"
    ] * 2


@pytest.mark.real_server
@pytest.mark.one_server
def test_the_bytes_are_those_of_the_protocol(store, raw):
    raw.hset("user:1", mapping={"name": "Ägir"})
    store.get("health")  # the connection is open
    with watching() as watch:
        store.hmget("user:1", ["name", "bio"])
        store.set("health", "1")
    [asked, written] = shown_round_trips(watch)
    assert asked.sent == len(b"*4\r\n$5\r\nHMGET\r\n$6\r\nuser:1\r\n$4\r\nname\r\n$3\r\nbio\r\n")
    assert asked.received == len("*2\r\n$5\r\nÄgir\r\n$-1\r\n".encode())
    assert written.received == len(b"+OK\r\n")


def test_of_very_many_commands_a_watch_keeps_the_first_and_counts_the_others(store, monkeypatch):
    monkeypatch.setattr(recorder, "MOST_KEPT", 3)
    with watching() as watch:
        for number in range(3):
            pipe = store.pipeline()
            pipe.get("health")
            pipe.lpushx_each([f"posts:{uid}" for uid in range(number)], "7")
            pipe.execute()
    assert [len(round_trip.commands) for round_trip in watch.round_trips] == [1, 2, 0]
    assert watch.left_out == {"GET": 1, "LPUSHX": 2}


def test_only_a_watch_asks_who_has_sent_a_command(store):
    with Recording() as recorded:
        store.get("health")
    assert type(recorded.commands[0]) is tuple


def _sent_names():
    """The names of all commands that the source sends: the first argument of each `send`."""
    for package in ("retwis_site", "accounts", "timeline"):
        for path in (settings.BASE_DIR / package).rglob("*.py"):
            yield from re.findall(r'\.send\(\s*"([A-Z]+)"', path.read_text())


def test_each_command_that_the_site_sends_has_its_complexity():
    assert [name for name in _sent_names() if not FACTS[name].complexity.startswith("O(")] == []


def test_a_command_whose_key_comes_second_names_its_key():
    sent = shown_command(("MEMORY", "USAGE", "reset:d1gest"))
    assert (sent.name, sent.key, sent.arguments, sent.complexity) == ("MEMORY USAGE", f"reset:{HIDDEN}", (), "O(N)")
