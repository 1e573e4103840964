"""The removal of a deleted account by a worker: follows, posts, home and entries go in chunks, beside other requests.

tests/accounts/users/test_deleted_accounts.py tests `doctor` and `cleanup`.
"""

import contextlib
import threading

import pytest

from accounts.signing_in.sessions.repository import Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users.names import NameIndex
from accounts.users.registration import finish_user
from retwis_site.exceptions import StoreError
from retwis_site.jobs import outbox, worker
from retwis_site.jobs.outbox import Claim
from retwis_site.jobs.worker import drain
from retwis_site.store import chunks
from retwis_site.store.local_cache import Memory
from tests.support.delivering import drain_due
from tests.support.people import LONG_AGO, register
from tests.support.protocols.thoroughness import stride
from tests.support.removed_accounts import (
    ALICE,
    alice_with_twelve,
    assert_nothing_is_left,
    delete_account,
    delete_and_remove,
    delete_before_round_trip,
    doctor_findings,
    home_texts,
    three_people,
)
from tests.support.stored_keys import everything, follower_counts, name_entries, ranking
from tests.support.stored_posts import write_posts
from tests.support.stores.key_layouts import make_due, noted
from tests.support.stores.seam import before_round_trip, killed_before_round_trip
from timeline.posts import repository as post_removal
from timeline.posts.entities import NewPost, NoSuchPost, PostDeleted
from timeline.posts.repository import Posts
from timeline.posts.settling import DELETED_STAYS
from timeline.relations import edges as edge_removal
from timeline.relations.relations import Follows
from timeline.timelines.everyone import EveryoneTimeline


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


def test_an_account_of_several_chunks_is_removed_whole(store, crowd, alice, capsys):
    delete_and_remove(store, alice)
    assert crowd.keys("following:*") == crowd.keys("followers:*") == crowd.keys("updates:*") == []
    assert ranking(crowd) == {}
    assert {crowd.hget(f"post:{pid}", "body") for pid in range(1, 13)} == {""}
    assert doctor_findings(capsys)[0] == {}


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


@pytest.mark.parametrize("step", range(5))
def test_a_post_deleted_during_the_deletion_of_the_account_is_deleted(store, site, alice, step):
    with contextlib.suppress(NoSuchPost, PostDeleted):
        delete_before_round_trip(store, alice, step, lambda: Posts(store).delete(ALICE, 1))
    assert_nothing_is_left(site, ALICE)
    assert site.hget("post:1", "body") == ""
    assert noted(site) == []


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
