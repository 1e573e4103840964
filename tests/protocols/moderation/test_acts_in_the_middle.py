"""A whole act comes between two parts of a round trip of another one. What follows from both agrees with them."""

import itertools
from functools import partial

import pytest

from accounts.community.sanctions import SanctionChanged
from accounts.users.entities import AccountDeleted, Refused, Role, State
from retwis_site.exceptions import LeaseEnded
from retwis_site.jobs.worker import drain
from tests.support.protocols.community import (
    MODERATOR,
    OTHER,
    StaffActs,
    acts_in_log,
    assert_community_agrees,
    finish_all_but_removals,
    make_moderated_site,
    reasons_in_log,
)
from tests.support.protocols.interleaving import attempt, carry_out
from tests.support.protocols.reports import (
    assert_decisions_are_carried_out,
    assert_reports_agree,
)
from tests.support.protocols.small_site import ALICE, BOB, CAROL
from tests.support.stored_keys import make_due, noted
from tests.support.stores import seam
from timeline.moderation.reports import Action, Reports
from timeline.posts.entities import PostDeleted

CAROLS_POST = 2
LISTED = 4  # round trips of a report before it is listed
ROUNDS = 5  # each takes the round trips apart in its own way


# What was done before, what is done, and what comes in the middle.
ACTS = {
    "two sanctions": lambda s: ([], s.impose(State.FROZEN), s.impose(State.SUSPENDED, OTHER)),
    "a sanction and a new admin": lambda s: ([], s.impose(State.FROZEN), s.give(CAROL, Role.ADMIN, ALICE)),
    "a new admin and a sanction": lambda s: ([], s.give(CAROL, Role.ADMIN, ALICE), s.impose(State.FROZEN)),
    "two admins who take each other's role": lambda s: (
        [s.give(ALICE, Role.ADMIN), s.give(BOB, Role.ADMIN)],
        s.give(ALICE, Role.MEMBER, BOB),
        s.give(BOB, Role.MEMBER, ALICE),
    ),
    "two roles": lambda s: ([], s.give(CAROL, Role.ADMIN, ALICE), s.give(CAROL, Role.MEMBER, ALICE)),
    "an appeal that is granted": lambda s: ([s.impose(State.FROZEN)], s.appeal(), s.answer_appeal(True)),
    "an appeal that is refused": lambda s: ([s.impose(State.FROZEN)], s.appeal(), s.answer_appeal(False)),
    "an appeal and another sanction": lambda s: ([s.impose(State.FROZEN)], s.appeal(), s.impose(State.HIDDEN)),
    "two answers": lambda s: (
        [s.impose(State.FROZEN), s.appeal()],
        s.answer_appeal(True),
        s.answer_appeal(False, OTHER),
    ),
    "two reports": lambda s: ([], s.report(ALICE), s.report(ALICE)),
    "a report and a decision": lambda s: ([], s.report(ALICE), s.decide(Action.WARN)),
    "a decision and a report": lambda s: ([s.report(ALICE)], s.decide(Action.WARN), s.report(BOB)),
    "two decisions": lambda s: ([s.report(ALICE)], s.decide(Action.FREEZE), s.decide(Action.DISMISS, by=OTHER)),
    "a decision and a deletion": lambda s: ([s.report(BOB, 2)], s.decide(Action.DELETE), s.delete_by_staff()),
}


def make_site_after(raw, before):
    """A moderated site on which something was done before. Whether it has an admin then."""
    make_moderated_site(raw)
    for act in before:
        act()
    return "admin" in raw.hvals("staff")


@pytest.mark.parametrize("case", ACTS)
def test_an_act_in_the_middle_of_another_agrees_with_it(store, raw, case):
    for step in seam.each_moment(rounds=ROUNDS):
        staff = StaffActs(store)
        before, act, between = ACTS[case](staff)
        has_admin = make_site_after(raw, before)
        drain(store, "worker")  # else the recount of an earlier act would repair what these two leave
        with seam.before_part(step, attempt(between, Refused, PostDeleted)):
            attempt(act, Refused, PostDeleted)()
        assert_all_agree(store, raw, step)
        given = {one for one in reasons_in_log(raw) if one.startswith("role:")}
        assert given <= staff.done <= reasons_in_log(raw), step
        assert not has_admin or "admin" in raw.hvals("staff"), step


