"""Between which ids the posts of a time are."""

import pytest

from retwis_site.store.snowflake import SMALLEST, first_of, made_at
from timeline.posts.reading.moments import LOOKS
from timeline.search.queries.candidates import bounds
from timeline.search.queries.parsing import Before, NotBefore, Query

NUMBER = 10_000  # posts, a minute apart; those of each tenth minute are gone


@pytest.fixture
def posts(raw):
    pipe = raw.pipeline(transaction=False)
    for pid in range(1, NUMBER + 1):
        if pid % 10:
            pipe.hset(f"post:{pid}", "time", pid * 60)
    pipe.execute()


def between(store, *parts, newest=NUMBER):
    return bounds(store, Query(parts, ()), 2**53, newest)


@pytest.mark.parametrize("pid", [1, 2, 64, 5000, 5010, 9999, 20_000])
def test_ids_of_a_counter_are_found_by_the_times_of_few_posts(posts, store, round_trips, pid):
    first, after = between(store, Before(pid * 60))
    assert first == 0
    assert min(pid, NUMBER + 1) <= after <= pid + 30
    assert min(pid, NUMBER) - 30 <= between(store, NotBefore(pid * 60)).first <= pid
    recorded = round_trips(lambda: between(store, Before(pid * 60)))
    assert len(recorded.round_trips) <= LOOKS
    assert len(recorded.commands) <= LOOKS * 160


def test_a_post_with_the_date_of_another_time_moves_the_bounds_apart(posts, raw, store):
    raw.hset("post:6006", "time", 1)  # brought back from another site
    raw.hset("post:3003", "time", 10**9)
    assert between(store, Before(5000 * 60)).after >= 5000
    assert between(store, NotBefore(5000 * 60)).first <= 5000


def test_ids_from_the_time_say_it_themselves(raw, store, round_trips):
    moment = 1_793_491_200
    newest = first_of(moment + 10**6)
    recorded = round_trips(lambda: between(store, Before(moment), newest=newest))
    assert len(recorded.round_trips) == 0
    assert between(store, Before(moment), NotBefore(moment - 86_400), newest=newest) == (
        first_of(moment - 86_400),
        first_of(moment),
    )
    assert made_at(first_of(moment)) == moment


def test_before_the_first_id_from_the_time_are_those_of_the_counter(raw, store):
    assert between(store, Before(1_000_000_000), newest=2**50) == (0, SMALLEST)
    assert between(store, NotBefore(1_000_000_000), newest=2**50) == (0, 2**53)


def test_no_posts_are_all_posts(raw, store):
    assert between(store, Before(1000), newest=0) == (0, 1)
