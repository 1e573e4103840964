"""Reports, decisions about them and deletions at once, with and without kills: the queue has the open reports, each
decision has been carried out, and nothing is left of deleted accounts."""

import pytest

from accounts.community.refusals import Refused
from accounts.users.deletion import AccountDeletion
from accounts.users.entities import AccountDeleted, User
from retwis_site.jobs.worker import drain
from tests.support.protocols.community import (
    MODERATOR,
    OTHER,
    acts_in_log,
    assert_community_agrees,
    finish_all_but_removals,
    make_moderated_site,
)
from tests.support.protocols.conversations import assert_conversations_agree
from tests.support.protocols.interleaving import attempt, interleave, take_all_over
from tests.support.protocols.relations import assert_relations_agree
from tests.support.protocols.reports import assert_decisions_are_carried_out, assert_reports_agree
from tests.support.protocols.small_site import ALICE, BOB, CAROL, delete
from tests.support.protocols.thoroughness import examples
from timeline.moderation.reports.deciding import Deciding
from timeline.moderation.reports.repository import Action, NewReport, Reports
from timeline.posts.entities import NoSuchPost, PostDeleted
from timeline.posts.writing.deletion import delete_by_staff
from timeline.posts.writing.editing import Editing
from timeline.relations.like import Likes

RUNS = 10  # seeds for each scenario
NAMES = {ALICE: "alice", BOB: "bob", CAROL: "carol"}
CAROLS_POST = 2


class Site:
    """What people and staff do about carol and her post."""

    def __init__(self, store):
        self.store = store

    def report(self, who, pid=None):
        return attempt(lambda: Reports(self.store).make(who, NewReport(CAROL, pid, "spam")), AccountDeleted)

    def decide(self, action, by=MODERATOR):
        """Decide the newest report about carol."""

        def work():
            for report in Reports(self.store).about(CAROL, 1):
                Deciding(self.store).decide(report, action, action, 0, by)

        return attempt(work, Refused)

    def leave(self, uid):
        def work():
            AccountDeletion(self.store).delete(User(uid, NAMES[uid]), f"secret{uid}")
            drain(self.store, "worker")

        return work

    def worker(self):
        take_all_over(self.store)


def about_carol(site):
    site.report(ALICE)()


def about_her_post(site):
    site.report(ALICE, CAROLS_POST)()
    site.report(BOB, CAROLS_POST)()


def nothing(site):
    """Nobody has reported anything."""


SCENARIOS = {
    "made twice": (nothing, lambda s: [s.report(ALICE), s.report(ALICE)]),
    "made by two, a worker": (nothing, lambda s: [s.report(ALICE), s.report(BOB), s.worker]),
    "made while the reporter goes": (nothing, lambda s: [s.report(ALICE), s.leave(ALICE)]),
    "made while the reported person goes": (nothing, lambda s: [s.report(ALICE), s.leave(CAROL)]),
    "made while both go": (about_her_post, lambda s: [s.report(ALICE), s.leave(ALICE), s.leave(CAROL)]),
    "made and decided": (about_carol, lambda s: [s.report(BOB), s.decide(Action.WARN), s.decide(Action.DISMISS)]),
    "two decide": (about_carol, lambda s: [s.decide(Action.DISMISS), s.decide(Action.FREEZE, OTHER)]),
    "two decide, a worker": (about_carol, lambda s: [s.decide(Action.WARN), s.decide(Action.FREEZE, OTHER), s.worker]),
    "two decide about two reports": (about_her_post, lambda s: [s.decide(Action.DELETE), s.decide(Action.WARN, OTHER)]),
    "decided and made again": (about_carol, lambda s: [s.decide(Action.DISMISS), s.report(ALICE), s.report(BOB)]),
    "decided while the reporter goes": (about_her_post, lambda s: [s.decide(Action.DELETE), s.leave(ALICE)]),
    "decided while the reported person goes": (about_carol, lambda s: [s.decide(Action.SUSPEND), s.leave(CAROL)]),
    "decided while the author deletes the post": (
        about_her_post,
        lambda s: [s.decide(Action.DELETE), lambda: delete(s.store, CAROL, CAROLS_POST), s.worker],
    ),
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_queue_has_the_open_reports_and_each_decision_is_carried_out(store, raw, scenario, kills):
    begin, tasks = SCENARIOS[scenario]
    for seed in range(examples(RUNS)):
        make_moderated_site(raw)
        site = Site(store)
        begin(site)
        interleave(seed, kills, tasks(site))
        finish_all_but_removals(store, raw)
        assert_reports_agree(raw, seed)
        assert_decisions_are_carried_out(raw, seed)
        assert_community_agrees(raw, seed)
        assert_conversations_agree(raw, seed)


def staff_deletes(store, by):
    return attempt(lambda: delete_by_staff(store, CAROLS_POST, by, "Spam."), NoSuchPost, PostDeleted)


def author_deletes(store):
    return lambda: delete(store, CAROL, CAROLS_POST)


def edits(store):
    return attempt(lambda: Editing(store).edit(CAROL, CAROLS_POST, "Buy more!"), NoSuchPost, PostDeleted)


DELETIONS = {
    "staff and the author": lambda s: [staff_deletes(s, MODERATOR), author_deletes(s)],
    "staff and the author, a worker": lambda s: [
        staff_deletes(s, MODERATOR),
        author_deletes(s),
        lambda: take_all_over(s),
    ],
    "two of the staff": lambda s: [staff_deletes(s, MODERATOR), staff_deletes(s, OTHER)],
    "staff, a like and an edit": lambda s: [
        staff_deletes(s, MODERATOR),
        edits(s),
        lambda: Likes(s).like(ALICE, CAROLS_POST, CAROL),
    ],
    "staff, and the account is deleted": lambda s: [staff_deletes(s, MODERATOR), Site(s).leave(CAROL)],
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", DELETIONS)
def test_a_post_that_staff_has_deleted_is_in_the_log(store, raw, scenario, kills):
    for seed in range(examples(RUNS)):
        make_moderated_site(raw)
        interleave(seed, kills, DELETIONS[scenario](store))
        finish_all_but_removals(store, raw)
        deleted, acts = raw.hget(f"post:{CAROLS_POST}", "deleted"), acts_in_log(raw)
        assert deleted is not None or kills, seed
        assert bool(acts) or not (deleted or "").endswith(":staff"), seed
        assert {(act["what"], act["post"]) for act in acts} <= {("post:deleted", CAROLS_POST)}, seed
        assert_community_agrees(raw, seed)
        assert_conversations_agree(raw, seed)
        assert_relations_agree(raw, seed)
