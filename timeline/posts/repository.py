"""Posts in Redis: publish, edit, delete, and read many at once.

`tests/protocols/test_conversations.py` interleaves these with each other and with crashes. What follows from a post is
in `settling.py`; how it comes to its readers, in `delivery.py`.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial

from django.conf import settings

from accounts.community.log import Act, Log, read_act
from accounts.media.repository import Mark, Pictures
from accounts.users.repository import ask_user
from retwis_site.exceptions import IdInUse, LeaseEnded, StoreError
from retwis_site.jobs.outbox import Claim, Outbox, job_id, owned
from retwis_site.store import keys
from retwis_site.store.chunks import AT_ONCE, emptied, remove_members
from retwis_site.store.client import Repository, Scored, Store, answer, answers, for_each
from retwis_site.store.ids import nonce, stored_id, stored_ids, stored_time
from retwis_site.store.kinds import OfId
from timeline.posts import settling
from timeline.posts.delivery import REMOVED_BY_CLEANUP, Delivery
from timeline.posts.entities import (
    NO_LINKS,
    DeletedBy,
    Links,
    NewPost,
    NoSuchPost,
    Picture,
    PostDeleted,
    Published,
    TargetBlocked,
    TargetDeleted,
    TargetMissing,
    TargetRefused,
    TooManyEdits,
)
from timeline.posts.links import tags_in
from timeline.posts.pictures import describe, require_descriptions, with_sizes
from timeline.posts.post_ids import CounterIds, SnowflakeIds, post_ids
from timeline.posts.reading import records
from timeline.relations.upkeep import ask_edges_to_post, remove_edges_to_posts

# ---- What a new post names: the post that it replies to and the post that it quotes.


MOST_ABOVE = 20  # posts above it that a reply names, so that its page finds them at once


def links_of(store: Store, uid: int, new: NewPost) -> Links:
    """The links of a new post of `uid`. Two round trips, three where a repost is named; none for a post that names no
    other. Raises TargetMissing, TargetDeleted, TargetBlocked."""
    named = {pid for pid in (new.reply_to, new.quote) if pid is not None}
    if not named:
        return NO_LINKS
    found = records.outlines(store, named)
    reposted = {pid: one.links.repost_of for pid, one in found.items() if one.links.repost_of is not None}
    originals = records.outlines(store, {*reposted.values()})
    found |= {pid: originals[of] for pid, of in reposted.items() if of in originals}
    if any(pid not in found or found[pid].links.repost_of is not None for pid in named):
        raise TargetMissing
    _check(store, uid, found.values())
    links = NO_LINKS
    if new.reply_to is not None:
        parent = found[new.reply_to]
        links = links_of_reply(parent.pid, parent.uid, parent.links)
    return links if new.quote is None else links._replace(quote=found[new.quote].pid)


def links_of_reply(to: int, author: int, its: Links) -> Links:
    """The links of a reply to the post `to` of this author; `its`: the links of that post."""
    return Links(reply_to=to, root=its.thread(to), reply_to_user=author, above=(to, *its.above)[:MOST_ABOVE])


def _check(store: Store, uid: int, targets: Iterable[records.Outline]) -> None:
    """One round trip. A hash that its author's `updates:` does not list was never published. A suspension is as a
    deletion of the account."""
    with store.pipeline() as pipe:
        asked = [
            (
                target.deleted,
                pipe.zscore(keys.updates(target.uid), str(target.pid)),
                ask_user(pipe, target.uid),
                [pipe.zscore(key(uid), str(target.uid)) for key in (keys.blocked, keys.blocked_by)],
            )
            for target in targets
        ]
    for deleted, listed, author, blocks in asked:
        if deleted is not None or author.value is None:
            raise TargetDeleted
        if listed.value is None:
            raise TargetMissing
        if any(block.value is not None for block in blocks):
            raise TargetBlocked


# ---- Posts


MOST_TEXTS = 100  # of a post, the first one included
SECOND_CLICK = 60  # seconds, at most, from a click on a form to the next one


class Posts(Repository):
    """All posts."""

    def read(self, pids: Collection[int]) -> list[records.Record]:
        """Those of these posts that exist and are not deleted, in their order. One round trip."""
        return [post for post in answers(self._store, records.ask_post, pids).values() if post is not None]

    def published(self, pids: Collection[int]) -> list[records.Record]:
        """Those of these posts that exist, are no reposts, and stand in `updates:` of their author. Two round trips;
        none without ids."""
        posts = [post for post in self.read(pids) if post.links.repost_of is None]
        scores = answers(self._store, lambda pipe, post: pipe.zscore(keys.updates(post.uid), str(post.pid)), posts)
        return [post for post, score in scores.items() if score is not None]

    # ---- publish

    def publish(self, uid: int, new: NewPost, token: str) -> Published:
        """Publish a post and deliver it. A second click on the form has the same `token` and gives the same post.

        Commit: the ZADD to the outbox. Ten round trips for any number of followers, and up to two more where lists are
        cut; one more for a text with an @name, four more for a reply or a quote, six for both, one more where a
        repost is named; three more with pictures, and those of `PostNotices.write`. Up to DELIVER_INLINE_LIMIT
        followers get the post here, more of them from a worker. A second click on a published or deleted post costs
        four round trips, and those for what it names. It drops the author's home, because the first request may have
        died before that push. When the first request died before its commit, the second click finishes it, with the
        first text (HSETNX). Raises StoreError; TargetMissing, TargetDeleted and TargetBlocked for what it answers or
        quotes; PictureGone for a picture that its author has not uploaded, or that was removed.
        """
        leased = owned(self._store)  # `cleanup` may take a hash without a job for an orphan later
        try:
            links = links_of(self._store, uid, new)
        except TargetRefused:
            published = self.already_published(uid, token)
            if published is None:
                raise
            return published
        links = links._replace(mentions=settling.mentioned(self._store, new.body))
        ids = post_ids(self._store)
        new_pid = ids.take(uid)
        pid = self._claim_token(uid, token, ids, new_pid, new.body)
        if pid != new_pid:
            ids.give_back(new_pid)
            published = self._published_before(uid, pid, token)
            if published is not None:
                return published
        media = with_sizes(new.media, Pictures(leased).mark(Mark("post", uid, pid), new.media.digests))
        post = records.Record(pid, uid, int(time.time()), new.body, links, language=new.language, media=media)
        with leased.pipeline() as pipe:
            for name, value in records.stored_as(post).items():
                pipe.hsetnx(keys.post(pid), name, value)
            stored = pipe.hmget(keys.post(pid), ["body", "media", *records.LINKS])
            followers = pipe.zcard(keys.followers(uid))
        body, stored_media, *stored_links = stored.value
        links = records.links_from(keys.post(pid), stored_links)
        now = settling.PostState(author=uid, links=links, body=body or "", media=stored_media or "")
        job = Outbox(leased).add(f"post:{pid}:{nonce()}")
        with suppress(LeaseEnded):
            Pictures(job.store).shown(uid, media.digests)
            Delivery(job.store).deliver(job, uid, pid, now, followers.value)
        return Published(pid, now.body)

    def already_published(self, uid: int, token: str) -> Published | None:
        """The post of this token; None when the form was not sent before. Two round trips."""
        key = keys.idem(uid, token)
        pid = stored_id(key, self._store.get(key))
        return self._published_before(uid, pid, token) if pid is not None else None

    def _claim_token(self, uid: int, token: str, ids: CounterIds | SnowflakeIds, new_pid: int, body: str) -> int:
        """The id of the token's post: `new_pid`, or the id that an earlier click has given it. Raises IdInUse."""
        key = keys.idem(uid, token)
        while True:
            with self._store.pipeline() as pipe:
                is_first = pipe.set_nx_ex(key, str(new_pid), keys.idem.lives)
                is_unused = ids.ask_unused(pipe, new_pid)
            if is_first.value and (is_unused.value or self._has_begun(uid, new_pid, body)):
                return new_pid
            if is_first.value:
                self._store.unlink(key)
                raise IdInUse(keys.next_post_id(), new_pid)
            first_pid = self._store.get(key)
            if first_pid is None:  # it has just expired: claim it again
                continue
            pid = stored_id(key, first_pid)
            if pid is not None:
                return pid
            self._store.unlink(key)

    def _has_begun(self, uid: int, pid: int, body: str) -> bool:
        """Whether another click on the same form has begun the post `pid`: it may have read the token before the first
        click looked whether the id is unused. A post does not tell its token, so this is any post of the same author
        and text that is at most SECOND_CLICK old. One round trip."""
        key = keys.post(pid)
        author, when, stored, deleted = self._store.hmget(key, ["user_id", "time", "body", "deleted"])
        is_new = when is None or time.time() - stored_time(key, when) <= SECOND_CLICK
        return author == str(uid) and deleted is None and is_new and stored in {None, body}

    def _published_before(self, uid: int, pid: int, token: str) -> Published | None:
        """A post that an earlier click has published, even if it is deleted by now; None when that click died before.

        Raises StoreError when the id has another author: `cleanup` removed the hash, and another post got the id. Then
        the token can be used again.
        """
        with self._store.pipeline() as pipe:
            pipe.hsetnx(keys.post(pid), "user_id", str(uid))
            fields = pipe.hmget(keys.post(pid), ["user_id", "deleted", "body"])
            score = pipe.zscore(keys.updates(uid), str(pid))
            pipe.unlink(keys.home(uid))
        author, deleted, body = fields.value
        if author != str(uid):
            self._store.unlink(keys.idem(uid, token))
            raise StoreError(REMOVED_BY_CLEANUP)
        if deleted is not None:
            return Published(pid, "")
        return Published(pid, body or "") if score.value is not None else None

    # ---- edit

    def change(self, uid: int, pid: int, body: str | None, pictures: Collection[Picture]) -> bool:
        """Give a post of user `uid` a new text, unless that is None, and its pictures new descriptions. Returns False
        when nothing is to be changed. Round trips and errors of `require_descriptions`, `edit` and `describe`."""
        require_descriptions(self._store, uid, pictures)
        is_edited = body is not None and self.edit(uid, pid, body)
        return describe(self._store, uid, pid, {one.digest: one.alt for one in pictures}) or is_edited

    def edit(self, uid: int, pid: int, body: str) -> bool:
        """Give a post of user `uid` a new text. Returns False when it has this text already. Seven round trips, one
        more for a text with an @name, those of `Settling.agree` for a reply or a quote, those of
        `PostNotices.remove_mentions` and `write_mentions` where the people mentioned change, and with a new tag those
        of `Delivery.drop_homes_of_tags`: beyond DELIVER_INLINE_LIMIT homes a worker drops them. Raises NoSuchPost (also
        for another author's, and for a repost), PostDeleted, TooManyEdits.

        Commit: the HSETNX of the new text in `edits:`. The newest text there is the one that stands; `body` and
        `edited` follow from it. So of two edits at once both are kept, and all processes agree which one is the
        last."""
        before, since = self._editable(uid, pid)
        if before.text == body:
            return before.body != body and self._finish_edit(uid, pid)
        if len(before.texts) >= MOST_TEXTS:
            raise TooManyEdits
        job = Outbox(self._store).add(f"edit:{pid}:{uid}:{nonce()}")
        now = _add_text(job.store, pid, before, since, body, settling.mentioned(self._store, body))
        with suppress(LeaseEnded):
            cause, told = records.Outline(pid, uid, now.texts[-1].since, now.links), before.links.mentions or ()
            settling.PostNotices(job.store).remove_mentions(cause, told)
            listings = settling.Settling(job.store)
            with job.store.pipeline() as pipe:
                listings.queue(pipe, pid, now, before)
            listings.agree({pid: now}, answer(job.store, settling.ask_look, {pid: now}))
            settling.PostNotices(job.store).write_mentions(cause, told)
            added = tags_in(body).keys() - tags_in(before.text).keys()
            if Delivery(job.store).drop_homes_of_tags(added, at_most=settings.DELIVER_INLINE_LIMIT):
                with job.store.pipeline() as pipe:
                    settling.leave_to_the_index(pipe, pid)
                job.done()  # in a round trip of its own, as in `Job.replace`
            else:
                job.hand_over()
        return True

    def _finish_edit(self, uid: int, pid: int) -> bool:
        """Show the text of an edit that got no further than its commit, whose form is sent again. The rest is a
        worker's. Returns True. Eight round trips, and those of `Settling.agree` for a reply or a quote."""
        job = Outbox(self._store).add(f"edit:{pid}:{uid}:{nonce()}")
        with suppress(LeaseEnded):
            settling.Settling(job.store).settle([pid])
            job.hand_over()
        return True

    def say_language(self, uid: int, pid: int, code: str) -> None:
        """Note in which language a post of user `uid` is. Two round trips. Raises NoSuchPost (also for another
        author's, and for a repost), PostDeleted."""
        self._editable(uid, pid)
        self._store.hset(keys.post(pid), {"language": code})

    def _editable(self, uid: int, pid: int) -> tuple[settling.PostState, int]:
        """A post that is to be edited, and since when its text stands, in unix seconds."""
        with self._store.pipeline() as pipe:
            outline, look = records.ask_outline(pipe, pid), settling.ask_look(pipe, settling.written_by(uid, [pid]))
        post, seen = records.own_post(uid, pid, outline.value), look.value.seen[pid]
        return seen, seen.texts[-1].since if seen.texts else post.time

    # ---- delete

    def delete(self, uid: int, pid: int, by: DeletedBy = DeletedBy.AUTHOR) -> None:
        """Delete a post of user `uid`, and the likes of it: up to AT_ONCE here, more of them by a worker. Eight round
        trips; two more each for a reply and for a quote, one more with notices, twelve more with likes, fourteen with
        reposts, one more where a worker gets them. Raises NoSuchPost (also for another author's), PostDeleted,
        PostRemoved.

        Commit: the HSET of `deleted`. A post with replies stays in its thread, without its text."""
        records.own_post(uid, pid, answer(self._store, records.ask_outline, pid))  # a repost is undone, not deleted
        job = Outbox(self._store).add(f"del:{pid}:{uid}:{nonce()}{by.mark}")
        settling.mark_deleted(job.store, [pid], by)
        with suppress(LeaseEnded):
            edges = _unlist(job.store, uid, pid)
            if edges > AT_ONCE:
                job.replace(f"del:{pid}:{uid}:{nonce()}{by.mark}")
                return
            if edges:
                for _ in remove_edges_to_posts(job.store, {pid: uid}):
                    pass
            job.done()


