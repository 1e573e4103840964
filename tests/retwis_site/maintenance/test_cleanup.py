"""`cleanup` removes each kind of orphan and nothing else."""

import time

import pytest
from django.contrib.auth.hashers import make_password
from django.core.management import call_command

from accounts.joining.joining import Application, stored_application
from tests.support.command_output import doctor, said
from tests.support.people import LONG_AGO, NEWER_SECRET, PASSWORD, SECRET
from tests.support.stored_keys import add_overdue_job, everything, publish
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows, Mutes


@pytest.fixture
def site(raw, store, alice, bob):
    """A healthy site with a deleted post, a deleted account and timelines."""
    Follows(store).follow(bob.user.uid, alice.user.uid)
    publish(raw, store, alice, "First")
    deleted = publish(raw, store, alice, "Second")
    publish(raw, store, bob, "Third")
    Posts(store).delete(alice.user.uid, deleted)
    raw.lrem("timeline", 0, deleted)
    raw.rpush("posts:1", "1", "b1", "0")
    raw.rpush("posts:2", "3", "1", "b2", "-1")
    raw.hset("users", "gone", 3)
    raw.hset("skeletons", "gone", 3)
    raw.zadd("muted_threads:1", {deleted: LONG_AGO})  # while its hash stays, there may be replies
    raw.hset("user:3", mapping={"username": "gone", "deleted": LONG_AGO})
    raw.set("celery", "not ours")
    raw.hset("user:settings", "theme", "dark")
    return raw


def add_orphans(raw):
    """Add each kind of orphan."""
    raw.hset("auths", mapping={SECRET: "1", NEWER_SECRET: "99"})
    raw.hset("user:50", mapping={"username": "ghost", "password": "hash", "auth": "unknown"})
    raw.hset("user:51", mapping={"username": "ALICE", "password": "hash", "auth": "unknown"})
    raw.hset("user:52", "password", "hash")
    raw.zadd("users_by_name", {"ghost:99": 0, "alicia:1": 0, "alice": 0})
    raw.hset("skeletons", "ghost", 98)
    refused = Application("erik", "argon2$hash", "why", LONG_AGO, refused=LONG_AGO)
    raw.hset("applications", "erik", stored_application(refused))
    raw.zadd("applicants", {"frida": LONG_AGO})
    raw.hset("invites:1", f"1-{LONG_AGO}-abc", 1)
    raw.hset("invites:99", "99-4000000000-abc", 1)
    raw.hset("credentials:99", "totp", f"{LONG_AGO}:JBSWY3DPEHPK3PXP")
    raw.zadd("factor_uses:1", {"0" * 32: 7})
    raw.hset("post:60", mapping={"user_id": "1", "time": int(time.time()) - 120, "body": "Never sent"})
    raw.hset("edits:2", LONG_AGO, "Second")
    raw.lpush("posts:1", "998", "2", "998")
    raw.rpush("timeline", "999")
    raw.rpush("timeline:3", "1")
    raw.rpush("posts:70", "1")
    raw.rpush("posts:3", "1")
    raw.hset("user:3", "seen", 2)
    raw.hset("user:2", "old_password", "md5$salt$hash")
    raw.zadd("appeals", {"2:abc": LONG_AGO})
    raw.hset("user:2", mapping={"session:ended": "1700000000:earlier:Firefox:Linux", "used:ended": LONG_AGO})
    raw.hset("user:2", mapping={"token:ended": "1700000000:earlier:app:read", "token_used:ended": LONG_AGO})
    raw.persist("post:2")
    raw.zadd("liked_by:2", {"1": LONG_AGO})
    raw.zadd("likes:1", {"2": LONG_AGO})
    raw.zadd("reposted_by:2", {"1": 61})
    raw.zadd("reposts:1", {"2": 61})
    raw.zadd("muted:1", {"2": LONG_AGO, "99": "+inf"})
    raw.zadd("muted_reposts:1", {"2": LONG_AGO})
    raw.zadd("muted_threads:1", {"998": LONG_AGO})
    raw.zadd("bookmarks:1", {"2": LONG_AGO})
    raw.zadd("muted_words:1", {"home hide rain": LONG_AGO})
    raw.zadd("notices:1", {"like:2:2": LONG_AGO})
    raw.hset("report:7", mapping={"who": 1, "whom": 2, "reason": "spam"})
    raw.zadd("reports_about:2", {"8": 8})
    raw.hset("tags", "gone", "Gone")
    raw.zadd("tags_by_name", {"gone": 0})
    raw.append("postings:5:1", b"abcd")
    raw.persist("idem:1:First")
    raw.set(f"media:{'a' * 40}-600", "a file")
    raw.zadd(f"media_users:{'b' * 40}", {"post:1:1": LONG_AGO})
    raw.hset(f"media_info:{'c' * 40}", "width", 9)
    raw.hset(f"media_info:{'e' * 40}", "width", 9)
    raw.zadd(f"media_users:{'e' * 40}", {"upload:1:0": LONG_AGO, "post:2:9": time.time()})  # which may still come
    for key in ("media_of:1", "media_sizes"):
        raw.zadd(key, {"d" * 40: 9})
    raw.set("lease:gone", "a worker")
    raw.hset("attempts", "follow:1:2:x", 3)


