"""Reads posts: whole from the store or, for a page, from this process's cache of a few seconds."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.local_cache import Memory, PageMemory
from retwis_site.store.replies import Answer
from timeline.posts.entities import NoSuchPost, Post, PostDeleted

FIELDS = ("user_id", "time", "body", "deleted")
_EXISTS = ("user_id", "deleted")  # the fields that tell whether a post exists

_authors: Memory[int, int] = Memory(size=20_000, seconds=3600)  # pid -> uid; a post's author never changes
_shown: PageMemory[int, Post] = PageMemory(size=20_000, seconds=5)


@dataclass(frozen=True, slots=True)
class Record:
    """A post as stored: its author is a uid."""

    pid: int
    uid: int
    time: int  # unix seconds
    body: str

    def by(self, author: User) -> Post:
        return Post(self.pid, author, self.body, self.time)


def ask_post(pipe: Pipe, pid: int) -> Answer[Record | None]:
    """A post; None when it is missing or deleted."""
    fields = pipe.hmget(keys.post(pid), FIELDS)
    return Answer(lambda: _record(pid, *fields.value))


def _record(pid: int, uid: str | None, when: str | None, body: str | None, deleted: str | None) -> Record | None:
    if uid is None or body is None or deleted is not None:
        return None
    if _authors.get(pid) is None:
        _authors.put(pid, int(uid))
    return Record(pid, int(uid), int(when) if when and when.isdecimal() else 0, body)


def existing(asked: Mapping[int, Answer[Record | None]]) -> tuple[list[Record], list[int]]:
    """The posts that exist, in the order of `asked`, and the ids of the missing or deleted ones."""
    found = {pid: answer.value for pid, answer in asked.items()}
    return [one for one in found.values() if one], [pid for pid, one in found.items() if not one]


def forget(pid: int) -> None:
    """Remove a deleted post from this process's cache."""
    _shown.forget(pid)


def authors_of(pids: Collection[int]) -> list[int | None]:
    """The authors' uids as far as this process has cached them; else None. No round trip."""
    cached = _authors.some(pids)
    return [cached.get(pid) for pid in pids]


class PostLoader:
    """Loads a page's posts: the ones shown within seconds from this process's cache, the others from the store.

    Call `queue`, execute the pipe, call `take`; then `records`, `dead` and `posts` are ready. The store is always asked
    whether the viewer's own cached posts exist, so authors see at once that a post is deleted.
    """

    records: list[Record]  # the posts that were not cached
    dead: list[int]  # ids of missing or deleted posts

    def __init__(self, pids: Sequence[int], me: int | None) -> None:
        self._pids = pids
        self._posts = _shown.some(pids)
        self._own = [pid for pid, post in self._posts.items() if post.author.uid == me]
        self._missing = [pid for pid in pids if pid not in self._posts]

    @property
    def authors(self) -> set[int]:
        """The authors' uids as far as they are cached. No round trip."""
        return {post.author.uid for post in self._posts.values()}.union(_authors.some(self._missing).values())

    def queue(self, pipe: Pipe) -> None:
        """Ask for the posts that are not cached, and about the viewer's own; nothing when there are none of these."""
        self._asked = {pid: ask_post(pipe, pid) for pid in self._missing}
        self._asked_own = [(pid, pipe.hmget(keys.post(pid), _EXISTS)) for pid in self._own]

    def take(self) -> None:
        """Take the replies."""
        self.records, self.dead = existing(self._asked)
        for pid, fields in self._asked_own:
            uid, deleted = fields.value
            if uid is None or deleted is not None:
                del self._posts[pid]
                self.dead.append(pid)

    def posts(self, people: Mapping[int, User]) -> list[Post]:
        """The posts that exist and whose authors have an account, in the order of the page. `people`: the authors of
        `records`, by uid."""
        for record in self.records:
            if record.uid in people:
                self._posts[record.pid] = record.by(people[record.uid])
                _shown.put(record.pid, self._posts[record.pid])
        return [self._posts[pid] for pid in self._pids if pid in self._posts]


def by_present_names(posts: list[Post], people: Mapping[int, User]) -> list[Post]:
    """The same posts, with the present names of their authors as far as `people` (by uid) has them."""
    if not people:
        return posts
    return [
        post
        if (author := people.get(post.author.uid, post.author)).name == post.author.name
        else replace(post, author=author)
        for post in posts
    ]


def one_post(viewer: Viewer, username: str, pid: int) -> Post:
    """One post of the user `username`. One round trip with cached uids. Raises NoSuchUser, AccountDeleted, NoSuchPost,
    PostDeleted."""

    author, found = viewer.ask_about(username, partial(OnePost, pid))
    return found.by(author)


class OnePost:
    """Asks for one post of a user. Its `result` raises NoSuchPost, PostDeleted."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def queue(self, pipe: Pipe, me: int | None, them: int) -> None:
        self._author = them
        self._fields = pipe.hmget(keys.post(self._pid), FIELDS)
        self._score = pipe.zscore(keys.updates(them), str(self._pid))

    def result(self) -> Record:
        author, when, body, deleted = self._fields.value
        if author != str(self._author):
            raise NoSuchPost(self._pid)
        if deleted is not None:
            raise PostDeleted(self._pid)
        found = _record(self._pid, author, when, body, deleted)
        if found is None or self._score.value is None:  # its request died before the commit
            raise NoSuchPost(self._pid)
        return found
