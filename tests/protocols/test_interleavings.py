"""Interleaved actions, with and without killed processes: afterwards all derived data agrees with its sources.

Each scenario runs in random interleavings. `tests/model/lists/` explores all those of a list that is rebuilt.
"""

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
from retwis_site.store import keys
from retwis_site.store.local_cache import Memory
from tests.support.people import NEW_PASSWORD, PASSWORD, give_old_password
from tests.support.protocols.interleaving import attempt, carry_out, interleave
from tests.support.protocols.small_site import ALICE, BOB, CAROL, existing_posts, finish_jobs, make_small_site
from tests.support.stored_keys import expected_name_entries, follower_counts, name_entries, ranking
from tests.support.stores.seam import examples
from timeline.posts.repository import Posts
from timeline.relations.home_tags import HomeTags
from timeline.relations.relations import TagFollows

RUNS = 25  # seeds for each scenario
FEW = 10  # of those that run with two layouts, with lists and without
TAGGED = "with #redis and #other"


def evict(acts):
    def work():
        acts.store.unlink("posts:1")
        for key in keys.timeline.all():
            acts.store.unlink(key)

    return work


def post_for_many(acts):
    return override_settings(DELIVER_INLINE_LIMIT=0)(acts.post(CAROL))


def home_tag(acts):
    return partial(HomeTags(acts.store).add, ALICE, "redis")


