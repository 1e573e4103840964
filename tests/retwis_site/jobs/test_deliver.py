"""`deliver` finishes the jobs of killed processes. What each kind of job does: tests/protocols/test_crashes.py."""

import time

import pytest

from tests.support.people import LONG_AGO, SECRET
from tests.support.stored_keys import add_overdue_job, deliver, everything, finish_one_job, is_finished, publish


def test_deliver_has_nothing_to_do_in_an_empty_store(raw, capsys):
    assert deliver(capsys) == "0 jobs finished.\n"
    assert everything(raw) == {}


def test_deliver_undoes_a_registration_whose_name_is_taken(raw, capsys, alice):
    before = everything(raw)
    raw.hset("user:2", mapping={"username": "ALICE", "password": "hash", "auth": SECRET})
    add_overdue_job(raw, "user:2")
    finish_one_job(raw, capsys)
    assert everything(raw) == before


@pytest.mark.parametrize("job", ["user:1", "post:7:abc"])
def test_deliver_removes_the_job_of_a_registration_or_a_post_that_never_began(raw, capsys, job):
    add_overdue_job(raw, job)
    assert deliver(capsys) == "1 jobs finished.\n"
    assert everything(raw) == {}


def test_deliver_removes_the_job_of_a_logout_that_never_began(raw, capsys, alice, browser):
    before = everything(raw)
    add_overdue_job(raw, f"auth:1:{alice.secret}:abc")
    finish_one_job(raw, capsys)
    assert everything(raw) == before
    assert 'action="/logout/"' in browser(alice).get("/").content.decode()


def test_deliver_removes_the_job_of_a_first_secret_that_was_never_written(raw, capsys, alice):
    """A login gives a secret to an account without one. This login died before its commit."""
    raw.hdel("user:1", "auth")
    raw.delete("auths")
    before = everything(raw)
    add_overdue_job(raw, "auth:1::abc")
    finish_one_job(raw, capsys)
    assert everything(raw) == before


def test_deliver_finishes_the_first_secret_of_an_account(raw, capsys, alice):
    raw.delete("auths")
    add_overdue_job(raw, "auth:1::abc")
    finish_one_job(raw, capsys)
    assert raw.hgetall("auths") == {alice.secret: "1"}


def test_deliver_reaches_the_home_timelines_of_many_followers(raw, capsys, alice):
    raw.zadd("followers:1", {str(uid): LONG_AGO for uid in range(2, 2502)})
    for uid in range(2, 2502):
        raw.rpush(f"posts:{uid}", "b1", "0")
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
    add_overdue_job(raw, "post:7:abc")
    assert deliver(capsys) == "1 jobs finished.\n"
    assert raw.keys("posts:*") == []


def test_deliver_does_not_restore_a_post_that_was_deleted_meanwhile(raw, capsys, alice, browser):
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "", "deleted": LONG_AGO + 1})
    add_overdue_job(raw, "post:7:abc")
    finish_one_job(raw, capsys)
    assert raw.exists("updates:1") == 0
    assert browser().get("/@alice/7/").status_code == 410


def test_one_run_finishes_all_kinds_and_a_second_run_finishes_nothing(raw, capsys, store, alice, bob):
    pid = publish(raw, store, alice, "I never said that")
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
    raw.zadd("following:1", {"2": LONG_AGO})
    for job in ("user:9", f"auth:1:{alice.secret}:a", "post:7:b", "follow:1:2:c", f"del:{pid}:1:d"):
        add_overdue_job(raw, job)
    assert deliver(capsys) == "5 jobs finished.\n"
    assert is_finished(raw)
    after = everything(raw)
    assert deliver(capsys) == "0 jobs finished.\n"
    assert everything(raw) == after


def test_deliver_leaves_a_job_that_is_not_due(raw, capsys, alice):
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
    raw.zadd("outbox", {"post:7:abc": int(time.time()) + 60})
    before = everything(raw)
    assert deliver(capsys) == "0 jobs finished.\n"
    assert everything(raw) == before


def test_deliver_leaves_a_job_that_another_worker_has_claimed(raw, capsys, alice):
    for pid in (7, 8):
        raw.hset(f"post:{pid}", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
        add_overdue_job(raw, f"post:{pid}:abc")
    raw.set("lease:post:7:abc", "another:1", ex=60)
    assert deliver(capsys) == "1 jobs finished.\n"
    assert raw.zrange("outbox", 0, -1) == ["post:7:abc"]
    assert raw.zrange("updates:1", 0, -1) == ["8"]
    assert raw.get("lease:post:7:abc") == "another:1"
    raw.delete("lease:post:7:abc")
    assert deliver(capsys) == "1 jobs finished.\n"
    assert raw.zrange("updates:1", 0, -1) == ["7", "8"]
    assert is_finished(raw)
