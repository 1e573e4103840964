"""Roles: the hash `staff` says who is staff, the user's hash follows, and the site keeps its last admin. Pages of
staff do not exist for others."""

import json
import re

import pytest
from django.contrib.auth.hashers import make_password
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import get_resolver

from accounts.community.acts import LastAdmin, RoleChanging, Roles
from accounts.community.log import Log
from accounts.community.sanctions import Sanctions
from accounts.signing_in.guards import admin_required, staff_required
from accounts.signing_in.viewer import Viewer
from accounts.users.entities import OPERATOR, NoSuchUser, Role, State
from tests.support.http.page_text import page_of
from tests.support.people import PASSWORD
from tests.support.stored_keys import noted

ALICE, BOB, CAROL = 1, 2, 3


@pytest.fixture
def roles(store, raw, alice, bob, carol):
    return Roles(store)


def test_a_role_is_in_staff_and_in_the_users_hash_and_in_the_log(roles, store, raw):
    roles.give(ALICE, Role.MODERATOR)
    assert raw.hgetall("staff") == {"1": "moderator"}
    assert raw.hget("user:1", "role") == "moderator"
    [line] = raw.zrange("acts:1", 0, -1)
    assert json.loads(line)["what"] == "role:moderator"
    [act] = Log(store).page()[0]
    assert (act.what, act.whom, act.by) == ("role:moderator", ALICE, OPERATOR)
    assert noted(raw) == []


def test_a_viewer_has_the_role_and_a_visitor_has_none(roles, store, raw, alice, bob):
    roles.give(ALICE, Role.MODERATOR)
    moderator, member = Viewer(store, alice.secret).checked, Viewer(store, bob.secret).checked
    assert (moderator.role, moderator.is_staff) == (Role.MODERATOR, True)
    assert (member.role, member.is_staff) == (Role.MEMBER, False)
    assert Viewer(store, "").checked.role is Role.MEMBER
    raw.hset("user:1", "role", "emperor")
    assert Viewer(store, alice.secret).checked.role is Role.MEMBER


def test_a_role_that_is_taken_away_leaves_no_right(roles, raw):
    roles.give(ALICE, Role.ADMIN)
    roles.give(BOB, Role.ADMIN)
    roles.give(ALICE, Role.MEMBER, by=BOB)
    assert raw.hget("user:1", "role") == ""
    assert roles.staff() == {BOB: Role.ADMIN}


def test_the_last_admin_keeps_the_role(roles, raw):
    roles.give(ALICE, Role.ADMIN)
    roles.give(BOB, Role.MODERATOR)
    for role in (Role.MEMBER, Role.MODERATOR):
        with pytest.raises(LastAdmin):
            roles.give(ALICE, role)
    assert raw.hgetall("staff") == {"1": "admin", "2": "moderator"}
    assert raw.hget("user:1", "role") == "admin"
    assert noted(raw) == []


def test_without_any_admin_a_moderator_can_still_lose_the_role(roles):
    roles.give(ALICE, Role.MODERATOR)
    roles.give(ALICE, Role.MEMBER)
    assert roles.staff() == {}


def test_there_is_no_role_for_an_unknown_or_deleted_user(roles, raw):
    raw.hset("user:2", "deleted", "1")
    for uid in (BOB, 99):
        with pytest.raises(NoSuchUser):
            roles.give(uid, Role.ADMIN)
    assert raw.hgetall("staff") == {}
    assert not raw.exists("user:99")


def test_two_changes_of_one_role_at_once_are_refused_and_leave_nothing(roles, raw):
    raw.hset("staff", "changing:abc", "1")
    with pytest.raises(RoleChanging):
        roles.give(ALICE, Role.MODERATOR)
    assert raw.hgetall("staff") == {"changing:abc": "1"}
    assert noted(raw) == []


def test_an_admin_has_no_sanction(roles, store, raw):
    Sanctions(store).impose(ALICE, State.SUSPENDED, "spam")
    roles.give(ALICE, Role.ADMIN)
    assert Sanctions(store).of(ALICE) is None
    assert raw.hget("user:1", "state") == ""


