"""Orphans in timelines: dead ids, homes without an owner, lists of another number of shards."""

from collections.abc import Sequence
from functools import partial

from accounts.users.repository import ask_user
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, confirmed, ids_of
from retwis_site.store import key_kinds, keys
from retwis_site.store.cached_list import TimelineList
from retwis_site.store.client import Store
from retwis_site.store.ids import parse_id
from timeline.posts.repository import Posts

MOST_CACHED = 100_000  # ids of existing posts, while lists are searched


class TimelineOrphans:
    """Finds orphans in the lists."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._posts = Posts(store)

    def orphans(self) -> list[Check]:
        size = self._store.dbsize
        return [
            Check("lists with dead ids", self.dead_ids, lambda: 3 * size()),
            Check("home timelines of unknown users", self.ownerless_homes, size),
            Check("global timelines of another number of shards", self.other_shards, lambda: 1),
        ]

    def dead_ids(self) -> Chunks:
        """Ids of missing or deleted posts in homes and in the global timeline."""
        existing: set[int] = set()
        for pattern in ("posts:*", "timeline", "timeline:[0-9]*"):
            for batch in self._store.scan_keys(key_kinds.matching(pattern), AT_ONCE):
                findings = []
                for key in batch:
                    entries = self._store.lrange(key, 0, -1)
                    listed = [pid for entry in entries if (pid := parse_id(entry))]
                    dead = self._dead(set(listed) - existing)
                    existing = (existing if len(existing) < MOST_CACHED else set()) | set(listed) - dead
                    if dead:
                        timeline = TimelineList(self._store, key, expires_after=None)
                        remove = partial(timeline.remove_dead, [pid for pid in listed if pid in dead])
                        findings.append(Finding(f"{key}: {len(dead)} of {len(entries)}", remove))
                yield findings

    def _dead(self, pids: set[int]) -> set[int]:
        _, dead = self._posts.read(pids)
        return set(dead)

    def ownerless_homes(self) -> Chunks:
        """`posts:` lists without an owner, or of an account that was deleted while a page rebuilt its home."""
        find = self._without_account
        for batch in ids_of(self._store, "posts:*"):
            yield [
                Finding(keys.home(uid), partial(self._store.unlink, keys.home(uid)))
                for uid in confirmed(self._store, find(batch), lambda uid: {f"gone:{uid}"}, find)
            ]

    def _without_account(self, uids: Sequence[int]) -> list[int]:
        pipe = self._store.pipeline()
        owners = [(uid, ask_user(pipe, uid)) for uid in uids]
        pipe.execute()
        return [uid for uid, owner in owners if owner.value is None]

    def other_shards(self) -> Chunks:
        """Lists of another TIMELINE_SHARDS. No process pushes to them, so they would be out of date if it were changed
        back."""
        pipe = self._store.pipeline()
        others = [key for key in keys.whatever_shards("timeline") if key not in keys.timelines()]
        types = [(key, pipe.type(key)) for key in others]
        pipe.execute()
        yield [Finding(key, partial(self._store.unlink, key)) for key, found in types if found.value != "none"]
