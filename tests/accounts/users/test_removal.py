"""The removal of a deleted account by a worker: follows, posts, home and entries go in chunks, beside other requests.
What is left afterwards, `doctor` and `cleanup` remove."""

import threading
import time
from types import SimpleNamespace

import pytest
from django.core.management import call_command

from accounts.signing_in.sessions.repository import Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users import accounts as removal, checks
from accounts.users.accounts import finish_user
from accounts.users.checks import AccountChecks
from accounts.users.names import NameIndex
from retwis_site.exceptions import StoreError
from retwis_site.jobs import lease, outbox, worker
from retwis_site.jobs.outbox import LEASE, Claim, Outbox
from retwis_site.jobs.worker import drain
from retwis_site.store import chunks, keys
from retwis_site.store.local_cache import Memory
from tests.support.command_output import NAMES, SECRETS, doctor_findings, findings_of, finds_and_mends, mends_all
from tests.support.people import LONG_AGO, register
from tests.support.removed_accounts import (
    ALICE,
    BOB,
    CAROL,
    delete_account,
    delete_and_remove,
    home_texts,
    three_people,
)
from tests.support.stored_keys import drain_due, everything, follower_counts, make_due, name_entries, noted, ranking
from tests.support.stored_posts import write_posts
from tests.support.stores.seam import before_round_trip, killed_before_round_trip, stride
from timeline.posts import repository as post_removal
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.posts.settling import DELETED_STAYS
from timeline.relations import edges as edge_removal
from timeline.relations.edges import Edges
from timeline.relations.relation import to_person
from timeline.relations.relations import FOLLOW, Follows
from timeline.timelines.everyone import EveryoneTimeline


def alice_with_twelve(store, raw, monkeypatch):
    """alice and twelve users follow each other, and she has twelve posts. A worker removes them in chunks of five."""
    monkeypatch.setattr(chunks, "AT_ONCE", 5)
    for number in range(12):
        uid = register(store, f"person{number}").user.uid
        Follows(store).follow(uid, ALICE)
        Follows(store).follow(ALICE, uid)
    write_posts(raw, ALICE, range(1, 13))
    return raw


def assert_nothing_is_left(raw, uid):
    """No follow, no post and no place in the ranking is left of a user, nor any entry at another user."""
    for key in (keys.following(uid), keys.followers(uid), keys.updates(uid)):
        assert not raw.exists(key), key
    assert raw.zscore("users_by_followers", uid) is None
    assert ranking(raw) == follower_counts(raw)
    for key in (*raw.keys("following:*"), *raw.keys("followers:*")):
        assert raw.zscore(key, uid) is None, key


@pytest.fixture
def site(store, alice, bob, carol, raw):
    return three_people(store, raw, alice, bob, carol)


# ---- what is removed


def test_only_the_name_and_the_date_of_the_deletion_stay(store, site, alice, capsys):
    delete_and_remove(store, alice)
    user = site.hgetall("user:1")
    assert user.keys() == {"username", "deleted"}
    assert user["username"] == "Alice"
    assert site.hgetall("users") == {"alice": "1", "bob": "2", "carol": "3"}
    for key in ("following:1", "followers:1", "updates:1", "posts:1"):
        assert not site.exists(key), key
    assert alice.secret not in site.hgetall("auths")
    assert site.zrange("users_by_time", 0, -1) == ["bob", "carol"]
    assert name_entries(site) == {"bob:2": 0, "carol:3": 0}
    assert (noted(site), site.keys("lease:*"), site.hgetall("attempts")) == ([], [], {})
    assert doctor_findings(capsys)[0] == {}


def test_follows_in_both_directions_are_removed_from_every_key(store, site, alice, bob, carol):
    delete_and_remove(store, alice)
    assert site.zrange("following:2", 0, -1) == ["3"]
    assert not site.exists("following:3")
    assert not site.exists("followers:2")
    assert site.zrange("followers:3", 0, -1) == ["2"]
    assert ranking(site) == follower_counts(site) == {"3": 1}
    assert not site.exists("posts:2")  # it is read anew, without the posts of alice
    assert (home_texts(store, bob), home_texts(store, carol)) == (["Four", "Three"], ["Four"])


