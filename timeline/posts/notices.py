"""The notices that a post causes: to the author answered, to the author quoted, and to the people mentioned."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from accounts.users.deletion import is_deleted
from retwis_site.jobs.outbox import reconcile
from retwis_site.store import keys
from retwis_site.store.client import Store
from retwis_site.store.ids import stored_id
from timeline.notices.entities import Kind, Notice
from timeline.notices.inbox import Welcome, ask_welcome, queue_notice, queue_remove
from timeline.posts.reading.visibility import muted_texts
from timeline.relations.muted_words import MutedWord, Where, ask_muted_words


class NewPost(NamedTuple):
    """What of a post decides whom it concerns."""

    pid: int
    author: int
    time: int  # unix seconds
    answered: int | None = None  # uid of the author whom it answers
    quote: int | None = None  # the quoted post
    mentions: tuple[int, ...] = ()  # uids


Concerned = tuple[bool, dict[int, Welcome]]  # whether a post stands, and who wants to know of it


class PostNotices:
    """The notices of posts. It runs under the job of the post: a process that dies leaves the rest to a worker."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def write(self, post: NewPost) -> None:
        """Tell everyone whom a new or edited post concerns. None without such people, else three round trips; one more
        with a quote, two more each time that what decides changes meanwhile.

        Looks again after it has written. A deletion or a block commits first and removes notices afterwards: one of
        the two sees the other."""
        notices = self._notices(post, self._authors([post]))
        if not notices:
            return

        def look(written: object) -> dict[int, Concerned]:
            return {post.pid: self._look(post, notices)}

        def write(seen: Mapping[int, Concerned]) -> Mapping[int, Concerned]:
            self._queue(post, notices, seen[post.pid])
            return seen

        reconcile(look(None), look, write)

    def remove(self, posts: Collection[NewPost]) -> None:
        """Take back all notices of deleted posts. One round trip; one more with a quote."""
        authors = self._authors(posts)
        pipe = self._store.pipeline()
        for post in posts:
            for owner, notice in self._notices(post, authors).items():
                queue_remove(pipe, owner, notice)
        pipe.execute()

    def write_mentions(self, post: NewPost, before: tuple[int, ...]) -> None:
        """What an edit changes: people who are mentioned now and were not before are told, the notices of those who are
        no longer mentioned go. Round trips as for `write`, and one more."""
        others = {post.answered, *self._authors([post]).values()}
        left = [uid for uid in before if uid not in {*post.mentions, *others}]
        self.remove([post._replace(answered=None, quote=None, mentions=tuple(left))])
        new = tuple(uid for uid in post.mentions if uid not in {*before, *others})
        self.write(post._replace(answered=None, quote=None, mentions=new))

    def _notices(self, post: NewPost, authors: Mapping[int, int]) -> dict[int, Notice]:
        """The notices of a post by owner: one each, the first of BY_POSTS. `authors`: of quoted posts."""
        kinds = dict.fromkeys(post.mentions, Kind.MENTION)
        if quoted := authors.get(post.quote or 0):
            kinds[quoted] = Kind.QUOTE
        if post.answered:
            kinds[post.answered] = Kind.REPLY
        kinds.pop(post.author, None)
        return {owner: Notice(kind, post.pid, post.author) for owner, kind in kinds.items()}

    def _authors(self, posts: Collection[NewPost]) -> dict[int, int]:
        """The authors of the quoted posts, without those that are gone. One round trip; none without a quote."""
        pipe = self._store.pipeline()
        asked = {post.quote: pipe.hget(keys.post(post.quote), "user_id") for post in posts if post.quote}
        pipe.execute()
        authors = {pid: stored_id(keys.post(pid), author.value) for pid, author in asked.items()}
        return {pid: author for pid, author in authors.items() if author}

    def _look(self, post: NewPost, notices: Mapping[int, Notice]) -> Concerned:
        """Whether the post stands, and who wants to know of it. One round trip."""
        pipe = self._store.pipeline()
        fields = pipe.hmget(keys.post(post.pid), ["user_id", "deleted", "body"])
        account_deleted = pipe.hget(keys.user(post.author), "deleted")
        asked = {owner: ask_welcome(pipe, owner, notice, post.pid) for owner, notice in notices.items()}
        muted = {owner: ask_muted_words(pipe, owner) for owner in notices}
        pipe.execute()
        author, deleted, body = fields.value
        stands = author is not None and deleted is None and not is_deleted(account_deleted.value)
        return stands, {
            owner: welcome.value._replace(allowed=welcome.value.allowed and not _hides(muted[owner].value, body or ""))
            for owner, welcome in asked.items()
        }

    def _queue(self, post: NewPost, notices: Mapping[int, Notice], seen: Concerned) -> None:
        """Write what a look has found. One round trip."""
        stands, welcome = seen
        pipe = self._store.pipeline()
        for owner, notice in notices.items():
            queue_notice(pipe, owner, notice, post.time if stands else None, welcome[owner])
        pipe.execute()


def _hides(muted: Iterable[MutedWord], body: str) -> bool:
    """Whether words that someone mutes hide a post with this text: then the list of notices leaves it out, so it must
    not count as new either."""
    return muted_texts(muted, Where.EVERYWHERE).hide(body)
