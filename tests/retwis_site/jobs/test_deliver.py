"""`deliver`: what a killed process left is finished, whatever kind it is."""

import logging
import signal
import subprocess
import sys
import time
from threading import Event

import pytest
from django.conf import settings
from django.core.management import call_command

from retwis_site.exceptions import StoreError
from retwis_site.jobs import worker
from retwis_site.jobs.outbox import Outbox
from retwis_site.jobs.worker import drain
from retwis_site.management.commands import deliver as deliver_command
from tests.support.command_output import said
from tests.support.people import LONG_AGO, NEWER_SECRET, SECRET
from tests.support.processes.processes import environment, wait_until
from tests.support.stored_keys import add_overdue_job, everything, publish
from timeline.posts.repository import Posts
from timeline.relations.follow import Follows


def deliver(capsys):
    return said(capsys, "deliver", "--once")


def is_finished(raw):
    return raw.zcard("outbox") == 0 and raw.keys("lease:*") == []


def test_deliver_has_nothing_to_do_in_an_empty_store(raw, capsys):
    assert deliver(capsys) == "0 jobs finished.\n"
    assert raw.dbsize() == 0


@pytest.mark.parametrize("committed", [False, True])
def test_deliver_finishes_a_registration(raw, capsys, browser, committed):
    """Its owner died before or after the commit, the HSETNX on the name."""
    raw.set("next_user_id", 1)
    add_overdue_job(raw, "user:1")
    raw.hset("user:1", mapping={"username": "Alice", "password": "hash", "auth": SECRET})
    if committed:
        raw.hset("users", "alice", "1")
    assert deliver(capsys) == "1 jobs finished.\n"
    assert is_finished(raw)
    assert raw.hgetall("users") == {"alice": "1"}
    assert raw.hgetall("auths") == {SECRET: "1"}
    assert raw.zrange("users_by_time", 0, -1) == ["Alice"]
    client = browser()
    client.cookies[settings.AUTH_COOKIE] = SECRET
    assert 'action="/logout/"' in client.get("/").content.decode()


def test_deliver_takes_back_a_registration_whose_name_somebody_else_won(raw, capsys, alice):
    before = everything(raw)
    raw.hset("user:2", mapping={"username": "ALICE", "password": "hash", "auth": SECRET})
    add_overdue_job(raw, "user:2")
    assert deliver(capsys) == "1 jobs finished.\n"
    assert is_finished(raw)
    assert everything(raw) == before


def test_deliver_strikes_out_a_registration_that_never_began(raw, capsys):
    add_overdue_job(raw, "user:1")
    assert deliver(capsys) == "1 jobs finished.\n"
    assert raw.dbsize() == 0


def test_deliver_finishes_a_logout(raw, capsys, alice, browser):
    add_overdue_job(raw, f"auth:1:{alice.secret}:abc")
    raw.hset("user:1", "auth", NEWER_SECRET)
    assert deliver(capsys) == "1 jobs finished.\n"
    assert is_finished(raw)
    assert raw.hgetall("auths") == {NEWER_SECRET: "1"}
    assert 'action="/logout/"' not in browser(alice).get("/").content.decode()


def test_deliver_strikes_out_a_logout_that_never_began(raw, capsys, alice, browser):
    before = everything(raw)
    add_overdue_job(raw, f"auth:1:{alice.secret}:abc")
    assert deliver(capsys) == "1 jobs finished.\n"
    assert is_finished(raw)
    assert everything(raw) == before
    assert 'action="/logout/"' in browser(alice).get("/").content.decode()


def test_deliver_strikes_out_the_first_secret_of_an_account_that_never_got_it(raw, capsys, alice):
    """A login to an account without a secret, as another program may have made it, gives it one; this one died."""
    raw.hdel("user:1", "auth")
    raw.delete("auths")
    before = everything(raw)
    add_overdue_job(raw, "auth:1::abc")
    assert deliver(capsys) == "1 jobs finished.\n"
    assert is_finished(raw)
    assert everything(raw) == before


