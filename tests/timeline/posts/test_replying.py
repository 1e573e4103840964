"""A post may answer another one, and quote one."""

import pytest

from accounts.community.sanctions import Sanctions
from accounts.users.deletion import AccountDeletion
from accounts.users.entities import State
from tests.support.http.page_text import page_of
from tests.support.stored_posts import write_posts
from timeline.posts.entities import NewPost, TargetBlocked, TargetDeleted, TargetMissing
from timeline.posts.repository import Posts


def publish(store, uid, **new):
    text = f"by {uid}, {new}"
    return Posts(store).publish(uid, NewPost(text, **new), str(abs(hash(text)))).pid


def links(raw, pid):
    return {name: raw.hget(f"post:{pid}", name) for name in ("reply_to", "root", "reply_to_user", "above", "quote")}


def test_a_reply_names_the_post_its_author_and_the_thread(store, alice, bob, raw):
    first = publish(store, 1)
    second = publish(store, 2, reply_to=first)
    third = publish(store, 1, reply_to=second)
    assert links(raw, second) == {
        "reply_to": "1",
        "root": "1",
        "reply_to_user": "1",
        "above": "1",
        "quote": None,
    }
    assert links(raw, third) == {"reply_to": "2", "root": "1", "reply_to_user": "2", "above": "2 1", "quote": None}


def test_a_reply_stands_in_the_thread_and_among_the_replies(store, alice, bob, raw):
    publish(store, 1)
    publish(store, 2, reply_to=1)
    publish(store, 1, reply_to=2)
    assert raw.zrange("thread:1", 0, -1, withscores=True) == [("2", 2), ("3", 3)]
    assert raw.zrange("replies_to:1", 0, -1, withscores=True) == [("2", 2)]
    assert raw.zrange("replies_to:2", 0, -1, withscores=True) == [("3", 3)]
    assert raw.hget("post:1", "replies") == raw.hget("post:2", "replies") == "1"
    assert raw.keys("outbox*") == raw.keys("thread:2") == []


def test_a_quote_stands_among_the_quotes(store, alice, bob, raw):
    publish(store, 1)
    publish(store, 2, quote=1)
    assert links(raw, 2)["quote"] == "1"
    assert raw.zrange("quotes_of:1", 0, -1, withscores=True) == [("2", 2)]
    assert raw.hget("post:1", "quotes") == "1"
    assert not raw.exists("thread:1", "replies_to:1")


def test_a_post_names_the_nearest_twenty_above_it(store, alice, raw):
    publish(store, 1)
    for above in range(1, 25):
        publish(store, 1, reply_to=above)
    assert raw.hget("post:25", "above").split() == [str(pid) for pid in range(24, 4, -1)]
    assert raw.hget("post:25", "root") == "1"


def test_a_repost_stands_for_its_original(store, alice, bob, raw):
    publish(store, 1)
    raw.hset("post:2", mapping={"user_id": "2", "time": "1", "repost_of": "1"})
    raw.set("next_post_id", 2)
    publish(store, 2, reply_to=2, quote=2)
    assert links(raw, 3) == {"reply_to": "1", "root": "1", "reply_to_user": "1", "above": "1", "quote": "1"}


@pytest.mark.parametrize("kind", ["reply_to", "quote"])
def test_a_missing_post_is_refused(store, alice, raw, kind):
    raw.hset("post:7", mapping={"user_id": "1", "time": "1", "body": "never published"})
    for pid in (5, 7):
        with pytest.raises(TargetMissing):
            publish(store, 1, **{kind: pid})
    assert raw.keys("post:*") == ["post:7"]
    assert raw.keys("idem:*") == raw.keys("outbox*") == []


@pytest.mark.parametrize("kind", ["reply_to", "quote"])
def test_a_deleted_post_and_one_of_a_deleted_account_are_refused(store, alice, bob, raw, kind):
    publish(store, 1)
    publish(store, 2)
    Posts(store).delete(1, 1)
    AccountDeletion(store).delete(bob.user, bob.secret)
    for pid in (1, 2):
        with pytest.raises(TargetDeleted):
            publish(store, 1, **{kind: pid})


@pytest.mark.parametrize("kind", ["reply_to", "quote"])
def test_a_post_of_a_suspended_person_is_refused_while_nobody_sees_it(store, alice, bob, raw, kind):
    publish(store, 2)
    Sanctions(store).impose(2, State.SUSPENDED, "reason")
    with pytest.raises(TargetDeleted):
        publish(store, 1, **{kind: 1})
    Sanctions(store).lift(2)
    assert publish(store, 1, **{kind: 1}) == 2


@pytest.mark.parametrize("kind", ["reply_to", "quote"])
def test_a_block_either_way_refuses(store, alice, bob, carol, raw, kind):
    publish(store, 1)
    raw.zadd("blocked:2", {"1": 1})
    raw.zadd("blocked_by:3", {"1": 1})
    for uid in (2, 3):
        with pytest.raises(TargetBlocked):
            publish(store, uid, **{kind: 1})
    publish(store, 1, **{kind: 1})


def test_a_second_click_gives_the_same_reply_though_the_post_is_deleted_by_now(store, alice, bob, raw):
    publish(store, 1)
    reply = publish(store, 2, reply_to=1)
    Posts(store).delete(1, 1)
    assert publish(store, 2, reply_to=1) == reply


def test_the_round_trips(store, alice, bob, raw, round_trips):
    """Three of them are for the notice, four for that of a quote."""
    write_posts(raw, 2, [1])
    raw.hset("post:2", mapping={"user_id": "2", "time": "1", "repost_of": "1"})
    raw.set("next_post_id", 2)
    plain, answer, quote, both, of_repost = (
        len(round_trips(lambda new=new: publish(store, 1, **new)).round_trips)
        for new in ({}, {"reply_to": 1}, {"quote": 1}, {"reply_to": 1, "quote": 1}, {"reply_to": 2})
    )
    assert (answer - plain, quote - plain, both - plain, of_repost - plain) == (7, 8, 10, 8)


# ---- the form


@pytest.mark.parametrize("field", ["reply_to", "quote"])
@pytest.mark.parametrize(
    ("pid", "why"), [("1", "was deleted"), *((pid, "does not exist") for pid in ("99", "x", "-1", "0"))]
)
def test_a_refused_answer_keeps_the_text_and_says_why(browser, alice, bob, store, raw, field, pid, why):
    publish(store, 1)
    Posts(store).delete(1, 1)
    page = page_of(browser(bob).post("/post/", {"body": "My long thought", field: pid, "token": "t"}), 422)
    assert "My long thought" in page
    assert why in page
    assert f'name="{field}" value="{pid}"' in page
    assert raw.keys("post:*") == ["post:1"]
