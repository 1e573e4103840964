"""`doctor` finds and repairs threads, replies, quotes and numbers that disagree with the posts; `cleanup` removes
texts of posts that are gone."""

from contextlib import suppress
from itertools import chain

import pytest
from django.core.management import call_command

from tests.support.command_output import LOST, doctor, findings_of, finds_and_mends, mends_all, said
from tests.support.protocols.conversations import assert_conversations_agree
from tests.support.stored_keys import everything, publish, without_damaged
from tests.support.stored_posts import write_posts
from timeline.posts.checks import CountChecks, LostPosts, counts_of_posts
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Bookmarks, Likes

LACKING = "posts that are missing from a listing, or expire while they have replies"
THREAD = "entries of thread: that no post explains"
REPLIES_TO = "entries of replies_to: that no post explains"
QUOTES_OF = "entries of quotes_of: that no post explains"
NUMBERS = "wrong numbers in post:"
TEXTS = "texts of posts that are deleted or do not exist"


@pytest.fixture
def site(store, alice, bob, raw, no_waiting):
    """Post 1; 2 answers 1; 3 answers 2; 4 quotes 1; 5 answers 1 and is deleted. Post 2 is a tombstone, 4 is edited."""
    news = ({}, {"reply_to": 1}, {"reply_to": 2}, {"quote": 1}, {"reply_to": 1})
    for pid, new in enumerate(news, start=1):
        Posts(store).publish(1 + pid % 2, NewPost(f"post {pid}", **new), str(pid))
    Posts(store).delete(1, 2)
    Posts(store).delete(2, 5)
    Posts(store).edit(1, 4, "another text")
    for pid in (2, 5):
        raw.lrem("timeline", 0, pid)
    return raw


def expire(raw):
    raw.expire("post:2", 100)