def test_deliver_finishes_the_first_secret_of_an_account(raw, capsys, alice):
    raw.delete("auths")
    add_overdue_job(raw, "auth:1::abc")
    assert deliver(capsys) == "1 jobs finished.\n"
    assert is_finished(raw)
    assert raw.hgetall("auths") == {alice.secret: "1"}


def test_deliver_delivers_a_post(raw, capsys, store, alice, bob, carol, browser):
    """Its owner died right after the commit, the ZADD to the outbox. Homes are dropped and rebuild themselves."""
    Follows(store).follow(bob.user.uid, alice.user.uid)
    raw.set("next_post_id", 7)
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello from the grave"})
    raw.set("idem:1:token", "7")
    add_overdue_job(raw, "post:7:abc")
    for home in ("posts:1", "posts:2", "timeline"):
        raw.rpush(home, "b1", "0")
    raw.rpush("posts:3", "b1", "0")
    assert deliver(capsys) == "1 jobs finished.\n"
    assert is_finished(raw)
    assert raw.zrange("updates:1", 0, -1, withscores=True) == [("7", 7.0)]
    assert raw.exists("posts:1", "posts:2", "timeline") == 0
    assert raw.lrange("posts:3", 0, -1) == ["b1", "0"]
    for client, address in (
        (browser(alice), "/"),
        (browser(bob), "/"),
        (browser(), "/timeline/"),
        (browser(), "/@alice/"),
    ):
        assert "Hello from the grave" in client.get(address).content.decode()
    assert "Hello from the grave" not in browser(carol).get("/").content.decode()


def test_deliver_reaches_the_homes_of_many_followers(raw, capsys, alice):
    raw.zadd("followers:1", {str(uid): LONG_AGO for uid in range(2, 2502)})
    for uid in range(2, 2502):
        raw.rpush(f"posts:{uid}", "b1", "0")
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
    add_overdue_job(raw, "post:7:abc")
    assert deliver(capsys) == "1 jobs finished.\n"
    assert raw.keys("posts:*") == []


def test_deliver_does_not_bring_back_a_post_that_was_deleted_meanwhile(raw, capsys, alice, browser):
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "", "deleted": LONG_AGO + 1})
    add_overdue_job(raw, "post:7:abc")
    assert deliver(capsys) == "1 jobs finished.\n"
    assert is_finished(raw)
    assert raw.exists("updates:1") == 0
    assert browser().get("/@alice/7/").status_code == 410


def test_deliver_strikes_out_a_post_that_does_not_exist(raw, capsys):
    add_overdue_job(raw, "post:7:abc")
    assert deliver(capsys) == "1 jobs finished.\n"
    assert raw.dbsize() == 0


def test_deliver_finishes_a_follow(raw, capsys, alice, bob):
    raw.zadd("following:1", {"2": LONG_AGO})
    raw.rpush("posts:1", "b1", "0")
    raw.rpush("posts:2", "b1", "0")
    add_overdue_job(raw, "follow:1:2:abc")
    assert deliver(capsys) == "1 jobs finished.\n"
    assert is_finished(raw)
    assert raw.zrange("following:1", 0, -1, withscores=True) == [("2", LONG_AGO)]
    assert raw.zrange("followers:2", 0, -1, withscores=True) == [("1", LONG_AGO)]
    assert raw.exists("posts:1") == 0
    assert raw.exists("posts:2") == 1


def test_deliver_finishes_an_unfollow(raw, capsys, alice, bob, carol):
    raw.zadd("following:1", {"3": LONG_AGO})
    raw.zadd("followers:2", {"1": LONG_AGO, "3": LONG_AGO})
    raw.rpush("posts:1", "b1", "0")
    add_overdue_job(raw, "follow:1:2:abc")
    assert deliver(capsys) == "1 jobs finished.\n"
    assert is_finished(raw)
    assert raw.zrange("followers:2", 0, -1) == ["3"]
    assert raw.zrange("following:1", 0, -1) == ["3"]
    assert raw.exists("posts:1") == 0


