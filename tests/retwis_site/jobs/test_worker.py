"""The worker: posts for many followers, jobs that cannot be finished, how it starts and stops, and what it does
while the store fails or has no memory."""

import contextlib
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from threading import Event
from types import SimpleNamespace

import pytest
import redis
from django.conf import settings
from django.core.management import call_command

from retwis_site.exceptions import LeaseEnded, StoreError, StoreReadOnly, StoreRefused
from retwis_site.jobs import lease, worker
from retwis_site.jobs.outbox import LEASE, Claim, Outbox
from retwis_site.jobs.worker import drain
from retwis_site.management.commands import deliver as deliver_command
from tests.support.http.http_browser import TIMEOUT
from tests.support.people import LONG_AGO, SECRET
from tests.support.processes.processes import environment, wait_until
from tests.support.removed_accounts import home_texts
from tests.support.stored_keys import add_overdue_job, deliver, drain_due, finish_one_job, is_finished, publish
from tests.support.stores.seam import before_each_round_trip
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows


@pytest.mark.parametrize(
    "add",
    [
        lambda outbox: outbox.add("fan:1"),
        lambda outbox: outbox.queue_add("fan:1")[1].execute(),
        lambda outbox: outbox.add_all(["fan:1"]),
    ],
)
def test_what_its_owner_carries_out_is_a_worker_s_after_the_lease(raw, store, add):
    add(Outbox(store))
    assert abs(raw.zscore("outbox", "fan:1") - time.time() - LEASE) < 5


def test_a_count_that_is_no_number_begins_anew(raw, store):
    raw.hset("attempts", "follow:1:2:a", "x")
    raw.zadd("outbox", {"follow:1:2:a": LONG_AGO})
    assert [claim.attempt for claim in Outbox(store).claim(["follow:1:2:a"], "a worker", lambda: False)] == [1]
    assert raw.hgetall("attempts") == {"follow:1:2:a": "1"}


@pytest.mark.parametrize("way", ["carry_out", "carry_out_for_a_turn"])
def test_a_worker_that_is_told_to_stop_does_no_further_chunk(store, way):
    chunks = iter(range(3))
    claim = Claim(lease.LeasedStore(store, LEASE), "fan:1", 1, lambda: True)
    assert getattr(claim, way)(chunks) is False
    assert [*chunks] == [1, 2]


def test_a_job_of_an_unknown_kind_stays_and_is_logged(raw, capsys, alice, log):
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
    raw.zadd("outbox", {"adopt:secret:1": LONG_AGO - 1, "post:7:abc": LONG_AGO})
    assert deliver(capsys) == "1 jobs finished.\n"
    assert raw.zrange("outbox", 0, -1, withscores=True) == [("adopt:secret:1", LONG_AGO - 1)]
    assert raw.keys("lease:*") == []
    assert [record.levelname for record in log.records] == ["ERROR"]
    assert "adopt" in log.text
    assert "secret" not in log.text


def test_many_jobs_of_unknown_kinds_do_not_block_another_job(raw, capsys, alice, log):
    raw.zadd("outbox", {f"adopt:{number}": LONG_AGO + number for number in range(250)})
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
    raw.zadd("outbox", {"post:7:abc": LONG_AGO + 1000})
    assert deliver(capsys) == "1 jobs finished.\n"
    assert raw.zrange("updates:1", 0, -1) == ["7"]
    assert raw.zcard("outbox") == 250


@pytest.mark.parametrize(
    "job", ["post:seven:abc", f"auth:one:{SECRET}:abc", "follow:1:2:abc", "del:7", "recount:1:a:b:c:d:e"]
)
def test_a_job_that_cannot_be_finished_stays_and_does_not_block_another_job(raw, capsys, alice, log, job):
    """Jobs with malformed names, and a job about a key of the wrong type."""
    raw.set("following:1", "no sorted set")
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
    raw.zadd("outbox", {job: LONG_AGO - 1, "post:7:abc": LONG_AGO})
    assert deliver(capsys) == "1 jobs finished.\n"
    assert raw.zrange("outbox", 0, -1) == [job]
    assert raw.zrange("updates:1", 0, -1) == ["7"]
    assert [record.levelname for record in log.records] == ["ERROR"]
    assert SECRET not in log.text


