"""`doctor` finds every inconsistency, and --fix repairs it and changes nothing else. It reports no error for an
operation that is in progress."""

import contextlib
import itertools
import json
import time
from functools import partial
from itertools import chain

import pytest
from django.contrib.auth import authenticate
from django.core.management import call_command

from accounts.signing_in.viewer import Viewer
from retwis_site.maintenance import checks
from retwis_site.maintenance.checks import AtWork, confirmed, ids
from retwis_site.store import keys
from retwis_site.store.chunks import batches
from retwis_site.store.client import without_gate
from tests.support.command_output import (
    COUNTERS,
    LOST,
    NAMES,
    OVERDUE,
    SECRETS,
    VALUES,
    doctor,
    findings_of,
    finds_and_mends,
    mends_all,
    said,
)
from tests.support.maintenance.healthy_site import ALICE, BOB, CAROL, home_pids
from tests.support.people import LONG_AGO, PASSWORD, SECRET, register
from tests.support.stored_keys import everything, follower_counts, name_entries, ranking
from tests.support.stored_posts import write_posts
from tests.support.stores.seam import before_each_round_trip, killed_before_write
from timeline.posts.entities import PostDeleted
from timeline.posts.evidence import Evidence, Written
from timeline.posts.repository import Posts
from timeline.relations.relations import Bookmarks, Follows, Likes
from timeline.relations.upkeep import RankingChecks
from timeline.timelines.checks import TimelineChecks

pytestmark = pytest.mark.usefixtures("no_waiting")

# The labels of checks.
DEAD = "dead letters"
FOLLOWERS = "entries of followers: missing from following:, or unknown"
FOLLOWING = "entries of following: missing from followers:, or unknown"
GLOBAL = "global timelines that lack a post"
HOMES = "home timelines that lack a post"
LEFT_OUT = "entries of unseen: that are not in the key of which they are"
MISCOUNTED = "wrong counts in users_by_followers"
NAMELESS = "users that no name leads to"
OF_UNKNOWN = "follows of unknown users"
POSTS_OF_UNKNOWN = "posts of unknown users"
SCORES = "scores in users_by_name that are not 0"
STRANGERS = "unknown names in users_by_time"
UNLISTED = "users that users_by_time lacks"
UNRANKED = "members of users_by_followers without followers"
UPDATES = "entries of updates: that do not match a post"
LACKING = "names that users_by_name lacks"


def without_caches(stored):
    """All keys without the timelines, which a repair may drop, and without what it has kept."""
    return {key: value for key, value in stored.items() if not key.startswith(("posts:", "timeline", "damaged:"))}


