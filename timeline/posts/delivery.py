"""A published post comes to its author's posts, its listings, and the timelines of its author and followers, and of
those who have chosen one of its tags for home."""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from math import inf
from typing import NamedTuple

from django.conf import settings

from accounts.users.repository import is_deleted
from retwis_site.exceptions import IdInUse, LeaseEnded, StoreError
from retwis_site.jobs.outbox import Claim, Job, add_due, job_id, owned
from retwis_site.store import keys
from retwis_site.store.cached_list import queue_cut, queue_cuts
from retwis_site.store.client import Pipe, Reply, Repository, Store, answer, answers, for_each, handles
from retwis_site.store.ids import integer, nonce, stored_ids
from timeline.posts import settling
from timeline.posts.entities import Links
from timeline.posts.links import tags_in
from timeline.posts.post_ids import post_ids
from timeline.posts.reading.cached_posts import forget
from timeline.posts.reading.records import Outline, Record, ask_outline, stored_as
from timeline.relations.edges import Edges
from timeline.relations.relation import Edge
from timeline.relations.relations import REPOST
from timeline.relations.upkeep import remove_edges_to_posts

# ---- Delivery


FOLLOWERS_AT_ONCE = 2048  # homes pushed to in one round trip; an inline delivery has one such chunk
FOLLOWERS_READ = 4 * FOLLOWERS_AT_ONCE  # followers read in one round trip; the next read waits for all pushes sent

PUSHED_WITHIN = 60  # seconds; the id of an older post would be too low for the head of a home

ByTags = Mapping[str, Sequence[int]]  # by a folded tag, the uids of those who have chosen it for home


class Readers(NamedTuple):
    """Whose homes show a post: these authors and their followers, and those who have chosen one of these tags."""

    authors: set[int]
    tags: set[str]


REMOVED_BY_CLEANUP = "cleanup removed this post before the form was sent again; send it once more"


