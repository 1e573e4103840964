"""The figures of the store, as they are read at a scrape: a fixed number of cheap commands."""

import time

import pytest
import redis

from retwis_site.telemetry.metrics import StoreFigures
from tests.support.people import LONG_AGO
from tests.support.stored_keys import publish
from tests.support.stores.seam import broken_store

pytestmark = pytest.mark.real_server  # INFO


def figures(store):
    """name -> the sum of its values."""
    return {metric.name: sum(sample.value for sample in metric.samples) for metric in StoreFigures(store).collect()}


def test_figures_are_what_the_store_holds(raw, store, alice, bob):
    for body in ("one", "two", "three"):
        publish(raw, store, alice, body)
    raw.delete("outbox")
    raw.zadd("outbox", {"follow:1:2:abc": int(time.time()) - 90, "follow:2:1:abc": int(time.time()) + 60})
    raw.zadd("set_aside", {"follow:9:9:abc": LONG_AGO})
    raw.set("worker_seen", LONG_AGO)
    raw.hset("search_index", mapping={f"posts:{2**40}": "39", "reindexed": "7"})  # of ids from the time
    found = figures(store)
    assert 88 <= found.pop("retwis_outbox_oldest_due_seconds") <= 100
    assert found.pop("retwis_store_memory_used_bytes") > 100_000
    assert found.pop("retwis_store_clients") >= 1
    assert found == {
        "retwis_store_up": 1,
        "retwis_users": 2,
        "retwis_sessions": 2,
        "retwis_posts": 3 + 39,
        "retwis_outbox_jobs": 2,
        "retwis_dead_letters": 1,
        "retwis_worker_seen_timestamp_seconds": LONG_AGO,
        "retwis_store_memory_max_bytes": 0,
    }


def test_an_empty_store_has_no_worker_and_zeros(raw, store):
    found = figures(store)
    assert "retwis_worker_seen_timestamp_seconds" not in found
    assert (found["retwis_users"], found["retwis_posts"], found["retwis_outbox_oldest_due_seconds"]) == (0, 0, 0)


def test_the_number_of_commands_does_not_grow_with_the_site(raw, store, alice, round_trips):
    before = len(round_trips(lambda: figures(store)).commands)
    for number in range(30):
        publish(raw, store, alice, f"post {number}")
    assert len(round_trips(lambda: figures(store)).commands) == before


def test_a_key_of_the_wrong_type_hides_figures_and_not_that_the_store_answers(raw, store):
    raw.set("users", "x")
    assert figures(store) == {"retwis_store_up": 1}


@pytest.mark.parametrize("error", [redis.ConnectionError("refused"), redis.BusyLoadingError("loading")])
def test_a_store_that_does_not_answer_is_down(raw, store, error):
    with broken_store(error):
        assert figures(store) == {"retwis_store_up": 0}
