"""Error pages of a signed-in member have a member's frame, as far as the process knows them without the store."""

import pytest
import redis

from retwis_site.store.local_cache import Memory
from tests.support.stores.seam import broken_store

MENU = 'formaction="/logout/"'
MISSING = "/nothing/is/here/"


def test_the_frame_costs_no_round_trip_and_no_cache_keeps_it(member, round_trips):
    assert MENU not in member.get(MISSING).content.decode()  # not known yet
    member.get("/")
    answers = []
    assert round_trips(lambda: answers.append(member.get(MISSING))).round_trips == []
    [answer] = answers
    assert answer.status_code == 404
    assert MENU in answer.content.decode()
    assert 'href="/notifications/"' in answer.content.decode()
    assert answer["Cache-Control"] == "private, no-store"
    assert "Cookie" in answer["Vary"]


def test_its_forms_are_accepted(browser, alice):
    client = browser(alice, csrf=True)
    client.get("/")
    page = client.get(MISSING).content.decode()
    token = page.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
    assert client.post("/logout/", {"csrfmiddlewaretoken": token}).status_code == 302
    assert MENU not in client.get(MISSING).content.decode()


def test_a_failing_store_is_a_503_in_the_frame_of_the_member(member):
    member.get("/")
    with broken_store(redis.ConnectionError()):
        answer = member.get("/")
    assert answer.status_code == 503
    assert MENU in answer.content.decode()
    assert "cannot reach its database" in answer.content.decode()


def test_numbers_and_sanctions_that_may_be_over_are_not_shown(member, bob, raw):
    raw.zadd("notices:1", {"follow:2": 1_700_000_000})
    raw.hset("user:1", mapping={"state": "frozen", "state_until": "0"})
    home = member.get("/").content.decode()
    assert "Your account is frozen." in home
    page = member.get(MISSING).content.decode()
    assert MENU in page
    assert "frozen" not in page
    assert 'class="number"' not in page


@pytest.mark.parametrize("secret", ["f" * 32 + "1", "", "f" * 32])
def test_a_cookie_that_nobody_has_shown_before_gets_nobodys_frame(browser, alice, secret):
    browser(alice).get("/")
    stranger = browser()
    stranger.get("/login/")
    stranger.cookies["auth"] = secret
    assert MENU not in stranger.get(MISSING).content.decode()


def test_once_the_session_is_known_to_have_ended_the_frame_is_a_visitors(member, raw):
    member.get("/")
    raw.hset("user:1", "generation", "another")
    raw.hset("user:1", "auth", "another")
    member.get("/")
    assert MENU not in member.get(MISSING).content.decode()


def test_a_process_that_has_forgotten_the_cookie_shows_nobodys_frame(member):
    member.get("/")
    Memory.clear_all()
    assert MENU not in member.get(MISSING).content.decode()
