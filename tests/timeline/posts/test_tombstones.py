"""A deleted post keeps its place in the thread while it has replies."""

from contextlib import suppress
from unittest import mock

import pytest

from accounts.users.deletion import AccountDeletion
from retwis_site.jobs.worker import drain
from tests.support.delivering import drain_due
from tests.support.stores.key_layouts import make_due
from tests.support.stores.seam import Killed, before_round_trip
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.posts.settling import DELETED_STAYS, Settling
from timeline.relations.relation import Counts


@pytest.fixture
def thread(store, alice, bob):
    """1 by alice; 2 by bob answers 1; 3 by alice answers 2; 4 by bob answers 3."""
    for pid, uid in enumerate((1, 2, 1, 2), start=1):
        Posts(store).publish(uid, NewPost(f"post {pid}", reply_to=pid - 1 or None), str(pid))


def test_a_deleted_post_without_replies_leaves_the_thread(store, thread, raw):
    Posts(store).delete(2, 4)
    assert raw.zrange("thread:1", 0, -1) == ["2", "3"]
    assert not raw.exists("replies_to:3")
    assert raw.hget("post:3", "replies") is None
    assert 0 < raw.ttl("post:4") <= DELETED_STAYS
    assert raw.hget("post:4", "body") == ""


def test_a_deleted_post_with_replies_is_a_tombstone(store, thread, raw):
    Posts(store).delete(2, 2)
    assert raw.zrange("thread:1", 0, -1) == ["2", "3", "4"]
    assert raw.zrange("replies_to:1", 0, -1) == ["2"]
    assert raw.ttl("post:2") == -1
    assert raw.hmget("post:2", "body", "reply_to", "root", "above", "replies") == ["", "1", "1", "1", None]
    assert raw.hget("post:1", "replies") == "1"


def test_tombstones_go_with_the_last_reply_below_them(store, thread, raw):
    Posts(store).delete(2, 2)
    Posts(store).delete(1, 3)
    assert raw.zrange("thread:1", 0, -1) == ["2", "3", "4"]
    Posts(store).delete(2, 4)
    assert raw.keys("thread:*") == raw.keys("replies_to:*") == raw.keys("outbox*") == []
    assert all(raw.ttl(f"post:{pid}") > 0 for pid in (2, 3, 4))
    assert raw.hget("post:1", "replies") is None


def test_a_deleted_first_post_stays_while_its_thread_does(store, thread, raw):
    Posts(store).delete(1, 1)
    assert raw.ttl("post:1") == -1
    for uid, pid in ((2, 4), (1, 3), (2, 2)):
        assert raw.ttl("post:1") == -1
        Posts(store).delete(uid, pid)
    assert raw.ttl("post:1") > 0


def test_a_deleted_quote_leaves_the_quotes_though_it_has_replies(store, alice, bob, raw):
    Posts(store).publish(1, NewPost("said"), "1")
    Posts(store).publish(2, NewPost("look", quote=1), "2")
    Posts(store).publish(1, NewPost("well", reply_to=2), "3")
    Posts(store).delete(2, 2)
    assert not raw.exists("quotes_of:1")
    assert raw.hget("post:1", "quotes") is None
    assert raw.ttl("post:2") == -1


def test_the_posts_of_a_deleted_account_become_tombstones(store, thread, bob, raw):
    AccountDeletion(store).delete(bob.user, bob.secret)
    drain_due(store, raw)
    assert raw.zrange("thread:1", 0, -1) == ["2", "3"]
    assert raw.ttl("post:2") == -1
    assert raw.ttl("post:4") > 0
    assert raw.hget("post:2", "body") == raw.hget("post:4", "body") == ""


def test_a_long_row_of_tombstones_goes_at_once(store, alice, raw):
    for pid in range(1, 31):
        Posts(store).publish(1, NewPost(f"post {pid}", reply_to=pid - 1 or None), str(pid))
    for pid in range(1, 31):
        Posts(store).delete(1, pid)
    assert raw.keys("thread:*") == raw.keys("replies_to:*") == raw.keys("outbox*") == []
    assert all(raw.ttl(f"post:{pid}") > 0 for pid in range(1, 31))


def test_a_post_deleted_before_it_was_listed_leaves_its_tags(store, alice, raw):
    """The deletion has removed the text that leads there; who lists the post knows it still."""
    with before_round_trip(6, lambda: Posts(store).delete(1, 1)):
        Posts(store).publish(1, NewPost("I like #tea"), "1")
    assert raw.hget("post:1", "deleted")
    assert raw.keys("tag:*") == raw.keys("updates:*") == raw.keys("outbox*") == []


def test_a_number_of_replies_is_right_though_the_removal_of_an_account_was_killed(store, alice, bob, raw):
    """Its reply has left `updates:` meanwhile: only the job of the reply leads to the number."""
    Posts(store).publish(1, NewPost("said"), "1")
    Posts(store).publish(2, NewPost("well", reply_to=1), "2")
    AccountDeletion(store).delete(bob.user, bob.secret)

    def killed(numbers, more):
        raw.zrem("updates:2", "2")
        raise Killed

    with mock.patch.object(Counts, "write", killed), suppress(Killed):
        drain(store, "worker")
    assert raw.hget("post:1", "replies") == "1"
    make_due(raw)
    drain(store, "another worker")
    assert raw.hget("post:1", "replies") is None
    assert raw.keys("outbox*") == []


def test_what_follows_from_a_hash_that_has_expired_makes_no_hash(store, alice, raw):
    raw.hset("post:1", mapping={"body": "too #late", "edited": "5"})
    raw.hset("edits:1", "5", "too #late")
    raw.zadd("tag:late", {"1": 1})
    Settling(store).settle([1])
    assert raw.keys("post:1") == raw.keys("edits:*") == raw.keys("tag:*") == []


@pytest.mark.parametrize("kind", ["settle", "stone"])
def test_a_job_is_finished_also_under_the_name_that_an_earlier_version_gave_it(store, thread, raw, kind):
    raw.hset("post:3", "replies", "7")
    raw.zrem("replies_to:3", 4)
    raw.zadd("outbox", {f"{kind}:4:x": 1})
    drain(store, "worker")
    assert raw.zrange("replies_to:3", 0, -1) == ["4"]
    assert raw.keys("outbox*") == []