OUTPUT = """\
extra fields of deleted accounts: 1 found, {1}
old passwords that were replaced: 1 found, {1}
orphaned user: hashes: 3 found, {3}
stale entries in users_by_name: 3 found, {3}
stale entries in skeletons: 1 found, {1}
second factors of unknown users: 1 found, {1}
home timelines of unknown users: 2 found, {2}
invitations by users who are gone: 1 found, {1}
files of pictures that are not known: 1 found, {1}
marks of pictures that are not known: 1 found, {1}
pictures that nothing shows: 1 found, {1}
old uploads of pictures that others show: 1 found, {1}
pictures of users that are not there: 1 found, {1}
sizes of pictures that are not there: 1 found, {1}
stale entries in auths: 2 found, {2}
fields of ended sessions: 1 found, {1}
fields of ended tokens: 1 found, {1}
uses of removed second factors: 1 found, {1}
appeals against what is no longer imposed: 1 found, {1}
entries about applications that do not wait: 1 found, {1}
refusals that are over: 1 found, {1}
invitations that have ended: 1 found, {1}
likes of posts that do not exist: 1 found, {1}
reposts of posts that do not exist: 1 found, {1}
entries of bookmarks: that lead nowhere or have ended: 1 found, {1}
entries of muted: that lead nowhere or have ended: 2 found, {2}
entries of muted_reposts: that lead nowhere or have ended: 1 found, {1}
entries of muted_threads: that lead nowhere or have ended: 1 found, {1}
entries of muted_words: that have ended: 1 found, {1}
orphaned post: hashes: 1 found, {1}
deleted posts without replies and without an expiry: 1 found, {1}
texts of posts that are deleted or do not exist: 1 found, {1}
lists with dead ids: 2 found, {2}
global timelines of another number of shards: 1 found, {1}
reports that were never sent: 1 found, {1}
entries about reports that are gone: 1 found, {1}
notices whose cause is gone: 1 found, {1}
entries of tags_by_name whose tag has no posts: 1 found, {1}
parts of the search's index that are no longer used: 1 found, {1}
temporary keys without an expiry: 2 found, {2}
attempt counts without a job: 1 found, {1}
"""


def add_post(raw, pid):
    """A complete post of alice's."""
    raw.hset(f"post:{pid}", mapping={"user_id": "1", "time": LONG_AGO, "body": "Sent"})
    raw.zadd("updates:1", {str(pid): pid})


