"""`doctor` begins with counts and the age of the newest post, and gives advice on accounts and servers."""

import time

import pytest
import redis
from django.contrib.auth.hashers import make_password
from django.core.management import call_command

from retwis_site.maintenance.server_advice import advice
from retwis_site.store.client import Store
from retwis_site.store.connection.transport import OneServer
from tests.support.command_output import complaints, report_of, said
from tests.support.people import LONG_AGO


def advice_ids(capsys, *options):
    return [one["id"] for one in report_of(capsys, *options)[1]["advice"]]


def date_newest_posts(raw, when):
    """Give the newest post of each author this time. Returns their ids."""
    pids = [pid for uid in (1, 2, 3) for pid in raw.zrevrange(f"updates:{uid}", 0, 0)]
    for pid in pids:
        raw.hset(f"post:{pid}", "time", when)
    return pids


# ---- counts


def test_it_begins_with_counts_and_the_age_of_the_newest_post(site, capsys):
    site.zadd("outbox", {"user:98": time.time() + 60})
    date_newest_posts(site, int(time.time()) - 3 * 3600 - 120)
    lines = said(capsys, "doctor").splitlines()
    assert lines[:2] == ["users: 3, posts: 3, follows: 2, jobs in the outbox: 1", "age of the newest post: 3 hours"]


def test_an_empty_store_has_counts_and_no_age(raw, capsys):
    lines = said(capsys, "doctor").splitlines()
    assert lines[0] == "users: 0, posts: 0, follows: 0, jobs in the outbox: 0"
    assert not [line for line in lines if line.startswith("age")]
    assert lines[-1] == "No errors."


def test_json_has_the_counts(site, capsys):
    date_newest_posts(site, LONG_AGO)
    code, found = report_of(capsys)
    assert (code, found["ok"], found["foreign"]) == (0, True, False)
    assert found["counts"] == {"users": 3, "posts": 3, "follows": 2, "jobs": 0}
    assert (found["posts_are_estimated"], found["newest_post"]) == (False, "2023-11-14T22:13:20Z")


def test_deleted_accounts_are_not_counted(site, capsys):
    site.hset("user:3", "deleted", LONG_AGO)
    assert report_of(capsys)[1]["counts"]["users"] == 2


def test_a_user_is_counted_once_and_a_name_that_leads_nowhere_is_none(site, capsys):
    site.hset("users", mapping={"another": 1, "nobody": 77})
    assert report_of(capsys)[1]["counts"] == {"users": 3, "posts": 3, "follows": 2, "jobs": 0}


def test_the_newest_post_is_the_last_in_time_not_the_one_with_the_largest_id(site, capsys):
    """Imported posts may get larger ids than newer ones."""
    pids = date_newest_posts(site, LONG_AGO)
    assert len(pids) > 1
    site.hset(f"post:{min(pids, key=int)}", "time", LONG_AGO + 60)
    assert report_of(capsys)[1]["newest_post"] == "2023-11-14T22:14:20Z"


def test_counting_takes_three_round_trips_for_500_users(raw, store, capsys, round_trips):
    call_command("seed", "--users=1200", "--posts=10", "--follows=2", verbosity=0)
    from retwis_site.maintenance.examination import Census

    census = Census(store)
    recorded = round_trips(lambda: list(census))
    assert (census.users, census.posts) == (1200, 10)
    assert len(recorded.round_trips) <= 3 * 3 + 3  # one of them for pictures


def test_counts_that_the_store_refuses_could_not_run(site, capsys):
    """A key of the wrong type. Its own check repairs it, and then everything is counted."""
    site.delete("user:2")
    site.rpush("user:2", "x")
    code, found = report_of(capsys)
    assert (code, found["ok"]) == (1, False)
    assert "counts" in [one["check"] for one in found["could_not_run"]]
    assert found["counts"]["users"] == 2  # the others
    _, fixed = report_of(capsys, "--fix")
    assert fixed["could_not_run"] == []


# ---- advice


def test_the_store_of_an_older_version_is_advice_until_it_is_upgraded(site, capsys):
    site.delete("schema")
    advised = "advice: An older version of the site has written this store. Stop the site and run: manage.py db upgrade"
    assert advised in said(capsys, "doctor").splitlines()
    assert "retwis.W020" in advice_ids(capsys)
    said(capsys, "upgrade")
    assert advised not in said(capsys, "doctor")


