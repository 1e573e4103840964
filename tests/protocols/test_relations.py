"""Every relation survives kills and other requests: its mirror and its count agree with its truth, and none leads to
what is deleted.

The same tests run for each relation.
"""

import itertools
from functools import partial

import pytest
from django.core.management import call_command

from retwis_site.jobs.worker import drain
from retwis_site.store import chunks, keys
from retwis_site.store.kinds import USER, OfId
from tests.support.protocols.interleaving import carry_out, interleave
from tests.support.protocols.relations import ALICE, AT, BOB, BOBS_POST, CAROL, CASES, assert_relations_agree
from tests.support.protocols.small_site import finish_jobs, make_small_site
from tests.support.stored_keys import noted
from tests.support.stores import seam
from timeline.relations.relations import REPOST

WITH_MIRRORS = {
    name: case for name, case in CASES.items() if isinstance(case.relation.mirror, OfId)
}  # of people and posts
RUNS = 10  # seeds for each scenario and layout
ROUNDS = 5  # each takes the round trips apart in its own way

# One of each shape; tests that take long need no more.
EACH_SHAPE = {**WITH_MIRRORS, "bookmark": CASES["bookmark"], "mute": CASES["mute"], "tag at home": CASES["tag at home"]}
each_shape = pytest.mark.parametrize("case", EACH_SHAPE.values(), ids=EACH_SHAPE)
each_relation = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
each_with_mirror = pytest.mark.parametrize("case", WITH_MIRRORS.values(), ids=WITH_MIRRORS)
each_verb = pytest.mark.parametrize("verb", ["set", "unset"])


# ---- one process


@each_relation
@each_verb
def test_a_change_that_is_killed_has_no_effect_or_its_full_effect(store, raw, case, verb):
    round_trips, job_after = (numbers[verb == "unset"] for numbers in (case.round_trips, case.job_after))
    for step in range(round_trips + 1):
        make_small_site(raw)
        case.set(store, CAROL)()
        if verb == "unset":
            case.set(store, ALICE)()
        before, _ = case.scores(raw, ALICE)
        killed = seam.killed_before_round_trip(step, case.change(store, verb, ALICE))
        assert killed == (step < round_trips), step
        assert (noted(raw) != []) == (job_after <= step < round_trips), step
        finish_jobs(store, raw)
        score, mirrored = case.scores(raw, ALICE)
        assert score == mirrored, step
        assert (score == before) == (step <= job_after), step
        assert (score is None) == ((verb == "set") == (step <= job_after)), step
        assert case.relation.count is None or case.count(raw) == (2 if score else 1), step
        assert_relations_agree(raw, step)


@each_shape
def test_a_change_whose_worker_is_killed_too_is_finished_by_the_next_one(store, raw, case):
    for step in range(case.job_after[0], case.round_trips[0]):
        for second in seam.each_moment(1, seam.stride()):
            make_small_site(raw)
            seam.killed_before_round_trip(step, case.set(store, ALICE))
            [job] = noted(raw)
            seam.killed_before_round_trip(second, case.work(store, job))
            case.unset(store, CAROL)()
            finish_jobs(store, raw)
            assert_relations_agree(raw, (step, second))


@each_shape
@pytest.mark.parametrize("gone", ["actor", "target"])
@each_verb
def test_a_change_during_a_deletion_leaves_nothing(acts, store, raw, case, verb, gone):
    """The whole deletion happens between two parts of its round trips."""
    if gone == "actor":
        deletion = acts.leave(ALICE)
    elif case.relation.leads_to == USER:
        deletion = acts.leave(BOB)
    else:
        deletion = acts.delete(BOB, BOBS_POST)
    for step in itertools.count():
        make_small_site(raw)
        if verb == "unset":
            case.set(store, ALICE)()
        with seam.before_part(step, deletion) as happened:
            case.change(store, verb, ALICE)()
        if not happened:
            break
        if isinstance(case.relation.mirror, OfId) or gone == "actor":
            assert case.scores(raw, ALICE) == (None, None), step
        assert case.count(raw) is None, step
        assert noted(raw) == [], step
        assert_relations_agree(raw, step)


