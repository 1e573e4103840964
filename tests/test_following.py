"""Following and unfollowing: the truth, its mirror, and the home that is dropped."""

import time

from timeline.repositories.follows import Follows


def test_following_writes_both_sides_with_the_same_date(browser, alice, bob, raw):
    before = int(time.time())
    response = browser(alice).post("/@bob/follow/", follow=True)
    assert response.redirect_chain == [("/@bob/", 302)]
    assert "You follow bob now" in response.content.decode()
    [(them, since)] = raw.zrange("following:1", 0, -1, withscores=True)
    assert them == "2"
    assert before <= since <= time.time()
    assert raw.zrange("followers:2", 0, -1, withscores=True) == [("1", since)]
    assert raw.zcard("outbox") == 0


def test_the_commands_go_out_in_the_order_of_the_protocol(store, alice, bob, sent):
    sent.trips.clear()
    Follows(store).follow(1, 2)
    Follows(store).unfollow(1, 2)
    around = [("ZADD", "outbox")], [("ZSCORE", "following:1"), ("UNLINK", "posts:1"), ("ZREM", "outbox")]
    assert [(c[0], c[1]) for c in sent.commands] == [
        *around[0],
        ("ZADD", "following:1"),
        ("ZSCORE", "following:1"),
        ("ZADD", "followers:2"),
        *around[1],
        *around[0],
        ("ZREM", "following:1"),
        ("ZSCORE", "following:1"),
        ("ZREM", "followers:2"),
        *around[1],
    ]


def test_following_twice_changes_nothing(browser, alice, bob, raw):
    raw.zadd("following:1", {"2": 1000})
    raw.zadd("followers:2", {"1": 1000})
    assert browser(alice).post("/@bob/follow/").status_code == 302
    assert raw.zscore("following:1", "2") == 1000
    assert raw.zscore("followers:2", "1") == 1000


def test_unfollowing_takes_both_sides_away(browser, alice, bob, raw):
    client = browser(alice)
    client.post("/@bob/follow/")
    response = client.post("/@bob/unfollow/", follow=True)
    assert "You no longer follow bob" in response.content.decode()
    assert not raw.exists("following:1")
    assert not raw.exists("followers:2")


def test_unfollowing_somebody_one_does_not_follow_is_harmless(browser, alice, bob, raw):
    assert browser(alice).post("/@bob/unfollow/").status_code == 302
    assert raw.zcard("outbox") == 0


def test_nobody_follows_themselves(browser, alice, raw):
    response = browser(alice).post("/@alice/follow/", follow=True)
    assert "You cannot follow yourself" in response.content.decode()
    assert not raw.exists("following:1")


def test_nobody_follows_an_unknown_user(browser, alice, raw):
    assert browser(alice).post("/@nobody/follow/").status_code == 404
    assert raw.zcard("outbox") == 0


def test_a_follow_brings_the_older_posts_and_an_unfollow_takes_them(browser, alice, bob):
    reader, writer = browser(alice), browser(bob)
    writer.post("/post/", {"body": "written before the follow", "token": "t"})
    assert b"written before" not in reader.get("/").content
    reader.post("/@bob/follow/")
    assert b"written before" in reader.get("/").content
    reader.post("/@bob/unfollow/")
    assert b"written before" not in reader.get("/").content


def test_the_mirror_follows_the_truth_when_they_disagree(store, alice, bob, raw):
    raw.zadd("followers:2", {"1": 5})  # a phantom
    Follows(store).finish_follow("follow:1:2:x")
    assert not raw.exists("followers:2")
    raw.zadd("following:1", {"2": 7})  # not mirrored
    Follows(store).finish_follow("follow:1:2:x")
    assert raw.zscore("followers:2", "1") == 7