def test_readable_passwords_are_advice_with_their_number(site, capsys):
    site.set("schema", "1")
    site.hset("user:2", "password", "as typed")
    out = said(capsys, "doctor")
    assert "advice: Passwords in clear text: 1." in out
    assert "as typed" not in out
    assert "retwis.W011" in advice_ids(capsys)


def test_unusable_and_hashed_passwords_are_no_advice(site, capsys):
    site.hset("user:2", "password", make_password(None))
    site.hdel("user:3", "password")
    assert "retwis.W011" not in advice_ids(capsys)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["Amelia", "amelia"], ["Amelia"]),
        (["AMELIA", "Amelia"], ["AMELIA", "Amelia"]),  # whichever comes later
        (["Amelia", "Amelie", "bob"], []),
    ],
)
def test_names_that_differ_only_in_case_are_advice(raw, capsys, names, told):
    for uid, name in enumerate(names, 1):
        raw.hset("users", name, uid)
        raw.hset(f"user:{uid}", mapping={"username": name, "password": "as typed"})
    [*found] = [one["text"] for one in report_of(capsys)[1]["advice"] if one["id"] == "retwis.W012"]
    assert bool(found) is bool(told)
    assert all(any(name in text for name in told) for text in found)


def test_fail_on_advice(site, capsys, monkeypatch):
    monkeypatch.setattr("retwis_site.management.commands.doctor.advice", lambda store: [])
    site.set("schema", "1")
    call_command("reindex", verbosity=0)
    site.set("worker_seen", str(int(time.time())))
    assert report_of(capsys, "--fail-on=advice")[0] == 0
    site.hset("user:2", "password", "as typed")
    assert report_of(capsys, "--fail-on=advice")[0] == 1
    assert report_of(capsys, "--fail-on=errors")[0] == report_of(capsys)[0] == 0
    assert report_of(capsys, "--fail-on=advice")[1]["ok"]


class Servers:
    """A store with users, whose servers answer INFO with this."""

    def __init__(self, **info):
        self._info = {"aof_enabled": 1, "redis_version": "7.2", **info}

    def info(self):
        return [self._info]

    def hlen(self, key):
        return 1


@pytest.mark.parametrize(
    ("info", "ids"),
    [
        ({"role": "master", "evicted_keys": 0}, []),
        ({"role": "slave"}, ["retwis.W009"]),
        ({"role": "master", "evicted_keys": 7}, ["retwis.W010"]),
        ({"maxmemory_policy": "allkeys-lru"}, ["retwis.W004"]),
    ],
)
def test_a_replica_and_evicted_keys_are_advice(info, ids):
    assert [one.id for one in advice(Servers(**info))] == ids


class ThreeServers(Servers):
    """The same, where the second of them has nothing wrong."""

    def info(self):
        return [self._info, {"aof_enabled": 1, "redis_version": "7.2"}, self._info]

    def servers(self):
        urls = ("redis://one", "redis://two:6379", "unix:///run/three.sock")
        return [Store(OneServer(redis.Redis.from_url(url))) for url in urls]


def test_advice_on_some_of_several_servers_names_them():
    told = [one.text for one in advice(ThreeServers(maxmemory_policy="allkeys-lru"))]
    assert told == [
        f"{where}: The server may evict keys (maxmemory-policy allkeys-lru)."
        for where in ("one:6379", "/run/three.sock")
    ]


@pytest.mark.real_server
def test_a_replica_is_recognised(site, capsys):
    site.replicaof("127.0.0.1", 1)
    try:
        assert "retwis.W009" in advice_ids(capsys)
    finally:
        site.replicaof("no", "one")


# ---- checks that could not run


@pytest.mark.real_server
@pytest.mark.one_server
def test_a_check_that_could_not_run_is_no_error_and_exits_with_1(site, rights, capsys):
    rights("-zscan")
    code, found = report_of(capsys)
    assert (code, found["ok"]) == (1, False)
    assert [one["found"] for one in found["errors"]] == [0] * len(found["errors"])
    assert found["could_not_run"]
    assert all(one["reason"] for one in found["could_not_run"])
    out = complaints(capsys)
    assert "could not run: " in out
    assert "errors: " not in out
    assert "No errors in the checks that ran." in out
    assert f"checks that could not run: {len(found['could_not_run'])}." in out
