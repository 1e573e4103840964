"""Deleting an account on the site: the form, what is gone at once, and what stays.

tests/accounts/users/test_removal.py tests what a worker removes afterwards.
"""

import pytest
from django.conf import settings
from django.contrib.auth.hashers import is_password_usable

from accounts.signing_in.passwords import LOGINS, login_subject
from retwis_site.jobs.worker import drain
from tests.support.command_output import refuses
from tests.support.http.page_text import page_of
from tests.support.people import NEW_PASSWORD, PASSWORD
from tests.support.stored_keys import everything, name_entries, noted, publish
from timeline.posts.composer import DRAFT_COOKIE
from timeline.relations.relations import Follows
from timeline.timelines.html import LAST_READ_COOKIE

URL = "/settings/delete/"
FORM = {"password": PASSWORD}
DELETED_MESSAGE = "Your account was deleted."
GONE_MESSAGE = "This account was deleted."


def test_the_page_says_what_happens_and_asks_for_the_password(browser, alice, raw):
    before = everything(raw)
    page = page_of(browser(alice).get(URL))
    assert "This cannot be undone." in page
    assert "The username <bdi>Alice</bdi> stays taken" in page
    assert 'action="/settings/delete/"' in page
    assert 'type="password" name="password"' in page
    assert 'href="/settings/download/"' in page
    assert everything(raw) == before


@pytest.mark.parametrize("form", [{}, {"password": ""}, {"password": "wrong"}, {"password": "x" * 129}])
def test_the_present_password_is_required(browser, alice, raw, settings, form):
    settings.THROTTLE = False
    before = everything(raw)
    assert 'class="errorlist"' in page_of(browser(alice).post(URL, form), 422)
    assert everything(raw) == before
    assert 'action="/logout/"' in page_of(browser(alice).get("/timeline/"))


def test_a_wrong_password_counts_like_one_at_the_login(browser, store, alice, raw):
    subject = login_subject("Alice", "127.0.0.1")
    browser(alice).post(URL, {"password": "wrong"})
    assert raw.zcard(f"throttle:login:{subject}") == 1
    for _ in range(LOGINS.times - 1):
        LOGINS.count(store, subject)
    assert browser(alice).post(URL, FORM).status_code == 429
    assert not raw.hexists("user:1", "deleted")


def test_a_deletion_ends_every_session_at_once_and_keeps_the_name_alone(browser, alice, raw):
    raw.hset("user:1", mapping={"name": "Alice in Chains", "bio": "Who I am", "language": "de"})
    raw.zadd("users_by_name", {"alice in chains:1": 0})
    here, phone = browser(alice), browser(alice)
    answer = here.post(URL, FORM, follow=True)
    assert answer.redirect_chain == [("/", 302)]
    assert DELETED_MESSAGE in page_of(answer)
    assert 'action="/logout/"' not in page_of(answer)
    kept = raw.hgetall("user:1")
    assert kept["username"] == "Alice"
    assert kept["deleted"].isdigit()
    assert kept["auth"] == kept["name"] == kept["bio"] == ""
    assert not is_password_usable(kept["password"])
    assert raw.hgetall("users") == {"alice": "1"}
    assert raw.hgetall("auths") == {}
    assert raw.zrange("users_by_time", 0, -1) == []
    assert name_entries(raw) == {}
    assert [job.rpartition(":")[0] for job in noted(raw)] == ["gone:1"]
    for client in (here, phone):
        assert 'action="/logout/"' not in page_of(client.get("/timeline/"))
        assert client.get("/settings/password/").status_code == 302


def test_the_personal_cookies_are_removed(member):
    for cookie in (DRAFT_COOKIE, LAST_READ_COOKIE):
        member.cookies[cookie] = "something"
    answer = member.post(URL, FORM)
    for cookie in (settings.AUTH_COOKIE, DRAFT_COOKIE, LAST_READ_COOKIE):
        assert answer.cookies[cookie].value == ""
        assert answer.cookies[cookie]["max-age"] == 0


def test_a_deletion_sends_its_commands_in_the_order_of_the_protocol(member, sent):
    member.get(URL)
    sent.round_trips.clear()
    member.post(URL, FORM)
    last_three = [[command[:2] for command in round_trip.commands] for round_trip in sent.round_trips[-3:]]
    assert last_three == [
        [("ZADD", "outbox")],
        [("HMGET", "user:1"), ("HSET", "user:1")],
        [("ZADD", "outbox"), ("HDEL", "auths"), ("ZREM", "users_by_time"), ("ZREM", "users_by_name")],
    ]