@pytest.mark.parametrize("committed", [False, True])
def test_deliver_finishes_a_deletion(raw, capsys, store, alice, browser, committed):
    pid = publish(raw, store, alice, "I never said that")
    add_overdue_job(raw, f"del:{pid}:1:abc")
    if committed:
        raw.hset(f"post:{pid}", mapping={"deleted": LONG_AGO, "body": ""})
    assert deliver(capsys) == "1 jobs finished.\n"
    assert is_finished(raw)
    post = raw.hgetall(f"post:{pid}")
    assert post["body"] == ""
    assert int(post["deleted"]) > 0
    assert 29 * 86400 < raw.ttl(f"post:{pid}") <= 30 * 86400
    assert raw.exists(f"updates:{alice.user.uid}") == 0
    assert browser().get(f"/@alice/{pid}/").status_code == 410
    assert "I never said that" not in browser().get("/timeline/").content.decode()


def test_deliver_finishes_all_kinds_in_one_go_and_the_second_time_nothing(raw, capsys, store, alice, bob):
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


def test_deliver_leaves_what_is_not_due_to_its_owner(raw, capsys, alice):
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
    raw.zadd("outbox", {"post:7:abc": int(time.time()) + 60})
    before = everything(raw)
    assert deliver(capsys) == "0 jobs finished.\n"
    assert everything(raw) == before


def test_deliver_leaves_what_another_worker_has(raw, capsys, alice):
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


@pytest.fixture
def log(caplog, monkeypatch):
    """The site's own log, kept from the console."""
    logger = logging.getLogger("retwis")
    monkeypatch.setattr(logger, "propagate", True)
    monkeypatch.setattr(logger, "handlers", [])
    return caplog


def test_an_intent_of_an_unknown_kind_stays_and_is_logged(raw, capsys, alice, log):
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
    raw.zadd("outbox", {"adopt:secret:1": LONG_AGO - 1, "post:7:abc": LONG_AGO})
    assert deliver(capsys) == "1 jobs finished.\n"
    assert raw.zrange("outbox", 0, -1, withscores=True) == [("adopt:secret:1", LONG_AGO - 1)]
    assert raw.keys("lease:*") == []
    assert [record.levelname for record in log.records] == ["ERROR"]
    assert "adopt" in log.text
    assert "secret" not in log.text


def test_many_intents_of_unknown_kinds_hide_no_other(raw, capsys, alice, log):
    raw.zadd("outbox", {f"adopt:{number}": LONG_AGO + number for number in range(250)})
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
    raw.zadd("outbox", {"post:7:abc": LONG_AGO + 1000})
    assert deliver(capsys) == "1 jobs finished.\n"
    assert raw.zrange("updates:1", 0, -1) == ["7"]
    assert raw.zcard("outbox") == 250


@pytest.mark.parametrize("job", ["post:seven:abc", f"auth:one:{SECRET}:abc", "follow:1:2:abc", "del:7"])
def test_an_intent_that_cannot_be_finished_stays_and_holds_up_no_other(raw, capsys, alice, log, job):
    """Intents with damaged names, and one about a key that holds something else."""
    raw.set("following:1", "no sorted set")
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
    raw.zadd("outbox", {job: LONG_AGO - 1, "post:7:abc": LONG_AGO})
    assert deliver(capsys) == "1 jobs finished.\n"
    assert raw.zrange("outbox", 0, -1) == [job]
    assert raw.zrange("updates:1", 0, -1) == ["7"]
    assert [record.levelname for record in log.records] == ["ERROR"]
    assert SECRET not in log.text


def test_a_hundred_and_more_intents_are_finished_in_one_go(raw, capsys):
    for uid in range(1, 151):
        add_overdue_job(raw, f"user:{uid}")
    assert deliver(capsys) == "150 jobs finished.\n"
    assert raw.dbsize() == 0


