"""`doctor` finds and repairs likes whose sides or numbers disagree; `cleanup` removes likes of posts that are gone.

The checks of follows are the same code: tests/retwis_site/maintenance/test_doctor_repairs.py.
"""

import time

import pytest

from tests.support.command_output import said
from tests.support.maintenance.doctor_report import COUNTERS, VALUES, doctor
from tests.support.maintenance.healthy_site import BOB, CAROL, make_healthy_site
from tests.support.people import LONG_AGO
from tests.support.stored_keys import everything, without_damaged
from timeline.relations.like import Likes

LIKES = "entries of likes: missing from liked_by:, or unknown"
LIKED_BY = "entries of liked_by: missing from likes:, or unknown"
NUMBERS = "wrong numbers in post:"
OF_UNKNOWN = "likes of unknown users"

ALICE = 1


@pytest.fixture
def site(raw, store, alice, bob, carol, monkeypatch):
    """A healthy site. bob and carol like post 1 of alice's, and carol likes post 4 of bob's. Post 2 was deleted."""
    monkeypatch.setattr("timeline.posts.checks.time.sleep", lambda seconds: None)
    make_healthy_site(raw, store, alice, bob, carol)
    Likes(store).like(BOB, 1, ALICE)
    Likes(store).like(CAROL, 1, ALICE)
    Likes(store).like(CAROL, 4, BOB)
    return raw


INCONSISTENCIES = {
    "liked_by: lacks a like": (lambda r: r.zrem("liked_by:1", 2), {LIKES: 1, NUMBERS: 1}),
    "liked_by: is gone": (lambda r: r.delete("liked_by:1"), {LIKES: 2, NUMBERS: 1}),
    "liked_by: has a like too many": (lambda r: r.zadd("liked_by:4", {"2": 5}), {LIKED_BY: 1, NUMBERS: 1}),
    "liked_by: has another date": (lambda r: r.zadd("liked_by:1", {"2": 5}), {LIKES: 1}),
    "an unknown user likes a post": (lambda r: r.zadd("liked_by:1", {"99": 5}), {LIKED_BY: 1, NUMBERS: 1}),
    "likes: of an unknown user": (lambda r: r.zadd("likes:99", {"1": 5}), {OF_UNKNOWN: 1, LIKES: 1}),
    "a like of a deleted post": (lambda r: r.zadd("likes:3", {"2": 5}), {LIKES: 1}),
    "a like of a post that never was": (lambda r: r.zadd("likes:3", {"90": 5}), {LIKES: 1}),
    "a like that is no id": (lambda r: r.zadd("likes:3", {"x": 5}), {VALUES: 1}),
    "a number is too high": (lambda r: r.hset("post:1", "likes", 7), {NUMBERS: 1}),
    "a number is missing": (lambda r: r.hdel("post:1", "likes"), {NUMBERS: 1}),
    "a number without likes": (lambda r: r.hset("post:3", "likes", 1), {NUMBERS: 1}),
    "a deleted post has a number": (lambda r: r.hset("post:2", "likes", 1), {NUMBERS: 1}),
    "a number is no number": (lambda r: r.hset("post:1", "likes", "x"), {VALUES: 1, NUMBERS: 1}),
}


@pytest.mark.parametrize("case", INCONSISTENCIES)
def test_every_inconsistency_of_likes_is_found_and_repaired(site, capsys, case):
    assert doctor(capsys) == (0, {}, {})
    before = without_damaged(site)
    make_inconsistent, expected = INCONSISTENCIES[case]
    make_inconsistent(site)
    inconsistent = everything(site)
    code, errors, _ = doctor(capsys)
    errors.pop(COUNTERS, None)
    assert (code, errors) == (1, expected)
    assert everything(site) == inconsistent
    assert doctor(capsys, "--fix")[0] == 0
    assert doctor(capsys) == (0, {}, {})
    assert without_damaged(site) == before


def test_a_like_of_which_only_the_mirror_is_left_is_restored_after_a_repair(site, capsys):
    site.set("likes:3", "no sorted set")
    doctor(capsys, "--fix")
    assert doctor(capsys, "--fix")[0] == 0
    assert site.zrange("likes:3", 0, -1) == ["1", "4"]
    assert site.hget("post:1", "likes") == "2"


# Job in the outbox -> the state in which its operation leaves the keys before it is finished.
IN_PROGRESS = {
    "like:2:4:2:abc": lambda r: r.zadd("likes:2", {"4": 5}),
    "like:3:4:2:abc": lambda r: r.zrem("likes:3", 4),
    "like:2:3:1:abc": lambda r: (r.zadd("likes:2", {"3": 5}), r.zadd("liked_by:3", {"2": 5})),
    "del:1:1:abc": lambda r: r.hset("post:1", mapping={"deleted": LONG_AGO, "body": ""}),
}


@pytest.mark.parametrize("job", IN_PROGRESS)
def test_an_operation_in_progress_is_no_error(site, capsys, job):
    site.zadd("outbox", {job: int(time.time()) + 60})
    IN_PROGRESS[job](site)
    assert doctor(capsys, "--fix")[:2] == (0, {})
    site.delete("outbox")
    assert doctor(capsys)[0] == 1


def test_cleanup_removes_likes_of_posts_that_are_gone(site, capsys):
    """A version that knew likes only from imports left them when a post was deleted."""
    before = everything(site)
    for pid in (2, 90):
        site.zadd("likes:3", {pid: 5})
        site.zadd(f"liked_by:{pid}", {"3": 5, "99": 5})
    assert "likes of posts that do not exist: 2 found, none removed" in said(capsys, "cleanup", "--dry-run")
    assert "likes of posts that do not exist: 2 found, 2 removed" in said(capsys, "cleanup")
    assert everything(site) == before


def test_cleanup_leaves_the_deletion_of_a_post_under_way_alone(site, capsys):
    site.hset("post:4", "deleted", LONG_AGO)
    site.zadd("outbox", {"del:4:2:abc": int(time.time()) + 60})
    assert "likes of posts that do not exist: 0 found" in said(capsys, "cleanup")
    assert site.zrange("liked_by:4", 0, -1) == ["3"]
