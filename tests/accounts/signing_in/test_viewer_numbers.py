"""A feature may declare a number about the viewer: each page has it, and makes no further round trip for it."""

import pytest
from django.core.management import call_command

from accounts.community.acts import Roles
from accounts.users.entities import Role
from retwis_site import features
from retwis_site.features import Feature
from retwis_site.store import keys
from retwis_site.store.local_cache import Memory
from timeline.relations.relations import Follows


@pytest.fixture
def declared(monkeypatch):
    """A feature that declares the number of followers."""
    feature = Feature(viewer_numbers={"followers": lambda pipe, me: pipe.zcard(keys.followers(me))})
    monkeypatch.setattr(features, "features", lambda: (feature,))
    features.viewer_numbers.cache_clear()
    yield
    features.viewer_numbers.cache_clear()


PAGES = ["/timeline/", "/@bob/", "/settings/", "/people/"]


def costs(browser, login, round_trips, url):
    client, answers = browser(login), []
    client.get(url)
    recorded = round_trips(lambda: answers.append(client.get(url)))
    return answers[0].wsgi_request.viewer, recorded


@pytest.mark.parametrize("url", PAGES)
def test_a_page_has_the_number_after_the_same_round_trips(browser, store, alice, bob, round_trips, request, url):
    Follows(store).follow(2, 1)
    _, before = costs(browser, alice, round_trips, url)
    Memory.clear_all()
    request.getfixturevalue("declared")
    viewer, after = costs(browser, alice, round_trips, url)
    assert viewer.checked.numbers == {"followers": 1}
    assert len(after.round_trips) == len(before.round_trips)
    assert len(after.commands) == len(before.commands) - 2 + 1  # instead of the number of notices
    assert ("ZCARD", "followers:1") in after.round_trips[0].commands


def test_a_visitor_has_no_numbers(browser, declared, alice, round_trips):
    client, answers = browser(), []
    client.get("/login/")
    recorded = round_trips(lambda: answers.append(client.get("/login/")))
    assert answers[0].wsgi_request.viewer.checked.numbers == {}
    assert recorded.round_trips == []


def test_a_stale_secret_gives_no_numbers(browser, declared, raw, alice):
    raw.hset("user:1", "auth", "another")
    assert browser(alice).get("/people/").wsgi_request.viewer.checked.numbers == {}


# ---- what waits for staff

WAITING = [("HLEN", "credentials:1"), ("ZCARD", "appeals"), ("ZCARD", "applicants"), ("ZCARD", "reports")]


@pytest.mark.parametrize("url", PAGES)
def test_staff_has_the_number_of_open_reports_and_appeals_after_the_same_round_trips(
    browser, store, raw, alice, bob, round_trips, url
):
    raw.zadd("reports", {"1": 1, "2": 2})
    raw.zadd("appeals", {"2:abc": 1})
    raw.zadd("applicants", {"dora:1": 1})
    _, before = costs(browser, alice, round_trips, url)
    Roles(store).give(1, Role.MODERATOR)
    Memory.clear_all()
    viewer, after = costs(browser, alice, round_trips, url)
    assert viewer.checked.waiting == {"moderation": 2, "appeals": 1, "joining": 1}
    assert len(after.round_trips) == len(before.round_trips)
    assert sorted(set(after.commands) - set(before.commands)) == WAITING
    page = browser(alice).get(url).content.decode()
    assert '<a href="/moderation/">Moderation (4)</a>' in page
    assert '<a class="to-moderation" href="/moderation/"><span>Moderation</span><span class="number">4<' in page


@pytest.mark.parametrize("key", ["reports", "appeals", "applicants"])
def test_a_list_of_the_wrong_type_closes_no_other_page_to_staff(browser, store, raw, alice, key, caplog):
    raw.zadd("reports", {"1": 1})
    raw.delete(key)
    raw.set(key, "a text")
    Roles(store).give(1, Role.ADMIN)
    for page in (*PAGES[::2], "/", "/moderation/people/", "/moderation/log/", "/moderation/site/"):
        response = browser(alice).get(page)
        assert (page, response.status_code) == (page, 200)
    assert "Moderation (?)" in response.content.decode()
    assert "manage.py doctor --fix" in response.content.decode()
    assert f"{key} has a bad value" in caplog.text
    assert browser(alice).get("/moderation/").status_code == (200 if key == "applicants" else 503)  # it has the lists
    call_command("doctor", "--fix")
    assert "(?)" not in browser(alice).get("/").content.decode()


def test_members_and_former_staff_ask_for_nothing_that_waits(browser, store, raw, alice, round_trips):
    raw.zadd("reports", {"1": 1})
    client = browser(alice)
    member = round_trips(lambda: client.get("/settings/"))
    assert not {*WAITING} & {*member.commands}
    Roles(store).give(1, Role.MODERATOR)
    assert "Moderation (1)" in client.get("/settings/").content.decode()
    Roles(store).give(1, Role.MEMBER)
    assert "Moderation" not in client.get("/settings/").content.decode()


def test_the_first_page_of_staff_in_a_process_costs_one_round_trip_more(store, raw, member, round_trips):
    Roles(store).give(1, Role.MODERATOR)
    Memory.clear_all()
    first = round_trips(lambda: member.get("/settings/"))
    second = round_trips(lambda: member.get("/settings/"))
    assert len(first.round_trips) == len(second.round_trips) + 2  # the other one: the uid of the secret
    assert {*WAITING} <= {*second.round_trips[0].commands}
