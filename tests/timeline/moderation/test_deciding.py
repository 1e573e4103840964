"""Decisions about reports: what is done, who is told, and what a crash or a second moderator leaves."""

import json
import time
from functools import partial

import pytest

from accounts.community.acts import Roles
from accounts.community.log import Act, Log
from accounts.community.sanctions import SUSPENDED_FOR, Sanctions
from accounts.users.entities import Role, State
from retwis_site.jobs import outbox
from retwis_site.jobs.worker import ATTEMPTS, drain, rounds
from retwis_site.rendering.dates import A_DAY
from retwis_site.store import chunks
from retwis_site.store.ids import LARGEST_ID
from tests.support.command_output import doctor_findings
from tests.support.http.page_text import page_of
from tests.support.people import register
from tests.support.protocols.reports import ALICE, BOB, CAROL, make_admin, make_moderator, report
from tests.support.stored_keys import drain_due, empty, noted, publish
from tests.support.stores.seam import each_moment, killed_before_round_trip
from timeline.moderation import reports
from timeline.moderation.reports import Action, DecidedAlready, NoPost, NotYours, Reports
from timeline.moderation.upkeep import ReportChecks
from timeline.posts.repository import Posts

DAN = 4

pytestmark = pytest.mark.usefixtures("site")


@pytest.fixture
def site(store, raw, alice, bob, carol):
    """carol and dan are moderators; bob has written post 1."""
    register(store, "dan")
    make_moderator(store, CAROL)
    make_moderator(store, DAN)
    publish(raw, store, bob, "Buy!")


def decide(store, one, action, by=CAROL, days=0):
    until = int(time.time()) + days * A_DAY if days else 0
    Reports(store).decide(one, by, [action], "It is an advertisement.", until)


def told(raw, uid):
    return [member for member in raw.zrange(f"notices:{uid}", 0, -1) if member.startswith("report:")]


def test_a_decision_that_comes_too_late_says_so_where_the_first_has_left_nothing_to_delete(store):
    """The page shows the posts of a person that are still reported: none, after the first decision."""
    one = report(store, ALICE, BOB)
    decide(store, one, Action.WARN)
    with pytest.raises(DecidedAlready):
        decide(store, Reports(store).read(one.rid), Action.DELETE, by=DAN)


def test_a_dismissed_report_leaves_the_queue_and_its_author_is_told(store, raw):
    one = report(store, ALICE, BOB, 1)
    decide(store, one, Action.DISMISS)
    assert raw.zcard("reports") == 0
    assert raw.zrange("reports_by:1", 0, -1) == [f"2:1:{one.rid}"]
    assert told(raw, ALICE) == [f"report:{one.rid}:1"]
    assert told(raw, BOB) == []
    [act] = Log(store).about(BOB)
    assert (act.what, act.by, act.post, act.reason) == ("report:dismissed", CAROL, 1, "It is an advertisement.")
    assert Reports(store).read(one.rid).action is Action.DISMISS
    assert noted(raw) == []
    assert report(store, ALICE, BOB, 1).rid != one.rid  # it can be reported again


def test_a_decision_that_comes_before_a_repair_of_its_report_stands(store, raw, monkeypatch):
    one = report(store, ALICE, BOB, 1)
    claim = raw.zrange("reports_by:1", 0, -1)
    raw.delete("reports_by:1")
    monkeypatch.setattr("timeline.moderation.upkeep.UNDER_WAY", -1)
    [[finding]] = ReportChecks(store).unlisted([f"report:{one.rid}"])
    decide(store, one, Action.DISMISS)
    finding.repair()
    assert (raw.zcard("reports"), raw.zrange("reports_by:1", 0, -1)) == (0, [f"{claim[0]}:{one.rid}"])


