"""Two or three write one thing, and one of them may die: each stops once, between any two parts of what it sends, while
the next one does all of its own."""

from contextlib import suppress
from functools import partial

import pytest

from accounts.community.sanctions import AppealedAlready, NothingImposed, SanctionChanged, Sanctions
from accounts.signing_in.sessions.entities import Device
from accounts.signing_in.sessions.repository import Sessions, ask_stored_password
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import Refused, Role, State, User, Verified
from retwis_site.jobs.worker import drain
from retwis_site.store.client import answer
from tests.support.protocols.community import (
    MODERATOR,
    OTHER,
    acts_in_log,
    assert_community_agrees,
    finish_all_but_removals,
    make_moderated_site,
)
from tests.support.protocols.interleaving import attempt
from tests.support.protocols.small_site import ALICE, CAROL, Acts, finish_jobs, make_small_site
from tests.support.stored_keys import make_due
from tests.support.stores.seam import before_part, each_moment, killed_before_part, stride
from timeline.timelines.profile import Pins

THIRD = 9  # uid of one more moderator


def moments():
    return each_moment(stride=stride())


# ---- Moderators, a person whom they sanction, and her new role


def make_frozen(store, raw):
    """Carol is frozen. Returns the act."""
    make_moderated_site(raw)
    Sanctions(store).impose(CAROL, State.FROZEN, "Spam.", by=THIRD)
    drain(store, "worker")
    return raw.hget("user:3", "state_act")


