"""`doctor`: whatever is damaged is found and put right, and nothing else is."""

import contextlib
import json
import time

import pytest
from django.contrib.auth import authenticate
from django.core.management import call_command

from accounts.signing_in.viewer import Viewer
from accounts.users.name_index import NameIndex
from retwis_site.jobs.worker import ATTEMPTS, drain
from tests.support.command_output import said
from tests.support.people import LONG_AGO, PASSWORD, SECRET
from tests.support.stored_keys import everything, follower_counts, name_entries, publish, ranking
from timeline.posts.checks import post_checks
from timeline.posts.checks.post_checks import PostChecks
from timeline.posts.entities import PostDeleted
from timeline.posts.repository import Posts
from timeline.relations.checks import follow_checks, ranking_checks
from timeline.relations.follow import Follows
from timeline.timelines.everyone import GlobalTimeline
from timeline.timelines.home import Homes

ALICE, BOB, CAROL = 1, 2, 3


@pytest.fixture
def site(raw, store, alice, bob, carol):
    """A healthy site: bob and carol follow alice; posts 1 and 3 are alice's, 2 was deleted, 4 is bob's."""
    Follows(store).follow(BOB, ALICE)
    Follows(store).follow(CAROL, ALICE)
    publish(raw, store, alice, "First")
    deleted = publish(raw, store, alice, "Second")
    publish(raw, store, alice, "Third")
    publish(raw, store, bob, "Fourth")
    Posts(store).delete(ALICE, deleted)
    raw.lrem("timeline", 0, deleted)
    for login in (alice, bob, carol):
        home(store, login)
    GlobalTimeline(store).page(Viewer(store, ""), None, 50)
    NameIndex(store).edit(carol.user, "Carola", "")
    raw.set("celery", "not ours")
    raw.hset("user:settings", "theme", "dark")
    return raw


@pytest.fixture(autouse=True)
def nobody_is_at_work(monkeypatch):
    """So nothing is gained by waiting for posts that are seconds old."""
    monkeypatch.setattr("timeline.posts.checks.post_orphans.time.sleep", lambda seconds: None)


def home(store, login):
    return [post.pid for post in Homes(store).page(Viewer(store, login.secret), None).page.posts]


def doctor(capsys, *options):
    """Exit code, and what was found: label -> how many errors, and how many pieces of debris."""
    capsys.readouterr()
    code = 0
    try:
        call_command("doctor", "--json", *options)
    except SystemExit as exit:
        code = exit.code
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] == (code == 0)
    errors = {one["check"]: one["found"] for one in report["errors"]}
    assert [one["stopped"] for one in report["errors"] if one["stopped"]] == []
    return code, errors, {one["check"]: one["found"] for one in report["debris"]}


def caches_aside(kept):
    """Everything but timelines, which may be dropped to be rebuilt."""
    return {key: value for key, value in kept.items() if not key.startswith(("posts:", "timeline"))}


NAMES = "names that lead to no user or to another user"
NAMELESS = "users that no name leads to"
SECRETS = "secrets that auths lacks"
UNLISTED = "users that users_by_time lacks"
STRANGERS = "unknown names in users_by_time"
LACKING = "names that users_by_name lacks"
SCORES = "scores in users_by_name that are not 0"
STALE = "stale entries in users_by_name"
OF_UNKNOWN = "follows of unknown users"
POSTS_OF_UNKNOWN = "posts of unknown users"
FOLLOWING = "entries of following: missing from followers:, or unknown"
FOLLOWERS = "entries of followers: missing from following:, or unknown"
MISCOUNTED = "wrong counts in users_by_followers"
UNRANKED = "members of users_by_followers without followers"
UPDATES = "entries of updates: that do not match a post"
LOST = "posts missing from their author's updates:"
HOMES = "home timelines that lack a post"
GLOBAL = "global timelines that lack a post"
OVERDUE = "overdue jobs"
DEAD = "dead letters"
COUNTERS = "counters below the largest id"
TYPES = "keys of the wrong type"

