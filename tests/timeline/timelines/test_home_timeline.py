"""Home timelines: a missing list is rebuilt, and the pages have every post down to the first. An answer is shown only
to people who follow both, its author and the person answered."""

import random

import pytest
import redis

from accounts.community.sanctions import Sanctions
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import State
from retwis_site.exceptions import StoreReadOnly
from retwis_site.store.client import Store
from tests.support.http.page_text import post_ids, with_older
from tests.support.people import register
from tests.support.stored_posts import write_answer, write_posts
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows
from timeline.timelines import home as homes_module
from timeline.timelines.home import Homes, HomeSources


def all_pages(store, login, limit=1000):
    """The ids on all pages, in the order in which they are shown."""
    seen, before = [], None
    for _ in range(limit):
        page = Homes(store).page(Viewer(store, login.secret), before).page
        seen += [post.pid for post in page.posts]
        if page.older is None:
            return seen
        before = page.older
    raise AssertionError("paging does not end")


def test_the_first_read_builds_the_list_with_token_complete_down_to_id_and_label(store, alice, bob, raw):
    Follows(store).follow(1, 2)
    write_posts(raw, 2, [1, 2, 3])
    write_posts(raw, 1, [4])
    assert all_pages(store, alice) == [4, 3, 2, 1]
    token, *rest = raw.lrange("posts:1", 0, -1)
    assert token.startswith("b")
    assert rest == ["0", f"{token}:", "4", "3", "2", "1"]
    assert 29 * 86400 < raw.ttl("posts:1") <= 30 * 86400


def test_a_second_read_uses_the_list(store, alice, raw, round_trips):
    write_posts(raw, 1, [1, 2, 3])
    all_pages(store, alice)
    before = raw.lrange("posts:1", 0, -1)
    recorded = round_trips(lambda: all_pages(store, alice))
    assert not any(c[0] == "ZREVRANGEBYSCORE" for c in recorded.commands)
    assert raw.lrange("posts:1", 0, -1) == before


def test_a_rebuild_sends_its_commands_in_the_order_of_the_protocol(store, alice, bob, raw, round_trips):
    Follows(store).follow(1, 2)
    write_posts(raw, 2, [1])
    raw.rpush("posts:1", "b0", "1")  # a killed rebuild has left this
    recorded = round_trips(lambda: Homes(store).page(Viewer(store, alice.secret), None))
    assert [[(c[0], c[1]) for c in round_trip.commands] for round_trip in recorded.round_trips[2:-3]] == [
        [("UNLINK", "posts:1")],
        [("RPUSH", "posts:1"), ("EXPIRE", "posts:1")],
        [
            *(("ZRANGE", "following:1"), ("ZREVRANGE", "home_tags:1")),
            *(("ZREVRANGEBYSCORE", "updates:1"), ("ZREVRANGEBYSCORE", "updates:2")),
        ],
        [("RPUSHX", "posts:1"), ("LINSERT", "posts:1")],
    ]


def test_a_list_whose_ids_the_store_refuses_is_dropped(store, alice, raw, monkeypatch):
    write_posts(raw, 1, [1, 2])
    real = store.transport.exchange

    def out_of_memory_for_a_moment(queued):
        accepted = [(command, options) for command, options in queued if command[0] != "RPUSHX"]
        replies = iter(real(accepted))
        full = redis.ResponseError("OOM command not allowed when used memory > 'maxmemory'.")
        return [full if command[0] == "RPUSHX" else next(replies) for command, _ in queued]

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(store.transport, "exchange", out_of_memory_for_a_moment)
        assert all_pages(store, alice) == [2, 1]
    assert not raw.exists("posts:1")
    assert all_pages(store, alice) == [2, 1]


@pytest.mark.parametrize("lost", ["the list", "both entries", "the complete-down-to id"])
def test_a_lost_or_unfinished_list_is_rebuilt_completely(store, alice, bob, raw, lost):
    Follows(store).follow(1, 2)
    write_posts(raw, 2, range(1, 31))
    all_pages(store, alice)
    token, complete_down_to = raw.lrange("posts:1", 0, 1)
    if lost == "the list":
        raw.delete("posts:1")
    else:
        raw.lrem("posts:1", 1, complete_down_to)
        raw.lrem("posts:1", 1, "17")
    if lost == "both entries":
        raw.lrem("posts:1", 1, token)
    assert all_pages(store, alice) == list(range(30, 0, -1))


