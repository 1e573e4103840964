"""The posts of the day: different people who like or repost a post, weighed by its age."""

import time

import pytest

from retwis_site.store.local_cache import Memory
from tests.support.stored_posts import DAY, HOUR, like, repost, write_recent
from timeline.explore import exploring as module
from timeline.explore.exploring import (
    LATEST_OF_EACH,
    MOST_ACTED_ON,
    MOST_POSTS,
    PEOPLE,
    Best,
    best_posts,
    sample,
    weight,
)


def best(store):
    return best_posts(store, sample(store), time.time())


def test_each_person_counts_once_whatever_they_do(store, raw, alice, bob, carol):
    for pid in (1, 2, 3):
        write_recent(raw, pid)
    like(raw, 1, 2, 3)
    repost(raw, 1, 2, 3)
    like(raw, 2, 2, 3, 4)
    like(raw, 3, 2)
    repost(raw, 3, 2)
    assert best(store).pids == (2, 1)


def test_the_author_does_not_count(store, raw, alice, bob):
    write_recent(raw, 1, uid=1)
    like(raw, 1, 1, 2)
    repost(raw, 1, 1)
    assert best(store).pids == ()


def test_an_older_post_needs_more_people(store, raw, alice):
    write_recent(raw, 1, ago=6 * HOUR)
    write_recent(raw, 2)
    like(raw, 1, *range(2, 17))
    like(raw, 2, 2, 3)
    assert best(store).pids == (2, 1)
    like(raw, 1, 17, 18, 19)
    assert best(store).pids == (1, 2)


@pytest.mark.parametrize(("hours", "people"), [(0, 2), (6, 16), (23, 88.4)])
def test_the_weight_is_people_by_hours_and_two_to_the_power_of_one_and_a_half(hours, people):
    assert weight(people, hours * HOUR) == pytest.approx(2 / 2**1.5, rel=0.001)


def test_a_clock_that_is_ahead_gives_a_post_no_more_than_a_new_one():
    assert weight(2, -DAY) == weight(2, 0)


def test_posts_of_yesterday_stand_there_only_when_the_day_has_none(store, raw, alice):
    write_recent(raw, 1, ago=8 * DAY)
    write_recent(raw, 2, ago=2 * DAY)
    write_recent(raw, 3)
    for pid in (1, 2):
        like(raw, pid, 2, 3)
    assert best(store) == Best((2,), of_the_week=True)
    like(raw, 3, 2, 3)
    assert best(store) == Best((3,), of_the_week=False)


def test_deleted_posts_and_reposts_are_left_out(store, raw, alice, bob):
    for pid in (1, 2, 3):
        write_recent(raw, pid)
        like(raw, pid, 2, 3)
    raw.hset("post:1", "deleted", 5)
    raw.hset("post:2", "repost_of", 3)
    assert best(store).pids == (3,)


@pytest.mark.parametrize("state", ["hidden", "suspended"])
def test_posts_of_people_whom_staff_has_hidden_are_left_out(store, raw, state):
    """They take no place from others, and what these people like leads to nothing."""
    for pid in (1, 2, 3):
        write_recent(raw, pid, uid=pid)
        like(raw, pid, 4, 5)
    raw.rpush("timeline", 3, 2, "-2")
    like(raw, 1, 3)
    assert {post.pid for post in sample(store)} == {1, 2, 3}
    Memory.clear_all()
    raw.hset("user:3", "state", state)
    assert {post.pid for post in sample(store)} == {2}
    assert best(store).pids == (2,)


def test_a_frozen_author_stays(store, raw):
    write_recent(raw, 1)
    like(raw, 1, 2, 3)
    raw.hset("user:1", "state", "frozen")
    assert best(store).pids == (1,)


def test_a_post_behind_the_newest_is_found_through_what_active_people_did(store, raw, alice, bob, monkeypatch):
    write_recent(raw, 1, uid=1)
    like(raw, 1, 2, 3)
    write_recent(raw, 2, uid=2)
    raw.rpush("timeline", 2, "-2")
    assert {post.pid for post in sample(store)} == {1, 2}
    assert best(store).pids == (1,)
    monkeypatch.setattr("timeline.explore.exploring.PEOPLE", 0)
    assert {post.pid for post in sample(store)} == {2}


def test_few_posts_of_many_are_counted(store, raw, alice, round_trips):
    for pid in range(1, MOST_POSTS + 11):
        write_recent(raw, pid)
        like(raw, pid, 2, 3)
    posts = sample(store)
    recorded = round_trips(lambda: best_posts(store, posts, time.time()))
    assert len(recorded.round_trips) == 1
    assert len(recorded.commands) == 2 * MOST_POSTS
    assert {command[-1] for command in recorded.commands} == {module.MOST_COUNTED - 1}


def test_a_sample_costs_a_limited_number_of_commands(store, raw, alice, monkeypatch, round_trips):
    for pid in range(1, 31):
        write_recent(raw, pid, uid=pid)
        like(raw, pid, *range(1, 31))
    raw.rpush("timeline", *range(30, 20, -1), "-21")
    for name, number in (("PEOPLE", 5), ("LATEST_OF_EACH", 8), ("MOST_ACTED_ON", 4)):
        monkeypatch.setattr(f"timeline.explore.exploring.{name}", number)
    recorded = round_trips(lambda: sample(store))
    assert [len(one.commands) for one in recorded.round_trips] == [1, 10, 10, 2 * 5, 4, 4]
    assert {command[-1] for command in recorded.commands if command[0] == "ZREVRANGE"} == {7}
    assert PEOPLE * 2 * LATEST_OF_EACH < 20_000
    assert MOST_ACTED_ON == 1000
