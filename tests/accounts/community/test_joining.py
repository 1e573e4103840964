"""Who may join: everyone, with an approval, with an invitation, or nobody."""

import json
import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from accounts.community.acts import Answers
from accounts.community.log import Log
from accounts.community.sanctions import Sanctions
from accounts.joining import joining
from accounts.joining.joining import (
    Application,
    Applications,
    Invitations,
    Joining,
    NotInvited,
    TooManyInvitations,
    TooManyWait,
    new_token,
    stored_application,
)
from accounts.users.entities import NameTaken, State
from retwis_site.identity import MODES
from retwis_site.store.client import Result
from retwis_site.store.local_cache import Memory
from tests.support.http.page_text import page_of
from tests.support.people import PASSWORD as MEMBERS_PASSWORD, register
from tests.support.stored_keys import noted

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


@pytest.mark.parametrize("value", MODES)
@pytest.mark.parametrize("address", ["/", "/timeline/", "/people/", "/login/", "/about/"])
def test_pages_offer_to_register_where_that_needs_no_invitation(browser, raw, value, address):
    mode(raw, value)
    page = browser().get(address).content.decode()
    assert ('href="/register/"' in page) is (value in ("open", "approval"))
    assert 'href="/login/"' in page


def test_an_invitation_lets_as_many_people_join_as_it_has_uses(browser, alice, raw, store):
    mode(raw, "invite")
    code = Invitations(store).make(by=1).code
    page = browser().get(f"/invited/{code}/").content.decode()
    assert f'name="code" value="{code}"' in page
    assert "<bdi>@Alice</bdi> invites you to Retwis." in page
    assert "Retwis is a small open microblog" in page.partition("<form")[0]
    mistaken = browser().post("/register/", {**FORM, "password2": "", "code": code})
    assert "<bdi>@Alice</bdi> invites you to Retwis." in mistaken.content.decode()
    of_operator = Invitations(store).make().code
    assert "The people who run Retwis invite you." in browser().get(f"/invited/{of_operator}/").content.decode()
    assert browser().post("/register/", {**FORM, "code": code}).status_code == 302
    assert raw.hget("user:2", "invited_by") == "1"
    assert [raw.zrange(key, 0, -1) for key in raw.keys("uses:*")] == [["2"]]
    assert [job for job in raw.zrange("outbox", 0, -1) if job.startswith("invited:")] == []
    assert browser().post("/register/", {**FORM, "username": "erik", "code": code}).status_code == 403
    assert raw.hget("users", "erik") is None


@pytest.mark.parametrize(("value", "lands"), [("open", "/first-steps/"), ("approval", "/login/")])
def test_where_nobody_needs_an_invitation_the_link_of_one_that_has_ended_leads_to_the_form(
    browser, raw, store, value, lands
):
    mode(raw, value)
    made = Invitations(store).make()
    Invitations(store).use(made, 9)
    page = page_of(browser().get(f"/invited/{made.code}/"))
    assert "invite you" not in page
    assert ('name="why"' in page) == (value == "approval")
    answer = browser().post("/register/", {**FORM, "code": made.code, "why": "I like gardens"})
    assert answer["Location"] == lands
    assert raw.hget("user:1", "invited_by") is None
    assert raw.hexists("applications", "dora") == (value == "approval")
    assert [raw.zrange(key, 0, -1) for key in raw.keys("uses:*")] == [["9"]]


def test_of_two_people_with_the_last_use_one_joins(store, raw):
    made = Invitations(store).make()
    use = Invitations(store).use(made, 5)
    with pytest.raises(NotInvited):
        Invitations(store).use(made, 6)
    [key] = raw.keys("uses:*")
    assert made.code not in key
    assert raw.zrange(key, 0, -1) == ["5"]
    assert 14 * 24 * 3600 < raw.ttl(key) <= 15 * 24 * 3600
    Invitations(store).give_back(use, made, 5)
    Invitations(store).use(made, 6)
    assert raw.zrange(key, 0, -1) == ["6"]


def test_an_invitation_by_a_suspended_or_deleted_member_opens_nothing(store, raw, alice):
    code = Invitations(store).make(by=1).code
    assert Invitations(store).find(code).left == 1
    for field, value in (("state", "suspended"), ("deleted", "5")):
        raw.hset("user:1", field, value)
        with pytest.raises(NotInvited):
            Invitations(store).find(code)
        raw.hdel("user:1", field)


