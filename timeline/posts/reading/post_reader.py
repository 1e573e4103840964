"""`PostReader`: every list of posts is read through it.

A process keeps three things: the author of each post, which never changes; for seconds, each post; for seconds, each
user (`accounts/users/repository.py`). Post and user are kept apart, so a page is never older than the older of the two.
A viewer's own posts are always read, so authors see at once what they did, on every worker.
"""

from collections.abc import Iterable, Mapping, Sequence

from accounts.users.entities import User, Visitor
from accounts.users.repository import ask_people
from retwis_site.store import keys
from retwis_site.store.client import Pipe, Store
from retwis_site.store.local_cache import Memory
from retwis_site.store.replies import Answer, Reply
from timeline.posts.entities import Post, Unavailable
from timeline.posts.reading.records import FIELDS, Record, cached_answered, cached_author, links_of_deleted, record_from
from timeline.posts.reading.visibility import Rule

# An entry has a post of some 350 bytes, so all have 3 MB; 7 MB if every text is as long as can be.
_posts: Memory[int, Post] = Memory(size=5000, seconds=5)


def forget(pid: int) -> None:
    """Remove a deleted post from this process's cache."""
    _posts.forget(pid)


class PostReader:
    """Reads the posts of one page for one viewer. Every list of posts is read through it."""

    def __init__(
        self, store: Store, viewer: User | Visitor, rules: Sequence[Rule] = (), people: Iterable[User] = ()
    ) -> None:
        """`rules`: those of the page. `people`: users that this request has just read; they are not read again."""
        self._store = store
        self.rules = rules  # rules of every page, such as blocks and mutes, belong before them
        self.people = {user.uid: user for user in people}
        self.me: int | None = None
        if isinstance(viewer, User):
            self.me = viewer.uid
            self.people[viewer.uid] = viewer

    def read(self, pids: Sequence[int]) -> tuple[list[Post], list[int]]:
        """The posts that the viewer sees, in the order of `pids`, and the ids of posts that do not exist.

        One round trip, two when the author of a post is not cached, or whom it answers; none while the page asks for
        nothing that can change at any moment.
        """
        pipe = self._store.pipeline()
        reading = self.ask(pipe, pids)
        pipe.execute()
        return reading.posts(pipe)

    def ask(self, pipe: Pipe, pids: Sequence[int]) -> "Reading":
        """Ask for these posts, their authors, and what the rules must know."""
        reading = Reading(self, pids)
        reading.ask(pipe)
        return reading

    def ask_about(self, pipe: Pipe, authors: set[int], answered: set[int]) -> Answer[dict[int, User]]:
        """Ask for authors, and what the rules must know about them and about the people whom they answer."""
        for rule in self.rules:
            rule.ask(pipe, authors | answered)
        return ask_people(pipe, authors - self.people.keys())


class Reading:
    """Posts that were asked for. Call `posts` when the pipe was executed."""

    def __init__(self, reader: PostReader, pids: Sequence[int]) -> None:
        self._reader = reader
        self._pids = pids
        self._cached = _posts.some(pids)
        self._asked: dict[int, Reply[list[str | None]]] = {}
        self._authors: set[int] = set()
        self._answered: set[int] = set()  # the people whom the posts answer

    def ask(self, pipe: Pipe) -> None:
        me, cached, authors, answered = self._reader.me, self._cached, self._authors, self._answered
        for pid in self._pids:
            post = cached.get(pid)
            if post is not None and post.author.uid != me:
                authors.add(post.author.uid)
                if post.links.reply_to_user is not None:
                    answered.add(post.links.reply_to_user)
                continue
            self._asked[pid] = pipe.hmget(keys.post(pid), FIELDS)
            author, other = cached_author(pid), cached_answered(pid)
            if author is not None:
                authors.add(author)
            if other is not None:
                answered.add(other)
        self._people = self._reader.ask_about(pipe, authors, answered)

    def posts(self, pipe: Pipe) -> tuple[list[Post], list[int]]:
        """As for `PostReader.read`. One round trip more when the author of a post was not cached, or whom it
        answers."""
        records = {pid: record_from(pid, *fields.value) for pid, fields in self._asked.items()}
        people = self._reader.people | self._people.value
        found = [record for record in records.values() if record is not None]
        unknown = {record.uid for record in found} - self._authors
        answered = {uid for record in found if (uid := record.links.reply_to_user)} - self._answered - self._authors
        if unknown or answered:
            late = self._reader.ask_about(pipe, unknown, answered)
            pipe.execute()  # nothing is sent while no rule asks
            people |= late.value
        self._existing = posts = self._put_together(records, people)
        for rule in self._reader.rules:
            posts = rule.visible(posts)
        self._visible = {post.pid for post in posts}
        return posts, [pid for pid, record in records.items() if record is None]

    def unavailable(self) -> list[Unavailable]:
        """The posts that `posts` has left out and that still say which posts they answer. Call it after `posts`."""
        hidden = [Unavailable(post.pid, post.links, False) for post in self._existing if post.pid not in self._visible]
        deleted = ((pid, links_of_deleted(pid, fields.value)) for pid, fields in self._asked.items())
        return hidden + [Unavailable(pid, links, True) for pid, links in deleted if links is not None]

    def _put_together(self, records: Mapping[int, Record | None], people: Mapping[int, User]) -> list[Post]:
        """The posts whose authors have an account."""
        read = {pid: one.by(people[one.uid]) for pid, one in records.items() if one is not None and one.uid in people}
        read = _posts.put_all(read)
        posts = []
        for pid in self._pids:
            post = read.get(pid) if pid in records else _by_author_in(people, self._cached[pid])
            if post is not None:
                posts.append(post)
        return posts


def _by_author_in(people: Mapping[int, User], post: Post) -> Post | None:
    """A cached post, with its author as they are now; None when they have no account any more. A post that has not
    changed stays the same object, so its card is known without comparing texts."""
    author = people.get(post.author.uid)
    if author is None:
        return None
    return post if author == post.author else post._replace(author=author)
