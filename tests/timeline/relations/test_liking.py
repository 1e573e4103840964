"""Likes: both sides of an edge and the number in the post, also when the post or the user is deleted."""

import time

import pytest

from retwis_site.jobs.worker import drain
from retwis_site.store import chunks
from tests.support.people import LONG_AGO
from tests.support.removed_accounts import delete_and_remove
from tests.support.stored_keys import everything, noted, publish
from timeline.posts.repository import Posts
from timeline.relations.relations import Likes

ALICE, BOB, CAROL = 1, 2, 3


def test_a_like_writes_both_sides_with_the_same_date_and_the_number(store, raw, pid):
    before = int(time.time())
    Likes(store).like(ALICE, pid, BOB)
    [(member, since)] = raw.zrange("likes:1", 0, -1, withscores=True)
    assert member == str(pid)
    assert before <= since <= time.time()
    assert raw.zrange(f"liked_by:{pid}", 0, -1, withscores=True) == [("1", since)]
    assert raw.hget(f"post:{pid}", "likes") == "1"
    Likes(store).like(CAROL, pid, BOB)
    assert raw.hget(f"post:{pid}", "likes") == "2"
    assert noted(raw) == []


def test_unlike_removes_both_sides_and_the_last_one_the_number(store, raw, pid):
    before = everything(raw)
    Likes(store).like(ALICE, pid, BOB)
    Likes(store).like(CAROL, pid, BOB)
    Likes(store).unlike(ALICE, pid, BOB)
    assert raw.hget(f"post:{pid}", "likes") == "1"
    assert not raw.exists("likes:1")
    Likes(store).unlike(CAROL, pid, BOB)
    assert everything(raw) == before


def test_the_commands_go_out_in_the_order_of_the_protocol(store, pid, sent):
    post, mirror = f"post:{pid}", f"liked_by:{pid}"
    count = [("ZCARD", mirror), ("ZCARD", f"unseen:{mirror}"), ("HMGET", post)]
    welcome = [("ZSCORE", "blocked:2"), ("ZSCORE", "blocked:1"), ("ZSCORE", "muted:2"), ("HMGET", "user:2")]
    thread = [("HGET", post), ("ZREVRANGE", "muted_threads:2")]
    seen = [("HMGET", "user:1"), ("ZSCORE", "following:2")]
    look = [("ZSCORE", "likes:1"), ("HMGET", "user:1"), ("HMGET", post), *welcome, *thread, *seen, *count]
    added, removed = [("ZADD", "notices:2"), ("ZREMRANGEBYRANK", "notices:2")], [("ZREM", "notices:2")]
    for verb, write, notice, written in (("like", "ZADD", added, "HSET"), ("unlike", "ZREM", removed, "HDEL")):
        sent.round_trips.clear()
        getattr(Likes(store), verb)(ALICE, pid, BOB)
        assert [[command[:2] for command in round_trip.commands] for round_trip in sent.round_trips] == [
            [("ZADD", "outbox")],
            [(write, "likes:1"), *look],
            [(write, mirror), ("ZREM", f"unseen:{mirror}"), *notice],
            look,
            [(written, post)],
            count,
            [("ZREM", "outbox")],
        ]
    names = [command[3] for command in sent.commands if command[:2] == ("ZADD", "outbox")]
    assert [name.rpartition(":")[0] for name in names] == [f"like:1:{pid}:2"]


def test_a_like_of_a_post_with_many_likes_costs_the_same(store, raw, pid, round_trips):
    raw.zadd(f"liked_by:{pid}", {1000 + number: 1 for number in range(3000)})
    assert len(round_trips(lambda: Likes(store).like(ALICE, pid, BOB)).round_trips) == 7
    assert raw.hget(f"post:{pid}", "likes") == "3001"


@pytest.mark.parametrize("gone", ["deleted", "expired", "never there"])
def test_a_like_of_a_post_that_is_not_there_is_taken_back(store, raw, pid, gone, round_trips):
    if gone == "deleted":
        Posts(store).delete(BOB, pid)
    else:
        raw.delete(f"post:{pid}")
    pid = pid if gone != "never there" else 99
    before = everything(raw)
    assert len(round_trips(lambda: Likes(store).like(ALICE, pid, BOB)).round_trips) <= 10
    assert everything(raw) == before


def test_a_post_is_deleted_with_its_likes(store, raw, pid, bob):
    other = publish(raw, store, bob, "Other")
    for uid in (ALICE, CAROL):
        Likes(store).like(uid, pid, BOB)
        Likes(store).like(uid, other, BOB)
    Posts(store).delete(BOB, pid)
    assert raw.keys(f"liked_by:{pid}") == []
    assert raw.zrange("likes:1", 0, -1) == raw.zrange("likes:3", 0, -1) == [str(other)]
    assert raw.hgetall(f"post:{pid}").keys() == {"user_id", "time", "body", "deleted"}
    assert raw.hget(f"post:{other}", "likes") == "2"
    assert noted(raw) == []


def test_deleting_a_post_costs_the_same_for_any_number_of_likes(store, raw, pid, bob, round_trips):
    def costs(post, likes):
        for uid in range(10, 10 + likes):
            raw.zadd(f"liked_by:{post}", {uid: 7})
            raw.zadd(f"likes:{uid}", {post: 7})
        return len(round_trips(lambda: Posts(store).delete(BOB, post)).round_trips)

    assert costs(publish(raw, store, bob, "Other"), 1) == costs(pid, 490)
    assert raw.keys("likes:*") == raw.keys("liked_by:*") == []


def test_more_likes_than_a_chunk_are_left_to_a_worker(store, raw, pid, round_trips):
    raw.zadd(f"liked_by:{pid}", dict.fromkeys(range(10, 700), 7))
    raw.zadd("likes:10", {pid: 7})
    assert len(round_trips(lambda: Posts(store).delete(BOB, pid)).round_trips) == 9
    [job] = noted(raw)
    assert job.startswith(f"del:{pid}:{BOB}:")
    assert raw.hexists(f"post:{pid}", "deleted")
    assert drain(store, "worker") == 1
    assert raw.keys("likes:*") == raw.keys("liked_by:*") == noted(raw) == []


def test_a_worker_that_deletes_an_expired_post_makes_no_hash(store, raw, pid):
    Likes(store).like(ALICE, pid, BOB)
    raw.delete(f"post:{pid}")
    raw.zadd("outbox", {f"del:{pid}:{BOB}:x": LONG_AGO})
    assert drain(store, "worker") == 1
    assert raw.keys("post:*") == raw.keys("likes:*") == raw.keys("liked_by:*") == []


def test_the_likes_of_many_posts_of_a_deleted_account_go_in_chunks(store, raw, pid, bob, monkeypatch):
    """The first chunk has the likes of some posts, and a part of those of another one."""
    monkeypatch.setattr(chunks, "AT_ONCE", 5)
    pids = [pid, *(publish(raw, store, bob, f"post {number}") for number in range(3))]
    for one in pids:
        for uid in (ALICE, CAROL, 50):
            Likes(store).like(uid, one, BOB)
    delete_and_remove(store, bob)
    assert raw.keys("likes:*") == raw.keys("liked_by:*") == []
    assert [raw.hget(f"post:{one}", "likes") for one in pids] == [None] * 4
    assert noted(raw) == []