@pytest.mark.parametrize("gone", [{"state": "suspended"}, {"deleted": "5"}])
def test_staff_sees_who_has_invited_somebody_also_when_the_inviter_is_suspended_or_deleted(
    staff, bob, carol, raw, gone
):
    raw.hset("user:3", "invited_by", "2")
    raw.hset("user:2", mapping=gone)
    page = staff.get("/moderation/joining/").content.decode()
    assert 'invited by <a href="/moderation/people/bob/">@bob</a>' in page
    raw.hset("user:3", "invited_by", "0")
    assert "invited by the people who run this site" in staff.get("/moderation/joining/").content.decode()


def test_nobody_takes_back_the_invitation_of_another_member(browser, alice, bob, raw, store):
    made = Invitations(store).make(by=2)
    Invitations(store).use(made, 9)
    browser(alice).post("/settings/invites/", {"revoke": made.code})
    assert raw.hget("invites:2", made.code) == "1"
    assert len(raw.keys("uses:*")) == 1


def test_a_registration_that_fails_gives_the_use_back(store, raw, alice, monkeypatch):
    code = Invitations(store).make().code
    monkeypatch.setattr("accounts.joining.joining.Users.find", lambda self, name: None)
    monkeypatch.setattr("accounts.users.accounts.ask_owner", lambda pipe, name: Result(lambda: None))
    monkeypatch.setattr("accounts.joining.joining.check_name", lambda *args: None)
    with pytest.raises(NameTaken):
        Joining(store).join("invite", "alice", "hash", "", code)
    assert raw.hget("invites:0", code) == "1"
    assert raw.keys("uses:*") == []


@pytest.mark.parametrize("code", ["", "x", "0-1-abc", "1-99999999999-abc", "0-99999999999-" + "a" * 99, "-1-2-3"])
def test_a_code_that_is_wrong_or_has_ended_opens_nothing(browser, store, raw, code):
    raw.hset("invites:0", "0-1-abc", "5")
    with pytest.raises(NotInvited):
        Invitations(store).find(code)


def test_a_member_makes_and_takes_back_invitations_within_the_quota(member, raw, store):
    raw.hset("site", "invites", "1")
    member.post("/settings/invites/")
    [one] = Invitations(store).open([1])
    assert one.code in member.get("/settings/invites/").content.decode()
    member.post("/settings/invites/")
    assert raw.hlen("invites:1") == 1
    with pytest.raises(TooManyInvitations):
        Invitations(store).make_within(1, 1, new_token())
    member.post("/settings/invites/", {"revoke": one.code})
    assert raw.exists("invites:1") == 0


def test_on_a_closed_site_nobody_makes_an_invitation_that_lets_nobody_in(member, raw, store):
    made = Invitations(store).make(by=1)
    before = raw.hgetall("invites:1")
    mode(raw, "closed")
    page = member.get("/settings/invites/").content.decode()
    assert "Nobody can join this site at the moment." in page
    assert "Create an invitation" not in page
    refused = member.post("/settings/invites/", {"token": new_token()}, follow=True).content.decode()
    assert "Nobody can join this site at the moment." in refused
    assert "was created" not in refused
    assert raw.hgetall("invites:1") == before
    member.post("/settings/invites/", {"revoke": made.code})
    assert raw.exists("invites:1") == 0


def test_a_form_that_is_sent_again_makes_no_second_invitation(member, raw, store, monkeypatch):
    raw.hset("site", "invites", "2")
    [token] = re.findall(r'name="token" value="(\w+)"', member.get("/settings/invites/").content.decode())
    member.post("/settings/invites/", {"token": token})
    [first] = raw.hkeys("invites:1")
    monkeypatch.setattr(joining, "DAYS", 15)  # a second later the end is another one
    for _ in range(2):
        assert "was created" in member.post("/settings/invites/", {"token": token}, follow=True).content.decode()
    assert raw.hkeys("invites:1") == [first]
    Invitations(store).use(Invitations(store).find(first), 7)
    member.post("/settings/invites/", {"token": token})  # such as after Back: nobody else can use the first one
    [second] = {*raw.hkeys("invites:1")} - {first}
    Invitations(store).revoke(1, first)
    assert [one.code for one in Invitations(store).open([1])] == [second]
    member.post("/settings/invites/", {"token": "<" * 16})
    assert raw.hlen("invites:1") == 2
    member.post("/settings/invites/", {"token": token})
    assert raw.hlen("invites:1") == 2