# Name -> what makes the site inconsistent, and the errors that `doctor` finds. --fix restores every key, and nobody
# gets the uid of an unknown user.
INCONSISTENCIES = {
    "a name is lost": (lambda r: r.hdel("users", "alice"), {NAMELESS: 1, STRANGERS: 1}),
    "all names are lost": (lambda r: r.delete("users"), {NAMELESS: 3, STRANGERS: 3}),
    "a name leads to another user": (lambda r: r.hset("users", "alice", 2), {NAMES: 1, NAMELESS: 1, STRANGERS: 1}),
    "a name leads to an unknown user": (
        lambda r: r.hset("users", "alice", 99),
        {NAMES: 1, NAMELESS: 1, STRANGERS: 1, COUNTERS: 1},
    ),
    "a name leads to something that is not a uid": (
        lambda r: r.hset("users", "alice", "x"),
        {VALUES: 1, NAMELESS: 1, STRANGERS: 1},
    ),
    "a name of no user": (lambda r: r.hset("users", "ghost", 99), {NAMES: 1, COUNTERS: 1}),
    "two names for one user": (lambda r: r.hset("users", "ghost", 2), {NAMES: 1}),
    "a username is the name of another user": (
        lambda r: r.hset("user:2", "username", "carol"),
        {NAMES: 1, NAMELESS: 1, STRANGERS: 1},
    ),
    "a username is gone": (
        lambda r: r.hdel("user:2", "username"),
        {NAMES: 1, NAMELESS: 1, STRANGERS: 1, FOLLOWERS: 1, OF_UNKNOWN: 1, POSTS_OF_UNKNOWN: 1},
    ),
    "a secret is not in auths": (lambda r: r.hdel("auths", r.hget("user:1", "auth")), {SECRETS: 1}),
    "a secret leads to another user": (lambda r: r.hset("auths", r.hget("user:1", "auth"), 2), {SECRETS: 1}),
    "auths is gone": (lambda r: r.delete("auths"), {SECRETS: 3}),
    "an unknown name in users_by_time": (lambda r: r.zadd("users_by_time", {"ghost": 5}), {STRANGERS: 1}),
    "a name in users_by_time in upper case": (lambda r: r.zadd("users_by_time", {"BOB": 5}), {STRANGERS: 1}),
    "a username is not in the index of names": (lambda r: r.zrem("users_by_name", "alice:1"), {LACKING: 1}),
    "a display name is not in the index of names": (lambda r: r.zrem("users_by_name", "carola:3"), {LACKING: 1}),
    "the index of names is gone": (lambda r: r.delete("users_by_name"), {LACKING: 1}),
    "entries of the index of names have other scores": (
        lambda r: r.zadd("users_by_name", {"bob:2": 3, "carola:3": -1}),
        {SCORES: 2},
    ),
    "followers: lacks a follow": (lambda r: r.zrem("followers:1", 2), {FOLLOWING: 1, MISCOUNTED: 1}),
    "followers: is gone": (lambda r: r.delete("followers:1"), {FOLLOWING: 2, UNRANKED: 1}),
    "followers: has a follow too many": (lambda r: r.zadd("followers:3", {"2": 5}), {FOLLOWERS: 1, MISCOUNTED: 1}),
    "a follow of an unknown user": (lambda r: r.zadd("following:1", {"99": 5}), {FOLLOWING: 1}),
    "an unknown follower": (lambda r: r.zadd("followers:1", {"99": 5}), {FOLLOWERS: 1, MISCOUNTED: 1}),
    "a follow that is not a number": (lambda r: r.zadd("following:1", {"x": 5}), {VALUES: 1}),
    "following: of an unknown user": (
        lambda r: r.zadd("following:99", {"1": 5}),
        {OF_UNKNOWN: 1, FOLLOWING: 1, COUNTERS: 1},
    ),
    "followers: of an unknown user": (lambda r: r.zadd("followers:99", {"1": 5}), {OF_UNKNOWN: 1, FOLLOWERS: 1}),
    "a user is ranked too high": (lambda r: r.zadd("users_by_followers", {"1": 3}), {MISCOUNTED: 1}),
    "a user is ranked by a fraction": (lambda r: r.zadd("users_by_followers", {"1": 2.5}), {MISCOUNTED: 1}),
    "the ranking is gone": (lambda r: r.delete("users_by_followers"), {MISCOUNTED: 1}),
    "a user without followers is ranked": (lambda r: r.zadd("users_by_followers", {"2": 1}), {UNRANKED: 1}),
    "a user without followers is ranked with 0": (lambda r: r.zadd("users_by_followers", {"2": 0}), {UNRANKED: 1}),
    "a number leaves out a follower who does not follow": (
        lambda r: r.zadd("unseen:followers:1", {"1": 0}),
        {MISCOUNTED: 1, LEFT_OUT: 1},
    ),
    "unknown users are ranked": (
        lambda r: r.zadd("users_by_followers", {"99": 1, "x": 5, "01": 2, "None": 1}),
        {VALUES: 3, UNRANKED: 1},
    ),
    "updates: of an unknown user": (
        lambda r: r.zadd("updates:99", {"1": 1}),
        {POSTS_OF_UNKNOWN: 1, UPDATES: 1, COUNTERS: 1},
    ),
    "updates: with an unknown post": (lambda r: r.zadd("updates:1", {"90": 90}), {UPDATES: 1}),
    "updates: with a deleted post": (lambda r: r.zadd("updates:1", {"2": 2}), {UPDATES: 1}),
    "updates: with a post of another user": (lambda r: r.zadd("updates:2", {"1": 1}), {UPDATES: 1}),
    "updates: with an entry that is not a number": (lambda r: r.zadd("updates:2", {"x": 1}), {VALUES: 1}),
    "updates: with a wrong score": (lambda r: r.zadd("updates:1", {"1": 77}), {UPDATES: 1, VALUES: 1}),
    "a post without an author": (lambda r: r.hdel("post:1", "user_id"), {UPDATES: 1}),
    "updates: lacks a post": (lambda r: r.zrem("updates:1", 1), {LOST: 1}),
    "updates: is gone": (lambda r: r.delete("updates:1"), {LOST: 2}),
    "a home timeline lacks a post": (lambda r: r.lrem("posts:2", 0, 3), {HOMES: 1}),
    "the global timeline lacks a post": (lambda r: r.lrem("timeline", 0, 3), {GLOBAL: 1}),
    "an overdue job of an unknown kind": (lambda r: r.zadd("outbox", {"unknown:7": LONG_AGO}), {OVERDUE: 1}),
    "overdue jobs with malformed names": (
        lambda r: r.zadd("outbox", {"post": LONG_AGO, "del:x:y": LONG_AGO}),
        {OVERDUE: 2},
    ),
    "a dead letter of an unknown kind": (lambda r: r.zadd("set_aside", {"unknown:7": LONG_AGO}), {DEAD: 1}),
    "a counter is behind": (lambda r: r.set("next_post_id", 2), {COUNTERS: 1}),
    "a counter is gone": (lambda r: r.delete("next_user_id"), {COUNTERS: 1}),
    "a counter is not a number": (lambda r: r.set("next_user_id", "x"), {COUNTERS: 1}),
}


