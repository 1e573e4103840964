"""Checks of threads, replies, quotes and other listings: they must agree with the hashes of the posts, both ways."""

from collections.abc import Sequence
from functools import partial

from retwis_site.jobs.outbox import Outbox
from retwis_site.maintenance.checks import Check, Chunks, Finding, confirmed, ids_of, members_of
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import nonce, stored_id
from timeline.posts.checks.post_checks import at_work_on
from timeline.posts.entities import NO_LINKS
from timeline.posts.writing.listings import QUOTES, REPLIES
from timeline.posts.writing.looks import FOREVER, Look
from timeline.posts.writing.standing import Standing
from timeline.relations.protocol.counts import Counts

LISTINGS = {"thread:*": keys.thread, "replies_to:*": keys.replies_to, "quotes_of:*": keys.quotes_of}

Entry = tuple[int, int]  # the id in the key of a listing, and a member


class ListingChecks:
    """Searches the listings. A repair relies on the checks of `updates:`, which run before."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._standing = Standing(store)

    def inconsistencies(self) -> list[Check]:
        size = self._store.dbsize
        return [
            Check("posts that are missing from a listing, or expire while they have replies", self.posts, size),
            *(
                Check(f"entries of {pattern[:-1]} that no post explains", partial(self.entries, pattern), size)
                for pattern in LISTINGS
            ),
        ]

    def orphans(self) -> list[Check]:
        return [Check("texts of posts that are deleted or do not exist", self.texts, self._store.dbsize)]

    # ---- from the posts to their listings

    def posts(self) -> Chunks:
        """Posts that do not stand where they must."""
        for pids in ids_of(self._store, "post:*"):
            wrong = confirmed(self._store, self._wrong_posts(pids), lambda pid: at_work_on(str(pid)), self._wrong_posts)
            yield [Finding(f"{keys.post(pid)} is not listed as it must", partial(self._settle, pid)) for pid in wrong]

    def _wrong_posts(self, pids: Sequence[int]) -> list[int]:
        """Two round trips, and one for posts that answer or quote others."""
        pipe = self._store.pipeline()
        look = Look(pipe, dict.fromkeys(pids, NO_LINKS))
        asked = {pid: (pipe.hget(keys.post(pid), "user_id"), pipe.ttl(keys.post(pid))) for pid in pids}
        pipe.execute()
        wrong = [
            pid
            for pid, seen in look.seen.items()
            if (seen.deleted and seen.has_replies and asked[pid][1].value != FOREVER)
            or (seen.texts and not seen.deleted and seen.text != seen.body)
        ]
        # A post that is not in `updates:` was never published, unless it is deleted.
        authors = {pid: stored_id(keys.post(pid), author.value) for pid, (author, _) in asked.items()}
        naming = [(pid, seen) for pid, seen in look.seen.items() if seen.stands_in]
        published = {pid: pipe.zscore(keys.updates(authors[pid] or 0), str(pid)) for pid, _ in naming}
        entries = [(pid, seen, [pipe.zscore(key, str(pid)) for key in seen.stands_in]) for pid, seen in naming]
        pipe.execute()
        lacking = [
            pid
            for pid, seen, scores in entries
            if (seen.deleted or published[pid].value is not None) and any(score.value is None for score in scores)
        ]
        return sorted({*wrong, *lacking})

    def _settle(self, pid: int) -> None:
        job = Outbox(self._store).add(f"stone:{pid}:{nonce()}")
        Standing(job.store).settle([pid])
        job.done()

    # ---- from the listings to the posts

    def entries(self, pattern: str) -> Chunks:
        """Entries of posts that must not stand there."""
        look = partial(self._unexplained, pattern)
        for chunk in members_of(self._store, pattern):
            suspects = look([(number, pid) for number, pid, _ in chunk])
            yield [
                Finding(f"{LISTINGS[pattern](number)} has {pid}", partial(self._remove, pattern, number, pid))
                for number, pid in confirmed(self._store, suspects, lambda one: at_work_on(str(one[1])), look)
            ]

    def _unexplained(self, pattern: str, entries: Sequence[Entry]) -> list[Entry]:
        pipe = self._store.pipeline()
        look = Look(pipe, {pid: NO_LINKS for _, pid in entries})
        present = [(entry, pipe.zscore(LISTINGS[pattern](entry[0]), str(entry[1]))) for entry in entries]
        pipe.execute()
        seen = look.seen
        return [
            (number, pid)
            for (number, pid), score in present
            if score.value is not None and LISTINGS[pattern](number) not in seen[pid].stands_in
        ]

    def _remove(self, pattern: str, number: int, pid: int) -> None:
        """Remove an entry, and settle the post that has lost a reply or a quote."""
        self._store.zrem(LISTINGS[pattern](number), str(pid))
        for count in (REPLIES, QUOTES):
            Counts(self._store, count).recount([number])
        if self._store.hexists(keys.post(number), "deleted"):
            self._settle(number)

    # ---- texts

    def texts(self) -> Chunks:
        """`edits:` of posts that nobody sees."""
        for pids in ids_of(self._store, "edits:*"):
            orphans = confirmed(self._store, self._hidden(pids), lambda pid: at_work_on(str(pid)), self._hidden)
            yield [Finding(keys.edits(pid), partial(self._store.unlink, keys.edits(pid))) for pid in orphans]

    def _hidden(self, pids: Sequence[int]) -> list[int]:
        pipe = self._store.pipeline()
        look = Look(pipe, dict.fromkeys(pids, NO_LINKS))
        pipe.execute()
        return [pid for pid, seen in look.seen.items() if seen.texts and (seen.deleted or not seen.exists)]
