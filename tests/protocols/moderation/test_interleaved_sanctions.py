"""Moderators, the person and workers act on one sanction at once, with and without kills: what is imposed is what an
act in the log says, an appeal waits until it is answered, and nothing is left of a deleted account."""

import pytest

from accounts.community.refusals import Refused
from accounts.community.roles import Roles
from accounts.community.sanctions import DAY, Sanctions
from accounts.users.deletion import AccountDeletion
from accounts.users.entities import NoSuchUser, Role, State, User
from retwis_site.jobs.worker import drain
from tests.support.protocols.community import (
    MODERATOR,
    OTHER,
    acts_in_log,
    assert_community_agrees,
    finish_all_but_removals,
    reasons_in_log,
)
from tests.support.protocols.interleaving import attempt, carry_out, interleave, take_all_over
from tests.support.protocols.small_site import CAROL, make_small_site
from tests.support.protocols.thoroughness import examples
from tests.support.stores.key_layouts import noted

RUNS = 10  # seeds for each scenario


class Acting:
    """What people do to carol and by carol. `done`: the reasons of the acts that ended without an error."""

    def __init__(self, store):
        self.store = store
        self.done = set()

    def _task(self, reason, work):
        def task():
            work()
            self.done.add(reason)

        return attempt(task, Refused, NoSuchUser)

    def impose(self, state, by=MODERATOR):
        return self._task(state, lambda: Sanctions(self.store).impose(CAROL, state, state, by=by))

    def lift(self, by=OTHER):
        reason = f"lifted by {by}"
        return self._task(reason, lambda: Sanctions(self.store).lift(CAROL, by, reason))

    def appeal(self, text="It was not me."):
        return attempt(lambda: Sanctions(self.store).appeal(CAROL, text), Refused, NoSuchUser)

    def decide(self, granted, by=MODERATOR):
        reason = f"granted by {by}" if granted else f"refused by {by}"
        return self._task(reason, lambda: Sanctions(self.store).decide_appeal(CAROL, granted, by, reason))

    def become(self, role):
        return self._task(role, lambda: Roles(self.store).give(CAROL, role, reason=role))

    def leave(self):
        AccountDeletion(self.store).delete(User(CAROL, "carol"), "secret3")
        drain(self.store, "worker")

    def worker(self):
        take_all_over(self.store)


def free(acting):
    """Nothing is imposed on carol."""


def frozen(acting):
    acting.impose(State.FROZEN)()


def appealed(acting):
    frozen(acting)
    acting.appeal()()


SCENARIOS = {
    "two moderators impose": (free, lambda a: [a.impose(State.FROZEN), a.impose(State.SUSPENDED, OTHER)]),
    "one imposes, one lifts": (frozen, lambda a: [a.impose(State.HIDDEN), a.lift()]),
    "two lift": (appealed, lambda a: [a.lift(), a.lift(MODERATOR)]),
    "imposed beside a new admin": (free, lambda a: [a.impose(State.SUSPENDED), a.become(Role.ADMIN)]),
    "imposed beside a new moderator, a worker": (
        free,
        lambda a: [a.impose(State.SUSPENDED), a.become(Role.MODERATOR), a.worker],
    ),
    "the account is deleted": (free, lambda a: [a.impose(State.SUSPENDED), a.impose(State.HIDDEN, OTHER), a.leave]),
    "lifted while the account is deleted": (appealed, lambda a: [a.lift(), a.leave]),
    "two moderators and a worker": (free, lambda a: [a.impose(State.FROZEN), a.impose(State.HIDDEN, OTHER), a.worker]),
    "an appeal and the end of the sanction": (frozen, lambda a: [a.appeal(), a.lift()]),
    "an appeal and another sanction": (frozen, lambda a: [a.appeal(), a.impose(State.SUSPENDED)]),
    "the appeal is sent twice, a worker": (frozen, lambda a: [a.appeal(), a.appeal("Again"), a.worker]),
    "an appeal, granted at once": (frozen, lambda a: [a.appeal(), a.decide(True)]),
    "an appeal, refused at once": (frozen, lambda a: [a.appeal(), a.decide(False), a.decide(False, OTHER)]),
    "one grants, one refuses": (appealed, lambda a: [a.decide(True), a.decide(False, OTHER)]),
    "one grants, one refuses, a worker": (appealed, lambda a: [a.decide(True), a.decide(False, OTHER), a.worker]),
    "one grants, one imposes anew": (appealed, lambda a: [a.decide(True), a.impose(State.HIDDEN, OTHER)]),
    "an appeal and the deletion of the account": (frozen, lambda a: [a.appeal(), a.decide(True), a.leave]),
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_is_imposed_agrees_with_the_log(store, raw, scenario, kills):
    begin, tasks = SCENARIOS[scenario]
    for seed in range(examples(RUNS)):
        make_small_site(raw)
        acting = Acting(store)
        begin(acting)
        interleave(seed, kills, tasks(acting))
        finish_all_but_removals(store, raw)
        assert_community_agrees(raw, seed)
        person = raw.hgetall("user:3")
        if "deleted" in person:
            continue
        assert acting.done <= reasons_in_log(raw), seed
        _assert_one_decision(raw, person, seed)


def _assert_one_decision(raw, person, where):
    """Each appeal has one answer at most. A granted appeal ends its sanction."""
    decisions = [act for act in acts_in_log(raw) if act["what"].startswith("appeal:")]
    assert len(decisions) <= 1, where
    for decision in decisions:
        [answered] = [field.partition(":")[2] for field in person if field.startswith("answer:")]
        assert decision["what"] == "appeal:refused" or person["state_act"] != answered, where


IN_TIME = {
    "granted": lambda a: [a.decide(True)],
    "granted and refused": lambda a: [a.decide(True), a.decide(False, OTHER)],
    "granted, and something else is imposed": lambda a: [a.decide(True), a.impose(State.HIDDEN, OTHER)],
    "lifted": lambda a: [a.lift()],
}


@pytest.mark.parametrize("kills", [0, 1])
@pytest.mark.parametrize("scenario", IN_TIME)
def test_nobody_is_deleted_whose_appeal_waits_or_is_granted(store, raw, scenario, kills):
    """Carol was suspended 31 days ago and has appealed. A worker that would delete her account is at work."""
    for seed in range(examples(RUNS)):
        make_small_site(raw)
        acting = Acting(store)
        acting.impose(State.SUSPENDED)()
        acting.appeal()()
        raw.hincrby("user:3", "state_since", -31 * DAY)
        [removal] = noted(raw)
        interleave(seed, kills, [*IN_TIME[scenario](acting), lambda job=removal: carry_out(store, job)])
        finish_all_but_removals(store, raw)
        assert not raw.hexists("user:3", "deleted"), seed
        assert acting.done <= reasons_in_log(raw), seed
