"""`doctor` and `cleanup` about notices."""

import time

import pytest
from django.core.management import call_command

from tests.support.command_output import doctor_findings
from tests.support.people import LONG_AGO
from tests.support.stored_keys import publish
from timeline.notices import MARK, Inbox
from timeline.posts.delivery import Reposts
from timeline.relations.relations import Follows, Likes

BAD, MARKS = ("members of notices: that are no notices", "marks of read notices that differ from user:")


@pytest.fixture(autouse=True)
def site(store, raw, alice, bob):
    """alice follows bob, likes his post 1 and mentions him in her post 2."""
    publish(raw, store, bob, "Hello")
    publish(raw, store, alice, "Hi")
    Follows(store).follow(1, 2)
    Likes(store).like(1, 1, 2)
    raw.zadd("notices:2", {"mention:2:1": LONG_AGO})
    Inbox(store, 2).set_read(LONG_AGO)


def found(capsys):
    errors, orphans = doctor_findings(capsys)
    return {label: number for label, number in (errors | orphans).items() if number}


def test_nothing_is_found_where_all_is_well(capsys):
    assert found(capsys) == {}


@pytest.mark.parametrize(
    "notice", ["like:2:1", "repost:1:1", "follow:1:1", "follow:3:1", "mention:1:1", "reply:77:1", "quote:2:2"]
)
def test_a_notice_without_cause_is_an_orphan(raw, capsys, notice):
    raw.zadd("notices:2", {notice: LONG_AGO})
    call_command("cleanup")
    assert raw.zscore("notices:2", notice) is None
    assert {"like:1:1", "follow:2:1", "mention:2:1", MARK} == set(raw.zrange("notices:2", 0, -1))


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw.delete("following:1"),
        lambda raw: raw.delete("likes:1"),
        lambda raw: raw.delete("reposts:1"),
        lambda raw: raw.hdel("post:2", "user_id"),
        lambda raw: raw.hset("post:2", "user_id", "x"),
    ],
)
def test_cleanup_leaves_a_notice_whose_cause_doctor_brings_back(raw, store, capsys, damage, no_waiting):
    Reposts(store).repost(1, 1, 2)
    raw.zadd("notices:2", {"repost:1:1": LONG_AGO})
    before = raw.zrange("notices:2", 0, -1, withscores=True)
    damage(raw)
    call_command("cleanup")
    assert raw.zrange("notices:2", 0, -1, withscores=True) == before
    doctor_findings(capsys, "--fix")
    assert raw.zrange("notices:2", 0, -1, withscores=True) == before


def test_nothing_is_found_after_all_were_removed_and_another_one_has_come(store, raw, capsys):
    Inbox(store, 2).clear()
    assert raw.zrange("notices:2", 0, -1) == [MARK]
    raw.zadd("notices:2", {"like:1:1": LONG_AGO + 1})
    assert found(capsys) == {}


def test_a_missing_notice_is_no_error(raw, capsys):
    raw.zrem("notices:2", "like:1:1")
    assert found(capsys) == {}


def test_a_notice_that_a_job_may_be_about_to_remove_is_none(raw, capsys):
    raw.zadd("notices:2", {"like:2:1": LONG_AGO})
    raw.zadd("outbox", {"like:1:2:2:x": 2**40})
    call_command("cleanup")
    assert raw.zscore("notices:2", "like:2:1") == LONG_AGO


def test_members_that_are_no_notices_are_kept_elsewhere(raw, capsys):
    """One may be of a newer version."""
    before = raw.zrange("notices:2", 0, -1)
    raw.zadd("notices:2", {"like:1": LONG_AGO, "wave:1:1": LONG_AGO})
    assert found(capsys) == {BAD: 2}
    doctor_findings(capsys, "--fix")
    assert found(capsys) == {}
    assert raw.zrange("notices:2", 0, -1) == before
    assert raw.hgetall("damaged:notices:2:values") == dict.fromkeys(["like:1", "wave:1:1"], str(float(LONG_AGO)))


def test_a_mark_at_another_date_follows_the_hash(raw, capsys):
    raw.zadd("notices:2", {MARK: LONG_AGO - 5})
    assert found(capsys) == {MARKS: 1}
    doctor_findings(capsys, "--fix")
    assert raw.zscore("notices:2", MARK) == LONG_AGO


@pytest.mark.parametrize(("read_until", "is_new"), [(9000, False), (-9000, True)])
def test_what_a_clock_that_was_ahead_has_dated_gets_the_date_of_now(raw, capsys, read_until, is_new):
    now = int(time.time())
    raw.zadd("notices:2", {"like:1:1": now + 9000, MARK: now + 9000})
    raw.hset("user:2", "noticed", now + read_until)
    assert found(capsys) == {MARKS: 1}
    doctor_findings(capsys, "--fix")
    assert found(capsys) == {}
    notice, mark = raw.zmscore("notices:2", ["like:1:1", MARK])
    assert now <= notice < now + 60
    assert (mark < notice) == is_new


def test_a_mark_that_was_cut_off_is_no_error(raw, capsys):
    raw.zrem("notices:2", MARK)
    assert found(capsys) == {MARKS: 1}
    raw.zadd("notices:2", {f"mention:2:{number}": LONG_AGO + 1 for number in range(10, 1010)})
    assert MARKS not in found(capsys)


def test_notices_of_unknown_users_are_removed(raw, capsys):
    raw.zadd("notices:77", {"follow:77:1": LONG_AGO})
    assert found(capsys)["notices of unknown users"] == 1
    doctor_findings(capsys, "--fix")
    assert not raw.exists("notices:77")
