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

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from accounts.users.deletion import is_deleted
from accounts.users.repository import ask_owners
from retwis_site.jobs.outbox import Claim, Outbox, job_id, reconcile
from retwis_site.store import keys
from retwis_site.store.chunks import answer, answers
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import nonce, stored_id, stored_time
from retwis_site.store.replies import Result
from timeline.notices.inbox import Kind, Notice, Welcome, ask_welcome, queue_notice, queue_remove
from timeline.posts.entities import NO_LINKS, DeletedBy, Links
from timeline.posts.links import in_index, names_in, tags_in
from timeline.posts.reading.cached_posts import forget
from timeline.posts.reading.records import LINKS, Version, ask_versions, links_from
from timeline.posts.reading.visibility import muted_texts
from timeline.relations.muted_words import MutedWord, Where, ask_muted_words
from timeline.relations.relation import Counts, PostCount

# ---- The people whom a text mentions. Their names are looked up once, when the text is written.


def mentioned(store: Store, body: str) -> tuple[int, ...] | None:
    """The uids of the users whose names a text has, in its order; None for a text without an @name. At most MOST_LINKS.
    One round trip; none for a text without an @name."""
    names = names_in(body)
    if not names:
        return None
    return tuple(dict.fromkeys(answer(store, ask_owners, names).values()))


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
        self._outbox.all_done(jobs)
        return new


def mark_deleted(store: Store, pids: Sequence[int], by: DeletedBy = DeletedBy.AUTHOR) -> None:
    """The commit of a deletion. What follows is written by `Settling.settle`, which also removes the texts. One round
    trip."""
    now = int(time.time())
    pipe = store.pipeline()
    for pid in pids:
        pipe.hset(keys.post(pid), {"deleted": f"{now}{by.mark}"})
        forget(pid)
    pipe.execute()


# ---- A new or changed post is left to a worker, which writes it into the index of the search.


def leave_to_the_index(pipe: Pipe, pid: int) -> None:
    """Leave the job `index:<pid>:<nonce>` to a worker, due at once. It stands in the same key as the other jobs of the
    post. Each job has a name of its own: a worker that has read the text before an edit does not remove the job of this
    edit."""
    job = f"index:{pid}:{nonce()}"
    pipe.zadd(keys.outbox(job), {job: int(time.time())})


# ---- The notices that a post causes: to the author answered, to the author quoted, and to the people mentioned.


class Cause(NamedTuple):
    """What of a post decides whom it concerns."""

    pid: int
    author: int
    time: int  # unix seconds
    answered: int | None = None  # uid of the author whom it answers
    quote: int | None = None  # the quoted post
    mentions: tuple[int, ...] = ()  # uids


def cause_of(pid: int, uid: int, links: Links, when: int) -> Cause:
    """What of a post of user `uid` decides whom it concerns. `when`: the date of the notices, in unix seconds."""
    return Cause(pid, uid, when, links.reply_to_user, links.quote, links.mentions or ())


Concerned = tuple[bool, dict[int, Welcome]]  # whether a post stands, and who wants to know of it


class PostNotices:
    """The notices of posts. It runs under the job of the post: a process that dies leaves the rest to a worker."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def write(self, post: Cause) -> None:
        """Tell everyone whom a new or edited post concerns. None without such people, else three round trips; one more
        with a quote, two more each time that what decides changes meanwhile.

        Looks again after it has written. A deletion or a block commits first and removes notices afterwards: one of
        the two sees the other."""
        notices = self._notices(post, self._authors([post]))
        if not notices:
            return

        def look(written: object) -> dict[int, Concerned]:
            return {post.pid: self._look(post, notices)}

        def write(seen: Mapping[int, Concerned]) -> Mapping[int, Concerned]:
            self._queue(post, notices, seen[post.pid])
            return seen

        reconcile(look(None), look, write)

    def remove(self, posts: Collection[Cause]) -> None:
        """Take back all notices of deleted posts. One round trip; one more with a quote."""
        authors = self._authors(posts)
        pipe = self._store.pipeline()
        for post in posts:
            for owner, notice in self._notices(post, authors).items():
                queue_remove(pipe, owner, notice)
        pipe.execute()

    def write_mentions(self, post: Cause, before: tuple[int, ...]) -> None:
        """What an edit changes: people who are mentioned now and were not before are told, the notices of those who are
        no longer mentioned go. Round trips as for `write`, and one more."""
        others = {post.answered, *self._authors([post]).values()}
        left = [uid for uid in before if uid not in {*post.mentions, *others}]
        self.remove([post._replace(answered=None, quote=None, mentions=tuple(left))])
        new = tuple(uid for uid in post.mentions if uid not in {*before, *others})
        self.write(post._replace(answered=None, quote=None, mentions=new))

    def _notices(self, post: Cause, authors: Mapping[int, int]) -> dict[int, Notice]:
        """The notices of a post by owner: one each, the first of BY_POSTS. `authors`: of quoted posts."""
        kinds = dict.fromkeys(post.mentions, Kind.MENTION)
        if quoted := authors.get(post.quote or 0):
            kinds[quoted] = Kind.QUOTE
        if post.answered:
            kinds[post.answered] = Kind.REPLY
        kinds.pop(post.author, None)
        return {owner: Notice(kind, post.pid, post.author) for owner, kind in kinds.items()}

    def _authors(self, posts: Collection[Cause]) -> dict[int, int]:
        """The authors of the quoted posts, without those that are gone. One round trip; none without a quote."""
        quotes = [post.quote for post in posts if post.quote]
        stored = answers(self._store, lambda pipe, pid: pipe.hget(keys.post(pid), "user_id"), quotes)
        authors = {pid: stored_id(keys.post(pid), author) for pid, author in stored.items()}
        return {pid: author for pid, author in authors.items() if author}

    def _look(self, post: Cause, notices: Mapping[int, Notice]) -> Concerned:
        """Whether the post stands, and who wants to know of it. One round trip."""
        pipe = self._store.pipeline()
        fields = pipe.hmget(keys.post(post.pid), ["user_id", "deleted", "body"])
        account_deleted = pipe.hget(keys.user(post.author), "deleted")
        asked = {owner: ask_welcome(pipe, owner, notice, post.pid) for owner, notice in notices.items()}
        muted = {owner: ask_muted_words(pipe, owner) for owner in notices}
        pipe.execute()
        author, deleted, body = fields.value
        stands = author is not None and deleted is None and not is_deleted(account_deleted.value)
        return stands, {
            owner: welcome.value._replace(allowed=welcome.value.allowed and not _hides(muted[owner].value, body or ""))
            for owner, welcome in asked.items()
        }

    def _queue(self, post: Cause, notices: Mapping[int, Notice], seen: Concerned) -> None:
        """Write what a look has found. One round trip."""
        stands, welcome = seen
        pipe = self._store.pipeline()
        for owner, notice in notices.items():
            queue_notice(pipe, owner, notice, post.time if stands else None, welcome[owner])
        pipe.execute()


def _hides(muted: Iterable[MutedWord], body: str) -> bool:
    """Whether words that someone mutes hide a post with this text: then the list of notices leaves it out, so it must
    not count as new either."""
    return muted_texts(muted, Where.EVERYWHERE).hide(body)
