"""The global timeline: everybody's newest posts, and the newest users."""

from collections.abc import Sequence

from accounts.repositories import Users
from accounts.visit import Visit
from retwis_site import keys
from retwis_site.exceptions import StoreReadOnly
from retwis_site.store import Pipe, Store
from timeline.entities import GlobalPage, Page, Post
from timeline.repositories.lists import FIRST_READ, KEPT, REBUILD_TRIES, Listing, Merge, TimelineList, parse
from timeline.repositories.paging import fill
from timeline.repositories.posts import Posts, records_of

NEWEST_USERS = 10
STRETCHES = 5  # times that a rebuild looks at KEPT further ids, where many are deleted


class GlobalTimeline:
    """Everybody's posts, down to about the newest 1000."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._list = TimelineList(store, keys.timeline())
        self._posts = Posts(store)
        self._users = Users(store)

    def page(self, visit: Visit, before: int | None, size: int) -> GlobalPage:
        """`size` posts below the cursor, newest first, and the newest users' names.

        Two round trips; one more while authors' names are not remembered. A list that is not there costs five or more
        to rebuild.
        """

        def questions(pipe: Pipe, me: int | None) -> None:
            if before is None:
                self._list.queue_head(pipe)
            else:
                self._list.queue_all(pipe)
            pipe.zrevrange(keys.users_by_time(), 0, NEWEST_USERS - 1)

        entries, newest_users = visit.ask(questions)
        listing = parse(entries, all_read=before is not None or len(entries) < FIRST_READ)
        if not listing.complete:
            found = self.rebuild(present=bool(entries))
            listing = Listing(found.ids, found.horizon, complete=True)
        candidates = [pid for pid in listing.ids if before is None or pid < before]
        filled = fill(candidates, size, self._shown)
        self._list.drop(filled.dead)
        at_the_cap = filled.older is None and listing.horizon > 0
        return GlobalPage(newest_users, Page(filled.posts, filled.older), at_the_cap)

    def rebuild(self, present: bool) -> Merge:
        """Make the list anew from the posts themselves, and return what was found. As with homes, a fence notices when
        it was dropped meanwhile, and a store that takes no writes is only read."""
        for _ in range(REBUILD_TRIES):
            try:
                mark = self._list.begin(present, expire=None)
                found = self._newest()
                if self._list.finish(mark, found):
                    return found
            except StoreReadOnly:
                return self._newest()
            present = False
        return found

    def _newest(self) -> Merge:
        """The newest KEPT ids that stand among their author's posts, from the last one given out downwards.

        Three round trips; two more for each further stretch of ids where most are deleted.
        """
        top = int(self._store.get(keys.next_post_id()) or 0)
        found: list[int] = []
        for _ in range(STRETCHES):
            bottom = max(top - KEPT, 0)
            found += self._standing(range(top, bottom, -1))
            top = bottom
            if not top or len(found) >= KEPT:
                break
        return Merge(found, top + 1 if top else 0)

    def _standing(self, pids: Sequence[int]) -> list[int]:
        pipe = self._store.pipeline()
        for pid in pids:
            self._posts.queue(pipe, pid)
        records, _ = records_of(pids, pipe.execute())
        for one in records:
            pipe.zscore(keys.updates(one.uid), str(one.pid))
        return [one.pid for one, score in zip(records, pipe.execute(), strict=True) if score is not None]

    def _shown(self, pids: Sequence[int]) -> tuple[list[Post], list[int]]:
        pipe = self._store.pipeline()
        for pid in pids:
            self._posts.queue(pipe, pid)
        records, dead = records_of(pids, pipe.execute())
        names = self._users.names({one.uid for one in records})
        return [one.by(names[one.uid]) for one in records if one.uid in names], dead
