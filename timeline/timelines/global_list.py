"""The ids of the global timeline: one list, or TIMELINE_SHARDS of them on as many servers, read as one."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, islice

from retwis_site.exceptions import StoreReadOnly
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from timeline.posts.post_ids import RECENT, post_ids
from timeline.posts.repository import Posts
from timeline.timelines.cached_list import KEPT, ListContent, Merge, Slice, TimelineList, merge

STRETCHES = 5  # times that a rebuild looks at KEPT further ids, where many are deleted


class GlobalList:
    """Everybody's newest posts. A post goes to the list that its id says (`keys.timeline`)."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._posts = Posts(store)
        self._ids = post_ids(store)
        self._of = len(keys.timelines())
        self.lists = [TimelineList(store, key, lives=None, of=self._of) for key in keys.timelines()]

    def queue_page(self, pipe: Pipe, before: int | None) -> None:
        """Ask for what a page below the cursor needs: a command for each list."""
        for one in self.lists:
            one.queue_page(pipe, before)

    def page(self, replies: Sequence[Sequence[bytes]], before: int | None) -> ListContent:
        """The replies to `queue_page`, made sense of; a list that cannot be relied on is rebuilt."""
        listings = [
            one.page(entries, before, partial(self.newest, number))
            for number, (one, entries) in enumerate(zip(self.lists, replies, strict=True))
        ]
        complete_down_to = max(content.complete_down_to for content in listings)
        ids = {pid for content in listings for pid in content.ids if pid >= complete_down_to}
        return ListContent(sorted(ids, reverse=True), complete_down_to, complete=True)

    def below(self, before: int) -> ListContent:
        """All that is known below a cursor. One round trip."""
        pipe = self._store.pipeline()
        self.queue_page(pipe, before)
        return self.page(pipe.execute(), before)

    def drop(self, pids: Sequence[int]) -> None:
        """Take dead ids out. One round trip, if there are any; a store that takes no writes keeps them."""
        dead: dict[int, list[int]] = defaultdict(list)
        for pid in pids:
            dead[pid % self._of].append(pid)
        pipe = self._store.pipeline()
        for number, of_one in dead.items():
            self.lists[number].queue_drop(pipe, of_one)
        with suppress(StoreReadOnly):
            pipe.execute()

    def newest(self, number: int) -> Merge:
        """What the list `number` is rebuilt from: the newest ids of its share that stand among their author's posts.

        Three or four round trips; two more for each further stretch of ids where most are deleted.
        """
        candidates, lowest = self._candidates(number)
        stretch = KEPT // self._of
        found: list[int] = []
        for _ in range(STRETCHES):
            piece = list(islice(candidates, stretch))
            found += self._standing(piece)
            if len(found) >= stretch or len(piece) < stretch:
                break
        kept = merge([Slice(found, goes_on=False)], keep=stretch)
        if next(candidates, None) is not None:
            lowest = piece[-1]
        return Merge(kept.ids, max(kept.complete_down_to, lowest))

    def noted(self) -> tuple[set[int], int]:
        """All ids that are in `recent`, and the lowest down to which none is missing (0: to the beginning). One round
        trip; none where ids are counted."""
        pipe = self._store.pipeline()
        for key in self._ids.recents():
            pipe.zrevrange(key, 0, -1)
        replies = pipe.execute()
        lowest = max((int(pids[-1]) for pids in replies if len(pids) >= RECENT), default=0)  # it dropped what was below
        return {int(pid) for pids in replies for pid in pids}, lowest

    def _candidates(self, number: int) -> tuple[Iterator[int], int]:
        """Ids that may be posts, newest first, and the lowest down to which none is missing. At most two round trips.

        Where all ids that were ever made from the time are noted, the counted ones come below.
        """
        noted, lowest = self.noted()
        made = iter(sorted((pid for pid in noted if pid >= lowest and pid % self._of == number), reverse=True))
        if lowest:
            return made, lowest
        last = int(self._store.get(keys.next_post_id()) or 0)
        return chain(made, range(last - (last - number) % self._of, 0, -self._of)), 0

    def _standing(self, pids: Sequence[int]) -> list[int]:
        records, _ = self._posts.read(pids)
        pipe = self._store.pipeline()
        for one in records:
            pipe.zscore(keys.updates(one.uid), str(one.pid))
        return [one.pid for one, score in zip(records, pipe.execute(), strict=True) if score is not None]
