"""The global timeline: everyone's newest posts, and the newest users."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice

from accounts.signing_in.viewer import Viewer
from retwis_site.exceptions import StoreRefused
from retwis_site.store import keys
from retwis_site.store.cached_list import KEPT, Head, ListContent, Slice, TimelineList, merge, remove_dead
from retwis_site.store.client import Pipe, Result, Store, answer, answers, both, rest, trip
from retwis_site.store.ids import LARGEST_ID, parse_number, stored_ids, stored_names
from retwis_site.store.local_cache import Memory
from timeline.people.directory import read_shown_names
from timeline.posts.entities import Post, PostsPage
from timeline.posts.post_ids import RECENT, post_ids
from timeline.posts.reading.post_reader import PostReader
from timeline.posts.reading.visibility import NOBODY_HIDDEN, Rule, ask_latest_acted, no_reposts
from timeline.posts.repository import Posts
from timeline.timelines.pagination import Part, ReadPosts

# ---- The ids of the global timeline: one list, or TIMELINE_SHARDS of them on as many servers, read as one.


MOST_CHUNKS = 5  # chunks of KEPT ids that a rebuild looks at, where many posts are deleted


class EveryoneList:
    """The ids of everyone's newest posts. `keys.timeline` says from an id which list has it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._shards = len(keys.timeline.all())
        self.lists = [TimelineList(store, key, expires_after=None, shards=self._shards) for key in keys.timeline.all()]

    def ask_page(self, pipe: Pipe, before: int | None) -> Result[list[Head]]:
        """The entries that a page needs, list by list. One command for each list."""
        asked = [timeline.ask_entries(pipe, before) for timeline in self.lists]
        return Result(lambda: [Head(entries.value, None) for entries in asked])

    def page(self, heads: Sequence[Head], before: int | None) -> ListContent:
        """The content of all lists as one, from the answer to `ask_page`. A list that is not complete is rebuilt."""
        contents = [
            timeline.page(own, before, partial(self.newest, number))
            for number, (timeline, own) in enumerate(zip(self.lists, heads, strict=True))
        ]
        if len(contents) == 1:
            return contents[0]
        complete_down_to = max(content.complete_down_to for content in contents)
        ids = {pid for content in contents for pid in content.ids if pid >= complete_down_to}
        return ListContent(sorted(ids, reverse=True), complete_down_to, complete=True)

    def below(self, before: int) -> ListContent:
        """The content that a page below the cursor needs. One round trip, and those of a rebuild."""
        return self.page(answer(self._store, self.ask_page, before), before)

    def remove_dead(self, pids: Sequence[int]) -> None:
        """Remove dead ids, as `cached_list.remove_dead`."""
        dead: dict[str, list[int]] = defaultdict(list)
        for pid in pids:
            dead[keys.timeline(pid)].append(pid)
        Memory.changes += bool(dead)  # the page that has met them may be short; the next one is not
        remove_dead(self._store, dead)

    def newest(self, number: int) -> ListContent:
        """The ids from which list `number` is rebuilt: its newest posts that are in their author's `updates:`.

        Three or four round trips; two more for each further chunk of ids when most are deleted.
        """
        candidates, lowest = self._candidates(number)
        size = KEPT // self._shards
        existing: list[int] = []
        for _ in range(MOST_CHUNKS):
            chunk = list(islice(candidates, size))
            existing += [post.pid for post in Posts(self._store).published(chunk)]
            if len(existing) >= size or len(chunk) < size:
                break
        newest = merge([Slice(existing, has_more=False)], keep=size)
        if next(candidates, None) is not None:
            lowest = chunk[-1]
        return ListContent(newest.ids, max(newest.complete_down_to, lowest))

    def recent(self) -> tuple[set[int], int]:
        """The ids in `recent`, and the complete-down-to id (0: to the beginning). One round trip; none where POST_IDS
        is `incr`."""
        found = answers(self._store, lambda pipe, key: pipe.zrevrange(key, 0, -1), post_ids(self._store).recents())
        recent = [(stored_ids(key, members), len(members)) for key, members in found.items()]
        # A set of RECENT ids may have lost lower ones.
        lowest = max((pids[-1] for pids, size in recent if pids and size >= RECENT), default=0)
        return {pid for pids, _ in recent for pid in pids}, lowest

    def _candidates(self, number: int) -> tuple[Iterator[int], int]:
        """Ids that may be posts, newest first, and the complete-down-to id. At most two round trips.

        Ids made from the time come first. When `recent` has them all, the counted ids follow: these are lower.
        """
        recent, lowest = self.recent()
        own = (pid for pid in recent if pid >= lowest and pid % self._shards == number)
        from_time = iter(sorted(own, reverse=True))
        if lowest:
            return from_time, lowest
        last = self._last_counted()
        return chain(from_time, range(last - (last - number) % self._shards, 0, -self._shards)), 0

    def _last_counted(self) -> int:
        """The id that the counter has given out last; 0 without a counter. One round trip. Raises StoreRefused, as
        INCR does, for a counter that is no number: an empty timeline would be a wrong answer."""
        counter = self._store.get(keys.next_post_id())
        last = 0 if counter is None else parse_number(counter)
        if last is None:
            raise StoreRefused(f"{keys.next_post_id()} is no number of a post. Repair it with: manage.py doctor --fix")
        return last


