"""Decisions about reports: what is done, who is told, and what a crash or a second moderator leaves."""

import contextlib

import pytest

from accounts.community.log import Log
from accounts.community.sanctions import Sanctions
from accounts.users.entities import State
from retwis_site.jobs.worker import drain
from tests.support.people import register
from tests.support.protocols.reports import ALICE, BOB, CAROL, make_admin, make_moderator, report
from tests.support.protocols.thoroughness import stride
from tests.support.removed_accounts import doctor_findings
from tests.support.stored_keys import publish
from tests.support.stores.key_layouts import make_due, noted
from tests.support.stores.seam import before_round_trip, killed_before_round_trip
from timeline.moderation import reports
from timeline.moderation.reports import Action, DecidedAlready, Deciding, NoPost, NotYours, Reports

DAN = 4
MOST_STEPS = 28  # round trips of a decision about two reports


@pytest.fixture
def site(store, raw, alice, bob, carol):
    """carol and dan are moderators; bob has written post 1."""
    register(store, "dan")
    make_moderator(store, CAROL)
    make_moderator(store, DAN)
    publish(raw, store, bob, "Buy!")


def decide(store, one, action, by=CAROL, days=0):
    Deciding(store).decide(one, action, "It is an advertisement.", days, by)


def told(raw, uid):
    return [member for member in raw.zrange(f"notices:{uid}", 0, -1) if member.startswith("report:")]


@pytest.mark.usefixtures("site")
def test_a_dismissed_report_leaves_the_queue_and_its_author_is_told(store, raw):
    one = report(store, ALICE, BOB, 1)
    decide(store, one, Action.DISMISS)
    assert raw.zcard("reports") == 0
    assert raw.zrange("reports_by:1", 0, -1) == [f"2:1:{one.rid}"]
    assert told(raw, ALICE) == [f"report:{one.rid}:1"]
    assert told(raw, BOB) == []
    [act] = Log(store).about(BOB).acts
    assert (act.what, act.by, act.post, act.reason) == ("report:dismissed", CAROL, 1, "It is an advertisement.")
    assert Reports(store).read(one.rid).action is Action.DISMISS
    assert noted(raw) == []
    assert report(store, ALICE, BOB, 1).rid != one.rid  # it can be reported again


@pytest.mark.usefixtures("site")
def test_a_reported_post_is_deleted_and_its_author_is_told(store, raw):
    one = report(store, ALICE, BOB, 1)
    decide(store, one, Action.DELETE)
    assert raw.hexists("post:1", "deleted")
    assert told(raw, ALICE) == [f"report:{one.rid}:1"]
    assert told(raw, BOB) == [f"report:{one.rid}:2"]
    assert raw.hget(f"report:{one.rid}", "body") == "Buy!"


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("action", "state"),
    [(Action.FREEZE, State.FROZEN), (Action.HIDE, State.HIDDEN), (Action.SUSPEND, State.SUSPENDED)],
)
def test_a_sanction_is_imposed_for_days(store, action, state):
    decide(store, report(store, ALICE, BOB), action, days=7)
    present = Sanctions(store).of(BOB)
    assert (present.state, present.reason) == (state, "It is an advertisement.")
    assert present.until - present.since == pytest.approx(7 * 86400, abs=5)


@pytest.mark.usefixtures("site")
def test_all_reports_about_a_thing_are_decided_together(store, raw):
    report(store, DAN, BOB)
    others = [report(store, ALICE, BOB, 1), report(store, DAN, BOB, 1)]
    decide(store, others[0], Action.WARN)
    assert raw.zcard("reports") == 1  # the one about the person
    assert told(raw, ALICE) == [f"report:{others[0].rid}:1"]
    assert told(raw, DAN) == [f"report:{others[1].rid}:4"]
    assert told(raw, BOB) == [f"report:{others[0].rid}:2"]
    assert Reports(store).read(others[1].rid).action is Action.WARN


@pytest.mark.usefixtures("site")
def test_a_worker_closes_the_rest_of_very_many_reports(store, raw, monkeypatch):
    monkeypatch.setattr(reports, "MOST_CHUNKS", 0)
    one = report(store, ALICE, BOB, 1)
    report(store, DAN, BOB, 1)
    decide(store, one, Action.DISMISS)
    assert raw.zcard("reports") == 1
    drain(store, "worker")
    assert raw.zcard("reports") == 0
    assert noted(raw) == []


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("step", range(0, MOST_STEPS + 1, stride()))
@pytest.mark.parametrize("action", [Action.DELETE, Action.FREEZE])
def test_a_decision_that_is_killed_is_undone_or_finished(store, raw, action, step, capsys):
    reports = [report(store, ALICE, BOB, 1), report(store, DAN, BOB, 1)]
    killed = killed_before_round_trip(step, lambda: decide(store, reports[0], action))
    make_due(raw)
    drain(store, "worker")
    assert noted(raw) == []
    is_decided = Reports(store).read(reports[0].rid).action is action
    assert is_decided or killed
    assert not killed or step < MOST_STEPS
    assert raw.zcard("reports") == (0 if is_decided else 2)
    assert (len(told(raw, ALICE)), len(told(raw, DAN))) == ((1, 1) if is_decided else (0, 0))
    assert len([act for act in Log(store).about(BOB).acts if act.by == CAROL]) == is_decided
    assert raw.hexists("post:1", "deleted") == (is_decided and action is Action.DELETE)
    assert (Sanctions(store).of(BOB) is not None) == (is_decided and action is Action.FREEZE)
    errors, _ = doctor_findings(capsys)
    assert {label: found for label, found in errors.items() if found} == {}


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("step", range(20))
def test_of_two_moderators_one_decides(store, raw, step):
    one = report(store, ALICE, BOB, 1)
    refused = []

    def decide_too():
        with contextlib.suppress(DecidedAlready):
            decide(store, one, Action.WARN, by=DAN)
            return
        refused.append(DAN)

    try:
        with before_round_trip(step, decide_too) as happened:
            decide(store, one, Action.DISMISS)
    except DecidedAlready:
        refused.append(CAROL)
    assert len(refused) == len(happened)
    assert Reports(store).read(one.rid).action is (Action.WARN if CAROL in refused else Action.DISMISS)
    assert [act.by for act in Log(store).about(BOB).acts] == [DAN if CAROL in refused else CAROL]
    assert raw.zcard("reports") == 0
    assert noted(raw) == []


@pytest.mark.usefixtures("site")
def test_nobody_decides_about_themself_and_moderators_not_about_staff(store):
    about_carol = report(store, ALICE, CAROL)
    for by in (CAROL, DAN, ALICE):
        with pytest.raises(NotYours):
            decide(store, about_carol, Action.DISMISS, by=by)
    make_admin(store, DAN)
    decide(store, about_carol, Action.FREEZE, by=DAN)
    assert Sanctions(store).of(CAROL).state is State.FROZEN


@pytest.mark.usefixtures("site")
def test_an_admin_warns_another_admin_and_imposes_nothing(store):
    make_admin(store, CAROL)
    make_admin(store, DAN)
    one = report(store, ALICE, DAN)
    with pytest.raises(NotYours):
        decide(store, one, Action.SUSPEND)
    decide(store, one, Action.WARN)


@pytest.mark.usefixtures("site")
def test_a_report_about_a_person_has_no_post_to_delete(store):
    with pytest.raises(NoPost):
        decide(store, report(store, ALICE, BOB), Action.DELETE)
