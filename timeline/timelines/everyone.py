"""The global timeline: everyone's newest posts, and the newest users."""

from collections.abc import Sequence
from functools import partial

from accounts.signing_in.viewer import Viewer
from retwis_site.store import keys
from retwis_site.store.cached_list import Head
from retwis_site.store.client import Pipe, Store
from retwis_site.store.ids import LARGEST_ID, stored_names
from timeline.people.directory import ShownNames
from timeline.posts.entities import Page, Post
from timeline.posts.reading.acted import LatestActed, ask_latest_acted
from timeline.posts.reading.hidden_people import NOBODY_HIDDEN
from timeline.posts.reading.post_reader import PostReader
from timeline.posts.reading.visibility import NoReposts
from timeline.timelines.entities import EveryonePage
from timeline.timelines.everyone_list import EveryoneList
from timeline.timelines.pagination import fill

NEWEST_USERS = 10
EVERYONE_POSTS = 50  # a page


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

        heads, newest_users, acted = viewer.ask(partial(_EveryoneQuestion, self._list, before))
        newest = ShownNames(newest_users, viewer.uid if acted.hidden is not NOBODY_HIDDEN else None)
        reader = PostReader(self._store, viewer.user, [NoReposts()], acted=acted, fresh=viewer.just_changed)
        pipe = self._store.pipeline()
        newest.ask_uids(pipe)

        def shown(pids: Sequence[int]) -> tuple[list[Post], list[int]]:
            """As `PostReader.read`, in the round trips that also ask for the newest users."""
            reading = reader.ask(pipe, pids)
            pipe.execute()
            newest.ask_people(pipe)
            return reading.posts(pipe)

        content = self._list.page(heads, before)
        filled = fill([pid for pid in content.ids if before is None or pid < before], size, shown)
        posts, dead, older = filled.posts, filled.dead, filled.older
        if before is None and older is None and content.complete_down_to and len(posts) == size:
            older = filled.last  # the head of the list has filled the page; the list may have more below it
        elif before is None and older is None and content.complete_down_to:
            last = filled.last or LARGEST_ID
            rest = [pid for pid in self._list.below(last).ids if pid < last]
            filled = fill(rest, size - len(posts), shown)
            posts, dead, older = posts + filled.posts, dead + filled.dead, filled.older
        self._list.remove_dead(dead)
        pipe.execute()
        newest.ask_people(pipe)
        pipe.execute()
        return EveryonePage(
            newest.read(), Page(posts, older), at_the_cap=older is None and content.complete_down_to > 0
        )


class _EveryoneQuestion:
    """Asks for the entries of the global timeline, for the newest users, and for what the viewer did last."""

    def __init__(self, timeline: EveryoneList, before: int | None) -> None:
        self._list = timeline
        self._before = before

    def queue(self, pipe: Pipe, me: int | None) -> None:
        self._heads = self._list.ask_page(pipe, self._before)
        self._newest_users = pipe.zrevrange(keys.users_by_time(), 0, NEWEST_USERS - 1)
        self._acted = ask_latest_acted(pipe, me)

    def result(self) -> tuple[list[Head], list[str], LatestActed]:
        newest = stored_names(keys.users_by_time(), self._newest_users.value)
        return self._heads.value, newest, self._acted.value
