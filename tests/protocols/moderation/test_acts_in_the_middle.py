"""A whole act comes between two parts of a round trip of another one. What follows from both agrees with them."""

import itertools
from functools import partial

import pytest

from accounts.community.acts import Roles
from accounts.community.sanctions import SanctionChanged, Sanctions
from accounts.users.entities import AccountDeleted, Refused, Role, State
from retwis_site.exceptions import LeaseEnded
from retwis_site.jobs.worker import drain
from tests.support.protocols.community import (
    MODERATOR,
    OTHER,
    acts_in_log,
    assert_community_agrees,
    finish_all_but_removals,
    make_moderated_site,
)
from tests.support.protocols.interleaving import attempt, carry_out
from tests.support.protocols.reports import (
    assert_decided_together,
    assert_decisions_are_carried_out,
    assert_reports_agree,
)
from tests.support.protocols.small_site import ALICE, BOB, CAROL, Acts
from tests.support.stored_keys import make_due, noted
from tests.support.stores import seam
from timeline.moderation.reports import Action, Deciding, NewReport, Reports
from timeline.posts.entities import NewPost, PostDeleted
from timeline.posts.repository import Posts, delete_by_staff

LISTED = 4  # round trips of a report before it is listed
ROUNDS = 5  # each takes the round trips apart in its own way


def impose(store, state, by=MODERATOR):
    return lambda: Sanctions(store).impose(CAROL, state, state, by=by)


def appeal(store):
    return lambda: Sanctions(store).appeal(CAROL, "It was not me.")


def answer(store, granted, by=MODERATOR):
    return lambda: Sanctions(store).decide_appeal(CAROL, granted, by, f"{granted} by {by}")


def give(store, role, uid=CAROL, by=ALICE):
    return lambda: Roles(store).give(uid, role, by, role)


def report(store, who=ALICE, pid=None):
    return lambda: Reports(store).make(who, NewReport(CAROL, pid, "spam"))


def decide(store, *actions, by=MODERATOR, **more):
    def work():
        for made in Reports(store).about(CAROL, 1):
            Deciding(store).decide(made, by, actions, actions[-1], **more)

    return work


def publish(store):
    return lambda: Posts(store).publish(CAROL, NewPost("Buy!"), "t")


def delete_post(store):
    return lambda: delete_by_staff(store, 2, MODERATOR, "Spam.")


# What was done before, what is done, and what comes in the middle.
ACTS = {
    "two sanctions": lambda s: ([], impose(s, State.FROZEN), impose(s, State.SUSPENDED, OTHER)),
    "a sanction and a new admin": lambda s: ([], impose(s, State.FROZEN), give(s, Role.ADMIN)),
    "a new admin and a sanction": lambda s: ([], give(s, Role.ADMIN), impose(s, State.FROZEN)),
    "two roles": lambda s: ([], give(s, Role.ADMIN), give(s, Role.MEMBER)),
    "an appeal that is granted": lambda s: ([impose(s, State.FROZEN)], appeal(s), answer(s, granted=True)),
    "an appeal that is refused": lambda s: ([impose(s, State.FROZEN)], appeal(s), answer(s, granted=False)),
    "an appeal and another sanction": lambda s: ([impose(s, State.FROZEN)], appeal(s), impose(s, State.HIDDEN)),
    "two answers": lambda s: ([impose(s, State.FROZEN), appeal(s)], answer(s, True), answer(s, False, OTHER)),
    "two reports": lambda s: ([], report(s), report(s)),
    "a report and a decision": lambda s: ([], report(s), decide(s, Action.WARN)),
    "a decision and a report": lambda s: ([report(s)], decide(s, Action.WARN), report(s, BOB)),
    "two decisions": lambda s: ([report(s)], decide(s, Action.FREEZE), decide(s, Action.DISMISS, by=OTHER)),
    "a decision and a deletion": lambda s: ([report(s, BOB, 2)], decide(s, Action.DELETE), delete_post(s)),
}


