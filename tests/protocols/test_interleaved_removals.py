"""Whatever somebody does, or others do to them, while their account is deleted, and whoever is killed: nothing is left.

As in test_interleavings.py, a number of random interleavings of the real code for each scenario; the protocol was
checked exhaustively in a model.
"""

import contextlib
import io
import json

import pytest
from django.core.management import call_command

from accounts.signing_in.sessions import Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users.deletion import AccountDeletion
from accounts.users.entities import User
from accounts.users.name_index import NameIndex
from accounts.users.registration import finish_user
from accounts.users.repository import Users
from retwis_site.jobs.outbox import Claim, Outbox
from retwis_site.jobs.worker import drain, handler_for
from retwis_site.store import keys
from retwis_site.store.local_cache import Memory
from tests.support.protocols.interleaving import Schedule
from tests.support.protocols.small_site import (
    ALICE,
    BOB,
    CAROL,
    a_small_site,
    delete,
    everybody,
    home,
    post,
    quiet,
    standing_posts,
)
from tests.support.stored_keys import expected_name_entries, follower_counts, name_entries, ranking
from tests.support.stores.key_layouts import noted
from timeline.relations.follow import Follows

RUNS = 20
NAMES = {ALICE: "alice", BOB: "bob", CAROL: "carol"}


def leave(store, uid):
    return lambda: AccountDeletion(store).delete(User(uid, NAMES[uid]), f"secret{uid}")


def worker(store, name):
    """One that respects scores and leases, and looks until it has seen a deletion, or twenty times."""

    def work():
        for _ in range(20):
            if drain(store, name):
                return

    return work


def clearing(store, uid):
    """A worker that has this very intent already, whoever else has it too."""
    return lambda: handler_for("gone")(store, Claim(Outbox(store), f"gone:{uid}:another", attempt=1))


def rotate(store, uid):
    return lambda: Sessions(store).end_all(uid, f"secret{uid}")


def change_password(store, uid):
    return lambda: Sessions(store).change_password(uid, "another hash")


# Who leaves, and what happens at the same time.
SCENARIOS = {
    "I follow somebody": lambda s: [leave(s, BOB), worker(s, "one"), lambda: Follows(s).follow(BOB, CAROL)],
    "somebody follows me": lambda s: [leave(s, BOB), worker(s, "one"), lambda: Follows(s).follow(ALICE, BOB)],
    "somebody follows me, two workers, a reader": lambda s: [
        leave(s, CAROL),
        worker(s, "one"),
        clearing(s, CAROL),
        lambda: Follows(s).follow(BOB, CAROL),
        lambda: home(s),
    ],
    "somebody follows me and leaves me": lambda s: [
        leave(s, BOB),
        clearing(s, BOB),
        lambda: Follows(s).follow(ALICE, BOB),
        lambda: Follows(s).unfollow(ALICE, BOB),
    ],
    "I stop following somebody": lambda s: [
        leave(s, ALICE),
        clearing(s, ALICE),
        lambda: Follows(s).unfollow(ALICE, CAROL),
        lambda: Follows(s).follow(BOB, CAROL),
    ],
    "somebody stops following me": lambda s: [
        leave(s, CAROL),
        clearing(s, CAROL),
        lambda: Follows(s).unfollow(ALICE, CAROL),
    ],
    "I post": lambda s: [leave(s, CAROL), worker(s, "one"), post(s, CAROL), lambda: everybody(s)],
    "I post twice by one click, two workers": lambda s: [
        leave(s, CAROL),
        worker(s, "one"),
        clearing(s, CAROL),
        post(s, CAROL),
        post(s, CAROL),
    ],
    "I delete a post": lambda s: [leave(s, CAROL), clearing(s, CAROL), lambda: delete(s, CAROL, 2), post(s, CAROL)],
    "I log out and change my password": lambda s: [
        leave(s, ALICE),
        worker(s, "one"),
        rotate(s, ALICE),
        change_password(s, ALICE),
    ],
    "I take a name, a language and a password": lambda s: [
        leave(s, ALICE),
        clearing(s, ALICE),
        lambda: NameIndex(s).edit(User(ALICE, "alice"), "Ann", "Me"),
        lambda: Users(s).choose_language(ALICE, "de"),
        change_password(s, ALICE),
    ],
    "I delete it twice": lambda s: [leave(s, CAROL), leave(s, CAROL), worker(s, "one"), worker(s, "two")],
    "we both leave": lambda s: [leave(s, ALICE), leave(s, CAROL), worker(s, "one"), worker(s, "two")],
    "a worker that finishes my registration": lambda s: [
        leave(s, ALICE),
        clearing(s, ALICE),
        lambda: finish_user(s, Claim(Outbox(s), "user:1", attempt=1)),
    ],
}


def gone(raw):
    return [uid for uid in NAMES if raw.hexists(f"user:{uid}", "deleted")]


def nothing_is_left_of(raw, uid, where):
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
def test_nothing_is_left_of_a_deleted_account(store, raw, layout, capsys, scenario, kills):
    left = 0
    for seed in range(RUNS):
        a_small_site(raw, layout)
        if "registration" in scenario:
            raw.zadd(keys.outbox("user:1"), {"user:1": 2**40})
        everybody(store)
        schedule = Schedule(seed, kills)
        schedule.run({str(number): work for number, work in enumerate(SCENARIOS[scenario](store))})
        assert schedule.errors == [], seed
        quiet(store, raw)
        for uid in gone(raw):
            left += 1
            nothing_is_left_of(raw, uid, seed)
            assert not Viewer(store, raw.hget(f"user:{uid}", "auth") or "nothing").user.is_authenticated, seed
        assert ranking(raw) == follower_counts(raw), seed
        for one in NAMES:
            for other in NAMES:
                assert raw.zscore(f"following:{one}", other) == raw.zscore(f"followers:{other}", one), seed
        Memory.clear_all()
        assert everybody(store) == standing_posts(raw, NAMES), seed
        for uid in () if kills else gone(raw):
            assert set(raw.hgetall(f"user:{uid}")) <= {"username", "deleted", "seen"}, seed
            assert name_entries(raw).keys().isdisjoint({f"{NAMES[uid]}:{uid}", f"ann:{uid}"}), seed
        call_command("cleanup", stdout=io.StringIO())
        assert name_entries(raw) == expected_name_entries(raw), seed
        for uid in gone(raw):
            assert set(raw.hgetall(f"user:{uid}")) == {"username", "deleted"}, seed
        assert noted(raw) == [], seed
        no_errors(capsys, seed)
    assert left > RUNS // 2


def no_errors(capsys, where):
    capsys.readouterr()
    with contextlib.suppress(SystemExit):
        call_command("doctor", "--json")
    assert json.loads(capsys.readouterr().out)["errors"] == [], where
