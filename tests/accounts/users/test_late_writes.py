"""Requests of a user during the deletion of the account: they open no session, and their writes do not stay."""

import io

import pytest
from django.core.management import call_command

from accounts.signing_in.sessions.repository import Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users.repository import Users
from retwis_site.jobs.worker import drain
from tests.support.people import log_in
from tests.support.removed_accounts import (
    ALICE,
    delete_and_remove,
    delete_before_round_trip,
    doctor_findings,
    three_people,
)
from tests.support.stores.key_layouts import make_due, noted
from tests.support.stores.seam import before_round_trip, killed_before_round_trip


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


@pytest.mark.parametrize("step", range(6))
def test_a_password_change_during_a_deletion_opens_nothing_and_leaves_no_hash(store, site, alice, capsys, step):
    delete_before_round_trip(store, alice, step, lambda: Sessions(store).change_password(ALICE, "another hash"))
    assert site.hgetall("user:1").keys() == {"username", "deleted"}
    assert Sessions(store).stored_password(ALICE) is None
    assert doctor_findings(capsys)[0] == {}


@pytest.mark.parametrize("step", range(2, 6))
def test_a_password_change_that_died_during_a_deletion_leaves_no_hash(store, site, alice, monkeypatch, step):
    with before_round_trip(1, lambda: delete_and_remove(store, alice)):
        killed_before_round_trip(step, lambda: Sessions(store).change_password(ALICE, "another hash"))
    make_due(site)
    drain(store, "worker")
    assert site.hgetall("user:1").keys() == {"username", "deleted"}
    assert noted(site) == []


@pytest.mark.parametrize("step", range(4))
def test_a_login_during_a_deletion_opens_nothing_and_leaves_nothing(store, site, alice, step):
    delete_before_round_trip(store, alice, step, lambda: log_in(store))
    assert site.hgetall("user:1").keys() == {"username", "deleted"}
    assert "1" not in site.hvals("auths")


def test_a_language_chosen_during_a_deletion_is_not_kept(store, site, alice):
    delete_before_round_trip(store, alice, 0, lambda: Users(store).choose_language(ALICE, "de"))
    assert "language" not in site.hgetall("user:1")
