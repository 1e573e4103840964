"""The author of a post may change its text. The earlier texts are kept."""

import pytest

from tests.support.people import LONG_AGO
from timeline.posts.entities import NewPost, NoSuchPost, PostDeleted, TooManyEdits
from timeline.posts.reading.records import Version, ask_versions
from timeline.posts.repository import Posts
from timeline.posts.writing import editing
from timeline.posts.writing.editing import MOST_TEXTS


@pytest.fixture
def now(monkeypatch):
    """The time, which stands still: a list with one number."""
    seconds = [LONG_AGO + 100]
    monkeypatch.setattr(editing.time, "time", lambda: seconds[0])
    return seconds


@pytest.fixture
def post(store, alice, bob, now, raw):
    """Post 1 by alice; post 2 by bob answers it, and post 3 quotes it."""
    for pid, (uid, new) in enumerate(
        [(1, NewPost("first")), (2, NewPost("well", reply_to=1)), (2, NewPost("look", quote=1))], start=1
    ):
        Posts(store).publish(uid, new, str(pid))
        raw.hset(f"post:{pid}", "time", str(LONG_AGO))


def versions(store, pid):
    pipe = store.pipeline()
    asked = ask_versions(pipe, pid)
    pipe.execute()
    return asked.value


def test_an_edit_replaces_the_text_and_keeps_the_earlier_ones(store, post, now, raw):
    assert Posts(store).edit(1, 1, "second")
    now[0] += 60
    assert Posts(store).edit(1, 1, "third")
    assert raw.hmget("post:1", "body", "edited", "time") == ["third", str(now[0]), str(LONG_AGO)]
    assert raw.hgetall("edits:1") == {str(LONG_AGO): "first", str(now[0] - 60): "second", str(now[0]): "third"}
    assert [text for _, text in versions(store, 1)] == ["first", "second", "third"]
    assert raw.keys("outbox*") == []


def test_two_edits_in_one_second_have_two_seconds(store, post, now, raw):
    Posts(store).edit(1, 1, "second")
    Posts(store).edit(1, 1, "third")
    assert versions(store, 1) == (
        Version(LONG_AGO, "first"),
        Version(now[0], "second"),
        Version(now[0] + 1, "third"),
    )
    assert raw.hget("post:1", "body") == "third"


def test_an_edit_by_a_clock_that_is_behind_is_still_the_newest(store, post, now, raw):
    Posts(store).edit(1, 1, "second")
    now[0] = 5
    Posts(store).edit(1, 1, "third")
    assert raw.hget("post:1", "body") == "third"


def test_the_same_text_is_no_edit(store, post, raw):
    assert not Posts(store).edit(1, 1, "first")
    assert raw.keys("edits:*") == []
    assert raw.hget("post:1", "edited") is None


def test_only_the_author_edits(store, post, raw):
    for uid, pid in ((2, 1), (1, 99)):
        with pytest.raises(NoSuchPost):
            Posts(store).edit(uid, pid, "mine")
    raw.hset("post:9", mapping={"user_id": "1", "time": "1", "repost_of": "2"})
    with pytest.raises(NoSuchPost):
        Posts(store).edit(1, 9, "a repost has no text")
    assert raw.keys("edits:*") == []


def test_a_deleted_post_is_not_edited(store, post, raw):
    Posts(store).delete(1, 1)
    with pytest.raises(PostDeleted):
        Posts(store).edit(1, 1, "again")


def test_the_texts_of_a_deleted_post_are_gone(store, post, raw):
    Posts(store).edit(1, 1, "second")
    Posts(store).delete(1, 1)
    assert raw.keys("edits:*") == []
    assert raw.hget("post:1", "body") == ""


def test_a_post_has_at_most_a_hundred_texts(store, post, raw):
    for number in range(2, MOST_TEXTS + 1):
        Posts(store).edit(1, 1, f"text {number}")
    with pytest.raises(TooManyEdits):
        Posts(store).edit(1, 1, "one more")
    assert raw.hlen("edits:1") == MOST_TEXTS
    assert not Posts(store).edit(1, 1, f"text {MOST_TEXTS}")


def test_an_edit_leaves_thread_and_numbers_as_they_are(store, post, raw):
    Posts(store).edit(2, 2, "well, well")
    Posts(store).edit(2, 3, "look, look")
    Posts(store).edit(1, 1, "second")
    assert raw.zrange("thread:1", 0, -1) == raw.zrange("replies_to:1", 0, -1) == ["2"]
    assert raw.zrange("quotes_of:1", 0, -1) == ["3"]
    assert raw.hmget("post:1", "replies", "quotes") == ["1", "1"]


def test_an_edit_takes_six_round_trips(store, post, round_trips):
    assert len(round_trips(lambda: Posts(store).edit(1, 1, "second")).round_trips) == 6
    assert len(round_trips(lambda: Posts(store).edit(1, 1, "second")).round_trips) == 1


def test_bad_values_in_the_texts_are_skipped(store, post, raw):
    raw.hset("edits:1", mapping={"yesterday": "bad", str(LONG_AGO): "first"})
    Posts(store).edit(1, 1, "second")
    assert raw.hget("post:1", "body") == "second"
