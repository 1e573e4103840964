"""After a deletion: the user's requests that are under way, `doctor` and `cleanup`."""

import io
import time
from types import SimpleNamespace

import pytest
from django.core.management import call_command

from accounts.signing_in.sessions.repository import Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users import checks
from accounts.users import deletion as removal
from accounts.users.checks import AccountChecks
from retwis_site.jobs import lease, outbox
from retwis_site.jobs.outbox import LEASE, Claim, Outbox
from retwis_site.jobs.worker import drain
from tests.support.delivering import drain_due
from tests.support.maintenance.doctor_report import NAMES, SECRETS
from tests.support.maintenance.findings import findings_of
from tests.support.people import LONG_AGO, log_in
from tests.support.removed_accounts import (
    ALICE,
    BOB,
    CAROL,
    alice_with_twelve,
    assert_nothing_is_left,
    delete_account,
    delete_and_remove,
    delete_before_round_trip,
    doctor_findings,
    three_people,
)
from tests.support.stored_keys import everything
from tests.support.stores.key_layouts import noted
from tests.support.stores.seam import before_round_trip, killed_before_round_trip
from timeline.relations.edges import Edges
from timeline.relations.relation import to_person
from timeline.relations.relations import FOLLOW

# ---- Requests of a user during the deletion of the account: they open no session, and their writes do not stay. More
# of them in tests/protocols/test_interleaved_removals.py.


@pytest.fixture
def site(store, alice, bob, carol, raw):
    return three_people(store, raw, alice, bob, carol)


def test_a_registration_that_a_worker_finishes_after_the_deletion_keeps_the_look_of_the_name(
    store, site, alice, capsys
):
    looks = {look for look, uid in site.hgetall("skeletons").items() if uid == "1"}
    site.hdel("skeletons", *looks)  # the store died in the middle of the registration's last round trip
    delete_and_remove(store, alice)
    site.zadd("outbox", {"user:1": 0})
    assert drain(store, "worker") == 1
    assert looks <= {look for look, uid in site.hgetall("skeletons").items() if uid == "1"}
    assert site.zscore("outbox", "user:1") is None
    assert doctor_findings(capsys)[0] == {}


@pytest.mark.parametrize("step", range(5))
def test_a_logout_during_a_deletion_opens_nothing_and_leaves_no_secret(store, site, alice, capsys, step):
    delete_before_round_trip(store, alice, step, lambda: Sessions(store).end_all(ALICE))
    assert site.hgetall("user:1").keys() == {"username", "deleted"}
    for secret in (alice.secret, *site.hgetall("auths")):
        user = Viewer(store, secret).user
        assert not user.is_authenticated or user.uid != ALICE
    assert doctor_findings(capsys)[0] == {}
    call_command("cleanup", stdout=io.StringIO())  # removes an entry of `auths` that was right when it was written
    assert "1" not in site.hvals("auths")


@pytest.mark.parametrize("step", range(2, 6))
def test_a_password_change_that_died_during_a_deletion_leaves_no_hash(store, site, alice, monkeypatch, step):
    with before_round_trip(1, lambda: delete_and_remove(store, alice)):
        killed_before_round_trip(step, lambda: Sessions(store).change_password(ALICE, "another hash"))
    drain_due(store, site)
    assert site.hgetall("user:1").keys() == {"username", "deleted"}
    assert noted(site) == []


@pytest.mark.parametrize("step", range(4))
def test_a_login_during_a_deletion_opens_nothing_and_leaves_nothing(store, site, alice, step):
    delete_before_round_trip(store, alice, step, lambda: log_in(store))
    assert site.hgetall("user:1").keys() == {"username", "deleted"}
    assert "1" not in site.hvals("auths")


# ---- `doctor` and `cleanup` after a deletion: they remove data that is left, and restore none. What a deleted
# account keeps is no inconsistency.


@pytest.fixture
def crowd(store, raw, alice, monkeypatch):
    return alice_with_twelve(store, raw, monkeypatch)


POST = {"user_id": 1, "time": 7, "body": "x"}
DATA_LEFT = "deleted accounts with data left"


@pytest.mark.parametrize(
    "leave_data",
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
def test_doctor_finds_data_that_is_left_and_repeats_the_deletion(store, site, alice, capsys, leave_data):
    delete_and_remove(store, alice)
    leave_data(site)
    site.delete("users_by_followers")
    Edges(store, FOLLOW).mend([to_person(BOB, CAROL)])
    assert doctor_findings(capsys)[0].get(DATA_LEFT) == 1
    assert doctor_findings(capsys, "--fix")[0][DATA_LEFT] == 1
    assert doctor_findings(capsys)[0] == {}
    assert_nothing_is_left(site, ALICE)
    assert site.zrange("users_by_time", 0, -1) == ["bob", "carol"]
    assert site.hget("post:9", "body") in {None, ""}
    assert noted(site) == []


def test_doctor_finishes_a_deletion_without_a_job(store, site, alice, capsys, monkeypatch):
    monkeypatch.setattr(outbox, "TURN", -1.0)
    delete_account(store, alice)
    site.delete("outbox")
    assert doctor_findings(capsys)[0] == {DATA_LEFT: 1}
    assert doctor_findings(capsys, "--fix")[0] == {DATA_LEFT: 1}
    assert doctor_findings(capsys) == ({}, {})
    assert site.hgetall("user:1").keys() == {"username", "deleted"}


def test_doctor_repeats_a_deletion_that_takes_longer_than_the_lease_of_a_request(
    store, site, alice, capsys, monkeypatch
):
    delete_account(store, alice)
    site.delete("outbox")

    def finish_late(store, claim):
        monkeypatch.setattr(lease, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + LEASE))
        return removal.finish_deletion(store, claim)

    monkeypatch.setattr(checks, "finish_deletion", finish_late)
    assert doctor_findings(capsys, "--fix")[0] == {DATA_LEFT: 1}
    assert doctor_findings(capsys) == ({}, {})
    assert noted(site) == []