@pytest.mark.parametrize(
    ("action", "state"), [(Action.FREEZE, State.FROZEN), (Action.HIDE, State.HIDDEN), (Action.SUSPEND, State.SUSPENDED)]
)
def test_a_sanction_is_imposed_for_days(store, action, state):
    decide(store, report(store, ALICE, BOB), action, days=7)
    present = Sanctions(store).of(BOB)
    assert (present.state, present.reason) == (state, "It is an advertisement.")
    assert present.until - present.since == pytest.approx(7 * 86400, abs=5)


def test_all_reports_about_a_thing_are_decided_together(store, raw):
    report(store, DAN, BOB)
    others = [report(store, ALICE, BOB, 1), report(store, DAN, BOB, 1)]
    decide(store, others[0], Action.WARN)
    assert raw.zcard("reports") == 1  # the one about the person
    assert told(raw, ALICE) == [f"report:{others[0].rid}:1"]
    assert told(raw, DAN) == [f"report:{others[1].rid}:4"]
    assert told(raw, BOB) == [f"report:{others[0].rid}:2"]
    assert Reports(store).read(others[1].rid).action is Action.WARN


def test_reports_that_are_decided_together_are_told_their_reporter_in_one_line(store, raw, alice, browser):
    one, about_person = report(store, ALICE, BOB, 1), report(store, ALICE, BOB)
    Reports(store).decide(one, CAROL, [Action.WARN], "Ads", also="0")
    assert told(raw, ALICE) == [f"report:{one.rid}:1", f"report:{about_person.rid}:1"]
    assert browser(alice).get("/notifications/").content.decode().count("You have reported") == 1
    decide(store, report(store, ALICE, BOB, 1), Action.WARN)
    assert browser(alice).get("/notifications/").content.decode().count("You have reported") == 2


def test_one_decision_deletes_posts_freezes_their_author_and_closes_all_their_reports(store, raw, bob, capsys):
    publish(raw, store, bob, "Buy more!")
    about_him, second = report(store, DAN, BOB), report(store, ALICE, BOB, 2)
    first = report(store, ALICE, BOB, 1)
    other = report(store, ALICE, DAN)
    actions = [Action.DELETE, Action.FREEZE]
    Reports(store).decide(first, CAROL, actions, "Ads.", also="2 0", told="Well seen.")
    assert raw.hexists("post:1", "deleted")
    assert raw.hexists("post:2", "deleted")
    assert (Sanctions(store).of(BOB).state, Sanctions(store).of(BOB).reason) == (State.FROZEN, "Ads.")
    assert raw.zrange("reports", 0, -1) == [str(other.rid)]
    assert raw.hget(f"report:{first.rid}", "body") == "Buy!"
    assert len({raw.hget(f"report:{one.rid}", "decision") for one in (first, second, about_him)}) == 1
    assert json.loads(raw.hget(f"report:{second.rid}", "decision")).items() >= {
        ("what", "report:post_deleted,frozen"), ("post", 1), ("also", "2 0"), ("told", "Well seen."),
    }  # fmt: skip
    assert (len(told(raw, ALICE)), len(told(raw, DAN)), told(raw, BOB)) == (2, 1, [f"report:{first.rid}:2"])
    lines = [(act.what, act.post, act.told) for act in Log(store).about(BOB)]
    assert sorted(lines) == [("frozen", 0, ""), ("report:post_deleted", 1, ""), ("report:post_deleted", 2, "")]
    assert not any(job.startswith(("report:", "del:")) for job in noted(raw))
    assert not any(doctor_findings(capsys)[0].values())


@pytest.mark.parametrize(
    ("actions", "learnt"),
    [([], None), ([Action.DISMISS], "dismissed"), ([Action.WARN], "acted"), ([Action.DELETE, Action.FREEZE], "acted")],
)
def test_the_download_tells_the_reporter_no_more_than_the_notice(browser, store, alice, actions, learnt):
    one = report(store, ALICE, BOB, 1)
    if actions:
        Reports(store).decide(one, CAROL, actions, "Ads.")
    file = b"".join(browser(alice).get("/settings/download/").streaming_content)
    [line] = [line for line in map(json.loads, file.splitlines()) if line["type"] == "report"]
    assert line["decision"] == learnt


