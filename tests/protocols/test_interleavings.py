"""Interleaved actions, with and without killed processes: afterwards all derived data agrees with its sources.

Each scenario runs in random interleavings. `tests/model/lists/` explores all those of a list that is rebuilt.
"""

import io
from functools import partial

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.hashers import make_password
from django.core.management import call_command
from django.test import override_settings

from accounts.signing_in.sessions.entities import Device
from accounts.signing_in.sessions.repository import Sessions
from accounts.signing_in.viewer import Viewer
from accounts.users.accounts import Registration
from accounts.users.entities import NameTaken, User, Verified
from accounts.users.names import NameIndex
from accounts.users.repository import PERSON, person
from retwis_site.jobs.worker import drain
from retwis_site.store import keys
from retwis_site.store.local_cache import Memory
from tests.support.people import NEW_PASSWORD, PASSWORD, give_old_password
from tests.support.protocols.interleaving import attempt, carry_out, interleave, take_all_over
from tests.support.protocols.small_site import (
    ALICE,
    BOB,
    CAROL,
    delete,
    everyone,
    existing_posts,
    finish_jobs,
    home,
    leave,
    make_small_site,
    post,
)
from tests.support.protocols.thoroughness import examples
from tests.support.stored_keys import expected_name_entries, follower_counts, name_entries, ranking
from timeline.account_data.restoring import OldPost, Restoring
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.home_tags import HomeTags
from timeline.relations.relations import Follows, TagFollows

RUNS = 25  # seeds for each scenario
FEW = 10  # of those that run with two layouts, with lists and without


def evict(store):
    store.unlink("posts:1")
    for key in keys.timeline.all():
        store.unlink(key)


def post_for_many(store, uid):
    def publish():
        with override_settings(DELIVER_INLINE_LIMIT=0):
            Posts(store).publish(uid, NewPost(f"by {uid}"), "t")

    return publish


def tagged(store, uid):
    return lambda: Posts(store).publish(uid, NewPost(f"by {uid} #redis #other"), "t")


def bring_back(store, uid):
    """Two posts of a download. Their ids were never given out here, so they get new ones."""

    def work():
        restoring = Restoring(store, uid)
        restoring.begin()
        restoring.write([OldPost(900, 5, "sooner"), OldPost(901, 6, "later")])
        restoring.finish()

    return work


