"""Checks of posts, of their numbers and listings, and what killed processes leave of them."""

import time
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from accounts.community.sanctions import people_at_work
from accounts.users.checks import but_of_lost
from retwis_site.jobs.outbox import OWNER_GIVES_UP, Outbox
from retwis_site.maintenance import checks
from retwis_site.rendering.dates import LAST, unix_seconds
from retwis_site.store import keys
from retwis_site.store.chunks import batches
from retwis_site.store.client import Pipe, Result, Store, answer, answers, for_each, handles
from retwis_site.store.ids import nonce, parse_id, parse_number, stored_ids, stored_time
from retwis_site.store.keys import counted_in
from retwis_site.store.kinds import KINDS, Kind, OfId, id_in, kind_of
from timeline.posts import settling
from timeline.posts.delivery import Delivery, Readers
from timeline.posts.evidence import Evidence, Written, jobs_on_own
from timeline.posts.reading.records import BASIC, LINKS, ask_versions, links_from, media_from
from timeline.posts.repository import Posts
from timeline.relations.relation import RANKING, PostCount, ask_post_exists, recount

# ---- Checks of posts: `updates:` and the `post:` hashes must agree.


UpdatesEntry = tuple[int, int, float]  # of an `updates:`: the uid of the set, member, score
PLACE = ("reply_to", "root", "above")  # fields of a reply
TOGETHER = 50  # posts that are put back together, well within the lease of their jobs


class LostPosts(checks.Searcher):
    """Searches `updates:`: entries that match no post, and published posts that it lacks. A repair relies on the checks
    before it."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._evidence = Evidence(store)
        self._missing = array("q")  # posts that are missing from their author's `updates:`
        self._readers = Readers(set(), set())  # of the posts that were put back
        self._noted: set[int] = set()  # the authors of whom the store has a note that they have losses

    def inconsistencies(self) -> list[checks.Check]:
        missing = self._check_of(
            "posts missing from their author's updates:",
            keys.post,
            lambda pids: self._evidence.split(pids)[0],
            f"{keys.updates.only_key}:{{1}} lacks {{0}}",
            repair_all=self._put_back,
            jobs=lambda *one: jobs_on_own(Written(*one)),
        )
        return [
            self._check_of(
                "entries of updates: that do not match a post",
                keys.updates,
                checks.looking(self._store, _ask_wrong),
                "",
                self._repair_entry,
                read=checks.members,
            ),
            replace(missing, find=self._look_for_losses, at_end=partial(self._all_lost, missing)),
        ]

    def adoption(self) -> list[checks.Check]:
        """What `adopt` changes in an official database, which has no key of a user's own posts."""
        return [checks.Check("posts that no updates: lists", (keys.post,), self._not_adopted)]

    def _repair_entry(self, uid: int, pid: int, _: float) -> None:
        author, when, body, deleted, original, media = self._store.hmget(keys.post(pid), (*BASIC, "repost_of", "media"))
        body = body if original is None else ""
        if deleted is not None or (author or str(uid)) != str(uid) or (author, body) == (None, None):
            self._store.zrem(keys.updates(uid), str(pid))
            return
        self._store.hsetnx(keys.post(pid), "user_id", str(uid))
        if not _is_time(when):
            self._store.hset(keys.post(pid), {"time": str(unix_seconds(when) or 0)})
        if body is None:
            body = self._text_left(pid, media)
        if body is None:
            Posts(self._store).delete(uid, pid)  # there is nothing to show
            return
        if original is None:
            self._store.hsetnx(keys.post(pid), "body", body)
        self._mend_place(pid)
        self._store.zadd(keys.updates(uid), {str(pid): pid})

    def _mend_place(self, pid: int) -> None:
        """Write again which post a reply answers, and which is the first of its thread. Up to four round trips."""
        above = _above_misplaced(pid, *self._store.hmget(keys.post(pid), PLACE))
        if above:
            self._store.hsetnx(keys.post(pid), "reply_to", str(above[0]))
            root = self._store.hget(keys.post(above[-1]), "root") or str(above[-1])
            self._store.hsetnx(keys.post(pid), "root", root)

    def _text_left(self, pid: int, media: str | None) -> str | None:
        """The text of a post that has lost its body: the newest of an edited one, or none beside pictures. One round
        trip."""
        texts = answer(self._store, ask_versions, pid)
        if texts:
            return texts[-1].text
        return "" if media_from(keys.post(pid), media).pictures else None

    # ---- lost posts

    def _look_for_losses(self, names: list[str]) -> checks.Chunks:
        """Finds nothing: a post that is put back drops lists, which tell of the losses of others. So all are looked at
        before the first is put back."""
        for pids in checks.ids(self._store, names):
            self._missing.extend(one.pid for one in chain(*self._evidence.split(pids)))
            yield []

    def _all_lost(self, missing: checks.Check) -> checks.Chunks:
        """All posts of authors with losses. Then the homes that may lack what was put back are dropped, each once: a
        popular author has many. After a kill, the check of homes finds them."""
        for pids in batches(self._missing, checks.AT_ONCE):
            yield from missing.find([*map(keys.post, pids)])
        Delivery(self._store).drop_homes_of(self._readers)
        for_each(self._store, lambda pipe, author: checks.queue_end_losses(pipe, keys.updates(author)), self._noted)

    def _put_back(self, lost: Sequence[Written]) -> None:
        """Deliver posts again, but for the homes: this adds them to `updates:`. Each has a job, which a worker finishes
        when this process dies. The losses of all authors are noted before: what has told of them may be gone then, and
        the other posts would be taken for orphans."""
        noted = self._evidence.authors_with_losses - self._noted
        for_each(self._store, lambda pipe, author: checks.queue_note_losses(pipe, keys.updates(author)), noted)
        self._noted |= noted
        for some in batches([one.pid for one in lost], TOGETHER):
            jobs = [f"post:{pid}:{nonce()}" for pid in some]
            leased = Outbox(self._store).add_all(jobs)
            readers = Delivery(leased).list_again(*some)
            Outbox(leased).all_done(jobs)
            self._readers.authors.update(readers.authors)
            self._readers.tags.update(readers.tags)

    # ---- an official database

    def _not_adopted(self, names: list[str]) -> checks.Chunks:
        """Posts with an author that are missing from the author's `updates:`."""
        for pids in checks.ids(self._store, names):
            lacking = [one for one in self._evidence.unlisted(pids) if one.author]
            if lacking:
                what = f"post {lacking[0].pid}, and {len(lacking) - 1} more"
                yield [checks.Finding(what, partial(self._list, lacking), len(lacking))]

    def _list(self, posts: Sequence[Written]) -> None:
        for_each(self._store, lambda pipe, one: pipe.zadd(keys.updates(one.author), {str(one.pid): one.pid}), posts)


