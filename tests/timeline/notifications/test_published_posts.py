"""A published post tells the people whom it concerns; its deletion takes that back."""

from tests.support.stored_keys import publish
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts


def test_an_answer_that_mentions_gives_one_notice_each(store, raw, alice, bob, carol):
    pid = publish(raw, store, bob, "Hello")
    answer = Posts(store).publish(1, NewPost("Hi @bob and @carol", reply_to=pid), "t").pid
    assert raw.zrange("notices:2", 0, -1) == [f"reply:{answer}:1"]
    assert raw.zrange("notices:3", 0, -1) == [f"mention:{answer}:1"]
    Posts(store).delete(1, answer)
    assert raw.keys("notices:*") == []
