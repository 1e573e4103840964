"""Reports as they are made: one open report of a person about a thing, also after a crash; and the pages on which a
user makes them."""

from itertools import combinations

import pytest
from django.core.management import call_command

from accounts.users.accounts import AccountDeletion
from retwis_site.jobs.worker import drain
from tests.support.command_output import doctor_findings, mends_all
from tests.support.http.page_text import page_of
from tests.support.protocols.reports import CAROL, make_moderator, report
from tests.support.stored_keys import drain_due, everything, noted, publish
from tests.support.stores.seam import killed_before_round_trip
from timeline.moderation.reports import Action, NewReport, Reports
from timeline.relations.relations import BlockedPeople

COMMIT = 3  # the round trip of the commit; the first is 0

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
def test_a_killed_report_is_finished_by_a_worker_or_was_never_made(store, raw, step, monkeypatch, capsys):
    killed_before_round_trip(step, lambda: Reports(store).make(ALICE, NewReport(BOB, 7, "spam")))
    monkeypatch.setattr("timeline.moderation.upkeep.UNDER_WAY", -1)
    assert not any(doctor_findings(capsys)[0].values())  # while the job waits for the worker
    drain_due(store, raw)
    assert not any(doctor_findings(capsys)[0].values())
    call_command("cleanup", verbosity=0)
    assert not any(any(found.values()) for found in doctor_findings(capsys))
    is_made = step > COMMIT
    assert raw.zcard("reports") == raw.zcard("reports_about:2") == raw.zcard("reports_by:1") == is_made
    assert len(raw.keys("report:*")) == is_made
    assert (Reports(store).make(ALICE, NewReport(BOB, 7, "spam")) is None) == is_made


LISTS = ("reports", "reports_about:2", "reports_by:1")


@pytest.mark.parametrize("lost", [*combinations(LISTS, 1), *combinations(LISTS, 2)])
def test_a_report_that_is_lost_from_lists_is_found_by_doctor(store, raw, lost, monkeypatch, capsys):
    """What one list has was sent: staff may see it."""
    report(store, ALICE, BOB)
    before = everything(raw)
    raw.delete(*lost)
    monkeypatch.setattr("timeline.moderation.upkeep.UNDER_WAY", -1)
    assert doctor_findings(capsys)[0]["open reports that a set lacks"] == 1
    call_command("cleanup", verbosity=0)
    call_command("doctor", "--fix", verbosity=0)
    assert everything(raw) == before


@pytest.mark.parametrize("is_decided", [False, True])
def test_a_report_about_an_unknown_user_is_no_error_after_one_repair(store, raw, is_decided, monkeypatch, capsys):
    made = report(store, ALICE, BOB)
    if is_decided:
        make_moderator(store, CAROL)
        Reports(store).decide(made, CAROL, [Action.DISMISS], "no")
    monkeypatch.setattr("timeline.moderation.upkeep.UNDER_WAY", -1)
    raw.delete("user:2")
    raw.hdel("users", "bob")
    mends_all(capsys)
    assert not raw.exists("reports_about:2")
    assert raw.hget(f"report:{made.rid}", "whom") == "2"
    assert raw.zrange("reports", 0, -1) == ([] if is_decided else [str(made.rid)])


@pytest.mark.parametrize("lost", ["whom", "reason"])
def test_a_report_that_has_lost_a_field_is_moved_and_not_removed(store, raw, lost, monkeypatch):
    rid = report(store, ALICE, BOB, note="Again and again").rid
    monkeypatch.setattr("timeline.moderation.upkeep.UNDER_WAY", -1)
    raw.hdel(f"report:{rid}", lost)
    stored = raw.hgetall(f"report:{rid}")
    call_command("cleanup", verbosity=0)
    assert not raw.exists(f"report:{rid}")
    assert raw.hgetall(f"damaged:report:{rid}") == stored


@pytest.mark.parametrize("lost", [("reports_about:2",), ("reports_by:1",), ("reports_about:2", "reports_by:1")])
def test_a_decided_report_that_is_lost_from_lists_is_found_by_doctor(store, raw, lost, monkeypatch, capsys):
    one = report(store, ALICE, BOB)
    make_moderator(store, CAROL)
    Reports(store).decide(one, CAROL, [Action.DISMISS], "no")
    drain(store, "worker")
    before = everything(raw)
    raw.delete(*lost)
    assert doctor_findings(capsys)[0] == {"decided reports that a set lacks": 1}
    call_command("doctor", "--fix", verbosity=0)
    assert everything(raw) == before


