"""Likes, follows, posts and edits beside what takes them back, with and without kills: each notice tells of something
that stands, nothing that stands lacks its notice, and neither of two follows the other while one blocks."""

from functools import partial

import pytest

from tests.support.protocols.interleaving import interleave
from tests.support.protocols.notices import assert_notices_agree
from tests.support.protocols.relations import assert_relations_agree
from tests.support.protocols.small_site import ALICE, BOB, CAROL, NAMES, finish_jobs, make_small_site
from tests.support.stores.seam import before_part, each_moment, examples, killed_before_part
from timeline.relations.relations import BlockedPeople, Mutes

RUNS = 10  # seeds for each scenario
CAROLS_POST, NEW = 2, 3
BOB_LIKES = BOB, CAROLS_POST, CAROL  # or reposts it


def mention(acts):
    """A post that names carol and alice; it is the post NEW."""
    return acts.post(BOB, "for @carol and @alice")


def mute(acts):
    return partial(Mutes(acts.store).mute, CAROL, BOB)


def unblock(acts):
    return partial(BlockedPeople(acts.store).unblock, CAROL, ALICE)


SCENARIOS = {
    "a follow and its end": lambda s: [s.follow(ALICE, BOB), s.unfollow(ALICE, BOB), s.follow(ALICE, BOB)],
    "a follow and a block": lambda s: [s.follow(ALICE, BOB), s.block(BOB, ALICE)],
    "a block and its end": lambda s: [s.block(CAROL, ALICE), unblock(s), s.unfollow(ALICE, BOB)],
    "a follow, both go": lambda s: [s.follow(ALICE, BOB), s.leave(ALICE), s.leave(BOB)],
    "a like and its end, a worker": lambda s: [s.like(*BOB_LIKES), s.unlike(*BOB_LIKES), s.take_over],
    "a like and the deletion of the post": lambda s: [
        s.like(*BOB_LIKES),
        s.repost(*BOB_LIKES),
        s.delete(CAROL, CAROLS_POST),
    ],
    "a like and a block": lambda s: [s.like(*BOB_LIKES), s.repost(*BOB_LIKES), s.block(CAROL, BOB)],
    "a like and a mute": lambda s: [s.like(*BOB_LIKES), s.like(ALICE, CAROLS_POST, CAROL), mute(s)],
    "a like and the deletion of the author": lambda s: [s.like(*BOB_LIKES), s.repost(*BOB_LIKES), s.leave(CAROL)],
    "a like and the deletion of the account": lambda s: [s.like(*BOB_LIKES), s.repost(*BOB_LIKES), s.leave(BOB)],
    "a mention and a block": lambda s: [mention(s), s.block(CAROL, BOB)],
    "a mention and a block by the author": lambda s: [mention(s), s.block(BOB, ALICE)],
    "a mention and a mute": lambda s: [mention(s), mute(s)],
    "a mention and the deletion of the post": lambda s: [mention(s), s.delete(BOB, NEW)],
    "a mention and the deletion of the account": lambda s: [mention(s), s.leave(BOB)],
    "a mention of an account that is deleted": lambda s: [mention(s), s.leave(CAROL), s.take_over],
    "an answer, a quote and a block": lambda s: [
        s.answer(BOB, CAROLS_POST),
        s.quote(BOB, CAROLS_POST),
        s.block(CAROL, BOB),
    ],
    "an answer and a quote of a post that is deleted": lambda s: [
        s.answer(BOB, CAROLS_POST),
        s.quote(ALICE, CAROLS_POST),
        s.delete(CAROL, CAROLS_POST),
    ],
    "an edit and a block": lambda s: [s.edit(BOB, 1, "for @carol"), s.block(CAROL, BOB)],
    "an edit and the deletion of the post": lambda s: [s.edit(BOB, 1, "for @carol"), s.delete(BOB, 1), s.take_over],
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_each_notice_agrees_with_what_it_tells_of(acts, store, raw, scenario, kills):
    for seed in range(examples(RUNS)):
        make_small_site(raw)
        raw.zadd("notices:3", {"follow:3:1": 1})  # alice follows carol since before
        interleave(seed, kills, SCENARIOS[scenario](acts))
        finish_jobs(store, raw)
        assert_notices_agree(raw, seed)
        assert_no_follow_beside_a_block(raw, seed)


def assert_no_follow_beside_a_block(raw, where):
    for one in NAMES:
        for other in raw.zrange(f"following:{one}", 0, -1):
            blocks = (raw.zscore(f"blocked:{one}", other), raw.zscore(f"blocked:{other}", one))
            assert blocks == (None, None), where


# What comes at any moment, and of what.
AT_ANY_MOMENT = {
    "the end of a block, of itself: the follow stands": (unblock, lambda s: s.block(CAROL, ALICE)),
    "a block, of an answer": (lambda s: s.block(CAROL, BOB), lambda s: s.answer(BOB, CAROLS_POST)),
    "a block, of a quote": (lambda s: s.block(CAROL, BOB), lambda s: s.quote(BOB, CAROLS_POST)),
    "a block, of a like": (lambda s: s.block(CAROL, BOB), lambda s: s.like(*BOB_LIKES)),
    "a block, of a follow": (lambda s: s.block(ALICE, BOB), lambda s: s.follow(BOB, ALICE)),
    "the end of the account, of a like": (lambda s: s.leave(CAROL), lambda s: s.like(*BOB_LIKES)),
    "the end of the account, of a mention": (lambda s: s.leave(BOB), mention),
    "the deletion of the post, of a mention": (lambda s: s.delete(BOB, NEW), mention),
}


@pytest.mark.parametrize("moment", AT_ANY_MOMENT)
def test_notices_agree_with_what_comes_at_any_moment_of_an_act(acts, store, raw, moment):
    between, act = AT_ANY_MOMENT[moment]
    for number in each_moment():
        make_small_site(raw)
        raw.zadd("notices:3", {"follow:3:1": 1})
        with before_part(number, between(acts)):
            act(acts)()
        finish_jobs(store, raw)
        assert_notices_agree(raw, number)
        assert_no_follow_beside_a_block(raw, number)
        assert_relations_agree(raw, number)
    assert number > 6


@pytest.mark.parametrize("end", ["the deletion of the post", "the deletion of the account"])
def test_nobody_has_a_notice_of_a_post_whose_edit_was_killed_at_any_moment_and_that_is_then_deleted(
    acts, store, raw, end
):
    """The edit mentions carol in place of alice."""
    for number in each_moment():
        make_small_site(raw)
        raw.zadd("notices:3", {"follow:3:1": 1})
        acts.edit(BOB, 1, "for @alice")()
        killed_before_part(number, acts.edit(BOB, 1, "for @carol"))
        if end == "the deletion of the post":
            acts.delete(BOB, 1)()
        else:
            acts.leave(BOB)()
        finish_jobs(store, raw)
        assert_notices_agree(raw, number)
    assert number > 8
