"""Whatever interleaves with whatever, and whoever is killed: afterwards all is what the truth says.

The protocols were checked exhaustively in a model; this runs the real code, a number of random interleavings for each
scenario.
"""

import io

import pytest
from django.core.management import call_command
from django.test import override_settings

from accounts.signing_in.sessions import Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users.name_index import NameIndex
from accounts.users.registration import Registration, finish_user
from accounts.users.repository import Users
from retwis_site.jobs.outbox import Claim, Outbox
from retwis_site.jobs.worker import drain, handler_for
from retwis_site.store import keys
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
from timeline.posts.repository import Posts
from timeline.relations.follow import Follows

RUNS = 25


def evict(store):
    store.unlink("posts:1")
    for key in keys.timelines():
        store.unlink(key)


def claim_of(store, job):
    return Claim(Outbox(store), job, attempt=1)


def impatient_worker(store):
    """One that respects neither scores nor leases."""
    for job in [job for key in keys.outboxes() for job in store.zrangebyscore(key, "-inf", "+inf", 100)]:
        handler_for(job)(store, claim_of(store, job))


def post_for_many(store, uid):
    def publish():
        with override_settings(DELIVER_INLINE_LIMIT=0):
            Posts(store).publish(uid, f"by {uid}", "t")

    return publish


