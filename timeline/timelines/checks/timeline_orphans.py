"""Orphans in timelines: dead ids, homes without an owner, lists of another number of shards."""

from collections.abc import Sequence
from functools import partial

from accounts.users.repository import person, queue_person
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, confirmed, ids_of
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_id
from timeline.posts.repository import Posts
from timeline.timelines.cached_list import TimelineList

REMEMBERED = 100_000  # ids of posts that are known to exist, while lists are searched


class TimelineOrphans:
    """Searches the lists."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._posts = Posts(store)

    def orphans(self) -> list[Check]:
        size = self._store.dbsize
        return [
            Check("lists with dead ids", self.dead_ids, lambda: 3 * size()),
            Check("home timelines of unknown users", self.homes_of_nobody, size),
            Check("global timelines of another number of shards", self.other_shards, lambda: 1),
        ]

    def dead_ids(self) -> Chunks:
        """Ids in homes and the global timeline whose post does not exist or is deleted."""
        alive: set[int] = set()
        for pattern in ("posts:*", "timeline", "timeline:[0-9]*"):
            for found in self._store.scan_keys(keys.matching(pattern), AT_ONCE):
                findings = []
                for key in found:
                    entries = self._store.lrange(key, 0, -1)
                    listed = [pid for entry in entries if (pid := parse_id(entry)) is not None]
                    dead = self._dead(set(listed) - alive)
                    alive = (alive if len(alive) < REMEMBERED else set()) | set(listed) - dead
                    if dead:
                        drop = partial(
                            TimelineList(self._store, key, lives=None).drop, [p for p in listed if p in dead]
                        )
                        findings.append(Finding(f"{key}: {len(dead)} of {len(entries)}", drop))
                yield findings

    def _dead(self, pids: set[int]) -> set[int]:
        _, dead = self._posts.read(pids)
        return set(dead)

    def homes_of_nobody(self) -> Chunks:
        """`posts:` lists whose owner does not exist, or has deleted their account while a page rebuilt theirs."""
        for batch in ids_of(self._store, "posts:*"):
            yield [
                Finding(keys.home(uid), partial(self._store.unlink, keys.home(uid)))
                for uid in confirmed(self._store, self._left(batch), lambda uid: {f"gone:{uid}"}, self._left)
            ]

    def _left(self, uids: Sequence[int]) -> list[int]:
        pipe = self._store.pipeline()
        for uid in uids:
            queue_person(pipe, uid)
        return [uid for uid, reply in zip(uids, pipe.execute(), strict=True) if person(uid, reply) is None]

    def other_shards(self) -> Chunks:
        """Lists that nobody pushes to while TIMELINE_SHARDS is what it is, and that would be out of date if it were
        changed back."""
        pipe = self._store.pipeline()
        others = [key for key in keys.whatever_shards("timeline") if key not in keys.timelines()]
        for key in others:
            pipe.type(key)
        yield [
            Finding(key, partial(self._store.unlink, key))
            for key, is_type in zip(others, pipe.execute(), strict=True)
            if is_type != "none"
        ]
