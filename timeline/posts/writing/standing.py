"""Where posts stand: all that follows from the hash of a post, made to match it.

What decides is read, what follows is written, and then it is read again. While the two differ, it is written again. So
of two processes that change a post and its replies at once, the last to write has seen what the other one did. Every
step can run twice, and a job in the outbox leads here until all agrees.

- A published post stands in its listings, and its text is the newest one in `edits:`, whose names
  are its mentions.
- A deleted post with replies is a tombstone: it keeps its place in the thread, and its hash does not expire.
- A deleted post without replies stands nowhere, and its hash expires.

The text of a deleted post is removed last, because it leads to listings.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from retwis_site.jobs.outbox import Claim, Outbox, job_id
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import nonce
from timeline.posts.entities import NO_LINKS
from timeline.posts.reading.cached_posts import forget
from timeline.posts.writing.listings import QUOTES, REPLIES, queue_spellings
from timeline.posts.writing.looks import Look, Parent, Seen
from timeline.posts.writing.mentions import mentioned
from timeline.relations.protocol.counts import Counts

DELETED_STAYS = 30 * 24 * 3600  # seconds that the page of a deleted post without replies answers 410


class Settled(NamedTuple):
    """Posts whose listings agree with them, and what they answer and quote."""

    seen: dict[int, Seen]
    parents: dict[int, Parent]
    quotes: dict[int, int]


class Standing:
    """Makes all that follows from posts match them. Their jobs must be in the outbox."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = Outbox(store)

    def settle(self, pids: Collection[int], written: Mapping[int, Seen] | None = None) -> None:
        """Make all match for these posts. `written`: what was written of them before.

        Three round trips for all together; one more for deleted posts with a text, two more each where posts are
        answered and where posts are quoted; more while others change the same posts, and for tombstones above."""
        pipe = self._store.pipeline()
        look = Look(pipe, dict.fromkeys(pids, NO_LINKS))
        pipe.execute()
        self.agree(written or {}, look)

    def agree(self, written: Mapping[int, Seen], look: Look) -> None:
        """As `settle`, for posts that were just read (`look`). `written`: what was written of them before that. No
        round trip for a post that was written as it is and names no other."""
        settled = self._write_until_same(written, look)
        jobs: list[str] = []
        while True:
            self._remove_texts(settled.seen)
            self._count(settled)
            above = [pid for pid, parent in settled.parents.items() if parent.stands_wrong]
            jobs = self._replace(jobs, [f"stone:{pid}:{nonce()}" for pid in above])
            if not above:
                return
            pipe = self._store.pipeline()
            look = Look(pipe, dict.fromkeys(above, NO_LINKS))
            pipe.execute()
            settled = self._write_until_same({}, look)

    def finish(self, claim: Claim) -> None:
        """The job `stone:<pid>:<nonce>`: the first reply to a deleted post has come, or the last one has gone."""
        self.settle([job_id(claim.name, 1)])
        claim.outbox.done(claim.name)

    def queue(self, pipe: Pipe, pid: int, now: Seen, before: Seen | None = None) -> None:
        """Write what follows from a post as it is now. `before`: what was written of it last."""
        stands_in = now.stands_in
        for key in stands_in:
            pipe.zadd(key, {str(pid): pid})
        for key in (now.may_stand_in | (before.stands_in if before else set())) - stands_in:
            pipe.zrem(key, str(pid))
        if now.deleted:
            for count in (REPLIES, QUOTES):
                count.queue(pipe, pid, 0)
            if now.has_replies:
                pipe.persist(keys.post(pid))
            else:
                pipe.expire(keys.post(pid), DELETED_STAYS)
            return
        if not now.exists:
            return
        queue_spellings(pipe, now.text)
        if now.texts:
            since, text = now.texts[-1]
            fields = {"body": text, "edited": str(since)}
            if now.links.mentions is None:
                pipe.hdel(keys.post(pid), "mentions")
            else:
                fields["mentions"] = " ".join(map(str, now.links.mentions))
            pipe.hset(keys.post(pid), fields)

    def _write_until_same(self, written: Mapping[int, Seen], look: Look) -> Settled:
        settled = Settled(look.seen, look.parents, look.quotes)
        last = dict(written)
        while changed := {pid: now for pid, now in settled.seen.items() if now != last.get(pid)}:
            changed = {pid: self._with_mentions(now) for pid, now in changed.items()}
            pipe = self._store.pipeline()
            for pid, now in changed.items():
                self.queue(pipe, pid, now, last.get(pid))
            pipe.execute()
            last |= changed
            look = Look(pipe, {pid: now.links for pid, now in changed.items()})
            pipe.execute()
            settled.seen.update(look.seen)
            settled.parents.update(look.parents)
            settled.quotes.update(look.quotes)
        return settled

    def _with_mentions(self, now: Seen) -> Seen:
        """The post with the mentions of its newest text. One round trip for an edited post whose text has an @name,
        else none."""
        if now.deleted or not now.texts:
            return now
        return now._replace(links=now.links._replace(mentions=mentioned(self._store, now.text)))

    def _remove_texts(self, seen: Mapping[int, Seen]) -> None:
        """One round trip; none without deleted posts that have a text, and posts whose hash has expired."""
        pipe = self._store.pipeline()
        for pid, now in seen.items():
            if now.exists and not now.deleted:
                continue
            if not now.exists:  # a late edit may have made the hash anew
                for field in ("body", "edited", "mentions"):
                    pipe.hdel(keys.post(pid), field)
            elif now.body:
                pipe.hset(keys.post(pid), {"body": ""})
            if now.texts:
                pipe.unlink(keys.edits(pid))
        pipe.execute()

    def _count(self, settled: Settled) -> None:
        Counts(self._store, REPLIES).write({pid: parent.number for pid, parent in settled.parents.items()})
        Counts(self._store, QUOTES).write(settled.quotes)
        for pid in (*settled.parents, *settled.quotes, *settled.seen):
            forget(pid)

    def _replace(self, jobs: list[str], new: list[str]) -> list[str]:
        """Add the jobs of the posts above, and only then remove those of the posts below. Two round trips at most."""
        self._outbox.add_all(new)
        pipe = self._store.pipeline()
        for job in jobs:
            self._outbox.queue_done(pipe, job)
        pipe.execute()
        return new