def test_the_operator_gets_an_address(raw, store):
    output, beside = StringIO(), StringIO()
    call_command("invite", "--uses", "3", stdout=output, stderr=beside)
    [one] = Invitations(store).open([0])
    assert output.getvalue().strip() == f"http://localhost:8000/invited/{one.code}/"
    assert one.left == 3
    assert "closed" not in beside.getvalue()
    mode(raw, "closed")
    call_command("invite", stdout=output, stderr=beside)
    assert "Nobody can join by it while the site is closed." in beside.getvalue()


@pytest.mark.parametrize(("by", "state"), [(0, ""), (1, ""), (1, "suspended")])
def test_the_operator_revokes_an_invitation_by_its_address(raw, store, alice, by, state):
    made = Invitations(store).make(by, uses=100)
    Invitations(store).use(made, 9)
    raw.hset("user:1", "state", state)  # its invitations count again when the suspension ends
    call_command("invite", "--revoke", f"http://localhost:8000/invited/{made.code}/", verbosity=0)
    assert (raw.exists(f"invites:{by}"), raw.keys("uses:*")) == (0, [])
    with pytest.raises(CommandError):
        call_command("invite", "--revoke", made.code, verbosity=0)


def test_an_applicant_waits_is_approved_and_logs_in(browser, staff, raw, store):
    assert "You only need a username and a password." in page_of(browser().get("/register/"))
    mode(raw, "approval")
    page = page_of(browser().get("/register/"))
    assert "Anyone can ask to join. The people who run this site decide." in page
    assert "You only need" not in page
    assert browser().post("/register/", FORM).status_code == 422  # without a sentence why
    assert browser().post("/register/", {**FORM, "why": "I like <birds>"}).status_code == 302
    assert raw.hget("users", "dora") is None
    assert json.loads(raw.hget("applications", "dora"))["why"] == "I like <birds>"
    login = {"username": "Dora", "password": PASSWORD}
    assert "have not answered yet" in browser().post("/login/", login).content.decode()
    assert "Wrong username or password" in browser().post("/login/", {**login, "password": "x"}).content.decode()
    assert browser().post("/register/", {**FORM, "why": "Me too"}).status_code == 422
    assert "I like &lt;birds&gt;" in staff.get("/moderation/joining/").content.decode()
    assert staff.post("/moderation/joining/", {"username": "dora", "answer": "approve"}).status_code == 422
    at = json.loads(raw.hget("applications", "dora"))["at"]
    staff.post("/moderation/joining/", {"username": "dora", "at": at, "answer": "approve"})
    assert raw.hget("users", "dora") == "2"
    assert raw.exists("applications") == 0
    assert browser().post("/login/", login).status_code == 302


def test_who_was_approved_comes_to_the_first_steps_until_home_has_shown_a_post(browser, raw, store):
    mode(raw, "approval")
    browser().post("/register/", {**FORM, "why": "I like birds"})
    Answers(store).approve("dora", Applications(store).find("dora").at, by=0)
    login, dora = {"username": "dora", "password": PASSWORD}, browser()
    assert dora.post("/login/", {**login, "next": "/"})["Location"] == "/first-steps/"
    assert "After you save, you get recovery codes" in page_of(dora.get("/first-steps/"))
    assert browser().post("/login/", {**login, "next": "/people/"})["Location"] == "/first-steps/?next=%2Fpeople%2F"
    dora.post("/post/", {"body": "Birds!"})
    assert "Birds!" in page_of(dora.get("/"))
    assert raw.hexists("user:1", "seen")
    assert browser().post("/login/", login)["Location"] == "/"


def test_who_was_frozen_after_the_approval_comes_home(browser, raw, store):
    """The first steps would be a 403: a form that they may not send."""
    mode(raw, "approval")
    browser().post("/register/", {**FORM, "why": "I like birds"})
    Answers(store).approve("dora", Applications(store).find("dora").at, by=0)
    Sanctions(store).impose(1, State.FROZEN, "Spam")
    dora = browser()
    assert dora.post("/login/", {"username": "dora", "password": PASSWORD})["Location"] == "/"
    assert "Your account is frozen" in page_of(dora.get("/"))
    Sanctions(store).lift(1)
    assert browser().post("/login/", {"username": "dora", "password": PASSWORD})["Location"] == "/first-steps/"