# ---- Pages of staff do not exist for others. The test finds them by the mark of their guard.


def staff_addresses():
    """Every address of staff, with "1" in each place that the pattern leaves open, and the roles that see it."""
    return [
        ("/" + re.sub(r"<[^>]*>", "1", str(pattern.pattern)), pattern.callback.for_roles)
        for pattern in get_resolver().url_patterns
        if hasattr(pattern.callback, "for_roles")
    ]


def test_there_are_such_addresses():
    assert staff_addresses()


@pytest.mark.parametrize("method", ["get", "post"])
def test_each_is_a_404_for_visitors_and_members(raw, browser, alice, method):
    for address, _ in staff_addresses():
        assert getattr(browser(alice), method)(address).status_code == 404, address
        assert method == "post" or browser().get(address).status_code == 404, address


@pytest.mark.parametrize("address", ["reports/1/", "people/bob/", "people/bob/1/", "joining/", "site/"])
def test_a_form_of_staff_that_is_sent_after_a_logout_keeps_its_text(browser, address):
    text = {"reason": "Too many advertisements", "about": "Too many advertisements"}
    page = page_of(browser().post(f"/moderation/{address}", text), 403)
    assert "You are logged out" in page
    assert "Too many advertisements" in page


def test_one_without_a_text_leads_to_the_login_and_back(browser):
    answer = browser().post("/moderation/joining/", {"username": "dora", "answer": "yes"})
    assert answer["Location"] == "/login/?next=%2Fmoderation%2Fjoining%2F"


def test_those_of_admins_are_a_404_for_moderators(store, raw, browser, alice):
    Roles(store).give(ALICE, Role.MODERATOR)
    for address, roles in staff_addresses():
        if Role.MODERATOR not in roles:
            assert browser(alice).get(address).status_code == 404, address


@pytest.mark.parametrize(
    ("role", "guard", "status"),
    [(Role.MODERATOR, staff_required, 200), (Role.ADMIN, staff_required, 200), (Role.ADMIN, admin_required, 200)],
)
def test_staff_gets_in(store, raw, alice, role, guard, status):
    Roles(store).give(ALICE, role)
    request = RequestFactory().get("/")
    request.viewer = Viewer(store, alice.secret)
    answer = guard(lambda request, me: HttpResponse(me.username))(request)
    assert answer.status_code == status
    assert answer["Cache-Control"] == "private, no-store"


def test_the_only_admin_is_warned_before_the_account_is_deleted(store, raw, member, bob):
    Roles(store).give(ALICE, Role.ADMIN)
    assert "This is the only admin." in page_of(member.post("/settings/delete/", {"password": PASSWORD}), 422)
    assert raw.hget("user:1", "deleted") is None
    assert member.post("/settings/delete/", {"password": PASSWORD, "last_admin": "1"}).status_code == 302
    assert raw.hget("user:1", "deleted") is not None


def test_an_account_is_not_deleted_while_someone_else_changes_its_role(store, raw, member, bob):
    for uid in (ALICE, BOB):
        Roles(store).give(uid, Role.ADMIN)
    raw.hset("staff", "changing:abc", "1")
    text = page_of(member.post("/settings/delete/", {"password": PASSWORD, "last_admin": "1"}), 422)
    assert "Someone else is changing this role right now." in text
    assert "Delete it anyway." not in text
    assert raw.hget("user:1", "deleted") is None


def test_one_of_two_admins_loses_the_role_with_the_account(store, raw, browser, alice, bob):
    for uid in (ALICE, BOB):
        Roles(store).give(uid, Role.ADMIN)
    assert browser(alice).post("/settings/delete/", {"password": PASSWORD}).status_code == 302
    assert Roles(store).staff() == {BOB: Role.ADMIN}


def test_a_password_alone_does_not_make_staff(raw, browser, alice):
    raw.hset("user:1", mapping={"password": make_password(PASSWORD), "role": "emperor"})
    for address, _ in staff_addresses():
        assert browser(alice).get(address).status_code == 404
