"""`doctor` finds and repairs reposts whose sides or numbers disagree; `cleanup` removes those of missing posts."""

import time

import pytest

from tests.support.command_output import said
from tests.support.maintenance.doctor_report import VALUES, doctor
from tests.support.protocols.relations import assert_relations_agree
from tests.support.stored_keys import everything, publish, without_damaged
from timeline.posts.repository import Posts
from timeline.posts.writing.reposting import Reposts

REPOSTS = "entries of reposts: missing from reposted_by:, or unknown"
REPOSTED_BY = "entries of reposted_by: missing from reposts:, or unknown"
NUMBERS = "wrong numbers in post:"
OF_UNKNOWN = "reposts of unknown users"
NO_POST = "entries of reposts: whose own post is missing or not listed"
NO_EDGE = "listed reposts that reposts: does not name"

ALICE, BOB, CAROL = 1, 2, 3


@pytest.fixture
def site(store, raw, alice, bob, carol, monkeypatch):
    """Posts 1 and 2 are bob's, who has deleted post 2. Posts 3 and 4 are alice's and carol's reposts of post 1."""
    monkeypatch.setattr("timeline.posts.checks.time.sleep", lambda seconds: None)
    for text in ("First", "Second"):
        publish(raw, store, bob, text)
    Posts(store).delete(BOB, 2)
    raw.lrem("timeline", 0, 2)
    for uid in (ALICE, CAROL):
        Reposts(store).repost(uid, 1, BOB)
    return raw


def list_another(raw):
    raw.incr("next_post_id")
    raw.hset("post:5", mapping={"user_id": 1, "time": 5, "repost_of": 1})
    raw.zadd("updates:1", {"5": 5})


FAULTS = {
    "reposted_by: lacks a repost": (lambda r: r.zrem("reposted_by:1", 1), {REPOSTS: 1, NUMBERS: 1}),
    "reposted_by: is gone": (lambda r: r.delete("reposted_by:1"), {REPOSTS: 2, NUMBERS: 1}),
    "reposted_by: names another repost": (lambda r: r.zadd("reposted_by:1", {"1": 90}), {REPOSTS: 1}),
    "reposted_by: has a repost too many": (lambda r: r.zadd("reposted_by:1", {"2": 90}), {REPOSTED_BY: 1, NUMBERS: 1}),
    "an unknown user reposts": (lambda r: r.zadd("reposted_by:1", {"99": 90}), {REPOSTED_BY: 1, NUMBERS: 1}),
    "reposts: of an unknown user": (lambda r: r.zadd("reposts:99", {"1": 90}), {OF_UNKNOWN: 1, REPOSTS: 1, NO_POST: 1}),
    "a repost of a deleted post": (lambda r: r.zadd("reposts:1", {"2": 90}), {REPOSTS: 1, NO_POST: 1}),
    "a repost that is no id": (lambda r: r.zadd("reposts:1", {"x": 90}), {VALUES: 1}),
    "a repost is not listed": (lambda r: r.zrem("updates:1", 3), {NO_POST: 1}),
    "a repost is listed twice": (list_another, {NO_EDGE: 1}),
    "a number is too high": (lambda r: r.hset("post:1", "reposts", 7), {NUMBERS: 1}),
    "a number is missing": (lambda r: r.hdel("post:1", "reposts"), {NUMBERS: 1}),
    "a repost has a number": (lambda r: r.hset("post:3", "reposts", 1), {NUMBERS: 1}),
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
    assert without_damaged(site) | {"next_post_id": "4"} == before
    assert_relations_agree(site, fault)


@pytest.mark.parametrize("lost", ["the post", "the edge"])
def test_a_repost_and_its_edge_go_together(site, capsys, lost):
    if lost == "the post":
        site.delete("post:3")
    else:
        site.zrem("reposts:1", 1)
        site.zrem("reposted_by:1", 1)
    doctor(capsys, "--fix")
    assert doctor(capsys)[:2] == (0, {})
    assert not site.exists("post:3", "reposts:1", "updates:1")
    assert site.hget("post:1", "reposts") == "1"
    assert_relations_agree(site, lost)


IN_PROGRESS = {
    "repost:2:1:2:5:abc": lambda r: r.zadd("reposts:2", {"1": 5}),
    "repost:3:1:2:4:abc": lambda r: (r.zrem("reposts:3", 1), r.zrem("updates:3", 4), r.delete("post:4")),
    "del:1:2:abc": lambda r: r.hset("post:1", mapping={"deleted": 5, "body": ""}),
}


@pytest.mark.parametrize("job", IN_PROGRESS)
def test_an_operation_in_progress_is_no_error(site, capsys, job):
    site.zadd("outbox", {job: int(time.time()) + 60})
    IN_PROGRESS[job](site)
    assert doctor(capsys, "--fix")[:2] == (0, {})
    site.delete("outbox")
    assert doctor(capsys)[0] == 1


def test_cleanup_removes_reposts_of_posts_that_are_gone(site, capsys):
    before = everything(site)
    for pid in (2, 90):
        site.zadd("reposts:3", {pid: 100 + pid})
        site.zadd(f"reposted_by:{pid}", {"3": 100 + pid})
    assert "reposts of posts that do not exist: 2 found, 2 removed" in said(capsys, "cleanup")
    assert everything(site) == before
