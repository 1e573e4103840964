"""What one process at a time does with a thing."""

import time
from types import SimpleNamespace

import pytest

from retwis_site.exceptions import LeaseEnded
from retwis_site.jobs import lease, outbox
from retwis_site.jobs.outbox import ALONE, LOOKS, LOOKS_EVERY, alone
from tests.support.stores.seam import before_round_trip, killed_before_round_trip

KEY = "lease:thing:7"


@pytest.fixture(autouse=True)
def several_looks(monkeypatch):
    monkeypatch.setattr(outbox, "LOOKS", 5)


def test_it_is_of_one_process_until_the_block_ends(store, raw):
    with alone(store, "thing:7") as mine:
        assert 0 < raw.ttl(KEY) <= ALONE
        mine.hset("site", {"name": "One"})
        with pytest.raises(LeaseEnded), alone(store, "thing:7"):
            pytest.fail("two are in it")
        with alone(store, "thing:8"):
            assert raw.exists(KEY)
    assert not raw.keys("lease:*")
    assert raw.hget("site", "name") == "One"


def test_an_error_ends_it(store, raw):
    with pytest.raises(ValueError, match="no"), alone(store, "thing:7"):
        raise ValueError("no")
    assert not raw.exists(KEY)


def test_another_process_waits_for_its_end(store, raw):
    raw.set(KEY, "")
    with before_round_trip(3, lambda: raw.delete(KEY)) as ended, alone(store, "thing:7"):
        assert ended
        assert raw.exists(KEY)


def test_of_a_process_that_has_died_it_ends_by_itself(store, raw):
    def work():
        with alone(store, "thing:7") as mine:
            mine.hset("site", {"name": "One"})

    assert killed_before_round_trip(1, work)
    assert 0 < raw.ttl(KEY) <= ALONE


def test_nobody_is_refused_for_a_process_that_has_died(store, raw, monkeypatch):
    """It ends after ALONE seconds, which the clock of this test counts."""
    raw.set(KEY, "", ex=ALONE)
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        if sum(slept) > ALONE:
            raw.delete(KEY)

    monkeypatch.setattr(outbox, "LOOKS", LOOKS)
    monkeypatch.setattr(outbox, "LOOKS_EVERY", LOOKS_EVERY)
    monkeypatch.setattr(outbox, "time", SimpleNamespace(sleep=sleep, monotonic=time.monotonic, time=time.time))
    with alone(store, "thing:7") as mine:
        mine.hset("site", {"name": "One"})
    assert sum(slept) > ALONE
    assert raw.hget("site", "name") == "One"


def test_who_is_too_slow_writes_nothing_and_leaves_that_of_the_next_process(store, raw, monkeypatch):
    later = time.monotonic() + ALONE
    with alone(store, "thing:7") as mine:
        monkeypatch.setattr(lease, "time", SimpleNamespace(monotonic=lambda: later))
        with pytest.raises(LeaseEnded):
            mine.hset("site", {"name": "One"})
    assert raw.exists(KEY)
    assert not raw.exists("site")
