"""Every relation survives kills and other requests: its mirror and its count agree with its truth, and none leads to
what is deleted.

The protocol is explored in tests/model/. Here the real code runs, the same tests for each relation.
"""

import pytest

from accounts.users.deletion import AccountDeletion
from accounts.users.entities import User
from retwis_site.jobs.outbox import Claim, Outbox
from retwis_site.jobs.worker import drain, handler_for
from retwis_site.store import chunks, keys
from tests.support.protocols.interleaving import Schedule
from tests.support.protocols.relations import (
    ALICE,
    BOB,
    BOBS_POST,
    CAROL,
    CASES,
    WITH_MIRRORS,
    assert_relations_agree,
)
from tests.support.protocols.small_site import delete, finish_jobs, make_small_site
from tests.support.stores.key_layouts import noted
from tests.support.stores.seam import before_round_trip, killed_before_round_trip
from timeline.relations.block import BLOCK
from timeline.relations.protocol.edges import Edges

RUNS = 20  # seeds for each scenario
NAMES = {ALICE: "alice", BOB: "bob", CAROL: "carol"}

# One of each shape; tests that take long need no more.
EACH_SHAPE = {**WITH_MIRRORS, "bookmark": CASES["bookmark"], "mute": CASES["mute"]}
each_shape = pytest.mark.parametrize("case", EACH_SHAPE.values(), ids=EACH_SHAPE)
each_relation = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
each_with_mirror = pytest.mark.parametrize("case", WITH_MIRRORS.values(), ids=WITH_MIRRORS)
each_step = pytest.mark.parametrize(
    ("case", "step"),
    [
        pytest.param(case, step, id=f"{name}-{step}")
        for name, case in EACH_SHAPE.items()
        for step in range(case.round_trips)
    ],
)
each_verb = pytest.mark.parametrize("verb", ["set", "unset"])


def delete_account(store, uid):
    return lambda: AccountDeletion(store).delete(User(uid, NAMES[uid]), f"secret{uid}")


def remove_account(store, uid):
    """A deletion, and a worker for it."""

    def work():
        delete_account(store, uid)()
        drain(store, "worker")

    return work


def expire(raw):
    """The hash of bob's post expires after its deletion."""

    def work():
        if raw.hexists(keys.post(BOBS_POST), "deleted"):
            raw.delete(keys.post(BOBS_POST))

    return work


# ---- one process


@each_relation
@each_verb
@pytest.mark.parametrize("step", range(13))
def test_a_change_that_is_killed_has_no_effect_or_its_full_effect(store, raw, layout, case, verb, step):
    make_small_site(raw, layout)
    case.set(store, CAROL)()
    if verb == "unset":
        case.set(store, ALICE)()
    killed = killed_before_round_trip(step, case.change(store, verb, ALICE))
    round_trips = case.round_trips + 2 * (case.relation is BLOCK and verb == "set")
    assert killed == (step < round_trips)
    assert (noted(raw) != []) == (1 <= step < round_trips)
    finish_jobs(store, raw)
    score, mirrored = case.scores(raw, ALICE)
    assert score == mirrored
    assert killed or (score == 7) == (verb == "set")
    assert case.relation.count is None or case.count(raw) == (2 if score else 1)
    assert_relations_agree(raw, step)


@each_step
@pytest.mark.parametrize("second", range(7))
def test_a_change_whose_worker_is_killed_too_is_finished_by_the_next_one(store, raw, layout, case, step, second):
    make_small_site(raw, layout)
    killed_before_round_trip(step, case.set(store, ALICE))
    job = noted(raw)[0] if step else case.relation.job(case.edge(ALICE))
    killed_before_round_trip(second, lambda: Edges(store, case.relation).finish(job))
    case.unset(store, CAROL)()
    finish_jobs(store, raw)
    assert_relations_agree(raw, (step, second))


@each_step
@pytest.mark.parametrize("gone", ["actor", "target"])
@each_verb
def test_a_change_during_a_deletion_leaves_nothing(store, raw, layout, case, verb, gone, step):
    """The whole deletion happens between two of its round trips."""
    make_small_site(raw, layout)
    if verb == "unset":
        case.set(store, ALICE)()
    if gone == "actor":
        deletion = remove_account(store, ALICE)
    elif case.relation.target.is_person:
        deletion = remove_account(store, BOB)
    else:
        deletion = lambda: delete(store, BOB, BOBS_POST)  # noqa: E731
    with before_round_trip(step, deletion):
        case.change(store, verb, ALICE)()
    if case.mirror or gone == "actor":
        assert case.scores(raw, ALICE) == (None, None)
    assert case.count(raw) is None
    assert noted(raw) == []
    assert_relations_agree(raw, step)


# ---- several processes


