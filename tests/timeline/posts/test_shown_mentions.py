"""An @name in a post is a link when somebody had that name when the post was written."""

from html import unescape

import pytest

from accounts.users.deletion import AccountDeletion
from retwis_site.store.local_cache import Memory
from tests.support.people import register
from tests.support.stored_keys import publish
from timeline.posts.repository import Posts

PAGES = ["/timeline/", "/@Alice/", "/@Alice/1/", "/timeline/atom/"]


def has_link(client, page, name):
    return f'/@{name}/">@{name}' in unescape(client.get(page).content.decode())


@pytest.mark.parametrize("page", PAGES)
def test_a_known_name_is_a_link_and_an_unknown_one_stays_text(browser, raw, store, alice, bob, page):
    publish(raw, store, alice, "@bob and @nobody")
    for client in (browser(), browser(alice), browser(bob)):
        assert has_link(client, page, "bob")
        assert not has_link(client, page, "nobody")


def test_a_name_that_is_registered_later_does_not_become_a_link(browser, raw, store, alice):
    publish(raw, store, alice, "Hello @Dora")
    register(store, "Dora")
    assert not has_link(browser(), "/@Alice/", "Dora")


def test_a_post_without_the_field_links_all_names(browser, raw, store, alice):
    publish(raw, store, alice, "Hello @nobody")
    raw.hdel("post:1", "mentions")
    assert has_link(browser(), "/@Alice/", "nobody")


def test_the_name_of_a_deleted_account_is_text(browser, raw, store, alice, bob):
    publish(raw, store, alice, "Hello @bob")
    AccountDeletion(store).delete(bob.user, bob.secret)
    Memory.clear_all()
    assert not has_link(browser(), "/@Alice/", "bob")


def test_an_edit_shows_the_new_names(browser, raw, store, alice, bob, carol):
    publish(raw, store, alice, "Hello @bob")
    client = browser(alice)
    client.get("/@Alice/")
    Posts(store).edit(1, 1, "Hello @carol")
    assert has_link(client, "/@Alice/", "carol")


def test_mentions_take_no_round_trip_more_on_a_warm_page(browser, raw, store, alice, bob, round_trips):
    publish(raw, store, alice, "Hello")
    client = browser(alice)
    client.get("/@Alice/")
    plain = len(round_trips(lambda: client.get("/@Alice/")).round_trips)
    publish(raw, store, alice, "Hello @bob and @nobody")
    client.get("/@Alice/")
    assert len(round_trips(lambda: client.get("/@Alice/")).round_trips) == plain