FORMS = {
    "lift": lambda acts, shown: acts.lift(MODERATOR, shown=shown),
    "impose": lambda acts, shown: acts.impose(State.HIDDEN, shown=shown),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_form_that_dies_has_ended_no_sanction_that_came_meanwhile(acts, store, raw, form):
    for step in moments():
        for kill in each_moment():
            shown = make_frozen(store, raw)
            with before_part(step, acts.impose(State.SUSPENDED, OTHER)):
                killed_before_part(kill, attempt(FORMS[form](acts, shown), SanctionChanged))
                make_due(raw)
            finish_all_but_removals(store, raw)
            assert_community_agrees(raw, (step, kill))
            if step.has_come:
                assert raw.hget("user:3", "state") == State.SUSPENDED, (step, kill)


def test_a_granted_appeal_whose_process_dies_ends_nothing_that_comes_before_its_worker(acts, store, raw):
    for kill in each_moment():
        make_frozen(store, raw)
        acts.appeal()()
        killed_before_part(kill, acts.answer_appeal(True))
        make_due(raw)
        acts.impose(State.HIDDEN, OTHER)()
        finish_all_but_removals(store, raw)
        assert_community_agrees(raw, kill)
        assert raw.hget("user:3", "state") == State.HIDDEN, kill


@pytest.mark.parametrize("form", FORMS)
def test_of_three_forms_that_show_one_sanction_one_replaces_it(acts, store, raw, form):
    for first in moments():
        for second in moments():
            shown, done = make_frozen(store, raw), []

            def send(work, done=done):
                return attempt(lambda: (work(), done.append(work)), SanctionChanged, NothingImposed)

            def two(second=second, shown=shown, send=send):
                with before_part(second, send(acts.impose(State.SUSPENDED, THIRD, shown=shown))):
                    send(acts.impose(State.FROZEN, OTHER, shown=shown))()

            with before_part(first, two):
                send(FORMS[form](acts, shown))()
            finish_all_but_removals(store, raw)
            assert_community_agrees(raw, (first, second))
            assert len(done) == 1, (first, second)
            assert len(acts_in_log(raw)) == 2, (first, second)


def test_a_sanction_whose_process_dies_ends_none_that_comes_after_a_role_that_was_taken_back(acts, store, raw):
    for kill in each_moment():
        make_moderated_site(raw)
        acts.give(ALICE, Role.ADMIN)()
        killed_before_part(kill, acts.impose(State.FROZEN))
        make_due(raw)
        for role in (Role.ADMIN, Role.MEMBER):
            acts.give(CAROL, role, ALICE)()
        acts.impose(State.HIDDEN, OTHER)()
        finish_all_but_removals(store, raw)
        assert_community_agrees(raw, kill)
        assert raw.hget("user:3", "state") == State.HIDDEN, kill


def test_of_two_appeals_that_are_sent_at_once_one_waits_and_the_other_is_refused(acts, store, raw):
    for step in each_moment():
        make_frozen(store, raw)
        sent, refused = [], []

        def send(text, sent=sent, refused=refused):
            try:
                Sanctions(store).appeal(CAROL, text)
                sent.append(text)
            except AppealedAlready:
                refused.append(text)

        with before_part(step, partial(send, "Second.")):
            send("First.")
        assert len(refused) == step.has_come, step
        assert [Sanctions(store).standing(CAROL).appeal.text] == sent, step


def test_an_appeal_against_what_is_replaced_meanwhile_leaves_the_next_one(acts, store, raw):
    def go_on():
        acts.impose(State.HIDDEN, OTHER)()
        acts.appeal("Again.")()

    for step in each_moment():
        make_frozen(store, raw)
        with before_part(step, go_on):
            attempt(acts.appeal(), AppealedAlready)()
        finish_all_but_removals(store, raw)
        assert_community_agrees(raw, step)
        assert Sanctions(store).standing(CAROL).appeal.text == ("Again." if step.has_come else "It was not me."), step


# ---- Passwords


def recover(store):
    return partial(Sessions(store).change_password, ALICE, "of the recovery")


def fill_in(store, opened, password):
    """Set a password by the form, for whose old one `old` was shown, and go on."""

    def work():
        if generation := Sessions(store).change_password(ALICE, password, present="old"):
            opened.append(Sessions(store).open(Verified(User(ALICE, "alice"), generation), Device()))

    return work


def make_site_with_password(raw):
    make_small_site(raw)
    raw.hset("user:1", "generation", "old")


def test_a_form_that_dies_leaves_the_password_that_came_meanwhile(store, raw):
    for step in each_moment():
        for kill in each_moment():
            make_site_with_password(raw)
            with before_part(step, recover(store)):
                killed_before_part(kill, fill_in(store, [], "of the form"))
                make_due(raw)
            finish_jobs(store, raw)
            if step.has_come:
                assert answer(store, ask_stored_password, ALICE).encoded == "of the recovery", (step, kill)


def test_of_two_forms_and_a_recovery_the_recovery_stands_with_its_session(store, raw):
    for first in moments():
        for second in moments():
            make_site_with_password(raw)
            opened, generations = [], []

            def two(second=second, opened=opened, generations=generations):
                with before_part(second, lambda: generations.append(recover(store)())):
                    fill_in(store, opened, "of another form")()

            with before_part(first, two):
                fill_in(store, opened, "of the form")()
            finish_jobs(store, raw)
            assert len(opened) <= 1, (first, second)
            if generations:
                stored = raw.hmget("user:1", "password", "generation")
                assert stored == ["of the recovery", *generations], (first, second)
                assert not any(Viewer(store, secret).user.is_authenticated for secret in opened), (first, second)


# ---- The pinned post


def test_two_pins_and_a_deletion_leave_the_last_pin_or_nothing(store, raw):
    for first in each_moment():
        for second in each_moment():
            for comes in (partial(Pins(store).unpin, CAROL, 2), Acts(store).delete_account(CAROL)):
                make_small_site(raw)
                raw.hset("user:3", "pinned", 1)
                with before_part(first, lambda second=second, comes=comes: pin_and(store, second, comes)):
                    Pins(store).unpin(CAROL, 1)
                finish_jobs(store, raw)
                if raw.hexists("user:3", "deleted"):
                    assert raw.hkeys("user:3") == ["username", "deleted"], (first, second)


def pin_and(store, step, comes):
    with before_part(step, comes), suppress(Refused):
        Pins(store).pin(CAROL, 2)
