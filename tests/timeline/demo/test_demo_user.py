"""`manage.py seed`: what the demo user finds."""

import time

from tests.support.demo_community import DEMO_LOGIN, seed, stored_posts
from timeline.demo.names import DEMO_BIO


def unread(raw):
    rows = raw.zrange("notices:1", 0, -1, withscores=True)
    noticed = int(raw.hget("user:1", "noticed"))
    return [(member.split(":"), when) for member, when in rows if when > noticed and member != "up_to_here"]


def test_the_demo_user_has_a_bio_and_bookmarks(raw):
    seed()
    assert raw.hget("user:1", "bio") == DEMO_BIO
    assert len(DEMO_BIO) <= 160
    kept = raw.zrange("bookmarks:1", 0, -1, withscores=True)
    assert len(kept) == 8
    posts = stored_posts(raw)
    assert all(int(posts[int(pid)]["time"]) <= when <= time.time() for pid, when in kept)
    assert all(posts[int(pid)]["user_id"] != "1" for pid, _ in kept)


def test_seven_notifications_of_all_kinds_are_unread_and_minutes_old(raw):
    for number in (1, 2, 3):
        seed(f"--seed={number}", "--flush", "--noinput", users=60 * number, posts=600 * number)
        rows = unread(raw)
        assert len(rows) == 7
        assert {kind for (kind, _, _), _ in rows} == {"follow", "like", "repost", "reply", "quote", "mention"}
        assert all(time.time() - 1300 < when < time.time() for _, when in rows)
        assert raw.zscore("notices:1", "up_to_here") == int(raw.hget("user:1", "noticed"))
        assert raw.zcard("notices:1") > 8  # older ones too


def test_the_newest_thread_of_the_demo_user_has_answers_and_a_tombstone(raw):
    seed()
    posts = stored_posts(raw)
    first = max(pid for pid, post in posts.items() if post["user_id"] == "1" and "root" not in post)
    below = [posts[int(pid)] for pid in raw.zrange(f"thread:{first}", 0, -1)]
    assert len(below) == 6
    assert ["deleted" in post for post in below].count(True) == 1
    assert "1" in {post["user_id"] for post in below}


def test_the_site_says_that_seven_are_new(raw, browser):
    seed()
    client = browser()
    client.post("/login/", DEMO_LOGIN)
    assert "(7)" in client.get("/").content.decode()
    assert client.get("/notifications/").status_code == 200
    assert client.get("/bookmarks/").status_code == 200


def test_a_small_community_has_no_showcase(raw):
    seed(users=11, posts=100)
    assert not raw.exists("notices:1", "bookmarks:1")