# ---- Everyone


NEWEST_USERS = 10


@dataclass(frozen=True, slots=True)
class EveryonePage:
    newest_users: list[str]  # usernames, newest first
    page: PostsPage
    at_the_cap: bool  # older posts exist, but this timeline does not keep them


class EveryoneTimeline:
    """Everyone's posts, down to about the newest 1000."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._list = EveryoneList(store)

    def page(self, viewer: Viewer, before: int | None, size: int) -> EveryonePage:
        """`size` posts below the cursor, newest first, and the names of the newest users.

        One round trip while the posts of others are cached, else two; one more while the author of a post is not. The
        newest users are asked for in the same two. At most four more where many of the newest posts are deleted. A
        missing list costs six or more to rebuild.
        """

        heads, newest_users, acted = viewer.ask(
            lambda pipe, me: trip(
                self._list.ask_page(pipe, before),
                pipe.zrevrange(keys.users_by_time(), 0, NEWEST_USERS - 1),
                ask_latest_acted(pipe, me),
            )
        )
        names = stored_names(keys.users_by_time(), newest_users)
        reader = PostReader(self._store, viewer, [no_reposts], acted=acted)
        pipe = self._store.pipeline()
        newest = read_shown_names(pipe, names, viewer.uid if acted.hidden is not NOBODY_HIDDEN else None)
        shown_names: list[str] | None = None

        def shown(pids: Sequence[int]) -> tuple[list[Post], list[int]]:
            """As `PostReader.read`. The newest users share the round trips of the first posts."""
            nonlocal shown_names
            if shown_names is not None:
                return reader.read(pids)
            found, shown_names = rest(pipe, both(reader.reading(pipe, pids), newest))
            return found.posts, found.dead

        content, listed = self._read(heads, Part(before, size=size), shown)
        at_the_cap = listed.older is None and content.complete_down_to > 0
        return EveryonePage(shown_names if shown_names is not None else rest(pipe, newest), listed, at_the_cap)

    def part(self, viewer: Viewer, rules: Sequence[Rule], part: Part) -> PostsPage:
        """A part of everyone's posts. `rules`: as for `PostReader`. Round trips as for `page`."""
        heads, acted = viewer.ask(
            lambda pipe, me: trip(self._list.ask_page(pipe, part.before), ask_latest_acted(pipe, me))
        )
        reader = PostReader(self._store, viewer, [no_reposts, *rules], acted=acted)
        return self._read(heads, part, reader.read)[1]

    def _read(self, heads: Sequence[Head], part: Part, shown: ReadPosts) -> tuple[ListContent, PostsPage]:
        """What the list has, and the posts of the part."""
        content = self._list.page(heads, part.before)
        filled = part.fill(part.of(content.ids), shown)
        page, dead = part.page(filled, has_more=False), filled.dead
        if part.before is None and page.older is None and content.complete_down_to > part.above:
            if len(page.posts) == part.size:
                page = PostsPage(page.posts, filled.last)  # the head of the list has filled it; there may be more below
            else:
                last = filled.last or LARGEST_ID
                lower = part._replace(below=last).of(self._list.below(last).ids)
                filled = part._replace(size=part.size - len(page.posts)).fill(lower, shown)
                page, dead = PostsPage(page.posts + filled.posts, filled.older), dead + filled.dead
        self._list.remove_dead(dead)
        return content, page