SCENARIOS = {
    "follow, post, read": lambda s: [lambda: Follows(s).follow(ALICE, BOB), post(s, BOB), lambda: home(s)],
    "follow, unfollow, post, read": lambda s: [
        lambda: Follows(s).follow(ALICE, BOB),
        lambda: Follows(s).unfollow(ALICE, BOB),
        post(s, BOB),
        lambda: home(s),
    ],
    "three follow or leave one person, two of them at once": lambda s: [
        lambda: Follows(s).follow(ALICE, BOB),
        lambda: Follows(s).unfollow(ALICE, BOB),
        lambda: Follows(s).follow(CAROL, BOB),
        lambda: home(s),
    ],
    "unfollow, post, two readers": lambda s: [
        lambda: Follows(s).unfollow(ALICE, CAROL),
        post(s, CAROL),
        lambda: home(s),
        lambda: home(s),
    ],
    "double click, delete, read": lambda s: [
        post(s, CAROL),
        post(s, CAROL),
        lambda: delete(s, CAROL, 3),
        lambda: home(s),
    ],
    "delete, two readers, everybody": lambda s: [
        lambda: delete(s, CAROL, 2),
        lambda: home(s),
        lambda: home(s),
        lambda: everybody(s),
    ],
    "two posts, two readers of everybody": lambda s: [
        lambda: everybody(s),
        post(s, CAROL),
        post(s, BOB, "u"),
        lambda: everybody(s),
    ],
    "lists vanish, post, read": lambda s: [lambda: evict(s), post(s, CAROL), lambda: home(s), lambda: everybody(s)],
    "a post left to a worker, a follow, a reader": lambda s: [
        post_for_many(s, CAROL),
        lambda: impatient_worker(s),
        lambda: Follows(s).follow(ALICE, BOB),
        lambda: home(s),
    ],
    "a post left to two workers, a delete": lambda s: [
        post_for_many(s, CAROL),
        lambda: drain(s, "one"),
        lambda: drain(s, "two"),
        lambda: delete(s, CAROL, 3),
        lambda: home(s),
    ],
    "a worker beside a living owner": lambda s: [lambda: impatient_worker(s), post(s, CAROL), lambda: home(s)],
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_timelines_agree_with_the_truth(store, raw, layout, scenario, warm, kills):
    for seed in range(RUNS):
        a_small_site(raw, layout)
        if warm:
            home(store)
            everybody(store)
        schedule = Schedule(seed, kills)
        schedule.run({str(number): work for number, work in enumerate(SCENARIOS[scenario](store))})
        assert schedule.errors == [], seed
        quiet(store, raw)
        followed = [int(uid) for uid in raw.zrange("following:1", 0, -1)]
        for _ in range(2):  # what is rebuilt, and what is read then
            assert home(store) == standing_posts(raw, [ALICE, *followed]), seed
            assert everybody(store) == standing_posts(raw, [ALICE, BOB, CAROL]), seed
        for uid in (BOB, CAROL):
            assert raw.zscore("following:1", uid) == raw.zscore(f"followers:{uid}", ALICE), seed
        assert ranking(raw) == follower_counts(raw), seed
        for pid in standing_posts(raw, [BOB, CAROL]):
            assert not raw.hexists(f"post:{pid}", "deleted"), seed
        if scenario.startswith("double click"):
            assert raw.zcard("updates:3") <= 2, seed


@pytest.mark.parametrize("kills", [0, 1])
def test_three_who_register_one_name_are_one_user(store, raw, layout, kills):
    for seed in range(RUNS):
        raw.flushall()
        schedule = Schedule(seed, kills)
        schedule.run(
            {name: lambda name=name: Registration(store).register(name, "hash") for name in ("Dora", "dora", "DORA")}
        )
        quiet(store, raw)
        call_command("cleanup", stdout=io.StringIO())  # of what a claim that died has left
        [uid] = raw.hvals("users") or [None]
        assert raw.keys("user:*") == ([f"user:{uid}"] if uid else []), seed
        if uid:
            assert raw.hgetall("auths") == {raw.hget(f"user:{uid}", "auth"): uid}, seed
            assert raw.zrange("users_by_time", 0, -1) == [raw.hget(f"user:{uid}", "username")], seed
            assert name_entries(raw) == expected_name_entries(raw) == {f"dora:{uid}": 0}, seed


@pytest.mark.parametrize("kills", [0, 1])
def test_logouts_and_a_password_change_leave_one_secret_that_opens(store, raw, layout, kills):
    for seed in range(RUNS):
        a_small_site(raw, layout)
        Schedule(seed, kills).run(
            {
                "out": lambda: Sessions(store).end_all(ALICE, "secret1"),
                "out too": lambda: Sessions(store).end_all(ALICE, "secret1"),
                "change": lambda: Sessions(store).change_password(ALICE, "another hash"),
                "in": lambda: Sessions(store).open(ALICE, "alice", "secret1"),
            }
        )
        quiet(store, raw)
        secret = raw.hget("user:1", "auth")
        assert raw.hget("auths", secret) == "1", seed
        assert Viewer(store, secret).user.is_authenticated, seed
        for stale in set(raw.hgetall("auths")) - {secret, "secret2", "secret3"}:
            assert not Viewer(store, stale).user.is_authenticated, seed


def edit(store, name, bio="new"):
    """From a device that has read who alice is in a trip of its own."""

    def work():
        me = (
            Users(store).people_of([ALICE], [store.hmget(keys.user(ALICE), ["username", "name", "deleted"])]).get(ALICE)
        )
        if me is not None:  # whose account is deleted is not signed in
            NameIndex(store).edit(me, name, bio)

    return work


def delete_account(store):
    """As much of it as concerns names."""

    def work():
        pipe = store.pipeline()
        pipe.hget(keys.user(ALICE), "name")
        pipe.hset(keys.user(ALICE), {"deleted": "5", "name": "", "bio": ""})
        name, _ = pipe.execute()
        NameIndex(store).refile(ALICE, [name])
        store.hdel(keys.user(ALICE), "name")
        store.hdel(keys.user(ALICE), "bio")

    return work


EDITS = {
    "two devices": lambda s: [edit(s, "Ann"), edit(s, "Bea")],
    "three devices": lambda s: [edit(s, "Ann"), edit(s, "Bea"), edit(s, "")],
    "one takes the name back": lambda s: [edit(s, "Ann"), edit(s, "Anna")],
    "a name and a bio alone": lambda s: [edit(s, "Ann"), edit(s, "Anna", "other")],
    "a worker beside two living owners": lambda s: [edit(s, "Ann"), edit(s, "Bea"), lambda: impatient_worker(s)],
    "a registration that is finished late": lambda s: [
        edit(s, "Ann"),
        lambda: finish_user(s, Claim(Outbox(s), "user:1", attempt=1)),
    ],
    "the account is deleted": lambda s: [edit(s, "Ann"), edit(s, "Anna", "other"), delete_account(s)],
    "doctor": lambda s: [edit(s, "Ann"), edit(s, ""), lambda: NameIndex(s).refile(ALICE, ["Anna"])],
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", EDITS)
def test_people_are_found_by_what_they_are_called(store, raw, layout, scenario, kills):
    """Also after deaths, which leave nothing but an entry too many."""
    for seed in range(2 * RUNS):
        a_small_site(raw, layout)
        raw.hset("user:1", mapping={"name": "Anna", "bio": "old"})
        raw.zadd("users_by_name", {"anna:1": 0})
        schedule = Schedule(seed, kills)
        schedule.run({str(number): work for number, work in enumerate(EDITS[scenario](store))})
        assert schedule.errors == [], seed
        quiet(store, raw)
        if kills:
            assert expected_name_entries(raw).items() <= name_entries(raw).items(), seed
            call_command("cleanup", stdout=io.StringIO())
        assert name_entries(raw) == expected_name_entries(raw), seed
        if raw.hexists("user:1", "deleted") and not kills:
            assert raw.hmget("user:1", "name", "bio") == [None, None], seed