def test_a_job_that_fails_again_and_again_becomes_a_dead_letter(raw, alice, capsys, log):
    add_overdue_job(raw, "post:seven:abc")
    for _ in range(6):
        deliver(capsys)
        raw.delete("lease:post:seven:abc")
    assert is_finished(raw)
    assert raw.zrange("set_aside", 0, -1) == ["post:seven:abc"]
    assert not raw.exists("attempts")
    assert "dead letter after 5 attempts" in log.text


@pytest.mark.parametrize("count", ["1", "no number"])
def test_a_job_that_another_worker_has_finished_meanwhile_does_not_run(raw, store, alice, bob, count):
    """This worker has read its name before. If it died in the middle, no one would finish its work."""
    raw.zadd("outbox", {"user:1": LONG_AGO, "follow:1:2:abc": LONG_AGO + 1})
    raw.zadd("followers:2", {"1": LONG_AGO})  # the job would remove it

    def finish_job_of_follow():
        if raw.exists("lease:user:1"):  # the list of due jobs has been read
            raw.zrem("outbox", "follow:1:2:abc")
            raw.hset("attempts", "follow:1:2:abc", count)

    with before_each_round_trip(finish_job_of_follow):
        assert drain(store, "worker") == 1
    assert raw.zrange("followers:2", 0, -1) == ["1"]
    assert raw.zcard("outbox") == 0
    assert (raw.keys("lease:*"), raw.hgetall("attempts")) == ([], {})


def test_jobs_that_another_worker_has_finished_do_not_make_the_next_look_larger(raw, store, sent, monkeypatch):
    monkeypatch.setattr(worker, "BATCH", 2)
    for uid in range(1, 31):
        add_overdue_job(raw, f"user:{uid}")
    at_work = set()

    def finish_the_next_job():
        [first, second] = [*raw.zrange("outbox", 0, 1), "", ""][:2]
        if raw.exists(f"lease:{first}") and first not in at_work:
            at_work.add(first)
            raw.zrem("outbox", second)

    with before_each_round_trip(finish_the_next_job):
        assert drain(store, "worker") == 15
    assert {command[-1] for command in sent.commands if command[:2] == ("ZRANGEBYSCORE", "outbox")} == {2, 3}


def test_a_job_that_another_worker_has_put_off_meanwhile_is_not_claimed(raw, store):
    later = int(time.time()) + 3600
    raw.zadd("outbox", {"picture:abc:1": later})
    assert Outbox(store).claim(["picture:abc:1"], "worker", lambda: False) == []
    assert raw.zscore("outbox", "picture:abc:1") == later
    assert (raw.keys("lease:*"), raw.hgetall("attempts")) == ([], {})


def test_a_job_that_a_worker_with_a_clock_ahead_has_released_keeps_its_count(raw, store):
    raw.zadd("outbox", {"follow:1:2:a": int(time.time()) + 5})
    raw.hset("attempts", "follow:1:2:a", "1")
    [claim] = Outbox(store).claim(["follow:1:2:a"], "worker", lambda: False)
    assert claim.attempt == 2
    assert raw.hgetall("attempts") == {"follow:1:2:a": "2"}


def test_a_count_that_is_no_number_keeps_no_other_job_waiting(raw, store):
    jobs = ["follow:1:2:a", "follow:1:3:b"]
    raw.zadd("outbox", dict.fromkeys(jobs, 1))
    raw.hset("attempts", "follow:1:3:b", "x")
    assert [claim.name for claim in Outbox(store).claim(jobs, "worker", lambda: False)] == jobs


def test_a_job_that_goes_on_later_has_not_failed_however_many_turns_it_takes(raw, store):
    for _ in range(2 * worker.ATTEMPTS):
        raw.zadd("outbox", {"follow:1:2:a": 1})
        [claim] = Outbox(store).claim(["follow:1:2:a"], "worker", lambda: False)
        assert claim.attempt <= 2
        claim.outbox.release(claim.name)
    assert raw.hgetall("attempts") == {"follow:1:2:a": "1"}
    assert raw.keys("lease:*") == []


