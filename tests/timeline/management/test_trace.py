"""`manage.py trace`: prints what an action sends, and the keys before and after."""

import secrets
import time
from itertools import count

import pytest
from django.conf import settings

from retwis_site.inspector.key_browser import ChangedKey
from retwis_site.store import kinds
from retwis_site.store.connection.recorder import watching
from tests.support.command_output import refuses, said
from tests.support.stored_posts import write_posts
from timeline.management.commands.trace import lines_of_changes
from timeline.relations.relations import BlockedPeople, Follows

NOW = 1_800_000_000


@pytest.fixture
def trace(raw, store, alice, bob, carol, monkeypatch, capsys):
    """`trace("home", "alice")` is what the command prints. bob and carol follow alice, and bob has a home."""
    for follower in (2, 3):
        Follows(store).follow(follower, 1)
        raw.zadd(f"following:{follower}", {"1": 1_700_000_000})
        raw.zadd("followers:1", {str(follower): 1_700_000_000})
    write_posts(raw, 1, [1])
    raw.rpush("posts:2", "1", "0")
    numbers = count()
    monkeypatch.setattr(secrets, "token_hex", lambda length=None: f"c0ffee{next(numbers)}")
    monkeypatch.setattr(time, "time", lambda: float(NOW))
    return lambda *words: said(capsys, "trace", *words)


def test_a_post_is_printed_step_by_step(trace):
    assert trace("post", "alice", "hello") == EXPECTED_POST


@pytest.mark.indexed
def test_what_a_worker_sends_for_a_post_is_printed(trace):
    printed = trace("post", "alice", "hello").partition("A worker looks for jobs")[2]
    assert "HMGET post:2 user_id time body" in printed
    assert "APPEND postings:0:" in printed
    assert "ZREM outbox index:2:•••" in printed
    assert "  Nothing new is seen in: attempts, lease:index:2:•••, outbox, " in printed


@pytest.mark.indexed
def test_the_document_shows_lines_that_are_printed(trace):
    printed = {" ".join(line.split()) for line in trace("post", "alice", "hello").splitlines()}
    document = (settings.BASE_DIR / "docs/inspector.md").read_text()
    sample = document.partition("```text\ndemo posts")[2].partition("```")[0].splitlines()
    lines = [" ".join(line.split()) for line in sample[1:] if line != "..."]
    assert [line for line in lines if line not in printed] == []
    assert f"alice posts{sample[0]}" in printed


def test_a_home_is_printed_twice(trace):
    printed = trace("home", "bob")
    assert "bob opens the home timeline: " in printed
    assert "The same again: 1 round trip, " in printed
    assert "+ seen: 1" in printed
    assert trace("home", "bob").endswith("The keys before and after\n      No key was written.\n\n")


def test_it_really_happens(trace, raw):
    trace("post", "alice", "hello")
    assert raw.hget("post:2", "body") == "hello"
    assert raw.lrange("posts:2", 0, -1) == ["2", "1", "0"]
    trace("follow", "alice", "carol")
    assert raw.zscore("following:1", "3") == NOW
    assert raw.zcard("outbox") == 0


def test_it_sends_what_the_repository_sends(store, trace, round_trips, capsys):
    with watching() as watch:
        printed = trace("follow", "alice", "bob")
    assert f"alice follows bob: {len(round_trips(lambda: Follows(store).follow(1, 3)).round_trips) + 5}" in printed
    for command in watch.commands:
        assert str(command[0]) in printed
    assert "following:1  zset, new: 1 member\n        + 2: 1800000000\n" in printed
    assert "notices:2  zset, new: 1 member (not shown)\n" in printed
    assert "users_by_followers  zset, 1 → 2 members\n        + 2: 1\n" in printed


def test_what_is_alike_is_counted(raw, store, trace):
    for uid in range(11, 31):
        raw.zadd("followers:1", {str(uid): 1})
        raw.rpush(f"posts:{uid}", "1", "0")
    printed = trace("post", "alice", "hello")
    assert "… and 19 more LPUSHX" in printed
    assert "… and 18 more" in printed


def test_kinds_of_keys_stand_apart_also_behind_a_prefix(monkeypatch):
    monkeypatch.setattr(kinds, "PREFIX", "blog:")
    new = [ChangedKey(f"blog:{word}:1", "string", None, 3, ()) for word in ("idem", "inspected", "media", "postings")]
    *printed, same = lines_of_changes(new, ["blog:outbox", "blog:posts:1", "blog:posts:2"])
    assert printed[1:] == [f"      {change.key}  string, new: 3 bytes (not shown)" for change in new]
    assert same == "      Nothing new is seen in: blog:outbox, blog:posts:1 and 1 more"


def test_no_secret_is_printed(raw, alice, trace):
    stored = raw.hgetall("user:1")
    printed = trace("home", "alice") + trace("post", "alice", "hello")
    for secret in (alice.secret, stored["auth"], stored["password"]):
        assert secret not in printed