def test_a_refused_applicant_reads_the_reason(browser, staff, raw, store):
    mode(raw, "approval")
    browser().post("/register/", {**FORM, "why": "Because"})
    at = Applications(store).all()[0].at
    staff.post("/moderation/joining/", {"username": "dora", "at": at, "answer": "refuse", "reason": "We are full."})
    answer = browser().post("/login/", {"username": "dora", "password": PASSWORD})
    assert "We are full." in answer.content.decode()
    assert Applications(store).all() == []


def test_an_answer_is_about_the_application_that_was_read(store, raw):
    Applications(store).apply("dora", "argon2$hash", "why")
    [asked] = Applications(store).all()
    assert not Answers(store).approve("dora", asked.at - 1, 1)
    assert not Answers(store).approve(f"answer:dora:{asked.at}", asked.at, 1)
    assert raw.hkeys("applications") == ["dora"]
    assert noted(raw) == []


def test_a_name_that_somebody_took_meanwhile_is_not_approved(store, raw, alice):
    Applications(store).apply("dora", "argon2$hash", "why")
    raw.hset("users", "dora", "1")
    assert not Answers(store).approve("dora", Applications(store).all()[0].at, 1)
    [act] = Log(store).page()[0]
    assert (act.what, act.by, act.whom, act.reason) == ("joining:taken", 1, 0, "@dora")
    assert (raw.hkeys("applications"), raw.exists("applicants")) == (["dora"], 0)
    assert json.loads(raw.hget("applications", "dora"))["refused"] == act.when


def test_of_two_applicants_whose_names_look_alike_one_is_approved(store, raw):
    for name in ("Illia", "lIlia"):
        assert Joining(store).join("approval", name, "argon2$hash", "why", "") is None
    first, second = Applications(store).all()
    assert Answers(store).approve(first.username, first.at, 1)
    assert not Answers(store).approve(second.username, second.at, 1)
    assert (raw.hlen("users"), raw.keys("user:*"), raw.exists("applicants")) == (1, ["user:1"], 0)
    assert {(act.what, act.whom, act.reason) for act in Log(store).page()[0]} == {
        ("joining:approved", 1, ""), ("joining:taken", 0, f"@{second.username}")
    }  # fmt: skip
    assert noted(raw) == []


def test_an_applicant_whose_name_somebody_else_got_reads_so_at_the_login(browser, staff, raw, store):
    mode(raw, "approval")
    for name in ("Illia", "lIlia"):
        browser().post("/register/", {**FORM, "username": name, "why": "Because"})
    for one in Applications(store).all():
        staff.post("/moderation/joining/", {"username": one.username, "at": one.at, "answer": "approve"})
    [left] = [json.loads(text) for text in raw.hvals("applications")]
    for language, words in (("en", "Ask again with another name."), ("de", "Frag mit einem anderen Namen")):
        client = browser()
        client.cookies["language"] = language
        answer = client.post("/login/", {"username": left["username"], "password": PASSWORD}).content.decode()
        assert words in answer
    log = staff.get("/moderation/log/").content.decode()
    assert "Application refused: the name is taken" in log
    assert f"@{left['username']}" in log


def test_an_applicant_whose_name_became_an_account_reads_so_with_the_own_password_alone(browser, raw, store):
    mode(raw, "approval")
    browser().post("/register/", {**FORM, "why": "Because"})
    register(store, "DORA")
    login = {"username": FORM["username"]}
    told = browser().post("/login/", {**login, "password": PASSWORD}).content.decode()
    assert "Someone else has this name" in told
    assert "Wrong username or password" not in told
    other = browser().post("/login/", {**login, "password": "x"}).content.decode()
    assert "Wrong username or password" in other
    assert "Someone else" not in other
    owner = browser()
    assert owner.post("/login/", {**login, "password": MEMBERS_PASSWORD}).status_code == 302
    confirmed = owner.post("/settings/password/", {"password": PASSWORD, "password1": "a", "password2": "a"})
    assert confirmed.status_code == 422
    assert "Wrong password." in confirmed.content.decode()
    assert raw.hexists("applications", FORM["username"].lower())


