"""Home timelines: one's own and followed people's posts, read from a list and rebuilt when it is not there.

The order of a rebuild's commands is the design's, section 6; it was checked by trying every interleaving with crashes.
"""

from collections.abc import Sequence

from accounts.repositories import Users
from accounts.visit import Visit
from retwis_site import keys
from retwis_site.exceptions import StoreReadOnly
from retwis_site.memory import Memory
from retwis_site.store import Pipe, Store
from timeline.entities import Counts, HomePage, Page, Post
from timeline.repositories.follows import Follows, which
from timeline.repositories.lists import (
    FIRST_READ,
    KEPT,
    REBUILD_TRIES,
    Listing,
    Merge,
    TimelineList,
    merge,
    parse,
)
from timeline.repositories.paging import fill
from timeline.repositories.posts import Posts, known_authors, records_of

POSTS_A_PAGE = 20
HOME_LIVES = 30 * 24 * 3600  # seconds that a home stays after its owner's last visit
SHORTEST_SLICE = 10  # ids read of each followed person, at least

_renewed: Memory[int, bool] = Memory(size=20_000, seconds=3600)  # whose home was given new life within the hour


class Homes:
    """Everybody's home timeline."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._follows = Follows(store)
        self._posts = Posts(store)
        self._users = Users(store)

    def page(self, visit: Visit, before: int | None) -> HomePage:
        """The posts below the cursor, newest first, and the viewer's counts.

        Warm: two round trips; one more while an author or a name is not remembered; and, however long the history, at
        most seven more where ids are dead, or where the list ends and the `updates:` sets are merged. A home that is
        not there costs five or six to rebuild. Raises NotSignedIn.
        """

        def questions(pipe: Pipe, me: int) -> None:
            home = self._list(me)
            if before is None:
                home.queue_head(pipe)
            else:
                home.queue_all(pipe)
            self._follows.queue_following_count(pipe, me)
            self._follows.queue_followers_count(pipe, me)

        viewer, (entries, following, followers) = visit.ask_as_user(questions)
        listing = parse(entries, all_read=before is not None or len(entries) < FIRST_READ)
        if not listing.complete:
            found = self.rebuild(viewer.uid, present=bool(entries))
            listing = Listing(found.ids, found.horizon, complete=True)
        else:
            self._renew(viewer.uid)
        page = self._page(viewer.uid, listing, before)
        return HomePage(viewer, Counts(following, followers), page)

    def rebuild(self, me: int, present: bool) -> Merge:
        """Make a home anew from the truth, and return what was found. `present`: an unfinished list stands there.

        The fence of `TimelineList.finish` notices a follow or unfollow that came between, and it is done again; after
        a few times one's own merge is served, and the next read rebuilds. A store that takes no writes is only read.
        """
        home = self._list(me)
        for _ in range(REBUILD_TRIES):
            try:
                mark = home.begin(present, HOME_LIVES)
                found = self._merge_sources(me)
                if home.finish(mark, found):
                    _renewed.put(me, True)
                    return found
            except StoreReadOnly:
                return self._merge_sources(me)
            present = False
        return found

    def _list(self, me: int) -> TimelineList:
        return TimelineList(self._store, keys.home(me))

    def _merge_sources(self, me: int) -> Merge:
        """The newest ids of oneself and everybody one follows. Two round trips.

        The more sources, the shorter the slice that is read of each, so that the whole stays near KEPT ids.
        """
        sources = self._sources(me)
        length = max(SHORTEST_SLICE, KEPT // len(sources))
        return merge(self._slices(sources, "+inf", length), length)

    def _sources(self, me: int) -> list[int]:
        return [me, *(int(uid) for uid in self._store.zrange(keys.following(me), 0, -1))]

    def _slices(self, sources: Sequence[int], below: str, length: int) -> list[list[int]]:
        pipe = self._store.pipeline()
        for uid in sources:
            pipe.zrevrangebyscore(keys.updates(uid), below, "-inf", length)
        return [[int(pid) for pid in piece] for piece in pipe.execute()]

    def _page(self, me: int, listing: Listing, before: int | None) -> Page:
        candidates = [pid for pid in listing.ids if before is None or pid < before]
        filled = fill(candidates, POSTS_A_PAGE, lambda pids: self._shown(me, pids))
        self._list(me).drop(filled.dead)
        if filled.older is not None or not listing.horizon:
            return Page(filled.posts, filled.older)
        below = filled.last if filled.last is not None else before
        if len(filled.posts) == POSTS_A_PAGE:
            return Page(filled.posts, below)
        return self._below_the_list(me, filled.posts, below)

    def _below_the_list(self, me: int, posts: list[Post], below: int | None) -> Page:
        """Fill a page up from the `updates:` sets, where the list ends. Four round trips, whatever is below."""
        length = POSTS_A_PAGE + 1
        limit = "+inf" if below is None else f"({below}"
        found = merge(self._slices(self._sources(me), limit, length), length, keep=length).ids
        more, _ = self._shown(me, found[:POSTS_A_PAGE])
        page = [*posts, *more][:POSTS_A_PAGE]
        if len(posts) + len(more) > POSTS_A_PAGE:
            return Page(page, page[-1].pid)
        return Page(page, found[POSTS_A_PAGE - 1] if len(found) > POSTS_A_PAGE else None)

    def _shown(self, me: int, pids: Sequence[int]) -> tuple[list[Post], list[int]]:
        """Those posts that exist and whose author one follows, and the ids of those that do not exist.

        One round trip while all authors and names are remembered, else two.
        """
        expected = sorted(known_authors(pids) - {me})
        pipe = self._store.pipeline()
        for pid in pids:
            self._posts.queue(pipe, pid)
        if expected:
            self._follows.queue_which_followed(pipe, me, expected)
        replies = pipe.execute()
        records, dead = records_of(pids, replies[: len(pids)])
        followed = {me}
        if expected:
            followed |= which(expected, replies[-1])

        authors = {one.uid for one in records}
        strangers = sorted(authors - {me, *expected})
        names = self._users.remembered(authors)
        unnamed = sorted(authors - names.keys())
        if strangers:
            self._follows.queue_which_followed(pipe, me, strangers)
        for uid in unnamed:
            self._users.queue_name(pipe, uid)
        replies = pipe.execute()
        if strangers:
            followed |= which(strangers, replies[0])
        names |= self._users.named(unnamed, replies[1 if strangers else 0 :])
        return [one.by(names[one.uid]) for one in records if one.uid in followed and one.uid in names], dead

    def _renew(self, me: int) -> None:
        """Let the home live on while its owner reads. At most one round trip an hour."""
        if _renewed.get(me) is not None:
            return
        try:
            self._store.expire(keys.home(me), HOME_LIVES)
        except StoreReadOnly:  # it can wait: the home has days
            return
        _renewed.put(me, True)
