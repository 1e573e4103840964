"""An account is deleted with its notices, and with what it has caused at others."""

import pytest

from tests.support.people import LONG_AGO
from tests.support.removed_accounts import delete_and_remove, doctor_findings
from tests.support.stored_keys import publish
from timeline.notices.inbox import MARK, Inbox
from timeline.relations.follow import Follows
from timeline.relations.like import Likes

ALICE, BOB, CAROL = 1, 2, 3


@pytest.fixture
def pid(store, raw, alice, bob, carol):
    """A post of bob's."""
    return publish(raw, store, bob, "Hello")


def notices(raw, uid=BOB):
    return raw.zrange(f"notices:{uid}", 0, -1)


def test_what_a_deleted_account_has_caused_goes_with_it(store, raw, pid, alice):
    Likes(store).like(ALICE, pid, BOB)
    Likes(store).like(CAROL, pid, BOB)
    Follows(store).follow(ALICE, BOB)
    delete_and_remove(store, alice)
    assert notices(raw) == [f"like:{pid}:3"]


def test_the_notices_of_a_deleted_account_are_removed(store, raw, pid, bob):
    Follows(store).follow(ALICE, BOB)
    Inbox(store, BOB).set_read(LONG_AGO)
    delete_and_remove(store, bob)
    assert raw.keys("notices:*") == []


def test_what_is_left_of_a_deleted_account_is_found(store, raw, bob, capsys):
    delete_and_remove(store, bob)
    raw.zadd("notices:1", {MARK: LONG_AGO})
    errors, _ = doctor_findings(capsys)
    assert errors["deleted accounts with data left"] == 1
    doctor_findings(capsys, "--fix")
    assert raw.keys("notices:*") == []
