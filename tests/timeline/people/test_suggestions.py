"""People to follow: users with the votes of followed people, then the most followed; without a ranking the newest."""

import random
from collections import Counter

import pytest
from django.core.management import call_command

from accounts.community.sanctions import Sanctions
from accounts.users.entities import State, User
from retwis_site.jobs.worker import drain
from retwis_site.store import kinds
from tests.support.people import LONG_AGO, register
from tests.support.stored_keys import everything, follower_counts, publish, ranking
from timeline.people import lists
from timeline.people.lists import Suggested, Suggestions
from timeline.relations.relations import Follows

ALICE, BOB, CAROL = 1, 2, 3


def add_users(raw, *uids):
    for uid in uids:
        raw.hset(f"user:{uid}", mapping={"username": f"person_{uid}", "password": "hash", "auth": f"secret{uid}"})
        raw.hset("users", f"person_{uid}", uid)
        raw.zadd("users_by_time", {f"person_{uid}": LONG_AGO + uid})


def follow(raw, me, them, since=LONG_AGO):
    raw.zadd(f"following:{me}", {them: since})
    raw.zadd(f"followers:{them}", {me: since})
    raw.zadd("users_by_followers", {them: raw.zcard(f"followers:{them}")})


def add_followers(raw, them, number):
    """Add `number` followers that have no other keys."""
    for me in range(1000, 1000 + number):
        follow(raw, me, them)


def suggested(store, me, *count):
    """The uids of the suggestions, in order."""
    return [one.user.uid for one in Suggestions(store).for_user(me, *count)]


# ---- votes of followed people


def test_users_with_the_most_votes_come_first(store, raw):
    add_users(raw, *range(1, 9))
    for friend in (2, 3, 4):
        follow(raw, 1, friend)
    for friend, them in ((2, 5), (3, 5), (4, 5), (2, 6), (3, 6), (4, 7)):
        follow(raw, friend, them)
    add_followers(raw, 8, 50)
    assert suggested(store, 1) == [5, 6, 7, 8]


def test_among_equals_the_user_with_more_followers_comes_first(store, raw):
    add_users(raw, *range(1, 7))
    follow(raw, 1, 2)
    for them, number in ((3, 4), (4, 12), (5, 0), (6, 9)):
        follow(raw, 2, them)
        add_followers(raw, them, number)
    assert Suggestions(store).for_user(1) == [
        Suggested(User(4, "person_4"), 13, User(2, "person_2")),
        Suggested(User(6, "person_6"), 10, User(2, "person_2")),
        Suggested(User(3, "person_3"), 5, User(2, "person_2")),
        Suggested(User(5, "person_5"), 1, User(2, "person_2")),
    ]


def test_suggestions_leave_out_the_user_repeats_and_followed_users(store, alice, bob, carol, raw):
    follows = Follows(store)
    for me, them in ((ALICE, BOB), (BOB, ALICE), (BOB, CAROL), (CAROL, ALICE), (CAROL, BOB)):
        follows.follow(me, them)
    before = everything(raw)
    assert Suggestions(store).for_user(ALICE) == [Suggested(User(CAROL, "carol"), 1, User(BOB, "bob"))]
    follows.follow(ALICE, CAROL)
    assert suggested(store, ALICE) == []
    follows.unfollow(ALICE, CAROL)
    assert everything(raw) == before


def test_only_the_twenty_latest_followed_vote(store, raw):
    add_users(raw, 1, *range(10, 31), 40, 41)
    for friend in range(10, 31):  # the first one is followed for too long to vote
        follow(raw, 1, friend, LONG_AGO + friend)
    follow(raw, 11, 40)
    add_followers(raw, 41, 2)
    assert suggested(store, 1, 1) == [40]
    follow(raw, 11, 10)
    raw.zrem("following:11", "40")
    follow(raw, 10, 40)
    assert suggested(store, 1, 1) == [41]


def test_each_voter_votes_for_the_hundred_latest_followed(store, raw):
    add_users(raw, 1, 2, 500, 501)
    follow(raw, 1, 2)
    follow(raw, 2, 500, LONG_AGO + 1)
    follow(raw, 2, 501, LONG_AGO)
    for nameless in range(600, 699):
        raw.zadd("following:2", {nameless: LONG_AGO + nameless})
    add_users(raw, *range(600, 699))
    everyone = suggested(store, 1, 200)
    assert len(everyone) == 101
    assert everyone.index(500) < 100
    assert everyone[-1] == 501  # it is in the ranking; user 2 gives it no vote
    assert suggested(store, 1, 1) == [500]