SCENARIOS = {
    "follow, post, read": lambda s: [s.follow(ALICE, BOB), s.post(BOB), s.home],
    "follow, unfollow, post, read": lambda s: [s.follow(ALICE, BOB), s.unfollow(ALICE, BOB), s.post(BOB), s.home],
    "two follows and an unfollow of one user": lambda s: [
        s.follow(ALICE, BOB),
        s.unfollow(ALICE, BOB),
        s.follow(CAROL, BOB),
        s.home,
    ],
    "unfollow, post, two readers": lambda s: [s.unfollow(ALICE, CAROL), s.post(CAROL), s.home, s.home],
    "double click, delete, read": lambda s: [s.post(CAROL), s.post(CAROL), s.delete(CAROL, 3), s.home],
    "delete, two readers of a home, one of everyone": lambda s: [s.delete(CAROL, 2), s.home, s.home, s.everyone],
    "two posts, two readers of everyone": lambda s: [s.everyone, s.post(CAROL), s.post(BOB, token="u"), s.everyone],
    "lists are evicted, post, read": lambda s: [evict(s), s.post(CAROL), s.home, s.everyone],
    "a post left to a worker, a follow, a reader": lambda s: [
        post_for_many(s),
        s.take_over,
        s.follow(ALICE, BOB),
        s.home,
    ],
    "a post left to two workers, a delete": lambda s: [
        post_for_many(s),
        s.drain("one"),
        s.drain("two"),
        s.delete(CAROL, 3),
        s.home,
    ],
    "posts are brought back, post, two readers": lambda s: [s.bring_back(CAROL), s.post(CAROL), s.home, s.everyone],
    "posts are brought back, a follow, a reader": lambda s: [s.bring_back(BOB), s.follow(ALICE, BOB), s.home],
    "a tag comes to home, posts with it, a reader": lambda s: [
        home_tag(s),
        s.post(BOB, TAGGED),
        s.post(CAROL, TAGGED),
        s.home,
    ],
    "a tag comes and is followed no more, a post with it, a reader": lambda s: [
        home_tag(s),
        partial(TagFollows(s.store).unfollow, ALICE, "redis"),
        s.post(BOB, TAGGED),
        s.home,
    ],
    "a tag comes to home, an edit brings it, two readers": lambda s: [
        home_tag(s),
        partial(Posts(s.store).edit, BOB, 1, TAGGED),
        s.home,
        s.home,
    ],
    "a worker and the owner carry out one job": lambda s: [s.take_over, s.post(CAROL), s.home],
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_timelines_have_all_posts_of_their_sources(acts, store, raw, layout, scenario, warm, kills):
    for seed in range(examples(FEW)):
        make_small_site(raw, layout)
        if warm:
            acts.home()
            acts.everyone()
        interleave(seed, kills, SCENARIOS[scenario](acts))
        finish_jobs(store, raw)
        Memory.clear_all()  # a reader may have cached a post just before its deletion, for five seconds
        followed = [int(uid) for uid in raw.zrange("following:1", 0, -1)]
        with_tags = [int(pid) for tag in raw.zrange("home_tags:1", 0, -1) for pid in raw.zrange(f"tag:{tag}", 0, -1)]
        listed = sorted({*existing_posts(raw, [ALICE, *followed]), *with_tags}, reverse=True)
        for _ in range(2):  # the first read may rebuild, the second one reads the list
            assert acts.home() == listed, seed
            assert acts.everyone() == existing_posts(raw, [ALICE, BOB, CAROL]), seed
        for uid in (BOB, CAROL):
            assert raw.zscore("following:1", uid) == raw.zscore(f"followers:{uid}", ALICE), seed
        assert raw.zscore("home_tags:1", "redis") == raw.zscore("homes_of_tag:redis", ALICE), seed
        assert ranking(raw) == follower_counts(raw), seed
        for pid in existing_posts(raw, [BOB, CAROL]):
            assert not raw.hexists(f"post:{pid}", "deleted"), seed
        if scenario.startswith("double click"):
            assert raw.zcard("updates:3") <= 2, seed


def test_a_worker_and_the_owner_bring_the_same_posts_back(acts, store, raw, layout):
    """A worker takes the jobs after a minute. Then the owner stops with an error, and begins anew."""
    for seed in range(examples(2 * RUNS)):
        make_small_site(raw, layout)
        acts.home()
        acts.everyone()
        ended = []
        owner = partial(lambda ended: ended.append(acts.bring_back(CAROL)()), ended)
        interleave(seed, 0, [owner, acts.take_over, acts.take_over, acts.home])
        finish_jobs(store, raw)
        if not ended:
            acts.bring_back(CAROL)()
        bodies = [raw.hget(f"post:{pid}", "body") for pid in existing_posts(raw, [CAROL])]
        assert sorted(bodies) == ["later", "post 2", "sooner"], seed
        assert acts.home() == existing_posts(raw, [ALICE, CAROL]), seed
        assert acts.everyone() == existing_posts(raw, [ALICE, BOB, CAROL]), seed


@pytest.mark.parametrize("kills", [0, 1])
def test_three_registrations_of_one_name_make_one_user(store, raw, layout, kills):
    for seed in range(examples(RUNS)):
        raw.flushall()
        works = [partial(Registration(store).register, name, "hash") for name in ("Dora", "dora", "DORA")]
        interleave(seed, kills, [attempt(work, NameTaken) for work in works])
        finish_jobs(store, raw)
        call_command("cleanup", verbosity=0)  # removes what a killed registration has left
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
        ended = []
        works = [
            lambda: Sessions(store).end(ALICE, "secret1"),
            lambda ended=ended: ended.append(Sessions(store).end_all(ALICE)),
            lambda ended=ended: ended.append(Sessions(store).change_password(ALICE, "another hash")),
            lambda: Sessions(store).open(Verified(User(ALICE, "alice")), Device()),
        ]
        interleave(seed, kills, works)
        finish_jobs(store, raw)
        if not ended:  # one was killed, perhaps before its commit, and the other one waited in vain
            Sessions(store).end_all(ALICE)
        secret = raw.hget("user:1", "auth")
        assert raw.hget("auths", secret) == "1", seed
        assert Viewer(store, secret).user.is_authenticated, seed
        for stale in set(raw.hgetall("auths")) - {secret, "secret2", "secret3"}:
            assert not Viewer(store, stale).user.is_authenticated, seed


SEVERAL = {
    "a recovery": (["recovery"], 2),
    "two recoveries": (["recovery", "another recovery"], 2),
    "a recovery, a logout everywhere": (["recovery", ""], 1),
}


@pytest.mark.parametrize("scenario", SEVERAL)
def test_no_form_with_the_old_password_overrules_a_recovery(store, raw, layout, scenario):
    """Both forms have checked the old password before. The session of the last recovery stands, and no other one."""
    recoveries, forms = SEVERAL[scenario]
    sessions = Sessions(store)

    def begin(hash_, generation, opened):
        opened.append((hash_, sessions.open(Verified(User(ALICE, "alice"), generation), Device())))

    def recover(hash_, opened):
        begin(hash_, sessions.change_password(ALICE, hash_) if hash_ else sessions.end_all(ALICE), opened)

    def fill_in(hash_, opened):
        if generation := sessions.change_password(ALICE, hash_, present="old"):
            begin(hash_, generation, opened)

    for seed in range(examples(2 * RUNS)):
        make_small_site(raw, layout)
        raw.hset("user:1", "generation", "old")
        opened = []
        works = [partial(recover, hash_, opened) for hash_ in recoveries]
        works += [partial(fill_in, f"form {number}", opened) for number in range(forms)]
        interleave(seed, 0, works)
        finish_jobs(store, raw)
        last = raw.hget("user:1", "password")
        assert last in filter(None, recoveries), seed
        if "" not in recoveries:
            assert {hash_ for hash_, secret in opened if Viewer(store, secret).user.is_authenticated} == {last}, seed


def log_in(password=PASSWORD):
    return lambda: authenticate(None, username="alice", password=password)


def change_password(acts):
    return lambda: Sessions(acts.store).change_password(ALICE, make_password(NEW_PASSWORD))


OLD_PASSWORDS = {
    "two logins": lambda s: [log_in(), log_in()],
    "two logins, a password change": lambda s: [log_in(), log_in(), change_password(s)],
    "a login, a logout, a password change": lambda s: [
        log_in(),
        partial(Sessions(s.store).end_all, ALICE),
        change_password(s),
    ],
    "two logins, the account is deleted": lambda s: [log_in(), log_in(), s.leave(ALICE)],
    "a login, a password change, the account is deleted": lambda s: [log_in(), change_password(s), s.leave(ALICE)],
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", OLD_PASSWORDS)
def test_a_login_with_an_old_hash_undoes_nothing(acts, store, raw, layout, scenario, kills):
    for seed in range(examples(RUNS)):
        make_small_site(raw, layout)
        give_old_password(raw, ALICE)
        interleave(seed, kills, OLD_PASSWORDS[scenario](acts))
        finish_jobs(store, raw)
        user = raw.hgetall("user:1")
        if "deleted" in user:
            assert user.keys() == {"username", "deleted"}, seed
            continue
        assert ("password" in user) != ("old_password" in user), seed
        changed = authenticate(None, username="alice", password=NEW_PASSWORD) is not None
        assert (authenticate(None, username="alice", password=PASSWORD) is None) == changed, seed
        assert changed or kills or "change" not in scenario, seed


def edit(acts, name, bio="new"):
    """A device reads alice in one round trip, and then edits her name and bio."""

    def work():
        me = person(ALICE, acts.store.hmget(keys.user(ALICE), PERSON))
        if me is not None:  # a deleted account is not signed in
            NameIndex(acts.store).edit(me, name, bio)

    return work


def delete_account(acts):
    """The part of a deletion that concerns names."""

    def work():
        store = acts.store
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
    "two devices and a worker with their jobs": lambda s: [edit(s, "Ann"), edit(s, "Bea"), s.take_over],
    "a registration that is finished late": lambda s: [edit(s, "Ann"), partial(carry_out, s.store, "user:1")],
    "the account is deleted": lambda s: [edit(s, "Ann"), edit(s, "Anna", "other"), delete_account(s)],
    "doctor": lambda s: [edit(s, "Ann"), edit(s, ""), partial(NameIndex(s.store).finish_edit, ALICE, ["Anna"])],
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", EDITS)
def test_the_name_index_agrees_with_the_display_names(acts, store, raw, layout, scenario, kills):
    """A killed process may leave an extra entry, which `cleanup` removes."""
    for seed in range(examples(RUNS)):
        make_small_site(raw, layout)
        raw.hset("user:1", mapping={"name": "Anna", "bio": "old"})
        raw.zadd("users_by_name", {"anna:1": 0})
        interleave(seed, kills, EDITS[scenario](acts))
        finish_jobs(store, raw)
        if kills:
            assert expected_name_entries(raw).items() <= name_entries(raw).items(), seed
            call_command("cleanup", verbosity=0)
        assert name_entries(raw) == expected_name_entries(raw), seed
        if raw.hexists("user:1", "deleted") and not kills:
            assert raw.hmget("user:1", "name", "bio") == [None, None], seed