def test_doctor_finds_nothing_while_a_worker_removes_the_account(store, crowd, alice, capsys):
    """`doctor` looks before each round trip of the worker."""
    delete_account(store, alice)
    [job] = noted(crowd)
    claim = Claim(store, job, attempt=1, told_to_stop=lambda: True)
    steps = 0
    for step in range(60):
        found_at_step = []
        with before_round_trip(
            step, lambda found_at_step=found_at_step: found_at_step.append(doctor_findings(capsys)[0])
        ):
            removal.finish_deletion(store, claim)
        assert found_at_step in ([], [{}]), step
        steps += len(found_at_step)
        crowd.zadd("outbox", {job: LONG_AGO + 2**40})
        crowd.hset("user:1", "deleted", LONG_AGO)
    assert steps >= 3


def test_a_page_during_the_deletion_leaves_only_orphans(store, site, alice, capsys):
    delete_and_remove(store, alice)
    site.rpush("posts:1", "b1", "4", "0")
    site.hset("user:1", mapping={"seen": 4, "auth": "a secret that auths does not know"})
    inconsistencies, orphans = doctor_findings(capsys)
    assert inconsistencies == {}
    assert orphans.pop("lists with dead ids") == 1  # the list `timeline`
    assert orphans == {"extra fields of deleted accounts": 1, "home timelines of unknown users": 1}
    call_command("cleanup", stdout=io.StringIO())
    assert not site.exists("posts:1")
    assert site.hgetall("user:1").keys() == {"username", "deleted"}


def test_cleanup_does_not_touch_an_account_during_its_deletion(store, site, alice):
    delete_account(store, alice)
    before = site.hgetall("user:1")
    call_command("cleanup", stdout=io.StringIO())
    assert site.hgetall("user:1") == before
    assert site.zcard("followers:1") == 2


def test_a_released_job_is_not_overdue(store, crowd, alice, monkeypatch, capsys):
    """Even when it began long ago: other due jobs come first."""
    delete_account(store, alice)
    [job] = noted(crowd)
    crowd.zadd("outbox", {job: LONG_AGO})
    [claim] = Outbox(store).claim([job], "worker", lambda: True)
    assert not removal.finish_deletion(store, claim)
    Outbox(store).release(job)
    assert doctor_findings(capsys) == ({}, {})


@pytest.mark.parametrize("where", ["outbox", "set_aside"])
def test_doctor_finishes_a_job_that_no_worker_finishes(store, crowd, alice, monkeypatch, capsys, where):
    """Without turns."""
    monkeypatch.setattr(outbox, "TURN", -1.0)
    delete_account(store, alice)
    [job] = noted(crowd)
    crowd.delete("outbox")
    crowd.zadd(where, {job: LONG_AGO})
    label = "overdue jobs" if where == "outbox" else "dead letters"
    assert doctor_findings(capsys, "--fix")[0] == {label: 1}
    assert_nothing_is_left(crowd, ALICE)
    assert crowd.hgetall("user:1").keys() == {"username", "deleted"}
    assert not crowd.exists("set_aside")


# ---- inconsistencies of what stays


def test_a_lost_name_is_restored_from_the_hash_that_cleanup_keeps(store, site, alice, capsys):
    delete_and_remove(store, alice)
    site.hdel("users", "alice")
    call_command("cleanup", stdout=io.StringIO())
    assert site.hgetall("user:1").keys() == {"username", "deleted"}
    assert doctor_findings(capsys, "--fix")[0] == {"users that no name leads to": 1}
    assert site.hget("users", "alice") == "1"
    assert doctor_findings(capsys) == ({}, {})


def test_a_lost_username_is_restored_without_a_password_or_a_secret(store, site, alice, capsys):
    delete_and_remove(store, alice)
    site.hdel("user:1", "username")
    [finding] = findings_of(store, AccountChecks(store).inconsistencies(), NAMES)
    finding.repair()
    assert site.hgetall("user:1").keys() == {"username", "deleted"}
    assert site.hget("user:1", "username") == "alice"
    assert doctor_findings(capsys)[0] == {}


def test_a_deletion_before_doctors_repair_leaves_no_empty_secret(store, site, alice):
    """The check runs before the deletion, its repair after it."""
    site.hdel("auths", alice.secret)
    [finding] = findings_of(store, AccountChecks(store).inconsistencies(), SECRETS)
    delete_and_remove(store, alice)
    before = everything(site)
    finding.repair()
    assert everything(site) == before