def test_pages_show_every_post_once_from_the_newest_to_the_first(store, alice, bob, carol, raw):
    Follows(store).follow(1, 2)
    Follows(store).follow(1, 3)
    rng = random.Random(7)
    authors = {1: [], 2: [], 3: []}
    for pid in range(1, 2501):
        authors[rng.choice([1, 2, 2, 2, 2, 2, 2, 2, 3])].append(pid)
    for uid, pids in authors.items():
        write_posts(raw, uid, pids)
    assert all_pages(store, alice) == list(range(2500, 0, -1))


def test_a_new_post_does_not_move_the_next_page(store, alice, raw):
    write_posts(raw, 1, range(1, 46))
    first = Homes(store).page(Viewer(store, alice.secret), None).page
    Posts(store).publish(1, NewPost("meanwhile"), "t")
    second = Homes(store).page(Viewer(store, alice.secret), first.older).page
    assert [post.pid for post in second.posts] == list(range(25, 5, -1))


def test_after_many_pushes_a_home_lacks_no_post(store, alice, bob, raw):
    Follows(store).follow(1, 2)
    all_pages(store, alice)
    posts = Posts(store)
    for number in range(1250):
        posts.publish(2, NewPost(f"post {number}"), f"t{number}")
    assert 1000 <= raw.llen("posts:1") <= 1100
    assert not any(entry.startswith(("b", "-")) for entry in raw.lrange("posts:1", 0, -1))
    assert all_pages(store, alice) == list(range(1250, 0, -1))


def test_pushes_out_of_order_and_twice_are_shown_in_order_and_once(store, alice, bob, raw):
    Follows(store).follow(1, 2)
    write_posts(raw, 2, range(1, 11))
    raw.rpush("posts:1", "9", "10", "9", "b1", "0", *range(8, 0, -1))
    assert all_pages(store, alice) == list(range(10, 0, -1))


def test_posts_of_users_who_are_not_followed_are_not_shown(store, alice, bob, raw):
    write_posts(raw, 2, [1])
    write_posts(raw, 1, [2])
    raw.rpush("posts:1", "2", "1", "b1", "0")
    for _ in range(2):  # before and after the authors are cached
        assert all_pages(store, alice) == [2]


def test_a_follow_during_a_rebuild_starts_the_rebuild_again(store, alice, bob, raw, monkeypatch):
    write_posts(raw, 2, [1])
    real = HomeSources.newest
    interruptions = iter([True, False])

    def interrupted(self):
        merged = real(self)
        if next(interruptions, False):
            Follows(store).follow(1, 2)
        return merged

    monkeypatch.setattr(HomeSources, "newest", interrupted)
    assert all_pages(store, alice) == [1]
    token, *rest = raw.lrange("posts:1", 0, -1)
    assert rest == ["0", f"{token}:", "1"]


def test_a_home_that_is_dropped_during_every_rebuild_shows_the_merge(store, alice, raw, monkeypatch):
    write_posts(raw, 1, [1, 2])
    real = HomeSources.newest

    def interrupted(self):
        raw.delete("posts:1")
        return real(self)

    monkeypatch.setattr(HomeSources, "newest", interrupted)
    assert all_pages(store, alice) == [2, 1]
    assert not raw.exists("posts:1")


def test_a_read_only_store_still_shows_the_home(store, alice, raw, monkeypatch):
    write_posts(raw, 1, [1, 2])
    real = Store.round_trip

    def read_only(self, commands):
        if any(command[0] in {"RPUSH", "LREM"} for command in commands):
            raise StoreReadOnly("READONLY")
        return real(self, commands)

    monkeypatch.setattr(Store, "round_trip", read_only)
    assert all_pages(store, alice) == [2, 1]


@pytest.mark.parametrize(
    ("expires_in", "is_renewed"), [(100, True), (28 * 86400, True), (29 * 86400 + 60, False), (None, True)]
)
def test_a_read_renews_the_expiry_once_a_day(store, alice, raw, expires_in, is_renewed):
    write_posts(raw, 1, [1])
    all_pages(store, alice)
    if expires_in is None:  # as in a database of the official Retwis
        raw.persist("posts:1")
    else:
        raw.expire("posts:1", expires_in)
    all_pages(store, alice)
    assert (raw.ttl("posts:1") > 29 * 86400 + 3600) is is_renewed