class Delivery(Repository):
    """Brings posts to where they are read."""

    def deliver(self, job: Job, uid: int, pid: int, now: settling.PostState, followers: int) -> None:
        """Deliver a new post whose `job` was just added; `job.store` is the store of this object. Up to
        DELIVER_INLINE_LIMIT readers, who follow its author or have chosen one of its tags, get it here, more of them
        from a worker. Six round trips, two more with readers by tags, and up to three more where lists are cut; for a
        reply or a quote those of `Settling.agree`, and for a post that concerns people those of
        `PostNotices.write`."""
        look, by_tags = self._list(uid, pid, {pid: now})
        self._settle(pid, {pid: now}, look)
        if look is not None:
            settling.PostNotices(self._store).write([Outline(pid, uid, int(time.time()), look.seen[pid].links)])
            self._push_own(uid, pid)
            if followers + sum(map(len, by_tags.values())) > settings.DELIVER_INLINE_LIMIT:
                job.replace(f"fan:{pid}:{nonce()}")
                return
            for _ in self.push_to_followers(uid, pid):
                pass
            self._push_to_others(uid, pid, by_tags, [*by_tags])
        job.done()

    def fan_out(self, claim: Claim) -> bool:
        """The job `fan:<pid>:<nonce>`: push a post into its readers' homes. Returns False when the worker had to stop
        before the end. Later attempts, and a late first one, drop the homes instead, as `redeliver`."""
        pid = job_id(claim.name, 1)
        post = answer(self._store, ask_outline, pid)
        if post is None or _is_late(claim, post):
            self.redeliver(pid)
            return True
        look, _ = self._list(post.uid, pid, {})
        self._settle(pid, {}, look)
        if look is None:
            return True
        tags = [*tags_in(look.seen[pid].text)]
        return claim.carry_out(chain(self.push_to_followers(post.uid, pid), self._push_by_tags(post.uid, pid, tags)))

    def redeliver(self, *pids: int) -> None:
        """The job `post:<pid>:<nonce>`: finish a delivery that its owner left.

        Homes are dropped and rebuilt by their next read: once for all these posts. A push would put old ids at the head
        of a list.
        """
        self.drop_homes_of(self.list_again(*pids))

    def list_again(self, *pids: int) -> Readers:
        """The same but for the homes. Returns whose homes may lack these posts."""
        readers = Readers(set(), set())
        for pid in pids:
            post = answer(self._store, ask_outline, pid)
            look = self._list(post.uid, pid, {})[0] if post is not None else None
            self._settle(pid, {}, look)
            if post is not None and look is not None:
                settling.PostNotices(self._store).write([post._replace(links=look.seen[pid].links)])
                self._store.unlink(keys.timeline(pid))
                readers.authors.add(post.uid)
                readers.tags.update(tags_in(look.seen[pid].text))
        return readers

    def drop_homes_of(self, readers: Readers) -> None:
        """Drop the homes of all these. Round trips as for `drop_homes` and `drop_homes_of_tags`."""
        for author in readers.authors:
            self.drop_homes(author)
        self.drop_homes_of_tags(readers.tags)

    def drop_homes(self, uid: int) -> None:
        """Drop the homes of a user and of the user's followers: their next read finds all posts. Two round trips for
        each FOLLOWERS_AT_ONCE followers, and one more."""
        self._store.unlink(keys.home(uid))
        self._drop_homes_in(keys.followers(uid))

    def drop_homes_of_tags(self, tags: Iterable[str], at_most: float = inf) -> bool:
        """Drop the homes of those who have chosen one of these tags. Returns False, and drops none, when these are more
        than `at_most`. One round trip, none without tags; and for each tag that somebody has chosen those of
        `drop_homes`."""
        sizes = answers(self._store, lambda pipe, tag: pipe.zcard(keys.homes_of_tag(tag)), tags)
        if sum(sizes.values()) > at_most:
            return False
        for tag in filter(sizes.get, sizes):
            self._drop_homes_in(keys.homes_of_tag(tag))
        return True

    def _drop_homes_in(self, key: str) -> None:
        for members in self._store.zset_ranks(key, FOLLOWERS_AT_ONCE):
            for_each(self._store, lambda pipe, reader: pipe.unlink(keys.home(reader)), stored_ids(key, members))

    def push_into_own_home(self, uid: int, pid: int) -> None:
        """Push a new repost into its author's home. One round trip, two where the list is cut."""
        home = self._store.lpushx(keys.home(uid), str(pid))
        for_each(self._store, lambda pipe, key: queue_cut(pipe, key, home), [keys.home(uid)])

    def _list(
        self, uid: int, pid: int, written: Mapping[int, settling.PostState]
    ) -> tuple[settling.PostLook | None, ByTags]:
        """Add a post to its author's `updates:`, to the jobs of the search index, and, when it is known (`written`), to
        its listings. Returns how it stands, None when the post or its author's account is deleted; and who have chosen
        the tags of `written`, of each tag at most one more than DELIVER_INLINE_LIMIT.

        They are read after the write: a choice that comes later drops a home, and the rebuild finds the post. The
        deletion is read after the write, too. Either this read sees it, or the ZREM of the deletion comes later. Two
        round trips; three for a deleted post, five for a deleted account. Raises StoreError when the post's hash is
        gone: `cleanup` took it for an orphan while an old form was sent again.
        """
        with self._store.pipeline() as pipe:
            pipe.zadd(keys.updates(uid), {str(pid): pid})
            post_ids(self._store).queue_as_recent(pipe, pid)
            settling.leave_to_the_index(pipe, pid)
            for now in written.values():
                settling.Settling(self._store).queue(pipe, pid, now)
        with self._store.pipeline() as pipe:
            asked = settling.ask_look(pipe, written or settling.written_by(uid, [pid]))
            account_deleted = pipe.hget(keys.user(uid), "deleted")
            tags = [tag for now in written.values() for tag in tags_in(now.text)]
            choosers = {tag: pipe.zrange(keys.homes_of_tag(tag), 0, settings.DELIVER_INLINE_LIMIT) for tag in tags}
        look = asked.value
        now = look.seen[pid]
        if now.exists and not now.deleted:
            if not is_deleted(account_deleted.value):
                return look, {tag: stored_ids(keys.homes_of_tag(tag), some.value) for tag, some in choosers.items()}
            settling.mark_deleted(self._store, [pid])
            for _ in remove_edges_to_posts(self._store, {pid: uid}):
                pass  # only someone who has guessed its address can have liked it
        self._store.zrem(keys.updates(uid), str(pid))
        if not now.exists:
            raise StoreError(REMOVED_BY_CLEANUP)
        return None, {}

    def _settle(self, pid: int, written: Mapping[int, settling.PostState], look: settling.PostLook | None) -> None:
        """Make the listings match. `look`: None for a deleted post, which is read again; its text, which leads to what
        was written of it, may be gone by now."""
        if look is None:
            settling.Settling(self._store).settle([pid], written)
        else:
            settling.Settling(self._store).agree(written, look)

    def _push_own(self, uid: int, pid: int) -> None:
        """Push a new post into its author's home and the global timeline. One round trip, two where a list is cut."""
        with self._store.pipeline() as pipe:
            home = pipe.lpushx(keys.home(uid), str(pid))
            timeline = pipe.lpush(keys.timeline(pid), str(pid))
        with self._store.pipeline() as pipe:
            queue_cut(pipe, keys.home(uid), home.value)
            queue_cut(pipe, keys.timeline(pid), timeline.value, shards=settings.TIMELINE_SHARDS)

    def push_to_followers(self, uid: int, pid: int) -> Iterator[int]:
        """Push a new post into its followers' homes; yields the number of homes after each chunk. Two round trips a
        chunk, one more where homes are cut. The store works on one chunk while the next is made."""
        sent: deque[tuple[list[str], Reply[list[int]]]] = deque()  # homes with their new lengths

        def pushes() -> Iterator[Pipe]:
            for members in self._store.zset_ranks(keys.followers(uid), FOLLOWERS_READ):
                followers = stored_ids(keys.followers(uid), members)
                for start in range(0, len(followers), FOLLOWERS_AT_ONCE):
                    chunk = followers[start : start + FOLLOWERS_AT_ONCE]
                    homes = [keys.home(follower) for follower in chunk]
                    pipe = self._store.pipeline()
                    sent.append((homes, pipe.lpushx_each(homes, str(pid))))
                    yield pipe

        cuts = self._store.pipeline()
        for _ in self._store.stream(pushes()):
            homes, lengths = sent.popleft()
            queue_cuts(cuts, homes, lengths.value)
            cuts.execute()
            yield len(homes)

    def _push_by_tags(self, uid: int, pid: int, tags: Sequence[str]) -> Iterator[int]:
        """Push a new post into the homes of those who have chosen one of its tags; yields the number of homes after
        each chunk. Three round trips a chunk, one more where homes are cut."""
        for tag in tags:
            key = keys.homes_of_tag(tag)
            for members in self._store.zset_ranks(key, FOLLOWERS_AT_ONCE):
                yield self._push_to_others(uid, pid, {tag: stored_ids(key, members)}, tags)

    def _push_to_others(self, uid: int, pid: int, by_tags: ByTags, tags: Sequence[str]) -> int:
        """Push a new post into the homes of those who have chosen one of its `tags`, but of those to whom it was pushed
        before: its author, their followers, and who have chosen a tag that comes first. A list that had the id twice
        would reach less far back. Returns the number of homes. Two round trips, one more where homes are cut; none
        without anyone."""
        with self._store.pipeline() as pipe:
            asked = {
                tag: [
                    pipe.zmscore(key, [*map(str, readers)])
                    for key in (keys.followers(uid), *map(keys.homes_of_tag, tags[: tags.index(tag)]))
                ]
                for tag, readers in by_tags.items()
                if readers
            }
        others = [
            reader
            for tag, scores in asked.items()
            for reader, *before in zip(by_tags[tag], *(each.value for each in scores), strict=True)
            if reader != uid and before.count(None) == len(before)
        ]
        homes = keys.home.of_each(others)
        if homes:
            with self._store.pipeline() as pipe:
                lengths = pipe.lpushx_each(homes, str(pid))
            with self._store.pipeline() as pipe:
                queue_cuts(pipe, homes, lengths.value)
        return len(homes)


