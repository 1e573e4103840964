"""What many people like, repost and write about."""

import time

from accounts.signing_in.viewer import Viewer
from retwis_site.store.client import Pipe, Store
from retwis_site.store.local_cache import Memory
from timeline.explore.best_posts import best_posts
from timeline.explore.entities import Explored, ExplorePage
from timeline.explore.rising_tags import rising_tags
from timeline.explore.sample import sample
from timeline.people.suggestions import Suggestions
from timeline.posts.reading.acted import LatestActed, ask_latest_acted
from timeline.posts.reading.post_reader import PostReader

MOST_SHOWN = 20  # posts

_explored: Memory[str, Explored] = Memory(size=2, seconds=300)  # one entry, of some 10 KB


class Explore:
    """The page of explore. Only reads, and keeps nothing in the store: each process looks for itself."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def page(self, viewer: Viewer) -> ExplorePage:
        """What rises, as this viewer may see it: without deleted posts and people whom the viewer hides.

        Two round trips while the posts are cached, and those of the suggestions. Every five minutes a process looks
        anew: some twenty more.
        """
        acted = viewer.ask(_Acted)
        explored = self._explored()
        reader = PostReader(self._store, viewer.user, acted=acted, fresh=viewer.just_changed, at_most=MOST_SHOWN)
        posts, _ = reader.read(explored.best.pids)
        suggestions = Suggestions(self._store)
        people = suggestions.for_visitor() if viewer.uid is None else suggestions.for_user(viewer.uid)
        return ExplorePage(posts, explored.best.of_the_week, explored.tags, people)

    def _explored(self) -> Explored:
        """No round trip while it is cached."""
        explored = _explored.get("")
        if explored is None:
            now, posts = time.time(), sample(self._store)
            explored = Explored(best_posts(self._store, posts, now), rising_tags(self._store, posts, now))
            _explored.put("", explored)
        return explored


class _Acted:
    """Asks for what the viewer did last."""

    def queue(self, pipe: Pipe, me: int | None) -> None:
        self._acted = ask_latest_acted(pipe, me)

    def result(self) -> LatestActed:
        return self._acted.value