def test_the_latest_followed_voter_is_told_unless_the_account_is_gone(store, raw):
    add_users(raw, *range(1, 7))
    for friend, since in ((2, LONG_AGO), (3, LONG_AGO + 2), (4, LONG_AGO + 1)):
        follow(raw, 1, friend, since)
    for friend, them in ((2, 5), (4, 5), (3, 6)):
        follow(raw, friend, them)
    raw.delete("user:3")
    assert {one.user.uid: one.voter for one in Suggestions(store).for_user(1)} == {5: User(4, "person_4"), 6: None}


def test_people_whom_the_user_hides_take_no_place_of_others(store, raw):
    """However many of the best they are."""
    add_users(raw, *range(1, 50))
    follow(raw, 1, 2)
    for them in range(3, 50):
        follow(raw, 2, them, LONG_AGO - them)
    raw.zadd("muted:1", {str(uid): "+inf" for uid in range(3, 30)})
    raw.zadd("blocked:1", {str(uid): LONG_AGO for uid in range(30, 45)})
    assert sorted(suggested(store, 1)) == [45, 46, 47, 48, 49]


@pytest.mark.parametrize("state", [State.HIDDEN, State.SUSPENDED])
def test_people_whom_staff_has_hidden_take_no_place_of_others(store, raw, state):
    """More of them than are loaded besides, and each is followed by more people whom the user follows."""
    ring = range(10, 12 + lists.SPARE + 5)
    add_users(raw, 1, 2, 3, 4, *ring)
    for friend in (2, 3):
        follow(raw, 1, friend)
        for uid in ring:
            follow(raw, friend, uid)
    follow(raw, 3, 4)
    assert 4 not in suggested(store, 1)
    for uid in ring:
        Sanctions(store).impose(uid, state, "bought")
    drain(store, "worker")
    assert suggested(store, 1) == [4]


def test_a_suggestion_says_who_follows_that_person_or_how_many_do(browser, store, alice, bob, carol):
    Follows(store).follow(BOB, CAROL)
    assert '<span class="note">1 follower</span>' in browser(alice).get("/").content.decode()
    Follows(store).follow(ALICE, BOB)
    page = browser(alice).get("/").content.decode()
    assert '<span class="note">Followed by <bdi>@bob</bdi></span>' in page


# ---- the most followed, and the newest


def test_a_user_that_follows_no_one_gets_the_most_followed(store, raw):
    add_users(raw, *range(1, 10))
    for them in range(2, 10):
        add_followers(raw, them, them)
    assert [(one.user.username, one.followers) for one in Suggestions(store).for_user(1)] == [
        (f"person_{uid}", uid) for uid in (9, 8, 7, 6, 5)
    ]
    assert suggested(store, 1, 2) == [9, 8]
    assert suggested(store, 9, 2) == [8, 7]


def test_the_most_followed_fill_the_remaining_places(store, raw):
    add_users(raw, *range(1, 9))
    follow(raw, 1, 2)
    follow(raw, 2, 3)
    for them, number in ((4, 5), (5, 9), (2, 20), (3, 7), (6, 2)):
        add_followers(raw, them, number)
    assert suggested(store, 1) == [3, 5, 4, 6]
    assert suggested(store, 1, 2) == [3, 5]


@pytest.mark.parametrize("friends", [[], [2]], ids=["follows no one", "follows one user"])
def test_without_a_ranking_the_newest_are_suggested(store, raw, friends):
    add_users(raw, *range(1, 10))
    for friend in friends:
        follow(raw, 1, friend)
        follow(raw, friend, 4)
    raw.delete("users_by_followers")
    found = [uid for uid in (9, 8, 7, 6, 5, 4, 3, 2) if uid not in friends]
    if friends:
        found.remove(4)
        found.insert(0, 4)
    assert suggested(store, 1) == found[:5]
    assert Suggestions(store).for_user(1)[0].followers == len(friends)


def test_an_empty_site_has_no_suggestions(store, alice):
    assert Suggestions(store).for_user(ALICE) == []