def test_a_worker_closes_the_rest_of_very_many_reports(store, raw, monkeypatch):
    monkeypatch.setattr(reports, "MOST_STEPS", 0)
    one = report(store, ALICE, BOB, 1)
    report(store, DAN, BOB, 1)
    decide(store, one, Action.DISMISS)
    assert raw.zcard("reports") == 1
    drain(store, "worker")
    assert raw.zcard("reports") == 0
    assert noted(raw) == []


def test_the_rest_of_very_many_reports_is_closed_in_turns_and_none_begins_anew(store, raw, monkeypatch):
    """A worker was busy with some thousands of reports about one person for ever."""
    people = [register(store, f"person{number}").user.uid for number in range(6)]
    made = [report(store, who, BOB, 1).rid for who in people]
    report(store, ALICE, BOB)
    monkeypatch.setattr(outbox, "TURN", -1.0)  # one step
    monkeypatch.setattr(chunks, "AT_ONCE", 3)
    monkeypatch.setattr(reports, "MOST_STEPS", 1)
    decide(store, Reports(store).read(made[-1]), Action.DELETE)
    turns = []
    while jobs := noted(raw):
        turns += [job.split(":")[3:] for job in jobs]
        assert len(turns) < 10
        next(rounds(store, "worker"))
    assert turns == [[], *([str(below)] for below in (LARGEST_ID, made[4], made[2], made[0]))]
    assert [Reports(store).read(rid).action for rid in made] == [Action.DELETE] * 6
    assert (raw.zcard("reports"), len(told(raw, BOB))) == (1, 1)
    assert all(told(raw, who) for who in people)


def test_a_decision_about_many_reports_costs_no_round_trip_for_each(store, raw, round_trips):
    def decided(number):
        people = [register(store, f"person{number}of{each}").user.uid for each in range(number)]
        many = [report(store, who, BOB, 1) for who in people]
        sent = round_trips(lambda: decide(store, many[-1], Action.WARN))
        assert raw.zcard("reports") == 0
        assert {told(raw, one.who)[0] for one in many} == {f"report:{one.rid}:{one.who}" for one in many}
        for one in many:
            assert raw.zrange(f"reports_by:{one.who}", 0, -1) == [f"2:1:{one.rid}"]
        assert len({raw.hget(f"report:{one.rid}", "decision") for one in many}) == 1
        return len(sent.round_trips)

    assert decided(9) == decided(2)


def test_nobody_decides_about_themself_and_moderators_not_about_staff(store):
    about_carol = report(store, ALICE, CAROL)
    for by in (CAROL, DAN, ALICE):
        with pytest.raises(NotYours):
            decide(store, about_carol, Action.DISMISS, by=by)
    make_admin(store, DAN)
    decide(store, about_carol, Action.FREEZE, by=DAN)
    assert Sanctions(store).of(CAROL).state is State.FROZEN


def test_only_where_no_other_admin_is_an_admin_closes_a_report_about_themself_and_imposes_nothing(store, raw):
    make_admin(store, CAROL)
    make_admin(store, ALICE)
    one = report(store, DAN, CAROL)
    with pytest.raises(NotYours):
        decide(store, one, Action.DISMISS)
    Roles(store).give(ALICE, Role.MODERATOR)
    with pytest.raises(NotYours):
        decide(store, one, Action.FREEZE)
    decide(store, one, Action.DISMISS)
    assert raw.zcard("reports") == 0
    assert told(raw, DAN) == [f"report:{one.rid}:{DAN}"]


def test_an_admin_warns_another_admin_and_imposes_nothing(store):
    make_admin(store, CAROL)
    make_admin(store, DAN)
    one = report(store, ALICE, DAN)
    with pytest.raises(NotYours):
        decide(store, one, Action.SUSPEND)
    decide(store, one, Action.WARN)


