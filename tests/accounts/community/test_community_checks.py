"""What `doctor` and `cleanup` find about roles, sanctions, appeals, applications and invitations, and that the repairs
are right."""

import json
import time

import pytest
from django.core.management import call_command

from accounts.community.acts import APPROVED, Roles, StaffNotes, answer_of
from accounts.community.log import Act, Log
from accounts.community.sanctions import Sanctions, open_appeals
from accounts.joining.joining import MOST_DAYS, USES_KEPT, Applications, Invitations, uses_of
from accounts.users.entities import Role, State
from accounts.users.repository import Users
from retwis_site.jobs.worker import drain
from retwis_site.rendering.dates import A_DAY
from retwis_site.store import keys
from tests.support.command_output import complaints, doctor_findings, finds_and_mends, mends_all
from tests.support.people import LONG_AGO
from tests.support.protocols.community import jobs_but_recounts
from tests.support.removed_accounts import delete_account
from tests.support.stored_keys import everything, make_due, write_all
from tests.support.stores.seam import each_moment, killed_before_write

ALICE, BOB = 1, 2
USERS = "roles and sanctions that do not fit together"


@pytest.fixture
def site(store, raw, alice, bob, carol):
    Roles(store).give(ALICE, Role.ADMIN)
    Sanctions(store).impose(BOB, State.SUSPENDED, "spam")
    Sanctions(store).appeal(BOB, "It was not me.")
    return raw


def _forget_job(raw):
    [job] = jobs_but_recounts(raw)
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
    finds_and_mends(capsys, {check: 1})
    assert Roles(store).staff() == {ALICE: Role.ADMIN}
    assert (site.hget("user:1", "role"), site.hget("user:2", "role") or "") == ("admin", "")
    assert len(open_appeals(store)[0]) == 1
    assert len(jobs_but_recounts(site)) == 1


LOST = "sanctions that users have lost"
LINES = "lines of {}: that tell of no act, or stand at another time"


def _restored(raw, capsys, uid=BOB):
    """A server has lost the hash of a user, and `doctor --fix` writes it again. Returns its state."""
    raw.delete(f"user:{uid}")
    mends_all(capsys)
    return raw.hget(f"user:{uid}", "state")


def test_a_lost_account_comes_back_with_what_staff_has_imposed(site, store, capsys):
    imposed = Sanctions(store).of(BOB)
    drain(store, "worker")
    site.delete("user:2")
    found = doctor_findings(capsys, "--fix")[0]
    assert found[LOST] == 1
    assert doctor_findings(capsys)[0] == {}
    assert Sanctions(store).of(BOB) == imposed
    drain(store, "worker")
    assert site.hget("user:2", "username") == "bob"
    assert Users(store).people([BOB]) == {}


def test_a_lost_account_comes_back_whole_after_doctor_was_killed(site, store, capsys):
    """A hash with a username alone looked as if nothing were lost: no sanction, no secret."""
    imposed = Sanctions(store).of(BOB)
    drain(store, "worker")
    before = everything(site)
    for moment in each_moment():
        site.flushall()
        write_all(site, before)
        site.delete("user:2")
        killed_before_write(moment, lambda: doctor_findings(capsys, "--fix"))
        make_due(site)  # no lease is held
        mends_all(capsys)
        assert Sanctions(store).of(BOB) == imposed
        assert site.hget("auths", site.hget("user:2", "auth")) == "2"


@pytest.mark.parametrize("state", [None, "banished"])
def test_a_damaged_state_is_written_again(site, store, capsys, state):
    imposed = Sanctions(store).of(BOB)
    drain(store, "worker")
    site.hdel("user:2", "state")
    if state is not None:
        site.hset("user:2", "state", state)
    mends_all(capsys)
    assert Sanctions(store).of(BOB) == imposed