def test_members_that_are_no_user_are_never_suggested(store, raw):
    add_users(raw, 1, 2, 5)
    follow(raw, 1, 2)
    for them in ("3", "4", "x", "007", "-1", ""):
        raw.zadd("following:2", {them: LONG_AGO})
        raw.zadd("users_by_followers", {them: 90})
    raw.hset("user:4", "password", "no name")
    add_followers(raw, 5, 1)
    assert suggested(store, 1) == [5]
    raw.delete("users_by_followers")
    raw.zadd("users_by_time", {"ghost": 2 * LONG_AGO})
    raw.hset("users", "phantom", "77")
    raw.zadd("users_by_time", {"phantom": 2 * LONG_AGO})
    assert suggested(store, 1) == [5]


# ---- a whole site, and the cost


def expected(raw, me, count):
    """Votes and numbers of followers of the best candidates, computed without regard to round trips; and the uids that
    `me` follows."""
    followed = raw.zrevrange(f"following:{me}", 0, -1)
    votes = Counter(them for friend in followed[:20] for them in raw.zrevrange(f"following:{friend}", 0, 99))
    counts = ranking(raw)
    best = sorted({*votes, *counts} - {str(me), *followed}, key=lambda uid: (votes[uid], counts[uid]), reverse=True)
    return [(votes[uid], counts[uid]) for uid in best][:count], followed


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_on_a_seeded_site_the_suggestions_match_a_plain_computation(store, raw, seed):
    call_command("seed", "--users=90", "--posts=1", "--follows=25", f"--seed={seed}", verbosity=0)
    for me in random.Random(seed).sample(range(1, 91), 20):
        found = Suggestions(store).for_user(me, 8)
        best, followed = expected(raw, me, 8)
        votes = Counter(them for friend in followed[:20] for them in raw.zrevrange(f"following:{friend}", 0, 99))
        assert [(votes[str(one.user.uid)], one.followers) for one in found] == best
        assert not {str(one.user.uid) for one in found} & {str(me), *followed}
        for one in found:
            assert one.user.username == raw.hget(f"user:{one.user.uid}", "username")
            assert one.followers == follower_counts(raw)[str(one.user.uid)]


@pytest.mark.parametrize("number", [2, 50, 300])
def test_suggestions_take_four_round_trips_on_any_site(store, raw, round_trips, number):
    add_users(raw, *range(1, number + 3))
    for friend in range(2, number + 1):
        follow(raw, 1, friend)
        follow(raw, friend, number + 1)
    follow(raw, 2, number + 2)
    assert len(round_trips(lambda: Suggestions(store).for_user(1)).round_trips) == 4
    raw.delete("users_by_followers")
    assert len(round_trips(lambda: Suggestions(store).for_user(1)).round_trips) == 4


def test_for_a_user_that_follows_no_one_they_take_two_or_three_round_trips(store, raw, round_trips):
    add_users(raw, *range(1, 50))
    follow(raw, 2, 3)
    assert len(round_trips(lambda: Suggestions(store).for_user(1)).round_trips) == 2
    raw.delete("users_by_followers")
    assert len(round_trips(lambda: Suggestions(store).for_user(1)).round_trips) == 3


def test_a_limited_number_of_sets_and_users_is_read(store, raw, round_trips, monkeypatch):
    monkeypatch.setattr(lists, "SPARE", 3)
    add_users(raw, *range(1, 200), *range(302, 500))
    for uid in range(2, 200):
        follow(raw, 1, uid)
        follow(raw, uid, 300 + uid)
    recorded = round_trips(lambda: Suggestions(store).for_user(1, 4))
    assert sum(command[0] == "ZREVRANGE" and command[1].startswith("following:") for command in recorded.commands) == 21
    assert sum(command[0] == "HMGET" for command in recorded.commands) == 14


def test_suggestions_use_the_key_prefix(store, raw, rights, round_trips, monkeypatch):
    monkeypatch.setattr(kinds, "PREFIX", "blog:")
    rights("resetkeys", *(f"~{kinds.matching(kind.pattern)}" for kind in kinds.KINDS.values()))
    for me, them in ((1, 2), (2, 3)):
        Follows(store).follow(me, them)
    raw.hset("blog:user:3", "username", "carol")
    recorded = round_trips(lambda: Suggestions(store).for_user(1))
    assert all(command[1].startswith("blog:") for command in recorded.commands)
    assert Suggestions(store).for_user(1) == [Suggested(User(3, "carol"), 1, None)]
    assert raw.zrange("blog:users_by_followers", 0, -1) == ["2", "3"]