def test_cleanup_finds_nothing_on_a_healthy_site(site, capsys):
    before = everything(site)
    out = said(capsys, "cleanup")
    assert out.count("0 found, 0 removed") == len(OUTPUT.splitlines())
    assert out.endswith("Nothing to clean up.\n")
    assert everything(site) == before


def test_cleanup_removes_each_kind_of_orphan_and_nothing_else(site, capsys):
    before = everything(site)
    add_orphans(site)
    assert said(capsys, "cleanup") == OUTPUT.format(None, "1 removed", "2 removed", "3 removed")
    assert 0 < site.ttl("post:2") <= 30 * 24 * 3600
    assert 0 < site.ttl("idem:1:First") <= 24 * 3600
    assert 0 < site.ttl("lease:gone") <= 60
    assert site.hget("damaged:post:60", "body") == "Never sent"
    assert 0 < site.ttl("damaged:post:60") <= 30 * 24 * 3600
    assert site.zrange(f"media_users:{'e' * 40}", 0, -1) == ["post:2:9"]
    site.delete("lease:gone", "tags", *site.keys("damaged:*"), *site.keys(f"media_*:{'e' * 40}"))
    after = everything(site)
    for key in ("posts:1", "timeline"):  # padding may replace a dead id
        after[key] = [entry for entry in after[key] if entry != "x"]
    assert after == before
    assert said(capsys, "cleanup").endswith("Nothing to clean up.\n")


def test_cleanup_leaves_a_muted_thread_whose_first_post_alone_is_lost(site, capsys):
    site.zadd("muted_threads:2", {"998": LONG_AGO})
    site.zadd("thread:998", {"1": 1})
    said(capsys, "cleanup")
    assert site.zrange("muted_threads:2", 0, -1) == ["998"]


def test_what_an_unknown_user_has_is_moved_and_not_removed(site, capsys):
    kept = {"invites:99": {f"1-{2**31}-abc": "1"}, "credentials:99": {"totp": f"{LONG_AGO}:JBSWY3DPEHPK3PXP"}}
    for key, fields in kept.items():
        site.hset(key, mapping=fields)
    said(capsys, "cleanup")
    assert {key: site.hgetall(f"damaged:{key}") for key in kept} == kept


@pytest.mark.parametrize("others", [[], ["updates:1"]])
def test_cleanup_leaves_what_leads_to_an_account_that_doctor_can_write_again(site, store, capsys, others):
    site.hset("credentials:1", mapping={"totp": f"{LONG_AGO}:{'JBSWY3DPEHPK3PXP' * 2}"})
    Mutes(store).mute(2, 1)
    before = everything(site)
    site.delete("user:1", *others)
    said(capsys, "cleanup")
    assert doctor(capsys, "--fix")[0] == 0
    after = everything(site)
    for key in ("credentials:1", "muted:2", "followers:1", "following:2", "notices:1", "post:1", "updates:1"):
        assert after[key] == before[key]
    assert site.keys("damaged:*") == []


def test_a_dry_run_finds_the_same_and_changes_nothing(site, capsys):
    add_orphans(site)
    before = everything(site)
    assert said(capsys, "cleanup", "--dry-run") == OUTPUT.format(*["none removed (dry run)"] * 4)
    assert everything(site) == before


def test_cleanup_prints_its_findings_with_verbosity_2(site, capsys):
    add_orphans(site)
    out = said(capsys, "cleanup", "--dry-run", verbosity=2)
    assert "user:50" in out
    assert "post:60" in out
    assert "posts:1" in out


def test_cleanup_reads_large_keys_in_chunks(raw, alice, capsys):
    raw.hset("auths", mapping={f"stale{number}": "1" for number in range(1200)})
    add_post(raw, 5)
    for pid in range(10, 700):
        raw.hset(f"post:{pid}", mapping={"user_id": "1", "time": LONG_AGO, "body": "Never sent"})
    raw.rpush("timeline", *range(2000, 3100))
    out = said(capsys, "cleanup")
    assert "stale entries in auths: 1200 found, 1200 removed" in out
    assert "orphaned post: hashes: 690 found, 690 removed" in out
    assert "lists with dead ids: 1 found, 1 removed" in out
    assert raw.hgetall("auths") == {alice.secret: "1"}
    assert raw.keys("post:*") == ["post:5"]
    assert not [entry for entry in raw.lrange("timeline", 0, -1) if entry.isdigit()]