def test_posts_are_deleted_as_by_their_author(store, site, alice):
    delete_and_remove(store, alice)
    for pid in (1, 2):
        post = site.hgetall(f"post:{pid}")
        assert (post["user_id"], post["body"]) == ("1", "")
        assert post["deleted"].isdigit()
        assert 0 < site.ttl(f"post:{pid}") <= DELETED_STAYS
    assert site.hget("post:3", "body") == "Three"
    Memory.clear_all()
    shown = EveryoneTimeline(store).page(Viewer(store, ""), None, 50).page.posts
    assert [post.body for post in shown] == ["Four", "Three"]


def test_wrong_members_of_the_accounts_sets_harm_no_other_user(store, site, alice):
    site.zadd("updates:1", {"3": 3, "not a number": 5})
    site.zadd("following:1", {"nobody": 1})
    site.zadd("followers:1", {"nobody": 1})
    site.zadd("likes:1", {"3": LONG_AGO, "not a number": 5})
    delete_and_remove(store, alice)
    assert site.hget("post:3", "body") == "Three"
    assert not site.hexists("post:3", "deleted")
    for key in ("following:1", "followers:1", "updates:1", "likes:1"):
        assert not site.exists(key), key


def test_an_account_without_posts_and_follows_is_removed_too(store, alice, raw, capsys):
    delete_and_remove(store, alice)
    assert raw.hgetall("user:1").keys() == {"username", "deleted"}
    assert raw.keys("post:*") == []
    assert doctor_findings(capsys) == ({}, {})


def test_a_job_of_a_deletion_without_a_commit_removes_nothing(store, site):
    before = everything(site)
    site.zadd("outbox", {"gone:1:x": LONG_AGO})
    assert drain(store, "worker") == 1
    assert everything(site) == before


# ---- chunks, and workers that stop


@pytest.fixture
def crowd(store, raw, alice, monkeypatch):
    return alice_with_twelve(store, raw, monkeypatch)


def test_a_chunk_costs_the_same_whatever_is_in_it(store, crowd, alice, monkeypatch, round_trips):
    def cost():
        return len(round_trips(lambda: drain(store, "worker")).round_trips)

    delete_account(store, alice)
    twelve = cost()
    bob = register(store, "bob")
    monkeypatch.setattr(chunks, "AT_ONCE", 12)
    for number in range(12):
        Follows(store).follow(number + 2, bob.user.uid)
        Follows(store).follow(bob.user.uid, number + 2)
    write_posts(crowd, bob.user.uid, range(21, 33))
    Memory.clear_all()
    delete_account(store, bob)
    assert cost() == twelve - 2 * (13 + 10 + 11)  # two chunks fewer of posts, followed users and followers


def test_a_worker_that_must_stop_releases_the_job_and_the_next_one_continues(store, crowd, alice, monkeypatch):
    stop = threading.Event()
    monkeypatch.setattr(worker, "stop", stop)
    delete_account(store, alice)
    removed = []

    def emptied_until_stop(store, key):
        for members in chunks.emptied(store, key):
            removed.append(key)
            stop.set()
            yield members

    def heads_until_stop(store, keys_of):
        rows = chunks.heads(store, keys_of)
        for number in dict.fromkeys(number for number, _ in rows):
            removed.append(keys_of[number])
            stop.set()
        return rows

    for part in (post_removal, edge_removal):
        monkeypatch.setattr(part, "emptied", emptied_until_stop)
    monkeypatch.setattr(edge_removal, "heads", heads_until_stop)
    for _ in range(9):  # three chunks of each kind
        stop.clear()
        drain(store, "worker")
        assert crowd.keys("lease:*") == []
        if not noted(crowd):
            break
        assert crowd.hvals("attempts") == ["1"]  # the job was released, which is no failure
    assert removed == ["updates:1"] * 3 + ["following:1"] * 3 + ["followers:1"] * 3
    stop.clear()
    drain(store, "worker")
    assert noted(crowd) == []
    assert crowd.hgetall("user:1").keys() == {"username", "deleted"}


