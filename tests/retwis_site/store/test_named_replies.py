"""A queued command returns a handle. After `execute()` the handle has the reply."""

import inspect
import math
from contextlib import suppress
from types import SimpleNamespace

import pytest
from hiredis import pack_command
from hypothesis import given, strategies as st

from retwis_site.exceptions import LeaseEnded, StoreError
from retwis_site.jobs import lease
from retwis_site.store import keys
from retwis_site.store.client import NoReplyYet, Pipe, Reply, Result, connect_exactly, packed
from retwis_site.store.commands import Commands, Question, scored
from retwis_site.store.connection.recorder import Recording, keys_of
from retwis_site.store.ids import LARGEST_ID


def test_each_handle_has_the_reply_to_its_own_command(store):
    store.hset("user:1", {"username": "alice"})
    pipe = store.pipeline()
    followers = pipe.zcard("followers:1")
    username = pipe.hget("user:1", "username")
    exists, missing = pipe.hexists("user:1", "username"), pipe.hexists("user:1", "name")
    pipe.execute()
    assert (username.value, followers.value) == ("alice", 0)
    assert (exists.value, missing.value) == (True, False)


def test_a_block_sends_what_was_queued_in_it_in_one_round_trip(store):
    with Recording() as recorded:
        with store.pipeline() as pipe:
            pipe.hset("user:1", {"username": "alice"})
            username = pipe.hget("user:1", "username")
        assert username.value == "alice"
    assert [len(one.commands) for one in recorded.round_trips] == [2]


def test_a_block_that_raises_sends_nothing(store):
    with Recording() as recorded, suppress(ZeroDivisionError), store.pipeline() as pipe:
        pipe.hset("user:1", {"username": "alice"})
        raise ZeroDivisionError
    assert recorded.round_trips == []


def test_execute_returns_nothing_so_no_code_can_find_a_reply_by_its_place(store):
    pipe = store.pipeline()
    pipe.zcard("followers:1")
    assert pipe.execute() is None
    assert pipe.execute() is None  # an empty queue


def test_a_value_that_is_read_too_early_raises_an_error_that_says_what_to_do(store):
    pipe = store.pipeline()
    followers = pipe.zcard("followers:1")
    doubled = Result(lambda: 2 * followers.value)
    for handle in (followers, doubled):
        with pytest.raises(NoReplyYet, match="call execute"):
            _ = handle.value
    pipe.execute()
    assert (followers.value, doubled.value) == (0, 0)


def test_a_handle_has_nothing_but_a_value():
    with pytest.raises(AttributeError):
        _ = Reply().number
    with pytest.raises(AttributeError):
        Reply().number = 1


def test_after_a_refused_command_no_handle_has_a_value(store, raw):
    raw.set("followers:1", "a text")
    pipe = store.pipeline()
    username, followers = pipe.hget("user:1", "username"), pipe.zcard("followers:1")
    with pytest.raises(StoreError):
        pipe.execute()
    for handle in (username, followers):
        with pytest.raises(NoReplyYet):
            _ = handle.value


def test_a_pipe_can_be_used_again_and_old_handles_keep_their_values(store):
    pipe = store.pipeline()
    first = pipe.rpush("posts:1", "5")
    pipe.execute()
    second = pipe.rpush("posts:1", "6")
    pipe.execute()
    assert (first.value, second.value) == (1, 2)


def test_a_push_to_many_lists_has_one_handle_with_all_lengths(store, raw):
    raw.rpush("posts:1", "4", "5")
    raw.rpush("posts:3", "4")
    pipe = store.pipeline()
    before = pipe.get("next_post_id")
    lengths = pipe.lpushx_each(["posts:1", "posts:2", "posts:3"], "6")
    after = pipe.lrange("posts:3", 0, -1)
    none = pipe.lpushx_each([], "6")
    pipe.execute()
    assert (before.value, lengths.value, after.value, none.value) == (None, [3, 0, 2], ["6", "4"], [])


def test_many_hashes_have_one_handle_with_the_fields_of_each(store, raw):
    raw.hset("user:1", mapping={"username": "alice", "bio": "tea"})
    pipe = store.pipeline()
    values = pipe.hgetall_each(["user:1", "user:2"])
    pipe.execute()
    assert values.value == [["username", "alice", "bio", "tea"], []]


FOLLOWS = Question(
    ("ZCARD", keys.following),
    ("ZREVRANGE", keys.followers, 0, 1, "WITHSCORES"),
    ("HGET", keys.user, "name"),
    read=lambda uid, replies: (uid, *replies),
)