def test_a_page_of_dead_ids_has_a_next_page(store, alice, raw):
    write_posts(raw, 1, range(1, 251))
    all_pages(store, alice)
    for pid in range(30, 251):
        raw.hset(f"post:{pid}", mapping={"deleted": 1, "body": ""})
    assert all_pages(store, alice) == list(range(29, 0, -1))


def test_the_older_links_lead_to_the_first_post(browser, store, alice, raw):
    write_posts(raw, 1, range(1, 46))
    seen = [pid for page in with_older(browser(alice), "/") for pid in post_ids(page)]
    assert seen == list(range(45, 0, -1))


def test_an_empty_home_says_what_to_do(browser, alice):
    assert "Nothing here yet. Follow someone." in browser(alice).get("/").content.decode()


def test_an_empty_home_asks_nothing_of_a_frozen_user_that_is_refused(browser, store, alice):
    Sanctions(store).impose(1, State.FROZEN, "Ads")
    home = browser(alice).get("/").content.decode()
    assert "<h2>Nothing yet</h2>" in home
    assert "Follow someone" not in home


def test_with_many_followed_users_slices_are_short(store, alice, raw, monkeypatch):
    monkeypatch.setattr(homes_module, "SHORTEST_SLICE", 3)
    monkeypatch.setattr(homes_module, "KEPT", 12)
    monkeypatch.setattr(homes_module, "FIRST_TRUSTED", 0)
    people = [register(store, f"person{number}").user.uid for number in range(8)]
    raw.zadd("following:1", dict.fromkeys(people, 1))
    pids = list(range(1, 201))
    random.Random(3).shuffle(pids)
    for number, uid in enumerate(people):
        write_posts(raw, uid, pids[number::8])
    assert all_pages(store, alice) == list(range(200, 0, -1))
    assert raw.lindex("posts:1", 1).startswith("-")


def test_a_prolific_author_does_not_shorten_the_home_of_followers(store, alice, raw, round_trips):
    people = [register(store, f"person{number}").user.uid for number in range(110)]
    raw.zadd("following:1", dict.fromkeys(people, 1))
    for number, uid in enumerate(people[:-1]):
        write_posts(raw, uid, range(number * 10 + 1, number * 10 + 9))
    write_posts(raw, people[-1], range(2000, 2100))
    assert all_pages(store, alice)[:100] == list(range(2099, 1999, -1))
    assert raw.llen("posts:1") > 900
    assert len(round_trips(lambda: Homes(store).page(Viewer(store, alice.secret), None)).round_trips) == 1


@pytest.mark.parametrize(
    ("first_deleted", "is_rebuilt"), [(1015, False), (105, True)], ids=["enough ids are left", "too few are left"]
)
def test_a_list_that_was_cut_keeps_its_length_or_is_rebuilt(store, alice, bob, raw, first_deleted, is_rebuilt):
    """alice follows bob. He has 1105 posts: 115 were pushed after a rebuild, and then the list was cut. A shorter list
    would be trusted to reach to the beginning, as its complete-down-to id says; with too few ids left, the highest 800
    would reach too far down."""
    Follows(store).follow(1, 2)
    write_posts(raw, 2, range(1, 1106))
    raw.rpush("posts:1", *range(1105, 990, -1), "b1", "0", *range(990, 107, -1))
    assert raw.llen("posts:1") == 1000
    for pid in range(first_deleted, 1095):
        Posts(store).delete(2, pid)
    expected = [*range(1105, 1094, -1), *range(first_deleted - 1, 0, -1)]
    for _ in range(3):
        assert all_pages(store, alice) == expected
    assert ("x" in raw.lrange("posts:1", 0, -1), raw.llen("posts:1") == 1000) == (not is_rebuilt, not is_rebuilt)