# ---- An edit: its steps, and the rest of one whose process has died.


def _add_text(
    store: Store, pid: int, before: settling.PostState, stood: int, body: str, mentions: tuple[int, ...] | None
) -> settling.PostState:
    """Add the new text, and before it the first one, which is in the hash alone. Returns the post as it is then.
    `stood`: since when the text before stands.

    A second has one text, so an edit in the same second as the last one takes the next second."""
    key, since = keys.edits(pid), max(int(time.time()), stood + 1)
    with store.pipeline() as pipe:
        if not before.texts:
            pipe.hsetnx(key, str(stood), before.body)
        added = pipe.hsetnx(key, str(since), body)
    is_added = added.value
    while not is_added:  # another edit has this second
        since += 1
        is_added = store.hsetnx(key, str(since), body)
    texts = (*(before.texts or (records.Version(stood, before.body),)), records.Version(since, body))
    return before._replace(links=before.links._replace(mentions=mentions), body=body, edited=since, texts=texts)


def finish_edit(store: Store, claim: Claim) -> None:
    """The job `edit:<pid>:<uid>:<nonce>`, for a worker."""
    pid, uid = job_id(claim.name, 1), job_id(claim.name, 2)
    look = answer(store, settling.ask_look, settling.written_by(uid, [pid]))
    now = look.seen[pid]
    if now.texts and not now.deleted:
        earlier = now.texts[-2].text if len(now.texts) > 1 else ""
        links = now.links._replace(mentions=settling.mentioned(store, now.text))
        cause, told = records.Outline(pid, uid, now.texts[-1].since, links), settling.mentioned(store, earlier) or ()
        settling.PostNotices(store).remove_mentions(cause, told)
        settling.Settling(store).agree({}, look)
        settling.PostNotices(store).write_mentions(cause, told)
        Delivery(store).drop_homes_of_tags(tags_in(now.text))
    else:
        settling.Settling(store).agree({}, look)
    for_each(store, settling.leave_to_the_index, [pid])


