"""Timelines that count as complete and lack a post. They are caches, but nothing rebuilds what looks whole."""

from collections.abc import Sequence
from functools import partial

from accounts.origin import is_from_elsewhere
from retwis_site import keys
from retwis_site.findings import Check, Chunks, Finding, numbered, settled
from retwis_site.outbox import Outbox
from retwis_site.store import Store
from timeline.damage import at_work_on
from timeline.repositories.everybody import GlobalTimeline
from timeline.repositories.lists import KEPT, TimelineList
from timeline.repositories.posts import Posts, record


class Holes:
    """Searches in timelines.

    A look reads what should be there, then the outbox, then the list: a post that is missing then, and that nobody was
    delivering, was lost.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._posts = Posts(store)
        self._everybody = GlobalTimeline(store)

    def checks(self) -> list[Check]:
        return [
            Check("home timelines that lack a post", self.homes, self._store.dbsize),
            Check("global timelines that lack a post", self.everybody, lambda: 1),
        ]

    def homes(self) -> Chunks:
        """Each home against the `updates:` of its owner and of those they follow, down to its horizon."""
        if is_from_elsewhere(self._store):
            return
        for uids in numbered(self._store, "posts:*"):
            yield [
                Finding(keys.home(uid), partial(self._store.unlink, keys.home(uid)))
                for uid in settled(self._store, self._lacking(uids), lambda uid: {f"follow:{uid}"}, self._lacking)
            ]

    def _lacking(self, uids: Sequence[int]) -> list[int]:
        return [uid for uid in uids if self._lacks(uid)]

    def _lacks(self, uid: int) -> bool:
        home = TimelineList(self._store, keys.home(uid), lives=None)
        listing = home.read()
        if not listing.complete:  # the next read rebuilds it
            return False
        followed = [int(other) for other in self._store.zrange(keys.following(uid), 0, -1) if other.isdecimal()]
        pipe = self._store.pipeline()
        for source in (uid, *followed):
            pipe.zrevrangebyscore(keys.updates(source), "+inf", str(listing.horizon), KEPT)
        return self._is_missing({int(pid) for found in pipe.execute() for pid in found if pid.isdecimal()}, home)

    def everybody(self) -> Chunks:
        """The global timeline against the newest posts that stand."""
        timeline = TimelineList(self._store, keys.timeline(), lives=None)
        listing = timeline.read()
        newest = int(self._store.get(keys.next_post_id()) or 0)
        if listing.complete and not is_from_elsewhere(self._store):
            standing = self._everybody.standing(range(max(listing.horizon, newest - KEPT) + 1, newest + 1))
            if self._is_missing(set(standing), timeline):
                yield [Finding(keys.timeline(), partial(self._store.unlink, keys.timeline()))]

    def _is_missing(self, expected: set[int], timeline: TimelineList) -> bool:
        """Whether a list that is complete now lacks one of these posts, which is not just being delivered."""
        under_way = Outbox(self._store).under_way()
        listing = timeline.read()
        missing = [
            pid
            for pid in expected.difference(listing.ids)
            if pid >= listing.horizon and under_way.isdisjoint(at_work_on(str(pid)))
        ]
        return listing.complete and bool(missing) and self._any_stands(missing)

    def _any_stands(self, pids: Sequence[int]) -> bool:
        pipe = self._store.pipeline()
        for pid in pids:
            self._posts.queue(pipe, pid)
        return any(record(pid, reply) for pid, reply in zip(pids, pipe.execute(), strict=True))