def test_other_due_jobs_wait_for_one_turn_and_not_for_the_whole_removal(store, crowd, alice, monkeypatch, sent):
    monkeypatch.setattr(outbox, "TURN", -1.0)  # one chunk
    delete_account(store, alice)
    [gone] = noted(crowd)
    crowd.zadd("outbox", {gone: LONG_AGO, "follow:2:3:x": LONG_AGO + 1})
    assert drain(store, "worker") == 2
    removed = [command[2] for command in sent.commands if command[:2] == ("ZREM", "outbox")]
    assert [job for job in removed if job in {"follow:2:3:x", gone}] == ["follow:2:3:x", gone]
    assert crowd.hgetall("user:1").keys() == {"username", "deleted"}
    assert (noted(crowd), crowd.keys("lease:*"), crowd.hgetall("attempts")) == ([], [], {})


def test_a_long_removal_renews_its_lease(store, crowd, alice, monkeypatch, sent):
    monkeypatch.setattr("retwis_site.jobs.outbox.RENEWS_EVERY", -1.0)
    delete_account(store, alice)
    [job] = noted(crowd)
    drain(store, "worker")
    renewals = [command for command in sent.commands if command[:2] == ("EXPIRE", f"lease:{job}")]
    assert len(renewals) == 9


@pytest.mark.parametrize("step", range(0, 40, stride()))
def test_after_a_kill_at_any_step_another_worker_finishes(store, crowd, alice, monkeypatch, step, capsys):
    delete_account(store, alice)
    died = killed_before_round_trip(step, lambda: drain(store, "one"))
    assert died
    make_due(crowd)
    drain(store, "two")
    assert noted(crowd) == []
    assert crowd.keys("following:*") == crowd.keys("followers:*") == crowd.keys("updates:*") == []
    assert ranking(crowd) == {}
    assert {crowd.hget(f"post:{pid}", "body") for pid in range(1, 13)} == {""}
    assert crowd.hgetall("user:1").keys() == {"username", "deleted"}
    assert doctor_findings(capsys)[0] == {}


# ---- other requests during the deletion; more of them in tests/protocols/test_interleaved_removals.py


@pytest.mark.parametrize("kind", ["post", "fan"])
def test_a_worker_delivers_no_post_of_a_deleted_account(store, site, alice, kind):
    delete_account(store, alice)
    site.hset("post:5", mapping={"user_id": ALICE, "time": LONG_AGO, "body": "Too late"})
    [gone] = noted(site)
    site.zadd("outbox", {gone: 2**40, f"{kind}:5:x": LONG_AGO})
    assert drain(store, "worker") == 1
    assert site.hget("post:5", "body") == ""
    assert 0 < site.ttl("post:5") <= DELETED_STAYS
    assert site.zscore("updates:1", "5") is None


def test_a_name_and_a_password_changed_on_another_device_before_the_deletion_are_removed(store, site, alice):
    """After this request has read the user, and while it verifies the password."""
    NameIndex(store).edit(alice.user, "Alicia", "")
    Sessions(store).change_password(ALICE, "another hash")
    delete_and_remove(store, alice)
    assert name_entries(site) == {"bob:2": 0, "carol:3": 0}
    assert "1" not in site.hvals("auths")


@pytest.mark.parametrize("step", range(3, 7))
def test_a_registration_that_died_during_the_deletion_lists_no_user(store, site, alice, monkeypatch, step):
    site.zadd("outbox", {"user:1": 2**40})
    with before_round_trip(2, lambda: delete_and_remove(store, alice)):
        killed_before_round_trip(step, lambda: finish_user(store, Claim(store, "user:1", attempt=1)))
    drain_due(store, site)
    assert site.zrange("users_by_time", 0, -1) == ["bob", "carol"]
    assert name_entries(site) == {"bob:2": 0, "carol:3": 0}


def test_a_post_with_a_store_error_before_the_deletion_is_not_published(store, site, alice, monkeypatch):
    """The job of the post stays. The worker that claims it sees that the author's account is deleted."""

    def fails():
        raise StoreError("away")

    with pytest.raises(StoreError), before_round_trip(6, fails):
        Posts(store).publish(ALICE, NewPost("Too late"), "late")
    delete_and_remove(store, alice)
    drain_due(store, site)
    assert_nothing_is_left(site, ALICE)
    assert site.hget("post:5", "body") == ""