# ---- A deletion


def _unlist(store: Store, uid: int, pid: int) -> int:
    """Remove what a deleted post has led to, but the likes and the like; returns their number. One that comes later
    sees the deletion itself."""
    with store.pipeline() as pipe:
        pipe.zrem(keys.updates(uid), str(pid))
        edges = ask_edges_to_post(pipe, pid)
        asked = settling.ask_look(pipe, settling.written_by(uid, [pid]))
    look = asked.value
    settling.Settling(store).agree({}, look)
    settling.PostNotices(store).remove([records.Outline(pid, uid, 0, look.seen[pid].links)])
    return edges.value


def finish_deletion(store: Store, claim: Claim) -> bool:
    """The job `del:<pid>:<uid>:<nonce>`, or `del:<pid>:<uid>:<nonce>:staff`, for a worker. Returns False when its turn
    ended before all likes were removed.

    A post whose hash has expired is not marked again: that would make a hash."""
    pid, uid = job_id(claim.name, 1), job_id(claim.name, 2)
    author, deleted = store.hmget(keys.post(pid), ["user_id", "deleted"])
    if author is not None and deleted is None:
        settling.mark_deleted(store, [pid], records.deleted_by(claim.name))
    _unlist(store, uid, pid)
    return claim.carry_out_for_a_turn(remove_edges_to_posts(store, {pid: uid}))


