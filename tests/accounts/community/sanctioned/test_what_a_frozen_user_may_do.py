"""A frozen user reads everything and changes nothing that others see; each refusal says why."""

import pytest
from django.conf import settings
from django.urls import get_resolver

from accounts.community.sanctions import Sanctions
from accounts.users.entities import State
from tests.support.people import NEW_PASSWORD, PASSWORD
from tests.support.stored_keys import everything, publish

BOB = 2
OPEN = {
    *("register", "login", "logout", "password", "delete_account", "appearance", "language", "notification_settings"),
    *("appeal", "sessions", "log_out_everywhere", "dismiss", "recover", "reset", "recovery", "invited"),
}


@pytest.fixture
def frozen(store, raw, alice, bob, carol, browser):
    publish(raw, store, alice, "One")
    Sanctions(store).impose(BOB, State.FROZEN, "insults <b>", until=4_000_000_000)
    return browser(bob)


@pytest.mark.parametrize(
    ("address", "fields"),
    [
        ("/post/", {"body": "Hello"}),
        ("/@Alice/follow/", {}),
        ("/@Alice/block/", {}),
        ("/@Alice/mute/", {"what": "all", "days": ""}),
        ("/@Alice/1/like/", {}),
        ("/@Alice/1/repost/", {}),
        ("/@Alice/1/bookmark/", {}),
        ("/settings/", {"name": "Bobby", "bio": ""}),
        ("/tags/redis/follow/", {}),
    ],
)
def test_a_change_is_refused_and_the_page_says_why(frozen, raw, address, fields):
    before = everything(raw)
    answer = frozen.post(address, fields)
    page = answer.content.decode()
    assert answer.status_code == 403
    assert everything(raw) == before
    assert "Your account is frozen" in page
    assert "insults &lt;b&gt;" in page
    assert "It ends on 2096-10-02." in page
    assert 'href="/appeal/"' in page
    assert "no-store" in answer["Cache-Control"]


def test_the_text_of_a_refused_post_is_not_lost(frozen):
    assert "A long &lt;text&gt;" in frozen.post("/post/", {"body": "A long <text>"}).content.decode()


@pytest.mark.parametrize("address", ["/", "/timeline/", "/@Alice/", "/@Alice/1/", "/settings/"])
def test_a_frozen_user_reads_with_a_banner_on_each_page(frozen, address):
    page = frozen.get(address).content.decode()
    assert page.count('class="banner"') == 1
    assert "Your account is frozen." in page
    assert "insults &lt;b&gt;" in page


def test_nobody_else_has_a_banner(frozen, browser, alice):
    for client in (browser(), browser(alice)):
        assert 'class="banner"' not in client.get("/timeline/").content.decode()


def test_a_frozen_user_logs_in_and_out(frozen, browser):
    client = browser()
    assert client.post("/login/", {"username": "bob", "password": PASSWORD}).status_code == 302
    assert client.post("/logout/").status_code == 302


def test_a_frozen_user_changes_the_password_and_deletes_the_account(frozen, raw):
    form = {"password": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    assert frozen.post("/settings/password/", form).status_code == 302
    assert frozen.post("/settings/delete/", {"password": NEW_PASSWORD}).status_code == 302
    assert raw.hget("user:2", "deleted") is not None


def test_once_it_is_lifted_everything_is_allowed_again(frozen, store):
    Sanctions(store).lift(BOB)
    assert frozen.post("/@Alice/follow/").status_code == 302
    assert 'class="banner"' not in frozen.get("/").content.decode()


def test_only_these_addresses_are_open_to_a_frozen_user():
    patterns = [pattern for pattern in get_resolver(settings.ROOT_URLCONF).url_patterns if hasattr(pattern, "callback")]
    for nested in get_resolver(settings.ROOT_URLCONF).url_patterns:
        patterns += getattr(nested, "url_patterns", [])
    assert {pattern.name for pattern in patterns if getattr(pattern.callback, "open_to_frozen", False)} == OPEN


def test_a_refusal_costs_no_round_trip_more(frozen, round_trips):
    frozen.get("/timeline/")  # the uid of the cookie is cached
    assert len(round_trips(lambda: frozen.post("/@Alice/follow/")).round_trips) == 1
