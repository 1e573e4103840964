"""Reports as they are made: one open report of a person about a thing, also after a crash."""

import contextlib
import io

import pytest
from django.core.management import call_command

from accounts.users.deletion import AccountDeletion
from accounts.users.entities import AccountDeleted
from retwis_site.jobs.worker import drain
from tests.support.protocols.reports import ALICE, BOB, CAROL, report
from tests.support.removed_accounts import doctor_findings
from tests.support.stores.key_layouts import noted
from tests.support.stores.seam import before_round_trip, killed_before_round_trip
from timeline.moderation.reports.entities import NewReport
from timeline.moderation.reports.repository import Reports

pytestmark = pytest.mark.usefixtures("alice", "bob", "carol")


def test_a_report_is_a_hash_in_the_queue(store, raw):
    one = report(store, ALICE, BOB, 7, note="Again and again")
    assert raw.hgetall(f"report:{one.rid}") == {
        "who": "1",
        "whom": "2",
        "pid": "7",
        "reason": "spam",
        "note": "Again and again",
        "body": "Buy!",
    }
    assert raw.zrange("reports", 0, -1, withscores=True) == [(str(one.rid), one.rid)]
    assert raw.zrange("reports_about:2", 0, -1, withscores=True) == [(str(one.rid), one.rid)]
    assert raw.zrange("reports_by:1", 0, -1, withscores=True) == [("2:7", one.rid)]
    assert noted(raw) == []


def test_the_same_thing_is_reported_once(store, raw):
    report(store, ALICE, BOB)
    assert not Reports(store).make(ALICE, NewReport(BOB, None, "spam"))
    assert Reports(store).make(ALICE, NewReport(BOB, 7, "spam"))
    assert Reports(store).make(CAROL, NewReport(BOB, None, "spam"))
    assert raw.zcard("reports") == len(raw.keys("report:*")) == 3


def test_two_reports_of_one_moment_have_two_ids(store, raw, monkeypatch):
    monkeypatch.setattr("time.time_ns", lambda: 1_800_000_000_000_000_000)
    report(store, ALICE, BOB)
    report(store, CAROL, BOB)
    assert raw.zrange("reports", 0, -1) == ["1800000000000000", "1800000000000001"]


@pytest.mark.parametrize("step", range(9))
def test_a_report_that_is_killed_is_whole_after_the_next_try(store, raw, step, monkeypatch, capsys):
    killed_before_round_trip(step, lambda: Reports(store).make(ALICE, NewReport(BOB, 7, "spam")))
    Reports(store).make(ALICE, NewReport(BOB, 7, "spam"))
    [rid] = raw.zrange("reports", 0, -1)
    assert raw.zrange("reports_about:2", 0, -1) == [rid]
    assert raw.zscore("reports_by:1", "2:7") == int(rid)
    monkeypatch.setattr("timeline.moderation.reports.checks.UNDER_WAY", -1)
    assert not any(doctor_findings(capsys)[0].values())
    call_command("cleanup", stdout=io.StringIO())
    assert raw.keys("report:*") == [f"report:{rid}"]


@pytest.mark.parametrize("step", range(9))
def test_a_killed_report_is_sent_or_removed_by_doctor(store, raw, step, monkeypatch, capsys):
    killed_before_round_trip(step, lambda: Reports(store).make(ALICE, NewReport(BOB, 7, "spam")))
    monkeypatch.setattr("timeline.moderation.reports.checks.UNDER_WAY", -1)
    call_command("doctor", "--fix", stdout=io.StringIO())
    call_command("cleanup", stdout=io.StringIO())
    assert not any(any(found.values()) for found in doctor_findings(capsys))
    assert (
        len(raw.keys("report:*")) == raw.zcard("reports") == raw.zcard("reports_about:2") == raw.zcard("reports_by:1")
    )


@pytest.mark.parametrize("step", range(7))
@pytest.mark.parametrize("gone", ["alice", "bob"])
def test_nothing_is_left_of_a_report_when_an_account_goes_meanwhile(store, raw, request, step, gone):
    login = request.getfixturevalue(gone)

    def delete():
        AccountDeletion(store).delete(login.user, login.secret)
        drain(store, "worker")

    with contextlib.suppress(AccountDeleted), before_round_trip(step, delete):
        Reports(store).make(ALICE, NewReport(BOB, 7, "spam"))
    if raw.exists("reports"):  # the deletion came after the last look
        assert gone == "alice"
        [rid] = raw.zrange("reports", 0, -1)
        assert not raw.hexists(f"report:{rid}", "who")
    else:
        assert raw.keys("report*") == []
