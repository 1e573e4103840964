"""Sanctions: what is stored, and what ends by itself.

tests/protocols/moderation/test_acts_in_the_middle.py tests what a crash leaves behind.
"""

import json
import time

import pytest

from accounts.community.acts import Roles
from accounts.community.log import Log
from accounts.community.sanctions import (
    GRACE,
    AlreadyDecided,
    AppealedAlready,
    NoAppeal,
    NothingImposed,
    Sanctions,
    SanctionsAdmin,
    TooLate,
    follow_end,
    open_appeals,
)
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import NoSuchUser, Role, State
from accounts.users.repository import Users
from retwis_site.jobs.worker import drain
from retwis_site.rendering.dates import A_DAY
from tests.support.protocols.community import jobs_but_recounts
from tests.support.stored_keys import drain_due, make_due, noted
from tests.support.stores.seam import before_round_trip, killed_before_round_trip

ALICE, BOB, CAROL = 1, 2, 3


@pytest.fixture
def sanctions(store, raw, alice, bob, carol):
    return Sanctions(store)


def test_a_sanction_is_in_the_users_hash_and_in_the_log(sanctions, store, raw):
    sanctions.impose(BOB, State.FROZEN, "insults", until=4_000_000_000, by=ALICE)
    stored = raw.hgetall("user:2")
    assert (stored["state"], stored["state_until"], stored["state_reason"]) == ("frozen", "4000000000", "insults")
    assert not [field for field in stored if field.startswith("act:")]
    [line] = raw.zrange("acts:2", 0, -1)
    assert json.loads(line)["id"] == stored["state_act"]
    [act] = Log(store).page()[0]
    assert (act.what, act.whom, act.by, act.reason, act.until) == ("frozen", BOB, ALICE, "insults", 4_000_000_000)
    assert jobs_but_recounts(raw) == []


def test_a_frozen_and_a_hidden_user_are_found_with_their_state(sanctions, store):
    sanctions.impose(BOB, State.FROZEN, "insults")
    sanctions.impose(CAROL, State.HIDDEN, "noise")
    people = Users(store).people([ALICE, BOB, CAROL])
    assert [people[uid].state for uid in (ALICE, BOB, CAROL)] == [State.NONE, State.FROZEN, State.HIDDEN]


def test_a_suspended_user_is_not_found_and_signs_no_one_in(sanctions, store, bob):
    sanctions.impose(BOB, State.SUSPENDED, "spam")
    assert Users(store).people([ALICE, BOB]).keys() == {ALICE}
    assert not Viewer(store, bob.secret).user.is_authenticated
    sanctions.lift(BOB)
    assert Users(store).people([ALICE, BOB]).keys() == {ALICE, BOB}
    assert Viewer(store, bob.secret).uid == BOB


def test_a_sanction_ends_by_itself(sanctions, store, raw):
    sanctions.impose(BOB, State.SUSPENDED, "spam", until=int(time.time()) + A_DAY)
    assert sanctions.of(BOB) is not None
    raw.hset("user:2", "state_until", int(time.time()) - 1)
    assert sanctions.of(BOB) is None
    assert Users(store).people([BOB])[BOB].state is State.NONE


def test_what_is_no_state_sanctions_no_one(sanctions, store, raw):
    raw.hset("user:2", "state", "banished")
    assert Users(store).people([BOB])[BOB].state is State.NONE


def test_an_admin_cannot_be_sanctioned(sanctions, store, raw):
    Roles(store).give(BOB, Role.ADMIN)
    with pytest.raises(SanctionsAdmin):
        sanctions.impose(BOB, State.FROZEN, "")
    assert raw.hget("user:2", "state") in {None, ""}


def test_of_two_acts_of_which_the_first_died_both_are_logged(sanctions, store, raw):
    killed_before_round_trip(5, lambda: sanctions.impose(BOB, State.FROZEN, "insults"))
    raw.delete(*raw.keys("lease:*"))  # a minute later
    sanctions.lift(BOB)
    drain_due(store, raw)
    assert sanctions.of(BOB) is None
    assert sorted(act.what for act in Log(store).about(BOB)) == ["frozen", "lifted"]


def test_nothing_is_imposed_on_an_unknown_or_deleted_user(sanctions, raw):
    raw.hset("user:2", "deleted", "1")
    for uid in (BOB, 99):
        with pytest.raises(NoSuchUser):
            sanctions.impose(uid, State.FROZEN, "")
    assert not raw.exists("user:99")
    with pytest.raises(NothingImposed):
        sanctions.lift(ALICE)


def test_a_suspension_becomes_a_deletion_after_30_days(sanctions, store, raw, bob):
    sanctions.impose(BOB, State.SUSPENDED, "spam")
    drain_due(store, raw)  # the job is early, and waits
    assert raw.hget("user:2", "deleted") is None
    month_ago = int(time.time()) - 31 * A_DAY
    raw.hset("user:2", "state_since", month_ago)
    with pytest.raises(TooLate):
        sanctions.lift(BOB)
    with pytest.raises(TooLate):
        sanctions.impose(BOB, State.FROZEN, "insults")
    with pytest.raises(TooLate):
        sanctions.appeal(BOB, "It was not me.")
    drain_due(store, raw)
    assert raw.hgetall("user:2").keys() == {"username", "deleted"}
    assert noted(raw) == []


