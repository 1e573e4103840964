"""Reports, roles and sanctions are changed by several people at once, with and without kills."""

from functools import partial

import pytest

from accounts.community.acts import change_site
from accounts.users.entities import AccountDeleted, NoSuchUser, Refused, Role, State
from retwis_site.rendering.dates import A_DAY
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
from tests.support.protocols.conversations import assert_conversations_agree
from tests.support.protocols.interleaving import carry_out, interleave
from tests.support.protocols.relations import assert_relations_agree
from tests.support.protocols.reports import (
    assert_decided_together,
    assert_decisions_are_carried_out,
    assert_reports_agree,
)
from tests.support.protocols.small_site import ALICE, BOB, CAROL, finish_jobs, make_small_site
from tests.support.stored_keys import noted
from tests.support.stores.seam import examples
from timeline.moderation.reports import Action, Reports
from timeline.posts.entities import NoSuchPost, PostDeleted

# ---- Reports, decisions about them and deletions at once, with and without kills: the queue has the open reports,
# each decision has been carried out, and nothing is left of deleted accounts.


RUNS = 10  # seeds for each scenario
CAROLS_POST = 2


def delete(acts, by=MODERATOR):
    """Delete carol's post where staff sees it."""
    return partial(Reports(acts.store).delete_posts, CAROL, {CAROLS_POST: "Buy!"}, by, "Spam.")


def about_carol(site):
    site.report(ALICE)()


def about_her_post(site):
    site.report(ALICE, CAROLS_POST)()
    site.report(BOB, CAROLS_POST)()


def about_her_and_her_post(site):
    site.report(ALICE)()
    site.report(BOB, CAROLS_POST)()


def nothing(site):
    """Nobody has reported anything."""


