"""The tags of the week: different people who use a tag, compared with the weeks before."""

import time

import pytest

from retwis_site.store import snowflake
from retwis_site.store.local_cache import Memory
from tests.support.stored_posts import DAY, HOUR, write_recent
from timeline.explore import exploring as module
from timeline.explore.exploring import COMPARED, MOST_TAGS, rising_tags, sample


@pytest.fixture(params=["incr", "snowflake"])
def write(request, raw, settings, alice):
    """Writes posts, the oldest first, with counted ids or with ids from the time."""
    settings.POST_IDS = request.param

    def write_one(uid, ago, body):
        if request.param == "incr":
            pid = int(raw.get("next_post_id") or 0) + 1
        else:
            pid = snowflake.Snowflakes(0, lambda: time.time() - ago).make()
            while raw.exists(f"post:{pid}"):  # two of one moment
                pid += 1
            raw.zadd("recent", {pid: pid})
        write_recent(raw, pid, uid, ago, body)
        if request.param == "snowflake":
            raw.delete("next_post_id")  # else the list would look for a million counted posts below this id

    return write_one


def rising(store):
    return rising_tags(store, sample(store), time.time())


def shown(store):
    return [(one.tag.spelling, one.people, one.posts) for one in rising(store)]


def test_three_different_people_make_a_tag_of_the_week(store, write):
    for uid in (1, 2, 3):
        write(uid, HOUR, "#Bread")
    write(1, HOUR, "#Bread again")
    for uid in (1, 2, 2, 2, 2):
        write(uid, HOUR, "#cheese")
    assert shown(store) == [("Bread", 3, 4)]


def test_a_post_of_eight_days_ago_is_of_another_week(store, write):
    write(1, 8 * DAY, "#bread")
    for uid in (2, 3):
        write(uid, HOUR, "#bread")
    assert shown(store) == []
    write(4, HOUR, "#bread")
    assert shown(store) == [("bread", 3, 3)]


def test_a_tag_that_rises_comes_before_one_that_many_always_use(store, write):
    for week in (4, 3, 2, 1):
        for uid in range(10, 20):
            write(uid, week * 7 * DAY + DAY, "#always")
    for uid in range(10, 20):
        write(uid, HOUR, "#always")
    for uid in (1, 2, 3, 4):
        write(uid, HOUR, "#new")
    assert shown(store) == [("new", 4, 4), ("always", 10, 10)]


def test_three_new_people_are_less_than_a_rise_from_ten_to_thirty(store, write):
    for week in (4, 3, 2, 1):
        for uid in range(10, 20):
            write(uid, week * 7 * DAY + DAY, "#often")
    for uid in range(10, 40):
        write(uid, HOUR, "#often")
    for uid in (1, 2, 3):
        write(uid, HOUR, "#new")
    assert [name for name, _, _ in shown(store)] == ["often", "new"]


def test_of_many_posts_the_newest_are_read_and_there_may_be_more_people(store, write, monkeypatch):
    monkeypatch.setattr(module, "READ_OF_A_WEEK", 4)
    for uid in range(1, 7):
        write(uid, HOUR, "#bread")
    [tag] = rising(store)
    assert (tag.people, tag.all_counted, tag.posts) == (4, False, 6)


@pytest.mark.parametrize("state", ["hidden", "suspended"])
def test_people_whom_staff_has_hidden_are_not_counted(store, raw, write, state):
    for uid in (1, 2, 3, 4, 4):
        write(uid, HOUR, "#bread")
    assert shown(store) == [("bread", 4, 5)]
    Memory.clear_all()
    raw.hset("user:4", "state", state)
    [tag] = rising(store)
    assert (tag.people, tag.all_counted, tag.posts) == (3, True, 3)
    Memory.clear_all()
    raw.hset("user:3", "state", state)
    assert shown(store) == []


def test_no_more_tags_are_compared_and_shown_than_the_bounds_say(store, write, round_trips):
    for number in range(COMPARED + 5):
        for uid in (1, 2, 3):
            write(uid, HOUR, f"#tag_{number}")
    posts = sample(store)
    assert len(rising_tags(store, posts, time.time())) == MOST_TAGS
    recorded = round_trips(lambda: rising_tags(store, posts, time.time()))
    assert sum(command[0] == "ZCOUNT" for command in recorded.commands) == 5 * COMPARED
    assert sum(command[0] == "ZREVRANGEBYSCORE" for command in recorded.commands) == 5 * COMPARED


def test_without_tags_nothing_is_asked(store, write, round_trips):
    write(1, 0, "no tag")
    posts = sample(store)
    assert round_trips(lambda: rising_tags(store, posts, time.time())).round_trips == []