def test_posts_are_put_back_in_whatever_order_they_are_found(site, store, capsys, monkeypatch):
    """A timeline knows only the newest post. After it is put back, nothing tells that its author had losses."""

    def newest_first(store, names):
        for number in sorted(chain.from_iterable(ids(store, names)), reverse=True):
            yield [number]

    monkeypatch.setattr(checks, "ids", newest_first)
    before = site.zrange("updates:1", 0, -1)
    site.delete("updates:1")
    assert doctor(capsys, "--fix")[0] == 0
    assert site.zrange("updates:1", 0, -1) == before


@pytest.mark.parametrize("case", INCONSISTENCIES)
def test_every_inconsistency_is_found_and_repaired(site, store, capsys, case):
    before = without_caches(everything(site))
    make_inconsistent, expected = INCONSISTENCIES[case]
    make_inconsistent(site)
    inconsistent = everything(site)
    assert doctor(capsys)[:2] == (1, expected)
    assert everything(site) == inconsistent
    mends_all(capsys)
    raised = {"next_user_id": "99"} if COUNTERS in expected and case.endswith(": of an unknown user") else {}
    assert without_caches(everything(site)) == before | raised


def test_a_lost_account_keeps_its_name_posts_and_followers_and_needs_a_new_password(site, store, capsys, typed):
    site.delete("user:1")
    assert doctor(capsys)[0] == 1
    mends_all(capsys)
    assert site.hget("user:1", "username") == "alice"
    assert site.zrange("updates:1", 0, -1) == ["1", "3"]
    assert site.zrange("followers:1", 0, -1) == ["2", "3"]
    assert authenticate(None, username="alice", password=PASSWORD) is None
    typed("a battery of horses\n")
    call_command("changepassword", "alice", verbosity=0)
    assert authenticate(None, username="alice", password="a battery of horses").user.uid == ALICE


def test_a_lost_account_that_only_likes_and_bookmarks_keeps_its_name_and_these(site, store, capsys):
    dave = register(store, "dave").user
    Likes(store).like(dave.uid, 1, ALICE)
    Bookmarks(store).add(dave.uid, 3, ALICE)
    before = without_caches(everything(site))
    site.delete("user:4")
    mends_all(capsys)
    assert site.hget("user:4", "username") == "dave"
    after = without_caches(everything(site))
    assert {key for key in before if before[key] != after[key]} == {"user:4", "auths"}


def test_what_users_without_a_hash_and_a_name_have_is_kept(site, capsys):
    site.zadd("bookmarks:99", {"1": LONG_AGO})
    assert doctor(capsys, "--fix")[0] == 0
    assert not site.exists("bookmarks:99")
    assert site.zrange("damaged:bookmarks:99", 0, -1) == ["1"]