def test_a_deletion_costs_the_same_for_an_account_of_any_size(browser, store, alice, bob, raw, round_trips):
    for number in range(5):
        publish(raw, store, bob, f"Post {number}")
    raw.zadd("followers:2", {100 + number: 1 for number in range(3000)})
    costs = set()
    for login in (alice, bob):
        client = browser(login)
        client.get(URL)
        costs.add(len(round_trips(lambda client=client: client.post(URL, FORM)).round_trips))
    assert costs == {10}


def test_the_account_and_its_posts_are_gone_from_every_page_at_once(browser, store, alice, bob, raw):
    Follows(store).follow(2, 1)
    publish(raw, store, alice, "Hello there")
    readers = [browser(), browser(bob)]
    for client in readers:
        for url in ("/", "/timeline/", "/@Alice/", "/@Alice/1/"):
            assert "Hello there" in page_of(client.get(url))  # and is cached
    browser(alice).post(URL, FORM)
    for client in readers:
        for url in ("/", "/timeline/", "/@bob/following/"):
            page = page_of(client.get(url))
            assert "Hello there" not in page
            assert "/@Alice/" not in page
        for url in ("/@Alice/", "/@Alice/1/", "/@alice/followers/", "/@alice/following/"):
            assert GONE_MESSAGE in page_of(client.get(url), 410)
    assert browser(bob).post("/@Alice/follow/").status_code == 410
    assert raw.zcard("following:2") == 1  # until a worker removes it


def test_a_login_to_a_deleted_account_gets_the_answer_to_a_wrong_password(browser, alice, raw):
    browser(alice).post(URL, FORM)
    refused = browser().post("/login/", {"username": "Alice", "password": PASSWORD})
    unknown = browser().post("/login/", {"username": "nobody", "password": PASSWORD})
    alerts = [
        page.partition('role="alert"')[2].partition("</p>")[0]
        for page in (page_of(refused, 422), page_of(unknown, 422))
    ]
    assert alerts[0] == alerts[1] != ""
    assert raw.hget("user:1", "auth") == ""


def test_a_login_to_a_deleted_account_hashes_the_password_too(browser, alice, monkeypatch):
    browser(alice).post(URL, FORM)
    hashed = []
    monkeypatch.setattr("accounts.signing_in.passwords.make_password", lambda password: hashed.append(password))
    browser().post("/login/", {"username": "Alice", "password": PASSWORD})
    assert hashed == [PASSWORD]


@pytest.mark.parametrize("removed", [False, True])
@pytest.mark.parametrize("name", ["Alice", "alice", "ALICE"])
def test_the_name_stays_taken(browser, store, alice, raw, name, removed):
    browser(alice).post(URL, FORM)
    if removed:
        drain(store, "worker")
    form = {"username": name, "password1": PASSWORD, "password2": PASSWORD}
    assert "This username is taken." in page_of(browser().post("/register/", form), 422)
    assert raw.hgetall("users") == {"alice": "1"}


@pytest.mark.parametrize("removed", [False, True])
def test_no_command_restores_the_account(browser, store, alice, raw, typed, removed):
    browser(alice).post(URL, FORM)
    if removed:
        drain(store, "worker")
    before = everything(raw)
    typed(f"{NEW_PASSWORD}\n")
    refuses("The account of 'alice' is deleted", "changepassword", "alice")
    refuses("The name 'alice' is taken", "createuser", "alice")
    refuses("holds users", "seed")
    assert everything(raw) == before


def test_a_second_click_leads_to_the_login_and_changes_nothing(alice, member, raw):
    member.post(URL, FORM)
    before = everything(raw)
    member.cookies[settings.AUTH_COOKIE] = alice.secret
    assert member.post(URL, FORM)["Location"].startswith("/login/")
    assert everything(raw) == before


def test_a_store_that_is_too_slow_deletes_nothing(browser, alice, raw, monkeypatch):
    """A worker may have removed the job meanwhile, as one without a commit."""
    monkeypatch.setattr("retwis_site.jobs.outbox.OWNER_GIVES_UP", -1.0)
    assert browser(alice).post(URL, FORM).status_code == 503
    assert not raw.hexists("user:1", "deleted")
    monkeypatch.undo()
    assert browser(alice).post(URL, FORM).status_code == 302


def test_a_deletion_is_logged(browser, alice, caplog):
    with caplog.at_level("INFO", "retwis.accounts"):
        browser(alice).post(URL, FORM)
    assert "user 1 deleted the account from 127.0.0.1" in caplog.text