# What is done to the store, and what is found then. Repaired, every key is what it was before.
UNDONE = {
    "a name is lost": (lambda r: r.hdel("users", "alice"), {NAMELESS: 1, STRANGERS: 1}),
    "all names are lost": (lambda r: r.delete("users"), {NAMELESS: 3, STRANGERS: 3}),
    "a name leads to another user": (lambda r: r.hset("users", "alice", 2), {NAMES: 1, NAMELESS: 1, STRANGERS: 1}),
    "a name leads to no user": (
        lambda r: r.hset("users", "alice", 99),
        {NAMES: 1, NAMELESS: 1, STRANGERS: 1, COUNTERS: 1},
    ),
    "a name leads to no number": (lambda r: r.hset("users", "alice", "x"), {NAMES: 1, NAMELESS: 1, STRANGERS: 1}),
    "nobody's name": (lambda r: r.hset("users", "ghost", 99), {NAMES: 1, COUNTERS: 1}),
    "two names for one user": (lambda r: r.hset("users", "ghost", 2), {NAMES: 1}),
    "a username is another's": (lambda r: r.hset("user:2", "username", "carol"), {NAMES: 1, NAMELESS: 1, STRANGERS: 1}),
    "a username is gone": (
        lambda r: r.hdel("user:2", "username"),
        {NAMES: 1, NAMELESS: 1, STRANGERS: 1, FOLLOWERS: 1, OF_UNKNOWN: 1, POSTS_OF_UNKNOWN: 1},
    ),
    "a secret is not in auths": (lambda r: r.hdel("auths", r.hget("user:1", "auth")), {SECRETS: 1}),
    "a secret leads to another user": (lambda r: r.hset("auths", r.hget("user:1", "auth"), 2), {SECRETS: 1}),
    "auths is gone": (lambda r: r.delete("auths"), {SECRETS: 3}),
    "a stranger among the newest": (lambda r: r.zadd("users_by_time", {"ghost": 5}), {STRANGERS: 1}),
    "a newest user in other letters": (lambda r: r.zadd("users_by_time", {"BOB": 5}), {STRANGERS: 1}),
    "somebody is not found by name": (lambda r: r.zrem("users_by_name", "alice:1"), {LACKING: 1}),
    "one of two who are found by two names is not": (lambda r: r.zrem("users_by_name", "carola:3"), {LACKING: 1}),
    "nobody is found by name": (lambda r: r.delete("users_by_name"), {LACKING: 1}),
    "an entry has another place": (lambda r: r.zadd("users_by_name", {"bob:2": 3, "carola:3": -1}), {SCORES: 2}),
    "a mirror lacks an edge": (lambda r: r.zrem("followers:1", 2), {FOLLOWING: 1, MISCOUNTED: 1}),
    "a mirror is gone": (lambda r: r.delete("followers:1"), {FOLLOWING: 2, UNRANKED: 1}),
    "a mirror has an edge too many": (lambda r: r.zadd("followers:3", {"1": 5}), {FOLLOWERS: 1, MISCOUNTED: 1}),
    "an edge to nobody": (lambda r: r.zadd("following:1", {"99": 5}), {FOLLOWING: 1}),
    "an edge of nobody": (lambda r: r.zadd("followers:1", {"99": 5}), {FOLLOWERS: 1, MISCOUNTED: 1}),
    "an edge to no number": (lambda r: r.zadd("following:1", {"x": 5}), {FOLLOWING: 1}),
    "what nobody follows": (lambda r: r.zadd("following:99", {"1": 5}), {OF_UNKNOWN: 1, FOLLOWING: 1}),
    "whom nobody follows": (lambda r: r.zadd("followers:99", {"1": 5}), {OF_UNKNOWN: 1, FOLLOWERS: 1}),
    "somebody is ranked too high": (lambda r: r.zadd("users_by_followers", {"1": 3}), {MISCOUNTED: 1}),
    "somebody is ranked by a fraction": (lambda r: r.zadd("users_by_followers", {"1": 2.5}), {MISCOUNTED: 1}),
    "the ranking is gone": (lambda r: r.delete("users_by_followers"), {MISCOUNTED: 1}),
    "whom nobody follows is ranked": (lambda r: r.zadd("users_by_followers", {"2": 1}), {UNRANKED: 1}),
    "whom nobody follows is ranked with none": (lambda r: r.zadd("users_by_followers", {"2": 0}), {UNRANKED: 1}),
    "nobody is ranked": (lambda r: r.zadd("users_by_followers", {"99": 1, "x": 5, "01": 2, "None": 1}), {UNRANKED: 4}),
    "posts of nobody": (lambda r: r.zadd("updates:99", {"1": 1}), {POSTS_OF_UNKNOWN: 1, UPDATES: 1}),
    "updates: with a post that never was": (lambda r: r.zadd("updates:1", {"90": 90}), {UPDATES: 1}),
    "updates: with a deleted post": (lambda r: r.zadd("updates:1", {"2": 2}), {UPDATES: 1}),
    "updates: with another's post": (lambda r: r.zadd("updates:2", {"1": 1}), {UPDATES: 1}),
    "updates: with no number": (lambda r: r.zadd("updates:2", {"x": 1}), {UPDATES: 1}),
    "updates: with a wrong score": (lambda r: r.zadd("updates:1", {"1": 77}), {UPDATES: 1}),
    "a post without an author": (lambda r: r.hdel("post:1", "user_id"), {UPDATES: 1}),
    "updates: lacks a post": (lambda r: r.zrem("updates:1", 1), {LOST: 1}),
    "updates: is gone": (lambda r: r.delete("updates:1"), {LOST: 2}),
    "a home lacks a post": (lambda r: r.lrem("posts:2", 0, 3), {HOMES: 1}),
    "the global timeline lacks a post": (lambda r: r.lrem("timeline", 0, 3), {GLOBAL: 1}),
    "an unknown intent": (lambda r: r.zadd("outbox", {"unknown:7": LONG_AGO}), {OVERDUE: 1}),
    "an intent that is none": (lambda r: r.zadd("outbox", {"post": LONG_AGO, "del:x:y": LONG_AGO}), {OVERDUE: 2}),
    "an unknown intent, set aside": (lambda r: r.zadd("set_aside", {"unknown:7": LONG_AGO}), {DEAD: 1}),
    "a counter is behind": (lambda r: r.set("next_post_id", 2), {COUNTERS: 1}),
    "a counter is gone": (lambda r: r.delete("next_user_id"), {COUNTERS: 1}),
    "a counter is no number": (lambda r: r.set("next_user_id", "x"), {COUNTERS: 1}),
}


