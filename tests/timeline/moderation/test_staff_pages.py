"""The pages of staff: reports are decided, appeals are answered, and for all others they do not exist."""

import re

import pytest

from accounts.community.roles import Roles
from accounts.community.sanctions import Appeal, Sanctions
from accounts.users.entities import Role, State
from tests.support.people import NEW_PASSWORD, log_in, register
from tests.support.protocols.reports import ALICE, BOB, CAROL, make_moderator, report
from tests.support.stored_keys import publish
from tests.support.stored_posts import write_posts


@pytest.fixture
def site(store, raw, alice, bob, carol):
    """carol is a moderator; alice has reported bob's post."""
    publish(raw, store, bob, "Buy!")
    make_moderator(store, CAROL)
    return report(store, ALICE, BOB, 1)


def test_a_report_is_decided_and_the_reporter_reads_it(browser, site, alice, bob, carol, store):
    staff = browser(carol)
    assert "A post by @bob" in staff.get("/moderation/").content.decode()
    address = f"/moderation/reports/{site.rid}/"
    assert "Buy!" in staff.get(address).content.decode()
    assert staff.post(address, {"action": "frozen", "days": "7"}).status_code == 422
    assert staff.post(address, {"action": "frozen", "days": "7", "reason": "Ads"})["Location"] == "/moderation/"
    assert staff.post(address, {"action": "dismissed", "reason": "No"}).status_code == 422  # it is decided
    assert "The moderators have acted" in browser(alice).get("/notifications/").content.decode()
    Sanctions(store).appeal(BOB, "It was no ad")
    assert "It was no ad" in staff.get("/moderation/").content.decode()
    staff.post("/moderation/people/bob/", {"act": "grant", "reason": "Right"})
    assert Sanctions(store).of(BOB) is None
    assert "Appeal granted" in staff.get("/moderation/log/").content.decode()


@pytest.mark.parametrize("address", ["", "reports/1/", "people/", "people/bob/", "log/"])
def test_for_others_the_pages_do_not_exist(browser, site, alice, address):
    assert browser(alice).get(f"/moderation/{address}").status_code == 404
    assert browser().get(f"/moderation/{address}").status_code == 404


def test_only_staff_has_the_link_to_moderation(browser, site, alice, carol):
    link = 'href="/moderation/"'
    assert link in browser(carol).get("/").content.decode()
    assert link not in browser(alice).get("/").content.decode()


def test_staff_finds_a_person_also_a_suspended_one(browser, site, carol, store):
    Sanctions(store).impose(BOB, State.SUSPENDED, "Ads")
    staff = browser(carol)
    assert staff.get("/moderation/people/?q=@bob")["Location"] == "/moderation/people/bob/"
    assert '"/moderation/people/Alice/"' in staff.get("/moderation/people/?q=ali").content.decode()
    assert "No one has this name" in staff.get("/moderation/people/?q=mallory").content.decode()
    assert "Account suspended" in staff.get("/moderation/people/bob/").content.decode()


def test_the_page_of_a_person_has_posts_sessions_and_invitations_also_of_a_suspended_one(
    browser, site, carol, store, raw
):
    raw.hset("user:2", "invited_by", 1)
    raw.hset("user:3", "invited_by", 2)
    log_in(store, "bob")
    write_posts(raw, 2, range(2, 13))
    Sanctions(store).impose(BOB, State.SUSPENDED, "Ads")
    staff = browser(carol)
    page = staff.get("/moderation/people/bob/").content.decode()
    assert "1 session<" in page
    assert 'invited by <a href="/moderation/people/Alice/">@Alice</a>' in page
    assert 'Invited recently: <a href="/moderation/people/carol/">' in page
    assert re.findall(r'href="/@bob/(\d+)/"', page) == [str(pid) for pid in range(12, 2, -1)]
    assert 'href="?before=3"' in page
    older = staff.get("/moderation/people/bob/?before=3").content.decode()
    assert re.findall(r'href="/@bob/(\d+)/"', older) == ["2", "1"]
    assert "Buy!" in older
    raw.hset("user:2", "invited_by", 0)
    assert "invited by the people who run this site" in staff.get("/moderation/people/bob/").content.decode()


def test_older_appeals_have_a_page_and_none_of_one_second_is_left_out(browser, site, carol, store, raw):
    people = [register(store, f"person{number}").user for number in range(23)]
    for number, user in enumerate(people):
        act = f"{number:012x}"
        appeal = Appeal(user.uid, act, f"appeal <{number}>", 1000 if 2 <= number <= 4 else 1000 + number)
        raw.hset(f"user:{user.uid}", mapping={"state": "frozen", "state_act": act, "appeal": appeal.stored()})
        raw.zadd("appeals", {appeal.member: appeal.at})
    staff = browser(carol)
    first = staff.get("/moderation/").content.decode()
    [address] = re.findall(r'href="(\?appealed_before=\d+)"', first)
    second = staff.get(f"/moderation/{address}").content.decode()
    texts = [re.findall(r"appeal &lt;(\d+)&gt;", page) for page in (first, second)]
    assert len(texts[0]) >= 20
    assert sorted(int(number) for page in texts for number in page) == list(range(23))
    assert "appealed_before" not in second
    assert "A post by" not in second


def test_staff_imposes_and_lifts_a_sanction_without_a_report(browser, site, carol, store, raw):
    staff = browser(carol)
    address = "/moderation/people/bob/"
    assert staff.post(address, {"act": "sanction", "action": "hidden", "days": "1"}).status_code == 422
    assert raw.hget("user:2", "state") is None
    staff.post(address, {"act": "sanction", "action": "hidden", "days": "1", "reason": "Ads"})
    assert raw.hget("user:2", "state") == "hidden"
    assert int(raw.hget("user:2", "state_until")) > 0
    staff.post(address, {"act": "lift", "reason": "Enough"})
    assert Sanctions(store).of(BOB) is None
    assert "Sanction lifted" in staff.get(address).content.decode()


def test_a_link_for_a_new_password_works_once_and_is_in_the_log(browser, site, carol):
    staff = browser(carol)
    answer = staff.post("/moderation/people/bob/", {"act": "link", "reason": "Met in person"})
    assert "no-store" in answer["Cache-Control"]
    link = re.search(r"http://testserver(/reset/[^/]+/)", answer.content.decode())[1]
    new = {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    assert browser().post(link, new).status_code == 302
    assert browser().post(link, new).status_code != 302
    assert "Password reset link created" in staff.get("/moderation/log/").content.decode()


@pytest.mark.parametrize("act", ["sanction", "lift", "grant", "link"])
def test_a_moderator_does_nothing_about_an_admin(browser, site, alice, carol, store, raw, act):
    Roles(store).give(ALICE, Role.ADMIN)
    before = raw.hgetall("user:1")
    form = {"act": act, "action": "frozen", "reason": "No"}
    assert browser(carol).post("/moderation/people/alice/", form).status_code == 422
    assert raw.hgetall("user:1") == before
    assert raw.keys("reset:*") == []
