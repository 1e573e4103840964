"""`doctor` reports overdue jobs and dead letters, and --fix carries them out."""

import time

import pytest

from accounts.community.sanctions import Sanctions
from accounts.users.entities import State
from retwis_site.jobs.worker import ATTEMPTS, drain
from retwis_site.rendering.dates import A_DAY
from tests.support.maintenance.doctor_report import OVERDUE, complaints, doctor
from tests.support.maintenance.healthy_site import home_pids
from tests.support.people import LONG_AGO, SECRET

pytestmark = pytest.mark.usefixtures("no_waiting")


def test_an_overdue_job_is_an_error_and_is_carried_out(site, store, bob, capsys):
    site.hset("post:5", mapping={"user_id": "1", "time": LONG_AGO, "body": "Fifth"})
    site.set("next_post_id", 5)
    site.zadd("outbox", {"post:5:abc": int(time.time()) - 90})
    assert doctor(capsys)[1] == {OVERDUE: 1}
    assert doctor(capsys, "--fix")[0] == 0
    assert doctor(capsys) == (0, {}, {})
    assert home_pids(store, bob) == [5, 4, 3, 1]
    assert site.zcard("outbox") == 0


def test_an_overdue_job_that_must_wait_longer_stays_until_then(site, store, capsys):
    """No account is deleted while an appeal is open."""
    Sanctions(store).impose(2, State.SUSPENDED, "spam")
    Sanctions(store).appeal(2, "It was not me.")
    job = f"removal:2:{site.hget('user:2', 'state_act')}"
    site.hset("user:2", "state_since", int(time.time()) - 31 * A_DAY)
    site.zadd("outbox", {job: LONG_AGO})
    doctor(capsys, "--fix")
    assert site.zscore("outbox", job) == pytest.approx(time.time() + A_DAY, abs=60)


@pytest.mark.parametrize("seconds_ago", [30, -30])
def test_a_job_that_has_just_become_due_is_not_overdue(site, capsys, seconds_ago):
    site.zadd("outbox", {"post:1:abc": int(time.time()) - seconds_ago})
    assert doctor(capsys, "--fix") == (0, {}, {})
    assert site.zcard("outbox") == 1


def test_a_job_that_a_worker_has_claimed_is_not_overdue(site, capsys):
    site.zadd("outbox", {"post:1:abc": LONG_AGO})
    site.set("lease:post:1:abc", "a worker", ex=60)
    assert doctor(capsys, "--fix") == (0, {}, {})


def test_a_dead_letter_is_reported_and_finished_once_it_can_be(site, store, bob, capsys):
    site.zadd("outbox", {"follow:2:3:abc": LONG_AGO})
    site.zrem("following:2", 3)
    site.set("followers:3", "no sorted set")
    for _ in range(ATTEMPTS + 1):
        drain(store, "worker")
        site.delete("lease:follow:2:3:abc")
    assert "dead letters: 1" in complaints(capsys)
    assert doctor(capsys, "--fix")[0] == 0
    assert doctor(capsys)[:2] == (0, {})
    assert site.zcard("set_aside") == 0


def test_no_report_shows_the_secret_in_the_job_of_a_logout(site, alice, capsys):
    site.zadd("outbox", {f"auth:1:{alice.secret}:abc": LONG_AGO})
    site.zadd("set_aside", {f"auth:1:{alice.secret}:def": LONG_AGO})
    site.hset("auths", SECRET, 1)
    for options in ([], ["--json"]):
        out = complaints(capsys, *options)
        assert "auth:1" in out
        assert alice.secret not in out
        assert SECRET not in out