def test_a_healthy_site_has_no_errors_and_is_left_alone(site, capsys):
    before = everything(site)
    for option in ([], ["--fix"]):
        assert doctor(capsys, *option) == (0, {}, {})
    assert everything(site) == before


def test_an_empty_store_has_no_errors(raw, capsys):
    assert doctor(capsys, "--fix") == (0, {}, {})
    assert everything(raw) == {}


@pytest.mark.parametrize("damage", UNDONE)
def test_damage_is_found_and_undone(site, store, capsys, damage):
    before = caches_aside(everything(site))
    harm, expected = UNDONE[damage]
    harm(site)
    harmed = everything(site)
    code, errors, _ = doctor(capsys)
    assert code == 1
    assert everything(site) == harmed
    assert errors == expected
    assert doctor(capsys, "--fix")[0] == 0
    assert doctor(capsys) == (0, {}, {})
    after = caches_aside(everything(site))
    assert after == before


def test_a_lost_account_keeps_its_name_posts_and_followers_and_waits_for_a_password(site, store, capsys, typed):
    site.delete("user:1")
    assert doctor(capsys)[0] == 1
    assert doctor(capsys, "--fix")[0] == 0
    assert doctor(capsys)[:2] == (0, {})
    assert site.hget("user:1", "username") == "alice"
    assert site.zrange("updates:1", 0, -1) == ["1", "3"]
    assert site.zrange("followers:1", 0, -1) == ["2", "3"]
    assert authenticate(None, username="alice", password=PASSWORD) is None
    typed("a battery of horses\n")
    call_command("changepassword", "alice", verbosity=0)
    assert authenticate(None, username="alice", password="a battery of horses").user.uid == ALICE