SCENARIOS = {
    "follow, post, read": lambda s: [lambda: Follows(s).follow(ALICE, BOB), post(s, BOB), lambda: home(s)],
    "follow, unfollow, post, read": lambda s: [
        lambda: Follows(s).follow(ALICE, BOB),
        lambda: Follows(s).unfollow(ALICE, BOB),
        post(s, BOB),
        lambda: home(s),
    ],
    "two follows and an unfollow of one user": lambda s: [
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
    "delete, two readers of a home, one of everyone": lambda s: [
        lambda: delete(s, CAROL, 2),
        lambda: home(s),
        lambda: home(s),
        lambda: everyone(s),
    ],
    "two posts, two readers of everyone": lambda s: [
        lambda: everyone(s),
        post(s, CAROL),
        post(s, BOB, "u"),
        lambda: everyone(s),
    ],
    "lists are evicted, post, read": lambda s: [lambda: evict(s), post(s, CAROL), lambda: home(s), lambda: everyone(s)],
    "a post left to a worker, a follow, a reader": lambda s: [
        post_for_many(s, CAROL),
        lambda: take_all_over(s),
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
    "posts are brought back, post, two readers": lambda s: [
        bring_back(s, CAROL),
        post(s, CAROL),
        lambda: home(s),
        lambda: everyone(s),
    ],
    "posts are brought back, a follow, a reader": lambda s: [
        bring_back(s, BOB),
        lambda: Follows(s).follow(ALICE, BOB),
        lambda: home(s),
    ],
    "a tag comes to home, posts with it, a reader": lambda s: [
        lambda: HomeTags(s).add(ALICE, "redis"),
        tagged(s, BOB),
        tagged(s, CAROL),
        lambda: home(s),
    ],
    "a tag comes and is followed no more, a post with it, a reader": lambda s: [
        lambda: HomeTags(s).add(ALICE, "redis"),
        lambda: TagFollows(s).unfollow(ALICE, "redis"),
        tagged(s, BOB),
        lambda: home(s),
    ],
    "a tag comes to home, an edit brings it, two readers": lambda s: [
        lambda: HomeTags(s).add(ALICE, "redis"),
        lambda: Posts(s).edit(BOB, 1, "now with #redis"),
        lambda: home(s),
        lambda: home(s),
    ],
    "a worker and the owner carry out one job": lambda s: [lambda: take_all_over(s), post(s, CAROL), lambda: home(s)],
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_timelines_have_all_posts_of_their_sources(store, raw, layout, scenario, warm, kills):
    for seed in range(examples(FEW)):
        make_small_site(raw, layout)
        if warm:
            home(store)
            everyone(store)
        interleave(seed, kills, SCENARIOS[scenario](store))
        finish_jobs(store, raw)
        Memory.clear_all()  # a reader may have cached a post just before its deletion, for five seconds
        followed = [int(uid) for uid in raw.zrange("following:1", 0, -1)]
        with_tags = [int(pid) for tag in raw.zrange("home_tags:1", 0, -1) for pid in raw.zrange(f"tag:{tag}", 0, -1)]
        listed = sorted({*existing_posts(raw, [ALICE, *followed]), *with_tags}, reverse=True)
        for _ in range(2):  # the first read may rebuild, the second one reads the list
            assert home(store) == listed, seed
            assert everyone(store) == existing_posts(raw, [ALICE, BOB, CAROL]), seed
        for uid in (BOB, CAROL):
            assert raw.zscore("following:1", uid) == raw.zscore(f"followers:{uid}", ALICE), seed
        assert raw.zscore("home_tags:1", "redis") == raw.zscore("homes_of_tag:redis", ALICE), seed
        assert ranking(raw) == follower_counts(raw), seed
        for pid in existing_posts(raw, [BOB, CAROL]):
            assert not raw.hexists(f"post:{pid}", "deleted"), seed
        if scenario.startswith("double click"):
            assert raw.zcard("updates:3") <= 2, seed


def test_a_worker_and_the_owner_bring_the_same_posts_back(store, raw, layout):
    """A worker takes the jobs after a minute. Then the owner stops with an error, and begins anew."""
    for seed in range(examples(2 * RUNS)):
        make_small_site(raw, layout)
        home(store)
        everyone(store)
        ended = []
        workers = [lambda: take_all_over(store)] * 2
        owner = partial(lambda ended: ended.append(bring_back(store, CAROL)()), ended)
        interleave(seed, 0, [owner, *workers, lambda: home(store)])
        finish_jobs(store, raw)
        if not ended:
            bring_back(store, CAROL)()
        bodies = [raw.hget(f"post:{pid}", "body") for pid in existing_posts(raw, [CAROL])]
        assert sorted(bodies) == ["later", "post 2", "sooner"], seed
        assert home(store) == existing_posts(raw, [ALICE, CAROL]), seed
        assert everyone(store) == existing_posts(raw, [ALICE, BOB, CAROL]), seed


@pytest.mark.parametrize("kills", [0, 1])
def test_three_registrations_of_one_name_make_one_user(store, raw, layout, kills):
    for seed in range(examples(RUNS)):
        raw.flushall()
        works = [partial(Registration(store).register, name, "hash") for name in ("Dora", "dora", "DORA")]
        interleave(seed, kills, [attempt(work, NameTaken) for work in works])
        finish_jobs(store, raw)
        call_command("cleanup", stdout=io.StringIO())  # removes what a killed registration has left
        [uid] = raw.hvals("users") or [None]
        assert raw.keys("user:*") == ([f"user:{uid}"] if uid else []), seed
        if uid:
            assert raw.hgetall("auths") == {raw.hget(f"user:{uid}", "auth"): uid}, seed
            assert raw.zrange("users_by_time", 0, -1) == [raw.hget(f"user:{uid}", "username")], seed
            assert name_entries(raw) == expected_name_entries(raw) == {f"dora:{uid}": 0}, seed


@pytest.mark.parametrize("kills", [0, 1])
def test_after_logouts_and_a_password_change_one_secret_signs_in(store, raw, layout, kills):
    for seed in range(examples(RUNS)):
        make_small_site(raw, layout)
        works = [
            lambda: Sessions(store).end(ALICE, "secret1"),
            lambda: Sessions(store).end_all(ALICE),
            lambda: Sessions(store).change_password(ALICE, "another hash"),
            lambda: Sessions(store).open(Verified(User(ALICE, "alice")), Device()),
        ]
        interleave(seed, kills, works)
        finish_jobs(store, raw)
        secret = raw.hget("user:1", "auth")
        assert raw.hget("auths", secret) == "1", seed
        assert Viewer(store, secret).user.is_authenticated, seed
        for stale in set(raw.hgetall("auths")) - {secret, "secret2", "secret3"}:
            assert not Viewer(store, stale).user.is_authenticated, seed


def log_in(password=PASSWORD):
    return lambda: authenticate(None, username="alice", password=password)


def change_password(store):
    return lambda: Sessions(store).change_password(ALICE, make_password(NEW_PASSWORD))


OLD_PASSWORDS = {
    "two logins": lambda s: [log_in(), log_in()],
    "two logins, a password change": lambda s: [log_in(), log_in(), change_password(s)],
    "a login, a logout, a password change": lambda s: [
        log_in(),
        lambda: Sessions(s).end_all(ALICE),
        change_password(s),
    ],
    "two logins, the account is deleted": lambda s: [log_in(), log_in(), leave(s, ALICE)],
    "a login, a password change, the account is deleted": lambda s: [log_in(), change_password(s), leave(s, ALICE)],
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", OLD_PASSWORDS)
def test_a_login_with_an_old_hash_undoes_nothing(store, raw, layout, scenario, kills):
    for seed in range(examples(RUNS)):
        make_small_site(raw, layout)
        give_old_password(raw, ALICE)
        interleave(seed, kills, OLD_PASSWORDS[scenario](store))
        finish_jobs(store, raw)
        user = raw.hgetall("user:1")
        if "deleted" in user:
            assert user.keys() == {"username", "deleted"}, seed
            continue
        assert ("password" in user) != ("old_password" in user), seed
        changed = authenticate(None, username="alice", password=NEW_PASSWORD) is not None
        assert (authenticate(None, username="alice", password=PASSWORD) is None) == changed, seed
        assert changed or kills or "change" not in scenario, seed


def edit(store, name, bio="new"):
    """A device reads alice in one round trip, and then edits her name and bio."""

    def work():
        me = person(ALICE, store.hmget(keys.user(ALICE), PERSON))
        if me is not None:  # a deleted account is not signed in
            NameIndex(store).edit(me, name, bio)

    return work


def delete_account(store):
    """The part of a deletion that concerns names."""

    def work():
        pipe = store.pipeline()
        name = pipe.hget(keys.user(ALICE), "name")
        pipe.hset(keys.user(ALICE), {"deleted": "5", "name": "", "bio": ""})
        pipe.execute()
        NameIndex(store).finish_edit(ALICE, [name.value])
        store.hdel(keys.user(ALICE), "name")
        store.hdel(keys.user(ALICE), "bio")

    return work


EDITS = {
    "two devices": lambda s: [edit(s, "Ann"), edit(s, "Bea")],
    "three devices": lambda s: [edit(s, "Ann"), edit(s, "Bea"), edit(s, "")],
    "one device keeps the name": lambda s: [edit(s, "Ann"), edit(s, "Anna")],
    "one device changes the bio only": lambda s: [edit(s, "Ann"), edit(s, "Anna", "other")],
    "two devices and a worker with their jobs": lambda s: [edit(s, "Ann"), edit(s, "Bea"), lambda: take_all_over(s)],
    "a registration that is finished late": lambda s: [edit(s, "Ann"), lambda: carry_out(s, "user:1")],
    "the account is deleted": lambda s: [edit(s, "Ann"), edit(s, "Anna", "other"), delete_account(s)],
    "doctor": lambda s: [edit(s, "Ann"), edit(s, ""), lambda: NameIndex(s).finish_edit(ALICE, ["Anna"])],
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", EDITS)
def test_the_name_index_agrees_with_the_display_names(store, raw, layout, scenario, kills):
    """A killed process may leave an extra entry, which `cleanup` removes."""
    for seed in range(examples(RUNS)):
        make_small_site(raw, layout)
        raw.hset("user:1", mapping={"name": "Anna", "bio": "old"})
        raw.zadd("users_by_name", {"anna:1": 0})
        interleave(seed, kills, EDITS[scenario](store))
        finish_jobs(store, raw)
        if kills:
            assert expected_name_entries(raw).items() <= name_entries(raw).items(), seed
            call_command("cleanup", stdout=io.StringIO())
        assert name_entries(raw) == expected_name_entries(raw), seed
        if raw.hexists("user:1", "deleted") and not kills:
            assert raw.hmget("user:1", "name", "bio") == [None, None], seed