def worker(store):
    """Carry out all jobs that no living process has begun. In these runs no lease ends."""
    return lambda: drain(store, "worker")


SCENARIOS = {
    "set, unset": lambda s, raw, case: [case.set(s, ALICE), case.unset(s, ALICE)],
    "set, unset, set": lambda s, raw, case: [case.set(s, ALICE), case.unset(s, ALICE), case.set(s, ALICE)],
    "two people": lambda s, raw, case: [case.set(s, ALICE), case.set(s, CAROL), case.unset(s, CAROL)],
    "the actor is deleted": lambda s, raw, case: [
        case.set(s, ALICE),
        case.set(s, CAROL),
        delete_account(s, ALICE),
        worker(s),
    ],
    "the owner of the target is deleted": lambda s, raw, case: [
        case.set(s, ALICE),
        case.set(s, CAROL),
        delete_account(s, BOB),
        worker(s),
    ],
    "two workers remove the owner": lambda s, raw, case: [
        case.set(s, ALICE),
        remove_account(s, BOB),
        lambda: handler_for("gone")(s, Claim(Outbox(s), f"gone:{BOB}:another", attempt=1)),
    ],
    "the post is deleted": lambda s, raw, case: [
        case.set(s, ALICE),
        case.unset(s, ALICE),
        case.set(s, CAROL),
        lambda: delete(s, BOB, BOBS_POST),
    ],
}


@pytest.mark.parametrize("kills", [0, 2])
@each_shape
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_interleaved_changes_leave_mirrors_and_counts_that_agree(store, raw, layout, case, scenario, kills):
    for seed in range(RUNS):
        make_small_site(raw, layout)
        schedule = Schedule(seed, kills)
        schedule.run({str(number): work for number, work in enumerate(SCENARIOS[scenario](store, raw, case))})
        assert schedule.errors == [], seed
        finish_jobs(store, raw)
        assert noted(raw) == [], seed
        assert_relations_agree(raw, seed)


@pytest.mark.parametrize("expires_before", range(8))
@each_verb
def test_no_count_makes_the_hash_of_a_post_that_expires(store, raw, layout, verb, expires_before):
    """The post is deleted by a process that has died after its commit, so the like meets it late."""
    make_small_site(raw, layout)
    case = CASES["like"]
    case.set(store, CAROL)()
    with before_round_trip(expires_before, lambda: raw.delete(keys.post(BOBS_POST))):
        case.change(store, verb, ALICE)()
    assert raw.keys("post:1") == [] or expires_before == 7
    assert raw.hget("post:1", "user_id") or not raw.exists("post:1")


# ---- removals


@each_with_mirror
@pytest.mark.parametrize("step", range(40))
def test_a_removal_that_is_killed_beside_an_edge_under_way_leaves_right_counts(store, raw, layout, case, step):
    """Another process has written a mirror that is out of date, and takes it back just before the removal is killed."""
    make_small_site(raw, layout)
    case.set(store, ALICE)()
    case.set(store, CAROL)()
    delete_account(store, ALICE)()
    job = case.relation.job(case.edge(ALICE))
    raw.zadd(keys.outbox(job), {job: 2**40})
    mirror = f"{case.mirror}:{case.target}"
    with (
        before_round_trip(step, lambda: raw.zadd(mirror, {ALICE: 7})),
        before_round_trip(step + 1, lambda: Edges(store, case.relation).finish(job)),
    ):
        killed_before_round_trip(step + 2, lambda: drain(store, "one"))
    finish_jobs(store, raw)
    assert_relations_agree(raw, step)


@pytest.mark.parametrize("likes", [3, 12])
@pytest.mark.parametrize("step", range(32))
def test_a_deletion_of_a_post_with_likes_that_is_killed_is_finished_by_a_worker(
    store, raw, layout, monkeypatch, likes, step
):
    """Up to a chunk of likes is removed at once, more by a worker in chunks."""
    monkeypatch.setattr(chunks, "AT_ONCE", 5)
    monkeypatch.setattr("timeline.posts.writing.deletion.AT_ONCE", 5)
    make_small_site(raw, layout)
    raw.zadd("liked_by:1", {10 + number: 7 for number in range(likes)})
    for number in range(likes):
        raw.zadd(f"likes:{10 + number}", {BOBS_POST: 7})
    raw.hset("post:1", "likes", likes)
    killed = killed_before_round_trip(step, lambda: (delete(store, BOB, BOBS_POST), drain(store, "one")))
    finish_jobs(store, raw)
    assert raw.hexists("post:1", "deleted") == (step > 1)
    assert raw.zcard("liked_by:1") == (0 if step > 1 else likes)
    assert killed or noted(raw) == []
    assert_relations_agree(raw, step)
