"""What killed processes leave behind of posts and timelines: harmless, and in nobody's way."""

import time
from collections.abc import Sequence
from functools import partial

from accounts.users.repository import person, queue_person
from retwis_site.jobs.outbox import LEASE, OWNER_GIVES_UP
from retwis_site.maintenance.checks import AT_ONCE, Check, Chunks, Finding, numbered, settled
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.rate_limits import LIMITS
from timeline.posts.checks.post_checks import TimelineDamage, at_work_on
from timeline.posts.repository import DELETED_STAYS, TOKEN_LIVES, Posts
from timeline.timelines.cached_list import TimelineList
from timeline.timelines.cursors import parse_id

LONGEST_WINDOW = max(limit.seconds for limit in LIMITS)
REMEMBERED = 100_000  # ids of posts that are known to stand, while lists are gone through

# Keys that must end by themselves, and after how many seconds.
FLEETING = {"idem:*": TOKEN_LIVES, "lease:*": LEASE, "throttle:*": LONGEST_WINDOW, "health": LEASE}


class TimelineDebris:
    """Searches over posts, timelines and what deliveries leave."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._posts = Posts(store)
        self._damage = TimelineDamage(store)

    def checks(self) -> list[Check]:
        size = self._store.dbsize
        return [
            Check("orphaned post: hashes", self.orphaned_posts, size),
            Check("deleted posts without an expiry", self.lasting_tombstones, size),
            Check("lists with dead ids", self.dead_ids, lambda: 3 * size()),
            Check("home timelines of nobody", self.homes_of_nobody, size),
            Check("global timelines of another number of shards", self.other_shards, lambda: 1),
            Check("tokens without an expiry", self.lasting_tokens, lambda: len(FLEETING) * size()),
            Check("attempts at nothing", self.attempts, lambda: self._store.hlen(keys.attempts())),
        ]

    def orphaned_posts(self) -> Chunks:
        """`post:` hashes that stand in no `updates:` and wait in no outbox.

        One that was written just now may be a post under way: it is looked at again when its owner has given up,
        OWNER_GIVES_UP seconds later. None in a database that another Retwis wrote and nobody has adopted: it has no
        `updates:`, so that all of its posts would look like orphans. None in a store that is being seeded.
        """
        if self._damage.is_from_elsewhere or not self._store.hlen(keys.users()):
            return
        young: list[int] = []
        for batch in numbered(self._store, "post:*"):
            orphans = self._orphans(batch)
            recent = self._recent(orphans)
            young += recent
            yield self._found([pid for pid in orphans if pid not in recent])
        if young:
            time.sleep(OWNER_GIVES_UP + 1)
            yield self._found(self._orphans(young))

    def _orphans(self, pids: Sequence[int]) -> list[int]:
        return [pid for pid, author in self._damage.unlisted(pids) if not self._damage.was_listed(pid, author)]

    def _recent(self, pids: Sequence[int]) -> set[int]:
        pipe = self._store.pipeline()
        for pid in pids:
            pipe.hget(keys.post(pid), "time")
        settled_at = time.time() - OWNER_GIVES_UP - 1
        return {
            pid for pid, when in zip(pids, pipe.execute(), strict=True) if (parse_id(when or "") or 0) >= settled_at
        }

    def _found(self, orphans: Sequence[int]) -> list[Finding]:
        """A post's intent leaves the outbox only after the post stands, so what is missing from the outbox, and then
        from `updates:`, never got to its commit."""
        certain = settled(self._store, orphans, lambda pid: at_work_on(str(pid)), self._orphans)
        return [Finding(keys.post(pid), partial(self._store.unlink, keys.post(pid))) for pid in certain]

    def lasting_tombstones(self) -> Chunks:
        """Deleted posts that would never go."""
        for batch in numbered(self._store, "post:*"):
            lasting = settled(self._store, self._lasting(batch), lambda pid: at_work_on(str(pid)), self._lasting)
            yield [
                Finding(keys.post(pid), partial(self._store.expire, keys.post(pid), DELETED_STAYS)) for pid in lasting
            ]

    def _lasting(self, pids: Sequence[int]) -> list[int]:
        pipe = self._store.pipeline()
        for pid in pids:
            pipe.hexists(keys.post(pid), "deleted")
            pipe.ttl(keys.post(pid))
        replies = pipe.execute()
        seen = zip(pids, replies[::2], replies[1::2], strict=True)
        return [pid for pid, deleted, seconds in seen if deleted and seconds == -1]

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
        for batch in numbered(self._store, "posts:*"):
            yield [
                Finding(keys.home(uid), partial(self._store.unlink, keys.home(uid)))
                for uid in settled(self._store, self._left(batch), lambda uid: {f"gone:{uid}"}, self._left)
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

    def lasting_tokens(self) -> Chunks:
        """Keys that must end by themselves and do not."""
        for pattern, lives in FLEETING.items():
            for found in self._store.scan_keys(keys.matching(pattern), AT_ONCE):
                pipe = self._store.pipeline()
                for key in found:
                    pipe.ttl(key)
                yield [
                    Finding(key, partial(self._store.expire, key, lives))
                    for key, seconds in zip(found, pipe.execute(), strict=True)
                    if seconds == -1
                ]

    def attempts(self) -> Chunks:
        """Counts of attempts at intents that are in no outbox. An intent is counted while it is in one."""
        for counted in self._store.hash_fields(keys.attempts(), AT_ONCE):
            pipe = self._store.pipeline()
            for intent, _ in counted:
                pipe.zscore(keys.outbox(intent), intent)
            yield [
                Finding(f"attempts at {intent.partition(':')[0]}", partial(self._store.hdel, keys.attempts(), intent))
                for (intent, _), due in zip(counted, pipe.execute(), strict=True)
                if due is None
            ]