def test_the_second_of_two_users_with_the_same_name_gets_another_name(site, store, capsys):
    site.hset("user:3", "username", "alice")
    site.hdel("users", "carol")
    assert doctor(capsys)[1][NAMELESS] == 1
    mends_all(capsys)
    assert site.hgetall("users") == {"alice": "1", "bob": "2", "alice_3": "3"}
    assert authenticate(None, username="alice_3", password=PASSWORD).user.uid == CAROL


def test_the_second_of_two_users_with_the_same_secret_gets_another_secret(site, store, capsys, alice):
    site.hset("user:2", "auth", alice.secret)
    finds_and_mends(capsys, {SECRETS: 1})
    assert Viewer(store, alice.secret).user.uid == ALICE
    assert Viewer(store, site.hget("user:2", "auth")).user.uid == BOB


def test_a_user_missing_from_users_by_time_gets_the_time_of_the_previous_user(site, capsys):
    site.zadd("users_by_time", {"Alice": LONG_AGO})
    site.zrem("users_by_time", "bob")
    finds_and_mends(capsys, {UNLISTED: 1})
    assert site.zscore("users_by_time", "bob") == LONG_AGO


def test_a_post_that_lost_its_text_is_deleted(site, capsys):
    site.hdel("post:1", "body")
    finds_and_mends(capsys, {UPDATES: 1})
    assert site.hexists("post:1", "deleted")
    assert site.zrange("updates:1", 0, -1) == ["3"]


def test_an_edited_post_that_lost_its_text_has_the_newest_again(site, store, capsys):
    Posts(store).edit(ALICE, 1, "The second text")
    site.hdel("post:1", "body")
    mends_all(capsys)
    assert site.hmget("post:1", "body", "deleted") == ["The second text", None]


def test_a_post_with_pictures_that_lost_its_text_stays_without_one(site, capsys):
    site.hset("post:1", "media", json.dumps({"pictures": [["a" * 40, 1, 1]]}))
    site.hdel("post:1", "body")
    doctor(capsys, "--fix")
    assert site.hmget("post:1", "body", "deleted") == ["", None]


def test_a_user_missing_from_the_ranking_is_added(site, store, capsys):
    Follows(store).follow(ALICE, BOB)
    site.zrem("users_by_followers", ALICE)
    assert doctor(capsys)[1] == {MISCOUNTED: 1}
    assert ranking(site) == {"2": 1}
    assert doctor(capsys, "--fix")[0] == 0
    assert ranking(site) == follower_counts(site) == {"1": 2, "2": 1}


def test_a_missing_ranking_is_one_finding_and_is_rebuilt(site, store, capsys):
    for follower, followed in ((ALICE, BOB), (ALICE, CAROL), (BOB, CAROL)):
        Follows(store).follow(follower, followed)
    site.delete("users_by_followers")
    site.zadd("followers:99", {"1": 5})
    assert doctor(capsys)[1] == {OF_UNKNOWN: 1, FOLLOWERS: 1, MISCOUNTED: 1}
    assert "there is no users_by_followers" in said(capsys, "doctor", "--fix")
    assert ranking(site) == {"1": 2, "2": 1, "3": 2}
    assert doctor(capsys) == (0, {}, {})


@pytest.mark.parametrize(
    "lost", [("reposts:2", "updates:2"), ("replies_to:2", "thread:1"), ("replies_to:1", "replies_to:2")], ids="+".join
)
def test_one_run_repairs_also_what_only_a_repair_brings_to_light(full_site, capsys, lost):
    doctor(capsys, "--fix")
    full_site.delete(*lost)
    mends_all(capsys)


@pytest.fixture
def without_updates(site):
    """carol's `updates:` is lost. Only of post 30 something tells that it was published: alice likes it."""
    write_posts(site, CAROL, range(10, 60))
    site.zadd("likes:1", {"30": LONG_AGO})
    site.zadd("liked_by:30", {"1": LONG_AGO})
    site.hset("post:30", "likes", 1)
    site.delete("updates:3")
    return site


