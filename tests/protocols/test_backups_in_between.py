"""A backup may come between any two commands, and nothing moves on in it: what is under way there is no error. Nor is
it for `doctor`, as long as the job of a process that died waits for a worker."""

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
from tests.support.stores.seam import each_moment, killed_before_part, stride
from timeline.posts.delivery import Reposts
from timeline.posts.entities import NewPost
from timeline.posts.repository import Posts
from timeline.relations.relations import BlockedPeople, Follows, Likes

DEEDS = {
    "post a new tag": lambda store: publish(store, ALICE, "#new"),
    "answer a hidden person": lambda store: publish(store, ALICE, "answers", 6),
    "edit while hidden": lambda store: Posts(store).edit(CAROL, 6, "edited"),
    "delete": lambda store: Posts(store).delete(ALICE, 3),
    "delete the last below a tombstone": lambda store: Posts(store).delete(ALICE, 7),
    "unfollow a hidden person": lambda store: Follows(store).unfollow(ALICE, CAROL),
    "repost": lambda store: Reposts(store).repost(ALICE, 4, BOB),
    "block": lambda store: BlockedPeople(store).block(ALICE, BOB),
    "hide": lambda store: (Sanctions(store).impose(BOB, State.HIDDEN, "x", 0), drain(store, "w")),
    "lift": lambda store: (Sanctions(store).lift(CAROL, reason="x"), drain(store, "w")),
    "grant": lambda store: (Sanctions(store).decide_appeal(CAROL, True, BOB, "x"), drain(store, "w")),
    "apply": lambda store: Applications(store).apply("zoe", "argon2$x", "why"),
    "delete an account": lambda store: (
        AccountDeletion(store).delete(User(ALICE, "alice"), ""),
        [drain(store, "w") for _ in range(3)],
    ),
}

LONG = {"delete", "hide", "lift", "grant", "delete an account"}


def publish(store, uid, body, reply_to=None):
    Posts(store).publish(uid, NewPost(body, reply_to), body)


@pytest.fixture
def site(raw, store, alice, bob, carol):
    """Post 3 has two reposts and two replies: 5 of bob's, a tombstone with a reply of alice's, and 6 of carol's. She is
    hidden, follows alice and likes bob's post."""
    make_healthy_site(raw, store, alice, bob, carol)
    publish(store, BOB, "answers", 3)
    publish(store, CAROL, "answers #tag", 3)
    publish(store, ALICE, "answers bob", 5)
    Posts(store).delete(BOB, 5)
    for uid in (ALICE, BOB):
        Reposts(store).repost(uid, 3, ALICE)
    Likes(store).like(BOB, 3, ALICE)
    Likes(store).like(CAROL, 4, BOB)
    Follows(store).follow(ALICE, CAROL)
    Sanctions(store).impose(CAROL, State.HIDDEN, "spam", 0)
    Sanctions(store).appeal(CAROL, "Please")
    for _ in range(2):
        drain_due(store, raw)
    return everything(raw)


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("deed", DEEDS)
def test_what_is_under_way_is_no_error(raw, store, site, deed):
    for step in each_moment(stride=stride() if deed in LONG else 1):
        raw.flushall()
        write_all(raw, site)
        Memory.clear_all()
        killed_before_part(step, lambda: DEEDS[deed](store))
        now = time.time()
        assert findings_of(store, inconsistencies(store, lambda now=now: now)) == [], step
    assert step > 5


@pytest.mark.usefixtures("no_waiting")
def test_a_sanction_that_has_ended_since_a_backup_is_no_error(raw, store, site, monkeypatch):
    """A worker that runs on the restored store makes the numbers follow."""
    Sanctions(store).impose(BOB, State.HIDDEN, "x", int(time.time()) + 3600)
    drain(store, "w")
    tomorrow = time.time() + 86400
    monkeypatch.setattr(time, "time", lambda: tomorrow)
    for _ in range(2):
        Memory.clear_all()
        assert findings_of(store, inconsistencies(store, lambda: tomorrow - 86400)) == []
        drain_due(store, raw)