REPORTED = {
    "made twice": (nothing, lambda s: [s.report(ALICE), s.report(ALICE)]),
    "made by two, a worker": (nothing, lambda s: [s.report(ALICE), s.report(BOB), s.take_over]),
    "made while the reporter goes": (nothing, lambda s: [s.report(ALICE), s.leave(ALICE)]),
    "made while the reported person goes": (nothing, lambda s: [s.report(ALICE), s.leave(CAROL)]),
    "made while both go": (about_her_post, lambda s: [s.report(ALICE), s.leave(ALICE), s.leave(CAROL)]),
    "made and decided": (about_carol, lambda s: [s.report(BOB), s.decide(Action.WARN), s.decide(Action.DISMISS)]),
    "two decide": (about_carol, lambda s: [s.decide(Action.DISMISS), s.decide(Action.FREEZE, by=OTHER)]),
    "two decide, a worker": (
        about_carol,
        lambda s: [s.decide(Action.WARN), s.decide(Action.FREEZE, by=OTHER), s.take_over],
    ),
    "two decide about two reports": (
        about_her_post,
        lambda s: [s.decide(Action.DELETE), s.decide(Action.WARN, by=OTHER)],
    ),
    "decided together, and the other one alone": (
        about_her_and_her_post,
        lambda s: [s.decide(Action.DELETE, Action.FREEZE, also="0"), s.decide(Action.WARN, by=OTHER), s.take_over],
    ),
    "decided together while it is reported again": (
        about_her_and_her_post,
        lambda s: [s.decide(Action.DELETE, Action.WARN, also="0"), s.report(BOB), s.leave(ALICE)],
    ),
    "decided and made again": (about_carol, lambda s: [s.decide(Action.DISMISS), s.report(ALICE), s.report(BOB)]),
    "decided while the reporter goes": (about_her_post, lambda s: [s.decide(Action.DELETE), s.leave(ALICE)]),
    "decided while the reported person goes": (about_carol, lambda s: [s.decide(Action.SUSPEND), s.leave(CAROL)]),
    "decided while the author deletes the post": (
        about_her_post,
        lambda s: [s.decide(Action.DELETE), s.delete(CAROL, CAROLS_POST), s.take_over],
    ),
    "deleted without a decision by two": (nothing, lambda s: [delete(s), delete(s, OTHER), s.take_over]),
    "deleted without a decision, and reported": (
        about_her_post,
        lambda s: [delete(s), s.report(ALICE), s.take_over],
    ),
    "deleted without a decision while the author goes": (nothing, lambda s: [delete(s), s.leave(CAROL)]),
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", REPORTED)
def test_the_queue_has_the_open_reports_and_each_decision_is_carried_out(store, raw, scenario, kills):
    begin, tasks = REPORTED[scenario]
    for seed in range(examples(RUNS)):
        make_moderated_site(raw)
        staff = StaffActs(store)
        begin(staff)
        waiting = raw.zrange("reports", 0, -1)
        interleave(seed, kills, tasks(staff), Refused, AccountDeleted)
        finish_all_but_removals(store, raw)
        assert_reports_agree(raw, seed)
        assert_decisions_are_carried_out(raw, seed)
        assert_decided_together(raw, seed, waiting)
        assert_community_agrees(raw, seed)
        assert_conversations_agree(raw, seed)


@pytest.mark.parametrize("kills", [0, 2])
def test_two_moderators_who_delete_a_post_at_once_tell_its_author_once(acts, store, raw, kills):
    """Each by a report of their own, since nobody has reported it."""
    told_by_two = 0
    for seed in range(examples(3 * RUNS)):
        make_moderated_site(raw)
        interleave(seed, kills, [delete(acts), delete(acts, OTHER), acts.take_over], Refused)
        finish_all_but_removals(store, raw)
        decided = [key for key in raw.keys("report:*") if raw.hexists(key, "decision")]
        assert raw.zcard(f"notices:{CAROL}") == bool(decided), seed
        told_by_two += len(decided) == 2
    assert told_by_two or kills


DELETIONS = {
    "staff and the author": lambda s: [s.delete_by_staff(), s.delete(CAROL, CAROLS_POST)],
    "staff and the author, a worker": lambda s: [s.delete_by_staff(), s.delete(CAROL, CAROLS_POST), s.take_over],
    "two of the staff": lambda s: [s.delete_by_staff(), s.delete_by_staff(OTHER)],
    "staff, a like and an edit": lambda s: [
        s.delete_by_staff(),
        s.edit(CAROL, CAROLS_POST, "Buy more!"),
        s.like(ALICE, CAROLS_POST, CAROL),
    ],
    "staff, and the account is deleted": lambda s: [s.delete_by_staff(), s.leave(CAROL)],
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", DELETIONS)
def test_a_post_that_staff_has_deleted_is_in_the_log(store, raw, scenario, kills):
    for seed in range(examples(RUNS)):
        make_moderated_site(raw)
        interleave(seed, kills, DELETIONS[scenario](StaffActs(store)), NoSuchPost, PostDeleted)
        finish_all_but_removals(store, raw)
        deleted, log = raw.hget(f"post:{CAROLS_POST}", "deleted"), acts_in_log(raw)
        assert deleted is not None or kills, seed
        assert bool(log) or not (deleted or "").endswith(":staff"), seed
        assert {(act["what"], act["post"]) for act in log} <= {("post:deleted", CAROLS_POST)}, seed
        assert_community_agrees(raw, seed)
        assert_conversations_agree(raw, seed)
        assert_relations_agree(raw, seed)


# ---- Roles and the site's words are changed by several people at once, with and without kills: an admin is left,
# pages read the role that `staff` has, and each change is in the log.


ROLES = {
    "two admins take each other's role": lambda c: [c.give(ALICE, Role.MEMBER, BOB), c.give(BOB, Role.MEMBER, ALICE)],
    "two admins give theirs up, a worker": lambda c: [
        c.give(ALICE, Role.MEMBER, ALICE),
        c.give(BOB, Role.MODERATOR, BOB),
        c.take_over,
    ],
    "one is made an admin and a member": lambda c: [c.give(CAROL, Role.ADMIN, ALICE), c.give(CAROL, Role.MEMBER, BOB)],
    "one is changed three times": lambda c: [
        c.give(CAROL, Role.MODERATOR, ALICE),
        c.give(CAROL, Role.ADMIN, ALICE),
        c.give(CAROL, Role.MEMBER, BOB),
        c.take_over,
    ],
    "a new moderator deletes the account": lambda c: [c.give(CAROL, Role.MODERATOR, ALICE), c.leave(CAROL)],
    "a new admin beside one who goes": lambda c: [
        c.give(CAROL, Role.ADMIN, ALICE),
        c.give(ALICE, Role.MEMBER, BOB),
        c.give(BOB, Role.MEMBER, ALICE),
    ],
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", ROLES)
def test_an_admin_is_left_and_pages_read_the_role_in_staff(store, raw, scenario, kills):
    for seed in range(examples(RUNS)):
        make_small_site(raw)
        staff = StaffActs(store)
        for uid in (ALICE, BOB):
            staff.give(uid, Role.ADMIN)()
        interleave(seed, kills, ROLES[scenario](staff), Refused, NoSuchUser)
        finish_all_but_removals(store, raw)
        assert_community_agrees(raw, seed)
        assert Role.ADMIN in raw.hvals("staff"), seed
        if not raw.hexists("user:3", "deleted"):
            assert staff.done <= reasons_in_log(raw), seed


SET_WORDS = ("HSET", "site")


def change_words(acts, by, **fields):
    return partial(change_site, acts.store, fields, by)


WORDS = {
    "two set one word": lambda s: [
        change_words(s, MODERATOR, name="One"),
        change_words(s, OTHER, name="Two", tagline="of two"),
    ],
    "one sets, one empties": lambda s: [change_words(s, MODERATOR, name="One"), change_words(s, OTHER, name="")],
    "one sets, one empties, a worker": lambda s: [
        change_words(s, MODERATOR, name="One", about="Us"),
        change_words(s, OTHER, name="", about=""),
        s.take_over,
    ],
}


def last_words(commands, done):
    """The words that were written last, by the changes that are in the log. `done`: the fields with their lines."""
    written = [dict(zip(command[2::2], command[3::2], strict=True)) for command in commands if command[:2] == SET_WORDS]
    words = {name: text for fields in written if fields.keys() & done for name, text in fields.items()}
    return {name: text for name, text in words.items() if not name.startswith("act:")}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", WORDS)
def test_each_change_of_the_sites_words_is_in_the_log_and_the_last_one_stands(acts, store, raw, sent, scenario, kills):
    for seed in range(examples(RUNS)):
        make_small_site(raw)
        raw.hset("site", "name", "Old")
        before = len(sent.commands)
        interleave(seed, kills, WORDS[scenario](acts))
        commands = sent.commands[before:]
        finish_jobs(store, raw)
        stored, done = raw.hgetall("site"), {f"act:{act['id']}" for act in acts_in_log(raw)}
        assert [field for field in stored if field.startswith("act:")] == [], seed
        if not kills and "worker" not in scenario:
            assert len(done) == 2, seed
        last = {"name": "Old"} | last_words(commands, done)
        assert {name: stored.get(name, "") for name in last} == last, seed


# ---- Moderators, the person and workers act on one sanction at once, with and without kills: what is imposed is what
# an act in the log says, an appeal waits until it is answered, and nothing is left of a deleted account.


def free(staff):
    """Nothing is imposed on carol."""


def frozen(staff):
    staff.impose(State.FROZEN)()


def appealed(staff):
    frozen(staff)
    staff.appeal()()


SANCTIONED = {
    "two moderators impose": (free, lambda a: [a.impose(State.FROZEN), a.impose(State.SUSPENDED, OTHER)]),
    "one imposes, one lifts": (frozen, lambda a: [a.impose(State.HIDDEN), a.lift()]),
    "two lift": (appealed, lambda a: [a.lift(), a.lift(MODERATOR)]),
    "imposed beside a new admin": (free, lambda a: [a.impose(State.SUSPENDED), a.give(CAROL, Role.ADMIN)]),
    "imposed beside a new moderator, a worker": (
        free,
        lambda a: [a.impose(State.SUSPENDED), a.give(CAROL, Role.MODERATOR), a.take_over],
    ),
    "the account is deleted": (
        free,
        lambda a: [a.impose(State.SUSPENDED), a.impose(State.HIDDEN, OTHER), a.leave(CAROL)],
    ),
    "lifted while the account is deleted": (appealed, lambda a: [a.lift(), a.leave(CAROL)]),
    "two moderators and a worker": (
        free,
        lambda a: [a.impose(State.FROZEN), a.impose(State.HIDDEN, OTHER), a.take_over],
    ),
    "an appeal and the end of the sanction": (frozen, lambda a: [a.appeal(), a.lift()]),
    "an appeal and another sanction": (frozen, lambda a: [a.appeal(), a.impose(State.SUSPENDED)]),
    "the appeal is sent twice, a worker": (frozen, lambda a: [a.appeal(), a.appeal("Again"), a.take_over]),
    "an appeal, granted at once": (frozen, lambda a: [a.appeal(), a.answer_appeal(True)]),
    "an appeal, refused at once": (
        frozen,
        lambda a: [a.appeal(), a.answer_appeal(False), a.answer_appeal(False, OTHER)],
    ),
    "one grants, one refuses": (appealed, lambda a: [a.answer_appeal(True), a.answer_appeal(False, OTHER)]),
    "one grants, one refuses, a worker": (
        appealed,
        lambda a: [a.answer_appeal(True), a.answer_appeal(False, OTHER), a.take_over],
    ),
    "one grants, one imposes anew": (appealed, lambda a: [a.answer_appeal(True), a.impose(State.HIDDEN, OTHER)]),
    "an appeal and the deletion of the account": (
        frozen,
        lambda a: [a.appeal(), a.answer_appeal(True), a.leave(CAROL)],
    ),
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", SANCTIONED)
def test_what_is_imposed_agrees_with_the_log(store, raw, scenario, kills):
    begin, tasks = SANCTIONED[scenario]
    for seed in range(examples(RUNS)):
        make_small_site(raw)
        staff = StaffActs(store)
        begin(staff)
        interleave(seed, kills, tasks(staff), Refused, NoSuchUser)
        finish_all_but_removals(store, raw)
        assert_community_agrees(raw, seed)
        person = raw.hgetall("user:3")
        if "deleted" in person:
            continue
        assert staff.done <= reasons_in_log(raw), seed
        _assert_one_decision(raw, person, seed)


def _assert_one_decision(raw, person, where):
    """Each appeal has one answer at most. A granted appeal ends its sanction."""
    decisions = [act for act in acts_in_log(raw) if act["what"].startswith("appeal:")]
    assert len(decisions) <= 1, where
    for decision in decisions:
        [answered] = [field.partition(":")[2] for field in person if field.startswith("answer:")]
        assert decision["what"] == "appeal:refused" or person["state_act"] != answered, where


IN_TIME = {
    "granted": lambda a: [a.answer_appeal(True)],
    "granted and refused": lambda a: [a.answer_appeal(True), a.answer_appeal(False, OTHER)],
    "granted, and something else is imposed": lambda a: [a.answer_appeal(True), a.impose(State.HIDDEN, OTHER)],
    "lifted": lambda a: [a.lift()],
}


@pytest.mark.parametrize("kills", [0, 1])
@pytest.mark.parametrize("scenario", IN_TIME)
def test_nobody_is_deleted_whose_appeal_waits_or_is_granted(store, raw, scenario, kills):
    """Carol was suspended 31 days ago and has appealed. A worker that would delete her account is at work."""
    for seed in range(examples(RUNS)):
        make_small_site(raw)
        staff = StaffActs(store)
        staff.impose(State.SUSPENDED)()
        staff.appeal()()
        raw.hincrby("user:3", "state_since", -31 * A_DAY)
        [removal] = [job for job in noted(raw) if job.startswith("removal:")]
        tasks = [*IN_TIME[scenario](staff), partial(carry_out, store, removal)]
        interleave(seed, kills, tasks, Refused, NoSuchUser)
        finish_all_but_removals(store, raw)
        assert not raw.hexists("user:3", "deleted"), seed
        assert staff.done <= reasons_in_log(raw), seed
