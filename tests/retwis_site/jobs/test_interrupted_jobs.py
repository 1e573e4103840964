"""The store fails while a worker has jobs: the worker takes them back as soon as the store answers again."""

import pytest

from retwis_site.exceptions import StoreError
from retwis_site.jobs.worker import drain
from tests.support.delivering import is_finished
from tests.support.people import LONG_AGO
from tests.support.stored_keys import add_overdue_job
from tests.support.stores.seam import before_each_round_trip

JOBS = {"alone": "post:7:abc", "in a batch": "index:7"}


@pytest.fixture(params=JOBS.values(), ids=JOBS)
def job(request, raw, alice):
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
    add_overdue_job(raw, request.param)
    return request.param


def fail_while_jobs_are_claimed(raw):
    def fail():
        if raw.exists("attempts"):
            raise StoreError("down")

    return before_each_round_trip(fail)


def interrupt(raw, store):
    """Let the store fail in the middle of the jobs that are due."""
    with fail_while_jobs_are_claimed(raw), pytest.raises(StoreError):
        drain(store, "worker")


def test_the_worker_need_not_wait_for_the_end_of_its_own_lease(raw, store, job):
    interrupt(raw, store)
    assert raw.get(f"lease:{job}") == "worker"
    assert drain(store, "worker") == 1
    assert is_finished(raw)
    assert not raw.exists("attempts")


def test_a_lease_that_another_worker_has_by_then_stays(raw, store, job):
    interrupt(raw, store)
    raw.set(f"lease:{job}", "another worker")
    assert drain(store, "worker") == 0
    assert raw.get(f"lease:{job}") == "another worker"


def test_a_job_that_the_store_fails_at_twice_waits_for_the_end_of_its_lease(raw, store, job):
    """Else it could keep the worker from the other jobs, and be a dead letter within seconds."""
    interrupt(raw, store)
    raw.hset("attempts", job, "2")
    assert drain(store, "worker") == 0
    assert raw.get(f"lease:{job}") == "worker"
    assert raw.hget("attempts", job) == "2"


def test_a_lease_whose_key_is_damaged_does_not_stop_the_worker(raw, store, job):
    interrupt(raw, store)
    raw.delete(f"lease:{job}")
    raw.rpush(f"lease:{job}", "no string")
    add_overdue_job(raw, "user:1")
    assert drain(store, "worker") == 1
    assert raw.zrange("outbox", 0, -1) == [job]


def test_jobs_that_were_not_interrupted_cost_nothing_more(raw, store, job):
    interrupt(raw, store)
    drain(store, "worker")
    made = []
    with before_each_round_trip(lambda: made.append(1)):
        drain(store, "worker")
    assert len(made) == 1  # the look at the outbox