class OrphanedPosts(checks.Searcher):
    """Searches posts that were never published: the request died before the commit, and no page shows them. `cleanup`
    removes them, and what is left of deleted posts."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._evidence = Evidence(store)
        self._suspects: list[int] = []  # posts that look like orphans

    def orphans(self) -> list[checks.Check]:
        return [
            checks.Check("orphaned post: hashes", (keys.post,), self._suspected, self._orphaned),
            self._check_of(
                "deleted posts without replies and without an expiry",
                keys.post,
                checks.looking(self._store, _ask_lasting),
                "{key}",
                lambda pid: self._store.expire(keys.post(pid), settling.DELETED_STAYS),
                read=checks.only(lambda pipe, pid: pipe.hexists(keys.post(pid), "deleted")),
            ),
        ]

    def _suspected(self, names: list[str]) -> checks.Chunks:
        """Note the `post:` hashes that are in no `updates:`. A store that is being seeded has none."""
        for batch in checks.ids(self._store, names) if self._store.hlen(keys.users()) else ():
            self._suspects += [one.pid for one in self._unproven_of(batch)]
            yield []

    def _orphaned(self) -> checks.Chunks:
        """Those of them that have no job in the outbox, and whose author has no losses: all posts have told of these.

        A hash that was written just now may be a post under way. It is checked again OWNER_GIVES_UP seconds later, when
        its owner has given up.
        """
        all_recent: list[int] = []
        for pids in batches(self._suspects, checks.AT_ONCE):
            recent = self._recent(pids)
            all_recent += recent
            yield self._findings([pid for pid in pids if pid not in recent])
        if all_recent:
            time.sleep(OWNER_GIVES_UP + 1)
            yield self._findings(self._orphans(all_recent))

    def _orphans(self, pids: Sequence[int]) -> list[int]:
        """Those of these posts that no `updates:` lists, and that nothing tells to have been published."""
        suspects = self._unproven_of(pids)
        by_others = self._listed_by_anyone([one.pid for one in suspects if not one.author])
        return [one.pid for one in suspects if one.pid not in by_others]

    def _unproven_of(self, pids: Sequence[int]) -> list[Written]:
        """The posts missing from their author's `updates:` that nothing tells to have been published. Without a repost
        that stands: the checks of relations put it back. Without posts of a lost account."""
        suspects = but_of_lost(self._store, self._evidence.split(pids)[1], itemgetter(1))
        of = answers(self._store, lambda pipe, one: pipe.hget(keys.post(one.pid), "repost_of"), suspects)
        stands = answers(self._store, lambda pipe, one: pipe.zscore(keys.reposts(one.author), of[one] or ""), suspects)
        return [one for one in suspects if stands[one] != one.pid]

    def _listed_by_anyone(self, pids: Sequence[int]) -> set[int]:
        """Those of these posts without an author that are in an `updates:`, from which `doctor` writes the author
        again. It reads all of them; nothing without such posts."""
        listed: set[int] = set()
        for _, names in checks.keys_of(self._store, [keys.updates] if pids else []):
            scores = answers(self._store, lambda pipe, key: pipe.zmscore(key, [*map(str, pids)]), names)
            listed.update(pid for found in scores.values() for pid, score in zip(pids, found, strict=True) if score)
        return listed

    def _recent(self, pids: Sequence[int]) -> set[int]:
        given_up_before = time.time() - OWNER_GIVES_UP - 1
        times = answers(self._store, lambda pipe, pid: pipe.hget(keys.post(pid), "time"), pids)
        return {pid for pid, when in times.items() if stored_time(keys.post(pid), when) >= given_up_before}

    def _findings(self, suspects: Sequence[int]) -> list[checks.Finding]:
        """A post's job leaves the outbox only after the post is in `updates:`. So a post that is missing first from the
        outbox and then from `updates:` never reached its commit. Or a server has lost all that told of it: so it is
        moved and not removed."""
        orphans = checks.confirmed(self._store, suspects, self._orphans, at_work_on)
        named = checks.still_there(self._store, [keys.post(pid) for pid in orphans], str)
        return [checks.Finding(key, partial(checks.move_away, self._store, key)) for key in named]


def at_work_on(pid: int) -> set[str]:
    """The beginnings of the names of all jobs that may be at work on a post."""
    return keys.post.jobs_on(pid, str(pid))


def _ask_wrong(pipe: Pipe, entry: UpdatesEntry) -> Result[bool]:
    """Whether an entry of `updates:` does not match the post that it names. A repost has no body."""
    uid, pid, score = entry
    stored = pipe.hmget(keys.post(pid), (*BASIC, "repost_of", *PLACE))
    present = pipe.zscore(keys.updates(uid), str(pid))  # another process may have removed the entry

    def read() -> bool:
        author, when, body, deleted, original, *place = stored.value
        is_whole = (body is not None or original is not None) and deleted is None and _is_time(when)
        is_right = author == str(uid) and is_whole and pid == score and not _above_misplaced(pid, *place)
        return present.value is not None and not is_right

    return Result(read)


def _above_misplaced(pid: int, reply_to: str | None, root: str | None, above: str | None) -> list[int]:
    """The posts above a reply that has lost one of the other fields, nearest first; else none."""
    return stored_ids(keys.post(pid), (above or "").split()) if None in {reply_to, root} else []


def _ask_lasting(pipe: Pipe, pid: int) -> Result[bool]:
    """Whether it is the hash of a deleted post without replies, and never expires."""
    deleted, seconds = pipe.hexists(keys.post(pid), "deleted"), pipe.ttl(keys.post(pid))
    replies = pipe.zcard(keys.replies_to(pid))
    return Result(lambda: bool(deleted.value) and seconds.value == settling.FOREVER and not replies.value)


def _is_time(text: str | None) -> bool:
    """Whether it is a number of seconds: one of milliseconds is longer than any."""
    return text is not None and text.isascii() and text.isdigit() and len(text) <= len(str(LAST))


# ---- The check of the numbers in `post:` hashes: likes, reposts, replies and quotes.


def counts_of_posts() -> list[PostCount]:
    """The numbers of the site, and those of a site's own kinds, which are declared later."""
    return [PostCount(kind) for kind in KINDS.values() if isinstance(kind, OfId) and kind.counted]