@pytest.mark.parametrize("acts", ACTS)
def test_an_act_in_the_middle_of_another_agrees_with_it(store, raw, acts):
    for _ in range(seam.examples(ROUNDS)):
        for step in seam.each_moment():
            make_moderated_site(raw)
            before, act, between = ACTS[acts](store)
            for earlier in before:
                earlier()
            drain(store, "worker")  # else the recount of an earlier act would repair what these two leave
            with seam.before_part(step, attempt(between, Refused, PostDeleted)):
                attempt(act, Refused, PostDeleted)()
            assert_all_agree(store, raw, step)


@pytest.mark.parametrize("acts", ["an appeal that is granted", "two roles", "two answers", "two decisions"])
def test_an_act_after_one_that_was_killed_agrees_with_it(store, raw, acts):
    for step in seam.each_moment():
        make_moderated_site(raw)
        before, act, after = ACTS[acts](store)
        for earlier in before:
            earlier()
        seam.killed_before_round_trip(step, attempt(act, Refused))
        make_due(raw)  # others wait until its lease has ended
        attempt(after, Refused)()
        assert_all_agree(store, raw, step)


@pytest.mark.parametrize("comes", [State.SUSPENDED, State.HIDDEN])
def test_a_granted_appeal_ends_no_sanction_that_comes_meanwhile(store, raw, comes):
    """It was against the earlier one. What another moderator has imposed since then stands, or was never imposed."""
    for _ in range(seam.examples(ROUNDS)):
        for step in seam.each_moment():
            make_moderated_site(raw)
            impose(store, State.FROZEN)()
            appeal(store)()
            drain(store, "worker")
            with seam.before_part(step, attempt(impose(store, comes, OTHER), Refused)):
                attempt(answer(store, granted=True), Refused)()
            assert_all_agree(store, raw, step)
            imposed = [act["id"] for act in acts_in_log(raw) if act["what"] == comes]
            assert raw.hmget("user:3", "state", "state_act") == ([comes, *imposed] if imposed else ["", ""]), step


@pytest.mark.parametrize("comes", [State.SUSPENDED, State.FROZEN])
@pytest.mark.parametrize("asked", ["lift", "impose"])
def test_a_form_replaces_or_lifts_no_sanction_that_it_has_not_shown(store, raw, asked, comes):
    """Another moderator imposes it after the form was checked, perhaps: it stands, and the form has done nothing."""
    arguments = () if asked == "lift" else (State.HIDDEN,)
    for _ in range(seam.examples(ROUNDS)):
        for step in seam.each_moment():
            make_moderated_site(raw)
            impose(store, State.FROZEN)()
            drain(store, "worker")
            shown = {"reason": "By the form.", "shown": raw.hget("user:3", "state_act")}
            with seam.before_part(step, impose(store, comes, OTHER)):
                attempt(partial(getattr(Sanctions(store), asked), CAROL, *arguments, **shown), SanctionChanged)()
            assert_all_agree(store, raw, step)
            theirs = [act["id"] for act in acts_in_log(raw) if act["by"] == OTHER]
            forms = [act["id"] for act in acts_in_log(raw) if act["reason"] == "By the form."]
            assert forms or theirs, step
            last = theirs or (forms if asked == "impose" else [""])
            assert raw.hget("user:3", "state_act") == last[0], step


def test_a_report_about_a_post_that_a_decision_deletes_meanwhile_is_decided_with_it(store, raw):
    for _ in range(seam.examples(ROUNDS)):
        for step in seam.each_moment():
            make_moderated_site(raw)
            report(store, BOB, 2)()
            with seam.before_part(step, decide(store, Action.DELETE)) as decided:
                report(store, ALICE, 2)()
            assert_all_agree(store, raw, step)
            assert raw.zcard("reports") == (0 if decided else 2), step
            told = [one for one in raw.zrange("notices:1", 0, -1) if one.startswith("report")]
            assert len(told) == len(decided), step