@pytest.mark.parametrize("case", ["an appeal that is granted", "two roles", "two answers", "two decisions"])
def test_an_act_after_one_that_was_killed_agrees_with_it(acts, store, raw, case):
    before, act, after = ACTS[case](acts)
    for step in seam.each_moment():
        make_site_after(raw, before)
        seam.killed_before_round_trip(step, attempt(act, Refused))
        make_due(raw)  # others wait until its lease has ended
        attempt(after, Refused)()
        assert_all_agree(store, raw, step)


@pytest.mark.parametrize("comes", [State.SUSPENDED, State.HIDDEN])
def test_a_granted_appeal_ends_no_sanction_that_comes_meanwhile(acts, store, raw, comes):
    """It was against the earlier one. What another moderator has imposed since then stands, or was never imposed."""
    for step in seam.each_moment(rounds=ROUNDS):
        make_moderated_site(raw)
        acts.impose(State.FROZEN)()
        acts.appeal()()
        drain(store, "worker")
        with seam.before_part(step, attempt(acts.impose(comes, OTHER), Refused)):
            attempt(acts.answer_appeal(True), Refused)()
        assert_all_agree(store, raw, step)
        imposed = [act["id"] for act in acts_in_log(raw) if act["what"] == comes]
        assert raw.hmget("user:3", "state", "state_act") == ([comes, *imposed] if imposed else ["", ""]), step


@pytest.mark.parametrize("comes", [State.SUSPENDED, State.FROZEN])
@pytest.mark.parametrize("asked", ["lift", "impose"])
def test_a_form_replaces_or_lifts_no_sanction_that_it_has_not_shown(acts, store, raw, asked, comes):
    """Another moderator imposes it after the form was checked, perhaps: it stands, and the form has done nothing."""
    form = acts.lift if asked == "lift" else partial(acts.impose, State.HIDDEN)
    for step in seam.each_moment(rounds=ROUNDS):
        make_moderated_site(raw)
        acts.impose(State.FROZEN)()
        drain(store, "worker")
        shown = raw.hget("user:3", "state_act")
        with seam.before_part(step, acts.impose(comes, OTHER)):
            attempt(form(by=MODERATOR, reason="By the form.", shown=shown), SanctionChanged)()
        assert_all_agree(store, raw, step)
        theirs = [act["id"] for act in acts_in_log(raw) if act["by"] == OTHER]
        forms = [act["id"] for act in acts_in_log(raw) if act["reason"] == "By the form."]
        assert forms or theirs, step
        last = theirs or (forms if asked == "impose" else [""])
        assert raw.hget("user:3", "state_act") == last[0], step


@pytest.mark.parametrize("comes", ["a sanction", "another decision"])
def test_a_decision_replaces_no_sanction_that_its_form_has_not_shown(acts, store, raw, comes):
    """Another moderator imposes it after the form was checked, by a form about the person, or by another report."""
    for step in seam.each_moment(rounds=ROUNDS):
        make_moderated_site(raw)
        acts.report(ALICE, CAROLS_POST)()
        [first] = Reports(store).about(CAROL, 1)
        acts.report(BOB)()
        other = acts.impose(State.FROZEN, OTHER, shown="")
        if comes == "another decision":
            other = partial(Reports(store).decide, first, OTHER, [Action.FREEZE], "Spam.", shown="")
        with seam.before_part(step, attempt(other, Refused)):
            attempt(acts.decide(Action.SUSPEND, shown=""), Refused)()
        assert_all_agree(store, raw, step)
        imposed = [act for act in acts_in_log(raw) if act["what"] in (State.FROZEN, State.SUSPENDED)]
        assert raw.hmget("user:3", "state", "state_act") == [imposed[0]["what"], imposed[0]["id"]], step
        assert len(imposed) == 1, step


def test_a_sanction_that_a_worker_imposes_late_replaces_no_later_one(acts, store, raw):
    """The process of the decision was killed, and another moderator has not waited for the worker."""
    for step in seam.each_moment():
        make_moderated_site(raw)
        acts.report(ALICE)()
        seam.killed_before_round_trip(step, acts.decide(Action.FREEZE))
        make_due(raw)  # others wait until its lease has ended
        acts.impose(State.SUSPENDED, OTHER)()
        assert raw.hget("user:3", "state") == State.SUSPENDED, step
        finish_all_but_removals(store, raw)
        assert raw.hget("user:3", "state") == State.SUSPENDED, step
        assert_reports_agree(raw, step)
        assert_community_agrees(raw, step)


