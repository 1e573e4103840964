"""What `doctor` and `cleanup` find about roles, sanctions and appeals, and that the repairs are right."""

import io

import pytest
from django.core.management import call_command

from accounts.community.log import Act, Log
from accounts.community.roles import Roles
from accounts.community.sanctions import Sanctions, open_appeals
from accounts.users.entities import Role, State
from retwis_site.jobs.worker import drain
from tests.support.removed_accounts import delete_account, doctor_findings
from tests.support.stores.key_layouts import noted

ALICE, BOB = 1, 2
USERS = "roles and sanctions that do not fit together"


@pytest.fixture
def site(store, raw, alice, bob, carol):
    Roles(store).give(ALICE, Role.ADMIN)
    Sanctions(store).impose(BOB, State.SUSPENDED, "spam")
    Sanctions(store).appeal(BOB, "It was not me.")
    return raw


def test_a_site_with_staff_and_sanctions_is_sound(site, capsys):
    assert doctor_findings(capsys) == ({}, {})


def _forget_job(raw):
    [job] = noted(raw)
    raw.zrem("outbox", job)


@pytest.mark.parametrize(
    ("damage", "check"),
    [
        (lambda raw: raw.hset("user:1", "role", "moderator"), USERS),
        (lambda raw: raw.hset("user:2", "role", "admin"), USERS),
        (lambda raw: raw.hset("user:2", "act:abc", Act(what="frozen", whom=2, id="abc").line()), USERS),
        (lambda raw: raw.delete("appeals"), USERS),
        (_forget_job, USERS),
        (lambda raw: raw.hset("staff", "changing:abc", "1"), "changes of roles that nothing finishes"),
        (
            lambda raw: raw.hset("staff", "act:abc", Act(what="role:admin", whom=1, id="abc").line()),
            "changes of roles that nothing finishes",
        ),
    ],
)
def test_each_damage_is_found_and_repaired(site, store, capsys, damage, check):
    damage(site)
    assert doctor_findings(capsys)[0] == {check: 1}
    doctor_findings(capsys, "--fix")
    assert doctor_findings(capsys)[0] == {}
    assert Roles(store).staff() == {ALICE: Role.ADMIN}
    assert (site.hget("user:1", "role"), site.hget("user:2", "role") or "") == ("admin", "")
    assert len(open_appeals(store).appeals) == 1
    assert len(noted(site)) == 1


def test_what_is_no_state_has_no_repair(site, capsys):
    site.hset("user:3", "state", "banished")
    doctor_findings(capsys, "--fix")
    assert doctor_findings(capsys)[0] == {USERS: 1}


def test_an_appeal_against_nothing_is_an_orphan(site, store, capsys):
    site.zadd("appeals", {"3:abc": 1})
    assert doctor_findings(capsys)[1] == {"appeals against what is no longer imposed": 1}
    call_command("cleanup", stdout=io.StringIO())
    assert len(open_appeals(store).appeals) == site.zcard("appeals") == 1


def test_a_deleted_account_leaves_its_lines_in_the_log_alone(site, store, bob, capsys):
    Roles(store).give(3, Role.MODERATOR)
    delete_account(store, bob)
    drain(store, "worker")
    assert site.hgetall("user:2").keys() == {"username", "deleted"}
    assert not site.exists("acts:2")
    assert site.zcard("appeals") == 0
    assert BOB in {act.whom for act in Log(store).page().acts}
    assert doctor_findings(capsys)[0] == {}
