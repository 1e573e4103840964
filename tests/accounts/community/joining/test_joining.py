"""Who may join: everyone, with an approval, with an invitation, or nobody."""

import json
from io import StringIO

import pytest
from django.core.management import call_command

from accounts.joining.applications import Applications
from accounts.joining.invitations import Invitations
from accounts.joining.joining import Joining
from accounts.joining.refusals import NotInvited, TooManyInvitations
from accounts.users.entities import NameTaken
from retwis_site.store.local_cache import Memory

PASSWORD = "correct horse 9"
FORM = {"username": "dora", "password1": PASSWORD, "password2": PASSWORD}


@pytest.fixture
def staff(browser, alice, raw):
    raw.hset("staff", "1", "moderator")
    raw.hset("user:1", "role", "moderator")
    return browser(alice)


def mode(raw, value):
    raw.hset("site", "registration", value)
    Memory.clear_all()


@pytest.mark.parametrize("value", ["closed", "invite"])
def test_a_site_that_is_closed_or_needs_an_invitation_takes_no_registration(browser, raw, value):
    mode(raw, value)
    assert browser().get("/register/").status_code == 403
    assert browser().post("/register/", FORM).status_code == 403
    assert raw.exists("users") == 0


def test_an_invitation_lets_as_many_people_join_as_it_has_uses(browser, alice, raw, store):
    mode(raw, "invite")
    code = Invitations(store).make(by=1).code
    page = browser().get(f"/invited/{code}/").content.decode()
    assert f'name="code" value="{code}"' in page
    assert browser().post("/register/", {**FORM, "code": code}).status_code == 302
    assert raw.hget("user:2", "invited_by") == "1"
    assert raw.hget("invites:1", code) == "0"
    assert browser().post("/register/", {**FORM, "username": "erik", "code": code}).status_code == 403
    assert raw.hget("users", "erik") is None


def test_of_two_people_with_the_last_use_one_joins(store, raw):
    code = Invitations(store).make().code
    found = Invitations(store).use(code)
    raw.hset("invites:0", code, "0")
    with pytest.raises(NotInvited):
        Invitations(store).use(code)
    assert raw.hget("invites:0", code) == "0"
    Invitations(store).give_back(found)
    assert raw.hget("invites:0", code) == "1"


def test_a_registration_that_fails_gives_the_use_back(store, raw, alice, monkeypatch):
    code = Invitations(store).make().code
    monkeypatch.setattr("accounts.joining.joining.Users.find", lambda self, name: None)
    monkeypatch.setattr("accounts.joining.joining.check_name", lambda *args: None)
    with pytest.raises(NameTaken):
        Joining(store).join("invite", "alice", "hash", "", code)
    assert raw.hget("invites:0", code) == "1"


@pytest.mark.parametrize("code", ["", "x", "0-1-abc", "1-99999999999-abc", "0-99999999999-" + "a" * 99, "-1-2-3"])
def test_a_code_that_is_wrong_or_has_ended_opens_nothing(browser, store, raw, code):
    raw.hset("invites:0", "0-1-abc", "5")
    with pytest.raises(NotInvited):
        Invitations(store).use(code)


def test_a_member_makes_and_takes_back_invitations_within_the_quota(browser, alice, raw, store):
    raw.hset("site", "invites", "1")
    client = browser(alice)
    client.post("/settings/invites/")
    [one] = Invitations(store).of(1)
    assert one.code in client.get("/settings/invites/").content.decode()
    client.post("/settings/invites/")
    assert raw.hlen("invites:1") == 1
    with pytest.raises(TooManyInvitations):
        Invitations(store).make(by=1, quota=1)
    client.post("/settings/invites/", {"revoke": one.code})
    assert raw.exists("invites:1") == 0


def test_the_operator_gets_an_address(raw, store):
    output = StringIO()
    call_command("invite", "--uses", "3", stdout=output, stderr=StringIO())
    [one] = Invitations(store).of(0)
    assert output.getvalue().strip() == f"http://localhost:8000/invited/{one.code}/"
    assert one.left == 3


def test_an_applicant_waits_is_approved_and_logs_in(browser, staff, raw, store):
    mode(raw, "approval")
    assert browser().post("/register/", FORM).status_code == 422  # without a sentence why
    assert browser().post("/register/", {**FORM, "why": "I like <birds>"}).status_code == 302
    assert raw.hget("users", "dora") is None
    assert json.loads(raw.hget("applications", "dora"))["why"] == "I like <birds>"
    login = {"username": "Dora", "password": PASSWORD}
    assert "have not answered yet" in browser().post("/login/", login).content.decode()
    assert "Wrong username or password" in browser().post("/login/", {**login, "password": "x"}).content.decode()
    assert browser().post("/register/", {**FORM, "why": "Me too"}).status_code == 422
    assert "I like &lt;birds&gt;" in staff.get("/moderation/joining/").content.decode()
    staff.post("/moderation/joining/", {"username": "dora", "answer": "approve"})
    assert raw.hget("users", "dora") == "2"
    assert raw.exists("applications") == 0
    assert browser().post("/login/", login).status_code == 302


def test_a_refused_applicant_reads_the_reason(browser, staff, raw, store):
    mode(raw, "approval")
    browser().post("/register/", {**FORM, "why": "Because"})
    staff.post("/moderation/joining/", {"username": "dora", "answer": "refuse", "reason": "We are full."})
    answer = browser().post("/login/", {"username": "dora", "password": PASSWORD})
    assert "We are full." in answer.content.decode()
    assert Applications(store).all() == []


def test_an_approval_that_died_after_the_registration_is_finished_by_the_next_one(store, raw):
    Applications(store).apply("dora", "argon2$hash", "why")
    kept = raw.hget("applications", "dora")
    assert Applications(store).approve("dora")
    raw.hset("applications", "dora", kept)
    assert Applications(store).approve("dora")
    assert raw.exists("applications") == 0
    assert raw.hgetall("users") == {"dora": "1"}


def test_a_name_that_somebody_took_meanwhile_is_not_approved(store, raw, alice):
    Applications(store).apply("dora", "argon2$hash", "why")
    raw.hset("users", "dora", "1")
    assert not Applications(store).approve("dora")
    assert raw.exists("applications") == 0


def test_members_and_visitors_see_no_page_of_staff(browser, alice):
    for client in (browser(), browser(alice)):
        assert client.get("/moderation/joining/").status_code == 404
        assert client.get("/moderation/site/").status_code == 404
