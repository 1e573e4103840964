"""Checks of posts: `updates:` and the `post:` hashes must agree."""

from collections.abc import Sequence
from functools import cached_property, partial

from accounts.users.checks.unknown_users import sets_of_unknown_users
from retwis_site.jobs.outbox import Outbox
from retwis_site.maintenance.checks import Check, Chunks, Finding, confirmed, ids_of, members_of
from retwis_site.maintenance.damaged import ask_damaged
from retwis_site.store import keys
from retwis_site.store.cached_list import parse_whole
from retwis_site.store.client import Store
from retwis_site.store.ids import nonce, stored_id
from timeline.posts.reading.records import BASIC
from timeline.posts.repository import Posts
from timeline.posts.writing.delivery import Delivery

KINDS_OF_JOBS = ("post", "fan", "del", "restore", "edit", "stone")  # those whose name begins with the id of a post

Entry = tuple[int, int, float]  # of an `updates:`: the uid of the set, member, score
Written = tuple[int, int]  # pid, uid of the author


class PostChecks:
    """Searches the posts. A repair relies on the checks before it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._posts = Posts(store)

    def inconsistencies(self) -> list[Check]:
        size = self._store.dbsize
        return [
            Check("posts of unknown users", self.of_unknown_users, size),
            Check("entries of updates: that do not match a post", self.updates, size),
            Check("posts missing from their author's updates:", self.lost_posts, size),
        ]

    def of_unknown_users(self) -> Chunks:
        """`updates:` sets whose owner does not exist."""
        return sets_of_unknown_users(self._store, "updates:*", keys.updates)

    def updates(self) -> Chunks:
        """Entries of `updates:` that do not match the post they name."""
        for chunk in members_of(self._store, "updates:*"):
            wrong = confirmed(
                self._store, self._wrong(chunk), lambda one: at_work_on(str(one[1])) | {f"gone:{one[0]}"}, self._wrong
            )
            yield [
                Finding(f"{keys.updates(uid)} has {pid}", partial(self._repair_entry, uid, pid))
                for uid, pid, _ in wrong
            ]

    def _wrong(self, chunk: Sequence[Entry]) -> list[Entry]:
        pipe = self._store.pipeline()
        asked = [
            (
                (uid, pid, score),
                pipe.hmget(keys.post(pid), (*BASIC, "repost_of")),
                pipe.zscore(keys.updates(uid), str(pid)),  # another process may have removed the entry
            )
            for uid, pid, score in chunk
        ]
        pipe.execute()
        return [
            entry
            for entry, fields, present in asked
            if present.value is not None and not _matches(entry, *fields.value)
        ]

    def _repair_entry(self, uid: int, pid: int) -> None:
        author, when, body, deleted, original = self._store.hmget(keys.post(pid), (*BASIC, "repost_of"))
        body = body if original is None else ""
        if deleted is not None or (author or str(uid)) != str(uid) or (author, body) == (None, None):
            self._store.zrem(keys.updates(uid), str(pid))
            return
        self._store.hsetnx(keys.post(pid), "user_id", str(uid))
        if not _is_time(when):
            self._store.hset(keys.post(pid), {"time": "0"})
        if body is None:
            self._posts.delete(uid, pid)  # without a body there is nothing to show
        else:
            self._store.zadd(keys.updates(uid), {str(pid): pid})

    def lost_posts(self) -> Chunks:
        """Posts that were published and are missing from their author's `updates:`.

        Only a timeline tells such a post from one whose request died before the commit: a post is pushed into timelines
        after the commit. An author with one such post has lost entries, so all missing posts of that author are lost.
        """
        for batch in ids_of(self._store, "post:*"):
            yield [
                Finding(f"{keys.updates(author)} lacks {pid}", partial(self._put_back, pid))
                for pid, author in self._lost([one for one in self.unlisted(batch) if self.was_listed(*one)])
            ]

    def _lost(self, suspects: Sequence[Written]) -> Sequence[Written]:
        def still(some: Sequence[Written]) -> list[Written]:
            return self.unlisted([pid for pid, _ in some])  # some may be deleted by now

        return confirmed(self._store, suspects, lambda one: at_work_on(str(one[0])), still)

    def unlisted(self, pids: Sequence[int]) -> list[Written]:
        """The posts that are not deleted and are missing from their author's `updates:`, each with its author's uid; 0
        for a post without an author. Two round trips."""
        pipe = self._store.pipeline()
        stored = {pid: pipe.hmget(keys.post(pid), ["user_id", "deleted"]) for pid in pids}
        pipe.execute()
        written = [
            (pid, stored_id(keys.post(pid), author) or 0)
            for pid, fields in stored.items()
            for author, deleted in [fields.value]
            if deleted is None
        ]
        entries = [(one, pipe.zscore(keys.updates(one[1]), str(one[0]))) for one in written]
        pipe.execute()
        return [one for one, score in entries if score.value is None]

    def was_listed(self, pid: int, author: int) -> bool:
        """Whether a post, or another lost post of its author, is in a timeline; or whether `updates:` has a bad entry
        for it, or had any. False when the author does not exist: the post could not be put back. One round trip."""
        pipe = self._store.pipeline()
        exists = pipe.hexists(keys.user(author), "username")
        places = [pipe.lpos(key, str(pid)) for key in (keys.timeline(pid), keys.home(author))]
        entries = pipe.zcount(keys.updates(author), str(pid), str(pid))
        damaged = ask_damaged(pipe, keys.updates(author))
        pipe.execute()
        if not exists.value:
            return False
        has_losses = author in self._authors_with_losses  # asked always, since after the first repair nobody can tell
        return has_losses or bool(entries.value or damaged.value) or any(place.value is not None for place in places)

    @cached_property
    def _authors_with_losses(self) -> set[int]:
        """The authors with a post that is in the global timeline and missing from their `updates:`."""
        pipe = self._store.pipeline()
        timelines = [(key, pipe.lrange(key, 0, -1)) for key in keys.timelines()]
        pipe.execute()
        listed = [pid for key, entries in timelines for pid in parse_whole(key, entries.value).ids]
        return {author for _, author in self._lost(self.unlisted(listed))}

    def _put_back(self, pid: int) -> None:
        """Deliver a post again: this adds it to `updates:` and drops the homes, which may lack it."""
        job = Outbox(self._store).add(f"post:{pid}:{nonce()}")
        Delivery(job.store).redeliver(job.name)


def at_work_on(pid: str) -> set[str]:
    """The beginnings of the names of all jobs that may be at work on a post."""
    return {f"{kind}:{pid}" for kind in KINDS_OF_JOBS}


def _matches(entry: Entry, *fields: str | None) -> bool:
    """Whether an entry of `updates:` matches the post that it names. `fields`: BASIC, and `repost_of`: a repost has no
    body."""
    uid, pid, score = entry
    author, when, body, deleted, original = fields
    is_whole = (body is not None or original is not None) and deleted is None and _is_time(when)
    return author == str(uid) and is_whole and pid == score


def _is_time(text: str | None) -> bool:
    return text is not None and text.isascii() and text.isdigit()