# ---- A post that staff deletes, with its line in the log: the job has both, so a worker can do all of it again.


def delete_by_staff(store: Store, pid: int, by: int, reason: str) -> int:
    """Delete anybody's post. Returns the uid of its author. Five round trips besides those of `Posts.delete`. Raises
    NoSuchPost, PostDeleted."""
    author = stored_id(keys.post(pid), store.hget(keys.post(pid), "user_id"))
    if author is None:
        raise NoSuchPost(pid)
    act = Act(what="post:deleted", by=by, whom=author, post=pid, reason=reason)
    job = Outbox(store).add(f"staff_deletion:{pid}:{act.line()}")
    try:
        Posts(job.store).delete(author, pid, DeletedBy.STAFF)
    except (NoSuchPost, PostDeleted):
        job.done()  # it is not there, or its author was faster
        raise
    with job.ending():
        Log(job.store).write(act)
    return author


def finish_staff_deletion(store: Store, claim: Claim) -> None:
    """The job `staff_deletion:<pid>:<line of the log>`: delete the post, unless it is deleted, and write the line."""
    act = read_act("outbox", claim.name.split(":", 2)[2])
    if act is not None:
        with suppress(NoSuchPost, PostDeleted):
            Posts(store).delete(act.whom, act.post, DeletedBy.STAFF)
        Log(store).write(act)