# ---- several processes


ANY_RELATION = {
    "set, unset, set": lambda s, set_, unset: [set_(ALICE), unset(ALICE), set_(ALICE)],
    "set, unset, a worker takes them over": lambda s, set_, unset: [set_(ALICE), unset(ALICE), s.take_over],
    "the actor is deleted": lambda s, set_, unset: [set_(ALICE), set_(CAROL), s.delete_account(ALICE), s.drain()],
}
# Edges of two people meet in a mirror, in a count, or where a deletion looks for them.
A_MIRROR = {
    "set, unset": lambda s, set_, unset: [set_(ALICE), unset(ALICE)],
    "two people": lambda s, set_, unset: [set_(ALICE), set_(CAROL), unset(CAROL)],
    "the owner of the target is deleted": lambda s, set_, unset: [
        set_(ALICE),
        set_(CAROL),
        s.delete_account(BOB),
        s.drain(),
    ],
    "two workers remove the owner": lambda s, set_, unset: [
        set_(ALICE),
        s.leave(BOB),
        partial(carry_out, s.store, f"gone:{BOB}:another"),
    ],
}
POSTS = {
    "the post is deleted": lambda s, set_, unset: [
        set_(ALICE),
        unset(ALICE),
        set_(CAROL),
        s.delete(BOB, BOBS_POST),
    ]
}


def scenarios_of(case):
    return (
        ANY_RELATION | (A_MIRROR if case.mirror else {}) | (POSTS if case.mirror and case.target == BOBS_POST else {})
    )


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize(
    ("case", "make_tasks"),
    [
        pytest.param(case, scenario, id=f"{name}: {what}")
        for name, case in EACH_SHAPE.items()
        for what, scenario in scenarios_of(case).items()
    ],
)
def test_interleaved_changes_leave_mirrors_and_counts_that_agree(acts, store, raw, layout, case, make_tasks, kills):
    for seed in range(seam.examples(RUNS)):
        make_small_site(raw, layout)
        if case.relation is REPOST:
            layout.make_each_once()
        interleave(seed, kills, make_tasks(acts, partial(case.set, store), partial(case.unset, store)))
        finish_jobs(store, raw)
        assert noted(raw) == [], seed
        assert_relations_agree(raw, seed)


@each_verb
def test_no_count_makes_the_hash_of_a_post_that_expires(store, raw, verb):
    """The post is deleted by a process that has died after its commit, so the like meets it late."""
    like = CASES["like"]
    for step in itertools.count():
        make_small_site(raw)
        like.set(store, CAROL)()
        with seam.before_round_trip(step, lambda: raw.delete(keys.post(BOBS_POST))) as happened:
            like.change(store, verb, ALICE)()
        if not happened:
            break
        assert not raw.exists(keys.post(BOBS_POST)), step


@each_with_mirror
@pytest.mark.parametrize("between", ["unset", "set by another"])
@each_verb
def test_a_change_between_two_parts_of_another_agrees_with_it(store, raw, case, verb, between):
    for step in seam.each_moment(rounds=ROUNDS):
        make_small_site(raw)
        if verb == "unset":
            case.set(store, ALICE)()
        other = case.unset(store, ALICE) if between == "unset" else case.set(store, CAROL)
        with seam.before_part(step, other):
            case.change(store, verb, ALICE)()
        assert noted(raw) == [], step
        assert_relations_agree(raw, step)


def test_an_undo_leaves_the_repost_that_a_later_click_has_made_meanwhile(store, raw):
    repost = CASES["repost"]
    for step in itertools.count(1):  # the first round trip reads which repost stands
        make_small_site(raw)
        repost.set(store, ALICE)()
        again = lambda: (repost.unset(store, ALICE)(), repost.set(store, ALICE)())  # noqa: E731
        with seam.before_part(step, again) as happened:
            repost.unset(store, ALICE)()
        if not happened:
            break
        assert repost.scores(raw, ALICE) != (None, None), step
        assert_relations_agree(raw, step)


