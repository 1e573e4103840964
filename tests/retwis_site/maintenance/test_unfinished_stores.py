"""A store with a part of a site, which a killed import, copy, restore or seeding left: only that run may use it."""

import pytest

from retwis_site.exceptions import StoreError
from retwis_site.maintenance.filling import CannotFill, Filling, is_used
from retwis_site.store import schema
from retwis_site.store.client import connect
from retwis_site.store.schema import StoreState
from tests.support.command_output import refuses
from tests.support.stored_keys import everything

COMMANDS = [["doctor"], ["doctor", "--fix"], ["cleanup"], ["upgrade"], ["seed"], ["createuser", "dora"], ["adopt"]]
# What other Retwises have under names of the key table.
FOREIGN_KEYS = [
    lambda raw: raw.set("post:1", "1|1300000000|Hello"),
    lambda raw: raw.hset("user:1", "login", "dora"),
    lambda raw: raw.zadd("following:1", {"2": 1.5e9}),
    lambda raw: raw.hset("users", "dora", 1),
]


@pytest.fixture
def unfinished(alice, raw):
    raw.set("next_user_id", schema.UNFINISHED)
    raw.set("next_post_id", schema.UNFINISHED)
    connect.cache_clear()  # with its gate
    return raw


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_other_command_says_what_to_do_and_changes_nothing(unfinished, typed, command):
    typed("a long password\n")
    before = everything(unfinished)
    refuses("Run that again", *command, verbosity=0)
    assert everything(unfinished) == before


def test_pages_are_errors_not_a_part_of_the_site(unfinished, browser):
    assert browser().get("/timeline/").status_code == 503
    with pytest.raises(StoreError, match="a part of a site"):
        connect().get("health")


def test_its_state_is_known(unfinished, store):
    assert schema.examine(store) is StoreState.UNFINISHED


@pytest.mark.parametrize("write", FOREIGN_KEYS)
def test_a_store_with_keys_of_another_retwis_is_never_filled(store, raw, write):
    write(raw)
    before = everything(raw)
    with pytest.raises(CannotFill, match="Name an empty one"):
        Filling(store).begin()
    assert everything(raw) == before


def test_a_site_that_was_only_looked_at_is_empty(store, raw, browser):
    browser().get("/timeline/")
    browser().get("/readyz")
    schema.mark(store)
    assert not is_used(store)