def test_an_answer_is_in_the_log_and_an_approval_names_the_account_by_its_id(store, raw, alice):
    for name in ("dora", "erik"):
        Applications(store).apply(name, "argon2$hash", "why")
    at = {one.username: one.at for one in Applications(store).all()}
    assert Answers(store).approve("dora", at["dora"], by=1)
    assert Answers(store).refuse("erik", at["erik"], by=1, reason="We are full.")
    approved, refused = sorted(Log(store).page()[0], key=lambda act: act.what)  # both perhaps in one millisecond
    assert (approved.what, approved.whom, approved.by, approved.reason) == ("joining:approved", 2, 1, "")
    assert (refused.what, refused.whom, refused.by, refused.reason) == ("joining:refused", 0, 1, "@erik We are full.")
    assert [act.what for act in Log(store).about(2)] == ["joining:approved"]
    assert raw.hkeys("applications") == ["erik"]


def test_a_name_is_free_again_when_its_refusal_is_over(store, raw):
    Applications(store).apply("dora", "argon2$hash", "why")
    Answers(store).refuse("dora", Applications(store).all()[0].at, 1, "")
    assert Applications(store).is_reserved("dora")
    refused = json.loads(raw.hget("applications", "dora"))
    raw.hset("applications", "dora", json.dumps(refused | {"refused": 1}))
    assert not Applications(store).is_reserved("dora")
    Applications(store).apply("dora", "argon2$other", "again")
    assert [one.why for one in Applications(store).all()] == ["again"]


def test_many_refusals_keep_nobody_from_applying(store, raw, monkeypatch):
    monkeypatch.setattr("accounts.joining.joining.MOST_WAITING", 3)
    for number in range(5):
        Applications(store).apply(f"dora{number}", "argon2$hash", "why")
        Answers(store).refuse(f"dora{number}", Applications(store).all()[0].at, 1, "")
    assert raw.hlen("applications") == 4
    for number in range(3):
        Applications(store).apply(f"erik{number}", "argon2$hash", "why")
    with pytest.raises(TooManyWait):
        Applications(store).apply("erik3", "argon2$hash", "why")


def test_many_applications_have_pages_and_an_answer_stays_on_its_own(staff, store, raw):
    names = [f"dora{number:03}" for number in range(120)]
    for place, name in enumerate(names):  # one second has more of them than a page
        one = Application(name, "argon2$hash", "why", 7 if place < 110 else 8)
        raw.hset("applications", name, stored_application(one))
    pages, address = [], "/moderation/joining/"
    while address:
        page = page_of(staff.get(address))
        pages.append(re.findall(r'name="username" value="(\w+)"', page))
        assert page.count(f'action="{address}"') == len(pages[-1])
        assert "Joined by invitation" in page
        further = re.findall(r'href="([?]after=[^"]+)"', page)
        address = f"/moderation/joining/{further[0]}" if further else ""
    assert [len(page) for page in pages] == [50, 50, 20]
    assert [name for page in pages for name in page] == names
    address = "/moderation/joining/?after=7-dora099"
    answered = staff.post(address, {"username": "dora105", "at": 7, "answer": "refuse", "reason": "No"})
    assert answered["Location"] == address
    page = page_of(staff.get(address))
    assert "The application of @dora105 was refused." in page
    assert re.findall(r'name="username" value="(\w+)"', page) == [*names[100:105], *names[106:]]
    assert 'value="dora000"' in page_of(staff.get("/moderation/joining/?after=9-"))  # all below were answered
    assert 'value="dora000"' in page_of(staff.get("/moderation/joining/?after=nonsense"))


def test_an_application_that_finds_no_room_counts_for_the_limit_since_it_costs_a_hash(browser, raw, monkeypatch):
    monkeypatch.setattr("accounts.joining.joining.MOST_WAITING", 0)
    mode(raw, "approval")
    assert browser().post("/register/", FORM | {"why": "birds"}).status_code == 422
    [key] = raw.keys("throttle:*")
    assert raw.zcard(key) == 1
    assert browser().post("/register/", FORM | {"why": "birds", "username": "admin"}).status_code == 422
    assert raw.zcard(key) == 1


def test_members_and_visitors_see_no_page_of_staff(browser, alice):
    for client in (browser(), browser(alice)):
        assert client.get("/moderation/joining/").status_code == 404
        assert client.get("/moderation/site/").status_code == 404
