"""Pages of staff do not exist for others. The test finds them by the mark of their guard."""

import re

import pytest
from django.contrib.auth.hashers import make_password
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import get_resolver

from accounts.community.guards import admin_required, staff_required
from accounts.community.roles import Roles
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import Role
from tests.support.people import PASSWORD

ALICE, BOB = 1, 2


def staff_addresses():
    """Every address of staff, with "1" in each place that the pattern leaves open, and the roles that see it."""
    found, patterns = [], [("", pattern) for pattern in get_resolver().url_patterns]
    while patterns:
        before, pattern = patterns.pop()
        address = before + str(pattern.pattern)
        patterns += [(address, nested) for nested in getattr(pattern, "url_patterns", [])]
        roles = getattr(getattr(pattern, "callback", None), "for_roles", None)
        if roles is not None:
            found.append(("/" + re.sub(r"<[^>]*>", "1", address), roles))
    return found


def test_there_are_such_addresses():
    assert staff_addresses()


@pytest.mark.parametrize("method", ["get", "post"])
def test_each_is_a_404_for_visitors_and_members(raw, browser, alice, method):
    for address, _ in staff_addresses():
        for client in (browser(), browser(alice)):
            assert getattr(client, method)(address).status_code == 404, address


def test_those_of_admins_are_a_404_for_moderators(store, raw, browser, alice):
    Roles(store).give(ALICE, Role.MODERATOR)
    for address, roles in staff_addresses():
        if Role.MODERATOR not in roles:
            assert browser(alice).get(address).status_code == 404, address


@pytest.mark.parametrize(
    ("role", "guard", "status"),
    [
        (Role.MODERATOR, staff_required, 200),
        (Role.ADMIN, staff_required, 200),
        (Role.ADMIN, admin_required, 200),
    ],
)
def test_staff_gets_in(store, raw, alice, role, guard, status):
    Roles(store).give(ALICE, role)
    request = RequestFactory().get("/")
    request.viewer = Viewer(store, alice.secret)
    answer = guard(lambda request, me: HttpResponse(me.username))(request)
    assert answer.status_code == status
    assert answer["Cache-Control"] == "private, no-store"


def test_the_only_admin_is_warned_before_the_account_is_deleted(store, raw, browser, alice, bob):
    Roles(store).give(ALICE, Role.ADMIN)
    client = browser(alice)
    answer = client.post("/settings/delete/", {"password": PASSWORD})
    assert answer.status_code == 422
    assert "This is the only admin." in answer.content.decode()
    assert raw.hget("user:1", "deleted") is None
    assert client.post("/settings/delete/", {"password": PASSWORD, "last_admin": "1"}).status_code == 302
    assert raw.hget("user:1", "deleted") is not None


def test_one_of_two_admins_loses_the_role_with_the_account(store, raw, browser, alice, bob):
    for uid in (ALICE, BOB):
        Roles(store).give(uid, Role.ADMIN)
    assert browser(alice).post("/settings/delete/", {"password": PASSWORD}).status_code == 302
    assert Roles(store).staff() == {BOB: Role.ADMIN}


def test_a_password_alone_does_not_make_staff(raw, browser, alice):
    raw.hset("user:1", mapping={"password": make_password(PASSWORD), "role": "emperor"})
    for address, _ in staff_addresses():
        assert browser(alice).get(address).status_code == 404
