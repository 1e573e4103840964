"""Snowflake ids: increasing, below 2^53, and unique, also when the clock steps back or processes make the same id."""

import itertools
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, strategies as st

from accounts.signing_in.viewer import Viewer
from accounts.users.repository import Users
from retwis_site.exceptions import StoreError, WrongClock
from retwis_site.store import snowflake
from retwis_site.store.client import connect
from retwis_site.store.ids import LARGEST_ID, parse_id
from retwis_site.store.snowflake import EPOCH, STEP, TRIES, Snowflakes, made_at
from tests.support.http.page_text import page_of
from tests.support.people import register
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.timelines.everyone import EveryoneTimeline
from timeline.timelines.home import Homes

pytestmark = pytest.mark.usefixtures("snowflakes")

NOW = EPOCH + 20_000_000.5


@pytest.fixture
def next_ids(monkeypatch):
    """`next_ids(5, 5, 6)`: the next ids that the process makes."""

    def make(*numbers):
        monkeypatch.setattr(snowflake, "make", iter(numbers).__next__)

    return make


def test_an_id_is_41_bits_of_milliseconds_5_of_the_node_and_7_of_sequence():
    number = Snowflakes(node=19, clock=lambda: NOW).make()
    assert number >> 12 == 20_000_000_500
    assert number >> 7 & 31 == 19
    assert number < 2**53
    assert Snowflakes(31, clock=lambda: EPOCH + (2**41 - 1) / 1000).make() < LARGEST_ID
    assert parse_id(str(number)) == number == int(float(number))


def test_an_id_has_the_time_when_it_was_made():
    assert made_at(Snowflakes(7, clock=lambda: NOW).make()) == int(NOW)
    assert made_at(1_000_000) is None


@given(st.lists(st.floats(-STEP, 10**5), min_size=1, max_size=50), st.integers(0, 31))
def test_the_ids_of_a_process_increase_while_its_clock_steps_back_by_seconds(steps, node):
    times = list(itertools.accumulate(steps, initial=NOW))
    highest = itertools.accumulate(times, max)
    clock = iter([max(now, best - STEP) for now, best in zip(times, highest, strict=True)])
    ids = Snowflakes(node, clock=lambda: next(clock))
    made = [ids.make() for _ in times]
    assert made == sorted(set(made))
    assert all(number >> 7 & 31 == node for number in made)


@given(st.lists(st.floats(-(10**5), 10**5), min_size=1, max_size=50))
def test_no_id_is_far_from_the_clock_of_its_process(steps):
    times = list(itertools.accumulate(steps, initial=NOW))
    clock = iter(times)
    ids = Snowflakes(0, clock=lambda: next(clock))
    for now in times:
        assert now - 1 <= made_at(ids.make()) <= now + STEP + 1


def test_a_process_makes_many_ids_at_once_without_a_repetition():
    ids = Snowflakes(0, clock=lambda: NOW)
    made = [ids.make() for _ in range(200_000)]  # ten times as many milliseconds as STEP has
    assert made == sorted(set(made))
    assert (made[999] >> 12) - (made[0] >> 12) <= 8


@pytest.mark.parametrize(
    ("when", "said"),
    [
        (0, "1970-01-01"),
        (EPOCH - 1, "2025-12-31"),
        (EPOCH, "2026-01-01"),
        (EPOCH + 2**41 / 1000 + 1, "2095-09-07"),
        (10**12, "1000000000000 s since 1970"),
    ],
)
def test_a_clock_of_another_century_makes_no_id_and_the_error_names_the_fix(when, said):
    with pytest.raises(WrongClock, match=rf"this machine's clock says {said}; .* Set the clock\."):
        Snowflakes(0, clock=lambda: when).make()


@pytest.fixture
def clock_says(monkeypatch):
    """`clock_says(0)`: what the clock tells when this process makes an id."""

    def say(seconds):
        monkeypatch.setattr(snowflake, "_process", Snowflakes(0, clock=lambda: seconds))

    return say