def test_a_decision_about_an_account_in_its_last_hour_does_all_but_the_sanction(store, raw):
    Sanctions(store).impose(BOB, State.SUSPENDED, "Ads")
    raw.hset("user:2", "state_since", int(time.time()) - SUSPENDED_FOR)
    one = report(store, ALICE, BOB, 1)
    Reports(store).decide(one, CAROL, [Action.DELETE, Action.SUSPEND], "More ads.")
    assert raw.hexists("post:1", "deleted")
    assert told(raw, ALICE) == [f"report:{one.rid}:1"]
    assert raw.zcard("reports") == 0
    assert Sanctions(store).of(BOB).reason == "Ads"
    assert [job for job in noted(raw) if job.startswith("report:")] == []


def test_a_deletion_in_which_the_author_was_faster_is_neither_told_nor_logged(store, raw):
    one = report(store, ALICE, BOB, 1)
    Posts(store).delete(BOB, 1)
    decide(store, one, Action.DELETE)
    assert told(raw, BOB) == []
    assert Log(store).about(BOB) == []
    assert (told(raw, ALICE), raw.zcard("reports")) == ([f"report:{one.rid}:1"], 0)


def test_an_author_is_told_how_many_posts_staff_has_deleted_and_not_how_many_were_chosen(store, raw, bob, browser):
    for body in ("Buy more!", "Buy all!"):
        publish(raw, store, bob, body)
    one = report(store, ALICE, BOB, 1)
    Posts(store).delete(BOB, 2)
    Reports(store).decide(one, CAROL, [Action.DELETE, Action.WARN], "Ads.", also="2 3")
    assert raw.hget(f"report:{one.rid}", "deleted") == "1 3"
    assert "deleted 2 posts of yours" in browser(bob).get("/notifications/").content.decode()
    assert Reports(store).read(one.rid).chosen == [1, 2, 3]


def test_an_author_who_was_faster_is_warned_and_told_of_no_deletion(store, raw, bob, browser):
    one = report(store, ALICE, BOB, 1)
    Posts(store).delete(BOB, 1)
    Reports(store).decide(one, CAROL, [Action.DELETE, Action.WARN], "Ads.")
    assert raw.hget(f"report:{one.rid}", "deleted") == ""
    page = browser(bob).get("/notifications/").content.decode()
    assert "The moderators warn you." in page
    assert "a post of yours" not in page


def test_a_notice_of_a_deletion_shows_no_post_that_its_author_had_deleted(store, raw, bob, browser):
    publish(raw, store, bob, "Buy again!")
    one = report(store, ALICE, BOB, 1, body="Buy!")
    Posts(store).delete(BOB, 1)
    Reports(store).decide(one, CAROL, [Action.DELETE], "Ads.", also="2")
    assert raw.hget(f"report:{one.rid}", "deleted") == "2"
    page = browser(bob).get("/notifications/").content.decode()
    assert "The moderators have deleted a post of yours." in page
    assert "Buy!" not in page


def test_a_deletion_closes_its_report_once_and_is_told_and_logged_once_when_it_is_carried_out_again(store, raw, sent):
    one = report(store, ALICE, BOB, 1)
    decide(store, one, Action.DELETE)
    assert sent.commands.count(("ZREM", "reports", str(one.rid))) == 1
    raw.delete("notices:2", "acts:2")
    for _ in range(2):
        [*Reports(store).finish(one.rid)]
    assert told(raw, BOB) == [f"report:{one.rid}:2"]
    assert [act.post for act in Log(store).about(BOB)] == [1]


@pytest.mark.parametrize("action", [Action.WARN, Action.DELETE])
def test_a_job_of_a_report_that_was_decided_with_another_one_tells_the_person_nothing_again(store, raw, action):
    earlier, later = report(store, ALICE, BOB, 1), report(store, DAN, BOB, 1)
    decide(store, later, action)
    [*Reports(store).finish(earlier.rid)]
    assert len(told(raw, BOB)) == 1
    assert len(Log(store).about(BOB)) == 1


