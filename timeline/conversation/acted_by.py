"""Who likes a post, and who has reposted it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.commands import Scored
from retwis_site.store.ids import stored_rows
from timeline.people.cursors import ScoreCursor, ask_start_rank
from timeline.people.entities import ListedPerson
from timeline.people.follow_pages import PEOPLE_A_PAGE
from timeline.people.listed import ask_listed
from timeline.posts.reading.one_post import OnePost


@dataclass(frozen=True, slots=True)
class ActedByPage:
    """A page of people, the latest first."""

    author: User  # of the post
    pid: int
    people: list[ListedPerson]
    older: str | None  # the cursor of the next page; None on the last page


class ActedBy:
    """The people who have acted on a post. Only reads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def likers(self, viewer: Viewer, username: str, pid: int, before: ScoreCursor | None) -> ActedByPage:
        """Who likes a post of `username`. Two round trips with cached uids, three for a later page. Raises NoSuchUser,
        AccountDeleted, NoSuchPost, PostDeleted, NotShown."""
        return self._page(viewer, username, pid, before, keys.liked_by)

    def reposters(self, viewer: Viewer, username: str, pid: int, before: ScoreCursor | None) -> ActedByPage:
        """Who has reposted a post of `username`, as `likers`."""
        return self._page(viewer, username, pid, before, keys.reposted_by)

    def _page(
        self, viewer: Viewer, username: str, pid: int, before: ScoreCursor | None, key_of: Callable[[int], str]
    ) -> ActedByPage:
        key = key_of(pid)
        if before is None:
            author, found = viewer.ask_about(username, partial(_FirstRows, pid, key))
        else:
            author, start = viewer.ask_about(username, partial(_StartRank, pid, key, before))
            found = self._store.zrevrange_withscores(key, start, start + PEOPLE_A_PAGE)
        shown = stored_rows(key, found[:PEOPLE_A_PAGE])
        pipe = self._store.pipeline()
        people = ask_listed(pipe, viewer.uid, [uid for uid, _ in shown])
        pipe.execute()
        older = None
        if shown and len(found) > PEOPLE_A_PAGE:
            uid, score = shown[-1]
            older = str(ScoreCursor(score, uid))
        return ActedByPage(author, pid, [*people.value.values()], older)


class _FirstRows:
    """Asks for a post, and for the first rows of the people."""

    def __init__(self, pid: int, key: str) -> None:
        self._post = OnePost(pid)
        self._key = key

    def queue(self, pipe: Pipe, me: int | None, them: int) -> None:
        self._post.queue(pipe, me, them)
        self._rows = pipe.zrevrange_withscores(self._key, 0, PEOPLE_A_PAGE)

    def result(self) -> Scored:
        self._post.result()  # which raises for a post that is not there
        return self._rows.value


class _StartRank:
    """Asks for a post, and at which rank a later page begins."""

    def __init__(self, pid: int, key: str, before: ScoreCursor) -> None:
        self._post = OnePost(pid)
        self._key = key
        self._before = before

    def queue(self, pipe: Pipe, me: int | None, them: int) -> None:
        self._post.queue(pipe, me, them)
        self._rank = ask_start_rank(pipe, self._key, str(self._before.uid), self._before.score)

    def result(self) -> int:
        self._post.result()
        return self._rank.value