@pytest.mark.parametrize("score", ["-5", "0.5", "inf", "1795965900834986"])
def test_a_claim_that_leads_to_no_report_is_mended_by_one_repair(store, raw, score, monkeypatch, capsys):
    report(store, ALICE, BOB)
    before = everything(raw)
    monkeypatch.setattr("timeline.moderation.upkeep.UNDER_WAY", -1)
    raw.zadd("reports_by:1", {"2:0": score})
    mends_all(capsys)
    assert everything(raw) == before


@pytest.mark.parametrize("line", ["x", '{"what": 1}', ""])
def test_a_report_whose_decision_cannot_be_read_waits_for_one_again(store, raw, line, monkeypatch, capsys):
    one = report(store, ALICE, BOB)
    make_moderator(store, CAROL)
    Reports(store).decide(one, CAROL, [Action.DISMISS], "no")
    drain(store, "worker")
    raw.hset(f"report:{one.rid}", "decision", line)
    monkeypatch.setattr("timeline.moderation.upkeep.UNDER_WAY", -1)
    assert doctor_findings(capsys)[0]["decisions about reports that cannot be read"] == 1
    mends_all(capsys)
    assert raw.hget(f"damaged:report:{one.rid}:values", "decision") == line
    [waiting] = Reports(store).open(None, 9)
    Reports(store).decide(waiting, CAROL, [Action.WARN], "do not")
    assert raw.zcard("reports") == 0


def test_a_report_about_a_deleted_account_that_is_lost_from_the_lists_goes(store, raw, bob, monkeypatch, capsys):
    report(store, ALICE, BOB)
    raw.delete("reports", "reports_about:2")
    AccountDeletion(store).delete(bob.user, bob.secret)
    drain(store, "worker")
    monkeypatch.setattr("timeline.moderation.upkeep.UNDER_WAY", -1)
    call_command("doctor", "--fix", verbosity=0)
    assert not any(any(found.values()) for found in doctor_findings(capsys))
    assert raw.keys("report*") == []


# ---- The pages on which a user reports a person or a post.


ALICE, BOB = 1, 2


def test_a_post_is_reported_with_its_text_also_by_someone_whom_its_author_blocks(member, bob, store, raw):
    publish(raw, store, bob, "Buy!")
    BlockedPeople(store).block(BOB, ALICE)
    assert "Buy!" in member.get("/@bob/1/report/").content.decode()
    response = member.post("/@bob/1/report/", {"reason": "spam", "note": "Ads"})
    assert (response.status_code, response["Location"]) == (302, "/@bob/reported/")
    [rid] = raw.zrange("reports", 0, -1)
    assert raw.hmget(f"report:{rid}", "who", "whom", "pid", "body", "note") == ["1", "2", "1", "Buy!", "Ads"]
    page = member.get("/@bob/reported/").content.decode()
    assert "/@bob/block/" in page
    assert "/@bob/mute/" in page
    assert "/@bob/report/" not in page


def test_a_person_is_reported_for_a_rule_of_the_site(member, raw):
    raw.hset("site", "rules", "Be kind\nNo spoilers")
    assert "It breaks rule 2: No spoilers" in member.get("/@bob/report/").content.decode()
    member.post("/@bob/report/", {"reason": "rule:2", "note": ""})
    [rid] = raw.zrange("reports", 0, -1)
    assert raw.hmget(f"report:{rid}", "reason", "rule") == ["rule:2", "No spoilers"]


@pytest.mark.parametrize(
    "fields", [{}, {"reason": "rule:9"}, {"reason": "other"}, {"reason": "spam", "note": "x" * 501}]
)
def test_a_form_with_errors_keeps_what_was_typed(browser, alice, raw, fields):
    assert fields.get("note", "") in page_of(browser(alice).post("/@bob/report/", fields), 422)
    assert raw.keys("report*") == []


def test_nobody_reports_themself(browser, alice, raw):
    assert browser(alice).get("/@alice/report/")["Location"] == "/@Alice/"


def test_the_menu_of_a_person_leads_to_the_report(browser, alice):
    assert 'href="/@bob/report/"' in browser(alice).get("/@bob/more/").content.decode()