@pytest.mark.real_server
def test_deliver_watches_the_outbox_until_sigterm(raw, alice, tmp_path):
    command = [sys.executable, "manage.py", "deliver"]
    with subprocess.Popen(
        command, cwd=settings.BASE_DIR, env=environment(tmp_path), stdout=subprocess.PIPE, text=True
    ) as worker:
        try:
            for pid in (7, 8):
                raw.hset(f"post:{pid}", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
                add_overdue_job(raw, f"post:{pid}:abc")
                wait_until(lambda: raw.zcard("outbox") == 0, "the worker")
            assert raw.zrange("updates:1", 0, -1) == ["7", "8"]
            wait_until(lambda: raw.keys("lease:*") == [], "the worker to give the lease back")
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(10) == 0
        finally:
            worker.kill()


# ---- cleanup


@pytest.fixture
def left_to_the_worker(settings, store, alice, bob, carol, raw):
    """alice has two followers with homes, which are more than are delivered to inline, and posts."""
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


def test_the_first_worker_pushes_and_leaves_nothing_behind(raw, left_to_the_worker, capsys):
    assert deliver(capsys) == "1 jobs finished.\n"
    assert raw.lrange("posts:2", 0, 0) == raw.lrange("posts:3", 0, 0) == ["1"]
    assert is_finished(raw)
    assert not raw.exists("attempts")


def test_whoever_comes_after_a_killed_worker_drops_homes_instead(raw, left_to_the_worker, capsys):
    [job] = raw.zrange("outbox", 0, -1)
    raw.hset("attempts", job, 1)
    assert deliver(capsys) == "1 jobs finished.\n"
    assert not raw.exists("posts:2", "posts:3")
    assert is_finished(raw)


def test_a_worker_that_comes_late_drops_homes_instead(raw, left_to_the_worker, capsys):
    """An hour later the id would stand at the heads of lists, above many that are newer."""
    raw.hset("post:1", "time", int(time.time()) - 3600)
    assert deliver(capsys) == "1 jobs finished.\n"
    assert not raw.exists("posts:2", "posts:3")
    assert is_finished(raw)


def test_a_worker_that_must_stop_finishes_its_chunk_and_gives_the_lease_back(
    raw, store, left_to_the_worker, monkeypatch, capsys
):
    monkeypatch.setattr("retwis_site.jobs.worker.stop", Event())
    real = Posts._push

    def told_to_stop(self, uid, pid):
        for pushed in real(self, uid, pid):
            worker.stop.set()
            yield pushed

    monkeypatch.setattr(Posts, "_push", told_to_stop)
    assert drain(store, "worker") == 0
    assert raw.zcard("outbox") == 1
    assert raw.keys("lease:*") == []
    worker.stop.clear()
    monkeypatch.setattr(Posts, "_push", real)
    assert deliver(capsys) == "1 jobs finished.\n"
    assert is_finished(raw)


def test_what_fails_again_and_again_is_set_aside(raw, alice, capsys, log):
    add_overdue_job(raw, "post:seven:abc")
    for _ in range(6):
        deliver(capsys)
        raw.delete("lease:post:seven:abc")
    assert is_finished(raw)
    assert raw.zrange("set_aside", 0, -1) == ["post:seven:abc"]
    assert not raw.exists("attempts")
    assert "dead letter after 5 attempts" in log.text


def test_a_worker_that_starts_while_the_store_is_away_goes_on_by_itself(raw, monkeypatch):
    looked = []
    real = Outbox.misplaced

    def misplaced(outbox):
        looked.append(outbox)
        if len(looked) < 3:
            raise StoreError("away")
        return real(outbox)

    monkeypatch.setattr(Outbox, "misplaced", misplaced)
    monkeypatch.setattr(deliver_command, "PAUSE_AFTER_FAILURE", 0)
    stop = Event()
    monkeypatch.setattr(deliver_command, "stop", stop)
    monkeypatch.setattr(deliver_command, "drain", lambda *arguments: stop.set())
    monkeypatch.setattr(deliver_command.signal, "signal", lambda *arguments: None)
    monkeypatch.setattr(deliver_command.gc, "set_threshold", lambda *arguments: None)
    call_command("deliver", verbosity=0)
    assert len(looked) == 3
