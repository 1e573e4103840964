"""Settles posts: all that follows from the hash of a post, made to match it.

What decides is read, what follows is written, and then it is read again. While the two differ, it is written again. So
of two processes that change a post and its replies at once, the last to write has seen what the other one did. Every
step can run twice, and a job in the outbox leads here until all agrees.

- A published post stands in its listings, and its text is the newest one in `edits:`, whose names
  are its mentions.
- A deleted post with replies is a tombstone: it keeps its place in the thread, and its hash does not expire.
- A deleted post without replies stands nowhere, and its hash expires.
- A post of a person whom staff has hidden or suspended stands where it stood, and no number counts it there. But it
  counts as a reply while replies to it do: like a tombstone, it keeps its place in the thread.

The text of a deleted post is removed last, because it leads to listings.
"""

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from accounts.media.repository import Pictures
from accounts.users.repository import ask_owners, is_deleted
from retwis_site.jobs.outbox import Outbox, add_due, reconcile
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Repository, Result, Store, answer, answers, for_each
from retwis_site.store.ids import nonce, parse_id, stored_id, stored_time
from timeline.notices import Notice, NoticeKind, Welcome, ask_welcome, queue_notice, queue_remove
from timeline.posts.entities import NO_LINKS, DeletedBy, Links, Media
from timeline.posts.links import in_index, names_in, tags_in
from timeline.posts.reading.cached_posts import forget
from timeline.posts.reading.records import CHANGES, LINKS, Outline, Version, ask_versions, links_from, media_from
from timeline.posts.reading.visibility import muted_texts
from timeline.relations.muted_words import MutedWord, Where, ask_muted_words
from timeline.relations.relation import PostCount, ask_person, queue_counted, write_counts
from timeline.relations.relations import LIKE, REPOST

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
    the tag any more; `cleanup` removes the second."""
    for tag, spelling in tags_in(body).items():
        pipe.hsetnx(keys.tags(), tag, spelling)
        pipe.zadd(keys.tags_by_name(), {in_index(tag): 0})


# ---- A look: all that decides where some posts stand, and what they answer and quote, read in one round trip.


FOREVER = -1  # TTL of a key without an expiry


class PostState(NamedTuple):
    """All that decides where a post stands, and where it counts."""

    exists: bool = True  # False: no hash, or one without an author
    author: int = 0  # uid; 0: not known
    unseen: bool = False  # staff has hidden or suspended the author. Only a look that knows the author finds out
    deleted: bool = False
    has_replies: bool = False
    has_counted_replies: bool = False
    links: Links = NO_LINKS
    body: str = ""
    media: str = ""  # the field with its pictures
    edited: int | None = None  # unix seconds
    texts: tuple[Version, ...] = ()  # of an edited post; the newest last

    @property
    def text(self) -> str:
        """The text that the post must have: the newest one."""
        return self.texts[-1].text if self.texts else self.body

    @property
    def stands_in(self) -> set[str]:
        """The keys of the listings in which the post must stand."""
        return {one.key for one in self._listings}

    @property
    def counts_not_in(self) -> set[str]:
        """Of these, the keys of those whose numbers leave the post out."""
        if not (self.deleted or self.unseen):
            return set()
        return {one.key for one in self._listings if not (one.has_tombstones and self.has_counted_replies)}

    @property
    def _listings(self) -> list[Listing]:
        if not self.exists or (self.deleted and not self.has_replies):
            return []
        return [one for one in listings_of(self.links, self.text) if one.has_tombstones or not self.deleted]

    @property
    def may_stand_in(self) -> set[str]:
        """The keys of the listings of all its texts."""
        texts = {self.body, *(version.text for version in self.texts)}
        return {one.key for text in texts for one in listings_of(self.links, text)}


class Parent(NamedTuple):
    """A post that is answered."""

    replies: int
    counted: int  # of its replies
    deleted: bool
    expires: bool
    unseen: bool  # it is deleted, or staff has hidden or suspended its author
    is_left_out: bool  # of the numbers, where it is a reply itself

    @property
    def number(self) -> int:
        """What its number of replies must be."""
        return 0 if self.deleted else self.counted

    @property
    def stands_wrong(self) -> bool:
        """Whether its replies have come or gone since it was settled: it is deleted, or its author is unseen."""
        return (self.deleted and self.expires == bool(self.replies)) or (
            self.unseen and self.is_left_out == bool(self.counted)
        )


class PostLook(NamedTuple):
    """What was found about some posts, and about what they answer and quote."""

    seen: dict[int, PostState]
    parents: dict[int, Parent]
    quotes: dict[int, int]  # what the number of quotes of each quoted post must be


def ask_look(pipe: Pipe, known: Mapping[int, PostState]) -> Result[PostLook]:
    """`known`: what is known of each post before the look: the author and the links are never others."""
    seen = {pid: _ask_seen(pipe, pid, one.author) for pid, one in known.items()}
    links = [one.links for one in known.values()]
    answered = {one.reply_to: one for one in links if one.reply_to is not None}
    parents = {pid: _ask_parent(pipe, pid, reply) for pid, reply in answered.items()}
    quotes = {one.quote: QUOTES.ask(pipe, one.quote) for one in links if one.quote is not None}

    def read() -> PostLook:
        return PostLook(
            {pid: one.value for pid, one in seen.items()},
            {pid: one.value for pid, one in parents.items()},
            {pid: one.value for pid, one in quotes.items()},
        )

    return Result(read)


def written_by(author: int, pids: Iterable[int]) -> dict[int, PostState]:
    """What a look must know of posts of a user before."""
    return dict.fromkeys(pids, PostState(author=author))


def authors_of(store: Store, pids: Collection[int]) -> dict[int, PostState]:
    """The same of any posts. One round trip; none without posts."""
    authors = answers(store, lambda pipe, pid: pipe.hget(keys.post(pid), "user_id"), pids)
    return {pid: PostState(author=stored_id(keys.post(pid), author) or 0) for pid, author in authors.items()}


def _ask_seen(pipe: Pipe, pid: int, uid: int) -> Result[PostState]:
    key = keys.post(pid)
    person = ask_person(pipe, str(uid)) if uid else None
    fields = pipe.hmget(key, ("user_id", "deleted", "body", "media", "edited", *LINKS))
    replies, left_out = pipe.zcard(keys.replies_to(pid)), pipe.zcard(keys.unseen(keys.replies_to(pid)))
    texts = ask_versions(pipe, pid)

    def read() -> PostState:
        author, deleted, body, media, edited, *links = fields.value
        return PostState(
            exists=author is not None,
            author=stored_id(key, author) or 0,
            unseen=person is not None and person.value.unseen,
            deleted=deleted is not None,
            has_replies=replies.value > 0,
            has_counted_replies=replies.value > left_out.value,
            links=links_from(key, links),
            body=body or "",
            media=media or "",
            edited=None if edited is None else stored_time(key, edited),
            texts=texts.value,
        )

    return Result(read)


def _ask_parent(pipe: Pipe, pid: int, reply: Links) -> Result[Parent]:
    """`reply`: the links of a reply to it. It is in the thread itself, unless it is the first post."""
    fields = pipe.hmget(keys.post(pid), ["user_id", "deleted"])
    replies, seconds = pipe.zcard(keys.replies_to(pid)), pipe.ttl(keys.post(pid))
    uncounted = pipe.zcard(keys.unseen(keys.replies_to(pid)))
    person = ask_person(pipe, str(reply.reply_to_user)) if reply.reply_to_user else None
    is_reply = reply.root is not None and reply.root != pid
    left_out = pipe.zscore(keys.unseen(keys.thread(reply.thread(pid))), str(pid)) if is_reply else None

    def read() -> Parent:
        author, deleted = fields.value
        if author is None:  # its hash has expired
            return Parent(0, 0, deleted=False, expires=False, unseen=False, is_left_out=False)
        return Parent(
            replies.value,
            max(replies.value - uncounted.value, 0),
            deleted is not None,
            expires=seconds.value != FOREVER,
            unseen=left_out is not None and (deleted is not None or (person is not None and person.value.unseen)),
            is_left_out=left_out is not None and left_out.value is not None,
        )

    return Result(read)


# ---- Settling


DELETED_STAYS = 30 * 24 * 3600  # seconds that the page of a deleted post without replies answers 410


class Settling(Repository):
    """Makes all that follows from posts match them. Their jobs must be in the outbox."""

    def settle(self, pids: Collection[int], written: Mapping[int, PostState] | None = None) -> None:
        """Make all match for these posts. `written`: what was written of them before.

        Four round trips for all together; one more for deleted posts with a text, two more each where posts are
        answered and where posts are quoted; more while others change the same posts, and for tombstones above."""
        self.agree(written or {}, self._look(pids))

    def agree(self, written: Mapping[int, PostState], look: PostLook) -> None:
        """As `settle`, for posts that were just read (`look`). `written`: what was written of them before that. No
        round trip for a post that was written as it is and names no other."""
        settled = self._write_until_same(written, look)
        jobs: list[str] = []
        while True:
            self._remove_texts(settled.seen)
            self._count(settled)
            above = [pid for pid, parent in settled.parents.items() if parent.stands_wrong]
            below, jobs = jobs, [f"settle:{pid}:{nonce()}" for pid in above]
            Outbox(self._store).add_all(jobs)  # the first reply of these has come, or their last one has gone
            Outbox(self._store).all_done(below)
            if not above:
                return
            settled = self._write_until_same({}, self._look(above))

    def _look(self, pids: Collection[int]) -> PostLook:
        """How posts stand, whose authors are not known. Two round trips."""
        return answer(self._store, ask_look, authors_of(self._store, pids))

    def queue(self, pipe: Pipe, pid: int, now: PostState, before: PostState | None = None) -> None:
        """Write what follows from a post as it is now. `before`: what was written of it last."""
        stands_in = now.stands_in
        for key in stands_in:
            pipe.zadd(key, {str(pid): pid})
        left = (now.may_stand_in | (before.stands_in if before else set())) - stands_in
        for key in left:
            pipe.zrem(key, str(pid))
        left_out = now.counts_not_in
        for key in stands_in | left:
            queue_counted(pipe, key, str(pid), key not in left_out, pid)
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

    def _write_until_same(self, written: Mapping[int, PostState], look: PostLook) -> PostLook:
        settled = PostLook({**look.seen}, {**look.parents}, {**look.quotes})
        last = dict(written)

        def write(found: Mapping[int, PostState]) -> dict[int, PostState]:
            changed = {pid: self._with_mentions(now) for pid, now in found.items()}
            with self._store.pipeline() as pipe:
                for pid, now in changed.items():
                    self.queue(pipe, pid, now, last.get(pid))
            last.update(changed)
            return changed

        def look_again(changed: Mapping[int, PostState]) -> dict[int, PostState]:
            look = answer(self._store, ask_look, changed)
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
        """One round trip; none without deleted posts that have a text, and posts whose hash has expired. One more for
        each author of deleted posts with pictures, which lose their last link to these here."""
        pipe, released = self._store.pipeline(), defaultdict[int, set[str]](set)
        for pid, now in seen.items():
            if now.exists and not now.deleted:
                continue
            if not now.exists:  # a late edit may have made the hash anew
                for field in ("body", "edited", "mentions"):
                    pipe.hdel(keys.post(pid), field)
            elif now.body:
                pipe.hset(keys.post(pid), {"body": ""})
            if now.media:
                digests = media_from(keys.post(pid), now.media).digests
                released[now.author].update(digests)
                for field in ("media", *(f"{change}{digest}" for change in CHANGES for digest in digests)):
                    pipe.hdel(keys.post(pid), field)
            if now.texts:
                pipe.unlink(keys.edits(pid))
        for author, pictures in released.items():
            Pictures(self._store).release(author, pictures)
        pipe.execute()

    def _count(self, settled: PostLook) -> None:
        write_counts(self._store, REPLIES, {pid: parent.number for pid, parent in settled.parents.items()})
        write_counts(self._store, QUOTES, settled.quotes)
        for pid in (*settled.parents, *settled.quotes, *settled.seen):
            forget(pid)


def mark_deleted(store: Store, pids: Sequence[int], by: DeletedBy = DeletedBy.AUTHOR) -> None:
    """The commit of a deletion. What follows is written by `Settling.settle`, which also removes the texts. One round
    trip."""
    now = int(time.time())
    with store.pipeline() as pipe:
        for pid in pids:
            pipe.hset(keys.post(pid), {"deleted": f"{now}{by.mark}"})
            forget(pid)


# ---- What is under way: doctor's checks leave it out, by `AtWork`.


def posts_at_work(store: Store, under_way: Collection[str]) -> set[int]:
    """The posts that jobs are at work on, also for an edge to them, and those that these posts answer or quote. One
    round trip."""
    jobs = [job.split(":") for job in under_way]
    of_posts = {job.partition(":")[0] for job in keys.post.jobs.split()}
    edges = [job[2] for job in jobs if job[0] in (LIKE.kind, REPOST.kind) and len(job) == 3]
    pids = {pid for job in jobs if len(job) == 2 and (pid := parse_id(job[1])) and job[0] in of_posts}
    named = answers(store, lambda pipe, pid: pipe.hmget(keys.post(pid), ["reply_to", "quote"]), pids)
    others = [stored_id(keys.post(pid), text) for pid, fields in named.items() for text in fields]
    return {pid for text in edges if (pid := parse_id(text))} | pids | {other for other in others if other is not None}


def tags_at_work(store: Store, under_way: Collection[str]) -> set[str]:
    """The tags in the texts of these posts, folded. Three round trips."""
    pids = posts_at_work(store, under_way)
    seen = answer(store, ask_look, authors_of(store, pids)).seen.values()
    return {tag for post in seen for text in (post.body, *(one.text for one in post.texts)) for tag in tags_in(text)}


# ---- A new or changed post is left to a worker, which writes it into the index of the search.


def leave_to_the_index(pipe: Pipe, pid: int) -> None:
    """Leave the job `index:<pid>:<nonce>` to a worker, due at once. It stands in the same key as the other jobs of the
    post. Each job has a name of its own: a worker that has read the text before an edit does not remove the job of this
    edit."""
    add_due(pipe, f"index:{pid}:{nonce()}")


# ---- The notices that a post causes: to the author answered, to the author quoted, and to the people mentioned.


Concerned = tuple[bool, dict[int, Welcome]]  # whether a post stands, and who wants to know of it


class PostNotices(Repository):
    """The notices of posts. It runs under the job of the post: a process that dies leaves the rest to a worker."""

    def write(self, posts: Iterable[Outline]) -> None:
        """Tell everyone whom new or edited posts concern. None without such people, else three round trips for all
        together; one more with a quote, two more each time that what decides changes meanwhile.

        Looks again after it has written. A deletion or a block commits first and removes notices afterwards: one of
        the two sees the other."""
        causes = {post.pid: post for post in posts}
        authors = self._authors(causes.values())
        notices = {pid: some for pid, post in causes.items() if (some := self._notices(post, authors))}

        def look(found: Iterable[int]) -> dict[int, Concerned]:
            return answers(self._store, lambda pipe, pid: _ask_concerned(pipe, causes[pid], notices[pid]), found)

        def write(seen: Mapping[int, Concerned]) -> Mapping[int, Concerned]:
            with self._store.pipeline() as pipe:
                for pid, (stands, welcome) in seen.items():
                    for owner, notice in notices[pid].items():
                        queue_notice(pipe, owner, notice, causes[pid].time if stands else None, welcome[owner])
            return seen

        reconcile(look(notices), look, write)

    def remove(self, posts: Collection[Outline]) -> None:
        """Take back all notices of deleted posts. One round trip; one more with a quote."""
        authors = self._authors(posts)
        notices = [one for post in posts for one in self._notices(post, authors).items()]
        for_each(self._store, lambda pipe, one: queue_remove(pipe, *one), notices)

    def remove_mentions(self, post: Outline, before: tuple[int, ...]) -> None:
        """What an edit takes back: the notices of people who were mentioned `before` and are no longer. One round trip;
        none without any. It comes before the new mentions are in the hash: until then, a deletion finds these people
        there."""
        left = tuple(uid for uid in before if uid not in post.mentions)
        self.remove([post._replace(links=Links(mentions=left))])

    def write_mentions(self, post: Outline, before: tuple[int, ...]) -> None:
        """What an edit adds: people who are mentioned now and were not before are told. Round trips as for `write`, and
        one more with a quote; none without such people."""
        new = {*post.mentions} - {*before}
        if not new:
            return
        others = {post.links.reply_to_user, *self._authors([post]).values()}
        mentions = tuple(uid for uid in post.mentions if uid in new - others)
        self.write([post._replace(links=Links(mentions=mentions))])

    def _notices(self, post: Outline, authors: Mapping[int, int]) -> dict[int, Notice]:
        """The notices of a post by owner: one each, the first of BY_POSTS. `authors`: of quoted posts."""
        kinds = dict.fromkeys(post.mentions, NoticeKind.MENTION)
        if quoted := authors.get(post.links.quote or 0):
            kinds[quoted] = NoticeKind.QUOTE
        if post.links.reply_to_user:
            kinds[post.links.reply_to_user] = NoticeKind.REPLY
        kinds.pop(post.uid, None)
        return {owner: Notice(kind, post.pid, post.uid) for owner, kind in kinds.items()}

    def _authors(self, posts: Collection[Outline]) -> dict[int, int]:
        """The authors of the quoted posts, without those that are gone. One round trip; none without a quote."""
        known = authors_of(self._store, [post.links.quote for post in posts if post.links.quote])
        return {pid: one.author for pid, one in known.items() if one.author}


def _ask_concerned(pipe: Pipe, post: Outline, notices: Mapping[int, Notice]) -> Result[Concerned]:
    """Whether a post stands, and who wants to know of it."""
    fields = pipe.hmget(keys.post(post.pid), ["user_id", "deleted", "body", "media"])
    account_deleted = pipe.hget(keys.user(post.uid), "deleted")
    asked = {owner: ask_welcome(pipe, owner, notice, post.pid) for owner, notice in notices.items()}
    muted = {owner: ask_muted_words(pipe, owner) for owner in notices}

    def read() -> Concerned:
        author, deleted, body, stored = fields.value
        media = media_from(keys.post(post.pid), stored)
        stands = author is not None and deleted is None and not is_deleted(account_deleted.value)
        return stands, {
            owner: welcome.value._replace(
                allowed=welcome.value.allowed and not _hides(muted[owner].value, body or "", media)
            )
            for owner, welcome in asked.items()
        }

    return Result(read)


def _hides(muted: Iterable[MutedWord], body: str, media: Media) -> bool:
    """Whether words that someone mutes hide a post with these texts: then the list of notices leaves it out, so it must
    not count as new either."""
    return muted_texts(muted, Where.EVERYWHERE).hide(body, media)
