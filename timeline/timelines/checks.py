"""Checks of timelines: lists that lack a post, and orphans in lists."""

import heapq
from collections.abc import Sequence
from functools import partial

from django.conf import settings

from retwis_site.jobs.outbox import Outbox
from retwis_site.maintenance.checks import Check, Chunks, Finding, Searcher, confirmed
from retwis_site.store import keys
from retwis_site.store.cached_list import KEPT, TimelineList, remove_dead
from retwis_site.store.client import Store, answers
from retwis_site.store.ids import parse_id, parse_number, stored_ids
from retwis_site.store.snowflake import SMALLEST
from timeline.posts.checks import at_work_on
from timeline.posts.post_ids import RECENT
from timeline.posts.reading.records import Record
from timeline.posts.repository import Posts
from timeline.relations.home_tags import HOME_TAGS
from timeline.relations.relations import REPOST
from timeline.timelines.everyone import EveryoneList
from timeline.timelines.home import source_keys

# ---- Timelines that count as complete but lack a post. They are caches, but only incomplete lists are rebuilt.


class TimelineChecks(Searcher):
    """Finds inconsistencies of timelines.

    A check reads the list, then its sources. For a post that the list lacks, it reads the outbox, and then the list
    again: the post is lost when the list still lacks it and no job in the outbox delivers it.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._everyone = EveryoneList(store)

    def inconsistencies(self) -> list[Check]:
        return [
            self._check_of("home timelines that lack a post", keys.home, self._lacking),
            *(self._recent() if settings.POST_IDS != "incr" else ()),
            Check("global timelines that lack a post", at_end=self.everyone),
        ]

    def _lacking(self, uids: Sequence[int]) -> list[int]:
        """Compare each home with the sets of which it is made, down to its complete-down-to id."""
        return [uid for uid in uids if self._lacks(uid)]

    def _lacks(self, uid: int) -> bool:
        home = TimelineList(self._store, keys.home(uid), expires_after=None)
        content = home.read()
        if not content.complete:  # the next read rebuilds it
            return False
        with self._store.pipeline() as pipe:
            followed, tags = pipe.zrange(keys.following(uid), 0, -1), pipe.ask(HOME_TAGS, uid)
        lowest = str(content.complete_down_to)
        sources = source_keys(uid, followed.value, tags.value)
        listed = answers(self._store, lambda pipe, key: pipe.zrevrangebyscore(key, "+inf", lowest, KEPT), sources)
        expected = {pid for key, members in listed.items() for pid in stored_ids(key, members)}
        return self._is_missing(expected.difference(content.ids), home)

    def _recent(self) -> list[Check]:
        """Compare `recent` with the newest ids of all `updates:` that were made from the time."""
        newest: list[int] = []

        def see(names: list[str]) -> Chunks:
            nonlocal newest
            found = answers(
                self._store, lambda pipe, key: pipe.zrevrangebyscore(key, "+inf", str(SMALLEST), RECENT), names
            )
            pids = {pid for key, members in found.items() for pid in stored_ids(key, members)}
            newest = heapq.nlargest(RECENT, pids.union(newest))
            yield []

        def compare() -> Chunks:
            yield [
                Finding(f"{keys.recent(pid)} lacks {pid}", partial(self._store.zadd, keys.recent(pid), {str(pid): pid}))
                for pid in confirmed(self._store, self._not_recent(newest), self._not_recent, at_work_on)
            ]

        return [Check("posts that recent lacks", (keys.updates,), see, compare)]

    def _not_recent(self, pids: Sequence[int]) -> list[int]:
        recent, lowest = self._everyone.recent()
        records = Posts(self._store).read([pid for pid in pids if pid >= lowest and pid not in recent])
        return [record.pid for record in records if record.links.repost_of is None]  # `recent` has no reposts

    def everyone(self) -> Chunks:
        """Compare the global timeline with the ids from which it would be rebuilt. A bad counter has its own check:
        without the counter there is nothing to compare with."""
        counter = self._store.get(keys.next_post_id())
        if settings.POST_IDS == "incr" and counter is not None and parse_number(counter) is None:
            return
        for number, timeline in enumerate(self._everyone.lists):
            content = timeline.read()
            if not content.complete:  # the next read rebuilds it
                continue
            newest = self._everyone.newest(number)
            lacking = {pid for pid in newest.ids if pid >= content.complete_down_to}.difference(content.ids)
            if self._is_missing(lacking, timeline):
                yield [Finding(keys.timeline(number), partial(self._store.unlink, keys.timeline(number)))]

    def _is_missing(self, lacking: set[int], timeline: TimelineList) -> bool:
        """Whether the list is complete now and lacks one of these posts, which no job delivers."""
        if not lacking:
            return False
        under_way = Outbox(self._store).under_way()
        content = timeline.read()
        missing = [
            pid
            for pid in lacking.difference(content.ids)
            if pid >= content.complete_down_to and under_way.isdisjoint(at_work_on(pid))
        ]
        records = Posts(self._store).read(missing)
        return content.complete and not all(_reposts_of(one) & under_way for one in records)


def _reposts_of(post: Record) -> set[str]:
    """The beginnings of the names of the jobs that bring this repost to homes; none for another post."""
    original = post.links.repost_of
    return set() if original is None else {f"{REPOST.kind}:{post.uid}:{original}"}


# ---- Orphans: dead ids, homes without an owner, lists of another number of shards.


MOST_CACHED = 100_000  # ids of existing posts


class TimelineOrphans(Searcher):
    """Finds orphans in the lists."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._existing: set[int] = set()  # ids of posts that are in a list, and exist

    def orphans(self) -> list[Check]:
        return [
            Check("lists with dead ids", (keys.home, *keys.timeline.kinds), self.dead_ids),
            Check("global timelines of another number of shards", at_end=self.other_shards),
        ]

    def dead_ids(self, names: list[str]) -> Chunks:
        """Ids of missing or deleted posts in homes and in the global timeline."""
        for key in names:
            entries = self._store.lrange(key, 0, -1)
            listed = [pid for entry in entries if (pid := parse_id(entry))]
            unknown = set(listed) - self._existing
            dead = unknown.difference(post.pid for post in Posts(self._store).read(unknown))
            if len(self._existing) >= MOST_CACHED:
                self._existing.clear()
            self._existing.update(set(listed) - dead)  # not `|`, which would copy all of them for each list
            if dead:
                remove = partial(remove_dead, self._store, {key: [pid for pid in listed if pid in dead]})
                yield [Finding(f"{key}: {len(dead)} of {len(entries)}", remove)]
        yield []  # a step, also where all is right

    def other_shards(self) -> Chunks:
        """Lists of another TIMELINE_SHARDS. No process pushes to them, so they would be out of date if it were changed
        back."""
        others = [key for key in keys.timeline.whatever_shards() if key not in keys.timeline.all()]
        types = answers(self._store, lambda pipe, key: pipe.type(key), others)
        yield [Finding(key, partial(self._store.unlink, key)) for key, found in types.items() if found == "list"]