def test_a_worker_writes_nothing_for_a_claim_whose_lease_has_ended(raw, store, monkeypatch):
    add_overdue_job(raw, "follow:1:2:a")
    [claim] = Outbox(store).claim(["follow:1:2:a"], "worker", lambda: False)
    now = time.monotonic()
    monkeypatch.setattr(lease, "time", SimpleNamespace(monotonic=lambda: now + LEASE))
    with pytest.raises(LeaseEnded):
        claim.store.zrem("following:1", "2")
    with pytest.raises(LeaseEnded):
        claim.outbox.done(claim.name)
    assert raw.zrange("outbox", 0, -1) == ["follow:1:2:a"]


def test_more_than_a_hundred_jobs_are_finished_in_one_run(raw, capsys):
    for uid in range(1, 151):
        add_overdue_job(raw, f"user:{uid}")
    assert deliver(capsys) == "150 jobs finished.\n"
    assert raw.keys() == ["worker_seen"]


@pytest.fixture
def left_to_the_worker(settings, store, alice, bob, carol, raw):
    """A post of alice's. Her two followers are more than DELIVER_INLINE_LIMIT."""
    settings.DELIVER_INLINE_LIMIT = 1
    for reader in (bob, carol):
        Follows(store).follow(reader.user.uid, alice.user.uid)
        raw.rpush(f"posts:{reader.user.uid}", "b1", "0")
    return publish(raw, store, alice, "To very many")


def test_a_post_for_many_followers_is_left_to_the_worker(raw, left_to_the_worker, browser, alice):
    [(job, due)] = raw.zrange("outbox", 0, -1, withscores=True)
    assert job.startswith("fan:1:")
    assert due <= time.time()
    assert raw.lrange("posts:2", 0, -1) == ["b1", "0"]
    assert raw.zrange("updates:1", 0, -1) == ["1"]
    assert raw.lrange("timeline", 0, -1) == ["1"]
    assert "To very many" in browser(alice).get("/").content.decode()


def test_the_first_worker_pushes_to_home_timelines_and_leaves_nothing_behind(raw, left_to_the_worker, capsys):
    assert deliver(capsys) == "1 jobs finished.\n"
    assert raw.lrange("posts:2", 0, 0) == raw.lrange("posts:3", 0, 0) == ["1"]
    assert is_finished(raw)
    assert not raw.exists("attempts")


@pytest.mark.parametrize("worker", ["after a killed worker", "an hour late"])
def test_a_worker_that_comes_later_drops_home_timelines(raw, left_to_the_worker, capsys, worker):
    """After an hour the id would be pushed above many newer posts."""
    if worker == "an hour late":
        raw.hset("post:1", "time", int(time.time()) - 3600)
    else:
        raw.hset("attempts", *raw.zrange("outbox", 0, -1), 1)
    assert deliver(capsys) == "1 jobs finished.\n"
    assert not raw.exists("posts:2", "posts:3")
    assert is_finished(raw)


def test_a_worker_that_must_stop_finishes_its_chunk_and_releases_the_job(
    raw, store, left_to_the_worker, monkeypatch, capsys
):
    monkeypatch.setattr(worker, "stop", Event())

    def stop_once_claimed():
        if raw.keys("lease:*"):
            worker.stop.set()

    with before_each_round_trip(stop_once_claimed):
        assert drain(store, "worker") == 0
    assert raw.lrange("posts:2", 0, 0) == raw.lrange("posts:3", 0, 0) == ["1"]
    assert raw.zcard("outbox") == 1
    assert raw.keys("lease:*") == []
    worker.stop.clear()
    finish_one_job(raw, capsys)


