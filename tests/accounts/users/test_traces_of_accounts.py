"""What `doctor` and `cleanup` make of deleted accounts: what is left of one goes, what stays is no damage, and nothing
gives one back what it had."""

import io

import pytest
from django.core.management import call_command

from accounts.users import removal
from accounts.users.checks.account_checks import AccountChecks
from retwis_site.jobs import outbox
from retwis_site.jobs.outbox import Claim, Outbox
from tests.support.people import LONG_AGO
from tests.support.removed_accounts import (
    ALICE,
    BOB,
    CAROL,
    found,
    leave,
    left_and_cleared,
    nothing_is_left,
    three_people,
    twelve_around_alice,
)
from tests.support.stored_keys import everything
from tests.support.stores.key_layouts import noted
from tests.support.stores.seam import before_round_trip
from timeline.relations.follow import Follows


@pytest.fixture
def site(store, alice, bob, carol, raw):
    return three_people(store, raw, alice, bob, carol)


@pytest.fixture
def crowd(store, raw, alice, monkeypatch):
    return twelve_around_alice(store, raw, monkeypatch)


POST = {"user_id": 1, "time": 7, "body": "x"}
LEFT = "deleted accounts with data left"


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: (raw.zadd("following:1", {"2": 7}), raw.zadd("followers:2", {"1": 7})),
        lambda raw: (raw.zadd("followers:1", {"2": 7}), raw.zadd("following:2", {"1": 7})),
        lambda raw: (
            raw.zadd("updates:1", {"9": 9}),
            raw.hset("post:9", mapping=POST),
        ),
        lambda raw: raw.zadd("users_by_time", {"Alice": 7}),
    ],
    ids=["following", "followers", "posts", "users_by_time"],
)
def test_doctor_finds_what_is_left_and_carries_the_deletion_out_anew(store, site, alice, capsys, damage):
    left_and_cleared(store, alice)
    damage(site)
    site.delete("users_by_followers")
    Follows(store).mend(BOB, CAROL)
    assert found(capsys)[0].get(LEFT) == 1
    assert found(capsys, "--fix")[0][LEFT] == 1
    assert found(capsys)[0] == {}
    nothing_is_left(site, ALICE)
    assert site.zrange("users_by_time", 0, -1) == ["bob", "carol"]
    assert site.hget("post:9", "body") in {None, ""}
    assert noted(site) == []


def test_doctor_mends_an_account_that_nobody_clears(store, site, alice, capsys):
    leave(store, alice)
    site.delete("outbox")
    assert found(capsys)[0] == {LEFT: 1}
    assert found(capsys, "--fix")[0] == {LEFT: 1}
    assert found(capsys) == ({}, {})
    assert site.hgetall("user:1").keys() == {"username", "deleted"}


def test_doctor_complains_of_nothing_while_a_worker_is_at_it(store, crowd, alice, capsys):
    """Looked at between all its round trips."""
    leave(store, alice)
    [job] = noted(crowd)
    claim = Claim(Outbox(store), job, attempt=1, told_to_stop=lambda: True)
    steps = 0
    for step in range(60):
        complaints = []
        with before_round_trip(step, lambda complaints=complaints: complaints.append(found(capsys)[0])):
            removal.finish_deletion(store, claim)
        assert complaints in ([], [{}]), step
        steps += len(complaints)
        crowd.zadd("outbox", {job: LONG_AGO + 2**40})
        crowd.hset("user:1", "deleted", LONG_AGO)
    assert steps >= 3


def test_a_page_that_was_under_way_leaves_debris_at_most(store, site, alice, capsys):
    left_and_cleared(store, alice)
    site.rpush("posts:1", "b1", "4", "0")
    site.hset("user:1", mapping={"seen": 4, "auth": "a secret that auths does not know"})
    errors, debris = found(capsys)
    assert errors == {}
    assert debris.pop("lists with dead ids") == 1  # everybody's
    assert debris == {"extra fields of deleted accounts": 1, "home timelines of unknown users": 1}
    call_command("cleanup", stdout=io.StringIO())
    assert not site.exists("posts:1")
    assert site.hgetall("user:1").keys() == {"username", "deleted"}


def test_cleanup_leaves_an_account_alone_that_is_just_being_deleted(store, site, alice):
    leave(store, alice)
    before = site.hgetall("user:1")
    call_command("cleanup", stdout=io.StringIO())
    assert site.hgetall("user:1") == before
    assert site.zcard("followers:1") == 2


def test_one_that_was_given_back_is_not_overdue(store, crowd, alice, monkeypatch, capsys):
    """However long ago it was begun: the others that were due come first."""
    leave(store, alice)
    [job] = noted(crowd)
    crowd.zadd("outbox", {job: LONG_AGO})
    claim = Outbox(store).claim(job, "worker", lambda: True)
    assert not removal.finish_deletion(store, claim)
    Outbox(store).release(job)
    assert found(capsys) == ({}, {})


@pytest.mark.parametrize("where", ["outbox", "set_aside"])
def test_one_that_no_worker_carries_out_is_carried_out_whole(store, crowd, alice, monkeypatch, capsys, where):
    """However many turns that takes."""
    monkeypatch.setattr(outbox, "TURN", -1.0)
    leave(store, alice)
    [job] = noted(crowd)
    crowd.delete("outbox")
    crowd.zadd(where, {job: LONG_AGO})
    label = "overdue jobs" if where == "outbox" else "dead letters"
    assert found(capsys, "--fix")[0] == {label: 1}
    nothing_is_left(crowd, ALICE)
    assert crowd.hgetall("user:1").keys() == {"username", "deleted"}
    assert not crowd.exists("set_aside")


# ---- damage to what stays


def test_a_name_that_is_lost_is_taken_again_and_cleanup_leaves_what_tells_whose_it_was(store, site, alice, capsys):
    left_and_cleared(store, alice)
    site.hdel("users", "alice")
    call_command("cleanup", stdout=io.StringIO())
    assert site.hgetall("user:1").keys() == {"username", "deleted"}
    assert found(capsys, "--fix")[0] == {"users that no name leads to": 1}
    assert site.hget("users", "alice") == "1"
    assert found(capsys) == ({}, {})


def test_what_lost_its_username_gets_it_back_and_no_way_in(store, site, alice, capsys):
    left_and_cleared(store, alice)
    site.hdel("user:1", "username")
    [finding] = [finding for chunk in AccountChecks(store).wrong_names() for finding in chunk]
    finding.repair()
    assert site.hgetall("user:1").keys() == {"username", "deleted"}
    assert site.hget("user:1", "username") == "alice"
    assert found(capsys)[0] == {}


def test_who_leaves_before_doctor_lets_them_in_again_leaves_no_empty_secret(store, site, alice):
    """Found while they were there, and gone when it is put right."""
    site.hdel("auths", alice.secret)
    [finding] = [finding for chunk in AccountChecks(store).secrets() for finding in chunk]
    left_and_cleared(store, alice)
    before = everything(site)
    finding.repair()
    assert everything(site) == before
