"""An account is restored while its owner posts, pins, reposts and deletes, with and without kills: each post is there
once and agrees with its listings, and nothing is left of a deleted account."""

import pytest

from retwis_site.exceptions import StoreError
from retwis_site.store.local_cache import Memory
from tests.support.protocols.conversations import answer, assert_conversations_agree
from tests.support.protocols.interleaving import attempt, interleave, take_all_over
from tests.support.protocols.relations import assert_relations_agree
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
from timeline.account_data.restoring import OldPost, RestoredRelations, Restoring
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NoSuchPost, PostDeleted
from timeline.relations.relations import Follows, Likes
from timeline.timelines.profile import Pins

RUNS = 10  # seeds for each scenario
CAROLS_POST = 2


def restore(store):
    """Two posts of a download, of which the later one was pinned. This site has never given out their ids."""

    def work():
        restoring = Restoring(store, CAROL)
        restoring.begin()
        restoring.write([OldPost(900, 5, "sooner"), OldPost(901, 6, "later #old")])
        restoring.finish()
        RestoredRelations(store, CAROL).pin(restoring.conversation.id_of(901))

    return attempt(work, StoreError, NoSuchPost, PostDeleted)


def pin(store):
    return attempt(lambda: Pins(store).pin(CAROL, CAROLS_POST), PostDeleted)


def repost(store):
    return lambda: Reposts(store).repost(CAROL, 1, BOB)


SCENARIOS = {
    "the owner posts and pins": lambda s: [restore(s), post(s, CAROL), pin(s)],
    "the owner reposts, a worker": lambda s: [restore(s), repost(s), lambda: take_all_over(s)],
    "the owner deletes the pinned post": lambda s: [restore(s), pin(s), lambda: delete(s, CAROL, CAROLS_POST)],
    "the owner deletes a restored post, which is liked": lambda s: [
        restore(s),
        lambda: delete(s, CAROL, 3),
        lambda: Likes(s).like(ALICE, 3, CAROL),
    ],
    "a restored post is answered": lambda s: [restore(s), answer(s, BOB, 3), lambda: home(s)],
    "the account is deleted": lambda s: [restore(s), leave(s, CAROL)],
    "the account is deleted, a follower goes": lambda s: [
        restore(s),
        leave(s, CAROL),
        lambda: Follows(s).unfollow(ALICE, CAROL),
    ],
}


@pytest.mark.parametrize("kills", [0, 2])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_restored_account_agrees_with_its_posts(store, raw, layout, scenario, kills):
    for seed in range(examples(RUNS)):
        make_small_site(raw, layout)
        home(store)
        everyone(store)
        interleave(seed, kills, SCENARIOS[scenario](store))
        finish_jobs(store, raw)
        Memory.clear_all()
        assert_conversations_agree(raw, seed)
        assert_relations_agree(raw, seed)
        if raw.hexists("user:3", "deleted"):
            assert existing_posts(raw, [CAROL]) == [], seed
            assert raw.hget("user:3", "pinned") is None, seed
        posts = existing_posts(raw, [ALICE, BOB, CAROL])
        assert everyone(store) == [pid for pid in posts if not raw.hexists(f"post:{pid}", "repost_of")], seed
        followed = [int(uid) for uid in raw.zrange("following:1", 0, -1)]
        shown = [int(raw.hget(f"post:{pid}", "repost_of") or pid) for pid in existing_posts(raw, [ALICE, *followed])]
        assert home(store) == shown, seed
        tagged = [int(pid) for pid in raw.zrange("tag:old", 0, -1)]
        later = [pid for pid in existing_posts(raw, [CAROL]) if raw.hget(f"post:{pid}", "body") == "later #old"]
        assert tagged == sorted(later), seed