class Miscount(NamedTuple):
    """A post with a wrong number."""

    pid: int
    number_of: PostCount
    written: int
    right: int
    author: str | None


class CountChecks(checks.Searcher):
    """Searches the numbers of posts, all in one walk. A repair relies on the checks of edges and listings, which run
    before."""

    def inconsistencies(self) -> list[checks.Check]:
        return [
            self._check_of(
                "wrong numbers in post:",
                keys.post,
                self._look,
                "post {0} has {3} {1.name}, but its number is {2}",
                lambda pid, count, *_: recount(self._store, count, [pid]),
                jobs=lambda pid, *more: {f"gone:{more[-1]}", checks.AtWork(settling.posts_at_work, pid)},
            )
        ]

    def _look(self, pids: Sequence[int]) -> list[Miscount]:
        """The numbers that are missing or wrong now. Two round trips: five commands a post, and three for each number
        that is written or has members."""
        counts = counts_of_posts()
        names = [*(count.name for count in counts), "user_id"]
        asked = handles(
            self._store,
            lambda pipe, pid: (pipe.hmget(keys.post(pid), names), [pipe.zcard(one.mirror(pid)) for one in counts]),
            pids,
        )
        written = {
            (pid, count): parse_number(text or "") or 0
            for pid, (texts, sizes) in asked.items()
            for count, text, size in zip(counts, texts.value[:-1], sizes, strict=True)
            if text or size.value
        }
        right = answers(self._store, lambda pipe, one: one[1].ask(pipe, one[0]), written)
        wrong = {one: number for one, number in written.items() if number != right[one]}
        return [Miscount(*one, number, right[one], asked[one[0]][0].value[-1]) for one, number in wrong.items()]


