"""Which of the proposed posts are in the scope of a search: asked for many at once, before any is read."""

from collections.abc import Sequence
from typing import Protocol

from retwis_site.store.client import Store
from timeline.posts.reading.acted import ask_acted
from timeline.posts.reading.records import ask_authors
from timeline.relations.follow import ask_followed
from timeline.search.queries.entities import Scope


class Among(Protocol):
    """Finds the posts of a scope among others."""

    at_once: int  # posts that are looked at together
    most: int  # posts that are looked at for a page

    def some(self, pids: Sequence[int]) -> list[int]:
        """Those of these posts, at least one, that are in the scope, in the same order."""


class AmongAll:
    """No round trip."""

    at_once = 1
    most = 1 << 30

    def some(self, pids: Sequence[int]) -> list[int]:
        return list(pids)


class AmongSaved:
    """The posts that a user likes or has bookmarked. One round trip."""

    at_once, most = 1000, 4000

    def __init__(self, store: Store, me: int) -> None:
        self._store = store
        self._me = me

    def some(self, pids: Sequence[int]) -> list[int]:
        pipe = self._store.pipeline()
        acted = ask_acted(pipe, self._me, pids)
        pipe.execute()
        saved = {pid for pid, what in acted.value.items() if what.liked or what.bookmarked}
        return [pid for pid in pids if pid in saved]


class AmongFollowed:
    """The posts by people whom a user follows. Two round trips; one while the authors are cached."""

    at_once, most = 200, 1000

    def __init__(self, store: Store, me: int) -> None:
        self._store = store
        self._me = me

    def some(self, pids: Sequence[int]) -> list[int]:
        pipe = self._store.pipeline()
        authors = ask_authors(pipe, pids)
        pipe.execute()
        authors_by_pid = authors.value
        people = sorted({*authors_by_pid.values()})
        if not people:
            return []
        followed = ask_followed(pipe, self._me, people)
        pipe.execute()
        read = followed.value
        return [pid for pid in pids if authors_by_pid.get(pid) in read]


def among(scope: Scope, store: Store, me: int | None) -> Among:
    """For a visitor, None, and for the viewer's own posts, which have a term of their own: all posts."""
    if me is None or scope in (Scope.EVERYONE, Scope.MINE):
        return AmongAll()
    return AmongSaved(store, me) if scope is Scope.SAVED else AmongFollowed(store, me)
