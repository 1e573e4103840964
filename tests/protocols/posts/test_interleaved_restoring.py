"""An account is restored while its owner posts, pins, reposts and deletes, with and without kills: each post is there
once and agrees with its listings, and nothing is left of a deleted account."""

from functools import partial

import pytest

from retwis_site.exceptions import StoreError
from retwis_site.jobs.worker import drain
from retwis_site.store.local_cache import Memory
from tests.support.people import LONG_AGO
from tests.support.protocols.conversations import assert_conversations_agree
from tests.support.protocols.interleaving import attempt, interleave
from tests.support.protocols.relations import assert_relations_agree
from tests.support.protocols.small_site import ALICE, BOB, CAROL, existing_posts, finish_jobs, make_small_site
from tests.support.stored_posts import write_posts
from tests.support.stores.seam import before_round_trip, each_moment, examples
from timeline.account_data.restoring import GoneMeanwhile, RestoredRelations
from timeline.posts.entities import PostDeleted
from timeline.posts.repository import Posts
from timeline.timelines.profile import Pins

RUNS = 10  # seeds for each scenario
CAROLS_POST = 2


def restore(acts):
    """Two posts of a download, of which the later one was pinned."""

    def work():
        restoring = acts.bring_back(CAROL, "later #old")()
        RestoredRelations(acts.store, CAROL).pin(restoring.conversation.own.get(901))

    return attempt(work, GoneMeanwhile, StoreError)


def pin(acts):
    return attempt(partial(Pins(acts.store).pin, CAROL, CAROLS_POST), PostDeleted)


SCENARIOS = {
    "the owner posts and pins": lambda s: [restore(s), s.post(CAROL), pin(s)],
    "the owner reposts, a worker": lambda s: [restore(s), s.repost(CAROL, 1, BOB), s.take_over],
    "the owner deletes the pinned post": lambda s: [restore(s), pin(s), s.delete(CAROL, CAROLS_POST)],
    "the owner deletes a restored post, which is liked": lambda s: [
        restore(s),
        s.delete(CAROL, 3),
        s.like(ALICE, 3, CAROL),
    ],
    "a restored post is answered": lambda s: [restore(s), s.answer(BOB, 3), s.home],
    "the account is deleted": lambda s: [restore(s), s.leave(CAROL)],
    "the account is deleted, a follower goes": lambda s: [restore(s), s.leave(CAROL), s.unfollow(ALICE, CAROL)],
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_restored_account_agrees_with_its_posts(acts, store, raw, layout, scenario, kills):
    for seed in range(examples(RUNS)):
        make_small_site(raw, layout)
        acts.home()
        acts.everyone()
        interleave(seed, kills, SCENARIOS[scenario](acts))
        finish_jobs(store, raw)
        Memory.clear_all()
        assert_conversations_agree(raw, seed)
        assert_relations_agree(raw, seed)
        if raw.hexists("user:3", "deleted"):
            assert existing_posts(raw, [CAROL]) == [], seed
            assert raw.hget("user:3", "pinned") is None, seed
        posts = existing_posts(raw, [ALICE, BOB, CAROL])
        assert acts.everyone() == [pid for pid in posts if not raw.hexists(f"post:{pid}", "repost_of")], seed
        followed = [int(uid) for uid in raw.zrange("following:1", 0, -1)]
        shown = [int(raw.hget(f"post:{pid}", "repost_of") or pid) for pid in existing_posts(raw, [ALICE, *followed])]
        assert acts.home() == shown, seed
        tagged = [int(pid) for pid in raw.zrange("tag:old", 0, -1)]
        later = [pid for pid in existing_posts(raw, [CAROL]) if raw.hget(f"post:{pid}", "body") == "later #old"]
        assert tagged == sorted(later), seed


def test_a_post_that_is_deleted_while_a_worker_finishes_a_killed_run_stays_away(raw, store, alice):
    for number in each_moment():
        write_posts(raw, 1, [11])
        raw.zadd("outbox", {"restore:11:1:abc": LONG_AGO})
        with before_round_trip(number, lambda: Posts(store).delete(1, 11)) as deleted:
            drain(store, "a worker")
        assert raw.zrange("updates:1", 0, -1) == [] or not deleted, number
        raw.delete("post:11", "updates:1", "outbox")
    assert number > 8
