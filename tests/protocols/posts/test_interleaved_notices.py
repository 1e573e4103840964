"""Likes, follows, posts and edits beside what takes them back, with and without kills: each notice tells of something
that stands, nothing that stands lacks its notice, and neither of two follows the other while one blocks."""

import pytest

from tests.support.protocols.conversations import answer, edit, quote
from tests.support.protocols.interleaving import attempt, interleave, take_all_over
from tests.support.protocols.notices import assert_notices_agree
from tests.support.protocols.small_site import ALICE, BOB, CAROL, NAMES, delete, finish_jobs, leave, make_small_site
from tests.support.protocols.thoroughness import examples
from tests.support.stores.seam import before_part, each_moment, killed_before_part
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NewPost, TargetRefused
from timeline.posts.repository import Posts
from timeline.relations.relations import BlockedPeople, Follows, Likes, Mutes

RUNS = 10  # seeds for each scenario
CAROLS_POST, NEW = 2, 3


def follow(store, me=ALICE, them=BOB):
    return lambda: Follows(store).follow(me, them)


def unfollow(store):
    return lambda: Follows(store).unfollow(ALICE, BOB)


def like(store, me=BOB):
    return lambda: Likes(store).like(me, CAROLS_POST, CAROL)


def unlike(store):
    return lambda: Likes(store).unlike(BOB, CAROLS_POST, CAROL)


def repost(store):
    return lambda: Reposts(store).repost(BOB, CAROLS_POST, CAROL)


def mention(store, me=BOB):
    """A post that names carol and alice; it is the post NEW."""
    return lambda: Posts(store).publish(me, NewPost("for @carol and @alice"), "t")


def block(store, me=CAROL, them=BOB):
    return lambda: BlockedPeople(store).block(me, them)


def unblock(store):
    return lambda: BlockedPeople(store).unblock(CAROL, ALICE)


def mute(store):
    return lambda: Mutes(store).mute(CAROL, BOB)


SCENARIOS = {
    "a follow and its end": lambda s: [follow(s), unfollow(s), follow(s)],
    "a follow and a block": lambda s: [follow(s), block(s, BOB, ALICE)],
    "a block and its end": lambda s: [block(s, CAROL, ALICE), unblock(s), unfollow(s)],
    "a follow, both go": lambda s: [follow(s), leave(s, ALICE), leave(s, BOB)],
    "a like and its end, a worker": lambda s: [like(s), unlike(s), lambda: take_all_over(s)],
    "a like and the deletion of the post": lambda s: [like(s), repost(s), lambda: delete(s, CAROL, CAROLS_POST)],
    "a like and a block": lambda s: [like(s), repost(s), block(s)],
    "a like and a mute": lambda s: [like(s), like(s, ALICE), mute(s)],
    "a like and the deletion of the author": lambda s: [like(s), repost(s), leave(s, CAROL)],
    "a like and the deletion of the account": lambda s: [like(s), repost(s), leave(s, BOB)],
    "a mention and a block": lambda s: [mention(s), block(s)],
    "a mention and a block by the author": lambda s: [mention(s), block(s, BOB, ALICE)],
    "a mention and a mute": lambda s: [mention(s), mute(s)],
    "a mention and the deletion of the post": lambda s: [mention(s), lambda: delete(s, BOB, NEW)],
    "a mention and the deletion of the account": lambda s: [mention(s), leave(s, BOB)],
    "a mention of an account that is deleted": lambda s: [mention(s), leave(s, CAROL), lambda: take_all_over(s)],
    "an answer, a quote and a block": lambda s: [
        attempt(answer(s, BOB, CAROLS_POST), TargetRefused),
        attempt(quote(s, BOB, CAROLS_POST), TargetRefused),
        block(s),
    ],
    "an answer and a quote of a post that is deleted": lambda s: [
        answer(s, BOB, CAROLS_POST),
        quote(s, ALICE, CAROLS_POST),
        lambda: delete(s, CAROL, CAROLS_POST),
    ],
    "an edit and a block": lambda s: [edit(s, BOB, 1, "for @carol"), block(s)],
    "an edit and the deletion of the post": lambda s: [
        edit(s, BOB, 1, "for @carol"),
        lambda: delete(s, BOB, 1),
        lambda: take_all_over(s),
    ],
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_each_notice_agrees_with_what_it_tells_of(store, raw, scenario, kills):
    for seed in range(examples(RUNS)):
        make_small_site(raw)
        raw.zadd("notices:3", {"follow:3:1": 1})  # alice follows carol since before
        interleave(seed, kills, SCENARIOS[scenario](store))
        finish_jobs(store, raw)
        assert_notices_agree(raw, seed)
        for one in NAMES:
            for other in raw.zrange(f"following:{one}", 0, -1):
                blocks = (raw.zscore(f"blocked:{one}", other), raw.zscore(f"blocked:{other}", one))
                assert blocks == (None, None), seed


# What comes at any moment, and of what.
AT_ANY_MOMENT = {
    "the end of a block, of itself: the follow stands": (unblock, lambda s: block(s, CAROL, ALICE)),
    "a block, of an answer": (block, lambda s: attempt(answer(s, BOB, CAROLS_POST), TargetRefused)),
    "a block, of a quote": (block, lambda s: attempt(quote(s, BOB, CAROLS_POST), TargetRefused)),
}


@pytest.mark.parametrize("moment", AT_ANY_MOMENT)
def test_notices_agree_with_what_comes_at_any_moment_of_an_act(store, raw, moment):
    between, act = AT_ANY_MOMENT[moment]
    for number in each_moment():
        make_small_site(raw)
        raw.zadd("notices:3", {"follow:3:1": 1})
        with before_part(number, between(store)):
            act(store)()
        finish_jobs(store, raw)
        assert_notices_agree(raw, number)
    assert number > 8


@pytest.mark.parametrize("end", ["the deletion of the post", "the deletion of the account"])
def test_nobody_has_a_notice_of_a_post_whose_edit_was_killed_at_any_moment_and_that_is_then_deleted(store, raw, end):
    """The edit mentions carol in place of alice."""
    for number in each_moment():
        make_small_site(raw)
        raw.zadd("notices:3", {"follow:3:1": 1})
        edit(store, BOB, 1, "for @alice")()
        killed_before_part(number, edit(store, BOB, 1, "for @carol"))
        if end == "the deletion of the post":
            delete(store, BOB, 1)
        else:
            leave(store, BOB)()
        finish_jobs(store, raw)
        assert_notices_agree(raw, number)
    assert number > 8
