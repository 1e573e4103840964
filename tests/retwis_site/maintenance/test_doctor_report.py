"""What `doctor` prints: errors, orphans and advice, as text and as JSON; and what it does with jobs."""

import json
import time

import pytest
import redis
from django.core.management import call_command

from accounts.community.sanctions import Sanctions
from accounts.users.entities import State
from retwis_site.features import features
from retwis_site.jobs.worker import ATTEMPTS, OutboxChecks, drain
from retwis_site.maintenance.checks import KeyNames
from retwis_site.maintenance.examination import Examination, inconsistencies, orphans
from retwis_site.rendering.dates import A_DAY
from retwis_site.store import keys
from retwis_site.store.connection.recorder import Recording
from retwis_site.store.kinds import matching
from tests.support.command_output import OVERDUE, complaints, doctor, finds_and_mends, mends_all, refuses, said
from tests.support.maintenance.healthy_site import home_pids
from tests.support.people import LONG_AGO, SECRET
from tests.support.stored_keys import everything

pytestmark = pytest.mark.usefixtures("no_waiting")


def test_a_healthy_site_has_no_errors_and_is_not_changed(site, capsys):
    before = everything(site)
    for option in ([], ["--fix"]):
        assert doctor(capsys, *option) == (0, {}, {})
    assert everything(site) == before


def test_an_empty_store_has_no_errors(raw, capsys):
    assert doctor(capsys, "--fix") == (0, {}, {})
    assert everything(raw) == {}


def test_the_counter_of_a_site_without_posts_is_no_bad_value(raw, alice, capsys, caplog):
    raw.set("next_post_id", "0")  # as an import leaves it
    assert doctor(capsys) == (0, {}, {})
    assert [record.getMessage() for record in caplog.records] == []


def test_orphans_are_no_errors_and_are_removed_by_fix(site, capsys):
    site.hset("user:50", mapping={"username": "ghost", "password": "hash", "auth": "unknown"})
    site.hset("post:60", mapping={"user_id": "1", "time": LONG_AGO, "body": "Never sent"})
    site.set("next_user_id", 50)
    site.set("next_post_id", 60)
    site.hset("auths", SECRET, 1)
    harmless = {"stale entries in auths": 1, "orphaned user: hashes": 1, "orphaned post: hashes": 1}
    assert doctor(capsys) == (0, {}, harmless)
    out = said(capsys, "doctor")
    assert "No errors." in out
    assert "orphans: 3. They are harmless." in out
    assert doctor(capsys, "--fix") == (0, {}, harmless)
    assert doctor(capsys) == (0, {}, {})


def walks(recorded):
    """The first commands of the walks over all keys of a server."""
    return [command for command in recorded.commands if command[:4] == ("SCAN", 0, "MATCH", matching("*"))]


def test_all_checks_share_one_walk_over_all_keys(site, store, capsys):
    with Recording() as recorded:
        assert doctor(capsys) == (0, {}, {})
    assert len(walks(recorded)) == len(store.servers())


def test_repairs_read_the_names_of_all_keys_no_more_often(site, store, capsys):
    """One walk for the repairs, and one to see whether they have helped."""
    site.hdel("user:2", "username")
    site.delete("followers:1", "updates:1", "users_by_name")
    site.hset("post:3", "likes", 7)
    with Recording() as recorded:
        code, errors, _ = doctor(capsys, "--fix")
    assert (code, len(errors)) == (0, 5)
    assert len(walks(recorded)) == 2 * len(store.servers())


def test_keys_that_a_repair_makes_are_named_once_to_the_checks_after_it(site, store):
    before = [*site.keys("followers:*"), *site.keys("post:*")]
    site.delete("followers:1")
    site.hset("post:3", "likes", 7)
    names = KeyNames(store)
    for check in inconsistencies(store):
        for _ in Examination(check, names, repairs=True):
            pass
    named = [name for some in names.names([keys.followers, keys.post]) for name in some]
    assert sorted(named) == sorted(before)


