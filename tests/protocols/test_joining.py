"""Joining that is killed between any two round trips: a use or an answer has its full effect, or none. Several people
join and several moderators answer at once, in random interleavings, with and without kills."""

import itertools
import time
from contextlib import suppress
from functools import partial
from types import SimpleNamespace

import pytest
from django.core.management import call_command

from accounts.community.acts import APPROVED, Answers
from accounts.joining import joining
from accounts.joining.joining import KEPT, Application, Applications, Invitations, Joining, NotInvited
from accounts.users.accounts import Registration
from accounts.users.entities import NameTaken, Refused
from tests.support.protocols.interleaving import attempt, interleave, take_all_over
from tests.support.protocols.joining import assert_one_answer, assert_sound, assert_uses_are_accounts
from tests.support.stored_keys import drain_due, noted
from tests.support.stores.seam import before_part, each_moment, examples, killed_before_round_trip

MODERATOR, OTHER = 7, 8  # uids


def applied(store):
    """Dora asks to join. Returns when."""
    Applications(store).apply("Dora", "argon2$hash", "I know bob.")
    return Applications(store).all()[0].at


def finish_jobs(store, raw):
    for _ in range(2):  # the job of a use may come before that of the registration
        drain_due(store, raw)
    assert noted(raw) == []
    assert raw.keys("lease:*") == []


def join(store, name, code):
    return Joining(store).join("invite", name, "argon2$hash", "", code)


@pytest.mark.parametrize("step", range(6))
def test_a_registration_whose_name_is_taken_meanwhile_gives_the_use_back(store, raw, monkeypatch, alice, step):
    code = Invitations(store).make().code
    monkeypatch.setattr("accounts.joining.joining.Users.find", lambda self, name: None)
    monkeypatch.setattr("accounts.joining.joining.check_name", lambda *arguments: None)
    monkeypatch.setattr("accounts.users.accounts.Users.find", lambda self, name: None)

    def lose():
        with pytest.raises(NameTaken):
            join(store, "Alice", code)

    assert killed_before_round_trip(step, lose) == (step < 5)
    monkeypatch.undo()
    finish_jobs(store, raw)
    assert_uses_are_accounts(store, raw, code)
    assert join(store, "erik", code).username == "erik"
    assert_sound(raw)


@pytest.mark.parametrize("step", range(9))
def test_an_application(store, raw, step):
    killed = killed_before_round_trip(step, lambda: applied(store))
    assert killed == (step < 8)
    if not raw.hexists("applications", "dora"):
        applied(store)
    finish_jobs(store, raw)
    [asked] = Applications(store).all()
    assert (asked.username, asked.why) == ("Dora", "I know bob.")
    assert raw.hkeys("applications") == ["dora"]
    assert raw.zrange("applicants", 0, -1) == [f"dora:{asked.at}"]
    assert_sound(raw)


def test_who_applies_again_while_old_refusals_go_is_not_forgotten(store, raw):
    refused = Application("Dora", "argon2$hash", "First.", 5, int(time.time()) - KEPT - 60)
    for step in each_moment(rounds=20):
        raw.flushall()
        raw.hset("applications", "dora", joining.stored_application(refused))
        with before_part(step, lambda: Applications(store).apply("Dora", "argon2$hash", "Again.")):
            Applications(store).apply("erik", "argon2$hash", "Me too.")
        finish_jobs(store, raw)
        waiting = {one.username for one in Applications(store).all()}
        assert waiting == ({"Dora", "erik"} if step.has_come else {"erik"}), step
        assert raw.zcard("applicants") == len(waiting), step


def test_who_applies_again_while_cleanup_removes_the_old_refusal_is_not_forgotten(store, raw):
    refused = Application("Dora", "argon2$hash", "First.", 5, int(time.time()) - KEPT - 60)
    for step in each_moment():
        raw.flushall()
        raw.hset("applications", "dora", joining.stored_application(refused))
        with before_part(step, lambda: Applications(store).apply("Dora", "argon2$hash", "Again.")):
            call_command("cleanup", verbosity=0)
        finish_jobs(store, raw)
        assert [one.why for one in Applications(store).all()] == (["Again."] if step.has_come else []), step
        assert raw.hlen("applications") == step.has_come, step


