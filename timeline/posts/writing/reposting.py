"""Reposts: a post of their own, which names another one. The edge is in `timeline/relations/repost.py`."""

import time
from collections.abc import Mapping
from dataclasses import replace

from django.conf import settings

from retwis_site.jobs.outbox import Claim, Outbox, job_id, owned
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import integer, nonce, stored_id, stored_time
from timeline.posts.post_ids import post_ids
from timeline.posts.reading.cached_posts import forget
from timeline.posts.writing.delivery import PUSHED_WITHIN, Delivery
from timeline.relations.protocol.edges import Edges
from timeline.relations.protocol.relation import Edge
from timeline.relations.repost import REPOST


class Reposts:
    """All reposts: from a user to a post."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ids = post_ids(store)
        self._outbox = Outbox(store)

    def repost(self, me: int, pid: int, author: int) -> None:
        """Let `me` repost a post of `author`; a second repost changes nothing. A repost of a deleted post is taken
        back. Up to DELIVER_INLINE_LIMIT followers get it here, more of them from a worker. Thirteen round trips, and
        up to two more where lists are cut; as for `Edges.set` while others act on it.

        Its hash is written first. When this process dies before the job, `cleanup` removes the hash: so the lease
        begins with the hash."""
        leased = owned(self._store)
        own = self._ids.take(me)
        fields = {"user_id": str(me), "time": str(int(time.time())), "repost_of": str(pid)}
        leased.hset(keys.post(own), fields)
        Edges(leased, replace(REPOST, afterwards=_push)).set(Edge(me, str(pid), author, own), own)
        forget(pid)

    def undo(self, me: int, pid: int, author: int) -> None:
        """Let `me` no longer repost a post of `author`. Ten round trips; one without a repost.

        Only the repost that stands now is removed, not one that a later click makes."""
        own = self._store.zscore(keys.reposts(me), str(pid))
        if own is None:
            return
        Edges(self._store, REPOST).unset(Edge(me, str(pid), author, integer(own)))
        forget(integer(own))
        forget(pid)

    def finish(self, claim: Claim) -> None:
        """The job of a repost or its undo, for a worker. The homes of the followers are dropped, not pushed to: a push
        would put an old id at the head of a list."""
        Edges(self._store, replace(REPOST, afterwards=_drop)).finish(claim.name)

    def fan_out(self, claim: Claim) -> bool:
        """The job `fan_repost:<pid>:<nonce>`: push a repost into the homes of many followers. Returns False when the
        worker had to stop before the end. Later attempts, and a late first one, drop the homes."""
        pid = job_id(claim.name, 1)
        author, when = self._store.hmget(keys.post(pid), ["user_id", "time"])
        uid = stored_id(keys.post(pid), author)
        delivery = Delivery(self._store)
        if uid is not None:  # else it was undone
            if claim.attempt > 1 or time.time() - stored_time(keys.post(pid), when) > PUSHED_WITHIN:
                delivery.drop_homes(uid)
            elif not claim.carry_out(delivery.push_to_followers(uid, pid)):
                return False
        self._outbox.done(claim.name)
        return True


def _own_posts(store: Store, stand: Mapping[Edge, bool]) -> dict[Edge, int]:
    """The edges whose own post stands, with the numbers of followers of the people. One round trip; none without own
    posts."""
    pipe = store.pipeline()
    asked = [
        (edge, pipe.hget(keys.post(edge.own_post), "user_id"), pipe.zcard(keys.followers(edge.who)))
        for edge, stands in stand.items()
        if stands and edge.own_post
    ]
    pipe.execute()
    return {edge: followers.value for edge, author, followers in asked if author.value is not None}


def _push(store: Store, stand: Mapping[Edge, bool]) -> None:
    """Push a new repost into homes. When the lease ends before that, the worker drops them."""
    delivery = Delivery(store)
    for edge, followers in _own_posts(store, stand).items():
        delivery.push_into_own_home(edge.who, edge.own_post)
        if followers > settings.DELIVER_INLINE_LIMIT:
            pipe = store.pipeline()
            Outbox(store).queue_due(pipe, f"fan_repost:{edge.own_post}:{nonce()}")
            pipe.execute()
        else:
            for _ in delivery.push_to_followers(edge.who, edge.own_post):
                pass


def _drop(store: Store, stand: Mapping[Edge, bool]) -> None:
    for edge in _own_posts(store, stand):
        Delivery(store).drop_homes(edge.who)