def test_of_two_users_with_one_name_the_second_gets_another(site, store, capsys):
    site.hset("user:3", "username", "alice")
    site.hdel("users", "carol")
    assert doctor(capsys)[1][NAMELESS] == 1
    assert doctor(capsys, "--fix")[0] == 0
    assert doctor(capsys)[:2] == (0, {})
    assert site.hgetall("users") == {"alice": "1", "bob": "2", "alice_3": "3"}
    assert authenticate(None, username="alice_3", password=PASSWORD).user.uid == CAROL


def test_of_two_users_with_one_secret_the_second_gets_another(site, store, capsys, alice):
    site.hset("user:2", "auth", alice.secret)
    assert doctor(capsys)[1] == {SECRETS: 1}
    assert doctor(capsys, "--fix")[0] == 0
    assert doctor(capsys) == (0, {}, {})
    assert Viewer(store, alice.secret).user.uid == ALICE
    assert Viewer(store, site.hget("user:2", "auth")).user.uid == BOB


def test_a_user_missing_from_the_newest_gets_about_the_time_of_the_one_before(site, capsys):
    site.zadd("users_by_time", {"Alice": LONG_AGO})
    site.zrem("users_by_time", "bob")
    assert doctor(capsys)[1] == {UNLISTED: 1}
    assert doctor(capsys, "--fix")[0] == 0
    assert site.zscore("users_by_time", "bob") == LONG_AGO


def test_a_post_that_lost_its_text_is_deleted(site, capsys):
    site.hdel("post:1", "body")
    assert doctor(capsys)[1] == {UPDATES: 1}
    assert doctor(capsys, "--fix")[0] == 0
    assert doctor(capsys) == (0, {}, {})
    assert site.hexists("post:1", "deleted")
    assert site.zrange("updates:1", 0, -1) == ["3"]


def test_of_two_whom_others_follow_one_is_not_ranked(site, store, capsys):
    Follows(store).follow(ALICE, BOB)
    site.zrem("users_by_followers", ALICE)
    assert doctor(capsys)[1] == {MISCOUNTED: 1}
    assert ranking(site) == {"2": 1}
    assert doctor(capsys, "--fix")[0] == 0
    assert ranking(site) == follower_counts(site) == {"1": 2, "2": 1}


def test_a_ranking_that_is_gone_is_one_finding_and_is_made_of_all_who_exist(site, store, capsys):
    for me, them in ((ALICE, BOB), (ALICE, CAROL), (BOB, CAROL)):
        Follows(store).follow(me, them)
    site.delete("users_by_followers")
    site.zadd("followers:99", {"1": 5})
    assert doctor(capsys)[1] == {OF_UNKNOWN: 1, FOLLOWERS: 1, MISCOUNTED: 1}
    assert "there is no users_by_followers" in said(capsys, "doctor", "--fix")
    assert ranking(site) == {"1": 2, "2": 1, "3": 2}
    assert doctor(capsys) == (0, {}, {})


def test_a_large_ranking_and_a_large_index_of_names_are_made_in_few_round_trips(raw, capsys, round_trips):
    call_command("seed", "--users=300", "--posts=1", "--follows=10", verbosity=0)
    before = raw.zrange("users_by_followers", 0, -1, withscores=True)
    healthy = len(round_trips(lambda: call_command("doctor", verbosity=0)).round_trips)
    names = name_entries(raw)
    raw.delete("users_by_followers", "users_by_name")
    assert len(round_trips(lambda: call_command("doctor", "--fix", verbosity=0)).round_trips) < healthy + 50
    assert name_entries(raw) == names
    assert raw.zrange("users_by_followers", 0, -1, withscores=True) == before


