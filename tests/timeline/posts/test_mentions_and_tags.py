"""A post keeps whom it mentions, and stands in the listings of its tags."""

import pytest

from tests.support.delivering import drain_due
from tests.support.stored_keys import publish
from tests.support.stores.seam import killed_before_round_trip
from timeline.posts.entities import NewPost
from timeline.posts.links import MOST_LINKS
from timeline.posts.repository import Posts


def tags(raw):
    """The posts of each tag, with their scores."""
    return {key.removeprefix("tag:"): dict(raw.zrange(key, 0, -1, withscores=True)) for key in raw.keys("tag:*")}


# ---- tags


def test_a_post_stands_in_the_listing_of_each_of_its_tags(raw, store, alice):
    publish(raw, store, alice, "#Redis and #Django, #redis")
    publish(raw, store, alice, "More #REDIS")
    assert tags(raw) == {"redis": {"1": 1, "2": 2}, "django": {"1": 1}}


def test_the_first_spelling_stays(raw, store, alice):
    publish(raw, store, alice, "#ReDiS")
    publish(raw, store, alice, "#REDIS #Été")
    assert raw.hgetall("tags") == {"redis": "ReDiS", "été": "Été"}
    assert raw.zrange("tags_by_name", 0, -1, withscores=True) == [("e\u0301te\u0301", 0), ("redis", 0)]


def test_a_deletion_removes_the_post_and_keeps_the_spelling(raw, store, alice):
    publish(raw, store, alice, "#Redis")
    publish(raw, store, alice, "#Redis #django")
    Posts(store).delete(1, 2)
    assert tags(raw) == {"redis": {"1": 1}}
    assert raw.hgetall("tags") == {"redis": "Redis", "django": "django"}
    assert raw.keys("outbox*") == []


def test_a_tombstone_has_no_tags(raw, store, alice):
    publish(raw, store, alice, "#Redis")
    Posts(store).publish(1, NewPost("an answer", reply_to=1), "t")
    Posts(store).delete(1, 1)
    assert tags(raw) == {}


@pytest.mark.parametrize(
    ("text", "more"),
    [("#a #b #c", 0), ("@bob @nobody @alice", 1 + 3)],
    ids=["tags take none more", "a name takes one, and a notice three"],
)
def test_the_round_trips_of_tags_and_names(raw, store, alice, bob, round_trips, text, more):
    publish(raw, store, alice, "first")
    plain = round_trips(lambda: publish(raw, store, alice, "none"))
    marked = round_trips(lambda: publish(raw, store, alice, text))
    assert len(marked.round_trips) == len(plain.round_trips) + more


# ---- mentions


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("@bob, @CAROL and @nobody: @Bob!", "2 3"),
        *((text, "") for text in ("@nobody", "@later is not here yet")),
        *((text, None) for text in ("no one", "me@example.com", "https://example.com/@bob", "@ #")),
    ],
)
def test_names_are_looked_up_when_a_post_is_published(raw, store, alice, bob, carol, text, mentions):
    """A text without a name has no field."""
    publish(raw, store, alice, text)
    assert raw.hget("post:1", "mentions") == mentions


def test_a_text_mentions_at_most_so_many_people_as_it_shows_links(raw, store, alice):
    raw.hset("users", mapping={f"u{number}": number for number in range(100, 140)})
    publish(raw, store, alice, " ".join(f"@u{number}" for number in range(100, 140)))
    assert raw.hget("post:1", "mentions").split() == [str(number) for number in range(100, 100 + MOST_LINKS)]


# ---- an edit


def test_an_edit_moves_the_post_to_the_tags_of_the_new_text(raw, store, alice):
    publish(raw, store, alice, "#Redis #Django")
    assert Posts(store).edit(1, 1, "#Django #Celery")
    assert tags(raw) == {"django": {"1": 1}, "celery": {"1": 1}}
    assert raw.hgetall("tags") == {"redis": "Redis", "django": "Django", "celery": "Celery"}


def test_an_edit_looks_names_up_again(raw, store, alice, bob, carol):
    publish(raw, store, alice, "Hello @bob")
    Posts(store).edit(1, 1, "Hello @carol and @bob")
    assert raw.hget("post:1", "mentions") == "3 2"
    Posts(store).edit(1, 1, "Hello all")
    assert raw.hget("post:1", "mentions") is None


@pytest.mark.parametrize("step", range(1, 10))
def test_a_killed_edit_is_finished_with_its_tags_mentions_and_notices(raw, store, alice, bob, carol, step):
    publish(raw, store, alice, "@bob #Redis")
    killed_before_round_trip(step, lambda: Posts(store).edit(1, 1, "@carol #Django"))
    drain_due(store, raw)
    is_edited = raw.hget("post:1", "body") == "@carol #Django"
    assert raw.hget("post:1", "mentions") == ("3" if is_edited else "2")
    assert tags(raw) == {"django" if is_edited else "redis": {"1": 1}}
    assert raw.keys("notices:*") == ["notices:3" if is_edited else "notices:2"]


@pytest.mark.parametrize("step", range(1, 12))
def test_a_killed_post_has_its_tags_once_a_worker_has_run(raw, store, alice, bob, step):
    killed_before_round_trip(step, lambda: Posts(store).publish(1, NewPost("@bob #Redis"), "t"))
    drain_due(store, raw)
    is_published = raw.exists("updates:1")
    assert tags(raw) == ({"redis": {"1": 1}} if is_published else {})
    assert raw.hgetall("tags") == ({"redis": "Redis"} if is_published else {})
    pid = Posts(store).publish(1, NewPost("@bob #Redis"), "t").pid
    assert tags(raw) == {"redis": {str(pid): pid}}


@pytest.mark.parametrize("step", range(1, 9))
def test_a_killed_deletion_leaves_no_tags(raw, store, alice, step):
    publish(raw, store, alice, "#Redis")
    killed_before_round_trip(step, lambda: Posts(store).delete(1, 1))
    drain_due(store, raw)
    assert tags(raw) == ({} if raw.hexists("post:1", "deleted") else {"redis": {"1": 1}})