@pytest.mark.parametrize(
    "later", [lambda s: s.impose(State.SUSPENDED, OTHER), lambda s: s.lift()], ids=["a sanction", "its end"]
)
def test_a_worker_replaces_no_later_one_whose_process_was_killed_too(acts, store, raw, later):
    """The log has no line of it yet."""
    for step, kill in itertools.product(range(3, 12), range(3, 12)):
        make_moderated_site(raw)
        acts.impose(State.HIDDEN)()
        acts.report(ALICE)()
        seam.killed_before_round_trip(step, acts.decide(Action.FREEZE))
        make_due(raw)
        before = raw.hget("user:3", "state_act")
        seam.killed_before_round_trip(kill, later(acts))
        make_due(raw)
        after = raw.hmget("user:3", "state", "state_act")
        finish_all_but_removals(store, raw)
        if after[1] != before:
            assert raw.hmget("user:3", "state", "state_act") == after, (step, kill)
        assert_reports_agree(raw, (step, kill))
        assert_community_agrees(raw, (step, kill))


def test_a_report_about_a_post_that_a_decision_deletes_meanwhile_is_decided_with_it(acts, store, raw):
    for step in seam.each_moment(rounds=ROUNDS):
        make_moderated_site(raw)
        acts.report(BOB, 2)()
        with seam.before_part(step, acts.decide(Action.DELETE)) as decided:
            acts.report(ALICE, 2)()
        assert_all_agree(store, raw, step)
        assert raw.zcard("reports") == (0 if decided else 2), step
        told = [one for one in raw.zrange("notices:1", 0, -1) if one.startswith("report")]
        assert len(told) == len(decided), step


def test_an_answer_that_is_killed_while_a_worker_finishes_another_one_is_in_the_log(acts, store, raw):
    """The other one was killed before its commit. Its worker must not remove the job of this one."""
    for kill in itertools.count(2):
        died = False
        for step in itertools.count():
            make_moderated_site(raw)
            acts.impose(State.FROZEN)()
            acts.appeal()()
            seam.killed_before_round_trip(3, acts.answer_appeal(False, OTHER))
            make_due(raw)  # its lease has ended
            [job] = [job for job in noted(raw) if job.startswith("answer:")]
            with seam.before_part(
                step, partial(seam.killed_before_round_trip, kill, acts.answer_appeal(True))
            ) as killed:
                attempt(partial(carry_out, store, job), LeaseEnded)()
            if not killed:
                break
            died |= killed[0]
            assert_all_agree(store, raw, (kill, step))
            decided = [act["reason"] for act in acts_in_log(raw) if act["what"].startswith("appeal:")]
            is_decided = any(field.startswith("answer:") for field in raw.hkeys("user:3"))  # it may die while it waits
            assert decided == [f"granted by {MODERATOR}"] * is_decided, (kill, step)
        if not died:
            break


def test_a_killed_report_about_an_account_that_is_deleted_meanwhile_goes_again(acts, store, raw):
    """Its process has listed it, reads that the account is deleted, and dies while it removes the report."""
    for kill in seam.each_moment(rounds=2 * ROUNDS):
        make_moderated_site(raw)
        with seam.before_round_trip(LISTED, acts.leave(CAROL)):
            seam.killed_before_part(kill, attempt(acts.report(ALICE), AccountDeleted))
        assert_all_agree(store, raw, kill)
    assert kill > LISTED


@pytest.mark.parametrize("goes", [ALICE, CAROL])
def test_nothing_is_left_of_a_killed_report_when_an_account_goes_before_the_worker_has_finished(acts, store, raw, goes):
    """The report of one who goes stays for the acts, without a name, when the deletion came after the last look."""
    for step in seam.each_moment(LISTED):
        for worker_step in seam.each_moment(stride=seam.stride()):
            make_moderated_site(raw)
            seam.killed_before_round_trip(step, acts.report(ALICE, 2))
            make_due(raw)
            with seam.before_round_trip(worker_step, acts.leave(goes)):
                drain(store, "worker")
            assert_all_agree(store, raw, (step, worker_step))
            waiting = raw.zcard("reports")
            assert waiting <= (goes == ALICE) or not worker_step.has_come, (step, worker_step)
            assert waiting or raw.keys("report*") == [], (step, worker_step)


def assert_all_agree(store, raw, where):
    finish_all_but_removals(store, raw)
    assert_community_agrees(raw, where)
    assert_reports_agree(raw, where)
    assert_decisions_are_carried_out(raw, where)
