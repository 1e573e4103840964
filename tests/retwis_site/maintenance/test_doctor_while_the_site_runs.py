"""`doctor` reports no error for an operation that is in progress."""

import contextlib
import itertools
import time
from functools import partial

import pytest

from retwis_site.maintenance.checks import confirmed
from retwis_site.store import keys
from retwis_site.store.client import without_gate
from tests.support.maintenance.doctor_report import MISCOUNTED, doctor
from tests.support.maintenance.findings import findings_of
from tests.support.maintenance.healthy_site import ALICE, BOB
from tests.support.people import LONG_AGO, SECRET
from tests.support.stores.seam import before_each_round_trip
from timeline.posts import checks as post_checks
from timeline.posts.checks import PostChecks
from timeline.posts.entities import PostDeleted
from timeline.posts.repository import Posts
from timeline.relations import upkeep as edge_checks
from timeline.relations.relations import Follows
from timeline.relations.upkeep import RankingChecks
from timeline.timelines.checks import TimelineChecks

pytestmark = pytest.mark.usefixtures("no_waiting")


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
    real = PostChecks.was_listed

    def read_then_delete(self, pid, author):
        answer = real(self, pid, author)
        site.hset(f"post:{pid}", mapping={"deleted": LONG_AGO, "body": ""})
        site.expire(f"post:{pid}", 1000)
        return answer

    site.zrem("updates:1", 3)
    monkeypatch.setattr(PostChecks, "was_listed", read_then_delete)
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

    for module, read in ((post_checks, "members"), (edge_checks, "members"), (edge_checks, "pairs")):
        monkeypatch.setattr(module, read, partial(read_then_operate, getattr(module, read)))
    assert doctor(capsys)[:2] == (0, {})