FAULTS = {
    "thread: lacks a post": (lambda r: r.zrem("thread:1", 3), {LACKING: 1}),
    "thread: is gone": (lambda r: r.delete("thread:1"), {LACKING: 2}),
    "thread: has a deleted post": (lambda r: r.zadd("thread:1", {"5": 5}), {THREAD: 1}),
    "thread: has a post of another thread": (lambda r: r.zadd("thread:1", {"4": 4}), {THREAD: 1}),
    "thread: has a post that does not exist": (lambda r: r.zadd("thread:1", {"90": 90}), {THREAD: 1}),
    "replies_to: lacks a tombstone": (lambda r: r.zrem("replies_to:1", 2), {LACKING: 1, NUMBERS: 1}),
    "replies_to: has a reply too many": (lambda r: r.zadd("replies_to:1", {"4": 4}), {REPLIES_TO: 1, NUMBERS: 1}),
    "quotes_of: lacks a quote": (lambda r: r.zrem("quotes_of:1", 4), {LACKING: 1, NUMBERS: 1}),
    "quotes_of: has a quote too many": (lambda r: r.zadd("quotes_of:1", {"3": 3}), {QUOTES_OF: 1, NUMBERS: 1}),
    "a tombstone expires": (expire, {LACKING: 1}),
    "a number is wrong": (lambda r: r.hset("post:1", "replies", 7), {NUMBERS: 1}),
    "a number is gone": (lambda r: r.hdel("post:1", "quotes"), {NUMBERS: 1}),
    "a text is not the newest": (lambda r: r.hset("post:4", "body", "post 4"), {LACKING: 1}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_doctor_finds_and_repairs(site, capsys, fault):
    before = everything(site)
    damage, expected = FAULTS[fault]
    damage(site)
    code, errors, _ = doctor(capsys)
    assert (code, errors) == (1, expected)
    mends_all(capsys)
    assert_conversations_agree(site, fault)
    assert everything(site) == before


@pytest.mark.parametrize("job", ["post:3:x", "edit:3:2:x", "del:3:2:x", "settle:3:x"])
def test_a_reply_that_is_under_way_is_no_finding(site, capsys, job):
    site.zrem("thread:1", 3)
    site.zrem("replies_to:2", 3)
    site.hset("post:1", "quotes", 7)
    site.zadd("outbox", {job: 2**40, job.replace(":3:", ":4:"): 2**40})
    _, errors, _ = doctor(capsys)
    assert LACKING not in errors
    assert NUMBERS not in errors


def test_a_post_that_stands_in_a_listing_was_published_and_is_put_back(site, capsys):
    """A server of a cluster lost its last writes when its replica took over, and the lists were evicted."""
    listed = {key: site.zrange(key, 0, -1) for key in ("updates:1", "updates:2")}
    site.zrem("updates:1", 4)
    site.zrem("updates:2", 3)
    site.delete("timeline", "posts:1", "posts:2")
    said(capsys, "cleanup")
    finds_and_mends(capsys, {LOST: 2})
    assert {key: site.zrange(key, 0, -1) for key in listed} == listed
    assert_conversations_agree(site, "put back")


def act_on(store, pid, how):
    """Alice acts on a post of bob's."""
    if how == "liked":
        Likes(store).like(1, pid, 2)
    elif how == "reposted":
        Reposts(store).repost(1, pid, 2)
    else:
        Posts(store).publish(1, NewPost("about it", **{how: pid}), f"{how} {pid}")


@pytest.mark.parametrize("how", ["liked", "reposted"])
def test_a_post_that_people_like_or_repost_was_published_and_is_put_back(site, store, capsys, how):
    pid = Posts(store).publish(2, NewPost("Lost"), "t").pid
    act_on(store, pid, how)
    site.zrem("updates:2", pid)
    site.delete("timeline", "posts:1", "posts:2")
    said(capsys, "cleanup")
    finds_and_mends(capsys, {LOST: 1})
    assert site.zscore("updates:2", pid) == pid
    assert site.hget(f"post:{pid}", "body") == "Lost"


@pytest.mark.parametrize("how", ["reply_to", "quote", "liked", "reposted"])
@pytest.mark.parametrize("command", [("doctor", "--fix"), ("cleanup",)], ids=" ".join)
def test_a_post_whose_deletion_a_server_has_lost_is_not_published_again(site, store, browser, capsys, how, command):
    """Replies and quotes of it stand still."""
    pid = Posts(store).publish(2, NewPost("My secret"), "t").pid
    act_on(store, pid, how)
    before = site.hgetall(f"post:{pid}")
    Posts(store).delete(2, pid)
    site.delete(f"post:{pid}", "timeline", "posts:1", "posts:2")
    site.hset(f"post:{pid}", mapping=before)
    with suppress(SystemExit):
        call_command(*command)
    assert site.zscore("updates:2", pid) is None
    assert "My secret" not in browser().get("/@bob/").content.decode()


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize(
    "damage", [lambda raw: raw.hset("post:1", "user_id", "x"), lambda raw: raw.hdel("post:1", "user_id")]
)
def test_cleanup_keeps_a_post_and_its_likes_while_its_author_is_damaged(raw, store, alice, bob, capsys, damage):
    publish(raw, store, alice, "Hello")
    Posts(store).edit(1, 1, "Hello again")
    Likes(store).like(2, 1, 1)
    Bookmarks(store).add(2, 1, 1)
    before = without_damaged(raw)
    damage(raw)
    call_command("cleanup", verbosity=0)
    mends_all(capsys)
    after = without_damaged(raw)
    lists = ("timeline", "posts:", "notices:")
    assert {key for key in before if before[key] != after.get(key) and not key.startswith(lists)} == set()


@pytest.mark.parametrize("lost", [["reply_to"], ["root"], ["reply_to", "root"]])
def test_a_reply_that_has_lost_its_place_in_the_thread_gets_it_back(site, capsys, lost):
    before = without_damaged(site)
    site.hdel("post:3", *lost)
    mends_all(capsys)
    assert without_damaged(site) == before


def test_cleanup_keeps_a_repost_that_doctor_puts_back(site, store, capsys):
    Reposts(store).repost(1, 1, 2)
    own = int(site.zscore("reposts:1", "1"))
    site.zrem("updates:1", own)
    site.delete("posts:1", "posts:2", "timeline")
    said(capsys, "cleanup")
    mends_all(capsys)
    assert site.zscore("updates:1", own) == own
    assert site.hget(f"post:{own}", "repost_of") == "1"


def test_a_post_in_a_listing_that_is_put_back_first_keeps_no_other_lost_post_from_it(site, store):
    """Post 3 stands in the global timeline, so its author has lost entries: post 1, which stands nowhere, is one."""
    site.zrem("updates:2", 1, 3)
    site.lrem("timeline", 0, 1)
    site.delete("posts:1", "posts:2")
    _, lost = LostPosts(store).inconsistencies()
    assert [chunk for name in ("post:3", "post:1") for chunk in lost.find([name])] == [[], []]
    for finding in chain.from_iterable(lost.at_end()):
        finding.repair()
    assert site.zrange("updates:2", 0, -1) == ["1", "3"]


def test_a_tombstone_whose_last_reply_is_lost_goes(site, capsys):
    site.delete("post:3")
    site.zrem("updates:2", 3)
    mends_all(capsys)
    assert site.keys("thread:*") == site.keys("replies_to:*") == []
    assert site.ttl("post:2") > 0


def test_cleanup_removes_texts_of_posts_that_are_gone(site, capsys):
    site.hset("edits:77", "5", "text of a post that does not exist")
    site.hset("edits:5", "5", "text of a deleted post")
    assert doctor(capsys)[2] == {TEXTS: 2}
    said(capsys, "cleanup")
    assert site.keys("edits:*") == ["edits:4"]
    assert site.keys("damaged:*") == ["damaged:edits:77"]  # a server may have lost the post; 5 was deleted


# ---- `doctor` compares all numbers of a post in one walk over the posts.


POSTS = 1200


def findings(store):
    return [one.what for one in findings_of(store, CountChecks(store).inconsistencies())]


@pytest.fixture
def posts(raw, alice):
    write_posts(raw, 1, range(1, POSTS + 1))


def test_a_walk_takes_five_commands_a_post_without_reactions(posts, raw, store, round_trips):
    recorded = round_trips(lambda: findings(store))
    steps = sum(name == "SCAN" for name, *_ in recorded.commands)
    assert len(recorded.commands) - steps == 5 * POSTS
    assert len(recorded.round_trips) <= 2 * steps


@pytest.mark.parametrize("count", counts_of_posts(), ids=[count.name for count in counts_of_posts()])
def test_each_number_is_found_and_written_anew(posts, raw, store, count):
    raw.zadd(count.mirror(7), {"1": 1})
    raw.hset("post:8", count.name, 3)
    assert sorted(findings(store)) == [
        f"post 7 has 1 {count.name}, but its number is 0",
        f"post 8 has 0 {count.name}, but its number is 3",
    ]
    for finding in findings_of(store, CountChecks(store).inconsistencies()):
        finding.repair()
    assert raw.hget("post:7", count.name) == "1"
    assert not raw.hexists("post:8", count.name)
    assert findings(store) == []


@pytest.mark.parametrize("job", ["like:1:7:x", "repost:1:7:x", "post:7:x", "del:7:1:x", "settle:7:x", "edit:9:1:x"])
def test_a_job_explains_a_number(posts, raw, store, job):
    raw.hset("post:9", "reply_to", 7)
    raw.hset("post:7", "likes", 3)
    raw.zadd("outbox", {job: 1})
    assert findings(store) == []