def test_a_frozen_person_who_may_follow_no_one_is_shown_no_one_to_follow(raw, member, bob):
    for url in ("/", "/explore/"):
        assert "People to follow" in member.get(url).content.decode()
    raw.hset("user:1", "state", "frozen")
    for url in ("/", "/explore/"):
        assert "People to follow" not in member.get(url).content.decode()


def test_only_the_first_page_of_a_home_asks_for_suggestions(member, round_trips):

    def asked(url):
        return [
            command for command in round_trips(lambda: member.get(url)).commands if command[1] == "users_by_followers"
        ]

    assert asked("/")
    assert not asked("/?before=1")


@pytest.fixture
def vote(store, raw, alice, bob, carol):
    """alice follows bob, who follows carol and has written a post."""
    Follows(store).follow(ALICE, BOB)
    Follows(store).follow(BOB, CAROL)
    publish(raw, store, bob, "hello")


def test_a_home_with_posts_has_suggestions_until_the_user_follows_five(vote, member, store):
    others = [register(store, f"person{number}").user.uid for number in range(5)]
    page = member.get("/").content.decode()
    assert 'aria-label="Follow carol"' in page[page.index("<aside") :]
    for uid in others[:4]:
        Follows(store).follow(ALICE, uid)
    assert 'aria-label="Follow ' not in member.get("/").content.decode()


def test_a_follow_changes_the_suggestions_at_once(vote, store, member):
    assert "Follow carol" in member.get("/").content.decode()
    Follows(store).follow(ALICE, 3)
    assert "Follow carol" not in member.get("/").content.decode()


def test_of_two_who_follow_as_many_each_gets_suggestions_of_their_own(vote, store):
    Follows(store).follow(CAROL, ALICE)
    found = {uid: [one.user.uid for one in Suggestions(store).beside_home(uid, 1, ())] for uid in (ALICE, CAROL)}
    assert found == {ALICE: [CAROL], CAROL: [BOB]}


def test_a_user_who_follows_another_person_instead_is_not_suggested_them(vote, store, raw, member, carol, clock):
    """Who is suggested is kept by the number of people that the user follows, which is the same again."""
    Follows(store).follow(BOB, register(store, "dora").user.uid)
    assert "Follow carol" in member.get("/").content.decode()
    Follows(store).follow(ALICE, 3)
    Follows(store).unfollow(ALICE, 2)
    clock.sleep(6)
    publish(raw, store, carol, "hello")
    page = member.get("/").content.decode()
    assert ("Follow carol" in page, "Follow dora" in page) == (False, True)


# ---- for visitors


def test_a_visitor_gets_the_most_followed_users(store, raw, round_trips):
    add_users(raw, *range(1, 5))
    add_followers(raw, 3, 5)
    add_followers(raw, 2, 9)
    raw.hset("user:2", "deleted", 5)
    add_followers(raw, 4, 2)
    recorded = round_trips(lambda: Suggestions(store).for_visitor())
    assert len(recorded.round_trips) <= 3
    assert [(one.user.uid, one.followers, one.voter) for one in Suggestions(store).for_visitor()] == [
        (3, 5, None),
        (4, 2, None),
    ]
    assert round_trips(lambda: Suggestions(store).for_visitor()).round_trips == []


@pytest.mark.parametrize("state", [State.HIDDEN, State.SUSPENDED])
def test_the_most_followed_whom_staff_has_hidden_take_no_place_of_others(store, raw, round_trips, state):
    """More of them than are loaded at first: for visitors, and for a user who follows no one."""
    ring = range(10, 16 + lists.SPARE)
    add_users(raw, 1, 2, 3, *ring)
    for uid in ring:
        raw.zadd("users_by_followers", {uid: 100})
        raw.hset(f"user:{uid}", mapping={"state": state, "state_until": 0})
    follow(raw, 2, 3)
    found = []
    recorded = round_trips(lambda: found.extend(Suggestions(store).for_visitor()))
    assert [one.user.uid for one in found] == suggested(store, 1) == [3]
    assert len(recorded.round_trips) == 3


def test_without_a_ranking_a_visitor_gets_the_newest_users(store, raw):
    add_users(raw, 1, 2)
    assert [one.user.uid for one in Suggestions(store).for_visitor()] == [2, 1]