@pytest.mark.parametrize(
    "end",
    [
        lambda store: Sanctions(store).lift(BOB),
        lambda store: Sanctions(store).decide_appeal(BOB, True, ALICE, "sorry"),
        lambda store: Roles(store).give(BOB, Role.ADMIN),
        lambda store: Sanctions(store).impose(BOB, State.FROZEN, "spam", until=LONG_AGO),
    ],
    ids=["lifted", "appeal granted", "an admin", "over"],
)
def test_what_has_ended_does_not_come_back_with_a_lost_account(site, store, capsys, end):
    end(store)
    drain(store, "worker")
    assert not _restored(site, capsys)


def test_the_last_sanction_of_several_comes_back(site, store, capsys):
    Sanctions(store).lift(BOB)
    time.sleep(0.002)  # acts of one millisecond have no order
    Sanctions(store).impose(BOB, State.HIDDEN, "again")
    drain(store, "worker")
    assert _restored(site, capsys) == State.HIDDEN


def test_who_was_an_admin_since_gets_no_sanction_back(site, store, capsys):
    """A new role lifts what is imposed, and no line of the log says that."""
    for role in (Role.ADMIN, Role.MEMBER):
        Roles(store).give(BOB, role)
    drain(store, "worker")
    assert not _restored(site, capsys)


@pytest.mark.parametrize("line", ["x", '{"a": 1}'])
@pytest.mark.parametrize("key", ["log:2026", "acts:2", "staff_notes:2"])
def test_a_line_that_tells_of_no_act_is_named_and_kept_elsewhere(site, store, admin, key, line, capsys):
    StaffNotes(store).add(BOB, ALICE, "a note")
    before = site.zrange(key, 0, -1, withscores=True)
    site.zadd(key, {line: 1.9e12})
    for page in ("/moderation/log/", "/moderation/people/bob/"):
        assert admin.get(page).status_code == 200
    finds_and_mends(capsys, {LINES.format(key.partition(":")[0]): 1})
    assert site.zrange(key, 0, -1, withscores=True) == before
    assert site.hgetall(f"damaged:{key}:values") == {line: "1900000000000.0"}


def test_a_line_with_a_field_of_a_newer_version_is_an_act_without_it(site, store, admin, capsys):
    """On the way back to this version, or while both run."""
    act = Act(what="frozen", whom=BOB, by=ALICE, reason="He shouts.")
    line = json.dumps({**act.fields(), "newer": "x"})
    for key in ("log:2026", "acts:2", "staff_notes:2"):
        site.zadd(key, {line: act.at})
    assert act in Log(store).about(BOB)
    assert "He shouts." in admin.get("/moderation/log/").content.decode()
    assert doctor_findings(capsys)[0] == {}


@pytest.mark.parametrize("key", [f"log:{time.gmtime().tm_year}", "acts:2"])
def test_a_line_gets_its_time_again(site, key, capsys):
    before = site.zrange(key, 0, -1, withscores=True)
    site.zadd(key, dict.fromkeys(site.zrange(key, 0, -1), "-5"))
    assert doctor_findings(capsys, "--fix")[0] == {LINES.format(key.partition(":")[0]): len(before)}
    assert site.zrange(key, 0, -1, withscores=True) == before


def test_what_is_no_state_has_no_repair(site, capsys):
    site.hset("user:3", "state", "banished")
    doctor_findings(capsys, "--fix")
    assert doctor_findings(capsys)[0] == {USERS: 1}


def test_roles_stay_in_the_hashes_of_users_when_staff_is_lost(site, store, capsys):
    Roles(store).give(3, Role.MODERATOR)
    site.delete("staff")
    told = complaints(capsys, "--fix")
    for name, role in (("Alice", "admin"), ("carol", "moderator")):
        assert f"To give it again: manage.py user role {name} {role}" in told
    assert (site.hget("user:1", "role"), site.hget("user:3", "role")) == ("admin", "moderator")
    assert Roles(store).staff() == {}
    for name, role in (("alice", "admin"), ("carol", "moderator")):
        call_command("role", name, role, verbosity=0)
    assert doctor_findings(capsys)[0] == {}
    assert Roles(store).staff() == {ALICE: Role.ADMIN, 3: Role.MODERATOR}


