"""What `doctor` and `cleanup` find about applications and invitations, and that the repairs are right."""

import io
import json

import pytest
from django.core.management import call_command

from accounts.community.joining.answers import APPROVED, answer_of
from accounts.community.log import Act, Log
from accounts.joining.applications import Applications
from accounts.joining.invitations import DAY, KEPT, MOST_DAYS, Invitations, uses_of
from retwis_site.jobs.worker import drain
from retwis_site.store import keys
from tests.support.people import LONG_AGO
from tests.support.removed_accounts import delete_account, doctor_findings

DAMAGED = "applications that cannot be read"
ANSWERS = "answers to applications that nothing carries out"
USES = "uses of invitations without an account"
REFUSALS = "refusals that are over"
ENDED = "invitations that have ended"
OWNERLESS = "invitations by users who are gone"
WITHOUT_EXPIRY = "temporary keys without an expiry"


@pytest.fixture
def site(store, raw, alice, bob):
    """Dora asks to join. The operator's invitation has let bob in, alice has an open one."""
    Applications(store).apply("Dora", "argon2$hash", "why")
    made = Invitations(store).make(uses=2)
    Invitations(store).use(made, 2).done()
    Invitations(store).make(by=1)
    return raw


@pytest.fixture
def code(site):
    [code] = site.hkeys("invites:0")
    return code


def test_a_site_with_applications_and_invitations_is_sound(site, capsys):
    assert doctor_findings(capsys) == ({}, {})


def test_what_is_no_application_keeps_no_name(site, capsys):
    site.hset("applications", "erik", "{}")
    assert doctor_findings(capsys, "--fix")[0] == {DAMAGED: 1}
    assert site.hkeys("applications") == ["dora"]
    assert site.hgetall("damaged:applications:values") == {"erik": "{}"}


def test_an_answer_that_lost_its_job_is_carried_out(site, store, capsys):
    [asked] = Applications(store).all()
    act = Act(what=APPROVED, by=1)
    site.hset("applications", answer_of("dora", asked.at), act.line())
    assert doctor_findings(capsys, "--fix")[0] == {ANSWERS: 1}
    assert site.hget("users", "dora") == "3"
    assert [one.id for one in Log(store).about(3).acts] == [act.id]
    assert not site.exists("applications")
    assert doctor_findings(capsys)[0] == {}


@pytest.mark.parametrize("field", ["answer:dora:1", "answer:dora", "answer:dora:x", "answer:gone:5", "answer:"])
@pytest.mark.parametrize("line", ["{}", Act(what=APPROVED, by=1).line()])
def test_an_answer_to_nothing_goes(site, capsys, field, line):
    site.hset("applications", field, line)
    assert doctor_findings(capsys, "--fix")[0] == {ANSWERS: 1}
    assert site.hkeys("applications") == ["dora"]


def test_an_answer_with_a_job_is_no_finding(site, store, capsys):
    [asked] = Applications(store).all()
    site.hset("applications", answer_of("dora", asked.at), Act(what=APPROVED, by=1, id="abc").line())
    site.zadd("outbox", {f"application:dora:{asked.at}:abc": 4_000_000_000})
    assert doctor_findings(capsys)[0] == {}


def test_a_use_without_an_account_is_given_back(site, store, code, capsys):
    site.zadd(uses_of(code), {"99": LONG_AGO})
    assert Invitations(store).of(0) == []
    assert doctor_findings(capsys, "--fix")[0] == {USES: 1}
    assert site.zrange(uses_of(code), 0, -1) == ["2"]
    assert Invitations(store).of(0)[0].left == 1


def test_a_use_of_a_deleted_account_stays_used(site, store, code, bob, capsys):
    delete_account(store, bob)
    drain(store, "worker")
    assert doctor_findings(capsys) == ({}, {})
    assert Invitations(store).find(code).left == 1


def test_a_registration_under_way_keeps_its_use(site, code, capsys):
    site.zadd(uses_of(code), {"99": LONG_AGO})
    site.zadd("outbox", {f"invited:99:{uses_of(code).removeprefix('uses:')}": 4_000_000_000})
    assert doctor_findings(capsys)[0] == {}


def test_what_is_over_is_an_orphan(site, store, code, capsys):
    asked = json.loads(site.hget("applications", "dora"))
    site.hset("applications", "erik", json.dumps(asked | {"username": "erik", "refused": LONG_AGO}))
    site.hset("invites:0", mapping={f"0-{LONG_AGO}-abc": "1", "nonsense": "1"})
    site.hset("invites:99", "99-4000000000-abc", "1")
    site.persist(uses_of(code))
    expected = {REFUSALS: 1, ENDED: 2, OWNERLESS: 1, WITHOUT_EXPIRY: 1}
    assert doctor_findings(capsys) == ({}, expected)
    call_command("cleanup", stdout=io.StringIO())
    assert site.hkeys("applications") == ["dora"]
    assert site.hkeys("invites:0") == [code]
    assert not site.exists("invites:99")
    assert site.ttl(uses_of(code)) > 0


def test_the_invitations_of_a_deleted_account_go(site, store, alice, capsys):
    delete_account(store, alice)
    drain(store, "worker")
    assert not site.exists("invites:1")
    site.hset("invites:1", "1-4000000000-abc", "1")  # a late write
    assert doctor_findings(capsys) == ({}, {OWNERLESS: 1})


@pytest.mark.parametrize("key", ["invites:0", "invites:1"])
def test_a_number_of_uses_that_is_none_is_removed(site, capsys, key):
    [code] = site.hkeys(key)
    site.hset(key, code, "many")
    assert doctor_findings(capsys, "--fix")[0] == {"values that are no id, number or text": 1}
    assert not site.exists(key)


def test_no_uses_of_an_invitation_live_longer_than_the_key_table_says():
    assert keys.uses.lives == MOST_DAYS * DAY + KEPT
