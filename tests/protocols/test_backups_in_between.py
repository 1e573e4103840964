"""A backup may come between any two round trips, and nothing moves on in it: what is under way there is no error. Nor
is it for `doctor`, as long as the job of a process that died waits for a worker."""

import time

import pytest

from accounts.community.sanctions import Sanctions
from accounts.joining.joining import Applications
from accounts.users.accounts import AccountDeletion
from accounts.users.entities import State, User
from retwis_site.jobs.worker import drain
from retwis_site.maintenance.examination import inconsistencies
from retwis_site.store.local_cache import Memory
from tests.support.command_output import findings_of
from tests.support.maintenance.healthy_site import ALICE, BOB, CAROL, make_healthy_site
from tests.support.stored_keys import drain_due, everything, write_all
from tests.support.stores.seam import killed_before_round_trip
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import BlockedPeople, Likes

DEEDS = {
    "repost": lambda store: Reposts(store).repost(ALICE, 4, BOB),
    "block": lambda store: BlockedPeople(store).block(ALICE, BOB),
    "hide": lambda store: (Sanctions(store).impose(BOB, State.HIDDEN, "x", 0), drain(store, "w")),
    "lift": lambda store: (Sanctions(store).lift(CAROL, reason="x"), drain(store, "w")),
    "apply": lambda store: Applications(store).apply("zoe", "argon2$x", "why"),
    "delete an account": lambda store: (
        AccountDeletion(store).delete(User(ALICE, "alice"), ""),
        [drain(store, "w") for _ in range(3)],
    ),
}


@pytest.fixture
def site(raw, store, alice, bob, carol):
    """bob answers and likes a post of alice's, carol is hidden: she follows alice and likes bob's post."""
    make_healthy_site(raw, store, alice, bob, carol)
    Posts(store).publish(BOB, NewPost("answers", reply_to=3), "token")
    Likes(store).like(BOB, 3, ALICE)
    Likes(store).like(CAROL, 4, BOB)
    Sanctions(store).impose(CAROL, State.HIDDEN, "spam", 0)
    for _ in range(2):
        drain_due(store, raw)
    return everything(raw)


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("deed", DEEDS)
def test_what_is_under_way_is_no_error(raw, store, site, deed):
    step, killed = 0, True
    while killed:
        raw.flushall()
        write_all(raw, site)
        Memory.clear_all()
        killed = killed_before_round_trip(step, lambda: DEEDS[deed](store))
        now = time.time()
        assert findings_of(store, inconsistencies(store, lambda now=now: now)) == [], step
        step += 1
    assert step > 5