def test_a_suspension_with_an_end_never_becomes_a_deletion(sanctions, store, raw):
    sanctions.impose(BOB, State.SUSPENDED, "spam", until=int(time.time()) + A_DAY)
    assert jobs_but_recounts(raw) == []


@pytest.fixture
def appealed(sanctions, raw):
    """bob was suspended a month ago, and has appealed."""
    sanctions.impose(BOB, State.SUSPENDED, "spam")
    sanctions.appeal(BOB, "It was not me.")
    raw.hset("user:2", "state_since", int(time.time()) - 31 * A_DAY)


def test_an_open_appeal_keeps_a_suspended_account(appealed, sanctions, store, raw):
    drain_due(store, raw)
    assert raw.hget("user:2", "deleted") is None
    sanctions.decide_appeal(BOB, True, ALICE, "we were wrong")
    assert sanctions.of(BOB) is None
    drain_due(store, raw)
    assert raw.hget("user:2", "deleted") is None
    assert noted(raw) == []


@pytest.mark.parametrize("step", range(8))
def test_a_granted_appeal_saves_the_account_whenever_it_comes(appealed, sanctions, store, raw, step):
    make_due(raw)
    with before_round_trip(step, lambda: sanctions.decide_appeal(BOB, True, ALICE, "we were wrong")):
        drain(store, "worker")
    assert raw.hget("user:2", "deleted") is None


def test_an_account_lives_for_an_hour_after_its_appeal_was_refused(appealed, sanctions, store, raw, monkeypatch):
    sanctions.decide_appeal(BOB, False, ALICE, "no")
    for grace, is_gone in ((GRACE, False), (-1, True)):
        monkeypatch.setattr("accounts.community.checks.GRACE", grace)
        drain_due(store, raw)
        assert raw.hexists("user:2", "deleted") == is_gone


def test_an_appeal_against_what_is_replaced_meanwhile_waits_for_nobody(sanctions, store, raw):
    sanctions.impose(BOB, State.FROZEN, "insults")
    with before_round_trip(3, lambda: sanctions.impose(BOB, State.HIDDEN, "noise")):
        sanctions.appeal(BOB, "I am sorry.")
    assert raw.zcard("appeals") == 0


# ---- appeals


def test_an_appeal_waits_until_it_is_decided(sanctions, store, raw):
    sanctions.impose(BOB, State.FROZEN, "insults")
    sanctions.appeal(BOB, "I am sorry.")
    [appeal] = open_appeals(store)[0]
    assert (appeal.uid, appeal.text) == (BOB, "I am sorry.")
    assert raw.zrange("appeals", 0, -1) == [f"2:{raw.hget('user:2', 'state_act')}"]
    sanctions.decide_appeal(BOB, False, ALICE, "again and again")
    assert open_appeals(store)[0] == []
    assert sanctions.of(BOB).state is State.FROZEN
    assert Log(store).page()[0][0].what == "appeal:refused"
    assert jobs_but_recounts(raw) == []


def test_an_appeal_against_what_has_ended_by_itself_waits_no_more(sanctions, store, raw):
    sanctions.impose(BOB, State.FROZEN, "insults", until=int(time.time()) + A_DAY)
    sanctions.appeal(BOB, "I am sorry.")
    drain_due(store, raw)
    assert len(open_appeals(store)[0]) == 1  # it has not ended yet
    ended = int(time.time()) - 1
    raw.hset("user:2", "state_until", ended)
    follow_end(store, BOB, ended)
    drain_due(store, raw)
    assert raw.zcard("appeals") == 0


def test_an_appeal_of_a_new_admin_waits_no_more(sanctions, store, raw):
    sanctions.impose(BOB, State.FROZEN, "insults")
    sanctions.appeal(BOB, "I am sorry.")
    Roles(store).give(BOB, Role.ADMIN)
    drain(store, "worker")
    assert raw.zcard("appeals") == 0


def test_an_appeal_that_comes_as_the_sanction_ends_waits_for_nobody(sanctions, store, raw):
    sanctions.impose(BOB, State.FROZEN, "insults", until=int(time.time()) + A_DAY)
    with before_round_trip(3, lambda: raw.hset("user:2", "state_until", int(time.time()) - 1)):
        sanctions.appeal(BOB, "I am sorry.")
    assert raw.zcard("appeals") == 0


def test_there_is_one_appeal_and_one_decision_for_each_sanction(sanctions, store, raw):
    with pytest.raises(NothingImposed):
        sanctions.appeal(BOB, "Why?")
    sanctions.impose(BOB, State.FROZEN, "insults")
    with pytest.raises(NoAppeal):
        sanctions.decide_appeal(BOB, True, ALICE, "")
    sanctions.appeal(BOB, "I am sorry.")
    with pytest.raises(AppealedAlready):
        sanctions.appeal(BOB, "Really.")
    sanctions.decide_appeal(BOB, False, ALICE, "no")
    with pytest.raises(AlreadyDecided):
        sanctions.decide_appeal(BOB, True, CAROL, "yes")
    with pytest.raises(AppealedAlready):
        sanctions.appeal(BOB, "Please.")
    sanctions.impose(BOB, State.HIDDEN, "noise")
    sanctions.appeal(BOB, "Another one.")
    assert [appeal.text for appeal in open_appeals(store)[0]] == ["Another one."]
