"""Split keys: the global timeline in several lists and the outbox in several sorted sets, read as one."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.management import call_command

from accounts.signing_in.viewer import Viewer
from retwis_site.jobs.outbox import Outbox
from retwis_site.jobs.worker import drain, stop
from retwis_site.store import keys
from retwis_site.store.cached_list import KEPT
from tests.support.command_output import complaints, said
from tests.support.people import LONG_AGO
from tests.support.stored_keys import noted
from tests.support.stored_posts import write_posts
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import Follows
from timeline.timelines.everyone import EveryoneTimeline


@pytest.fixture(autouse=True)
def split(settings):
    settings.TIMELINE_SHARDS = 4
    settings.OUTBOX_SHARDS = 3


def global_page(store, before=None, size=50):
    return EveryoneTimeline(store).page(Viewer(store, ""), before, size)


def pids(page):
    return [post.pid for post in page.page.posts]


def test_each_post_is_written_to_one_list_and_all_are_read_as_one(store, raw, alice):
    for number in range(1, 11):
        Posts(store).publish(1, NewPost(f"Post {number}"), f"t{number}")
    assert [raw.lrange(f"timeline:{number}", 0, -1) for number in range(4)] == [
        ["8", "4"], ["9", "5", "1"], ["10", "6", "2"], ["7", "3"]
    ]  # fmt: skip
    for _ in range(2):  # the first time it rebuilds the lists
        assert pids(global_page(store)) == list(range(10, 0, -1))
    assert raw.lrange("timeline:3", 3, -1) == ["7", "3"]
    assert not raw.exists("timeline")


def test_a_page_makes_as_many_round_trips_as_with_one_list(store, raw, alice, round_trips, settings):
    write_posts(raw, 1, range(1, 301))
    for shards in (4, 1):
        settings.TIMELINE_SHARDS = shards
        global_page(store)
        recorded = round_trips(lambda: global_page(store))
        assert len(recorded.round_trips) == 1  # the posts are cached
        assert sum(command[0] == "LRANGE" for command in recorded.commands) == shards


@pytest.mark.parametrize("shards", [2, 4, 16])
def test_pages_show_every_post_once_down_to_the_cap(store, raw, alice, settings, shards):
    settings.TIMELINE_SHARDS = shards
    write_posts(raw, 1, range(1, 2501))
    raw.set("next_post_id", 2500)
    shown, before = [], None
    while True:
        page = global_page(store, before)
        shown += pids(page)
        before = page.page.older
        if before is None:
            break
    assert page.at_the_cap
    assert shown == list(range(2500, 2500 - len(shown), -1))
    assert len(shown) >= 800 - shards
    assert sum(raw.llen(f"timeline:{number}") for number in range(shards)) <= KEPT + 3 * shards


def test_each_list_is_trimmed_to_its_share(store, raw, alice):
    global_page(store)
    for _ in range(4 * 276):
        raw.lpush("timeline:1", "1")
        raw.incr("next_post_id")
    Posts(store).publish(1, NewPost("Hello"), "t")
    assert raw.llen(keys.timeline(4 * 276 + 1)) == KEPT // 4


def test_only_the_missing_list_is_rebuilt(store, raw, alice, sent):
    write_posts(raw, 1, range(1, 101))
    global_page(store)
    raw.delete("timeline:2")
    sent.round_trips.clear()
    assert pids(global_page(store)) == list(range(100, 50, -1))
    assert {command[1] for command in sent.commands if command[0] == "RPUSHX"} == {"timeline:2"}
    assert raw.lrange("timeline:2", 3, 5) == ["98", "94", "90"]


def test_ids_of_deleted_posts_are_removed_from_their_lists(store, raw, alice):
    write_posts(raw, 1, range(1, 101))
    global_page(store)
    for pid in (99, 98, 94):
        Posts(store).delete(1, pid)
    assert pids(global_page(store))[:4] == [100, 97, 96, 95]
    assert "99" not in raw.lrange("timeline:3", 0, -1)
    assert {"98", "94"}.isdisjoint(raw.lrange("timeline:2", 0, -1))
    assert [raw.lrange(f"timeline:{number}", 0, -1).count("x") for number in range(4)] == [0, 0, 2, 1]


def test_doctor_finds_a_missing_post_and_lists_of_another_number_of_shards(store, raw, alice, capsys):
    write_posts(raw, 1, range(1, 101))
    global_page(store)
    raw.lrem("timeline:1", 1, "97")
    raw.rpush("timeline", "b1", "0", "5")
    raw.rpush("timeline:9", "b1", "0", "5")
    assert "global timelines that lack a post: 1\n    timeline:1\n" in complaints(capsys)
    call_command("doctor", "--fix", verbosity=0)
    assert sorted(raw.keys("timeline*")) == ["timeline:0", "timeline:2", "timeline:3"]
    assert "No errors." in said(capsys, "doctor")
    assert pids(global_page(store))[3] == 97


def test_doctor_restores_missing_ids_in_recent(store, raw, alice, capsys, settings):
    settings.POST_IDS = "snowflake"
    made = [Posts(store).publish(1, NewPost("Hello"), f"t{number}").pid for number in range(8)]
    Posts(store).delete(1, made[0])
    before = {key: raw.zrange(key, 0, -1) for key in raw.keys("recent:*")}
    gone = made[5]
    raw.zrem(keys.recent(gone), gone)
    assert f"posts that recent lacks: 1\n    {keys.recent(gone)} lacks {gone}\n" in complaints(capsys)
    call_command("doctor", "--fix", verbosity=0)
    assert {key: raw.zrange(key, 0, -1) for key in raw.keys("recent:*")} == before
    for key in raw.keys("recent:*"):
        raw.delete(key)
    call_command("doctor", "--fix", verbosity=0)
    assert "No errors." in said(capsys, "doctor")
    raw.delete(*keys.timeline.all())
    assert pids(global_page(store)) == made[:0:-1]


@pytest.mark.parametrize(("before", "after"), [(1, 4), (4, 1), (2, 5), (5, 2)])
def test_posts_are_found_after_the_number_of_lists_changes(store, raw, alice, settings, before, after):
    settings.POST_IDS = "snowflake"
    made = []
    for number, shards in enumerate([before, after, before, after]):
        settings.TIMELINE_SHARDS = shards
        made += [Posts(store).publish(1, NewPost("Hello"), f"t{number}-{again}").pid for again in range(5)]
        call_command("doctor", "--fix", verbosity=0)  # lists of the other number of shards must not be used
        assert pids(global_page(store)) == made[::-1]


def test_all_jobs_about_one_id_are_in_one_outbox(store, raw, alice, bob, sent, settings):
    settings.DELIVER_INLINE_LIMIT = 0
    Follows(store).follow(2, 1)
    sent.round_trips.clear()
    pid = Posts(store).publish(1, NewPost("Hello"), "t").pid
    outboxes = {command[1] for command in sent.commands if command[0] in ("ZADD", "ZREM") and "outbox" in command[1]}
    assert len(outboxes) == 1
    [job] = noted(raw)
    assert job.startswith(f"fan:{pid}:")
    assert raw.zscore(keys.outbox(job), job) is not None
    assert drain(store, "worker") == 1
    assert noted(raw) == []


def test_jobs_about_different_ids_are_in_all_outboxes_and_workers_find_them(store, raw, alice):
    for pid in range(1, 40):
        raw.zadd(keys.outbox(f"post:{pid}:x"), {f"post:{pid}:x": LONG_AGO})
    assert all(raw.zcard(key) > 5 for key in keys.outbox.all())
    assert not raw.exists("outbox")
    assert len(Outbox(store).due(100)) == 39
    assert drain(store, "worker") == 39
    assert noted(raw) == []


@pytest.mark.parametrize("key", ["outbox", "outbox:7", "outbox:0", "outbox:1", "outbox:2"])
def test_a_worker_first_moves_the_jobs_of_another_number_of_outboxes(store, raw, alice, key, monkeypatch):
    raw.zadd(key, {"post:1:x": LONG_AGO, "auth:1:secret:y": LONG_AGO})
    call_command("deliver", "--once", verbosity=0)
    assert raw.keys("outbox*") == []


def test_doctor_moves_the_jobs_of_another_number_of_outboxes_too(store, raw, alice, capsys):
    later = int(time.time()) + 60
    raw.zadd("outbox", {"follow:1:2:x": LONG_AGO})
    raw.zadd("outbox:9", {"auth:1:secret:y": later})
    out = complaints(capsys)
    assert "jobs in a key that no worker reads: 2" in out
    assert "secret" not in out
    call_command("doctor", "--fix", verbosity=0)
    assert raw.zscore(keys.outbox("auth:1:secret:y"), "auth:1:secret:y") == later
    assert noted(raw) == ["auth:1:secret:y"]  # which is not due


def test_posts_of_several_threads_are_all_listed(store, raw, alice, bob, settings):
    settings.POST_IDS = "snowflake"
    global_page(store)

    def write(author):
        for number in range(25):
            Posts(store).publish(author, NewPost("Hello"), f"t{number}")

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(write, (alice.user.uid, bob.user.uid)))
    listed = [int(pid) for uid in (1, 2) for pid in raw.zrange(f"updates:{uid}", 0, -1)]
    assert len(listed) == 50
    assert pids(global_page(store)) == sorted(listed, reverse=True)
    assert not stop.is_set()