# ---- Checks of threads, replies, quotes and other listings: they must agree with the hashes of the posts, both ways.


LISTINGS = (keys.thread, keys.replies_to, keys.quotes_of, keys.tag)

ListingEntry = tuple[str, int]  # the key of a listing, and a post in it


class ListingChecks(checks.Searcher):
    """Searches the listings. A repair relies on the checks of `updates:`, which run before."""

    def inconsistencies(self) -> list[checks.Check]:
        return [
            self._check_of(
                "posts that are missing from a listing, or expire while they have replies",
                keys.post,
                self._wrong_posts,
                "{key} is not listed as it must",
                self._settle,
                read=checks.only(_ask_entangled),
                jobs=lambda pid, author: {
                    checks.AtWork(settling.posts_at_work, pid),
                    checks.AtWork(people_at_work, author),
                },
            ),
            *map(self._entries, LISTINGS),
            self._check_of(
                "entries of unseen: that are not in the key of which they are",
                keys.unseen,
                checks.looking(self._store, _ask_left),
                "{0} has {1:.40}",
                self._count,
                read=checks.places,
                jobs=_jobs_on_counted,
            ),
        ]

    def _entries(self, kind: Kind) -> checks.Check:
        """From the listings to the posts: entries of posts that must not stand there."""
        return self._check_of(
            f"entries of {kind.word}: that no post explains",
            kind,
            checks.looking(self._store, _ask_unexplained),
            "{0} has {1}",
            self._remove,
            read=_listed,
            jobs=lambda _, pid: {checks.AtWork(settling.posts_at_work, pid)},
        )

    def orphans(self) -> list[checks.Check]:
        label, look = "texts of posts that are deleted or do not exist", checks.looking(self._store, _ask_hidden_texts)
        return [self._check_of(label, keys.edits, look, repair=self._remove_texts)]

    # ---- from the posts to their listings

    def _wrong_posts(self, pids: Sequence[int]) -> list[Written]:
        """Three round trips."""
        with self._store.pipeline() as pipe:
            look = settling.ask_look(pipe, settling.authors_of(self._store, pids))
            seconds = {pid: pipe.ttl(keys.post(pid)) for pid in pids}
        misplaced = answers(self._store, _ask_misplaced, look.value.seen.items())
        return [
            Written(pid, seen.author)
            for (pid, seen), is_misplaced in misplaced.items()
            if is_misplaced
            or (seen.deleted and seen.has_replies and seconds[pid].value != settling.FOREVER)
            or (not seen.deleted and seen.text != seen.body)
        ]

    def _settle(self, pid: int, *_: object) -> None:
        job = Outbox(self._store).add(f"settle:{pid}:{nonce()}")
        settling.Settling(job.store).settle([pid])
        job.done()

    # ---- from the listings to the posts

    def _remove(self, key: str, pid: int) -> None:
        """Remove an entry, and settle the post that has lost a reply or a quote."""
        self._store.zrem(key, str(pid))
        number = None if kind_of(key) is keys.tag else id_in(key)  # a tag may be a number
        if number is None:
            return
        for count in (settling.REPLIES, settling.QUOTES):
            recount(self._store, count, [number])
        if self._store.hexists(keys.post(number), "deleted"):
            self._settle(number)

    def _remove_texts(self, pid: int) -> None:
        """A server may have lost a post that is not there: then its texts are moved."""
        if self._store.hexists(keys.post(pid), "deleted"):
            self._store.unlink(keys.edits(pid))
        else:
            checks.move_away(self._store, keys.edits(pid))

    def _count(self, key: str, member: str) -> None:
        """Let a number no longer leave a member out. The check of the ranking has run before; others follow."""
        self._store.zrem(key, member)
        counted = counted_in(key)
        if kind_of(counted) is keys.followers and (uid := id_in(counted)) is not None:
            recount(self._store, RANKING, [uid])