@pytest.mark.parametrize("then", ["lifted", State.HIDDEN])
def test_what_a_killed_decision_has_imposed_stays_as_another_moderator_has_left_it(store, raw, then):
    """Its line is not yet in the log when the other one acts."""
    for kill in each_moment():
        one = report(store, ALICE, BOB)
        killed_before_round_trip(kill, lambda one=one: decide(store, one, Action.FREEZE))
        is_imposed = Sanctions(store).of(BOB) is not None
        raw.delete("lease:sanctions:2")  # a minute later
        if is_imposed and then == "lifted":
            Sanctions(store).lift(BOB, DAN)
        elif is_imposed:
            Sanctions(store).impose(BOB, then, "Milder.", by=DAN)
        drain_due(store, raw)
        if is_imposed:
            assert raw.hget("user:2", "state") == ("" if then == "lifted" else then), kill
            assert sorted(act.what for act in Log(store).about(BOB)) == ["frozen", then], kill
        if Sanctions(store).of(BOB) is not None:
            Sanctions(store).lift(BOB, DAN)
        if Reports(store).read(one.rid).decision is None:
            decide(store, one, Action.DISMISS)
        raw.delete("acts:2")


def test_a_sanction_that_an_earlier_version_has_imposed_for_a_decision_is_imposed_once(store, raw):
    """The sanction had an id of its own. The old process is gone, or has left very many deletions to a worker."""
    one = report(store, ALICE, BOB)
    act = Act(what="report:frozen", by=CAROL, whom=BOB, reason="Ads.")
    raw.hset(f"report:{one.rid}", "decision", act.line())
    Sanctions(store).impose(BOB, State.FROZEN, "Ads.", by=CAROL)
    imposed = raw.hget("user:2", "state_act")
    assert imposed != act.id
    [*Reports(store).finish(one.rid)]
    assert raw.hget("user:2", "state_act") == imposed
    assert [act.what for act in Log(store).about(BOB)] == ["frozen"]


def test_a_worker_leaves_a_decision_of_a_newer_version_to_a_worker_of_that_version(store, raw, capsys):
    """Both run while machines are updated one after the other. What the decision does would be lost."""
    one = report(store, ALICE, BOB, 1)
    act = Act(what="report:labelled", by=CAROL, whom=BOB, post=1, reason="Ads.")
    raw.hset(f"report:{one.rid}", "decision", act.line())
    job = f"report:{one.rid}:a"
    raw.zadd("outbox", {job: 1})
    for _ in range(ATTEMPTS + 1):
        drain_due(store, raw)
    assert noted(raw) == [job]
    assert raw.zscore("outbox", job) > time.time() + 1  # not at once again
    assert raw.exists("set_aside", "attempts", f"lease:{job}") == 0
    assert (told(raw, ALICE), Log(store).about(BOB)) == ([], [])
    assert doctor_findings(capsys) == ({}, {})


def test_what_earlier_turns_have_deleted_costs_the_next_one_no_round_trip_for_each(store, raw, bob, round_trips):
    """With a store a millisecond away, a turn ended before it had come as far as the last one, for ever."""

    def of_the_next_turn(number):
        pids = [publish(raw, store, bob, f"Buy {number} or {each}!") for each in range(number)]
        one = report(store, ALICE, BOB, pids[0])
        Posts(store).delete(BOB, pids[1])
        Reports(store).decide(one, CAROL, [Action.DELETE], "Ads.", also=" ".join(map(str, pids[1:])))
        drain(store, "worker")
        sent = round_trips(lambda: [*Reports(store).finish(one.rid)])
        assert sorted(act.post for act in Log(store).about(BOB) if act.post in pids) == [pids[0], *pids[2:]]
        assert Reports(store).read(one.rid).deleted == (pids[0], *pids[2:])
        return len(sent.round_trips)

    assert of_the_next_turn(15) == of_the_next_turn(3)


