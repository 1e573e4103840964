"""A registration with an invitation, and staff's answers to an application, killed between any two commands."""

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.hashers import make_password

from accounts.community.joining.answers import APPROVED
from accounts.community.roles import Roles
from accounts.joining.applications import Applications
from accounts.joining.invitations import Invitations
from accounts.joining.refusals import NotYetMember
from accounts.users.entities import Role
from retwis_site.store.client import connect
from tests.support.people import PASSWORD
from tests.support.processes.scenes import ALICE, BOB, kill_at_every_command
from tests.support.protocols.joining import assert_one_answer, assert_uses_are_accounts

pytestmark = [pytest.mark.real_server, pytest.mark.faults]

FORM = {"username": "Dora", "password1": PASSWORD, "password2": PASSWORD}


def test_a_registration_with_an_invitation(scene, capsys):
    def work(scene):
        scene.code = Invitations(connect()).make(by=BOB).code
        return {"path": "/register/", "form": {**FORM, "code": scene.code}}

    def check(scene, where, through):
        login = authenticate(None, username="dora", password=PASSWORD)
        assert login is not None or not through, where
        assert_uses_are_accounts(connect(), scene.raw, scene.code)
        assert (Invitations(connect()).of(BOB) == []) == (login is not None), where

    kill_at_every_command(scene, capsys, work, check)


@pytest.mark.parametrize("answer", ["approve", "refuse"])
def test_an_answer_to_an_application(scene, capsys, answer):
    encoded = make_password(PASSWORD)

    def work(scene):
        Roles(connect()).give(ALICE, Role.MODERATOR)
        Applications(connect()).apply("Dora", encoded, "I know bob.")
        at = Applications(connect()).all()[0].at
        form = {"username": "Dora", "at": at, "answer": answer, "reason": "We are full."}
        return {"path": "/moderation/joining/", "form": form, "secret": scene.secret(scene.alice)}

    def check(scene, where, through):
        given = assert_one_answer(connect(), scene.raw)
        assert given or not through, where
        if given == APPROVED:
            assert authenticate(None, username="dora", password=PASSWORD) is not None, where
        else:
            with pytest.raises(NotYetMember):
                authenticate(None, username="dora", password=PASSWORD)

    kill_at_every_command(scene, capsys, work, check)