def test_one_published_post_tells_that_all_missing_posts_of_its_author_are_lost(without_updates, capsys):
    """The other posts were orphans, and the same repair removed them."""
    assert doctor(capsys) == (1, {LOST: 50}, {})
    assert doctor(capsys, "--fix")[0] == 0
    assert without_updates.zrange("updates:3", 0, -1) == [str(pid) for pid in range(10, 60)]
    assert doctor(capsys) == (0, {}, {})


def test_posts_that_are_put_back_drop_the_homes_of_followers_once(without_updates, store, capsys, round_trips):
    """However many they are: 20,000 posts of an author with 20,000 followers were eight million UNLINKs."""
    Follows(store).follow(ALICE, CAROL)
    write_posts(without_updates, CAROL, range(60, 200))
    without_updates.delete("updates:3")
    without_updates.rpush(f"posts:{ALICE}", "30")
    recorded = round_trips(lambda: doctor(capsys, "--fix"))
    assert recorded.commands.count(("UNLINK", f"posts:{ALICE}")) == 1
    assert not without_updates.exists(f"posts:{ALICE}")
    assert doctor(capsys) == (0, {}, {})


@pytest.mark.parametrize("writes", range(20, 400, 60))
def test_after_a_kill_the_other_posts_of_an_author_with_losses_are_still_put_back(without_updates, capsys, writes):
    """What told of the losses may be put back by then: nothing else tells these posts from orphans."""
    write_posts(without_updates, CAROL, range(60, 200))
    without_updates.delete("updates:3")
    assert killed_before_write(writes, lambda: doctor(capsys, "--fix"))
    without_updates.delete("outbox")
    assert doctor(capsys, "--fix")[0] == 0
    assert without_updates.zrange("updates:3", 0, -1) == [str(pid) for pid in range(10, 200)]


@pytest.mark.parametrize("writes", [10, 30, 60])
def test_after_a_kill_the_posts_of_other_authors_with_losses_are_still_put_back(site, capsys, monkeypatch, writes):
    """The global timeline alone told of these losses, and the first post that is put back drops it."""
    monkeypatch.setattr(checks, "AT_ONCE", 5)
    written = {author: [*range(first, first + 10)] for author, first in ((ALICE, 10), (BOB, 30), (CAROL, 50))}
    for author, pids in written.items():
        write_posts(site, author, pids)
        site.lpush("timeline", pids[-1])
        site.delete(f"updates:{author}")
    assert killed_before_write(writes, lambda: doctor(capsys, "--fix"))
    site.delete("outbox")
    assert doctor(capsys, "--fix")[0] == 0
    for author, pids in written.items():
        assert {*map(str, pids)} <= {*site.zrange(f"updates:{author}", 0, -1)}


def test_the_lost_posts_of_many_authors_do_not_each_read_the_outbox(raw, capsys, round_trips):
    """What is put back waits there for the search index, so it grows: at last, an author read 20,000 jobs."""
    call_command("seed", "--users=60", "--posts=400", "--follows=4", verbosity=0)
    for key in raw.keys("updates:*"):
        raw.zremrangebyrank(key, 0, 0)
    recorded = round_trips(lambda: doctor(capsys, "--fix"))
    assert sum(command[:2] == ("ZSCAN", "outbox") for command in recorded.commands) < 20


def test_posts_without_an_author_do_not_each_read_the_posts_of_all_users(raw, capsys, monkeypatch, round_trips):
    call_command("seed", "--users=60", "--posts=400", "--follows=4", verbosity=0)
    for key in raw.keys("post:*[05]"):
        raw.zrem(f"updates:{raw.hget(key, 'user_id')}", key.removeprefix("post:"))
        raw.hdel(key, "user_id")
    monkeypatch.setattr(checks, "ids", lambda store, names: batches(chain.from_iterable(ids(store, names)), 10))
    recorded = round_trips(lambda: doctor(capsys))
    looked_for = [command for command in recorded.commands if command[0] == "ZMSCORE" and "updates:" in command[1]]
    assert len(looked_for) <= 2 * len(raw.keys("updates:*"))  # in two looks


