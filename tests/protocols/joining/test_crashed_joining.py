"""Joining that is killed between any two round trips: a use or an answer has its full effect, or none."""

import pytest

from accounts.community.acts import APPROVED, REFUSED, Answers
from accounts.joining.applications import Applications
from accounts.joining.invitations import Invitations, NotInvited
from accounts.joining.joining import Joining
from accounts.users.entities import NameTaken
from tests.support.protocols.joining import (
    MODERATOR,
    applied,
    assert_one_answer,
    assert_sound,
    assert_uses_are_accounts,
    finish_jobs,
)
from tests.support.stores.seam import killed_before_round_trip


def join(store, name, code):
    return Joining(store).join("invite", name, "argon2$hash", "", code)


@pytest.mark.parametrize("step", range(17))
def test_a_registration_with_an_invitation(store, layout, raw, step):
    code = Invitations(store).make().code
    killed = killed_before_round_trip(step, lambda: join(store, "Dora", code))
    assert killed == (step < 15 + layout.counts)
    finish_jobs(store, raw)
    assert_uses_are_accounts(store, raw, code)
    if raw.hexists("users", "dora"):
        with pytest.raises(NotInvited):
            join(store, "erik", code)
    else:
        assert join(store, "erik", code).user.username == "erik"
    assert_uses_are_accounts(store, raw, code)
    assert_sound(raw)


@pytest.mark.parametrize("step", range(4))
def test_a_registration_whose_name_is_taken_meanwhile_gives_the_use_back(store, raw, monkeypatch, alice, step):
    code = Invitations(store).make().code
    monkeypatch.setattr("accounts.joining.joining.Users.find", lambda self, name: None)
    monkeypatch.setattr("accounts.joining.joining.check_name", lambda *arguments: None)
    monkeypatch.setattr("accounts.users.registration.Users.find", lambda self, name: None)

    def lose():
        with pytest.raises(NameTaken):
            join(store, "Alice", code)

    assert killed_before_round_trip(step, lose) == (step < 3)
    monkeypatch.undo()
    finish_jobs(store, raw)
    assert_uses_are_accounts(store, raw, code)
    assert join(store, "erik", code).user.username == "erik"
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


@pytest.mark.parametrize("step", range(19))
def test_an_approval(store, layout, raw, step):
    at = applied(store)
    killed = killed_before_round_trip(step, lambda: Answers(store).approve("dora", at, MODERATOR))
    assert killed == (step < 18 + layout.counts)
    finish_jobs(store, raw)
    assert assert_one_answer(store, raw) == (APPROVED if step > 2 else "")
    assert_sound(raw)
    assert Answers(store).approve("dora", at, MODERATOR) == (step <= 2)
    assert assert_one_answer(store, raw) == APPROVED


@pytest.mark.parametrize("step", range(9))
def test_a_refusal(store, layout, raw, step):
    at = applied(store)
    killed = killed_before_round_trip(step, lambda: Answers(store).refuse("dora", at, MODERATOR, "We are full."))
    assert killed == (step < 9)
    finish_jobs(store, raw)
    assert assert_one_answer(store, raw) == (REFUSED if step > 2 else "")
    assert_sound(raw)
    assert not Answers(store).approve("dora", at, MODERATOR) or step <= 2


@pytest.mark.parametrize("step", range(3))
def test_the_end_of_an_invitation(store, raw, step):
    code = Invitations(store).make(uses=2).code
    join(store, "dora", code)
    killed = killed_before_round_trip(step, lambda: Invitations(store).revoke(0, code))
    assert killed == (step < 2)
    if step:
        assert Invitations(store).of(0) == []
        with pytest.raises(NotInvited):
            join(store, "erik", code)
    else:
        [one] = Invitations(store).of(0)
        assert one.left == 1
    assert raw.ttl(*raw.keys("uses:*")) > 0 if step < 2 else raw.keys("uses:*") == []
    assert_sound(raw)