def test_a_person_whom_another_process_changes_stops_one_check_and_not_all(site, capsys):
    site.hset("user:1", "role", "moderator")
    site.zrem("users_by_time", "carol")
    site.set("lease:sanctions:1", "")
    assert f"could not run: {USERS}: another process is changing this: try again" in complaints(capsys, "--fix")
    assert site.zscore("users_by_time", "carol")
    site.delete("lease:sanctions:1")
    doctor_findings(capsys, "--fix")
    assert site.hget("user:1", "role") == "admin"


def test_what_is_no_role_in_staff_has_no_repair_and_the_role_of_the_user_stays(site, capsys):
    site.hset("staff", "1", "queen")
    assert doctor_findings(capsys, "--fix")[0] == {USERS: 1}
    assert (site.hget("staff", "1"), site.hget("user:1", "role")) == ("queen", "admin")
    call_command("role", "alice", "admin", verbosity=0)
    assert doctor_findings(capsys)[0] == {}


def test_an_appeal_against_nothing_is_an_orphan(site, store, capsys):
    site.zadd("appeals", {"3:abc": 1})
    assert doctor_findings(capsys)[1] == {"appeals against what is no longer imposed": 1}
    call_command("cleanup", verbosity=0)
    assert len(open_appeals(store)[0]) == site.zcard("appeals") == 1


def test_a_deleted_account_leaves_its_lines_in_the_log_alone(site, store, bob, capsys):
    Roles(store).give(3, Role.MODERATOR)
    delete_account(store, bob)
    drain(store, "worker")
    assert site.hgetall("user:2").keys() == {"username", "deleted"}
    assert not site.exists("acts:2")
    assert site.zcard("appeals") == 0
    assert BOB in {act.whom for act in Log(store).page()[0]}
    assert doctor_findings(capsys)[0] == {}


# ---- What `doctor` and `cleanup` find about applications and invitations, and that the repairs are right.


DAMAGED = "applications that cannot be read"
ANSWERS = "answers to applications that nothing carries out"
USES = "uses of invitations without an account"
REFUSALS = "refusals that are over"
ENDED = "invitations that have ended"
OWNERLESS = "invitations by users who are gone"
WITHOUT_EXPIRY = "temporary keys without an expiry"


@pytest.fixture
def joining_site(store, raw, alice, bob):
    """Dora asks to join. The operator's invitation has let bob in, alice has an open one."""
    Applications(store).apply("Dora", "argon2$hash", "why")
    made = Invitations(store).make(uses=2)
    Invitations(store).use(made, 2).done()
    Invitations(store).make(by=1)
    return raw


@pytest.fixture
def code(joining_site):
    [code] = joining_site.hkeys("invites:0")
    return code


def test_what_is_no_application_keeps_no_name(joining_site, capsys):
    joining_site.hset("applications", "erik", "{}")
    assert doctor_findings(capsys, "--fix")[0] == {DAMAGED: 1}
    assert joining_site.hkeys("applications") == ["dora"]
    assert joining_site.hgetall("damaged:applications:values") == {"erik": "{}"}


def test_an_application_with_a_field_of_a_newer_version_is_one_without_it(joining_site, store, capsys):
    stored = json.loads(joining_site.hget("applications", "dora"))
    joining_site.hset("applications", "dora", json.dumps({**stored, "newer": "x"}))
    assert [one.username for one in Applications(store).all()] == [stored["username"]]
    assert doctor_findings(capsys)[0] == {}


def test_an_answer_that_lost_its_job_is_carried_out(joining_site, store, capsys):
    [asked] = Applications(store).all()
    act = Act(what=APPROVED, by=1)
    joining_site.hset("applications", answer_of("dora", asked.at), act.line())
    finds_and_mends(capsys, {ANSWERS: 1})
    assert joining_site.hget("users", "dora") == "3"
    assert [one.id for one in Log(store).about(3)] == [act.id]
    assert not joining_site.exists("applications")


