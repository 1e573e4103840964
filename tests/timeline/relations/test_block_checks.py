"""`doctor` finds and repairs blocks whose two sides disagree, and blocks of people who are not there."""

import time

import pytest

from tests.support.maintenance.doctor_report import VALUES, doctor
from tests.support.protocols.relations import assert_relations_agree
from tests.support.stored_keys import everything, without_damaged
from timeline.relations.block import BlockedPeople
from timeline.relations.follow import Follows

BLOCKED = "entries of blocked: missing from blocked_by:, or unknown"
BLOCKED_BY = "entries of blocked_by: missing from blocked:, or unknown"
OF_UNKNOWN = "blocks of unknown users"

ALICE, BOB, CAROL = 1, 2, 3


@pytest.fixture
def site(store, raw, alice, bob, carol):
    """alice blocks bob and carol; carol, whom bob follows, blocks alice."""
    Follows(store).follow(BOB, CAROL)
    for me, them in ((ALICE, BOB), (ALICE, CAROL), (CAROL, ALICE)):
        BlockedPeople(store).block(me, them)
    return raw


# A side that only the mirror shows is no block, and is removed.
FAULTS = {
    "blocked_by: lacks a block": (lambda r: r.zrem("blocked_by:2", 1), {BLOCKED: 1}),
    "blocked_by: of all is gone": (lambda r: r.delete("blocked_by:1", "blocked_by:2", "blocked_by:3"), {BLOCKED: 3}),
    "blocked_by: has another date": (lambda r: r.zadd("blocked_by:2", {"1": 5}), {BLOCKED: 1}),
    "blocked_by: has a block too many": (lambda r: r.zadd("blocked_by:2", {"3": 5}), {BLOCKED_BY: 1}),
    "an unknown user blocks": (lambda r: r.zadd("blocked_by:2", {"99": 5}), {BLOCKED_BY: 1}),
    "an unknown user is blocked": (lambda r: r.zadd("blocked:2", {"99": 5}), {BLOCKED: 1}),
    "blocked: of an unknown user": (lambda r: r.zadd("blocked:99", {"1": 5}), {OF_UNKNOWN: 1, BLOCKED: 1}),
    "blocked_by: of an unknown user": (lambda r: r.zadd("blocked_by:99", {"1": 5}), {OF_UNKNOWN: 1, BLOCKED_BY: 1}),
    "a block that is no id": (lambda r: r.zadd("blocked:2", {"x": 5}), {VALUES: 1}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_doctor_finds_and_repairs(site, capsys, fault):
    assert doctor(capsys)[:2] == (0, {})
    before = without_damaged(site)
    damage, expected = FAULTS[fault]
    damage(site)
    damaged = everything(site)
    assert doctor(capsys)[:2] == (1, expected)
    assert everything(site) == damaged
    assert doctor(capsys, "--fix")[0] == 0
    assert doctor(capsys)[:2] == (0, {})
    assert without_damaged(site) == before
    assert_relations_agree(site, fault)


def test_a_block_that_is_mended_ends_the_follows(site, capsys):
    """Its process died after the commit, and its job was lost."""
    site.zadd("blocked:2", {"3": 5})
    doctor(capsys, "--fix")
    assert site.zrange("blocked_by:3", 0, -1) == ["2", "1"]
    assert site.keys("following:*") == site.keys("followers:*") == []
    assert doctor(capsys)[:2] == (0, {})


IN_PROGRESS = {
    "block:2:1:abc": lambda r: r.zadd("blocked:2", {"1": 5}),
    "block:1:2:abc": lambda r: r.zrem("blocked:1", 2),
}


@pytest.mark.parametrize("job", IN_PROGRESS)
def test_a_block_in_progress_is_no_error(site, capsys, job):
    site.zadd("outbox", {job: int(time.time()) + 60})
    IN_PROGRESS[job](site)
    assert doctor(capsys, "--fix")[:2] == (0, {})
    site.delete("outbox")
    assert doctor(capsys)[0] == 1