def test_beside_many_keys_of_another_program_a_scan_looks_at_2000_at_most(raw, store, sent):
    """The server does nothing else meanwhile."""
    pipe = raw.pipeline(transaction=False)
    for number in range(9000):
        pipe.set(f"another-program:{number}", "x")
    pipe.execute()
    assert not any(store.scan_keys("site:*", 2000))
    looked_at = [command[-1] for command in sent.commands if command[0] == "SCAN"]
    assert max(looked_at) == 2000


def test_a_key_that_goes_after_its_name_was_read_is_no_finding(site, store):
    """The names of all keys are read at the beginning, and the site runs on for all checks."""
    of_ids = ("user", "credentials", "invites", "post", "posts", "updates", "notices", "report")
    gone = [f"{kind}:77" for kind in of_ids]
    gone += [f"{kind}:{'a' * 40}" for kind in ("media", "media_info", "media_users")]
    for name in gone:
        site.set(name, "here")
    for counter in ("next_user_id", "next_post_id"):
        site.set(counter, 77)
    names = KeyNames(store)
    for _ in names.walk([keys.post]):
        pass
    for name in gone:
        site.delete(name)
    examined = [Examination(check, names, repairs=False) for check in (*inconsistencies(store), *orphans(store))]
    for one in examined:
        for _ in one:
            pass
    assert [one.examples for one in examined if one.found] == []


def test_a_check_of_sound_keys_takes_a_step_for_each_chunk_of_them(site, store):
    """A command tells between two steps what it works on; with a step in the end alone it would be silent for long."""
    names = KeyNames(store)
    for check in (*inconsistencies(store), *orphans(store)):
        for _ in names.walk(check.of):
            pass
        for some in names.names(check.of):
            assert [*check.find(some)], check.label


def test_a_check_sees_the_keys_that_the_repairs_before_it_have_made(site, capsys):
    site.delete("user:2")
    site.hset("staff", "2", "moderator")
    code, errors, _ = doctor(capsys, "--fix")
    assert code == 0
    assert errors["names that lead to no user or to another user"] == 1
    assert errors["roles and sanctions that do not fit together"] == 1
    assert site.hget("user:2", "role") == "moderator"
    assert doctor(capsys, "--fix")[1] == {}


def test_many_findings_are_counted_and_some_are_printed(site, capsys):
    site.zadd("updates:1", {str(pid): pid for pid in range(100, 1700)})
    out = complaints(capsys)
    assert "error: entries of updates: that do not match a post: 1600\n" in out
    assert "... and 1580 more" in out
    assert "doctor --fix" in out
    assert "errors: 1600, all fixed." in said(capsys, "doctor", "--fix")


def test_a_large_site_is_checked_in_few_round_trips(raw, store, capsys, round_trips):
    call_command("seed", "--users=100", "--posts=1000", "--follows=8", verbosity=0)
    recorded = round_trips(lambda: call_command("doctor", verbosity=0))
    assert len(recorded.round_trips) < len(raw.keys()) / 3
    assert max(len(round_trip.commands) for round_trip in recorded.round_trips) <= 20_000


@pytest.mark.real_server
def test_the_report_has_advice_on_the_server(site, capsys):
    call_command("reindex")  # else there is advice on the index and on workers, too
    site.set("worker_seen", str(int(time.time())))
    assert "advice: The server keeps no append-only file" in said(capsys, "doctor")
    site.config_set("appendonly", "yes")
    try:
        assert "advice" not in said(capsys, "doctor")
        site.config_set("maxmemory", str(int(site.info()["used_memory"] * 1.1)))
        assert "MiB of memory" in said(capsys, "doctor")
        site.config_set("maxmemory-policy", "allkeys-lru")
        capsys.readouterr()
        call_command("doctor", "--json")
        report = json.loads(capsys.readouterr().out)
        assert [one["id"] for one in report["advice"]] == ["retwis.W004", "retwis.W007"]
        assert report["ok"]
    finally:
        site.config_set("maxmemory", "0")
        site.config_set("maxmemory-policy", "noeviction")
        site.config_set("appendonly", "no")


