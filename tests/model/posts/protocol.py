"""The protocol of posts: generators of commands. `timeline/posts/writing/` follows it.

Left out: the homes, the token of a form, the notices, likes and reposts. One post is settled at a time.
"""

from collections.abc import Iterator

from tests.model.core import Command, Steps
from tests.model.entities import OUTBOX
from tests.model.posts.entities import LINKS, NO_LINKS, Links, Look, Parent, Seen, mentioned
from tests.model.round_trips import RoundTrips


class Posting(RoundTrips):
    """The protocol. Each method is a generator of commands."""

    # ---- the verbs

    def publish(self, uid: int, pid: int, text: str, nonce: str, *, reply_to: int = 0, quote: int = 0) -> Steps:
        """Publish a post. Commit: the job. Nothing happens when it names a deleted post."""
        links = yield from self._links(reply_to, quote)
        if links is None:
            return
        named = [field for pair in zip(LINKS, links, strict=True) if pair[1] for field in pair]
        names = mentioned(text)
        mentions = ("mentions", names) if names else ()
        yield ("HSET", f"post:{pid}", "user_id", uid, *named, *mentions, "body", text)
        job = f"post:{pid}:{nonce}"
        yield ("ZADD", OUTBOX, job, 0)
        yield from self._deliver(uid, pid, Seen(True, links=links, mentions=names, body=text), nonce)
        yield ("ZREM", OUTBOX, job)

    def edit(self, uid: int, pid: int, text: str, now: int, nonce: str) -> Steps:
        """Give a post a new text at the second `now`. Commit: the HSETNX of the new text."""
        look = yield from self._look(pid, NO_LINKS)
        before = look.seen
        if not before.exists or before.deleted or before.text == text:
            return
        job = f"edit:{pid}:{uid}:{nonce}"
        yield ("ZADD", OUTBOX, job, 0)
        seen = yield from self._commit_text(pid, before, text, now)
        yield from self._tell(self._writes(pid, seen, before))
        look = yield from self._look(pid, seen.links)
        yield from self._agree(pid, seen, look, nonce)
        yield ("ZREM", OUTBOX, job)

    def delete(self, uid: int, pid: int, nonce: str) -> Steps:
        """Delete a post. Commit: the HSET of `deleted`."""
        author, deleted = yield ("HMGET", f"post:{pid}", "user_id", "deleted")
        if author != uid or deleted is not None:
            return
        job = f"del:{pid}:{uid}:{nonce}"
        yield ("ZADD", OUTBOX, job, 0)
        yield ("HSET", f"post:{pid}", "deleted", 1)
        yield from self._unlist(uid, pid, nonce)
        yield ("ZREM", OUTBOX, job)

    def leave(self, uid: int, nonce: str) -> Steps:
        """Delete an account. Commit: the HSET of `deleted`."""
        job = f"gone:{uid}:{nonce}"
        yield ("ZADD", OUTBOX, job, 0)
        yield ("HSET", f"user:{uid}", "deleted", 1)
        yield from self._remove_posts(uid, nonce)
        yield ("ZREM", OUTBOX, job)

    # ---- the worker

    def work(self, job: str, nonce: str) -> Steps:
        """Finish a job of any kind. `nonce` is new for each attempt."""
        kind, number, *_ = job.split(":")
        pid = int(number)
        if kind == "gone":
            yield from self._remove_posts(pid, nonce)
        elif kind == "post":
            (author,) = yield ("HMGET", f"post:{pid}", "user_id")
            if author is not None:
                yield from self._deliver(author, pid, None, nonce)
        elif kind == "del":
            author, deleted = yield ("HMGET", f"post:{pid}", "user_id", "deleted")
            if author is not None and deleted is None:
                yield ("HSET", f"post:{pid}", "deleted", 1)
            yield from self._unlist(int(job.split(":")[2]), pid, nonce)
        else:
            yield from self._settle(pid, None, nonce)
        yield ("ZREM", OUTBOX, job)

    def worker(self, owner: str, nonce: str) -> Steps:
        """A worker that claims the jobs whose nonces begin with `owner`."""
        jobs = yield ("ZRANGE", OUTBOX)
        for job, _ in jobs:
            if job.rpartition(":")[2].startswith(owner) and (yield ("ZSCORE", OUTBOX, job)) is not None:
                yield from self.work(job, nonce)

    # ---- their steps

    def _links(self, reply_to: int, quote: int) -> Steps:
        """The links of a new post; None when it names a post that does not stand."""
        named = [pid for pid in (reply_to, quote) if pid]
        found = yield from self._ask([("HMGET", f"post:{pid}", "user_id", "deleted", "root") for pid in named])
        if any(author is None or deleted is not None for author, deleted, _ in found):
            return None
        root = (found[0][2] or reply_to) if reply_to else None
        return Links(reply_to or None, root, quote or None)

    def _deliver(self, uid: int, pid: int, written: Seen | None, nonce: str) -> Steps:
        """`written`: None for a worker, which does not know the post."""
        yield from self._tell([("ZADD", f"updates:{uid}", pid, pid), *(self._writes(pid, written) if written else ())])
        look = yield from self._look(pid, written.links if written else NO_LINKS, account=uid)
        if look.seen.exists and not look.seen.deleted and look.account[0] is None:
            yield from self._agree(pid, written, look, nonce)
            return
        if look.seen.exists and not look.seen.deleted:
            yield ("HSET", f"post:{pid}", "deleted", 1)
        yield ("ZREM", f"updates:{uid}", pid)
        if look.seen.exists:
            yield from self._settle(pid, written, nonce)

    def _commit_text(self, pid: int, before: Seen, text: str, now: int) -> Steps:
        """Add the new text, and before it the first one, which is in the hash alone. A second has one text."""
        since = before.texts[-1][0] if before.texts else 0
        if not before.texts:
            yield ("HSETNX", f"edits:{pid}", 0, before.body)
        since = max(now, since + 1)
        while not (yield ("HSETNX", f"edits:{pid}", since, text)):
            since += 1
        texts = (*(before.texts or ((0, before.body),)), (since, text))
        return before._replace(mentions=mentioned(text), body=text, edited=since, texts=texts)

    def _unlist(self, uid: int, pid: int, nonce: str) -> Steps:
        yield ("ZREM", f"updates:{uid}", pid)
        yield from self._settle(pid, None, nonce)

    def _remove_posts(self, uid: int, nonce: str) -> Steps:
        while posts := (yield ("ZRANGE", f"updates:{uid}")):
            for pid, _ in posts:
                (author,) = yield ("HMGET", f"post:{pid}", "user_id")
                if author is not None:
                    yield from self._remove_post(pid, nonce)
                yield ("ZREM", f"updates:{uid}", pid)

    def _remove_post(self, pid: int, nonce: str) -> Steps:
        """Each post has a job. Without it, a worker that dies here may leave a count that no other process sets: the
        post may have left `updates:` meanwhile."""
        job = f"stone:{pid}:{nonce}x"
        yield ("ZADD", OUTBOX, job, 0)
        yield ("HSET", f"post:{pid}", "deleted", 1)
        yield from self._settle(pid, None, nonce)
        yield ("ZREM", OUTBOX, job)

    # ---- where a post stands

    def _settle(self, pid: int, written: Seen | None, nonce: str) -> Steps:
        """Make all that follows from a post match it. `written`: what was written of it before."""
        look = yield from self._look(pid, NO_LINKS)
        yield from self._agree(pid, written, look, nonce)

    def _agree(self, pid: int, written: Seen | None, look: Look, nonce: str) -> Steps:
        """As `_settle`, for a post that was just read; then for the tombstones above it. Each of them gets a job before
        the post below loses its own."""
        job = ""
        while True:
            look = yield from self._write_until_same(pid, written, look)
            yield from self._remove_texts(pid, look.seen)
            yield from self._count(look)
            wrong = look.parent is not None and look.parent.stands_wrong
            last, job = job, f"stone:{look.parent.pid}:{nonce}" if wrong else ""
            if job:
                yield from self._add_stone(job)
            if last:
                yield ("ZREM", OUTBOX, last)
            if not wrong:
                return
            pid, written = look.parent.pid, None
            look = yield from self._look(pid, NO_LINKS)

    def _add_stone(self, job: str) -> Steps:
        yield ("ZADD", OUTBOX, job, 0)

    def _write_until_same(self, pid: int, written: Seen | None, look: Look) -> Steps:
        """Write, and look again, until a look finds what was written."""
        last = written
        while look.seen != last:
            before, last = last, self._with_mentions(look.seen)
            named = look
            yield from self._tell(self._writes(pid, last, before))
            look = yield from self._look(pid, last.links)
            look = look._replace(parent=look.parent or named.parent, quotes=look.quotes or named.quotes)
        return look

    def _with_mentions(self, seen: Seen) -> Seen:
        return seen if seen.deleted or not seen.texts else seen._replace(mentions=mentioned(seen.text))

    def _look(self, pid: int, links: Links, account: int = 0) -> Steps:
        """Read all that decides about a post. One round trip."""
        asked = {
            "post": ("HMGET", f"post:{pid}", "user_id", "deleted", "mentions", "body", "edited", *LINKS),
            "replies": ("ZCARD", f"replies_to:{pid}"),
            "texts": ("HGETALL", f"edits:{pid}"),
        }
        if links.reply_to:
            parent = f"post:{links.reply_to}"
            asked["parent"] = ("HMGET", parent, "user_id", "deleted")
            asked["siblings"] = ("ZCARD", f"replies_to:{links.reply_to}")
            asked["expires"] = ("TTL", parent)
        if links.quote:
            asked["quoted"] = ("HMGET", f"post:{links.quote}", "user_id", "deleted")
            asked["quotes"] = ("ZCARD", f"quotes_of:{links.quote}")
        if account:
            asked["account"] = ("HMGET", f"user:{account}", "deleted")
        replies = yield from self._ask(asked.values())
        return self._looked(links, dict(zip(asked, replies, strict=True)))

    def _looked(self, links: Links, replies: dict) -> Look:
        author, deleted, mentions, body, edited, *named = replies["post"]
        seen = Seen(
            author is not None,
            deleted is not None,
            replies["replies"] > 0,
            Links(*named),
            mentions,
            body or "",
            edited,
            tuple(sorted(replies["texts"])),
        )
        parent = quotes = None
        if links.reply_to:
            author, deleted = replies["parent"]
            parent = Parent(links.reply_to, replies["siblings"], deleted is not None, bool(replies["expires"]))
            if author is None:  # its hash has expired
                parent = Parent(links.reply_to, 0, deleted=False, expires=False)
        if links.quote:
            quotes = (links.quote, replies["quotes"] if replies["quoted"][0] and not replies["quoted"][1] else 0)
        return Look(seen, parent, quotes, replies.get("account", (None,)))

    def _writes(self, pid: int, now: Seen, before: Seen | None = None) -> Iterator[Command]:
        """What follows from a post as it is now. One round trip."""
        stands_in = now.stands_in
        for key in sorted(stands_in):
            yield ("ZADD", key, pid, pid)
        for key in sorted((now.may_stand_in | (before.stands_in if before else set())) - stands_in):
            yield ("ZREM", key, pid)
        post = f"post:{pid}"
        if now.deleted:
            yield ("HDEL", post, "replies", "quotes")
            yield ("PERSIST" if now.has_replies else "EXPIRE", post)
        elif now.exists and now.texts:
            since, text = now.texts[-1]
            if now.mentions is None:
                yield ("HDEL", post, "mentions")
                yield ("HSET", post, "body", text, "edited", since)
            else:
                yield ("HSET", post, "body", text, "edited", since, "mentions", now.mentions)

    def _remove_texts(self, pid: int, seen: Seen) -> Steps:
        """The texts of a deleted post go last, because they lead to listings."""
        if seen.exists and not seen.deleted:
            return
        if not seen.exists:  # a late edit may have made the hash anew
            yield ("HDEL", f"post:{pid}", "body", "edited", "mentions")
        elif seen.body:
            yield ("HSET", f"post:{pid}", "body", "")
        if seen.texts:
            yield ("UNLINK", f"edits:{pid}")

    def _count(self, look: Look) -> Steps:
        if look.parent is not None:
            number = 0 if look.parent.deleted else look.parent.replies
            yield from self._write_count("replies", f"replies_to:{look.parent.pid}", look.parent.pid, number)
        if look.quotes is not None:
            pid, number = look.quotes
            yield from self._write_count("quotes", f"quotes_of:{pid}", pid, number)

    def _write_count(self, name: str, listing: str, pid: int, number: int) -> Steps:
        """Write a count; count again until it is the same. 0 is written by removing it."""
        post = f"post:{pid}"
        while True:
            yield ("HSET", post, name, number) if number else ("HDEL", post, name)
            size, (author, deleted) = yield from self._ask([("ZCARD", listing), ("HMGET", post, "user_id", "deleted")])
            counted = 0 if author is None or deleted is not None else size
            if counted == number:
                return
            number = counted