@pytest.mark.parametrize("when", ["yesterday", ""])
def test_a_post_whose_time_is_none_is_given_one(site, capsys, browser, when):
    site.hset("post:1", "time", when)
    assert doctor(capsys)[1] == {UPDATES: 1}
    assert doctor(capsys, "--fix")[0] == 0
    assert browser().get("/@Alice/1/").status_code == 200


def test_a_post_that_was_put_back_is_in_its_followers_homes_again(site, store, bob, capsys):
    site.zrem("updates:1", 3)
    site.delete("posts:2")
    assert home(store, bob) == [4, 1]
    assert doctor(capsys, "--fix")[0] == 0
    assert home(store, bob) == [4, 3, 1]


@pytest.mark.parametrize(
    "key",
    [
        "user:1",
        "users",
        "auths",
        "following:2",
        "followers:1",
        "users_by_name",
        "users_by_followers",
        "posts:1",
        "timeline",
    ],
)
def test_what_stands_in_a_keys_place_is_put_away(site, capsys, key):
    site.delete(key)
    (site.zadd if key == "users" else site.sadd)(key, *([{"x": 1}] if key == "users" else ["x"]))
    with pytest.raises(SystemExit):
        call_command("doctor")
    said_first = capsys.readouterr().out
    assert f"{key} is a" in said_first
    assert doctor(capsys, "--fix")[0] == 0
    assert doctor(capsys)[:2] == (0, {})
    assert site.type(f"damaged:{key}") == ("zset" if key == "users" else "set")
    assert 0 < site.ttl(f"damaged:{key}") <= 30 * 24 * 3600


def test_keys_that_are_not_ours_are_never_put_away(site, capsys):
    site.sadd("user:sessions", "x")
    site.sadd("user:7:friends", "x")
    site.sadd("post:drafts:7", "x")
    assert doctor(capsys, "--fix") == (0, {}, {})
    assert site.type("post:drafts:7") == "set"


# ---- intents


def test_an_overdue_intent_is_an_error_and_is_carried_out(site, store, bob, capsys):
    site.hset("post:5", mapping={"user_id": "1", "time": LONG_AGO, "body": "Fifth"})
    site.set("next_post_id", 5)
    site.zadd("outbox", {"post:5:abc": int(time.time()) - 90})
    assert doctor(capsys)[1] == {OVERDUE: 1}
    assert doctor(capsys, "--fix")[0] == 0
    assert doctor(capsys) == (0, {}, {})
    assert home(store, bob) == [5, 4, 3, 1]
    assert site.zcard("outbox") == 0


@pytest.mark.parametrize("lately", [30, -30])
def test_an_intent_that_is_due_only_just_is_none(site, capsys, lately):
    site.zadd("outbox", {"post:1:abc": int(time.time()) - lately})
    assert doctor(capsys, "--fix") == (0, {}, {})
    assert site.zcard("outbox") == 1


def test_an_intent_that_a_worker_has_is_not_overdue(site, capsys):
    site.zadd("outbox", {"post:1:abc": LONG_AGO})
    site.set("lease:post:1:abc", "a worker", ex=60)
    assert doctor(capsys, "--fix") == (0, {}, {})


def test_an_intent_that_failed_again_and_again_is_reported_and_done_once_it_can_be(site, store, bob, capsys):
    site.zadd("outbox", {"follow:2:3:abc": LONG_AGO})
    site.zrem("following:2", 3)
    site.set("followers:3", "no sorted set")
    for _ in range(ATTEMPTS + 1):
        drain(store, "worker")
        site.delete("lease:follow:2:3:abc")
    with pytest.raises(SystemExit) as exit:
        call_command("doctor")
    assert exit.value.code == 1
    assert "dead letters: 1" in capsys.readouterr().out
    assert doctor(capsys, "--fix")[0] == 0
    assert doctor(capsys)[:2] == (0, {})
    assert site.zcard("set_aside") == 0


