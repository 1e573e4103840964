"""What the viewer has done with the posts of a page: as it is now, and mostly without a round trip of its own."""

import pytest

from accounts.users.entities import User, Visitor
from retwis_site.store.client import answer
from retwis_site.store.local_cache import Memory
from tests.support.stored_posts import reader_for, write_posts
from timeline.posts.entities import NO_CONTEXT, Acted
from timeline.posts.reading.visibility import LATEST, ask_latest_acted

FIRST = 1_700_000_000  # unix seconds: `write_posts` dates post 7 to 7 seconds later
ALICE = User(1, "Alice")


@pytest.fixture
def posts(store, alice, bob, raw):
    """Posts 1 to 9 by bob."""
    write_posts(raw, 2, range(1, 10))
    Memory.clear_all()


def latest(store, me=1):
    return answer(store, ask_latest_acted, me)


def acted(store, pids=(3, 2, 1), viewer=ALICE, **known):
    found, _ = reader_for(store, viewer, **known).read(pids)
    return {post.pid: post.context.acted for post in found}


def test_each_page_shows_what_the_viewer_has_done_by_now(store, posts, raw):
    raw.zadd("likes:1", {3: FIRST + 50})
    raw.zadd("reposts:1", {2: 77})
    raw.zadd("bookmarks:1", {3: FIRST + 60})
    assert acted(store) == {3: Acted(liked=True, bookmarked=True), 2: Acted(reposted=True), 1: Acted()}
    raw.zrem("likes:1", 3)
    assert acted(store)[3] == Acted(bookmarked=True)
    assert acted(store, acted=latest(store))[3] == Acted(bookmarked=True)


def test_others_and_visitors_see_nothing_of_it(store, posts, raw):
    raw.zadd("likes:1", {3: FIRST + 50})
    assert acted(store)[3] == Acted(liked=True)
    for viewer in (User(2, "bob"), Visitor()):
        found, _ = reader_for(store, viewer).read([3])
        assert found[0].context is NO_CONTEXT


def test_the_first_round_trip_of_a_page_can_know_all(store, posts, raw, round_trips):
    raw.zadd("likes:1", {3: FIRST + 50})
    acted(store)
    known = latest(store)
    recorded = round_trips(lambda: acted(store, acted=known))
    assert not recorded.commands
    assert acted(store, acted=known) == {3: Acted(liked=True), 2: Acted(), 1: Acted()}


@pytest.mark.parametrize(("kind", "score"), [("likes", FIRST - 1000), ("bookmarks", FIRST - 1000), ("reposts", 0.5)])
def test_who_has_done_much_is_asked_only_about_old_posts(store, posts, raw, round_trips, kind, score):
    raw.zadd(f"{kind}:1", {str(1000 + number): score for number in range(LATEST)})
    acted(store)
    known = latest(store)
    assert not round_trips(lambda: acted(store, acted=known)).commands  # all posts are newer
    Memory.clear_all()
    recorded = round_trips(
        lambda: acted(store, acted=known)
    )  # of a post that is not cached, nobody knows how old it is
    assert len([command for command in recorded.commands if command[0] == "ZMSCORE"]) == 3


@pytest.mark.parametrize(("kind", "score"), [("likes", FIRST + 10**6), ("bookmarks", FIRST + 10**6), ("reposts", 900)])
def test_an_old_like_is_found_however_many_followed(store, posts, raw, kind, score):
    raw.zadd(f"{kind}:1", {3: FIRST + 20 if kind != "reposts" else 20})
    raw.zadd(f"{kind}:1", {str(1000 + number): score for number in range(LATEST)})
    acted(store)
    known = latest(store)
    assert "3" not in known.liked | known.reposted | known.bookmarked
    assert True in acted(store, acted=known)[3]


def test_an_old_like_is_found_beside_a_new_repost_of_the_same_post(store, posts, raw):
    raw.zadd("likes:1", {3: FIRST + 20, **{str(1000 + number): FIRST + 10**6 for number in range(LATEST)}})
    raw.zadd("reposts:1", {3: 2000})
    known = latest(store)
    assert ("3" in known.liked, "3" in known.reposted) == (False, True)
    assert acted(store, acted=known)[3] == Acted(liked=True, reposted=True)
