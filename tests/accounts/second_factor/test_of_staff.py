"""What operators and staff do about second factors: the requirement for staff, the command, and the link."""

import pytest
from django.core.management import call_command

from accounts.community.acts import Roles
from accounts.community.log import Log
from accounts.recovery.codes import ResetLinks
from accounts.users.entities import Role
from tests.support.command_output import refuses, said
from tests.support.people import NEW_PASSWORD, PASSWORD, log_in
from tests.support.protocols.reports import BOB, report
from tests.support.stored_keys import publish
from tests.support.stores.seam import killed_before_round_trip

PAGES = ["/moderation/", "/moderation/joining/", "/moderation/site/", "/moderation/people/bob/"]
SECURITY = "/settings/security/"


def test_the_site_may_require_one_of_staff(browser, store, raw, alice, bob, app, round_trips):
    Roles(store).give(1, Role.ADMIN)
    client = browser(log_in(store))
    assert {client.get(url).status_code for url in PAGES} == {200}
    trips = len(round_trips(lambda: client.get(PAGES[0])).round_trips)
    call_command("site", "second_factor=staff", verbosity=0)
    for url in PAGES:
        assert client.get(url)["Location"] == client.post(url)["Location"] == SECURITY
    assert "moderators and admins" in client.get(SECURITY).content.decode()
    assert client.get("/people/").status_code == 200
    assert browser(bob).get(PAGES[0]).status_code == 404
    assert "This site asks" not in browser(bob).get(SECURITY).content.decode()
    app.add(store)
    assert {client.get(url).status_code for url in PAGES} == {200}
    assert len(round_trips(lambda: client.get(PAGES[0])).round_trips) == trips
    call_command("site", "second_factor=", verbosity=0)
    raw.delete("credentials:1")
    assert client.get(PAGES[0]).status_code == 200


def test_until_then_no_other_page_tells_what_only_staff_may_know(browser, store, raw, alice, bob, app):
    """Who has found out the password of a moderator learns nothing about reports."""
    Roles(store).give(1, Role.MODERATOR)
    post = publish(raw, store, bob, "Hello")
    report(store, 99, BOB, pid=post)
    client, told = browser(log_in(store)), ["Moderation (1)", "1 report<", "/moderation/people/bob/"]
    pages = ["/@bob/more/", f"/@bob/{post}/more/"]

    def said():
        return [[words in client.get(url).content.decode() for words in told] for url in pages]

    assert said() == [[True] * 3] * 2
    call_command("site", "second_factor=staff", verbosity=0)
    assert said() == [[False] * 3] * 2
    assert 'href="/moderation/"' in client.get("/").content.decode()  # leads to the page that says what is missing
    app.add(store)
    assert said() == [[True] * 3] * 2


def test_an_admin_requires_it_on_a_page_and_no_other_value_turns_it_off(browser, store, raw, alice):
    Roles(store).give(1, Role.ADMIN)
    client = browser(log_in(store))
    assert client.post("/moderation/site/", {"second_factor": "staff"}).status_code == 302
    assert raw.hget("site", "second_factor") == "staff"
    refuses("second_factor", "site", "second_factor=everyone")
    raw.hset("site", "second_factor", "everyone")  # as a later version may have it
    assert client.get(PAGES[0])["Location"] == SECURITY


def test_the_command_removes_all_factors(browser, store, raw, capsys, alice, alices_app, passkey):
    assert "The second factor is removed." in said(capsys, "user", "ALICE", "--remove-second-factor")
    assert raw.keys("credentials:*") == []
    assert "There is no second factor." in said(capsys, "user", "alice", "--remove-second-factor")
    assert [act.what for act in Log(store).about(1)] == ["factors:removed"]
    assert browser().post("/login/", {"username": "alice", "password": PASSWORD})["Location"] == "/"


@pytest.mark.parametrize("number", range(1, 9))
def test_a_removal_stands_in_the_log_wherever_the_command_was_killed(store, raw, alice, alices_app, number):
    def remove():
        call_command("user", "show", "alice", "--remove-second-factor", verbosity=0)

    killed_before_round_trip(number, remove)
    remove()
    assert raw.keys("credentials:*") == []
    assert {act.what for act in Log(store).about(1)} == {"factors:removed"}


def test_a_link_for_those_who_have_lost_everything_says_what_it_removes(browser, store, raw, alice, bob, alices_app):
    url = f"/reset/{ResetLinks(store).make(1)}/"
    assert "also removes the authenticator app" in browser().get(url).content.decode()
    assert raw.exists("credentials:1")
    browser().post(url, {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD})
    assert raw.keys("credentials:*") == []
    assert log_in(store, password=NEW_PASSWORD) is not None
    assert "also removes" not in browser().get(f"/reset/{ResetLinks(store).make(2)}/").content.decode()