def test_a_store_that_does_not_answer_is_an_error_of_the_command(site, store, monkeypatch):
    def fail(*args, **kwargs):
        raise redis.ConnectionError("Connection refused")

    monkeypatch.setattr(type(store.transport), "exchange", fail)
    refuses("does not answer", "doctor")


@pytest.mark.parametrize("due_in", [-90, 180, 3650 * A_DAY])
def test_a_job_that_is_overdue_or_put_off_by_a_clock_ahead_is_an_error_and_is_carried_out(
    site, store, bob, capsys, due_in
):
    site.hset("post:5", mapping={"user_id": "1", "time": LONG_AGO, "body": "Fifth"})
    site.set("next_post_id", 5)
    site.zadd("outbox", {"post:5:abc": int(time.time()) + due_in})
    finds_and_mends(capsys, {OVERDUE: 1})
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


def test_a_job_that_waits_for_its_date_is_no_error(site, store, capsys):
    for uid, until in ((2, 0), (3, int(time.time()) + 3000 * A_DAY)):
        Sanctions(store).impose(uid, State.SUSPENDED, "spam", until)
    call_command("deliver", "--once", verbosity=0)
    before = site.zrange("outbox", 0, -1, withscores=True)
    assert [job.partition(":")[0] for job, _ in before] == ["removal", "sanction_end"]
    assert doctor(capsys, "--fix") == (0, {}, {})
    assert site.zrange("outbox", 0, -1, withscores=True) == before


def test_a_job_of_a_newer_version_may_wait_for_any_time(site, capsys):
    site.zadd("outbox", {"newer:1:abc": int(time.time()) + 3600})
    assert doctor(capsys, "--fix") == (0, {}, {})
    assert site.zcard("outbox") == 1


def test_every_feature_of_the_site_says_how_long_its_jobs_may_wait():
    assert [one for one in features() if (one.jobs or one.batches) and one.put_off is None] == []


def test_in_a_copy_only_what_was_overdue_when_it_was_made_is_overdue(site, store):
    """No worker is at work there: `backup --verify` looks at it later."""
    made_at = time.time() - 3600
    site.zadd("outbox", {"post:1:abc": made_at - 90, "post:2:abc": made_at + 180, "post:3:abc": made_at + 3600})
    [overdue] = [check for check in OutboxChecks(store, lambda: made_at).inconsistencies() if check.label == OVERDUE]
    assert [finding.what for chunk in overdue.at_end() for finding in chunk] == ["post:1"]


@pytest.mark.parametrize("seconds_ago", [30, -30])
def test_a_job_that_has_just_become_due_is_not_overdue(site, capsys, seconds_ago):
    site.zadd("outbox", {"post:1:abc": int(time.time()) - seconds_ago})
    assert doctor(capsys, "--fix") == (0, {}, {})
    assert site.zcard("outbox") == 1


def test_a_job_that_a_worker_has_claimed_is_not_overdue(site, capsys):
    site.zadd("outbox", {"post:1:abc": LONG_AGO})
    site.set("lease:post:1:abc", "a worker", ex=60)
    assert doctor(capsys, "--fix") == (0, {}, {})


@pytest.mark.parametrize("where", ["outbox", "set_aside"])
def test_a_job_that_the_store_refuses_stops_no_other(site, capsys, caplog, where):
    refused = "recount:1:likes:nan:x:y"  # no score is that
    site.zadd(where, {refused: LONG_AGO} | {f"follow:2:1:{number}": LONG_AGO for number in range(20)})
    assert doctor(capsys, "--fix")[1] == {"overdue jobs" if where == "outbox" else "dead letters": 21}
    assert site.zrange(where, 0, -1) == [refused]
    assert "recount:1: cannot be finished, left where it is: the store refused" in caplog.text


def test_a_dead_letter_is_reported_and_finished_once_it_can_be(site, store, bob, capsys):
    site.zadd("outbox", {"follow:2:3:abc": LONG_AGO})
    site.zrem("following:2", 3)
    site.set("followers:3", "no sorted set")
    for _ in range(ATTEMPTS + 1):
        drain(store, "worker")
        site.delete("lease:follow:2:3:abc")
    assert "dead letters: 1" in complaints(capsys)
    mends_all(capsys)
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
