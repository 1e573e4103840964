"""Settles posts: all that follows from the hash of a post, made to match it.

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

from accounts.users.repository import ask_owners
from retwis_site.jobs.outbox import Claim, Outbox, job_id, reconcile
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import nonce, stored_time
from retwis_site.store.replies import Result
from timeline.posts.entities import NO_LINKS, Links
from timeline.posts.links import in_index, names_in, tags_in
from timeline.posts.reading.cached_posts import forget
from timeline.posts.reading.records import LINKS, Version, ask_versions, links_from
from timeline.relations.protocol.relation import Counts, PostCount

# ---- The people whom a text mentions. Their names are looked up once, when the text is written.


def mentioned(store: Store, body: str) -> tuple[int, ...] | None:
    """The uids of the users whose names a text has, in its order; None for a text without an @name. At most MOST_LINKS.
    One round trip; none for a text without an @name."""
    names = names_in(body)
    if not names:
        return None
    pipe = store.pipeline()
    owners = ask_owners(pipe, names)
    pipe.execute()
    return tuple(dict.fromkeys(owners.value.values()))


# ---- The sorted sets in which a post stands because of what its hash says: the thread, the replies to a post, its
# quotes, the posts with a tag.
#
# The hash is the truth, and a listing follows from it (`settling.py`). Member and score of each entry are the post's
# id.


REPLIES = PostCount(keys.replies_to)
QUOTES = PostCount(keys.quotes_of)


class Listing(NamedTuple):
    """A sorted set in which a post stands. `has_tombstones`: also when it is deleted, as long as it has replies."""

    key: str
    has_tombstones: bool = False


def listings_of(links: Links, body: str) -> list[Listing]:
    """The listings of a post with these links and this text. An edit moves the post from the
    sets of the old text to those of the new one."""
    listings = []
    if links.root is not None:
        listings.append(Listing(keys.thread(links.root), has_tombstones=True))
    if links.reply_to is not None:
        listings.append(Listing(keys.replies_to(links.reply_to), has_tombstones=True))
    if links.quote is not None:
        listings.append(Listing(keys.quotes_of(links.quote)))
    listings += [Listing(keys.tag(tag)) for tag in tags_in(body)]
    return listings


def queue_spellings(pipe: Pipe, body: str) -> None:
    """Write how the tags of a text were first spelled, and by what beginning they are found. Both stay when no post has
    the tag any more."""
    for tag, spelling in tags_in(body).items():
        pipe.hsetnx(keys.tags(), tag, spelling)
        pipe.zadd(keys.tags_by_name(), {in_index(tag): 0})


# ---- A look: all that decides where some posts stand, and what they answer and quote, read in one round trip.


FOREVER = -1  # TTL of a key without an expiry


class PostState(NamedTuple):
    """All that decides where a post stands."""

    exists: bool  # False: no hash, or one without an author
    deleted: bool = False
    has_replies: bool = False
    links: Links = NO_LINKS
    body: str = ""
    edited: int | None = None  # unix seconds
    texts: tuple[Version, ...] = ()  # of an edited post; the newest last

    @property
    def text(self) -> str:
        """The text that the post must have: the newest one."""
        return self.texts[-1].text if self.texts else self.body

    @property
    def stands_in(self) -> set[str]:
        """The keys of the listings in which the post must stand."""
        if not self.exists or (self.deleted and not self.has_replies):
            return set()
        listings = listings_of(self.links, self.text)
        return {one.key for one in listings if one.has_tombstones or not self.deleted}

    @property
    def may_stand_in(self) -> set[str]:
        """The keys of the listings of all its texts."""
        texts = {self.body, *(version.text for version in self.texts)}
        return {one.key for text in texts for one in listings_of(self.links, text)}


class Parent(NamedTuple):
    """A post that is answered."""

    replies: int
    deleted: bool
    expires: bool

    @property
    def number(self) -> int:
        """What its number of replies must be."""
        return 0 if self.deleted else self.replies

    @property
    def stands_wrong(self) -> bool:
        """Whether it is deleted, and its replies have come or gone since it was settled."""
        return self.deleted and self.expires == bool(self.replies)


class PostLook:
    """Queues its commands. After `execute()` it has `seen`, `parents` and `quotes`."""

    def __init__(self, pipe: Pipe, links: Mapping[int, Links]) -> None:
        """`links`: those of each post, as far as they are known before the look."""
        self._seen = {pid: _ask_seen(pipe, pid) for pid in links}
        answered = {one.reply_to for one in links.values() if one.reply_to is not None}
        quoted = {one.quote for one in links.values() if one.quote is not None}
        self._parents = {pid: _ask_parent(pipe, pid) for pid in answered}
        self._quotes = {pid: QUOTES.ask(pipe, pid) for pid in quoted}

    @property
    def seen(self) -> dict[int, PostState]:
        return {pid: one.value for pid, one in self._seen.items()}

    @property
    def parents(self) -> dict[int, Parent]:
        return {pid: one.value for pid, one in self._parents.items()}

    @property
    def quotes(self) -> dict[int, int]:
        """What the number of quotes of each quoted post must be."""
        return {pid: one.value for pid, one in self._quotes.items()}


def _ask_seen(pipe: Pipe, pid: int) -> Result[PostState]:
    key = keys.post(pid)
    fields = pipe.hmget(key, ("user_id", "deleted", "body", "edited", *LINKS))
    replies = pipe.zcard(keys.replies_to(pid))
    texts = ask_versions(pipe, pid)

    def read() -> PostState:
        author, deleted, body, edited, *links = fields.value
        return PostState(
            exists=author is not None,
            deleted=deleted is not None,
            has_replies=replies.value > 0,
            links=links_from(key, links),
            body=body or "",
            edited=None if edited is None else stored_time(key, edited),
            texts=texts.value,
        )

    return Result(read)


def _ask_parent(pipe: Pipe, pid: int) -> Result[Parent]:
    fields = pipe.hmget(keys.post(pid), ["user_id", "deleted"])
    replies, seconds = pipe.zcard(keys.replies_to(pid)), pipe.ttl(keys.post(pid))

    def read() -> Parent:
        author, deleted = fields.value
        if author is None:  # its hash has expired
            return Parent(0, deleted=False, expires=False)
        return Parent(replies.value, deleted is not None, seconds.value != FOREVER)

    return Result(read)


# ---- Settling


DELETED_STAYS = 30 * 24 * 3600  # seconds that the page of a deleted post without replies answers 410


class Settled(NamedTuple):
    """Posts whose listings agree with them, and what they answer and quote."""

    seen: dict[int, PostState]
    parents: dict[int, Parent]
    quotes: dict[int, int]


class Settling:
    """Makes all that follows from posts match them. Their jobs must be in the outbox."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outbox = Outbox(store)

    def settle(self, pids: Collection[int], written: Mapping[int, PostState] | None = None) -> None:
        """Make all match for these posts. `written`: what was written of them before.

        Three round trips for all together; one more for deleted posts with a text, two more each where posts are
        answered and where posts are quoted; more while others change the same posts, and for tombstones above."""
        pipe = self._store.pipeline()
        look = PostLook(pipe, dict.fromkeys(pids, NO_LINKS))
        pipe.execute()
        self.agree(written or {}, look)

    def agree(self, written: Mapping[int, PostState], look: PostLook) -> None:
        """As `settle`, for posts that were just read (`look`). `written`: what was written of them before that. No
        round trip for a post that was written as it is and names no other."""
        settled = self._write_until_same(written, look)
        jobs: list[str] = []
        while True:
            self._remove_texts(settled.seen)
            self._count(settled)
            above = [pid for pid, parent in settled.parents.items() if parent.stands_wrong]
            jobs = self._replace(jobs, [f"settle:{pid}:{nonce()}" for pid in above])
            if not above:
                return
            pipe = self._store.pipeline()
            look = PostLook(pipe, dict.fromkeys(above, NO_LINKS))
            pipe.execute()
            settled = self._write_until_same({}, look)

    def finish(self, claim: Claim) -> None:
        """The job `settle:<pid>:<nonce>`: the first reply to a deleted post has come, or the last one has gone."""
        self.settle([job_id(claim.name, 1)])
        claim.outbox.done(claim.name)

    def queue(self, pipe: Pipe, pid: int, now: PostState, before: PostState | None = None) -> None:
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

    def _write_until_same(self, written: Mapping[int, PostState], look: PostLook) -> Settled:
        settled = Settled(look.seen, look.parents, look.quotes)
        last = dict(written)

        def write(found: Mapping[int, PostState]) -> dict[int, PostState]:
            changed = {pid: self._with_mentions(now) for pid, now in found.items()}
            pipe = self._store.pipeline()
            for pid, now in changed.items():
                self.queue(pipe, pid, now, last.get(pid))
            pipe.execute()
            last.update(changed)
            return changed

        def look_again(changed: Mapping[int, PostState]) -> dict[int, PostState]:
            pipe = self._store.pipeline()
            look = PostLook(pipe, {pid: now.links for pid, now in changed.items()})
            pipe.execute()
            settled.seen.update(look.seen)
            settled.parents.update(look.parents)
            settled.quotes.update(look.quotes)
            return look.seen

        reconcile({pid: now for pid, now in look.seen.items() if now != last.get(pid)}, look_again, write)
        return settled

    def _with_mentions(self, now: PostState) -> PostState:
        """The post with the mentions of its newest text. One round trip for an edited post whose text has an @name,
        else none."""
        if now.deleted or not now.texts:
            return now
        return now._replace(links=now.links._replace(mentions=mentioned(self._store, now.text)))

    def _remove_texts(self, seen: Mapping[int, PostState]) -> None:
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