def test_cleanup_leaves_the_posts_of_an_author_with_a_lost_post(without_updates, capsys):
    assert "orphaned post: hashes: 0 found" in said(capsys, "cleanup")
    assert len(without_updates.keys("post:[1-5][0-9]")) == 50


def published(store):
    store.zadd(keys.updates(ALICE), {"3": 3})
    store.zadd(keys.liked_by(3), {"2": LONG_AGO})


def deleted(store):
    Posts(store).delete(ALICE, 3)


@pytest.mark.parametrize("happens", [published, deleted])
def test_what_happens_to_a_post_while_doctor_looks_tells_of_no_losses(site, store, happens):
    site.hset("post:50", mapping={"user_id": "1", "time": LONG_AGO, "body": "Never sent"})
    site.zrem("updates:1", 3)
    evidence = Evidence(store)
    assert evidence.unlisted([3]) == [(3, ALICE)]
    happens(store)
    site.rpush("timeline", "3")
    assert evidence.published([Written(3, ALICE), Written(50, ALICE)]) == {(3, ALICE)}


def test_a_large_ranking_and_a_large_index_of_names_are_rebuilt_in_few_round_trips(raw, capsys, round_trips):
    call_command("seed", "--users=300", "--posts=1", "--follows=10", verbosity=0)
    before = raw.zrange("users_by_followers", 0, -1, withscores=True)
    healthy = len(round_trips(lambda: call_command("doctor", verbosity=0)).round_trips)
    names = name_entries(raw)
    raw.delete("users_by_followers", "users_by_name")
    assert len(round_trips(lambda: call_command("doctor", "--fix", verbosity=0)).round_trips) < 2 * healthy + 50
    assert name_entries(raw) == names
    assert raw.zrange("users_by_followers", 0, -1, withscores=True) == before


@pytest.mark.parametrize(
    ("when", "seconds"),
    [
        ("yesterday", "0"),
        ("", "0"),
        ("1400000000.5", "1400000000"),
        ("1400000000500", "1400000000"),
        ("2014-05-13 16:53:20", "1400000000"),
    ],
)
def test_a_post_without_a_valid_time_gets_the_one_that_its_text_says(site, capsys, browser, when, seconds):
    site.hset("post:1", "time", when)
    finds_and_mends(capsys, {UPDATES: 1})
    assert site.hget("post:1", "time") == seconds
    assert browser().get("/@Alice/1/").status_code == 200


def test_a_restored_post_is_in_the_home_timelines_of_followers_again(site, store, bob, capsys):
    site.zrem("updates:1", 3)
    site.delete("posts:2")
    assert home_pids(store, bob) == [4, 1]
    assert doctor(capsys, "--fix")[0] == 0
    assert home_pids(store, bob) == [4, 3, 1]


# ---- in progress


# Job in the outbox -> the state in which its operation leaves the keys before it is finished.
IN_PROGRESS = {
    "user:4": lambda r: (r.hset("user:4", mapping={"username": "dora", "auth": SECRET}), r.hset("users", "dora", 4)),
    "follow:1:3:abc": lambda r: r.zadd("following:1", {"3": 5}),
    "follow:2:1:abc": lambda r: r.zrem("following:2", 1),
    "follow:3:2:abc": lambda r: (r.zadd("following:3", {"2": 5}), r.zadd("followers:2", {"3": 5})),
    "auth:1:old:abc": lambda r: r.hset("user:1", "auth", SECRET),
    "name:1::abc": lambda r: r.hset("user:1", "name", "Ann"),
    "del:1:1:abc": lambda r: r.hset("post:1", mapping={"deleted": LONG_AGO, "body": ""}),
    "post:3:abc": lambda r: r.zrem("updates:1", 3),
    "fan:3:abc": lambda r: r.lrem("posts:2", 0, 3),
}


@pytest.mark.parametrize("job", IN_PROGRESS)
def test_an_operation_in_progress_is_no_error(site, capsys, job):
    site.set("next_user_id", 4)
    site.zadd("outbox", {job: int(time.time()) + 60})
    IN_PROGRESS[job](site)
    assert doctor(capsys, "--fix")[:2] == (0, {})
    site.delete("outbox")
    assert doctor(capsys)[0] == 1