@pytest.mark.parametrize("field", ["answer:dora:1", "answer:dora", "answer:dora:x", "answer:gone:5", "answer:"])
@pytest.mark.parametrize("line", ["{}", Act(what=APPROVED, by=1).line()])
def test_an_answer_to_nothing_goes(joining_site, capsys, field, line):
    joining_site.hset("applications", field, line)
    assert doctor_findings(capsys, "--fix")[0] == {ANSWERS: 1}
    assert joining_site.hkeys("applications") == ["dora"]


def test_an_answer_with_a_job_is_no_finding(joining_site, store, capsys):
    [asked] = Applications(store).all()
    joining_site.hset("applications", answer_of("dora", asked.at), Act(what=APPROVED, by=1, id="abc").line())
    joining_site.zadd("outbox", {f"application:dora:{asked.at}:abc": int(time.time()) + 60})
    assert doctor_findings(capsys)[0] == {}


def test_a_use_without_an_account_is_given_back(joining_site, store, code, capsys):
    joining_site.zadd(uses_of(code), {"99": LONG_AGO})
    assert Invitations(store).open([0]) == []
    assert doctor_findings(capsys, "--fix")[0] == {USES: 1}
    assert joining_site.zrange(uses_of(code), 0, -1) == ["2"]
    assert Invitations(store).open([0])[0].left == 1


def test_a_use_of_a_deleted_account_stays_used(joining_site, store, code, bob, capsys):
    delete_account(store, bob)
    drain(store, "worker")
    assert doctor_findings(capsys) == ({}, {})
    assert Invitations(store).find(code).left == 1


def test_a_registration_under_way_keeps_its_use(joining_site, code, capsys):
    joining_site.zadd(uses_of(code), {"99": LONG_AGO})
    joining_site.zadd("outbox", {f"invited:99:{uses_of(code).removeprefix('uses:')}": int(time.time()) + 60})
    assert doctor_findings(capsys)[0] == {}


def test_what_is_over_is_an_orphan(joining_site, store, code, capsys):
    asked = json.loads(joining_site.hget("applications", "dora"))
    joining_site.hset("applications", "erik", json.dumps(asked | {"username": "erik", "refused": LONG_AGO}))
    joining_site.hset("invites:0", mapping={f"0-{LONG_AGO}-abc": "1", "nonsense": "1"})
    joining_site.set("next_user_id", 99)
    joining_site.hset("invites:99", "99-4000000000-abc", "1")
    joining_site.persist(uses_of(code))
    expected = {REFUSALS: 1, ENDED: 2, OWNERLESS: 1, WITHOUT_EXPIRY: 1}
    assert doctor_findings(capsys) == ({}, expected)
    call_command("cleanup", verbosity=0)
    assert joining_site.hkeys("applications") == ["dora"]
    assert joining_site.hkeys("invites:0") == [code]
    assert not joining_site.exists("invites:99")
    assert joining_site.ttl(uses_of(code)) > 0


def test_the_invitations_of_a_deleted_account_go(joining_site, store, alice, capsys):
    delete_account(store, alice)
    drain(store, "worker")
    assert not joining_site.exists("invites:1")
    joining_site.hset("invites:1", "1-4000000000-abc", "1")  # a late write
    assert doctor_findings(capsys) == ({}, {OWNERLESS: 1})


@pytest.mark.parametrize("key", ["invites:0", "invites:1"])
def test_a_number_of_uses_that_is_none_is_removed(joining_site, capsys, key):
    [code] = joining_site.hkeys(key)
    joining_site.hset(key, code, "many")
    assert doctor_findings(capsys, "--fix")[0] == {"values that are no id, number or text": 1}
    assert not joining_site.exists(key)


def test_no_uses_of_an_invitation_live_longer_than_the_key_table_says():
    assert keys.uses.lives == MOST_DAYS * A_DAY + USES_KEPT