@each_with_mirror
def test_an_edge_to_what_is_deleted_is_taken_back_whatever_kills_it(acts, store, raw, case):
    for step in seam.each_moment(rounds=ROUNDS):
        make_small_site(raw)
        if case.relation.leads_to == USER:
            acts.leave(BOB)()
        else:
            acts.delete(BOB, BOBS_POST)()
        seam.killed_before_part(step, case.set(store, ALICE))
        finish_jobs(store, raw)
        call_command("cleanup", verbosity=0)  # removes the hash of a repost that was killed before its job
        assert_relations_agree(raw, step)


@each_with_mirror
def test_a_change_that_is_killed_and_undone_before_a_worker_finishes_it_leaves_nothing(store, raw, case):
    """alice follows bob before: a block ends that, too."""
    for step in seam.each_moment(rounds=ROUNDS):
        make_small_site(raw)
        CASES["follow"].set(store, ALICE)()
        seam.killed_before_part(step, case.set(store, ALICE))
        case.unset(store, ALICE)()
        finish_jobs(store, raw)
        assert_relations_agree(raw, step)


@each_with_mirror
def test_the_deletion_of_what_an_edge_leads_to_is_finished_whatever_kills_it(acts, store, raw, case):
    is_person = case.relation.leads_to == USER
    deletion = acts.leave(BOB) if is_person else acts.delete(BOB, BOBS_POST)
    for step in seam.each_moment(rounds=ROUNDS):
        make_small_site(raw)
        case.set(store, ALICE)()
        seam.killed_before_part(step, deletion)
        finish_jobs(store, raw)
        assert_relations_agree(raw, step)


# ---- removals


@each_with_mirror
def test_a_removal_that_is_killed_beside_an_edge_under_way_leaves_right_counts(acts, store, raw, case):
    """Another process has written a mirror that is out of date, and takes it back just before the removal is killed."""
    mirror = f"{case.mirror}:{case.target}"
    for step in seam.each_moment(0, seam.stride()):
        make_small_site(raw)
        case.set(store, ALICE)()
        case.set(store, CAROL)()
        acts.delete_account(ALICE)()
        job = case.relation.job(case.edge(ALICE))
        raw.zadd(keys.outbox(job), {job: 2**40})
        with (
            seam.before_round_trip(step, lambda: raw.zadd(mirror, {ALICE: AT})),
            seam.before_round_trip(step + 1, case.work(store, job)),
        ):
            seam.killed_before_round_trip(step + 2, acts.drain("one"))
        finish_jobs(store, raw)
        assert_relations_agree(raw, step)


@pytest.mark.parametrize("likes", [3, 12])
def test_a_deletion_of_a_post_with_likes_that_is_killed_is_finished_by_a_worker(acts, store, raw, monkeypatch, likes):
    """Up to a chunk of likes is removed at once, more by a worker in chunks."""
    monkeypatch.setattr(chunks, "AT_ONCE", 5)
    monkeypatch.setattr("timeline.posts.repository.AT_ONCE", 5)
    for step in seam.each_moment():
        make_small_site(raw)
        raw.zadd("liked_by:1", {10 + number: AT for number in range(likes)})
        for number in range(likes):
            raw.zadd(f"likes:{10 + number}", {BOBS_POST: AT})
        raw.hset("post:1", "likes", likes)
        killed = seam.killed_before_round_trip(step, lambda: (acts.delete(BOB, BOBS_POST)(), drain(store, "one")))
        assert killed or noted(raw) == [], step
        finish_jobs(store, raw)
        assert raw.hexists("post:1", "deleted") == (step > 1), step
        assert raw.zcard("liked_by:1") == (0 if step > 1 else likes), step
        assert_relations_agree(raw, step)