def test_the_outbox_is_read_again_only_for_what_its_last_jobs_do_not_explain(raw, store, round_trips):
    def confirm(*pids):
        return confirmed(store, pids, list, lambda pid: {f"like:1:{pid}"})

    raw.zadd("outbox", {f"like:1:{pid}:abc": 1 for pid in (2, 3)})
    assert confirm(2) == []
    assert round_trips(lambda: confirm(2, 3)).round_trips == []
    raw.zadd("outbox", {"like:1:4:abc": 1})
    assert confirm(2, 3, 4, 5) == [5]


def test_what_jobs_are_at_work_on_is_found_out_once_and_only_where_no_name_says_it(raw, store):
    asked = []

    def liked(_, under_way):
        asked.append(under_way)
        return {int(job.split(":")[2]) for job in under_way if job.count(":") == 2}

    def confirm(*pids):
        return confirmed(store, pids, list, lambda pid: {f"like:1:{pid}:abc", AtWork(liked, pid - 100)})

    raw.zadd("outbox", {f"like:1:{pid}:abc": 1 for pid in (2, 3)})
    assert confirm(2, 3) == []
    assert asked == []
    assert confirm(102, 103) == []
    assert len(asked) == 1
    assert confirm(104) == [104]


def test_the_outbox_is_not_read_for_each_home_that_lacks_nothing(site, store, round_trips):
    checks = TimelineChecks(store).inconsistencies()
    recorded = round_trips(lambda: findings_of(store, checks, "home timelines that lack a post"))
    sent = [command[:2] for command in recorded.commands]
    assert ("LRANGE", keys.home(BOB)) in sent
    assert ("ZSCAN", keys.outbox.all()[0]) not in sent


def test_the_jobs_of_one_store_explain_nothing_in_another(raw, store):
    def confirm(store):
        return confirmed(store, [2], list, lambda pid: {f"like:1:{pid}"})

    raw.zadd("outbox", {"like:1:2:abc": 1})
    assert confirm(store) == []
    raw.delete("outbox")
    assert confirm(without_gate()) == [2]


def test_a_post_deleted_while_doctor_reads_it_is_no_error(site, store, capsys, monkeypatch):
    """It is deleted between the two reads, and its job is finished by the second."""
    real = Evidence.published

    def read_then_delete(self, missing):
        answer = real(self, missing)
        for pid, _ in missing:
            site.hset(f"post:{pid}", mapping={"deleted": LONG_AGO, "body": ""})
            site.expire(f"post:{pid}", 1000)
        return answer

    site.zrem("updates:1", 3)
    monkeypatch.setattr(Evidence, "published", read_then_delete)
    assert doctor(capsys)[:2] == (0, {})


def test_a_user_who_gets_followers_all_the_time_is_not_miscounted(site, store):
    """Each read finds the ranking one follower behind. The job of that follow is not in the outbox."""
    uids = itertools.count(100)

    def finish_one_follow_and_begin_another():
        uid = next(uids)
        site.zadd("users_by_followers", {"1": site.zcard("followers:1")})
        site.hset(f"user:{uid}", "username", f"follower{uid}")
        site.zadd("followers:1", {uid: 5})

    with before_each_round_trip(finish_one_follow_and_begin_another):
        findings = findings_of(store, RankingChecks(store).inconsistencies(), MISCOUNTED)
    assert findings == []
    assert next(uids) > 103


@pytest.mark.parametrize(
    "operation",
    [
        lambda store: Follows(store).unfollow(BOB, ALICE),
        lambda store: Posts(store).delete(ALICE, 1),
        lambda store: Follows(store).follow(ALICE, BOB),
    ],
    ids=["an unfollow", "a deletion", "a follow"],
)
def test_an_operation_between_reading_and_comparing_is_no_error(site, store, capsys, monkeypatch, operation):
    """Sets are read in chunks. A member may be gone when `doctor` compares it with the mirror."""

    def read_then_operate(read, store, names):
        chunks = list(read(store, names))
        with contextlib.suppress(PostDeleted):
            operation(store)
        yield from chunks

    for read in ("members", "pairs"):
        monkeypatch.setattr(checks, read, partial(read_then_operate, getattr(checks, read)))
    assert doctor(capsys)[:2] == (0, {})