def test_what_would_command_the_terminal_is_not_printed(raw, trace):
    raw.hset("users", "x\x1b[2j", "2")
    printed = trace("follow", "alice", "x\x1b[2J")
    assert "alice follows x" in printed
    assert "\x1b" not in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["home", "nobody"], "There is no user 'nobody'. .*manage.py seed"),
        (["post", "alice", " "], "Write something first."),
        (["post", "alice", "x" * 281], "1 character too many"),
        (["follow", "alice", "nobody"], "There is no user 'nobody'"),
        (["follow", "alice", "alice"], "Nobody can follow themselves"),
    ],
)
def test_an_error_says_what_to_do(trace, words, message):
    refuses(message, "trace", *words)


def test_a_block_is_an_error(trace, store):
    BlockedPeople(store).block(2, 1)
    refuses("blocks the other", "trace", "follow", "alice", "bob")


def test_a_deleted_account_is_an_error(trace, raw):
    raw.hset("user:1", mapping={"deleted": NOW, "auth": ""})
    refuses("deleted", "trace", "home", "alice")


def test_too_many_posts_are_an_error_that_says_how_to_go_on(trace, settings):
    settings.THROTTLES = {"post": 1}
    trace("post", "alice", "one")
    refuses("unthrottle NAME", "trace", "post", "alice", "two")


EXPECTED_POST = """\
alice posts 'hello': 13 round trips, 39 commands
   1  HGET auths •••                                                            O(1)         SessionSecret.unchecked_uid
   2  HGETALL site                                                              O(N)         identity.ask_stored_site
      HGET auths •••                                                            O(1)         SessionSecret.ask_uid
      HMGET user:1 username name deleted colour picture state state_until sta…  O(N)         Viewer._checking
      ZREVRANK notices:1 up_to_here                                             O(log(N))    notices.ask_new
      ZCARD notices:1                                                           O(1)         notices.ask_new
   3  ZREMRANGEBYSCORE throttle:post:1 -inf 1799996400                          O(log(N)+M)  trace._post
      ZADD throttle:post:1 1800000000 •••                                       O(log(N))    trace._post
      EXPIRE throttle:post:1 3600                                               O(1)         trace._post
      ZCOUNT throttle:post:1 -inf 1800000005                                    O(log(N))    trace._post
      ZRANGE throttle:post:1 0 0 WITHSCORES                                     O(log(N)+M)  trace._post
   4  INCR next_post_id                                                         O(1)         CounterIds.take
   5  SET idem:1:••• 2 NX EX 86400                                              O(1)         Posts._claim_token
      HGET post:2 user_id                                                       O(1)         CounterIds.ask_unused
      TTL edits:2                                                               O(1)         CounterIds.ask_unused
      TTL liked_by:2                                                            O(1)         CounterIds.ask_unused
      TTL reposted_by:2                                                         O(1)         CounterIds.ask_unused
      TTL thread:2                                                              O(1)         CounterIds.ask_unused
      TTL replies_to:2                                                          O(1)         CounterIds.ask_unused
      TTL quotes_of:2                                                           O(1)         CounterIds.ask_unused
   6  HSETNX post:2 user_id 1                                                   O(1)         Posts.publish
      HSETNX post:2 time 1800000000                                             O(1)         Posts.publish
      HSETNX post:2 body hello                                                  O(1)         Posts.publish
      HMGET post:2 body media reply_to root reply_to_user above quote repost_…  O(N)         Posts.publish
      ZCARD followers:1                                                         O(1)         Posts.publish
   7  ZADD outbox 1800000060 post:2:•••                                         O(log(N))    Outbox.add
   8  ZADD updates:1 2 2                                                        O(log(N))    Delivery._list
   9  HMGET user:1 deleted state state_until                                    O(N)         relation.ask_person
      HMGET post:2 user_id deleted body media edited reply_to root reply_to_u…  O(N)         settling._ask_seen
      ZCARD replies_to:2                                                        O(1)         settling._ask_seen
      ZCARD unseen:replies_to:2                                                 O(1)         settling._ask_seen
      HGETALL edits:2                                                           O(N)         records.ask_versions
      HGET user:1 deleted                                                       O(1)         Delivery._list
  10  LPUSHX posts:1 2                                                          O(N)         Delivery._push_own
      LPUSH timeline 2                                                          O(N)         Delivery._push_own
  11  ZRANGE followers:1 0 8191                                                 O(log(N)+M)  Delivery.push_to_followers
  12  LPUSHX posts:2 2                                                          O(N)         Delivery.push_to_followers
      LPUSHX posts:3 2                                                          O(N)         Delivery.push_to_followers
  13  ZREM outbox post:2:•••                                                    O(M*log(N))  Outbox.done

A worker looks for jobs: 1 round trip, 1 command
   1  ZRANGEBYSCORE outbox -inf 1800000000 LIMIT 0 500  O(log(N)+M)  Outbox.due

The keys before and after
      idem:1:•••  string, new: 1 byte (not shown)
      next_post_id  string, 1 → 1 byte
        - 1
        + 2
      post:2  hash, new: 3 fields
        + body: hello
        + time: 1800000000
        + user_id: 1
      posts:2  list, 2 → 3 entries
        + 2
      throttle:post:1  zset, new: 1 member (not shown)
      timeline  list, new: 1 entry
        + 2
      updates:1  zset, 1 → 2 members
        + 2
      Nothing new is seen in: outbox, posts:1 and 1 more

"""
