"""`PostReader` reads the posts of every page: whose, in how many round trips, and what it leaves out."""

from accounts.users.entities import User, Visitor
from retwis_site.store.client import Pipe, answer, rest
from tests.support.stored_posts import delete_answered, reader_for, write_answer
from timeline.posts.entities import DeletedBy
from timeline.posts.reading import records
from timeline.posts.reading.visibility import posts_by, posts_of_followed
from timeline.relations.relations import LATEST, LATEST_FOLLOWED, NO_FOLLOWED_READ, FollowedPeople, LatestFollowed

ALL = LatestFollowed(frozenset({"2"}), are_all=True)


def read(store, viewer=None, rules=(), pids=(6, 5, 4, 3, 2, 1), about=()):
    found, dead = reader_for(store, viewer or Visitor(), rules, about=about).read(pids)
    return [post.pid for post in found], dead


def of_followed(latest, *rules):
    """The rules of a home and more, and whom they are about."""
    followed = FollowedPeople(1, latest)
    return {"rules": [posts_of_followed(1, followed, frozenset()), *rules], "about": [followed]}


def asked_acted(uid):
    return [f"ZMSCORE {kind}:{uid}" for kind in ("likes", "reposts", "bookmarks")]


ABOUT_HIDDEN = tuple(f"ZMSCORE {kind}:" for kind in ("blocked", "blocked_by", "muted", "muted_reposts"))


def commands(recorded):
    """The commands of each round trip, without those about hidden people, which have tests of their own."""
    asked = [[" ".join(map(str, command[:2])) for command in each.commands] for each in recorded.round_trips]
    return [[one for one in some if not one.startswith(ABOUT_HIDDEN)] for some in asked]


# ---- round trips


def test_unknown_authors_take_a_second_round_trip(store, posts, round_trips):
    assert commands(round_trips(lambda: read(store, pids=[2, 5, 3]))) == [
        ["HGETALL post:2", "HGETALL post:5", "HGETALL post:3"],
        ["HMGET user:2", "HMGET user:3"],
    ]


def test_posts_and_known_authors_take_one_round_trip(store, posts, round_trips, clock):
    read(store)
    clock.sleep(6)  # posts and users are read again; who wrote a post never changes
    recorded = commands(round_trips(lambda: read(store, pids=[2, 5])))
    assert recorded == [["HGETALL post:2", "HGETALL post:5", "HMGET user:2"]]


def test_cached_posts_take_none_but_a_viewers_own_are_always_read(store, posts, round_trips):
    read(store)
    assert commands(round_trips(lambda: read(store))) == []
    assert commands(round_trips(lambda: read(store, User(2, "bob")))) == [
        ["HGETALL post:5", "HGETALL post:2", *asked_acted(2)]
    ]


def test_a_wrong_hint_about_an_author_costs_a_round_trip_and_nothing_else(store, posts, round_trips):
    records._authors_by_pid.put(2, 3)
    reader = reader_for(store, Visitor(), **of_followed(NO_FOLLOWED_READ))
    recorded = round_trips(lambda: reader.read([2]))
    assert commands(recorded) == [
        ["HGETALL post:2", "ZMSCORE following:1", "HMGET user:3"],
        ["ZMSCORE following:1", "HMGET user:2"],
    ]
    assert [post.author.username for post in reader_for(store, Visitor()).read([2])[0]] == ["bob"]


def test_people_that_the_request_has_read_are_not_read_again(store, posts, round_trips):
    alice, me = User(1, "Alice"), User(2, "bob", "Robert")
    recorded = round_trips(lambda: reader_for(store, me, page_of=alice).read([1, 2]))
    assert commands(recorded) == [["HGETALL post:1", "HGETALL post:2", *asked_acted(2)], []]  # whom the viewer hides
    found, _ = reader_for(store, me, page_of=User(1, "Alice", "Ann")).read([1, 2])
    assert [post.author.shown_name for post in found] == ["Ann", "Robert"]


# ---- what is left out


def test_missing_and_deleted_posts_are_left_out_and_named(store, posts, raw):
    raw.hset("post:2", mapping={"deleted": "1", "body": ""})
    assert read(store, pids=[10, 2, 1]) == ([1], [10, 2])


def test_each_rule_of_a_page_leaves_out_posts(store, posts):
    assert read(store, rules=[posts_by(2)]) == ([5, 2], [])
    assert read(store, **of_followed(ALL)) == ([5, 4, 2, 1], [])
    assert read(store, **of_followed(ALL, posts_by(2))) == ([5, 2], [])


# ---- whom the viewer follows


def test_a_user_who_follows_few_needs_no_further_command(store, posts, raw, round_trips):
    raw.zadd("following:1", {"2": 5})
    latest = answer(store, Pipe.ask, LATEST_FOLLOWED, 1)
    assert latest == ALL
    recorded = round_trips(lambda: read(store, User(1, "Alice"), **of_followed(latest)))
    assert not any("following" in command for each in commands(recorded) for command in each)


def test_a_user_who_follows_many_is_asked_about_the_other_authors_once(store, posts, raw, round_trips):
    raw.zadd("following:1", {"2": 1, "3": 10**9, **{str(100 + number): 5 for number in range(LATEST)}})
    latest = answer(store, Pipe.ask, LATEST_FOLLOWED, 1)
    assert "3" in latest.members
    assert "2" not in latest.members
    reader = reader_for(store, User(1, "Alice"), **of_followed(latest))
    recorded = round_trips(lambda: (reader.read([6, 5, 4]), reader.read([3, 2, 1])))
    asked = [command for command in recorded.commands if command[:2] == ("ZMSCORE", "following:1")]
    assert asked == [("ZMSCORE", "following:1", "2")]
    assert read(store, **of_followed(latest))[0] == [6, 5, 4, 3, 2, 1]


def test_whom_a_known_post_answers_is_asked_in_the_same_round_trip(store, posts, raw, round_trips, clock):
    write_answer(raw, 2, 7, parent=3)
    latest = LatestFollowed(frozenset({"2"}), are_all=False)

    def page():
        return read(store, User(1, "Alice"), pids=[7, 5], **of_followed(latest))

    people = ["ZMSCORE following:1", "HMGET user:2", "HMGET user:3"]
    posts_and_acted = ["HGETALL post:7", "HGETALL post:5", *asked_acted(1)]
    first = commands(round_trips(page))
    assert first[1:] == [people]
    clock.sleep(6)
    assert [sorted(each) for each in commands(round_trips(page))] == [sorted(posts_and_acted + people)]
    assert page() == ([5], [])


# ---- the places of posts that are not shown


def test_a_reading_names_what_it_has_left_out_with_its_place_in_the_thread(store, posts, raw):
    write_answer(raw, 2, 7, parent=3)
    write_answer(raw, 1, 8, parent=7)
    write_answer(raw, 3, 9, parent=8)
    delete_answered(raw, 8)
    for _ in range(2):  # from the store, then from the cache
        pipe = store.pipeline()
        found = rest(pipe, reader_for(store, Visitor(), [posts_by(2)]).reading(pipe, [7, 8, 9, 10]))
        assert [post.pid for post in found.posts] == [7]
        left_out = {one.pid: (one.links.reply_to, one.deleted_by) for one in found.unavailable()}
        assert left_out == {8: (7, DeletedBy.AUTHOR), 9: (8, None)}