def test_of_two_who_apply_for_the_name_of_an_old_refusal_the_first_one_waits(store, raw):
    refused = Application("Dora", "argon2$hash", "Old.", 5, int(time.time()) - KEPT - 60)

    def apply(why, taken):
        try:
            Applications(store).apply("Dora", "argon2$hash", why)
        except NameTaken:
            taken.append(why)

    for step in each_moment(rounds=20):
        raw.flushall()
        raw.hset("applications", "dora", joining.stored_application(refused))
        taken = []
        with before_part(step, partial(apply, "First.", taken)):
            apply("Second.", taken)
        finish_jobs(store, raw)
        [waiting] = Applications(store).all()
        assert waiting.why not in taken, step
        assert len(taken) == step.has_come, step


@pytest.mark.parametrize("step", range(21))
def test_an_approval(store, layout, raw, step):
    at = applied(store)
    killed = killed_before_round_trip(step, lambda: Answers(store).approve("dora", at, MODERATOR))
    assert killed == (step < 20 + layout.counts)
    finish_jobs(store, raw)
    assert assert_one_answer(store, raw) == (APPROVED if step > 2 else "")
    assert_sound(raw)
    assert Answers(store).approve("dora", at, MODERATOR) == (step <= 2)
    assert assert_one_answer(store, raw) == APPROVED


@pytest.mark.parametrize("step", range(3))
def test_the_end_of_an_invitation(store, raw, step):
    code = Invitations(store).make(uses=2).code
    join(store, "dora", code)
    killed = killed_before_round_trip(step, lambda: Invitations(store).revoke(0, code))
    assert killed == (step < 2)
    if step:
        assert Invitations(store).open([0]) == []
        with pytest.raises(NotInvited):
            join(store, "erik", code)
    else:
        [one] = Invitations(store).open([0])
        assert one.left == 1
    assert raw.ttl(*raw.keys("uses:*")) > 0 if step < 2 else raw.keys("uses:*") == []
    assert_sound(raw)


# ---- several at once


RUNS = 10  # seeds for each scenario


def joiner(store, name, code):
    return attempt(lambda: Joining(store).join("invite", name, "argon2$hash", "", code), Refused)


def applicant(store, name):
    return attempt(lambda: Applications(store).apply(name, "argon2$hash", "I know bob."), NameTaken)


@pytest.mark.parametrize("kills", [0, 1])
@pytest.mark.parametrize(
    ("names", "uses"), [(("dora", "erik"), 1), (("dora", "erik", "frida"), 2), (("dora", "Dora"), 1)]
)
def test_an_invitation_lets_in_as_many_as_it_says(store, layout, raw, names, uses, kills):
    for seed in range(examples(RUNS)):
        raw.flushall()
        code = Invitations(store).make(uses=uses).code
        interleave(seed, kills, [joiner(store, name, code) for name in names])
        finish_jobs(store, raw)
        assert_uses_are_accounts(store, raw, code)
        assert_sound(raw)


def test_a_use_that_was_given_back_is_there_for_the_next_one(store, raw):
    for seed in range(examples(RUNS)):
        raw.flushall()
        code = Invitations(store).make().code
        interleave(seed, 1, [joiner(store, name, code) for name in ("dora", "erik")])
        finish_jobs(store, raw)
        joiner(store, "frida", code)()
        assert raw.hlen("users") == 1, seed
        assert_uses_are_accounts(store, raw, code)


def test_a_form_that_is_sent_twice_at_once_makes_one_invitation(store, layout, raw, monkeypatch):
    seconds = itertools.count(int(time.time()))  # each click ends at another moment
    monkeypatch.setattr(joining, "time", SimpleNamespace(time=lambda: next(seconds)))
    for seed in range(examples(RUNS)):
        raw.flushall()
        made = []
        send = attempt(lambda made=made: made.append(Invitations(store).make_within(1, 1, "0" * 16)), Refused)
        interleave(seed, 0, [send, send])
        assert len(made) == 2, seed
        assert raw.hkeys("invites:1") == [min(one.code for one in made)], seed