def test_no_report_shows_the_secret_that_stands_in_a_logouts_intent(site, alice, capsys):
    site.zadd("outbox", {f"auth:1:{alice.secret}:abc": LONG_AGO})
    site.zadd("set_aside", {f"auth:1:{alice.secret}:def": LONG_AGO})
    site.hset("auths", SECRET, 1)
    for options in ([], ["--json"]):
        with pytest.raises(SystemExit):
            call_command("doctor", *options)
        out = capsys.readouterr().out
        assert "auth:1" in out
        assert alice.secret not in out
        assert SECRET not in out


# What an operation under way leaves disagreeing, until it is done.
UNDER_WAY = {
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


@pytest.mark.parametrize("job", UNDER_WAY)
def test_what_somebody_is_at_work_on_is_no_error(site, capsys, job):
    site.set("next_user_id", 4)
    site.zadd("outbox", {job: int(time.time()) + 60})
    UNDER_WAY[job](site)
    assert doctor(capsys, "--fix")[:2] == (0, {})
    site.delete("outbox")
    assert doctor(capsys)[0] == 1


# ---- debris, advice, and how it is told


def test_debris_is_no_error_and_goes_with_fix(site, capsys):
    site.hset("user:50", mapping={"username": "ghost", "password": "hash", "auth": "unknown"})
    site.hset("post:60", mapping={"user_id": "1", "time": LONG_AGO, "body": "Never sent"})
    site.set("next_user_id", 50)
    site.set("next_post_id", 60)
    site.hset("auths", SECRET, 1)
    found = {"stale entries in auths": 1, "orphaned user: hashes": 1, "orphaned post: hashes": 1}
    assert doctor(capsys) == (0, {}, found)
    out = said(capsys, "doctor")
    assert "No errors." in out
    assert "3 orphans" in out
    assert doctor(capsys, "--fix") == (0, {}, found)
    assert doctor(capsys) == (0, {}, {})


def test_an_official_database_lacks_the_ranking_and_the_index_of_names_alone_before_it_is_adopted(raw, capsys):
    for uid, name in ((1, "Alice"), (2, "Ünal Ö")):
        raw.hset("users", name, uid)
        raw.hset(f"user:{uid}", mapping={"username": name, "password": "as typed", "auth": f"secret{uid}"})
        raw.hset("auths", f"secret{uid}", uid)
        raw.zadd("users_by_time", {name: LONG_AGO})
    raw.zadd("following:1", {"2": LONG_AGO})
    raw.zadd("followers:2", {"1": LONG_AGO})
    raw.hset("post:1", mapping={"user_id": "2", "time": LONG_AGO, "body": "From elsewhere"})
    raw.rpush("posts:1", "1")
    raw.rpush("posts:2", "1")
    raw.rpush("timeline", "1")
    raw.set("next_user_id", 2)
    raw.set("next_post_id", 1)
    before = everything(raw)
    assert doctor(capsys) == (1, {LACKING: 1, MISCOUNTED: 1}, {})
    assert doctor(capsys, "--fix") == (0, {LACKING: 1, MISCOUNTED: 1}, {})
    assert doctor(capsys) == (0, {}, {})
    assert everything(raw) == before | {
        "users_by_name": [("alice:1", 0), ("u\u0308nal o\u0308:2", 0)],
        "users_by_followers": [("2", 1)],
    }


def test_many_findings_are_counted_and_some_of_them_told(site, capsys):
    site.zadd("updates:1", {str(pid): pid for pid in range(100, 1700)})
    with pytest.raises(SystemExit):
        call_command("doctor")
    out = capsys.readouterr().out
    assert "error: entries of updates: that do not match a post: 1600\n" in out
    assert "... and 1580 more" in out
    assert "doctor --fix" in out
    assert "1600 errors, all fixed." in said(capsys, "doctor", "--fix")


def test_a_site_of_many_is_gone_through_in_few_round_trips(raw, store, capsys, round_trips):
    call_command("seed", "--users=300", "--posts=3000", "--follows=10", verbosity=0)
    recorded = round_trips(lambda: call_command("doctor", verbosity=0))
    assert len(recorded.round_trips) < len(raw.keys()) / 3
    assert max(len(round_trip.commands) for round_trip in recorded.round_trips) <= 20_000


@pytest.mark.real_server
def test_the_server_is_given_advice(site, capsys):
    out = said(capsys, "doctor")
    assert "advice: The server keeps no append-only file" in out
    site.config_set("appendonly", "yes")
    try:
        assert "advice" not in said(capsys, "doctor")
        site.config_set("maxmemory", str(int(site.info()["used_memory"] * 1.1)))
        assert "MiB of memory" in said(capsys, "doctor")
        site.config_set("maxmemory-policy", "allkeys-lru")
        capsys.readouterr()
        call_command("doctor", "--json")
        report = json.loads(capsys.readouterr().out)
        assert [one["id"] for one in report["advice"]] == ["retwis.W004", "retwis.W007"]
        assert report["ok"]
    finally:
        site.config_set("maxmemory", "0")
        site.config_set("maxmemory-policy", "noeviction")
        site.config_set("appendonly", "no")


def test_a_store_that_does_not_answer_is_neither_healthy_nor_damaged(site, store, monkeypatch):
    import redis
    from django.core.management.base import CommandError

    def fail(*args, **kwargs):
        raise redis.ConnectionError("Connection refused")

    monkeypatch.setattr(type(store.transport), "exchange", fail)
    with pytest.raises(CommandError, match="does not answer"):
        call_command("doctor")


def test_a_post_that_is_deleted_while_doctor_looks_is_no_error(site, store, capsys, monkeypatch):
    """Between its two looks at the post, and with its intent gone by the second."""
    real = PostChecks.was_listed

    def and_then_it_is_deleted(self, pid, author):
        answer = real(self, pid, author)
        site.hset(f"post:{pid}", mapping={"deleted": LONG_AGO, "body": ""})
        site.expire(f"post:{pid}", 1000)
        return answer

    site.zrem("updates:1", 3)
    monkeypatch.setattr(PostChecks, "was_listed", and_then_it_is_deleted)
    assert doctor(capsys)[:2] == (0, {})


def test_who_is_followed_all_the_time_is_not_miscounted(site, store, capsys, monkeypatch):
    """Each look finds somebody at it whose intent the outbox did not have yet, or not any more."""
    real = ranking_checks.RankingChecks._look
    fans = iter(range(100, 200))

    def while_one_more_follows(self, members):
        fan = next(fans)
        site.hset(f"user:{fan}", "username", f"fan{fan}")
        site.zadd("followers:1", {fan: 5})
        places = real(self, members)
        site.zadd("users_by_followers", {"1": site.zcard("followers:1")})
        return places

    monkeypatch.setattr(ranking_checks.RankingChecks, "_look", while_one_more_follows)
    assert [finding for chunk in ranking_checks.RankingChecks(store).miscounted() for finding in chunk] == []
    assert next(fans) > 101


@pytest.mark.parametrize(
    "happens",
    [
        lambda store: Follows(store).unfollow(BOB, ALICE),
        lambda store: Posts(store).delete(ALICE, 1),
        lambda store: Follows(store).follow(ALICE, BOB),
    ],
    ids=["an unfollow", "a deletion", "a follow"],
)
def test_what_is_done_between_finding_and_looking_is_no_error(site, store, capsys, monkeypatch, happens):
    """Sets are read in chunks; a member may be gone when it is looked up on the other side."""
    real = post_checks.members_of

    def and_then(store, pattern):
        chunks = list(real(store, pattern))
        with contextlib.suppress(PostDeleted):
            happens(store)
        yield from chunks

    for module in (post_checks, follow_checks):
        monkeypatch.setattr(module, "members_of", and_then)
    assert doctor(capsys)[:2] == (0, {})
