"""Replies, quotes, deletions and edits survive kills and each other: all that follows from posts agrees with them."""

from contextlib import suppress
from functools import partial

import pytest

from tests.support.protocols.conversations import BOBS_POST, assert_conversations_agree, make_thread
from tests.support.protocols.interleaving import carry_out, interleave
from tests.support.protocols.small_site import ALICE, BOB, CAROL, existing_posts, finish_jobs, make_small_site
from tests.support.stored_keys import noted
from tests.support.stores import seam
from timeline.posts.settling import Settling

RUNS = 10  # seeds for each scenario and layout
ROUNDS = 5  # each takes the round trips apart in its own way


CHANGES = {
    "answer": lambda s, first, second: s.answer(BOB, second),
    "quote": lambda s, first, second: s.quote(BOB, first),
    "edit": lambda s, first, second: s.edit(ALICE, first, "another #text"),
    "delete the last": lambda s, first, second: s.delete(CAROL, second),
    "delete the middle": lambda s, first, second: s.delete(ALICE, first),
    "delete the first": lambda s, first, second: s.delete(BOB, BOBS_POST),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_killed_change_has_no_effect_or_its_full_effect(acts, store, raw, change):
    for step in seam.each_moment():
        make_small_site(raw)
        work = CHANGES[change](acts, *make_thread(store))
        seam.killed_before_round_trip(step, work)
        finish_jobs(store, raw)
        assert_conversations_agree(raw, step)
        work()
        assert noted(raw) == [], step
        assert_conversations_agree(raw, step)


def test_a_killed_deletion_below_tombstones_takes_them_along(acts, store, raw):
    for step in seam.each_moment():
        make_small_site(raw)
        first, second = make_thread(store)
        acts.delete(ALICE, first)()
        acts.delete(BOB, BOBS_POST)()
        seam.killed_before_round_trip(step, acts.delete(CAROL, second))
        finish_jobs(store, raw)
        assert_conversations_agree(raw, step)
        deleted = raw.hexists(f"post:{second}", "deleted")
        assert deleted == (step > 1), step
        assert (raw.keys("thread:*") == raw.keys("replies_to:*") == []) == deleted, step


@pytest.mark.parametrize("first_kill", range(3, 12))
def test_a_worker_that_is_killed_too_leaves_the_job_to_the_next_one(acts, store, raw, first_kill):
    for second_kill in seam.each_moment(1, seam.stride()):
        make_small_site(raw)
        first, second = make_thread(store)
        acts.delete(ALICE, first)()
        assert seam.killed_before_round_trip(first_kill, acts.delete(CAROL, second))
        seam.killed_before_round_trip(second_kill, lambda: finish_jobs(store, raw))
        finish_jobs(store, raw)
        assert_conversations_agree(raw, (first_kill, second_kill))


@pytest.mark.parametrize("change", ["answer", "quote", "edit"])
@pytest.mark.parametrize("gone", ["the post", "the author", "the writer"])
def test_a_change_during_a_deletion_agrees_with_it(acts, store, raw, change, gone):
    def deletion():
        if gone == "the post":
            for uid, pid in ((ALICE, first), (CAROL, second)):
                acts.delete(uid, pid)()
        else:
            acts.delete_account({"the author": ALICE, "the writer": BOB}[gone])()
            finish_jobs(store, raw)

    for step in seam.each_moment():
        make_small_site(raw)
        first, second = make_thread(store)
        with seam.before_part(step, deletion):
            CHANGES[change](acts, first, second)()
        finish_jobs(store, raw)
        assert_conversations_agree(raw, step)


def test_an_answer_that_meets_a_deletion_and_is_killed_leaves_nothing_half_done(acts, store, raw):
    for step in seam.each_moment(0, seam.stride()):
        for part in seam.each_moment(step + 1):
            make_small_site(raw)
            _, second = make_thread(store)
            with seam.before_round_trip(step, acts.delete(CAROL, second)):
                seam.killed_before_part(part, acts.answer(BOB, second))
            finish_jobs(store, raw)
            assert_conversations_agree(raw, (step, part))


def finish_again(acts, pid):
    """Another worker has the job of a post."""
    return partial(Settling(acts.store).settle, [pid])


def tagged(acts, uid):
    return acts.post(uid, "a #new post")


SCENARIOS = {
    "two answers, and the post is deleted": lambda s, one, two: [
        s.answer(BOB, two),
        s.answer(ALICE, two, "u"),
        s.delete(CAROL, two),
    ],
    "an answer to a post and the deletion of the answer below": lambda s, one, two: [
        s.answer(BOB, one),
        s.delete(CAROL, two),
        s.delete(ALICE, one),
    ],
    "all of a thread is deleted": lambda s, one, two: [
        s.delete(CAROL, two),
        s.delete(ALICE, one),
        s.delete(BOB, BOBS_POST),
    ],
    "an answer while all of a thread is deleted": lambda s, one, two: [
        s.answer(BOB, two),
        s.delete(CAROL, two),
        s.delete(ALICE, one),
    ],
    "a double click and a deletion": lambda s, one, two: [s.answer(BOB, two), s.answer(BOB, two), s.delete(CAROL, two)],
    "two quotes and a deletion": lambda s, one, two: [s.quote(BOB, one), s.quote(CAROL, one), s.delete(ALICE, one)],
    "two edits": lambda s, one, two: [s.edit(ALICE, one, "#b"), s.edit(ALICE, one, "#c"), finish_again(s, one)],
    "a new post is deleted": lambda s, one, two: [tagged(s, CAROL), s.delete(CAROL, two + 1)],
    "two edits and a deletion": lambda s, one, two: [
        s.edit(ALICE, one, "b"),
        s.edit(ALICE, one, "c"),
        s.delete(ALICE, one),
    ],
    "an answer and the deletion of its writer": lambda s, one, two: [
        s.answer(BOB, two),
        s.delete_account(BOB),
        s.drain(),
        s.delete(CAROL, two),
    ],
    "the accounts of two of three are deleted": lambda s, one, two: [
        s.delete_account(ALICE),
        s.delete_account(CAROL),
        s.drain(),
        s.answer(BOB, two),
    ],
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_interleaved_changes_agree_with_the_posts(acts, store, raw, layout, scenario, kills):
    for seed in range(seam.examples(RUNS)):
        make_small_site(raw, layout)
        interleave(seed, kills, SCENARIOS[scenario](acts, *make_thread(store)))
        finish_jobs(store, raw)
        assert_conversations_agree(raw, seed)


IN_THE_MIDDLE = {
    "an edit in an edit": lambda s, one, two: (s.edit(ALICE, one, "#b"), s.edit(ALICE, one, "#c")),
    "an edit while a worker settles the post": lambda s, one, two: (finish_again(s, one), s.edit(ALICE, one, "#c")),
    "an edit in a deletion": lambda s, one, two: (s.delete(ALICE, one), s.edit(ALICE, one, "#c")),
    "an answer in a deletion": lambda s, one, two: (s.delete(CAROL, two), s.answer(BOB, two)),
    "an answer in an answer": lambda s, one, two: (s.answer(BOB, two), s.answer(ALICE, two, "u")),
    "a deletion in a deletion": lambda s, one, two: (s.delete(CAROL, two), s.delete(ALICE, one)),
    "a deletion in a new post": lambda s, one, two: (tagged(s, CAROL), s.delete(CAROL, two + 1)),
    "a quote in a quote": lambda s, one, two: (s.quote(BOB, one), s.quote(CAROL, one)),
}


@pytest.mark.parametrize("changes", IN_THE_MIDDLE)
def test_a_change_between_two_parts_of_another_agrees_with_it(acts, store, raw, changes):
    for step in seam.each_moment(rounds=ROUNDS):
        make_small_site(raw)
        first, second = make_thread(store)
        if "settles" in changes:
            acts.edit(ALICE, first, "#b")()
        change, between = IN_THE_MIDDLE[changes](acts, first, second)
        with seam.before_part(step, between):
            change()
        finish_jobs(store, raw)
        assert_conversations_agree(raw, step)


def test_a_worker_that_is_killed_after_another_one_has_removed_the_account_leaves_right_numbers(acts, store, raw):
    """It writes what it has read before alice has deleted her reply, and dies at its next round trip. The other worker
    has left no post that leads to the number."""
    for step in seam.each_moment():
        make_small_site(raw)
        _, second = make_thread(store)
        acts.answer(BOB, second)()
        acts.answer(ALICE, second)()
        acts.delete_account(BOB)()
        changes = [
            partial(carry_out, store, f"gone:{BOB}:another"),
            acts.delete(ALICE, max(existing_posts(raw, [ALICE]))),
        ]
        with (
            suppress(seam.Killed),
            seam.before_round_trip(step, partial(all_of, changes)) as happened,
            seam.before_each_round_trip(partial(die_if, happened)),
        ):
            acts.worker("one")()
        finish_jobs(store, raw)
        assert_conversations_agree(raw, step)


def all_of(changes):
    for change in changes:
        change()


def die_if(happened):
    if happened:
        raise seam.Killed


def test_both_texts_of_two_edits_are_kept(acts, store, raw, layout):
    for seed in range(seam.examples(RUNS)):
        make_small_site(raw, layout)
        interleave(seed, 0, [acts.edit(BOB, BOBS_POST, text) for text in ("b", "c")])
        assert set(raw.hvals(f"edits:{BOBS_POST}")) == {"post 1", "b", "c"}, seed