@pytest.mark.parametrize("when", [0, EPOCH - 3600, EPOCH + 2**41 / 1000 + 3600])
def test_with_a_wrong_clock_a_post_is_a_503_that_keeps_the_text_and_writes_nothing(
    member, raw, caplog, clock_says, when
):
    before = sorted(raw.keys())
    clock_says(when)
    assert "Kept for later" in page_of(member.post("/post/", {"body": "Kept for later", "token": "t"}), 503)
    assert [key for key in sorted(raw.keys()) if key not in before and not key.startswith("throttle:")] == []
    (line,) = [record.getMessage() for record in caplog.records if record.name == "retwis.store"]
    assert line.endswith("Set the clock.")
    with pytest.raises(WrongClock):
        register(connect(), "dora")


def test_the_search_for_a_free_id_ends(store, raw, alice, monkeypatch, sent):
    """As it was before 2026: all ids were the smallest one and those after it."""
    taken = range(50, 50 + 10 * TRIES)
    for number in taken:
        raw.hset(f"post:{number}", "user_id", "99")
        raw.hset(f"user:{number}", "username", "Ghost")
    for write in (lambda: Posts(store).publish(alice.user.uid, NewPost("Hello"), "t"), lambda: register(store, "bob")):
        monkeypatch.setattr(snowflake, "make", iter(taken).__next__)
        before = len(sent.round_trips)
        with pytest.raises(WrongClock, match="Set the clock of this machine, and give each machine its own NODE_ID"):
            write()
        assert len(sent.round_trips) - before <= 3 * TRIES + 2
    assert raw.zcard("outbox") == 0


def test_ids_of_several_threads_are_distinct():
    ids = Snowflakes(0)
    with ThreadPoolExecutor(8) as threads:
        made = threads.map(lambda _: [ids.make() for _ in range(500)], range(8))
    assert len(set().union(*made)) == 4000


@pytest.mark.parametrize(
    ("name", "value"), [("NODE_ID", "32"), ("TIMELINE_SHARDS", "0"), ("OUTBOX_SHARDS", "17"), ("POST_IDS", "uuid")]
)
def test_an_invalid_setting_is_an_error_that_names_it(name, value):
    command = [sys.executable, "-c", "import retwis_site.settings"]
    run = subprocess.run(command, env={**os.environ, name: value}, capture_output=True, text=True)
    assert run.returncode != 0
    assert f"ImproperlyConfigured: {name}=" in run.stderr


def test_posts_and_users_get_snowflake_ids_and_no_counter_is_used(store, raw):
    before = int(time.time())
    alice = register(store, "Alice")
    pid = Posts(store).publish(alice.user.uid, NewPost("Hello"), "t").pid
    assert before <= made_at(alice.user.uid) <= made_at(pid) <= time.time()
    assert raw.hget("users", "alice") == str(alice.user.uid)
    assert raw.zrange(f"updates:{alice.user.uid}", 0, -1, withscores=True) == [(str(pid), pid)]
    assert raw.zrange("recent", 0, -1, withscores=True) == [(str(pid), pid)]
    assert not raw.exists("next_user_id", "next_post_id")
    assert raw.zcard("outbox") == 0


def test_a_post_makes_as_many_round_trips_as_with_a_counter(store, alice, round_trips, settings):
    claimed = round_trips(lambda: Posts(store).publish(alice.user.uid, NewPost("Hello"), "t"))
    settings.POST_IDS = "incr"
    counted = round_trips(lambda: Posts(store).publish(alice.user.uid, NewPost("Hello"), "u"))
    assert len(claimed.round_trips) == len(counted.round_trips)


def test_an_id_that_another_process_has_claimed_is_not_used(store, raw, alice, next_ids):
    raw.hset("post:50", mapping={"user_id": "99", "time": "1", "body": "Mine"})
    next_ids(50, 51)
    assert Posts(store).publish(alice.user.uid, NewPost("Hello"), "t").pid == 51
    assert raw.hgetall("post:50") == {"user_id": "99", "time": "1", "body": "Mine"}
    assert raw.hget("post:51", "body") == "Hello"


