"""Actions interleaved with the deletion of an account, with and without killed processes: no data of it is left.

Each scenario runs in random interleavings.
"""

import contextlib
import io
import json

import pytest
from django.core.management import call_command

from accounts.signing_in.sessions.repository import Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users.deletion import AccountDeletion
from accounts.users.entities import User
from accounts.users.name_index import NameIndex
from accounts.users.repository import Users
from retwis_site.jobs.worker import drain
from retwis_site.store import keys
from retwis_site.store.local_cache import Memory
from tests.support.protocols.interleaving import Schedule, carry_out
from tests.support.protocols.small_site import (
    ALICE,
    BOB,
    CAROL,
    delete,
    everyone,
    existing_posts,
    finish_jobs,
    home,
    make_small_site,
    post,
)
from tests.support.protocols.thoroughness import examples
from tests.support.stored_keys import expected_name_entries, follower_counts, name_entries, ranking
from tests.support.stores.key_layouts import noted
from timeline.relations.follow import Follows

RUNS = 5  # seeds for each scenario
NAMES = {ALICE: "alice", BOB: "bob", CAROL: "carol"}


def delete_account(store, uid):
    return lambda: AccountDeletion(store).delete(User(uid, NAMES[uid]), f"secret{uid}")


def worker(store, name):
    """Carry out due jobs. It looks for jobs until there is one, at most twenty times."""

    def work():
        for _ in range(20):
            if drain(store, name):
                return

    return work


def remove(store, uid):
    """A worker with the job that removes the account; another worker may have it, too."""
    return lambda: carry_out(store, f"gone:{uid}:another")


def rotate(store, uid):
    return lambda: Sessions(store).end_all(uid)


def change_password(store, uid):
    return lambda: Sessions(store).change_password(uid, "another hash")


# The deletion of an account, and what happens at the same time.
SCENARIOS = {
    "I follow a user": lambda s: [delete_account(s, BOB), worker(s, "one"), lambda: Follows(s).follow(BOB, CAROL)],
    "a user follows me": lambda s: [delete_account(s, BOB), worker(s, "one"), lambda: Follows(s).follow(ALICE, BOB)],
    "a user follows me, two workers, a reader": lambda s: [
        delete_account(s, CAROL),
        worker(s, "one"),
        remove(s, CAROL),
        lambda: Follows(s).follow(BOB, CAROL),
        lambda: home(s),
    ],
    "a user follows and unfollows me": lambda s: [
        delete_account(s, BOB),
        remove(s, BOB),
        lambda: Follows(s).follow(ALICE, BOB),
        lambda: Follows(s).unfollow(ALICE, BOB),
    ],
    "I unfollow a user": lambda s: [
        delete_account(s, ALICE),
        remove(s, ALICE),
        lambda: Follows(s).unfollow(ALICE, CAROL),
        lambda: Follows(s).follow(BOB, CAROL),
    ],
    "a user unfollows me": lambda s: [
        delete_account(s, CAROL),
        remove(s, CAROL),
        lambda: Follows(s).unfollow(ALICE, CAROL),
    ],
    "I post": lambda s: [delete_account(s, CAROL), worker(s, "one"), post(s, CAROL), lambda: everyone(s)],
    "I post with a double click, two workers": lambda s: [
        delete_account(s, CAROL),
        worker(s, "one"),
        remove(s, CAROL),
        post(s, CAROL),
        post(s, CAROL),
    ],
    "I delete a post": lambda s: [
        delete_account(s, CAROL),
        remove(s, CAROL),
        lambda: delete(s, CAROL, 2),
        post(s, CAROL),
    ],
    "I log out and change my password": lambda s: [
        delete_account(s, ALICE),
        worker(s, "one"),
        rotate(s, ALICE),
        change_password(s, ALICE),
    ],
    "I change name, language and password": lambda s: [
        delete_account(s, ALICE),
        remove(s, ALICE),
        lambda: NameIndex(s).edit(User(ALICE, "alice"), "Ann", "Me"),
        lambda: Users(s).choose_language(ALICE, "de"),
        change_password(s, ALICE),
    ],
    "I delete my account twice": lambda s: [
        delete_account(s, CAROL),
        delete_account(s, CAROL),
        worker(s, "one"),
        worker(s, "two"),
    ],
    "two users delete their accounts": lambda s: [
        delete_account(s, ALICE),
        delete_account(s, CAROL),
        worker(s, "one"),
        worker(s, "two"),
    ],
    "a worker finishes my registration": lambda s: [
        delete_account(s, ALICE),
        remove(s, ALICE),
        lambda: carry_out(s, "user:1"),
    ],
}


def deleted(raw):
    return [uid for uid in NAMES if raw.hexists(f"user:{uid}", "deleted")]


def assert_no_data_of(raw, uid, where):
    for key in (keys.following(uid), keys.followers(uid), keys.updates(uid)):
        assert not raw.exists(key), (where, key)
    assert raw.zscore("users_by_time", NAMES[uid]) is None, where
    assert raw.zscore("users_by_followers", uid) is None, where
    assert raw.hget("users", NAMES[uid]) == str(uid), where
    for other in NAMES:
        assert raw.zscore(keys.following(other), uid) is None, (where, other)
        assert raw.zscore(keys.followers(other), uid) is None, (where, other)
    for key in raw.keys("post:*"):
        if raw.hget(key, "user_id") == str(uid) and raw.hexists(key, "deleted"):
            assert raw.hget(key, "body") == "", (where, key)
            assert raw.ttl(key) > 0, (where, key)


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_data_of_a_deleted_account_is_left(store, raw, layout, capsys, scenario, kills):
    deletions = 0
    for seed in range(examples(RUNS)):
        make_small_site(raw, layout)
        if "registration" in scenario:
            raw.zadd(keys.outbox("user:1"), {"user:1": 2**40})
        everyone(store)
        schedule = Schedule(seed, kills)
        schedule.run({str(number): work for number, work in enumerate(SCENARIOS[scenario](store))})
        assert schedule.errors == [], seed
        finish_jobs(store, raw)
        for uid in deleted(raw):
            deletions += 1
            assert_no_data_of(raw, uid, seed)
            assert not Viewer(store, raw.hget(f"user:{uid}", "auth") or "nothing").user.is_authenticated, seed
        assert ranking(raw) == follower_counts(raw), seed
        for one in NAMES:
            for other in NAMES:
                assert raw.zscore(f"following:{one}", other) == raw.zscore(f"followers:{other}", one), seed
        Memory.clear_all()
        assert everyone(store) == existing_posts(raw, NAMES), seed
        for uid in () if kills else deleted(raw):
            assert set(raw.hgetall(f"user:{uid}")) <= {"username", "deleted", "seen"}, seed
            assert name_entries(raw).keys().isdisjoint({f"{NAMES[uid]}:{uid}", f"ann:{uid}"}), seed
        call_command("cleanup", stdout=io.StringIO())
        assert name_entries(raw) == expected_name_entries(raw), seed
        for uid in deleted(raw):
            assert set(raw.hgetall(f"user:{uid}")) == {"username", "deleted"}, seed
        assert noted(raw) == [], seed
        assert_no_inconsistencies(capsys, seed)
    assert deletions >= examples(RUNS) // 2


def assert_no_inconsistencies(capsys, where):
    capsys.readouterr()
    with contextlib.suppress(SystemExit):
        call_command("doctor", "--json")
    assert json.loads(capsys.readouterr().out)["errors"] == [], where
