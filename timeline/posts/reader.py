"""Posts as they are read: whole from the store, or, for a page, remembered by this process for some seconds."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from accounts.signing_in.viewer import Viewer
from accounts.users.entities import User
from retwis_site.store import keys
from retwis_site.store.client import Pipe
from retwis_site.store.local_cache import Memory, PageMemory
from timeline.posts.entities import NoSuchPost, Post, PostDeleted

FIELDS = ("user_id", "time", "body", "deleted")
_STANDS = ("user_id", "deleted")

_authors: Memory[int, int] = Memory(size=20_000, seconds=3600)  # who wrote what never changes
_shown: PageMemory[int, Post] = PageMemory(size=20_000, seconds=5)


@dataclass(frozen=True, slots=True)
class Record:
    """A post as stored, its author still a number."""

    pid: int
    uid: int
    time: int
    body: str

    def by(self, author: User) -> Post:
        return Post(self.pid, author, self.body, self.time)


def queue_post(pipe: Pipe, pid: int) -> None:
    """Ask for one post; for `record(pid, reply)`."""
    pipe.hmget(keys.post(pid), FIELDS)


def record(pid: int, reply: Sequence[str | None]) -> Record | None:
    """A post from the reply to `queue_post`; None for one that never was, or is deleted."""
    uid, when, body, deleted = reply
    if uid is None or body is None or deleted is not None:
        return None
    if _authors.get(pid) is None:
        _authors.put(pid, int(uid))
    return Record(pid, int(uid), int(when) if when and when.isdecimal() else 0, body)


def records_of(pids: Collection[int], replies: Sequence[Sequence[str | None]]) -> tuple[list[Record], list[int]]:
    """The posts that stand, in the order given, and the ids of those that do not."""
    found = {pid: record(pid, reply) for pid, reply in zip(pids, replies, strict=True)}
    return [one for one in found.values() if one], [pid for pid, one in found.items() if not one]


def forget(pid: int) -> None:
    """A post that was deleted here is shown to nobody from now on."""
    _shown.forget(pid)


def authors_of(pids: Collection[int]) -> list[int | None]:
    """Who wrote these, as far as this process has seen them before; else None. No round trip."""
    known = _authors.some(pids)
    return [known.get(pid) for pid in pids]


class Wanted:
    """A page's posts: which of them this process has shown within seconds, what the store is asked about the others,
    and what comes of both. `queue`, `take` what was replied, and then there are `records`, `dead` and `shown`.

    Of one's own that are remembered it is asked each time whether they stand: whoever deletes one sees it go at once.
    """

    records: list[Record]  # what was not remembered
    dead: list[int]  # ids of what does not stand

    def __init__(self, pids: Sequence[int], me: int | None) -> None:
        self._pids = pids
        self._known = _shown.some(pids)
        self._own = [pid for pid, post in self._known.items() if post.author.uid == me]
        self._asked = [pid for pid in pids if pid not in self._known]

    @property
    def authors(self) -> set[int]:
        """Who wrote them, as far as that is known before anything is asked."""
        return {post.author.uid for post in self._known.values()}.union(_authors.some(self._asked).values())

    def queue(self, pipe: Pipe) -> None:
        """Ask for what is not known; nothing while all is remembered and nothing of it is one's own."""
        for pid in self._asked:
            queue_post(pipe, pid)
        for pid in self._own:
            pipe.hmget(keys.post(pid), _STANDS)

    def take(self, replies: Sequence[Any]) -> Sequence[Any]:
        """The replies begin with those to what `queue` asked; the rest of them."""
        end = len(self._asked)
        self.records, self.dead = records_of(self._asked, replies[:end])
        for pid, (uid, deleted) in zip(self._own, replies[end : end + len(self._own)], strict=True):
            if uid is None or deleted is not None:
                del self._known[pid]
                self.dead.append(pid)
        return replies[end + len(self._own) :]

    def shown(self, people: Mapping[int, User]) -> list[Post]:
        """Those that stand and whose author does, in the order wanted. `people`: the records' authors, by uid."""
        for one in self.records:
            if one.uid in people:
                self._known[one.pid] = one.by(people[one.uid])
                _shown.put(one.pid, self._known[one.pid])
        return [self._known[pid] for pid in self._pids if pid in self._known]


def by_present_names(posts: list[Post], people: Mapping[int, User]) -> list[Post]:
    """The same posts; those of these people, by uid, by the names that they go by now."""
    if not people:
        return posts
    return [
        post
        if (author := people.get(post.author.uid, post.author)).name == post.author.name
        else replace(post, author=author)
        for post in posts
    ]


def one_post(viewer: Viewer, username: str, pid: int) -> Post:
    """One post of theirs. One round trip with hints. Raises NoSuchUser, AccountDeleted, NoSuchPost, PostDeleted."""

    def questions(pipe: Pipe, me: int | None, them: int) -> None:
        queue_post(pipe, pid)
        pipe.zscore(keys.updates(them), str(pid))

    author, (stored, standing) = viewer.ask_about(username, questions)
    written_by, _, _, deleted = stored
    if written_by != str(author.uid):
        raise NoSuchPost(pid)
    if deleted is not None:
        raise PostDeleted(pid)
    found = record(pid, stored)
    if found is None or standing is None:  # it never got as far as its commit
        raise NoSuchPost(pid)
    return Post(pid, author, found.body, found.time)