@pytest.mark.real_server
def test_deliver_watches_the_outbox_until_sigterm(raw, alice, tmp_path):
    command = [sys.executable, "manage.py", "deliver"]
    variables = environment(tmp_path, PYTHONUNBUFFERED="")  # as under systemd
    with subprocess.Popen(command, cwd=settings.BASE_DIR, env=variables, stdout=subprocess.PIPE, text=True) as process:
        try:
            for pid in (7, 8):
                raw.hset(f"post:{pid}", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
                add_overdue_job(raw, f"post:{pid}:abc")
                wait_until(lambda: raw.zcard("outbox") == 0, "the worker")
            assert raw.zrange("updates:1", 0, -1) == ["7", "8"]
            wait_until(lambda: raw.keys("lease:*") == [], "the worker to remove the lease")
            assert select.select([process.stdout], [], [], 0)[0]  # systemd's journal has that it waits
            assert process.stdout.readline() == "Waiting for jobs (Ctrl-C stops it)\n"
            process.send_signal(signal.SIGTERM)
            assert process.wait(TIMEOUT) == 0
        finally:
            process.kill()


def test_a_worker_that_starts_while_the_store_is_down_continues_by_itself(raw, monkeypatch, log):
    calls = []
    real = Outbox.misplaced

    def misplaced(outbox):
        calls.append(outbox)
        if len(calls) < 3:
            raise StoreError("down")
        return real(outbox)

    monkeypatch.setattr(Outbox, "misplaced", misplaced)
    monkeypatch.setattr(deliver_command, "PAUSE_AFTER_FAILURE", 0)
    stop = Event()
    monkeypatch.setattr(deliver_command, "stop", stop)
    monkeypatch.setattr(deliver_command, "rounds", lambda *arguments: [stop.set()])
    monkeypatch.setattr(deliver_command.signal, "signal", lambda *arguments: None)
    call_command("deliver", verbosity=0)
    assert len(calls) == 3
    said = [record.getMessage() for record in log.records if record.name == "retwis.deliver"]
    assert said == ["deliver: down", "deliver: down", "deliver: the store answers again"]


# ---- The store fails while a worker has jobs: the worker takes them back as soon as the store answers again.


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


def test_nor_for_that_of_a_lease_whose_attempt_a_proxy_without_a_server_has_refused(raw, store, job):
    def refuse():
        if raw.exists(f"lease:{job}"):
            raise StoreRefused("the store refused HINCRBY: Connection refused")

    with before_each_round_trip(refuse):
        with pytest.raises(StoreRefused):
            drain(store, "worker")
        with suppress(StoreRefused):
            drain(store, "worker")  # the outage lasts longer than a round
    assert raw.get(f"lease:{job}") == "worker"
    assert drain(store, "worker") == 1
    assert is_finished(raw)


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


# ---- A server without memory refuses to add, and removes all the same. No job is lost by that.


FULL = redis.OutOfMemoryError("OOM command not allowed when used memory > 'maxmemory'.")


@pytest.fixture
def out_of_memory(store, monkeypatch):
    """`with out_of_memory("fan:"):` from the ZADD of such a job on, the server adds nothing more."""
    real = store.transport.exchange

    @contextlib.contextmanager
    def from_job_on(kind):
        full = False

        def exchange(queued):
            nonlocal full
            full = full or any(command[0] == "ZADD" and str(command[3]).startswith(kind) for command, _ in queued)
            accepted = [one for one in queued if not full or one[0][0] != "ZADD"]
            replies = iter(real(accepted))
            return [next(replies) if one in accepted else FULL for one in queued]

        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(store.transport, "exchange", exchange)
            yield

    return from_job_on


def test_a_job_that_cannot_be_handed_over_stays(store, raw, out_of_memory):
    job = Outbox(store).add("del:1:1:a")
    with out_of_memory("del:1:1:b"), pytest.raises(StoreReadOnly):
        job.replace("del:1:1:b")
    assert raw.zrange("outbox", 0, -1) == ["del:1:1:a"]
    job.replace("del:1:1:b")
    assert raw.zrange("outbox", 0, -1) == ["del:1:1:b"]


def test_a_post_for_many_comes_to_all_homes(store, alice, bob, raw, settings, out_of_memory):
    settings.DELIVER_INLINE_LIMIT = 0
    Follows(store).follow(2, 1)
    home_texts(store, bob)
    with out_of_memory("fan:"), pytest.raises(StoreReadOnly):
        Posts(store).publish(1, NewPost("Hello"), "t")
    assert Posts(store).publish(1, NewPost("Hello"), "t").body == "Hello"  # the form is sent again
    drain_due(store, raw)
    assert home_texts(store, bob) == ["Hello"]