def test_the_id_of_a_deleted_post_is_not_used_again(store, raw, alice, next_ids):
    next_ids(50, 50, 51)
    Posts(store).publish(alice.user.uid, NewPost("Hello"), "t")
    Posts(store).delete(alice.user.uid, 50)
    assert Posts(store).publish(alice.user.uid, NewPost("Hello"), "u").pid == 51


def test_two_registrations_with_the_same_id_are_two_users(store, raw, next_ids):
    next_ids(50, 50, 51)
    alice, bob = register(store, "Alice"), register(store, "bob")
    assert (alice.user.uid, bob.user.uid) == (50, 51)
    assert raw.hget("user:50", "username") == "Alice"
    assert raw.hgetall("users") == {"alice": "50", "bob": "51"}
    assert raw.zcard("outbox") == 0


def test_a_second_click_releases_its_id(store, raw, alice, next_ids):
    next_ids(50, 51)
    first = Posts(store).publish(alice.user.uid, NewPost("Hello"), "t")
    assert Posts(store).publish(alice.user.uid, NewPost("Hello again"), "t") == first
    assert raw.keys("post:*") == ["post:50"]


def test_a_second_click_does_not_change_a_post_of_another_user_with_the_same_id(store, raw, alice, next_ids):
    raw.set(f"idem:{alice.user.uid}:t", "50")  # its process died, and cleanup has removed the post
    raw.hset("post:50", mapping={"user_id": "99", "time": "1"})
    next_ids(51, 52)
    with pytest.raises(StoreError, match="send it once more"):
        Posts(store).publish(alice.user.uid, NewPost("Hello"), "t")
    assert raw.hgetall("post:50") == {"user_id": "99", "time": "1"}
    assert Posts(store).publish(alice.user.uid, NewPost("Hello"), "t").pid == 52


def test_snowflake_ids_follow_after_counted_ids(store, raw, settings, alice, bob):
    settings.POST_IDS = "incr"
    old = [Posts(store).publish(bob.user.uid, NewPost(f"Old {number}"), f"old{number}").pid for number in range(3)]
    settings.POST_IDS = "snowflake"
    new = [Posts(store).publish(alice.user.uid, NewPost(f"New {number}"), f"new{number}").pid for number in range(3)]
    expected = sorted(old + new, reverse=True)
    assert expected[:3] == new[::-1]
    for _ in range(2):
        page = EveryoneTimeline(store).page(Viewer(store, ""), None, 50).page
        assert [post.pid for post in page.posts] == expected
        raw.delete("timeline")
    assert [post.pid for post in Homes(store).page(Viewer(store, alice.secret), None).page.posts] == new[::-1]


def test_recent_keeps_the_newest_ids_and_the_timeline_ends_with_them(store, raw, alice, monkeypatch):
    for module in ("posts.post_ids", "timelines.everyone"):
        monkeypatch.setattr(f"timeline.{module}.RECENT", 10)
    pids = [Posts(store).publish(alice.user.uid, NewPost("Hello"), f"t{number}").pid for number in range(15)]
    assert raw.zrange("recent", 0, -1) == [str(pid) for pid in pids[5:]]
    raw.delete("timeline")
    found = EveryoneTimeline(store).page(Viewer(store, ""), None, 50)
    assert [post.pid for post in found.page.posts] == pids[:4:-1]
    assert found.at_the_cap


def test_an_id_of_an_unfinished_registration_is_released(store, raw, next_ids, alice):
    raw.hset("user:50", "username", "Ghost")
    raw.zadd("outbox", {"user:50:abc": 1})
    from retwis_site.jobs.worker import drain

    assert drain(store, "worker") == 1
    assert raw.zcard("outbox") == 0
    assert Users(store).find("ghost") is None