# ---- The posts of a person whom staff has hidden or suspended, or shows again.


def recount_posts(store: Store, uid: int) -> dict[OfId, Callable[[Scored], None]]:
    """Make numbers count the posts of a user, or leave them out, as the user stands now; and let the notices that they
    have caused go, or come back. The newest first: a reply before what it answers. Each post has a job, as in
    `remove_posts`. Seven round trips a chunk, and those of `Settling.settle`."""
    return {keys.updates: partial(_recount, store, uid)}


def _recount(store: Store, uid: int, rows: Scored) -> None:
    posts = _own_among(store, uid, [member for member, _ in rows])
    jobs = [f"settle:{pid}:{nonce()}" for pid in posts]
    leased = Outbox(store).add_all(jobs)
    settling.Settling(leased).settle(posts)
    settling.PostNotices(leased).write(posts.values())
    Outbox(store).all_done(jobs)


def _own_among(store: Store, uid: int, members: Sequence[str]) -> dict[int, records.Outline]:
    """By id, the posts among these of `updates:` that are the user's and no reposts. One round trip."""
    posts = records.outlines(store, stored_ids(keys.updates(uid), members))
    return {pid: post for pid, post in posts.items() if post.uid == uid and post.links.repost_of is None}


# ---- The posts of a deleted account, removed by a worker a chunk at a time.


def remove_posts(store: Store, uid: int) -> Iterator[None]:
    """Delete all posts of a user with their likes, in chunks. Each chunk leaves `updates:` last, since `updates:` leads
    to the posts.

    Each post has a job of its own. Without it, a worker that is killed here could leave a number of replies that no
    other process corrects: the post that led to it may have left `updates:` meanwhile.

    Only removed from the set: a post of another author that is in it by mistake, and reposts. Their edges withdraw
    them, perhaps just now, and to mark a withdrawn one would make a hash. Six round trips a chunk, up
    to two more with notices, and those of `Settling.settle` and `remove_edges_to_posts`."""
    key = keys.updates(uid)
    for members in emptied(store, key):
        posts = _own_among(store, uid, members)
        own = [*posts]
        jobs = [f"settle:{pid}:{nonce()}" for pid in own]
        leased = Outbox(store).add_all(jobs)
        settling.mark_deleted(leased, own)
        settling.Settling(leased).settle(own)
        Outbox(store).all_done(jobs)
        settling.PostNotices(store).remove(posts.values())
        yield from remove_edges_to_posts(store, dict.fromkeys(own, uid))
        remove_members(store, key, members)
        yield