SETS_OF_ANOTHER_PROGRAM = (
    *("thread:settings", "replies_to:foo:x", "quotes_of:x", "reports_about:monthly", "reports_by:team", "likes:x"),
    *("liked_by:post", "following:all", "notices:all", "updates:x", "muted_words:x", "sessions", "user:1:friends"),
)


def test_no_repair_touches_keys_of_another_program_that_begin_like_ours(site, capsys):
    doctor(capsys, "--fix")
    for name in SETS_OF_ANOTHER_PROGRAM:
        site.zadd(name, {"77": 5})
    for name in ("thread:theme", "updates:theme", "user:1:theme"):
        site.set(name, "dark")
    for name in ("user:sessions", "user:7:friends", "post:drafts:7"):
        site.sadd(name, "x")
    before = everything(site)
    assert doctor(capsys, "--fix") == (0, {}, {})
    assert "Nothing to clean up." in said(capsys, "cleanup")
    assert everything(site) == before


def test_cleanup_leaves_a_registration_under_way_alone(raw, capsys):
    raw.zadd("outbox", {"user:1": int(time.time()) + 60})
    raw.hset("user:1", mapping={"username": "alice", "password": "hash", "auth": SECRET})
    before = everything(raw)
    assert said(capsys, "cleanup").endswith("Nothing to clean up.\n")
    assert everything(raw) == before


def test_cleanup_leaves_a_logout_under_way_alone(raw, alice, capsys):
    """It is committed and its new secret is in `auths`: only the old secret is stale."""
    raw.zadd("outbox", {f"auth:1:{alice.secret}:abc": int(time.time()) + 60})
    raw.hset("user:1", "auth", NEWER_SECRET)
    raw.hset("auths", NEWER_SECRET, "1")
    assert "stale entries in auths: 1 found, 1 removed" in said(capsys, "cleanup")
    assert raw.hgetall("auths") == {NEWER_SECRET: "1"}


@pytest.mark.parametrize(
    ("job", "notice"),
    [("post:9:abc", "mention:9:2"), ("edit:9:abc", "quote:9:2"), ("like:2:9:abc", "like:9:2")],
)
def test_cleanup_leaves_the_notices_of_what_is_under_way_alone(site, capsys, job, notice):
    site.zadd("outbox", {job: int(time.time()) + 60})
    site.zadd("notices:1", {notice: LONG_AGO, "reply:8:2": LONG_AGO})
    assert "notices whose cause is gone: 1 found, 1 removed" in said(capsys, "cleanup")
    assert site.zscore("notices:1", notice) == LONG_AGO
    assert site.zscore("notices:1", "reply:8:2") is None


def test_cleanup_leaves_names_with_other_characters_alone(raw, capsys):
    """A foreign database may hold such names."""
    raw.hset("users", "Ünal Ö", "1")
    raw.hset("user:1", mapping={"username": "Ünal Ö", "password": make_password(PASSWORD), "auth": SECRET})
    raw.hset("auths", SECRET, "1")
    before = everything(raw)
    assert said(capsys, "cleanup").endswith("Nothing to clean up.\n")
    assert everything(raw) == before


