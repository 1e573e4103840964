"""A post that was read with all that it names is not put together again, and is never older than its oldest part."""

import pytest

from accounts.users.entities import User, Visitor
from retwis_site.store.client import answer
from retwis_site.store.local_cache import Memory
from tests.support.stored_posts import reader_for, write_answer, write_posts
from timeline.posts.reading.cached_posts import cached_whole, forget
from timeline.posts.reading.visibility import ask_latest_acted


@pytest.fixture
def posts(store, alice, bob, carol, raw, clock):
    """Post 1 by alice, 2 by bob. By carol: 3, which quotes 1; 4, which answers 2; 5, which mentions bob; 6, alone. Bob
    reposts 1 as 7."""
    write_posts(raw, 1, [1])
    write_posts(raw, 2, [2])
    write_posts(raw, 3, [3, 5, 6])
    raw.hset("post:3", "quote", 1)
    write_answer(raw, 3, 4, 2)
    raw.hset("post:5", mapping={"body": "with @bob", "mentions": "2"})
    raw.hset("post:7", mapping={"user_id": 2, "time": 1_700_000_007, "repost_of": 1})
    Memory.clear_all()


ALL = [7, 6, 5, 4, 3, 2]


def read(store, pids, viewer=None, **known):
    found, _ = reader_for(store, viewer or Visitor(), **known).read(pids)
    return {post.pid: post for post in found}


def test_a_page_of_whole_posts_asks_nothing_and_shows_the_same(store, posts, round_trips):
    first = read(store, ALL)
    assert set(cached_whole(ALL, None, ())) == {*ALL, 1}
    recorded = round_trips(lambda: read(store, ALL))
    assert not recorded.commands
    again = read(store, ALL)
    assert again == first
    assert all(again[pid] is first[pid] for pid in (2, 3, 4, 5, 6))  # so their cards need not be compared


def test_a_post_that_is_read_again_and_has_not_changed_is_the_same_object(store, posts, raw, alice, clock):
    me = User(3, "carol", "")
    first = read(store, ALL, me)
    clock.sleep(6)
    again = read(store, ALL, me)
    assert all(again[pid] is first[pid] for pid in (2, 6))  # carol's own posts are read each time
    raw.hset("post:6", "likes", 5)
    raw.hset("post:5", "deleted", 1_800_000_000)
    changed = read(store, ALL, me)
    assert changed[6].counts.likes == 5
    assert 5 not in changed


@pytest.mark.parametrize(
    ("pid", "uid", "shown"),
    [
        (6, 3, lambda post: post.author.name),
        (3, 1, lambda post: post.context.quoted.author.name),
        (4, 2, lambda post: post.context.answered.name),
    ],
    ids=["the author", "the author of the quoted post", "the person answered"],
)
def test_it_is_no_older_than_the_people_that_it_names(store, posts, raw, clock, pid, uid, shown):
    write_posts(raw, uid, [30])
    read(store, [30])  # the person is cached now, the posts are not
    raw.hset(f"user:{uid}", "name", "New Name")
    clock.sleep(4)
    assert shown(read(store, [pid])[pid]) == ""
    clock.sleep(1.5)
    assert shown(read(store, [pid])[pid]) == "New Name"


def test_it_is_no_older_than_the_post_that_it_quotes(store, posts, raw, clock):
    read(store, [1])
    raw.hset("post:1", "body", "edited")
    clock.sleep(4)
    assert read(store, [3])[3].context.quoted.body != "edited"
    clock.sleep(1.5)
    assert read(store, [3])[3].context.quoted.body == "edited"


@pytest.mark.parametrize("me", [1, 2, 3])
def test_viewers_see_at_once_what_concerns_them(store, posts, raw, me):
    read(store, ALL)
    concerned = {1: {3, 7}, 2: {2, 4, 5, 7}, 3: {3, 4, 5, 6}}[me]
    assert set(ALL) - set(cached_whole(ALL, me, ())) == concerned
    raw.hset("post:1", "body", "edited by alice")
    found = read(store, ALL, User(me, "me"))
    assert (found[3].context.quoted.body, found[1].body) == (("edited by alice",) * 2 if me == 1 else ("post 1",) * 2)


def test_a_deleted_post_is_gone_at_once_from_those_that_quote_it(store, posts, raw):
    assert read(store, ALL)[3].context.quoted.body == "post 1"
    raw.hset("post:1", "deleted", 5)
    forget(1)  # as the deletion does
    assert read(store, ALL)[3].context.quoted is None


def test_posts_on_which_the_viewer_acted_a_moment_ago_are_read_anew_in_quotes_and_reposts_too(store, posts):
    read(store, ALL)
    assert set(cached_whole(ALL, None, {1})) == {6, 5, 4, 2}


def test_who_hides_people_neither_gets_what_was_put_together_for_others_nor_puts_it_together_for_them(
    store, posts, raw
):
    raw.zadd("muted:9", {1: "+inf"})
    latest = answer(store, ask_latest_acted, 9)
    for _ in range(2):  # first before anybody else has read the posts
        found = read(store, ALL, User(9, "dave"), acted=latest)
        assert found[3].context.quoted is None
        assert 1 not in found
        assert read(store, ALL)[3].context.quoted.pid == 1


def test_what_names_somebody_who_is_gone_is_not_kept(store, posts, raw):
    raw.hset("user:2", "deleted", "1")
    read(store, ALL)
    assert {4, 5}.isdisjoint(cached_whole(ALL, None, ()))


def test_a_deleted_post_is_gone_at_once_in_its_process(store, posts, raw):
    read(store, ALL)
    raw.hset("post:6", "deleted", "1")
    forget(6)
    assert 6 not in read(store, ALL)


def test_a_page_takes_no_more_posts_than_it_shows(store, posts):
    reader = reader_for(store, Visitor(), at_most=3)
    assert [post.pid for post in reader.read([7, 6])[0]] == [1, 6]
    assert [post.pid for post in reader.read([5, 4, 1, 7])[0]] == [5]
