"""`doctor --fix` and `cleanup` remove a bad value alone: what it was about stays, and what is removed is kept."""

import pytest
from django.core.management import CommandError, call_command

from retwis_site.maintenance.checks import AT_ONCE, keys_of
from retwis_site.maintenance.key_checks import KeyChecks
from tests.support.command_output import VALUES, doctor, mends_all, report_of
from tests.support.people import LONG_AGO
from tests.support.stored_keys import everything
from timeline.relations.relations import Follows

pytestmark = pytest.mark.usefixtures("no_waiting")


@pytest.fixture
def old_post(site):
    """Post 3 is older than the timelines reach, and its entry in `updates:` is damaged."""
    site.hset("post:3", "time", LONG_AGO)
    site.delete("posts:1", "posts:2", "posts:3", "timeline")
    site.rpush("timeline", 4, -3)
    site.zrem("updates:1", 3)
    site.zadd("updates:1", {"3\x01": 3})
    return site.hgetall("post:3")


@pytest.mark.parametrize("commands", [["doctor --fix"], ["cleanup", "doctor --fix"]], ids=" then ".join)
def test_a_post_whose_entry_in_updates_is_bad_is_put_back(site, old_post, commands):
    for command in commands:
        call_command(*command.split())
    assert site.hgetall("post:3") == old_post
    assert site.zrange("updates:1", 0, -1, withscores=True) == [("1", 1.0), ("3", 3.0)]


def test_a_post_is_kept_when_the_whole_key_of_its_author_was_bad(site, old_post, capsys):
    site.delete("updates:1")
    site.sadd("updates:1", 1, 3)
    assert doctor(capsys, "--fix")[0] == 0
    assert site.hgetall("post:3") == old_post
    assert site.zrange("updates:1", 0, -1) == ["1", "3"]


@pytest.mark.parametrize("damage", ["a bad entry", "a bad key"])
def test_a_follow_whose_entry_in_following_is_bad_comes_back_from_followers(site, capsys, damage):
    since = site.zscore("followers:1", 2)
    site.delete("following:2")
    if damage == "a bad entry":
        site.zadd("following:2", {"007": since})
    else:
        site.sadd("following:2", 1)
    assert doctor(capsys, "--fix")[0] == 0
    assert site.zrange("following:2", 0, -1, withscores=True) == [("1", since)]
    assert site.zrange("followers:1", 0, -1) == ["2", "3"]
    assert doctor(capsys) == (0, {}, {})


def test_a_follow_that_only_followers_has_is_removed_where_nothing_was_bad_or_lost(site, store, capsys):
    Follows(store).follow(2, 3)
    site.zrem("following:2", 1)
    assert doctor(capsys, "--fix")[0] == 0
    assert site.zrange("following:2", 0, -1) == ["3"]
    assert site.zrange("followers:1", 0, -1) == ["3"]


@pytest.mark.parametrize("value", ["no", "", "-1", "1e9"])
def test_an_account_with_a_bad_deleted_loses_nothing_and_the_report_says_what_to_do(site, browser, capsys, value):
    site.hset("user:1", "deleted", value)
    before = everything(site)
    code, report = report_of(capsys, "--fix")
    call_command("deliver", "--once")
    call_command("cleanup")
    assert code == 1
    [found] = report["errors"]
    assert (found["check"], found["found"], found["repaired"]) == (VALUES, 1, 0)
    assert found["examples"] == [
        f"user:1 has '{value}' as deleted, so the account is hidden. To show it: HDEL user:1 deleted; "
        "or, to delete the account: HSET user:1 deleted 0"
    ]
    kept = ("user:", "post:", "updates:", "following:", "followers:", "users")
    assert {key: before[key] for key in before if key.startswith(kept) and key != "users_by_name"} == {
        key: content for key, content in everything(site).items() if key.startswith(kept) and key != "users_by_name"
    }
    assert browser().get("/@Alice/").status_code in {404, 410}
    site.hdel("user:1", "deleted")
    mends_all(capsys)


def test_after_a_repair_the_report_sends_nobody_to_it_again(site, capsys):
    site.hset("user:1", "deleted", "no")
    for options, conclusion in (
        ([], "errors: 1. Fix them with: manage.py doctor --fix"),
        (["--fix"], "errors: 1. The lines above say what to do."),
    ):
        with pytest.raises((SystemExit, CommandError)):
            call_command("doctor", *options)
        assert conclusion in capsys.readouterr().out


def test_a_follow_of_an_account_with_a_bad_deleted_stays(site, browser, bob, alice, capsys):
    site.hset("user:1", "deleted", "no")
    site.zadd("outbox", {"follow:2:1:abc": LONG_AGO})
    call_command("deliver", "--once")
    assert site.zrange("following:2", 0, -1) == ["1"]


def test_a_bad_deleted_of_a_post_is_kept(site, capsys):
    site.hset("post:3", "deleted", "no")
    doctor(capsys, "--fix")
    assert site.hget("post:3", "deleted") == "0"
    assert site.hgetall("damaged:post:3:values") == {"deleted": "no"}


def test_what_was_kept_first_stays_when_the_same_comes_again(site, capsys):
    for score, entries in ((5, ["?"]), (6, ["?", "9"])):
        site.zadd("updates:1", {"x": score})
        site.delete("posts:2")
        site.rpush("posts:2", *entries)
        assert doctor(capsys, "--fix")[0] == 0
    assert site.hgetall("damaged:updates:1:values") == {"x": "5.0"}
    assert site.lrange("damaged:posts:2", 0, -1) == ["?"]
    assert site.lrange("damaged:posts:2:again:2", 0, -1) == ["?", "9"]
    assert 0 < site.ttl("damaged:posts:2:again:2") <= 30 * 24 * 3600


def test_a_key_that_a_killed_repair_has_kept_is_kept_once(site, store, capsys):
    site.delete("posts:2")
    site.rpush("posts:2", "?")
    store.restore("damaged:posts:2", 60, store.dump("posts:2"))
    assert doctor(capsys, "--fix")[0] == 0
    assert site.lrange("damaged:posts:2", 0, -1) == ["?"]
    assert site.keys("damaged:*") == ["damaged:posts:2"]


def test_the_repair_of_a_score_adds_no_member_that_has_gone_meanwhile(site, store):
    site.zadd("likes:1", {"2": "inf"})
    [finding] = [one for chunk in KeyChecks(store).values().find(["likes:1"]) for one in chunk]
    site.zrem("likes:1", "2")
    finding.repair()
    assert not site.exists("likes:1")


def test_bad_values_are_found_a_bounded_number_at_a_time(site, store, sent):
    site.hset("users", mapping={f"name{number}": "x" for number in range(2 * AT_ONCE + 1)})
    site.delete("posts:2")
    site.rpush("posts:2", "!", *range(1, 2 * AT_ONCE - 2), "?")  # one finding: the list is moved away whole
    before = len(sent.commands)
    check = KeyChecks(store).values()
    chunks = [chunk for _, names in keys_of(store, check.of) for chunk in check.find(names)]
    assert sum(map(len, chunks)) == 2 * AT_ONCE + 2
    assert max(map(len, chunks)) <= AT_ONCE
    reads = [tuple(command) for command in sent.commands[before:] if tuple(command[:2]) == ("LRANGE", "posts:2")]
    assert [last - first for _, _, first, last in reads] == [AT_ONCE - 1] * 2
