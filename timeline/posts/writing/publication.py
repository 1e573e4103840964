"""A new post: from the form to its commit."""

import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import NamedTuple

from accounts.users.deletion import is_deleted
from retwis_site.exceptions import LeaseEnded, StoreError
from retwis_site.jobs.outbox import Outbox, owned
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import nonce, stored_id, stored_ids
from timeline.posts.entities import (
    NO_LINKS,
    Links,
    NewPost,
    Published,
    TargetBlocked,
    TargetDeleted,
    TargetMissing,
    TargetRefused,
)
from timeline.posts.post_ids import post_ids
from timeline.posts.reading.records import LINKS, link_fields, links_from
from timeline.posts.writing.delivery import REMOVED_BY_CLEANUP, Delivery
from timeline.posts.writing.settling import PostState, mentioned

# ---- What a new post names: the post that it replies to and the post that it quotes.


MOST_ABOVE = 20  # posts above it that a reply names, so that its page finds them at once

_FIELDS = ("user_id", "deleted", "root", "above", "repost_of")


class Target(NamedTuple):
    """A post that another one names."""

    pid: int
    author: int
    deleted: bool
    root: int | None
    above: tuple[int, ...]
    repost_of: int | None


def links_of(store: Store, uid: int, new: NewPost) -> Links:
    """The links of a new post of `uid`. Two round trips, three where a repost is named; none for a post that names no
    other. Raises TargetMissing, TargetDeleted, TargetBlocked."""
    named = {pid for pid in (new.reply_to, new.quote) if pid is not None}
    if not named:
        return NO_LINKS
    found = _read(store, named)
    originals = _read(store, {target.repost_of for target in found.values() if target.repost_of is not None})
    found |= {pid: originals[target.repost_of] for pid, target in found.items() if target.repost_of in originals}
    if any(pid not in found or found[pid].repost_of is not None for pid in named):
        raise TargetMissing
    _check(store, uid, found.values())
    parent = found[new.reply_to] if new.reply_to is not None else None
    quoted = found[new.quote].pid if new.quote is not None else None
    if parent is None:
        return Links(quote=quoted)
    return Links(
        reply_to=parent.pid,
        root=parent.root or parent.pid,
        reply_to_user=parent.author,
        above=(parent.pid, *parent.above)[:MOST_ABOVE],
        quote=quoted,
    )


def _read(store: Store, pids: Collection[int]) -> dict[int, Target]:
    """The posts that exist, also deleted ones. One round trip; none without posts."""
    pipe = store.pipeline()
    asked = {pid: pipe.hmget(keys.post(pid), _FIELDS) for pid in pids}
    pipe.execute()
    found: dict[int, Target] = {}
    for pid, fields in asked.items():
        key = keys.post(pid)
        author, deleted, root, above, repost_of = fields.value
        uid = stored_id(key, author)
        if uid is not None:
            ancestors = tuple(stored_ids(key, (above or "").split()))
            found[pid] = Target(
                pid, uid, deleted is not None, stored_id(key, root), ancestors, stored_id(key, repost_of)
            )
    return found


def _check(store: Store, uid: int, targets: Iterable[Target]) -> None:
    """One round trip. A hash that its author's `updates:` does not list was never published."""
    pipe = store.pipeline()
    asked = [
        (
            target.deleted,
            pipe.zscore(keys.updates(target.author), str(target.pid)),
            pipe.hget(keys.user(target.author), "deleted"),
            [pipe.zscore(key(uid), str(target.author)) for key in (keys.blocked, keys.blocked_by)],
        )
        for target in targets
    ]
    pipe.execute()
    for deleted, listed, account_deleted, blocks in asked:
        if deleted or is_deleted(account_deleted.value):
            raise TargetDeleted
        if listed.value is None:
            raise TargetMissing
        if any(block.value is not None for block in blocks):
            raise TargetBlocked


# ---- Publication


class Publication:
    """Publishes posts."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ids = post_ids(store)

    def publish(self, uid: int, new: NewPost, token: str) -> Published:
        """Publish a post and deliver it. A second click on the form has the same `token` and gives the same post.

        Commit: the ZADD to the outbox. Ten round trips for any number of followers, and up to two more where lists are
        cut; one more for a text with an @name, four more for a reply or a quote, six for both, one more where a
        repost is named. Up to DELIVER_INLINE_LIMIT followers get the post here, more of them from a worker. A second
        click on a published or deleted post costs three round trips. It drops the author's home, because the first
        request may have died before that push. When the first request died before its commit, the second click finishes
        it, with the first text (HSETNX). Raises StoreError; TargetMissing, TargetDeleted and TargetBlocked for what it
        answers or quotes.
        """
        leased = owned(self._store)  # `cleanup` may take a hash without a job for an orphan later
        try:
            links = links_of(self._store, uid, new)
        except TargetRefused:
            published = self._already_published(uid, token)
            if published is None:
                raise
            return published
        links = links._replace(mentions=mentioned(self._store, new.body))
        new_pid = self._ids.take(uid)
        pid = self._claim_token(uid, token, new_pid)
        if pid != new_pid:
            self._ids.give_back(new_pid)
            published = self._published_before(uid, pid, token)
            if published is not None:
                return published
        pipe = leased.pipeline()
        fields = {"user_id": str(uid), "time": str(int(time.time())), **link_fields(links), "body": new.body}
        for name, value in fields.items():
            pipe.hsetnx(keys.post(pid), name, value)
        stored = pipe.hmget(keys.post(pid), ["body", *LINKS])
        followers = pipe.zcard(keys.followers(uid))
        pipe.execute()
        body, *stored_links = stored.value
        now = PostState(exists=True, links=links_from(keys.post(pid), stored_links), body=body or "")
        job = Outbox(leased).add(f"post:{pid}:{nonce()}")
        with suppress(LeaseEnded):
            Delivery(job.store).deliver(job, uid, pid, now, followers.value)
        return Published(pid, now.body)

    def _already_published(self, uid: int, token: str) -> Published | None:
        """The post of this token; None when the form was not sent before. Two round trips."""
        key = keys.idem(uid, token)
        pid = stored_id(key, self._store.get(key))
        return self._published_before(uid, pid, token) if pid is not None else None

    def _claim_token(self, uid: int, token: str, new_pid: int) -> int:
        """The id of the token's post: `new_pid`, or the id that an earlier click has given it."""
        key = keys.idem(uid, token)
        while not self._store.set_nx_ex(key, str(new_pid), keys.idem.lives):
            first_pid = self._store.get(key)
            if first_pid is None:  # it has just expired: claim it again
                continue
            pid = stored_id(key, first_pid)
            if pid is not None:
                return pid
            self._store.unlink(key)
        return new_pid

    def _published_before(self, uid: int, pid: int, token: str) -> Published | None:
        """A post that an earlier click has published, even if it is deleted by now; None when that click died before.

        Raises StoreError when the id has another author: `cleanup` removed the hash, and another post got the id. Then
        the token can be used again.
        """
        pipe = self._store.pipeline()
        pipe.hsetnx(keys.post(pid), "user_id", str(uid))
        fields = pipe.hmget(keys.post(pid), ["user_id", "deleted", "body"])
        score = pipe.zscore(keys.updates(uid), str(pid))
        pipe.unlink(keys.home(uid))
        pipe.execute()
        author, deleted, body = fields.value
        if author != str(uid):
            self._store.unlink(keys.idem(uid, token))
            raise StoreError(REMOVED_BY_CLEANUP)
        if deleted is not None:
            return Published(pid, "")
        return Published(pid, body or "") if score.value is not None else None