def _is_late(claim: Claim, post: Outline) -> bool:
    """Whether a push would put the id of a post too low into homes, or put it there twice."""
    return claim.attempt > 1 or time.time() - post.time > PUSHED_WITHIN


# ---- Reposts: a post of their own, which names another one. The edge is in `timeline/relations/relations.py`.


class Reposts(Repository):
    """All reposts: from a user to a post."""

    def repost(self, me: int, pid: int, author: int) -> None:
        """Let `me` repost a post of `author`; a second repost changes nothing. A repost of a deleted post is taken
        back. Up to DELIVER_INLINE_LIMIT followers get it here, more of them from a worker. Fourteen round trips, and
        up to two more where lists are cut; as for `Edges.set` while others act on it. Three for a second repost, four
        with ids from the time, unless the first got no further than its commit. Raises IdInUse.

        Its hash is written first. When this process dies before the job, `cleanup` removes the hash: so the lease
        begins with the hash."""
        leased = owned(self._store)
        ids = post_ids(self._store)
        own = ids.take(me)
        with leased.pipeline() as pipe:
            is_unused, standing = ids.ask_unused(pipe, own), pipe.zscore(keys.reposts(me), str(pid))
        if not is_unused.value:  # before the write: `repost_of` would hide what has the id
            raise IdInUse(keys.next_post_id(), own)
        if standing.value is not None:
            ids.give_back(own)
            self._finish_listing(Edge(me, str(pid), author, integer(standing.value)))
            return
        leased.hset(keys.post(own), stored_as(Record(own, me, int(time.time()), "", Links(repost_of=pid))))
        Edges(leased, replace(REPOST, afterwards=_push)).set(Edge(me, str(pid), author, own), own)
        forget(pid)

    def _finish_listing(self, edge: Edge) -> None:
        """Show a repost that stands to its author, when its form is sent again after it got no further than its commit.
        One round trip for one that is listed; else nine. The rest is a worker's."""
        if self._store.zscore(keys.updates(edge.who), str(edge.own_post)) is None:
            with suppress(LeaseEnded):
                Edges(self._store, REPOST).mend([edge])
            self._store.unlink(keys.home(edge.who))
            forget(int(edge.target))

    def of(self, me: int, pid: int) -> int | None:
        """The id of the repost of a post by `me`; None without one. One round trip."""
        own = self._store.zscore(keys.reposts(me), str(pid))
        return None if own is None else integer(own)

    def undo(self, me: int, pid: int, author: int) -> None:
        """Let `me` no longer repost a post of `author`. Ten round trips; one without a repost.

        Only the repost that stands now is removed, not one that a later click makes."""
        own = self.of(me, pid)
        if own is None:
            return
        Edges(self._store, REPOST).unset(Edge(me, str(pid), author, own))
        forget(own)
        forget(pid)

    def finish(self, claim: Claim) -> None:
        """The job of a repost or its undo, for a worker. The homes of the followers are dropped, not pushed to: a push
        would put an old id at the head of a list."""
        Edges(self._store, replace(REPOST, afterwards=_drop)).finish(claim.name)

    def fan_out(self, claim: Claim) -> bool:
        """The job `fan_repost:<pid>:<nonce>`: push a repost into the homes of many followers. Returns False when the
        worker had to stop before the end. Later attempts, and a late first one, drop the homes."""
        pid = job_id(claim.name, 1)
        post, delivery = answer(self._store, ask_outline, pid), Delivery(self._store)
        if post is None:  # it was undone
            return True
        if _is_late(claim, post):
            delivery.drop_homes(post.uid)
            return True
        return claim.carry_out(delivery.push_to_followers(post.uid, pid))


def _own_posts(store: Store, stand: Mapping[Edge, bool]) -> dict[Edge, int]:
    """The edges whose own post stands, with the numbers of followers of the people. One round trip; none without own
    posts."""
    asked = handles(
        store,
        lambda pipe, edge: (pipe.hget(keys.post(edge.own_post), "user_id"), pipe.zcard(keys.followers(edge.who))),
        [edge for edge, stands in stand.items() if stands and edge.own_post],
    )
    return {edge: followers.value for edge, (author, followers) in asked.items() if author.value is not None}


def _push(store: Store, stand: Mapping[Edge, bool]) -> None:
    """Push a new repost into homes. When the lease ends before that, the worker drops them."""
    delivery = Delivery(store)
    for edge, followers in _own_posts(store, stand).items():
        delivery.push_into_own_home(edge.who, edge.own_post)
        if followers > settings.DELIVER_INLINE_LIMIT:
            add_due(store, f"fan_repost:{edge.own_post}:{nonce()}")
        else:
            for _ in delivery.push_to_followers(edge.who, edge.own_post):
                pass


def _drop(store: Store, stand: Mapping[Edge, bool]) -> None:
    for edge in _own_posts(store, stand):
        Delivery(store).drop_homes(edge.who)