def test_a_report_about_a_person_has_no_post_to_delete(store):
    with pytest.raises(NoPost):
        decide(store, report(store, ALICE, BOB), Action.DELETE)


def test_staff_deletes_a_post_that_it_has_reported_below_all_reports_that_are_shown(store, raw, monkeypatch):
    monkeypatch.setattr(reports, "REPORTS_SHOWN", 1)
    one = report(store, CAROL, BOB, 1)
    report(store, ALICE, BOB)
    Reports(store).delete_posts(BOB, {1: "Buy!"}, CAROL, "It is an advertisement.")
    assert raw.hexists("post:1", "deleted")
    assert Reports(store).read(one.rid).action is Action.DELETE
    assert raw.zcard("reports") == 1


def test_a_deletion_that_fails_in_the_middle_and_is_sent_again_is_logged_and_told_once(store, raw, browser):
    """The report by which it was decided has a decision then; there is no open one."""
    for fails in each_moment():
        empty(raw)
        alice, bob, _carol = (register(store, name) for name in ("Alice", "bob", "carol"))
        publish(raw, store, bob, "Spam")
        report(store, CAROL, BOB, 1)
        Roles(store).give(ALICE, Role.ADMIN)
        send = partial(browser(alice).post, "/moderation/people/bob/1/", {"reason": "Spam"})
        killed_before_round_trip(fails, send)
        send()
        drain_due(store, raw)
        assert [act.post for act in Log(store).about(BOB)] == [1], fails
        assert len(told(raw, BOB)) == 1


def test_a_moderator_goes_from_report_to_report(browser, carol, store):
    """Past one about themself, and back to the queue behind the last one."""
    last = report(store, DAN, ALICE)
    report(store, ALICE, CAROL)
    both = [report(store, ALICE, BOB), report(store, DAN, BOB)]  # decided together
    newest = report(store, DAN, BOB, 1)
    staff, form = browser(carol), {"action": "dismissed", "reason": "No", "imposed": "", "then": "next"}
    assert 'name="then" value="next"' in page_of(staff.get(f"/moderation/reports/{newest.rid}/"))
    for one, older in ((newest, both[1]), (both[1], last), (last, None)):
        following = f"reports/{older.rid}/#report" if older else ""
        assert staff.post(f"/moderation/reports/{one.rid}/", form)["Location"] == f"/moderation/{following}"


def test_the_next_report_is_found_behind_many_about_the_moderator(browser, carol, store, raw, round_trips):
    """Whether they may decide about themself is asked once."""
    costs = []
    report(store, DAN, ALICE)
    for reported, more in ((None, 2), (1, 10)):
        for pid in range(more):
            report(store, BOB, CAROL, more + pid)
        newest = report(store, DAN, BOB, reported)
        form = {"action": "dismissed", "reason": "No", "imposed": "", "then": "next"}
        decide = partial(browser(carol).post, f"/moderation/reports/{newest.rid}/", form)
        costs.append(len(round_trips(decide).round_trips))
    assert costs[0] == costs[1]


def test_a_form_that_another_moderator_was_faster_than_shows_what_stands_now(browser, carol, store, raw, monkeypatch):
    """Also where it happened after the form was checked."""
    one, decides = report(store, ALICE, BOB, 1), Reports.decide

    def impose_first(self, *arguments):
        monkeypatch.setattr(Reports, "decide", decides)
        Sanctions(store).impose(BOB, State.FROZEN, "Ads.")
        decides(self, *arguments)

    monkeypatch.setattr(Reports, "decide", impose_first)
    form = {"action": "suspended", "reason": "Ads", "imposed": ""}
    page = page_of(browser(carol).post(f"/moderation/reports/{one.rid}/", form), 422)
    assert "The sanction on this person has changed." in page
    assert f'name="imposed" value="{raw.hget("user:2", "state_act")}"' in page
    assert Reports(store).read(one.rid).decision is None
    assert raw.hget("user:2", "state") == State.FROZEN