# ---- Requests of a user during the deletion of the account: they open no session, and their writes do not stay. More
# of them in tests/protocols/test_interleaved_removals.py.


def test_a_registration_that_a_worker_finishes_after_the_deletion_keeps_the_look_of_the_name(
    store, site, alice, capsys
):
    looks = {look for look, uid in site.hgetall("skeletons").items() if uid == "1"}
    site.hdel("skeletons", *looks)  # the store died in the middle of the registration's last round trip
    delete_and_remove(store, alice)
    site.zadd("outbox", {"user:1": 0})
    assert drain(store, "worker") == 1
    assert looks <= {look for look, uid in site.hgetall("skeletons").items() if uid == "1"}
    assert site.zscore("outbox", "user:1") is None
    assert doctor_findings(capsys)[0] == {}


@pytest.mark.parametrize("step", range(2, 6))
def test_a_password_change_that_died_during_a_deletion_leaves_no_hash(store, site, alice, monkeypatch, step):
    with before_round_trip(1, lambda: delete_and_remove(store, alice)):
        killed_before_round_trip(step, lambda: Sessions(store).change_password(ALICE, "another hash"))
    drain_due(store, site)
    assert site.hgetall("user:1").keys() == {"username", "deleted"}
    assert noted(site) == []


# ---- `doctor` and `cleanup` after a deletion: they remove data that is left, and restore none. What a deleted
# account keeps is no inconsistency.


POST = {"user_id": 1, "time": 7, "body": "x"}
DATA_LEFT = "deleted accounts with data left"


@pytest.mark.parametrize(
    "leave_data",
    [
        lambda raw: (raw.zadd("following:1", {"2": 7}), raw.zadd("followers:2", {"1": 7})),
        lambda raw: (raw.zadd("followers:1", {"2": 7}), raw.zadd("following:2", {"1": 7})),
        lambda raw: (raw.zadd("updates:1", {"9": 9}), raw.hset("post:9", mapping=POST)),
        lambda raw: raw.zadd("users_by_time", {"Alice": 7}),
    ],
    ids=["following", "followers", "posts", "users_by_time"],
)
def test_doctor_finds_data_that_is_left_and_repeats_the_deletion(store, site, alice, capsys, leave_data):
    delete_and_remove(store, alice)
    leave_data(site)
    site.delete("users_by_followers")
    Edges(store, FOLLOW).mend([to_person(BOB, CAROL)])
    assert doctor_findings(capsys)[0].get(DATA_LEFT) == 1
    mends_all(capsys)
    assert_nothing_is_left(site, ALICE)
    assert site.zrange("users_by_time", 0, -1) == ["bob", "carol"]
    assert site.hget("post:9", "body") in {None, ""}
    assert noted(site) == []


def test_doctor_finishes_a_deletion_without_a_job(store, site, alice, capsys, monkeypatch):
    monkeypatch.setattr(outbox, "TURN", -1.0)
    delete_account(store, alice)
    site.delete("outbox")
    finds_and_mends(capsys, {DATA_LEFT: 1})
    assert site.hgetall("user:1").keys() == {"username", "deleted"}


def test_doctor_repeats_a_deletion_that_takes_longer_than_the_lease_of_a_request(
    store, site, alice, capsys, monkeypatch
):
    delete_account(store, alice)
    site.delete("outbox")

    def finish_late(store, claim):
        monkeypatch.setattr(lease, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + LEASE))
        return removal.finish_deletion(store, claim)

    monkeypatch.setattr(checks, "finish_deletion", finish_late)
    finds_and_mends(capsys, {DATA_LEFT: 1})
    assert noted(site) == []


