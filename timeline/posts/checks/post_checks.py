"""Damage to what people wrote and whom they follow: truth and mirrors that do not agree."""

from collections.abc import Sequence
from functools import cached_property, partial

from accounts.users.checks.foreign_database import is_foreign
from accounts.users.checks.unknown_users import sets_of_unknown_users
from retwis_site.jobs.outbox import Outbox
from retwis_site.maintenance.checks import Check, Chunks, Finding, confirmed, ids_of, members_of
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import nonce, parse_id
from timeline.posts.reader import FIELDS
from timeline.posts.repository import Posts

Standing = tuple[int, str, float]  # of an `updates:`: whose, a member and its score
Written = tuple[int, int]  # post, author


class PostChecks:
    """Searches over posts and edges, in an order in which repairs build on each other."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._posts = Posts(store)

    def inconsistencies(self) -> list[Check]:
        size = self._store.dbsize
        return [
            Check("posts of unknown users", self.of_unknown_users, size),
            Check("updates: without such a post", self.updates, size),
            Check("posts that their author's updates: lacks", self.lost_posts, size),
        ]

    def of_unknown_users(self) -> Chunks:
        """`updates:` sets whose owner does not exist."""
        return sets_of_unknown_users(self._store, "updates:*", keys.updates)

    def updates(self) -> Chunks:
        """Members of `updates:` against the posts themselves."""
        for chunk in members_of(self._store, "updates:*"):
            wrong = confirmed(
                self._store, self._wrong(chunk), lambda one: at_work_on(one[1]) | {f"gone:{one[0]}"}, self._wrong
            )
            yield [
                Finding(f"{keys.updates(uid)} has {member}", partial(self._mend_standing, uid, member))
                for uid, member, _ in wrong
            ]

    def _wrong(self, chunk: Sequence[Standing]) -> list[Standing]:
        pipe = self._store.pipeline()
        for uid, member, _ in chunk:
            pipe.hmget(keys.post(parse_id(member) or 0), FIELDS)
            pipe.zscore(keys.updates(uid), member)  # it may be gone since it was found
        replies = pipe.execute()
        still = [
            (one, fields)
            for one, fields, score in zip(chunk, replies[::2], replies[1::2], strict=True)
            if score is not None
        ]
        return [
            (uid, member, score)
            for (uid, member, score), (author, when, body, deleted) in still
            if author != str(uid)
            or deleted is not None
            or body is None
            or not _is_time(when)
            or member != f"{score:.0f}"
        ]

    def _mend_standing(self, uid: int, member: str) -> None:
        pid = parse_id(member)
        author, when, body, deleted = self._store.hmget(keys.post(pid or 0), FIELDS)
        if pid is None or deleted is not None or (author or str(uid)) != str(uid) or (author, body) == (None, None):
            self._store.zrem(keys.updates(uid), member)
            return
        self._store.hsetnx(keys.post(pid), "user_id", str(uid))
        if not _is_time(when):
            self._store.hset(keys.post(pid), {"time": "0"})
        if body is None:
            self._posts.delete(uid, pid)  # there is nothing left of it to read
        else:
            self._store.zadd(keys.updates(uid), {member: pid})

    def lost_posts(self) -> Chunks:
        """Posts that got past their commit, and are not in their author's `updates:`.

        Only a list tells such a post from one that died before its commit, since a post is pushed after it stands. An
        author of whom one is found has lost entries, so all of theirs are taken for lost.
        """
        if self.is_foreign:
            return
        for batch in ids_of(self._store, "post:*"):
            yield [
                Finding(f"{keys.updates(author)} lacks {pid}", partial(self._put_back, pid))
                for pid, author in self._lost([one for one in self.unlisted(batch) if self.was_listed(*one)])
            ]

    def _lost(self, suspects: Sequence[Written]) -> Sequence[Written]:
        def still(some: Sequence[Written]) -> list[Written]:
            return self.unlisted([pid for pid, _ in some])  # which may be deleted by now

        return confirmed(self._store, suspects, lambda one: at_work_on(str(one[0])), still)

    def unlisted(self, pids: Sequence[int]) -> list[Written]:
        """Of these posts: those that are not deleted and that their author's `updates:` lacks; with their authors, 0
        for none. Two round trips."""
        pipe = self._store.pipeline()
        for pid in pids:
            pipe.hmget(keys.post(pid), ["user_id", "deleted"])
        written = [
            (pid, parse_id(author or "") or 0)
            for pid, (author, deleted) in zip(pids, pipe.execute(), strict=True)
            if deleted is None
        ]
        for pid, author in written:
            pipe.zscore(keys.updates(author), str(pid))
        return [one for one, score in zip(written, pipe.execute(), strict=True) if score is None]

    def was_listed(self, pid: int, author: int) -> bool:
        """Whether a post stands in a timeline, or another does that its author's `updates:` lacks too. Not where there
        is no such author, to whom it could be given back. One round trip."""
        pipe = self._store.pipeline()
        pipe.hexists(keys.user(author), "username")
        pipe.lpos(keys.timeline(pid), str(pid))
        pipe.lpos(keys.home(author), str(pid))
        exists, *places = pipe.execute()
        return exists and (author in self._authors_with_losses or any(place is not None for place in places))

    @cached_property
    def _authors_with_losses(self) -> set[int]:
        """Whose posts stand in the global timeline and not among their own."""
        pipe = self._store.pipeline()
        for key in keys.timelines():
            pipe.lrange(key, 0, -1)
        listed = [pid for entries in pipe.execute() for entry in entries if (pid := parse_id(entry)) is not None]
        return {author for _, author in self._lost(self.unlisted(listed))}

    def _put_back(self, pid: int) -> None:
        """Deliver it again, which puts it into `updates:` and drops the homes that lack it."""
        job = Outbox(self._store).add(f"post:{pid}:{nonce()}")
        self._posts.redeliver(job.name)

    @cached_property
    def is_foreign(self) -> bool:
        return is_foreign(self._store)


def at_work_on(pid: str) -> set[str]:
    """The beginnings of the intents of whatever may be done to a post."""
    return {f"{kind}:{pid}" for kind in ("post", "fan", "del")}


def _is_time(text: str | None) -> bool:
    return text is not None and text.isdecimal()