@pytest.mark.parametrize("kills", [0, 1])
def test_two_moderators_who_answer_at_once(store, layout, raw, kills):
    for seed in range(examples(RUNS)):
        raw.flushall()
        at = applied(store)
        answered = []
        approve = partial(Answers(store).approve, "dora", at, MODERATOR)
        refuse = partial(Answers(store).refuse, "dora", at, OTHER, "We are full.")
        answers = [lambda one=one, answered=answered: answered.append(one()) for one in (approve, refuse)]
        interleave(seed, kills, [*answers, lambda: take_all_over(store)])
        finish_jobs(store, raw)
        assert assert_one_answer(store, raw) or True not in answered, seed  # both may have died, or been too slow
        assert answered.count(True) <= 1, seed
        assert_sound(raw)


@pytest.mark.parametrize("kills", [0, 1])
def test_of_names_that_look_alike_one_is_registered(store, raw, kills):
    """At once: by a form, with an invitation, and by the approval of an application."""
    for seed in range(examples(RUNS)):
        raw.flushall()
        code = Invitations(store).make(uses=2).code
        at = applied(store)
        works = [
            attempt(lambda: Joining(store).join("open", "D_ora", "argon2$hash", "", ""), Refused),
            joiner(store, "d0ra", code),
            lambda at=at: Answers(store).approve("dora", at, MODERATOR),
        ]
        interleave(seed, kills, works)
        finish_jobs(store, raw)
        assert raw.hlen("users") <= 1, seed
        assert_uses_are_accounts(store, raw, code)
        assert_sound(raw)


@pytest.mark.parametrize("by_invitation", [False, True])
def test_a_worker_registers_no_name_beside_one_that_looks_like_it(store, raw, by_invitation):
    """The process died, and somebody else came before the worker. A name of the operator stays."""
    for step in range(30):
        raw.flushall()
        code = Invitations(store).make().code if by_invitation else ""
        killed = killed_before_round_trip(step, lambda code=code: Joining(store).join("open", "dora", "hash", "", code))
        raw.delete(*raw.keys("lease:look:*") or ["none"])  # it has ended by then
        with suppress(Refused):
            Joining(store).join("open", "d0ra", "argon2$hash", "", "")
        finish_jobs(store, raw)
        assert raw.hlen("users") == 1, step
        if code:
            assert_uses_are_accounts(store, raw, code)
        assert_sound(raw)
        if not killed:
            break
    assert step > 10


def test_a_worker_finishes_a_name_of_the_operator_that_looks_like_another(store, raw):
    Registration(store).register("dora", "argon2$hash")
    steps = range(3, 9)  # before the commit the command has failed
    for step in steps:
        name = f"{'_' * step}dora"
        if not killed_before_round_trip(step, lambda name=name: Registration(store).register(name, "argon2$hash")):
            break
        was_committed = raw.hexists("users", name)
        finish_jobs(store, raw)
        assert raw.hexists("users", name) == was_committed
        assert_sound(raw)
    assert raw.hlen("users") > 2


@pytest.mark.parametrize("kills", [0, 2])
def test_of_those_who_ask_for_one_name_and_take_it_one_has_it(store, raw, kills):
    """Dora asks, and is approved. Somebody else takes the name meanwhile, or asks for it, or takes an invitation."""
    for seed in range(examples(RUNS)):
        raw.flushall()
        code = Invitations(store).make().code
        at = applied(store)
        works = [
            lambda at=at: Answers(store).approve("dora", at, MODERATOR),
            attempt(lambda: Registration(store).register("DORA", "argon2$hash"), NameTaken),
            applicant(store, "dora"),
            joiner(store, "dorA", code),
            lambda: take_all_over(store),
        ]
        interleave(seed, kills, works)
        finish_jobs(store, raw)
        assert raw.hkeys("users") in ([], ["dora"]), seed
        assert_uses_are_accounts(store, raw, code)
        assert_sound(raw)