def test_a_question_is_asked_about_one_user_after_another(store, raw):
    raw.zadd("following:1", {"2": 100, "3": 200})
    raw.zadd("followers:2", {"1": 100, "3": 1.5, "4": 2})
    raw.hset("user:2", "name", "Bob")
    pipe = store.pipeline()
    before = pipe.get("next_post_id")
    alice, bob = pipe.ask(FOLLOWS, 1), pipe.ask(FOLLOWS, 2)
    with pytest.raises(NoReplyYet):
        _ = alice.value
    with Recording() as recorded:
        pipe.execute()
    assert before.value is None
    assert alice.value == (1, 2, [], None)
    uid, following, [first, since, second, score], name = bob.value
    assert (uid, following, first, float(since), second, float(score), name) == (2, 0, "1", 100, "4", 2, "Bob")
    assert [keys_of(command) for command in recorded.commands[1:4]] == [("following:1",), ("followers:1",), ("user:1",)]


@given(st.integers(1, LARGEST_ID), st.sampled_from(["", "site:"]))
def test_a_question_is_packed_as_its_commands_are_one_by_one(uid, prefix):
    key_of = ("following", "followers", "user")
    rest = ([], ["0", "1", "WITHSCORES"], ["name"])
    one_by_one = [
        pack_command((name, f"{prefix}{kind}:{uid}", *more))
        for name, kind, more in zip(("ZCARD", "ZREVRANGE", "HGET"), key_of, rest, strict=True)
    ]
    assert packed(FOLLOWS, prefix, uid) == b"".join(one_by_one)


@pytest.mark.in_order  # else the commands are sent one by one
@pytest.mark.parametrize("text", ["Bob", "Bob \udcff"])  # the second one was read from bytes that are not UTF-8
def test_questions_and_single_commands_get_their_own_replies(raw, text):
    store = connect_exactly()
    raw.zadd("following:1", {"2": 100})
    pipe = store.pipeline()
    pipe.hset("user:1", {"name": text})
    alice, name = pipe.ask(FOLLOWS, 1), pipe.hget("user:1", "name")
    bob, following = pipe.ask(FOLLOWS, 2), pipe.zcard("following:1")
    pipe.execute()
    assert (alice.value, bob.value) == ((1, 1, [], text), (2, 0, [], None))
    assert (name.value, following.value) == (text, 1)


def test_scores_in_the_reply_of_a_question_are_numbers():
    assert scored(["1", "100", "3", "1.5", "4", "inf"]) == [("1", 100.0), ("3", 1.5), ("4", math.inf)]
    assert scored([]) == []


def test_after_a_refused_command_a_question_has_no_value(store, raw):
    raw.set("following:1", "a text")
    pipe = store.pipeline()
    alice = pipe.ask(FOLLOWS, 1)
    with pytest.raises(StoreError):
        pipe.execute()
    with pytest.raises(NoReplyYet):
        _ = alice.value


def test_a_stream_yields_when_the_handles_of_a_pipe_have_their_values(store, raw):
    raw.set("next_post_id", "7")
    handles = []

    def pipes():
        for key in ("next_post_id", "next_user_id", "next_post_id"):
            pipe = store.pipeline()
            handles.append(pipe.get(key))
            yield pipe

    seen = []
    for _ in store.stream(pipes()):
        seen.append(handles[len(seen)].value)
    assert seen == ["7", None, "7"]


@pytest.mark.parametrize("ends", ["the caller", "its pipes", "a refusal"])
def test_a_stream_that_ends_early_leaves_no_reply_for_the_next_command(store, raw, ends):
    raw.hset("users", "alice", "1")

    def pipes():
        for number in range(3):
            if number == 2 and ends == "its pipes":
                raise ValueError
            pipe = store.pipeline()
            pipe.get("users" if number == 0 and ends == "a refusal" else "next_user_id")
            yield pipe

    stream = store.stream(pipes())
    with suppress(ValueError, StoreError):
        next(stream)
        if ends == "the caller":
            stream.close()
        list(stream)
    assert store.hget("users", "alice") == "1"


def test_a_stream_whose_lease_ends_before_its_last_replies_leaves_none_for_the_next_command(store, raw, monkeypatch):
    raw.hset("users", "alice", "1")
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(lease, "time", SimpleNamespace(monotonic=lambda: clock.now))

    def pipes():
        pipe = store.pipeline()
        pipe.get("next_user_id")
        yield pipe
        clock.now = 60.0  # the process was stopped

    with pytest.raises(LeaseEnded):
        list(lease.LeasedStore(store, 50).stream(pipes()))
    assert store.hget("users", "alice") == "1"


ARGUMENTS = {"fields": {"a": "b"}, "members": ["1"], "values": ["1"], "dumped": b""}


def test_every_command_returns_its_handle(store):
    for name in [name for name in vars(Commands) if not name.startswith("_") and name != "send"]:
        method = getattr(Pipe, name)
        arguments = []
        for parameter in list(inspect.signature(method).parameters.values())[1:]:
            is_mapping = name.startswith(("zadd", "hset")) and parameter.name in {"fields", "members"}
            value = {"1": 1} if is_mapping else ARGUMENTS.get(parameter.name, 1)
            arguments.append(["a"] if name == "hmget" and parameter.name == "fields" else value)
        pipe = store.pipeline()
        assert type(method(pipe, *arguments)) is Reply, name
        assert len(pipe.take().queued) == 1, name