def test_a_list_that_was_cut_is_dropped_when_the_store_has_no_memory_for_padding(store, alice, bob, raw, monkeypatch):
    """Else its ids would go, it would be shorter, and it would be trusted to reach to the beginning."""
    Follows(store).follow(1, 2)
    write_posts(raw, 2, range(1, 1106))
    real, entries = store.transport.exchange, [*range(1105, 990, -1), "b1", "0", *range(990, 107, -1)]
    raw.rpush("posts:1", *entries)
    raw.unlink(*[f"post:{pid}" for pid in range(1000, 1106)])
    full = redis.OutOfMemoryError("OOM command not allowed when used memory > 'maxmemory'.")

    def exchange(queued):
        accepted = [one for one in queued if one[0][0] not in {"RPUSH", "RPUSHX", "LINSERT"}]
        replies = iter(real(accepted))
        return [next(replies) if one in accepted else full for one in queued]

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(store.transport, "exchange", exchange)
        for _ in range(4):
            all_pages(store, alice)
    assert all_pages(store, alice) == list(range(999, 0, -1))


def test_a_list_of_padding_only_is_rebuilt(store, alice, raw):
    write_posts(raw, 1, [1, 2])
    raw.rpush("posts:1", *["x"] * 950)
    assert all_pages(store, alice) == [2, 1]


# ---- Home shows an answer only to people who follow both: its author and the person answered.


@pytest.fixture
def home(store, member, bob, carol):
    """The ids on alice's home page. She follows bob (2), not carol (3)."""
    Follows(store).follow(1, 2)
    return lambda path="/": post_ids(member.get(path))


def test_an_answer_to_someone_whom_the_viewer_does_not_follow_is_not_in_home(home, raw):
    write_posts(raw, 3, [1])
    write_answer(raw, 2, 2, parent=1)
    write_posts(raw, 2, [3])
    assert home() == [3]


@pytest.mark.parametrize("answered", [1, 3], ids=["the viewer", "someone whom the viewer follows"])
def test_an_answer_to_a_known_person_is_in_home(home, store, raw, answered):
    Follows(store).follow(1, 3)
    write_posts(raw, answered, [1])
    write_answer(raw, 2, 2, parent=1)
    assert home() == [2, 1]


def test_a_thread_of_one_author_is_in_home(home, raw):
    write_posts(raw, 2, [1])
    write_answer(raw, 2, 2, parent=1)
    write_answer(raw, 2, 3, parent=2)
    assert home() == [3, 2, 1]


def test_an_answer_to_a_post_that_an_import_has_lost_is_in_home(home, raw):
    write_posts(raw, 2, [2])
    raw.hset("post:2", "reply_to", 1)
    assert home() == [2]


def test_the_same_holds_for_someone_who_follows_many(home, store, raw, round_trips):
    """Then the page asks whom of these people the viewer follows; the next visit asks in its first round trip."""
    for number in range(120):
        raw.zadd("following:1", {register(store, f"person{number}").user.uid: 2_000_000_000})
    write_posts(raw, 3, [1])
    write_answer(raw, 2, 2, parent=1)
    write_posts(raw, 1, [3])
    write_answer(raw, 2, 4, parent=3)
    assert home() == [4, 3]
    home()  # the first visit has read all whom she follows
    [visit] = round_trips(home).round_trips
    assert any(command[:2] == ("ZMSCORE", "following:1") for command in visit.commands)
    Follows(store).follow(1, 3)
    assert home() == [4, 3, 2, 1]
    raw.zrem("following:1", 2, 3)  # as another process unfollows them
    assert home() == [3]


def test_a_home_full_of_hidden_answers_reads_on(home, raw):
    write_posts(raw, 3, [1])
    write_posts(raw, 2, range(2, 12))
    for pid in range(12, 112):
        write_answer(raw, 2, pid, parent=1)
    assert home() == [*range(11, 1, -1)]


def test_hidden_answers_cost_no_round_trip_of_their_own(home, member, raw, round_trips):
    write_posts(raw, 3, [1])
    write_posts(raw, 2, range(2, 42))
    member.get("/")
    warm = len(round_trips(lambda: member.get("/")).round_trips)
    raw.delete("posts:1")
    for pid in range(42, 50):
        write_answer(raw, 2, pid, parent=1)
    home()
    assert len(round_trips(lambda: member.get("/")).round_trips) <= warm + 1  # `fill` reads on, once
