"""Orphans: what killed processes leave of posts. No page shows them; `cleanup` removes them."""

import time
from collections.abc import Sequence
from functools import partial

from retwis_site.jobs.outbox import OWNER_GIVES_UP
from retwis_site.maintenance.checks import Check, Chunks, Finding, confirmed, ids_of
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_time
from timeline.posts.checks.post_checks import PostChecks, at_work_on
from timeline.posts.writing.looks import FOREVER
from timeline.posts.writing.standing import DELETED_STAYS


class PostOrphans:
    """Searches the `post:` hashes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._checks = PostChecks(store)

    def orphans(self) -> list[Check]:
        size = self._store.dbsize
        return [
            Check("orphaned post: hashes", self.orphaned_posts, size),
            Check("deleted posts without replies and without an expiry", self.lasting_tombstones, size),
        ]

    def orphaned_posts(self) -> Chunks:
        """`post:` hashes that are in no `updates:` and have no job in the outbox.

        A hash that was written just now may be a post under way. It is checked again OWNER_GIVES_UP seconds later, when
        its owner has given up. A store that is being seeded has no findings.
        """
        if not self._store.hlen(keys.users()):
            return
        all_recent: list[int] = []
        for batch in ids_of(self._store, "post:*"):
            orphans = self._orphans(batch)
            recent = self._recent(orphans)
            all_recent += recent
            yield self._findings([pid for pid in orphans if pid not in recent])
        if all_recent:
            time.sleep(OWNER_GIVES_UP + 1)
            yield self._findings(self._orphans(all_recent))

    def _orphans(self, pids: Sequence[int]) -> list[int]:
        return [pid for pid, author in self._checks.unlisted(pids) if not self._checks.was_listed(pid, author)]

    def _recent(self, pids: Sequence[int]) -> set[int]:
        pipe = self._store.pipeline()
        times = [(pid, pipe.hget(keys.post(pid), "time")) for pid in pids]
        given_up_before = time.time() - OWNER_GIVES_UP - 1
        pipe.execute()
        return {pid for pid, when in times if stored_time(keys.post(pid), when.value) >= given_up_before}

    def _findings(self, suspects: Sequence[int]) -> list[Finding]:
        """A post's job leaves the outbox only after the post is in `updates:`. So a post that is missing first from the
        outbox and then from `updates:` never reached its commit."""
        orphans = confirmed(self._store, suspects, lambda pid: at_work_on(str(pid)), self._orphans)
        return [Finding(keys.post(pid), partial(self._store.unlink, keys.post(pid))) for pid in orphans]

    def lasting_tombstones(self) -> Chunks:
        """Hashes of deleted posts without replies that never expire."""
        for batch in ids_of(self._store, "post:*"):
            lasting = confirmed(self._store, self._lasting(batch), lambda pid: at_work_on(str(pid)), self._lasting)
            yield [
                Finding(keys.post(pid), partial(self._store.expire, keys.post(pid), DELETED_STAYS)) for pid in lasting
            ]

    def _lasting(self, pids: Sequence[int]) -> list[int]:
        pipe = self._store.pipeline()
        asked = [
            (pid, pipe.hexists(keys.post(pid), "deleted"), pipe.ttl(keys.post(pid)), pipe.zcard(keys.replies_to(pid)))
            for pid in pids
        ]
        pipe.execute()
        return [
            pid
            for pid, deleted, seconds, replies in asked
            if deleted.value and seconds.value == FOREVER and not replies.value
        ]
