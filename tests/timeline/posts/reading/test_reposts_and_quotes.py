"""Posts that name others: reposts stand for their originals, each post once a page; quotes and answers have what they
name."""

import pytest

from accounts.users.entities import User, Visitor
from retwis_site.store.local_cache import Memory
from tests.support.stored_posts import reader_for
from timeline.posts.entities import NO_CONTEXT
from timeline.posts.reading.post_reader import STEPS
from timeline.posts.reading.visibility import no_reposts, posts_by, posts_of_followed
from timeline.relations.relations import FollowedPeople, LatestFollowed


@pytest.fixture
def repost(raw, posts):
    def write(rid, uid, pid):
        raw.hset(f"post:{rid}", mapping={"user_id": uid, "time": 1_700_000_000 + rid, "repost_of": pid})

    return write


def read(store, pids, viewer=None, rules=()):
    found, _ = reader_for(store, viewer or Visitor(), rules).read(pids)
    return [(post.listed, post.pid, [one.username for one in post.context.reposted_by]) for post in found]


# ---- reposts


def test_a_repost_shows_its_original(store, repost):
    repost(20, 3, 1)
    assert read(store, [20, 9]) == [(20, 1, ["carol"]), (9, 9, [])]


def test_a_post_stands_once_with_everyone_who_reposted_it(store, repost):
    repost(20, 3, 1)
    repost(21, 2, 1)
    repost(22, 3, 1)  # a foreign database may have a second one
    assert read(store, [22, 21, 20, 9, 1]) == [(22, 1, ["carol", "bob"]), (9, 9, [])]
    assert read(store, [9, 1, 20]) == [(9, 9, []), (1, 1, ["carol"])]


def test_a_post_stands_once_also_where_a_page_reads_on(store, repost):
    repost(20, 3, 1)
    reader = reader_for(store, Visitor())
    assert [post.pid for post in reader.read([20, 9])[0]] == [1, 9]
    assert [post.pid for post in reader.read([8, 1])[0]] == [8]


def test_a_repost_of_what_is_gone_is_shown_nowhere(store, repost, raw):
    repost(20, 3, 1)
    repost(21, 3, 99)
    repost(22, 3, 20)  # the site reposts the original instead
    repost(23, 3, 2)
    raw.hset("post:1", mapping={"deleted": "1", "body": ""})
    raw.hset("user:2", "deleted", "1")
    found, dead = reader_for(store, Visitor()).read([23, 22, 21, 20, 19, 9])
    assert [post.pid for post in found] == [9]
    assert dead == [19]  # a withdrawn repost; the others exist


def test_the_rules_of_a_page_are_about_who_reposts(store, repost):
    repost(20, 3, 1)
    assert read(store, [20, 1], rules=[posts_by(3)]) == [(20, 1, ["carol"])]
    followed = posts_of_followed(2, FollowedPeople(2, LatestFollowed(frozenset({"3"}), are_all=True)), frozenset())
    assert read(store, [20, 4, 1], rules=[followed]) == [(20, 1, ["carol"])]
    assert read(store, [20, 4, 1], rules=[no_reposts]) == [(4, 4, []), (1, 1, [])]


class NothingOf:
    """Hides what one user wrote, as a block does."""

    def __init__(self, uid):
        self.uid = uid

    def visible(self, posts):
        return [post for post in posts if post.author.uid != self.uid]

    def hidden(self):
        return {self.uid}

    def folded(self, posts):
        return posts


@pytest.mark.parametrize("hidden", [1, 3], ids=["the author", "who reposted it"])
def test_a_rule_of_the_viewer_hides_originals_reposts_and_quoted_posts(store, repost, raw, hidden):
    repost(20, 3, 1)
    raw.hset("post:5", "quote", 1 if hidden == 1 else 3)
    reader = reader_for(store, Visitor())
    reader.rules_of_viewer = [NothingOf(hidden)]
    [five] = reader.read([20, 5])[0]
    assert (five.pid, five.context.quoted) == (5, None)


# ---- quotes and answers


def test_a_quote_has_the_quoted_post_and_one_level_alone(store, posts, raw):
    raw.hset("post:6", "quote", 5)
    raw.hset("post:5", "quote", 4)
    [six] = reader_for(store, Visitor()).read([6])[0]
    assert (six.context.quoted.pid, six.context.quoted.context) == (5, NO_CONTEXT)
    raw.hset("post:5", "deleted", "1")
    Memory.clear_all()
    [six] = reader_for(store, Visitor()).read([6])[0]
    assert (six.links.quote, six.context.quoted) == (5, None)


def test_a_repost_of_a_quote_has_the_quoted_post(store, repost, raw):
    repost(20, 2, 6)
    raw.hset("post:6", "quote", 4)
    [six] = reader_for(store, Visitor()).read([20])[0]
    assert (six.pid, six.context.quoted.pid) == (6, 4)


def test_an_answer_names_the_author_answered(store, posts, raw):
    raw.hset("post:6", mapping={"reply_to": 5, "root": 5, "reply_to_user": 2})
    assert [post.context.answered for post in reader_for(store, Visitor()).read([6])[0]] == [User(2, "bob")]
    raw.hset("user:2", "deleted", "1")
    Memory.clear_all()
    assert [post.context.answered for post in reader_for(store, Visitor()).read([6])[0]] == [None]


# ---- round trips


def test_what_a_post_names_costs_no_round_trip_once_it_is_known(store, repost, raw, round_trips, clock):
    repost(20, 2, 6)
    raw.hset("post:6", mapping={"quote": 4, "reply_to": 5, "reply_to_user": 2})
    reader_for(store, Visitor()).read([20, 9])
    assert not round_trips(lambda: reader_for(store, Visitor()).read([20, 9])).round_trips
    clock.sleep(6)
    recorded = round_trips(lambda: reader_for(store, User(3, "carol")).read([20, 9]))
    assert len(recorded.round_trips) == 1


def test_the_most_round_trips_of_a_process_that_knows_nothing(store, repost, raw, round_trips):
    repost(20, 2, 6)
    raw.hset("post:6", mapping={"quote": 4})
    recorded = round_trips(lambda: reader_for(store, User(3, "carol")).read([20, 9, 8]))
    assert len(recorded.round_trips) == 1 + STEPS


def test_a_fresh_post_is_read_although_it_is_cached(store, posts, raw):
    assert reader_for(store, Visitor()).read([1])[0][0].counts.likes == 0
    raw.hset("post:1", "likes", 3)
    assert reader_for(store, Visitor()).read([1])[0][0].counts.likes == 0
    assert reader_for(store, Visitor(), fresh=[1]).read([1])[0][0].counts.likes == 3
    assert reader_for(store, Visitor()).read([1])[0][0].counts.likes == 3  # now others see it here too