def test_an_answer_that_is_killed_while_a_worker_finishes_another_one_is_in_the_log(store, raw):
    """The other one was killed before its commit. Its worker must not remove the job of this one."""
    for kill in itertools.count(2):
        died = False
        for step in itertools.count():
            make_moderated_site(raw)
            for earlier in (impose(store, State.FROZEN), appeal(store)):
                earlier()
            seam.killed_before_round_trip(3, answer(store, False, OTHER))
            make_due(raw)  # its lease has ended
            [job] = [job for job in noted(raw) if job.startswith("answer:")]
            with seam.before_part(step, partial(seam.killed_before_round_trip, kill, answer(store, True))) as killed:
                attempt(partial(carry_out, store, job), LeaseEnded)()
            if not killed:
                break
            died |= killed[0]
            assert_all_agree(store, raw, (kill, step))
            decided = [act["reason"] for act in acts_in_log(raw) if act["what"].startswith("appeal:")]
            is_decided = any(field.startswith("answer:") for field in raw.hkeys("user:3"))  # it may die while it waits
            assert decided == [f"True by {MODERATOR}"] * is_decided, (kill, step)
        if not died:
            break


KILLED = {
    "a report": lambda s: ([], report(s)),
    "a decision to delete a post": lambda s: ([report(s, ALICE, 2), report(s, BOB, 2)], decide(s, Action.DELETE)),
    "a decision to suspend": lambda s: ([report(s)], decide(s, Action.SUSPEND)),
    "a decision about two posts and their author": lambda s: (
        [report(s, BOB), report(s, BOB, 3), report(s, ALICE, 3), publish(s), report(s, BOB, 2)],
        decide(s, Action.DELETE, Action.SUSPEND, told="Thank you.", also="3 0"),
    ),
    "a deletion by staff": lambda s: ([], delete_post(s)),
    "an answer": lambda s: ([impose(s, State.FROZEN), appeal(s)], answer(s, granted=True)),
    "an appeal": lambda s: ([impose(s, State.FROZEN)], appeal(s)),
}
# These change what stands of a person and have a line in the log: both, or neither.
LOGGED = {
    "a sanction": lambda s: ([], impose(s, State.FROZEN)),
    "a suspension": lambda s: ([], impose(s, State.SUSPENDED)),
    "a new moderator": lambda s: ([], give(s, Role.MODERATOR)),
    "a new admin": lambda s: ([], give(s, Role.ADMIN)),
    "a refusal": lambda s: ([impose(s, State.FROZEN), appeal(s)], answer(s, granted=False)),
}


def written_of_carol(raw):
    return {field: text for field, text in raw.hgetall("user:3").items() if text}


@pytest.mark.parametrize("act", [*KILLED, *LOGGED])
def test_a_killed_act_of_moderation_has_no_effect_or_its_full_effect(store, raw, act):
    for step in seam.each_moment():
        make_moderated_site(raw)
        before, work = (KILLED | LOGGED)[act](store)
        for earlier in before:
            earlier()
        person, log, waiting = written_of_carol(raw), acts_in_log(raw), raw.zrange("reports", 0, -1)
        seam.killed_before_round_trip(step, work)
        assert_all_agree(store, raw, step)
        assert_decided_together(raw, step, waiting)
        if act in LOGGED:
            assert len(acts_in_log(raw)) - len(log) == (written_of_carol(raw) != person), step
        if (raw.hget("post:2", "deleted") or "").endswith(":staff"):
            assert [one for one in acts_in_log(raw) if one["post"] == 2], step


def test_a_killed_report_about_an_account_that_is_deleted_meanwhile_goes_again(store, raw):
    """Its process has listed it, reads that the account is deleted, and dies while it removes the report."""
    for _ in range(seam.examples(2 * ROUNDS)):
        for kill in seam.each_moment():
            make_moderated_site(raw)
            with seam.before_round_trip(LISTED, Acts(store).leave(CAROL)):
                seam.killed_before_part(kill, attempt(report(store), AccountDeleted))
            assert_all_agree(store, raw, kill)
        assert kill > LISTED


def assert_all_agree(store, raw, where):
    finish_all_but_removals(store, raw)
    assert_community_agrees(raw, where)
    assert_reports_agree(raw, where)
    assert_decisions_are_carried_out(raw, where)