def _ask_entangled(pipe: Pipe, pid: int) -> Result[bool]:
    """Whether anything follows from a post: it is deleted or was edited, answers or quotes one, or has a tag. Two
    commands."""
    fields, texts = pipe.hmget(keys.post(pid), ("deleted", "body", *LINKS)), ask_versions(pipe, pid)

    def read() -> bool:
        deleted, body, *links = fields.value
        is_listed = bool(settling.listings_of(links_from(keys.post(pid), links), body or ""))
        return is_listed or deleted is not None or bool(texts.value)

    return Result(read)


def _ask_misplaced(pipe: Pipe, one: tuple[int, settling.PostState]) -> Result[bool]:
    """Whether a listing lacks a post, or its number counts it wrong. A post that is not in `updates:` was never
    published, unless it is deleted."""
    pid, seen = one
    published = pipe.zscore(keys.updates(seen.author), str(pid))
    stands = {key: (pipe.zscore(key, str(pid)), pipe.zscore(keys.unseen(key), str(pid))) for key in seen.stands_in}

    def read() -> bool:
        left_out = {key for key, (_, uncounted) in stands.items() if uncounted.value is not None}
        is_wrong = left_out != seen.counts_not_in or any(entry.value is None for entry, _ in stands.values())
        return is_wrong and (seen.deleted or published.value is not None)

    return Result(read)


def _ask_unexplained(pipe: Pipe, entry: ListingEntry) -> Result[bool]:
    key, pid = entry
    look, present = settling.ask_look(pipe, {pid: settling.PostState()}), pipe.zscore(key, str(pid))
    return Result(lambda: present.value is not None and key not in look.value.seen[pid].stands_in)


def _jobs_on_counted(key: str, member: str) -> set[str]:
    kind = kind_of(counted_in(key))
    return kind.explained_by(id_in(counted_in(key)), member) if kind else set()


def _ask_left(pipe: Pipe, entry: tuple[str, str]) -> Result[bool]:
    key, member = entry
    left, there = pipe.zscore(key, member), pipe.zscore(counted_in(key), member)
    return Result(lambda: left.value is not None and there.value is None)


def _ask_hidden_texts(pipe: Pipe, pid: int) -> Result[bool]:
    """Whether nobody sees a post with texts in `edits:`."""
    size, exists = pipe.hlen(keys.edits(pid)), ask_post_exists(pipe, str(pid))
    return Result(lambda: size.value > 0 and not exists.value)


def _listed(store: Store, names: list[str]) -> Iterator[list[ListingEntry]]:
    return ([(key, pid) for key, text, _ in chunk if (pid := parse_id(text))] for chunk in checks.entries(store, names))
