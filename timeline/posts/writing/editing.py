"""A new text for a post. The earlier ones stay readable: `reading/records.py`.

The newest text in `edits:` is the one that stands; `body` and `edited` follow from it. So of two edits at once both are
kept, and all processes agree which one is the last.
"""

import time
from contextlib import suppress
from typing import NamedTuple

from retwis_site.exceptions import LeaseEnded
from retwis_site.jobs.outbox import Claim, Outbox, job_id
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import nonce, stored_time
from timeline.posts.entities import NO_LINKS, NoSuchPost, PostDeleted, TooManyEdits
from timeline.posts.notices import PostNotices
from timeline.posts.reading.records import Version
from timeline.posts.writing import delivery
from timeline.posts.writing.deletion import notices_of
from timeline.posts.writing.settling import PostLook, PostState, Settling, mentioned

MOST_TEXTS = 100  # of a post, the first one included


class Before(NamedTuple):
    """A post that is to be edited."""

    seen: PostState
    since: int  # its text stands since this unix second


class Editing:
    """Changes the texts of posts."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = Outbox(store)
        self._settling = Settling(store)

    def edit(self, uid: int, pid: int, body: str) -> bool:
        """Give a post of user `uid` a new text. Returns False when it has this text already. Six round trips, one more
        for a text with an @name, those of `Settling.agree` for a reply or a quote, and those of
        `PostNotices.write_mentions` where the people mentioned change. Raises NoSuchPost (also for
        another author's, and for a repost), PostDeleted, TooManyEdits.

        Commit: the HSETNX of the new text in `edits:`."""
        before = self._editable(uid, pid)
        if before.seen.text == body:
            return False
        if len(before.seen.texts) >= MOST_TEXTS:
            raise TooManyEdits
        job = self._outbox.add(f"edit:{pid}:{uid}:{nonce()}")
        leased = Editing(job.store)
        now = leased._commit(pid, before, body, mentioned(self._store, body))
        with suppress(LeaseEnded):
            leased._follow(uid, pid, now, before.seen)
            leased._finish(pid, job.name)
        return True

    def _follow(self, uid: int, pid: int, now: PostState, before: PostState) -> None:
        """What follows the commit."""
        pipe = self._store.pipeline()
        self._settling.queue(pipe, pid, now, before)
        pipe.execute()
        look = PostLook(pipe, {pid: now.links})
        pipe.execute()
        self._settling.agree({pid: now}, look)
        self._tell(uid, pid, now, before.links.mentions or ())

    def finish(self, claim: Claim) -> None:
        """The job `edit:<pid>:<uid>:<nonce>`, for a worker: finish an edit."""
        pid, uid = job_id(claim.name, 1), job_id(claim.name, 2)
        self._settling.settle([pid])
        pipe = self._store.pipeline()
        look = PostLook(pipe, {pid: NO_LINKS})
        pipe.execute()
        now = look.seen[pid]
        if now.texts and not now.deleted:
            earlier = now.texts[-2].text if len(now.texts) > 1 else ""
            self._tell(uid, pid, now, mentioned(self._store, earlier) or ())
        self._finish(pid, claim.name)

    def _finish(self, pid: int, job: str) -> None:
        """Remove the job of an edit. The new text goes into the index: that job comes first, and stands in the same
        key."""
        pipe = self._store.pipeline()
        delivery.leave_to_the_index(pipe, pid)
        self._outbox.queue_done(pipe, job)
        pipe.execute()

    def _tell(self, uid: int, pid: int, now: PostState, before: tuple[int, ...]) -> None:
        """Write the notices of people who are mentioned now, and remove those of people who were mentioned `before`."""
        if set(before) != set(now.links.mentions or ()):
            when = now.edited or int(time.time())
            PostNotices(self._store).write_mentions(notices_of(pid, uid, now.links, when), before)

    def _editable(self, uid: int, pid: int) -> Before:
        pipe = self._store.pipeline()
        fields = pipe.hmget(keys.post(pid), ["user_id", "time"])
        look = PostLook(pipe, {pid: NO_LINKS})
        pipe.execute()
        author, when = fields.value
        seen = look.seen[pid]
        if author != str(uid) or seen.links.repost_of is not None:
            raise NoSuchPost(pid)
        if seen.deleted:
            raise PostDeleted(pid)
        if seen.texts:
            return Before(seen, seen.texts[-1].since)
        return Before(seen, stored_time(keys.post(pid), when))

    def _commit(self, pid: int, before: Before, body: str, mentions: tuple[int, ...] | None) -> PostState:
        """Add the new text, and before it the first one, which is in the hash alone. Returns the post as it is then.

        A second has one text, so an edit in the same second as the last one takes the next second."""
        key, since = keys.edits(pid), max(int(time.time()), before.since + 1)
        pipe = self._store.pipeline()
        if not before.seen.texts:
            pipe.hsetnx(key, str(before.since), before.seen.body)
        added = pipe.hsetnx(key, str(since), body)
        pipe.execute()
        is_added = added.value
        while not is_added:  # another edit has this second
            since += 1
            is_added = self._store.hsetnx(key, str(since), body)
        texts = before.seen.texts or (Version(before.since, before.seen.body),)
        links = before.seen.links._replace(mentions=mentions)
        return before.seen._replace(links=links, body=body, edited=since, texts=(*texts, Version(since, body)))