def test_cleanup_reads_a_young_post_again_after_its_process_has_given_up(raw, alice, capsys, monkeypatch):
    """Post 6 is committed while `cleanup` waits; post 7 is not."""
    now = int(time.time())
    add_post(raw, 5)
    raw.hset("post:6", mapping={"user_id": "1", "time": now, "body": "On its way"})
    raw.hset("post:7", mapping={"user_id": "1", "time": now - 30, "body": "On its way"})
    raw.hset("post:8", mapping={"user_id": "1", "time": now - 90, "body": "Never sent"})
    waited = []
    monkeypatch.setattr("timeline.posts.checks.time.sleep", lambda seconds: (waited.append(seconds), add_post(raw, 6)))
    assert "orphaned post: hashes: 2 found, 2 removed" in said(capsys, "cleanup")
    assert sorted(raw.keys("post:*")) == ["post:5", "post:6"]
    assert waited == [11]


def test_cleanup_leaves_the_posts_of_an_official_database_alone(raw, capsys):
    """It has plain-text passwords and no `updates:`, so each of its posts looks like an orphan."""
    raw.hset("users", "alice", "1")
    raw.hset("user:1", mapping={"username": "alice", "password": PASSWORD, "auth": SECRET})
    raw.hset("auths", SECRET, "1")
    for pid in (1, 2, 3):
        raw.hset(f"post:{pid}", mapping={"user_id": "1", "time": LONG_AGO, "body": "From another program"})
    raw.rpush("posts:1", "3", "2", "1")
    raw.rpush("timeline", "3", "2", "1")
    before = everything(raw)
    said(capsys, "cleanup")
    assert everything(raw) == before


@pytest.mark.parametrize("malformed", [False, True])
def test_cleanup_leaves_a_post_that_waits_in_the_outbox_alone(raw, alice, capsys, malformed):
    """Also beside a job with a malformed name, which `deliver` leaves in the outbox."""
    if malformed:
        add_overdue_job(raw, "post:seven:abc")
    add_post(raw, 5)
    raw.hset("post:7", mapping={"user_id": "1", "time": LONG_AGO, "body": "Hello"})
    add_overdue_job(raw, "post:7:abc")
    before = everything(raw)
    assert said(capsys, "cleanup").endswith("Nothing to clean up.\n")
    assert everything(raw) == before


def test_cleanup_leaves_a_deleted_post_until_it_expires(raw, store, alice, capsys):
    pid = publish(raw, store, alice, "I never said that")
    Posts(store).delete(alice.user.uid, pid)
    raw.hset(f"post:{pid}", "time", LONG_AGO)
    assert "orphaned post: hashes: 0 found" in said(capsys, "cleanup")
    assert raw.hget(f"post:{pid}", "deleted")
    assert raw.ttl(f"post:{pid}") > 0


def test_a_check_that_the_store_refuses_ends_cleanup_with_sentences_of_one_full_stop_each(site, capsys):
    site.delete("user:3")
    site.set("user:3", "no hash")
    with pytest.raises(SystemExit) as ended:
        call_command("cleanup")
    told = capsys.readouterr().err
    assert ended.value.code == 1
    assert told.endswith("`manage.py doctor --fix` moves it away. Find out why with: manage.py doctor\n")
    assert ".." not in told


@pytest.mark.real_server
@pytest.mark.one_server
def test_without_memory_cleanup_goes_on_with_what_frees_some(site, capsys):
    """What an unknown user has is moved, which needs memory; stale entries of other keys only go."""
    add_orphans(site)
    site.config_set("maxmemory", "1")
    try:
        with pytest.raises(SystemExit) as ended:
            call_command("cleanup")
    finally:
        site.config_set("maxmemory", "0")
    out, err = capsys.readouterr()
    assert ended.value.code == 1
    assert "invitations by users who are gone: 1 found, 0 removed" in out
    assert "stale entries in auths: 2 found, 2 removed" in out
    assert "invitations by users who are gone: stopped, the store takes no writes" in err
    assert err.count("Find out why with: manage.py doctor") == err.count(": stopped, ") > 0
    assert site.hgetall("auths").keys() & {SECRET, NEWER_SECRET} == set()
    said(capsys, "cleanup")
    assert said(capsys, "cleanup").endswith("Nothing to clean up.\n")