def test_doctor_finds_nothing_while_a_worker_removes_the_account(store, crowd, alice, capsys):
    """`doctor` looks before each round trip of the worker."""
    delete_account(store, alice)
    [job] = noted(crowd)
    claim = Claim(store, job, attempt=1, told_to_stop=lambda: True)
    steps = 0
    for step in range(60):
        found_at_step = []
        with before_round_trip(
            step, lambda found_at_step=found_at_step: found_at_step.append(doctor_findings(capsys)[0])
        ):
            removal.finish_deletion(store, claim)
        assert found_at_step in ([], [{}]), step
        steps += len(found_at_step)
        crowd.zadd("outbox", {job: int(time.time()) + LEASE})
        crowd.hset("user:1", "deleted", LONG_AGO)
    assert steps >= 3


def test_a_page_during_the_deletion_leaves_only_orphans(store, site, alice, capsys):
    delete_and_remove(store, alice)
    site.rpush("posts:1", "b1", "4", "0")
    site.hset("user:1", mapping={"seen": 4, "auth": "a secret that auths does not know"})
    inconsistencies, orphans = doctor_findings(capsys)
    assert inconsistencies == {}
    assert orphans.pop("lists with dead ids") == 1  # the list `timeline`
    assert orphans == {"extra fields of deleted accounts": 1, "home timelines of unknown users": 1}
    call_command("cleanup", verbosity=0)
    assert not site.exists("posts:1")
    assert site.hgetall("user:1").keys() == {"username", "deleted"}


def test_cleanup_does_not_touch_an_account_during_its_deletion(store, site, alice):
    delete_account(store, alice)
    before = site.hgetall("user:1")
    call_command("cleanup", verbosity=0)
    assert site.hgetall("user:1") == before
    assert site.zcard("followers:1") == 2


def test_a_released_job_is_not_overdue(store, crowd, alice, monkeypatch, capsys):
    """Even when it began long ago: other due jobs come first."""
    delete_account(store, alice)
    [job] = noted(crowd)
    crowd.zadd("outbox", {job: LONG_AGO})
    [claim] = Outbox(store).claim([job], "worker", lambda: True)
    assert not removal.finish_deletion(store, claim)
    Outbox(store).release(job)
    assert doctor_findings(capsys) == ({}, {})


@pytest.mark.parametrize("where", ["outbox", "set_aside"])
def test_doctor_finishes_a_job_that_no_worker_finishes(store, crowd, alice, monkeypatch, capsys, where):
    """Without turns."""
    monkeypatch.setattr(outbox, "TURN", -1.0)
    delete_account(store, alice)
    [job] = noted(crowd)
    crowd.delete("outbox")
    crowd.zadd(where, {job: LONG_AGO})
    label = "overdue jobs" if where == "outbox" else "dead letters"
    assert doctor_findings(capsys, "--fix")[0] == {label: 1}
    assert_nothing_is_left(crowd, ALICE)
    assert crowd.hgetall("user:1").keys() == {"username", "deleted"}
    assert not crowd.exists("set_aside")


# ---- inconsistencies of what stays


def test_a_lost_name_is_restored_from_the_hash_that_cleanup_keeps(store, site, alice, capsys):
    delete_and_remove(store, alice)
    site.hdel("users", "alice")
    call_command("cleanup", verbosity=0)
    assert site.hgetall("user:1").keys() == {"username", "deleted"}
    finds_and_mends(capsys, {"users that no name leads to": 1})
    assert site.hget("users", "alice") == "1"


def test_a_lost_username_is_restored_without_a_password_or_a_secret(store, site, alice, capsys):
    delete_and_remove(store, alice)
    site.hdel("user:1", "username")
    [finding] = findings_of(store, AccountChecks(store).inconsistencies(), NAMES)
    finding.repair()
    assert site.hgetall("user:1").keys() == {"username", "deleted"}
    assert site.hget("user:1", "username") == "alice"
    assert doctor_findings(capsys)[0] == {}


def test_a_deletion_before_doctors_repair_leaves_no_empty_secret(store, site, alice):
    """The check runs before the deletion, its repair after it."""
    site.hdel("auths", alice.secret)
    [finding] = findings_of(store, AccountChecks(store).inconsistencies(), SECRETS)
    delete_and_remove(store, alice)
    before = everything(site)
    finding.repair()
    assert everything(site) == before
